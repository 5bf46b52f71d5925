"""What each condition moves, in which direction and how far: its own findings, what goes along with them, and what a calculated
result needs of its inputs.

Static: knowledge, sex and age alone. `condition_effects.py` makes it act in a patient.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Condition, ConditionFinding, Level, Stream
from clinworld.schema.course import Reals
from clinworld.world.condition_sizes import DOWN, SIZES, UP, find_most_own, load_scale, reference_limits
from clinworld.world.formulas import formula_of

SIGNS = {"up": UP, "positive": UP, "down": DOWN, "negative": DOWN, "normal": 0}
_KIN = {"kin": (UP, DOWN), "kin_up": (UP,), "kin_down": (DOWN,)}
_GRID = 513


@dataclass(frozen=True, slots=True)
class Push:
    """What one condition does to one item. Distances are on the item's scale.

    `sign` 0 holds the item normal. `beyond` is how far past the reference limit the usual patient lies; where `target` is given that is
    the level itself, inside the limits. `is_own`: the condition's file says so; else it follows from what the file says. `is_slight`: a
    mild move of a result that only supports the diagnosis; not everybody with the condition is beyond its limit. `most` is how far a
    patient moves at most from their own level.
    """

    condition: str
    item: str
    sign: int
    size: str
    beyond: float
    target: float | None
    trajectory: str
    is_own: bool
    is_slight: bool
    most: float = np.inf


@lru_cache(maxsize=4096)
def find_pushes(knowledge: Knowledge, condition: str, sex: str, age_years: float) -> tuple[Push, ...]:
    """Everything a condition does to analytes, streams and findings in a patient of this sex and age; own findings first."""
    row = knowledge.conditions.get(condition)
    if row is None:
        return ()
    pushes = {finding.item: _push_own(finding, row, sex, knowledge) for finding in row.findings if finding.sex in ("", sex)}
    for push in tuple(pushes.values()):
        driven = _drive_input(push, pushes, sex, age_years, knowledge)
        if driven is not None and (driven.item not in pushes or _goes_farther(driven, pushes[driven.item])):
            pushes[driven.item] = driven
    going: dict[str, Push] = {}
    said = {**dict.fromkeys(_list_normal(knowledge, condition)), **pushes}
    for child, parents in load_kin(knowledge).items():
        along = [each for each in parents if (each[0], condition) not in load_apart(knowledge)]
        kin = None if child in said else next((each for each in along if _is_moved(pushes.get(each[0]), each[2])), None)
        if kin is not None:
            going[child] = _push_along(pushes[kin[0]], child, kin[1], sex, knowledge)
    return (*pushes.values(), *going.values())


@lru_cache(maxsize=1024)
def _list_normal(knowledge: Knowledge, condition: str) -> tuple[str, ...]:
    """What is normal in a condition by what tells it apart from others, with the inputs of calculated results."""
    marks = [each.told_apart_by for each in knowledge.conditions[condition].look_alikes]
    normal = [mark.item for mark in marks if mark.here == "normal"]
    return tuple(name for item in normal for name in (item, *(_list_inputs(item, knowledge) if item in knowledge.analytes else ())))


def _push_own(finding: ConditionFinding, row: Condition, sex: str, knowledge: Knowledge) -> Push:
    sign, size = SIGNS[finding.moves], finding.size if finding.size in SIZES else "moderate"
    scale = load_scale(knowledge, finding.item, sex)
    beyond = scale.beyond(sign, size) if scale is not None and sign else 0.0
    most = find_most_own(knowledge, finding.item, sign, size)
    is_slight = size == SIZES[0] and finding.role == "supportive" and finding.item in knowledge.analytes
    return Push(row.id, finding.item, sign, size, beyond, None, finding.trajectory, True, is_slight, most)


@lru_cache(maxsize=8)
def load_kin(knowledge: Knowledge) -> Mapping[str, tuple[tuple[str, float, tuple[int, ...]], ...]]:
    """Item → (the item it goes along with, by what share of a like size, in which of its directions); in table order."""
    kin: dict[str, list[tuple[str, float, tuple[int, ...]]]] = {}
    for name, row in knowledge.parameters.items():
        prefix, _, rest = name.partition(".")
        if prefix in _KIN:
            child, _, parent = rest.partition(".")
            kin.setdefault(child, []).append((parent, row.value, _KIN[prefix]))
    return {child: tuple(parents) for child, parents in kin.items()}


@lru_cache(maxsize=8)
def load_apart(knowledge: Knowledge) -> frozenset[tuple[str, str]]:
    """(item, condition) where the condition changes how the item is measured, so that nothing goes along with it."""
    names = [name.split(".")[1:] for name in knowledge.parameters if name.startswith("kin_apart.")]
    return frozenset((item, condition) for item, condition in names)


def _is_moved(push: Push | None, signs: tuple[int, ...]) -> bool:
    return push is not None and push.sign in signs


def _push_along(parent: Push, child: str, share: float, sex: str, knowledge: Knowledge) -> Push:
    scale = load_scale(knowledge, child, sex)
    sign = parent.sign if share > 0 else -parent.sign
    beyond = abs(share) * scale.beyond(sign, parent.size) if scale is not None else 0.0
    most = find_most_own(knowledge, child, sign, parent.size)
    return Push(parent.condition, child, sign, parent.size, beyond, None, parent.trajectory, False, parent.is_slight, most)


def _goes_farther(driven: Push, own: Push) -> bool:
    # A condition that says its input is normal means it; one that moves the input itself means the farther of the two.
    return own.sign == driven.sign and driven.beyond > own.beyond


def _drive_input(push: Push, pushes: Mapping[str, Push], sex: str, age_years: float, knowledge: Knowledge) -> Push | None:
    """What the first input of a calculated analyte must do for the result to come out as the finding says; None for a measured item."""
    row = knowledge.items[push.item]
    if not isinstance(row, Analyte) or formula_of(row) is None or not push.sign:
        return None
    scale = load_scale(knowledge, push.item, sex)
    limit = scale.limit(push.sign) if scale is not None else None
    if scale is None or limit is None:
        return None
    wanted = scale.write(limit + push.sign * push.beyond)
    root = _find_root(push.item, knowledge)
    first, last = np.log(np.array([max(root.hard_low, 10.0**-root.decimals), root.hard_high])).tolist()
    grid = np.exp(np.linspace(first, last, _GRID))
    usual = {name: _expect(name, pushes, sex, knowledge) for name in _list_inputs(push.item, knowledge)}
    values = {**{name: np.full(_GRID, value) for name, value in usual.items()}, root.id: grid}
    results = _calculate(push.item, values, sex, age_years, knowledge)
    known = np.isfinite(results)
    if not known.any():
        return None
    order = np.argsort(results[known], kind="stable")
    needed = float(np.interp(wanted, results[known][order], grid[known][order]))
    sign = UP if needed > _expect(root.id, {}, sex, knowledge) else DOWN
    root_scale = load_scale(knowledge, root.id, sex)
    assert root_scale is not None, root.id
    target, edge = root_scale.read(needed), root_scale.limit(sign)
    beyond = max(0.0, sign * (target - edge)) if edge is not None else 0.0
    return replace(push, item=root.id, sign=sign, beyond=beyond, target=None if beyond else target, is_own=False)


def _find_root(item: str, knowledge: Knowledge) -> Analyte:
    # By custom of world/formulas.py the first input is the one a result is read for.
    row = knowledge.analytes[item]
    while (formula := formula_of(row)) is not None:
        row = knowledge.analytes[formula.inputs[0]]
    return row


def _list_inputs(item: str, knowledge: Knowledge) -> tuple[str, ...]:
    formula = formula_of(knowledge.analytes[item])
    if formula is None:
        return (item,)
    return tuple(dict.fromkeys(name for each in formula.inputs for name in _list_inputs(each, knowledge)))


def _calculate(item: str, values: Mapping[str, Reals], sex: str, age_years: float, knowledge: Knowledge) -> Reals:
    formula = formula_of(knowledge.analytes[item])
    if formula is None:
        return values[item]
    inputs = {name: _calculate(name, values, sex, age_years, knowledge) for name in formula.inputs}
    return formula.calculate(inputs, age_years, sex, knowledge)


def _expect(item: str, pushes: Mapping[str, Push], sex: str, knowledge: Knowledge) -> float:
    """What is expected of a measured analyte: the middle of its interval, or where the condition's own finding puts it."""
    row, push, scale = knowledge.analytes[item], pushes.get(item), load_scale(knowledge, item, sex)
    if push is not None and push.sign and scale is not None and (limit := scale.limit(push.sign)) is not None:
        return scale.write(limit + push.sign * push.beyond)
    low, high = reference_limits(row, sex)
    return ((row.hard_low if low is None else low) + (2.0 * (low or 0.0) if high is None else high)) / 2.0


@lru_cache(maxsize=4096)
def list_documented(knowledge: Knowledge, conditions: tuple[str, ...], sex: str, age_years: float) -> tuple[Push, ...]:
    """What known conditions do to a patient, without what a written level of one of them does already.

    A level that lies beyond the reference limit is the condition's whole move of that item; beside it no finding moves it further.
    """
    written = {(item, sign) for name in conditions for item, sign in _moved_by_level(knowledge, name, sex)}
    unwritten = [push for name in conditions for push in _list_unwritten(knowledge, name, sex, age_years)]
    return tuple(push for push in unwritten if (push.item, push.sign) not in written) if written else tuple(unwritten)


@lru_cache(maxsize=4096)
def _list_unwritten(knowledge: Knowledge, name: str, sex: str, age_years: float) -> tuple[Push, ...]:
    """What moves an item by a condition that writes no level of it."""
    own = {level.item for level in _levels_of(knowledge, name)}
    return tuple(push for push in find_pushes(knowledge, name, sex, age_years) if push.sign and push.item not in own)


def _levels_of(knowledge: Knowledge, name: str) -> tuple[Level, ...]:
    row = knowledge.conditions.get(name)
    return row.levels if row is not None and row.has_physiology else ()


@lru_cache(maxsize=1024)
def _moved_by_level(knowledge: Knowledge, name: str, sex: str) -> tuple[tuple[str, int], ...]:
    """(item, direction) of the levels of a condition that lie outside what is normal."""
    row = knowledge.conditions.get(name)
    moved = []
    for level in row.levels if row is not None and row.has_physiology else ():
        item = knowledge.items[level.item]
        if isinstance(item, Stream):
            usual = (item.mean_m if sex == "M" else item.mean_f) or level.mean
            low, high = usual - item.sd_between, usual + item.sd_between
        else:
            assert isinstance(item, Analyte), level.item
            limits = reference_limits(item, sex)
            low, high = (-np.inf if limits[0] is None else limits[0]), (np.inf if limits[1] is None else limits[1])
        if level.mean > high:
            moved.append((level.item, UP))
        elif level.mean < low:
            moved.append((level.item, DOWN))
    return tuple(moved)
