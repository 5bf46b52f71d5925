"""Whether charted results forbid a drug: from which day an order stands in spite of a result that anyone could see.

A value that nobody has measured forbids nothing. Read from printed results alone, so that a world and whoever checks it decide alike.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Contraindication
from clinworld.schema.record import Series
from clinworld.world.contraindications import passes

TIMES_UPPER = "_times_upper"  # a fact of rules: an analyte as a multiple of its upper reference limit


class Spoken(NamedTuple):
    """The results a rule is read from: their days, ascending, their values in the rule's unit, and whether each forbids the drug."""

    item: str
    days: NDArray[np.int64]
    values: NDArray[np.float64]
    forbids: NDArray[np.bool_]


class Against(NamedTuple):
    """A result that forbids a drug, and the day from which the order stands in spite of it."""

    day: int
    item: str
    value: float


@lru_cache(maxsize=512)
def list_measured_rules(knowledge: Knowledge, drug: str) -> tuple[tuple[str, Contraindication], ...]:
    """(analyte, rule) of every absolute contraindication of a drug that a laboratory result can show."""
    rules = knowledge.drugs[drug].contraindications if drug in knowledge.drugs else ()
    named = [(row.item.removesuffix(TIMES_UPPER), row) for row in rules if row.kind == "absolute" and row.item]
    return tuple((name, row) for name, row in named if name in knowledge.analytes)


def read_against(drug: str, series: Iterable[Series], sex: str, knowledge: Knowledge) -> list[Spoken]:
    """What charted laboratory results say of a drug; [] where nothing measured could forbid it."""
    rules = list_measured_rules(knowledge, drug)
    if not rules:
        return []
    charted = {each.name: each for each in series if each.setting == "laboratory"}
    spoken = []
    for name, rule in rules:
        if name in charted:
            values = charted[name].values()
            if rule.item != name:
                row = knowledge.analytes[name]
                values = values / ((row.ref_high_m if sex == "M" else row.ref_high_f) or np.inf)
            forbids = np.array([passes(rule, value) for value in values.tolist()], dtype=np.bool_)
            spoken.append(Spoken(rule.item, charted[name].days.astype(np.int64), values, forbids))
    return spoken


def find_against(spoken: Iterable[Spoken], first_day: int, last_day: int) -> Against | None:
    """The first result that forbids an order in force from `first_day` to `last_day`, both included; None where no result does.

    It is the latest one by the first day, or one on a later day of the order.
    """
    found = []
    for each in spoken:
        before = int(np.searchsorted(each.days, first_day, side="right")) - 1
        until = int(np.searchsorted(each.days, last_day, side="right"))
        places = [place for place in range(max(before, 0), until) if each.forbids[place]]
        if places:
            day = max(int(each.days[places[0]]), first_day)
            found.append(Against(day, each.item, float(each.values[places[0]])))
    return min(found, default=None)
