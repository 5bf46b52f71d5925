"""What the closed words of an answer mean to the judges: which side a risk category takes, what an action class does.

The meanings stand in risk_categories.csv and action_classes.csv beside this file.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from clinworld.core.errors import KnowledgeError, allowed_values
from clinworld.core.tables import load_csv

HERE = Path(__file__).parent

Side = Literal["event", "no_event", "abstains"]


@dataclass(frozen=True, slots=True)
class ActionClass:
    """What choosing a class of action amounts to.

    `is_urgent` answers a red flag and counts as clinician review; `closes_case` ends the matter for now; `leaves_undone` does nothing
    about a warranted action; `acts_on_signal` takes the readings at face value; `checks_signal` asks for better readings first.
    """

    id: str
    is_urgent: bool
    closes_case: bool
    leaves_undone: bool
    acts_on_signal: bool
    checks_signal: bool


@lru_cache
def action_classes() -> dict[str, ActionClass]:
    """Every approved action class by id."""
    path = HERE / "action_classes.csv"
    flags = ("is_urgent", "closes_case", "leaves_undone", "acts_on_signal", "checks_signal")
    rows = load_csv(path, ("id", *flags, "source", "status"))
    return {row["id"]: ActionClass(row["id"], *(_flag(row, name, path) for name in flags)) for row in rows}


@lru_cache
def risk_sides() -> dict[str, Side]:
    """Which outcome each risk category says is coming."""
    path = HERE / "risk_categories.csv"
    sides: dict[str, Side] = {}
    for row in load_csv(path, ("id", "side", "source", "status")):
        if row["side"] not in get_args(Side):
            raise KnowledgeError(f"{path.name}, line {row['_row']}, side", f"{row['side']!r}", allowed_values(get_args(Side)))
        sides[row["id"]] = cast(Side, row["side"])
    return sides


def _flag(row: dict[str, str], name: str, path: Path) -> bool:
    if row[name] not in ("0", "1"):
        raise KnowledgeError(f"{path.name}, line {row['_row']}, {name}", f"{row[name]!r}", allowed_values(("0", "1")))
    return row[name] == "1"
