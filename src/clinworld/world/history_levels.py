"""Levels before day 0: those of day 0 carried backwards along the conditions, the drugs then, and a slow drift. No noise, no printing.

What departs from usual because of a documented condition did so from its diagnosis on, and less and less before it; what shows itself in
the course began on its onset; what a drug did to a level began with the drug and ended with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import push_levels
from clinworld.world.condition_pushes import list_documented
from clinworld.world.effects import list_responding, load_drug_table
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.history_drugs import Line
from clinworld.world.level_motion import HALVINGS, NO_ROOM, WEEK, bend_up
from clinworld.world.levels import FirstLevels, draw_first_levels, levels_of, list_reported_analytes, list_telling, load_first_levels

_NONE = -1  # no documented condition moves the item
_TINY = 1e-9
_SHARE, _UNWRITTEN = "history_share_", "unwritten"

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PastItems:
    """The items of laboratory levels and what is the same in everybody, as columns [item, 1].

    `at` is the place of each. Items at `limited` have a diagnostic `limit`, by which a condition `limit_of` is diagnosed; those at
    `floored` a `floor` that no drug passes. `written_most` is what a level is without treatment at most (nan: as its first levels say).
    """

    names: tuple[str, ...]
    at: Mapping[str, int]
    limited: Rows
    limit_of: tuple[str, ...]
    limit: Reals
    drift_sd: Reals
    floored: Rows
    floor: Reals
    written_most: Reals
    hard_low: Reals
    hard_high: Reals


class PastFrame(NamedTuple):
    """What the past of laboratory levels needs of someone's documented conditions, over items as columns [item, 1].

    `held` conditions move no level on day 0. `first` is where levels start with what the others write, `usual` without any condition;
    `most` is what a level is at most without treatment. `pushed` are the places of items that the conditions move by a finding. `mover`
    is the place of the condition that moves an item (-1: none), by a written level or, at `by_finding`, by a finding alone; `share` is how
    much of the departure was there at diagnosis.
    `limit_of` is the place of the condition that a diagnostic limit is of, or -1 where that is not documented; at `makes` it is the one
    that moves the item, at `makes_limit`.
    """

    items: PastItems
    held: frozenset[str]
    first: FirstLevels
    usual: FirstLevels
    most: Reals
    pushed: list[int]
    mover: Rows
    by_finding: NDArray[np.bool_]
    share: Reals
    limit_of: Rows
    makes: Rows
    makes_limit: Reals


class DayZero(NamedTuple):
    """Levels on day 0 [item, 1]: what is documented makes them, what they would be without any condition, how many SD above the mean of
    its first level each lies, and the factor that the condition which shows itself in the course adds (None: nothing)."""

    level: Reals
    usual: Reals
    place: Reals
    shown: Reals | None


def load_past_frame(
    knowledge: Knowledge,
    conditions: tuple[str, ...],
    devices: tuple[str, ...],
    sex: str,
    age_years: float,
    watched: tuple[str, ...] = (),
    held: frozenset[str] = frozenset(),
) -> PastFrame:
    """The frame of a kind of patient; its items are the analytes with a true level, `watched` among them, in table order.

    Conditions that are `held` move no level on day 0.
    """
    items, shares = _load_items(knowledge, _list_items(knowledge, devices, watched)), _load_shares(knowledge)
    first = usual = written = load_first_levels(knowledge, (), items.names, sex, age_years)
    if list_telling(knowledge, conditions):
        first = written = load_first_levels(knowledge, conditions, items.names, sex, age_years)
    if held:
        shown = tuple(name for name in conditions if name not in held)
        first = load_first_levels(knowledge, shown, items.names, sex, age_years)
    usual_in_unit = _in_unit(usual.mean, usual.is_log)[:, 0].tolist()
    mover, by_finding, share = [_NONE] * len(items.names), [False] * len(items.names), [shares[_UNWRITTEN]] * len(items.names)
    # The condition whose written level lies farthest from usual, the first on a tie; else the first with a finding that moves the item.
    for push in reversed(list_documented(knowledge, conditions, sex, age_years)):
        if (at := items.at.get(push.item, _NONE)) != _NONE:
            mover[at], by_finding[at], share[at] = conditions.index(push.condition), True, shares[push.trajectory]
    pushed, farthest = [at for at, is_moved in enumerate(by_finding) if is_moved], [-1.0] * len(items.names)
    for place, name in enumerate(conditions):
        for item, mean, trajectory in _list_written(knowledge, name):
            at = items.at.get(item, _NONE)
            if at != _NONE and (far := abs(mean - usual_in_unit[at])) > farthest[at]:
                mover[at], by_finding[at], share[at], farthest[at] = place, False, shares[trajectory], far
    limit_of = [conditions.index(name) if name in conditions else _NONE for name in items.limit_of]
    is_made = [_NONE != place == mover[at] for at, place in zip(items.limited.tolist(), limit_of, strict=True)]
    return PastFrame(
        items=items,
        held=held,
        first=first,
        usual=usual,
        most=_find_most(knowledge, items, written, usual),
        pushed=pushed,
        mover=np.array(mover, dtype=np.int64),
        by_finding=np.array(by_finding, dtype=np.bool_)[:, None],
        share=_column(share),
        limit_of=np.array(limit_of, dtype=np.int64),
        makes=items.limited[is_made],
        makes_limit=items.limit[is_made],
    )


@lru_cache(maxsize=8)
def _load_shares(knowledge: Knowledge) -> Mapping[str, float]:
    # By trajectory, how much of a departure from usual was there at diagnosis.
    rows = knowledge.parameters.values()
    return {row.id.removeprefix(_SHARE): row.value for row in rows if row.id.startswith(_SHARE)}


@lru_cache(maxsize=2048)
def _list_items(knowledge: Knowledge, devices: tuple[str, ...], watched: tuple[str, ...]) -> tuple[str, ...]:
    known = {*list_reported_analytes(knowledge, devices), *watched}
    return tuple(name for name in knowledge.analytes if name in known)


@lru_cache(maxsize=2048)
def _load_items(knowledge: Knowledge, names: tuple[str, ...]) -> PastItems:
    rows = [knowledge.analytes[name] for name in names]
    floors = [_find_written(f"levels_floor_{row.id}", knowledge) for row in rows]
    between = [knowledge.parameter("history_drift_unknown_pct") if row.cv_between_pct is None else row.cv_between_pct for row in rows]
    return PastItems(
        names=names,
        at={name: i for i, name in enumerate(names)},
        limited=np.array([i for i, row in enumerate(rows) if row.diagnostic_high is not None], dtype=np.int64),
        limit_of=tuple(row.diagnostic_of for row in rows if row.diagnostic_high is not None),
        limit=_column([row.diagnostic_high for row in rows if row.diagnostic_high is not None]),
        drift_sd=knowledge.parameter("history_drift_share") / 100 * _column(between),
        floored=np.flatnonzero(~np.isnan(floors)),
        floor=_column([floor for floor in floors if not np.isnan(floor)]),
        written_most=_column([_find_written(f"history_untreated_most.{name}", knowledge) for name in names]),
        hard_low=_column([row.hard_low for row in rows]),
        hard_high=_column([row.hard_high for row in rows]),
    )


def _find_written(parameter: str, knowledge: Knowledge) -> float:
    return knowledge.parameter(parameter) if parameter in knowledge.parameters else np.nan


def _find_most(knowledge: Knowledge, items: PastItems, first: FirstLevels, usual: FirstLevels) -> Reals:
    high = _in_unit(usual.high, usual.is_log)
    if first is not usual:
        high = np.maximum(_in_unit(first.high, first.is_log), high)
    return np.where(np.isnan(items.written_most), knowledge.parameter("history_untreated_room") * high, items.written_most)


def _in_unit(values: Reals, is_log: NDArray[np.bool_]) -> Reals:
    # What a skewed analyte has on the log scale, in its unit.
    in_unit = values.copy()
    in_unit[is_log] = np.exp(values[is_log])
    return in_unit


def _column(values: Sequence[float]) -> Reals:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


@lru_cache(maxsize=512)
def _list_written(knowledge: Knowledge, condition: str) -> tuple[tuple[str, float, str], ...]:
    """(item, mean, trajectory) of the levels that a condition writes."""
    levels = levels_of(condition, knowledge)
    findings = knowledge.conditions[condition].findings if levels else ()
    trajectories = {each.item: each.trajectory for each in reversed(findings)}
    return tuple((level.item, level.mean, trajectories.get(level.item, _UNWRITTEN)) for level in levels)


def find_day_zero(premise: Premise, course: Course, frame: PastFrame, knowledge: Knowledge, rng: Rng) -> DayZero:
    """The levels the course starts from, and those the same person would have without the conditions."""
    names, first, usual = frame.items.names, frame.first, frame.usual
    if not names:
        return DayZero(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1)), None)
    level = _column([float(course.levels[name][0]) for name in names])
    # Where no condition acts by a finding, the course starts from the first level itself.
    began = level
    is_shown = premise.presenting is not None
    if is_shown or frame.pushed:
        rows = slice(None) if is_shown else frame.pushed
        bmi = find_body_mass_index(premise.patient, premise.start_weight_kg, knowledge)
        began = level.copy()
        began[rows] = draw_first_levels(premise.case_id, first, bmi, rng)[rows]
    on_scale = np.where(first.is_log[:, None], np.log(began), began)
    place = (on_scale - first.mean) / np.maximum(first.sd, _TINY)
    usually = _in_unit(np.minimum(np.maximum(usual.mean + usual.sd * place, usual.low), usual.high), usual.is_log)
    usually = np.where(frame.by_finding, began, usually)
    documented, shown = level, None
    if premise.presenting is not None and premise.presenting.onset_day < 0:
        # The same person without what shows itself: pushed by the documented conditions alone, on day 0.
        alone = replace(premise, presenting=None, course_end_day=0)
        pushed = push_levels({name: (began[i], False) for i, name in enumerate(names)}, alone, knowledge, rng)
        documented = np.array([pushed.get(name, began[i]) for i, name in enumerate(names)])
        shown = level / documented
    return DayZero(documented, np.where(frame.mover[:, None] == _NONE, documented, usually), place, shown)


class _Effect(NamedTuple):
    # What a drug does to the items at `rows`: by dose, added and in percent, [row, dose], and how fast, [row, 1]. What is added shrinks in
    # proportion to the distance from `normal`, being whole at a distance of `reach` (inf: it does not shrink), [row, 1]. `is_relative`:
    # some effect is in percent; `is_bounded`: some reach is not inf.
    rows: Rows
    doses: Reals
    own: Reals
    percent: Reals
    half_time_days: Reals
    normal: Reals
    reach: Reals
    is_relative: bool
    is_bounded: bool


@lru_cache(maxsize=1024)
def _load_moves(knowledge: Knowledge, drug: str, has_diabetes: bool) -> tuple[tuple[str, ...], _Effect]:
    """The items that a drug may move, in table order, and what it does to them."""
    names = list_responding(knowledge, drug)
    table = load_drug_table(knowledge, drug, names, has_diabetes)
    bounded = [bool(shrinks) and f"levels_trial_{name}" in knowledge.parameters for name, shrinks in zip(names, table.shrinks, strict=True)]
    normal = [knowledge.parameter(f"levels_normal_{name}") if is_bounded else 0.0 for name, is_bounded in zip(names, bounded, strict=True)]
    trial = [knowledge.parameter(f"levels_trial_{name}") if is_bounded else np.inf for name, is_bounded in zip(names, bounded, strict=True)]
    steady = knowledge.drugs[drug].steady_weeks * WEEK / HALVINGS
    half_times = np.where(np.isnan(table.half_time_days), steady, table.half_time_days)
    reach = _column(trial) - _column(normal)
    return names, _Effect(np.arange(len(names)), table.doses, table.own, table.percent, half_times, _column(normal), reach, True, True)


@lru_cache(maxsize=4096)
def _load_effect(knowledge: Knowledge, drug: str, items: PastItems, has_diabetes: bool) -> _Effect:
    names, whole = _load_moves(knowledge, drug, has_diabetes)
    moves = ((whole.own != 0.0) | (whole.percent != 0.0)).any(axis=1).tolist()
    at = [place for place, name in enumerate(names) if moves[place] and name in items.at]
    percent, reach = whole.percent[at], whole.reach[at]
    return _Effect(
        rows=np.array([items.at[names[place]] for place in at], dtype=np.int64),
        doses=whole.doses,
        own=whole.own[at],
        percent=percent,
        half_time_days=whole.half_time_days[at],
        normal=whole.normal[at],
        reach=reach,
        is_relative=bool((percent != 0.0).any()),
        is_bounded=bool(np.isfinite(reach).any()),
    )


def moves_levels(line: Line, frame: PastFrame, has_diabetes: bool, knowledge: Knowledge) -> bool:
    """Whether a drug moves any item of the frame."""
    return len(_load_effect(knowledge, line.drug.id, frame.items, has_diabetes).rows) > 0


def remove_drugs(level: Reals, lines: Sequence[Line], frame: PastFrame, has_diabetes: bool, knowledge: Knowledge) -> Reals:
    """Levels as they would be on day 0 without the drugs still in force, [item, 1]."""
    level = level.copy()
    for line in reversed(lines):
        if line.last_day is None:
            effect = _load_effect(knowledge, line.drug.id, frame.items, has_diabetes)
            at = int(effect.doses.searchsorted(line.steps[-1][1]))
            own, before = effect.own[:, at : at + 1], level[effect.rows]
            if effect.is_bounded:
                per_unit = own / effect.reach
                whole = np.where(np.isinf(effect.reach), own, 0.0)
                before = (before - whole + per_unit * effect.normal) / np.maximum(1.0 + per_unit, _TINY)
            else:
                before = before - own
            level[effect.rows] = before / (1.0 + effect.percent[:, at : at + 1] / 100.0) if effect.is_relative else before
    return level


class PastDays(NamedTuple):
    """Days as numbers: the visits, ascending, the diagnosis of each documented condition and after them never (inf), and the onset of what
    shows itself (0: none)."""

    visits: Reals
    diagnosed: Reals
    onset: float


def find_undiagnosed(frame: PastFrame, days: PastDays) -> NDArray[np.bool_]:
    """Where a level may not reach the diagnostic limit of its item, [limited item, visit]."""
    return np.asarray(days.visits < days.diagnosed[frame.limit_of][:, None])


def derive_past_levels(
    day_zero: DayZero,
    frame: PastFrame,
    days: PastDays,
    lines: Sequence[Line],
    drift: Reals,
    undiagnosed: NDArray[np.bool_],
    has_diabetes: bool,
    knowledge: Knowledge,
) -> tuple[Reals, NDArray[np.bool_]]:
    """True levels on the visits, [item, visit]; `drift` are standard normals [item, visit], those of the latest visit first.

    `undiagnosed` is what `find_undiagnosed` says. With the levels comes where one had to be kept from a diagnosis, [limited item, visit].
    """
    untreated = remove_drugs(day_zero.level, lines, frame, has_diabetes, knowledge)
    level = day_zero.usual + (untreated - day_zero.usual) * _find_departure(day_zero.usual, untreated, frame, days, knowledge)
    level *= np.exp(frame.items.drift_sd * _walk_back(drift, days.visits, knowledge.parameter("history_drift_time_days")))
    if day_zero.shown is not None:
        level *= np.exp(np.log(day_zero.shown) * np.maximum(1.0 - days.visits / days.onset, 0.0))
    own = level[frame.items.floored]
    for line in lines:
        _apply(line, _load_effect(knowledge, line.drug.id, frame.items, has_diabetes), level, days.visits)
    floor = np.minimum(frame.items.floor, own)
    room = np.maximum(knowledge.parameter("levels_room_share") * (own - floor), NO_ROOM)
    level[frame.items.floored] = bend_up(level[frame.items.floored], floor, room)
    limited, most = level[frame.items.limited], knowledge.parameter("levels_undiagnosed_share") * frame.items.limit
    is_beyond = undiagnosed & (limited > most)
    level[frame.items.limited] = np.where(is_beyond, most, limited)
    return np.minimum(np.maximum(level, frame.items.hard_low), frame.items.hard_high), is_beyond


def _find_departure(usual: Reals, untreated: Reals, frame: PastFrame, days: PastDays, knowledge: Knowledge) -> Reals:
    """The share of day 0's departure from usual that was there on each visit, [item, visit].

    Where nothing moves an item there is no departure, so it does not matter that its day is inf.
    """
    since, share = days.diagnosed[frame.mover][:, None], frame.share
    if len(frame.makes):
        share = share.copy()
        now, before = untreated[frame.makes], usual[frame.makes]
        least = (knowledge.parameter("history_at_diagnosis_margin") * frame.makes_limit - before) / np.maximum(now - before, _TINY)
        share[frame.makes] = np.where(now > frame.makes_limit, np.maximum(share[frame.makes], least), share[frame.makes])
    grown = np.maximum(1.0 - days.visits / since, 0.0)
    faded = np.exp2(np.minimum(days.visits - since, 0.0) / knowledge.parameter("history_before_half_time_days"))
    departure: Reals = (share + (1.0 - share) * grown) * faded
    return departure


def _walk_back(drift: Reals, visits: Reals, time_days: float) -> Reals:
    """A slow walk that is 0 on day 0 and forgets where it was, [item, visit]; the latest visit has the first normal of each item."""
    ago = -visits[::-1] / time_days
    gaps = ago.copy()
    gaps[1:] -= ago[:-1]
    grown = np.exp(ago)
    walked: Reals = ((np.sqrt(-np.expm1(-2.0 * gaps)) * grown * drift).cumsum(axis=1) / grown)[:, ::-1]
    return walked


def _apply(line: Line, effect: _Effect, level: Reals, visits: Reals) -> None:
    """Put one drug into levels: its effect builds up from the first day and fades after the last."""
    if not len(effect.rows):
        return
    days = [day for day, _ in line.steps]
    # By step of the dose, then by visit: the first dose also stands for the visits before it, when no part of it acts.
    rungs = effect.doses.searchsorted([dose for _, dose in line.steps])
    at = rungs[np.array(days[1:], dtype=np.float64).searchsorted(visits, side="right")] if len(days) > 1 else rungs
    until = visits if line.last_day is None else np.minimum(visits, line.last_day)
    part = 1.0 - np.exp2(-np.maximum(until - days[0], 0.0) / effect.half_time_days)
    if line.last_day is not None:
        part *= np.exp2(-np.maximum(visits - line.last_day, 0.0) / effect.half_time_days)
    before = level[effect.rows]
    if effect.is_relative:
        before *= 1.0 + part * effect.percent[:, at] / 100.0
    if effect.is_bounded:
        part = part * np.where(np.isinf(effect.reach), 1.0, np.maximum(before - effect.normal, 0.0) / effect.reach)
    level[effect.rows] = before + part * effect.own[:, at]
