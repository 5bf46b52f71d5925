"""Hand-made items, gold and deliveries for the tests of packs, readers and controls."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "access"))

from access_case import INDEX_DAY, LAST_DAY, PROBES, daily, knowledge, make_item, make_record, make_series, pack

from clinworld.access.delivered import Delivered, parse_delivered
from clinworld.access.episodes import next_turn
from clinworld.access.view import shown_days
from clinworld.schema.gold import ForecastGold, GoldRow, ProbeGold, TurningPoint
from clinworld.schema.item import Item

__all__ = [
    "INDEX_DAY",
    "LAST_DAY",
    "PROBES",
    "daily",
    "deliver",
    "knowledge",
    "make_gold",
    "make_item",
    "make_record",
    "make_series",
    "pack",
]


def deliver(item: Item, episode: str = "single", turn: int = 0, probe_set: str = "none") -> Delivered:
    """What a turn of an item says, as a control sees it."""
    asked = next_turn(item, pack(item.pack).pack, knowledge(), episode, probe_set, [""] * turn)
    assert asked is not None and asked.day == shown_days(item, episode)[turn]
    return parse_delivered(asked.prompt, item.language)


def make_gold(item: Item, *, happens: bool, driver: str = "poor_medication_adherence", red_flag: bool = False) -> GoldRow:
    """Gold of a hand-made item; what judges and oracles do not read is left empty."""
    points = (TurningPoint(150, "real", "reversal"),) if happens else (TurningPoint(130, "trap", "transient_spike"),)
    gold = ForecastGold(happens, (driver if happens else "unknown_or_multifactorial",), points, red_flag, happens)
    probes = (
        ProbeGold("false_premise", "false", "hba1c", ("contradicts_record",)),
        ProbeGold("no_op", "covered", "steps", ("present", "unreliable")),
        ProbeGold("quant", "trend", "weight", ("flat",)),
    )
    return GoldRow(item.item_id, "C-1", gold, probes, None, item.record, (), (), (), (), "")  # type: ignore[arg-type]  # no premise is read
