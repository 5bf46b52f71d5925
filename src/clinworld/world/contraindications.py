"""Whether what is known of a patient forbids a drug: conditions, pregnancy, and first levels of what is measured.

For drawing; what an author wrote is only flagged, elsewhere.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Contraindication
from clinworld.world.formulas import FORMULAS, has_own_level
from clinworld.world.levels import FirstLevels, draw_first_levels, load_first_levels

_STATES = {"is_pregnant": "pregnancy"}  # a state of rule_facts, and the condition of which it follows
_BMI, _AGE = "bmi", "age_years"
_SIDES = (0.0, -1.0, 1.0)  # a level itself, and where a result of it may still be printed below and above


class Known(NamedTuple):
    """What a drug must go with. `age_years` is the middle of the age band."""

    case_id: str
    conditions: tuple[str, ...]
    sex: str
    age_years: float
    bmi: float


def is_forbidden(drug: str, known: Known, knowledge: Knowledge, rng: Rng) -> bool:
    """Whether an absolute contraindication of a drug holds on day 0, as far as it can be told; cautions do not count.

    A level so near to a limit that a result may be printed beyond it counts as beyond it.
    """
    rows = _list_absolute(knowledge, drug)
    if any(row.condition in known.conditions or _STATES.get(row.state, "") in known.conditions for row in rows):
        return True
    given = {_BMI: known.bmi, _AGE: known.age_years}
    if any(passes(row, given[row.item]) for row in rows if row.item in given):
        return True
    places = _list_measured(knowledge, drug)
    measured = [rows[place] for place, inputs in places if _can_reach(drug, place, inputs, known, knowledge)]
    if not measured:
        return False
    first = _load_first(known, [row.item for row in measured], knowledge)
    drawn = draw_first_levels(known.case_id, first, known.bmi, rng)
    levels = {name: np.atleast_1d(drawn[i]) for i, name in enumerate(first.names) if not first.is_shift[i]}
    return any(_may_pass(row, levels, known, knowledge) for row in measured)


def passes(row: Contraindication, value: float) -> bool:
    """Whether a value lies where a contraindication holds; without a limit it does not."""
    return (
        (row.at_least is not None and value >= row.at_least)
        or (row.above is not None and value > row.above)
        or (row.at_most is not None and value <= row.at_most)
        or (row.below is not None and value < row.below)
    )


def _may_pass(row: Contraindication, levels: dict[str, np.ndarray], known: Known, knowledge: Knowledge) -> bool:
    """Whether results of some levels may lie where a contraindication holds."""
    for side in _SIDES:
        printed = {name: level * np.exp(side * _find_noise(name, knowledge)) for name, level in levels.items()}
        level = _find_level(row.item, printed, known, knowledge)
        if level is not None and passes(row, level):
            return True
    return False


@lru_cache(maxsize=512)
def _find_noise(item: str, knowledge: Knowledge) -> float:
    """How far results of an analyte stray from its level, on the log scale; 0 for what is no analyte."""
    row = knowledge.analytes.get(item)
    if row is None:
        return 0.0
    cv_pct = float(np.hypot(row.cv_within_pct or 0.0, row.cv_analytic_pct or 0.0))
    return knowledge.parameter("levels_forbidding_sd") * cv_pct / 100


@lru_cache(maxsize=256)
def _list_absolute(knowledge: Knowledge, drug: str) -> tuple[Contraindication, ...]:
    return tuple(row for row in knowledge.drugs[drug].contraindications if row.kind == "absolute")


def list_inputs(item: str, knowledge: Knowledge) -> tuple[str, ...]:
    """The items with a level of their own that a contraindication is read from; () when it cannot be told."""
    row = knowledge.analytes.get(item)
    if row is not None and row.derived_by:
        return tuple(name for name in FORMULAS[row.derived_by].inputs if name in knowledge.analytes)
    return (item,) if row is not None or item in knowledge.streams else ()


def _load_first(known: Known, items: Sequence[str], knowledge: Knowledge) -> FirstLevels:
    inputs = dict.fromkeys(name for item in items for name in list_inputs(item, knowledge))
    names = tuple(name for name in inputs if name not in knowledge.analytes or has_own_level(knowledge.analytes[name]))
    return load_first_levels(knowledge, known.conditions, names, known.sex, known.age_years)


@lru_cache(maxsize=256)
def _list_measured(knowledge: Knowledge, drug: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The place of each absolute contraindication that is read from levels, and the items it is read from."""
    items = [row.item if row.item not in (_BMI, _AGE) else "" for row in _list_absolute(knowledge, drug)]
    return tuple((place, inputs) for place, item in enumerate(items) if item and (inputs := list_inputs(item, knowledge)))


def _can_reach(drug: str, place: int, inputs: tuple[str, ...], known: Known, knowledge: Knowledge) -> bool:
    """Whether any first level of people like this can lie where an absolute contraindication, by its place, holds."""
    conditions = tuple(name for name in known.conditions if _decides(knowledge, name, inputs))
    return _reaches(knowledge, drug, place, conditions, known.sex, known.age_years)


@lru_cache(maxsize=4096)
def _decides(knowledge: Knowledge, condition: str, items: tuple[str, ...]) -> bool:
    """Whether a condition says where an item starts."""
    row = knowledge.conditions.get(condition)
    written = [level.item for level in row.levels] if row is not None else []
    diagnosed = [name for name in items if getattr(knowledge.items[name], "diagnostic_of", "") == condition]
    return bool(diagnosed) or any(name in written for name in items)


@lru_cache(maxsize=4096)
def _reaches(knowledge: Knowledge, drug: str, place: int, conditions: tuple[str, ...], sex: str, age_years: float) -> bool:
    row, known = _list_absolute(knowledge, drug)[place], Known("", conditions, sex, age_years, 0.0)
    first = _load_first(known, [row.item], knowledge)
    for column in (first.low, first.high):
        edge = np.where(first.is_log[:, None], np.exp(np.where(first.is_log[:, None], column, 0.0)), column)
        levels = {name: edge[i] for i, name in enumerate(first.names) if not first.is_shift[i]}
        if _may_pass(row, levels, known, knowledge):
            return True
    return False


def _find_level(item: str, levels: dict[str, np.ndarray], known: Known, knowledge: Knowledge) -> float | None:
    """The first level of an item, calculated where it is no level of its own; None when an input is missing."""
    row = knowledge.analytes.get(item)
    if isinstance(row, Analyte) and row.derived_by:
        formula = FORMULAS[row.derived_by]
        if any(name not in levels for name in formula.inputs):
            return None
        return float(np.ravel(formula.calculate(levels, known.age_years, known.sex, knowledge))[0])
    return float(levels[item][0]) if item in levels else None
