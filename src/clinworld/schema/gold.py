"""The right answer and what else only a judge may know. Lives in gold.jsonl; whatever talks to an agent cannot import this."""

from dataclasses import dataclass
from typing import Any, Literal

from clinworld.core.plain import as_row
from clinworld.schema.premise import Premise, premise_from_row
from clinworld.schema.record import ChartFault, NoteOrigin, Record
from clinworld.schema.record_rows import record_from_row, record_to_row


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """A day on which the picture turns, or seems to. A `trap` invites a revision that would be wrong."""

    day: int
    kind: Literal["real", "trap", "missing", "confound"]
    cause: str  # "reversal" or the artifact class


@dataclass(frozen=True, slots=True)
class ForecastGold:
    """The answer to "will the target event occur in the window".

    From the premise, `drivers` is the one true driver; read back from the chart, it is every driver the charted facts leave possible.
    """

    event_occurs: bool
    drivers: tuple[str, ...]
    turning_points: tuple[TurningPoint, ...]
    has_red_flag: bool
    is_action_warranted: bool


@dataclass(frozen=True, slots=True)
class ProbeGold:
    """The right reply to one appended question: `expected` in the probe's closed answer set; several where tied."""

    kind: str
    variant: str
    about: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GoldRow:
    """One line of gold.jsonl: the answer, and everything `verify` needs to check the item again.

    `chart` is the whole record to the course end; `acted` says how often each declared mechanism acted;
    `truth_weight_ticks` is the true weight from day 0 to the course end in 0.01 kg.
    """

    item_id: str
    case_id: str
    gold: ForecastGold
    probes: tuple[ProbeGold, ...]
    premise: Premise
    chart: Record
    origins: tuple[NoteOrigin, ...]
    faults: tuple[ChartFault, ...]
    acted: tuple[tuple[str, int], ...]
    truth_weight_ticks: tuple[int, ...]
    truth_digest: str


def gold_to_row(gold: GoldRow) -> dict[str, Any]:
    """The JSON form of a gold row."""
    return {
        "item_id": gold.item_id,
        "case_id": gold.case_id,
        "gold": as_row(gold.gold),
        "probes": [as_row(probe) for probe in gold.probes],
        "premise": as_row(gold.premise),
        "chart": record_to_row(gold.chart),
        "origins": [[origin.note_id, origin.kind, origin.row] for origin in gold.origins],
        "faults": [as_row(fault) for fault in gold.faults],
        "acted": gold.acted,
        "truth_weight_ticks": gold.truth_weight_ticks,
        "truth_digest": gold.truth_digest,
    }


def gold_from_row(row: dict[str, Any]) -> GoldRow:
    """The gold row in a JSON object written by `gold_to_row`; other keys (canary) are not read."""
    inner = row["gold"]
    return GoldRow(
        item_id=row["item_id"],
        case_id=row["case_id"],
        gold=ForecastGold(
            event_occurs=inner["event_occurs"],
            drivers=tuple(inner["drivers"]),
            turning_points=tuple(TurningPoint(**point) for point in inner["turning_points"]),
            has_red_flag=inner["has_red_flag"],
            is_action_warranted=inner["is_action_warranted"],
        ),
        probes=tuple(ProbeGold(p["kind"], p["variant"], p["about"], tuple(p["expected"])) for p in row["probes"]),
        premise=premise_from_row(row["premise"]),
        chart=record_from_row(row["chart"]),
        origins=tuple(NoteOrigin(*origin) for origin in row["origins"]),
        faults=tuple(ChartFault(f["kind"], f["series"], tuple(f["days"]), f["size"]) for f in row["faults"]),
        acted=tuple((name, times) for name, times in row["acted"]),
        truth_weight_ticks=tuple(row["truth_weight_ticks"]),
        truth_digest=row["truth_digest"],
    )
