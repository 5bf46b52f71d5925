"""How the layers of true weight are put together, up to the index day and after it.

Up to the index day only facts of that time decide: start, low point and its day, and a reversal that has happened. What is left out
after it is chosen in `weight_guard.py`.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.rows import OutcomeRule
from clinworld.schema.premise import Premise
from clinworld.world.label import threshold_kg
from clinworld.world.weight import (
    Reals,
    ReboundShape,
    WeightNumbers,
    WeightTables,
    draw_descent_paces,
    draw_drift,
    draw_episodes,
    draw_rebound_paces,
    draw_rebound_shape,
    fill_to_limit,
    lay_curve,
    load_tables,
    smooth_step,
)

Rebound = Literal["drawn", "gradual", "early"]  # early climbs at once until the regain counts


class Level(NamedTuple):
    """How much is left of what is drawn, as shares: `old` episodes begin by the index day, `later` ones after it.

    `kept` is the share of what is kept of a later gain.
    """

    name: str
    old: float
    later: float
    kept: float
    drift: float


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """The layers of one case by day, in kg, and the days that shape them.

    `descent` is the skeleton without rebound, `turn` the day a rebound begins (None: it does not). `floor` is how far below the
    skeleton drift and episodes may take weight, `damping` by how much they act. Episodes are old when begun by the index day.
    `fade` falls from 1 to 0; `fading` is that fall after the index day, from that day on.
    """

    premise: Premise
    numbers: WeightNumbers
    rule: OutcomeRule
    rng: Rng
    days: Reals
    whole_days: NDArray[np.int64]
    descent: Reals
    descent_end: int
    turn: int | None
    shape: ReboundShape
    drift: Reals
    old: Reals
    later_passing: Reals
    later_kept: Reals
    floor: Reals
    damping: Reals
    fade: Reals
    fading: Reals

    @property
    def index_day(self) -> int:
        """T."""
        return self.premise.index_day


class Begun(NamedTuple):
    """Weight as far as the index day is settled: `weight_kg` to the index day, `share` the scale of the acting layers."""

    level: Level
    weight_kg: Reals
    share: float


def draw_layers(premise: Premise, rule: OutcomeRule, rng: Rng, numbers: WeightNumbers) -> Layers:
    """The layers of a case, drawn."""
    case_id, last, index = premise.case_id, premise.course_end_day, premise.index_day
    turn = derive_turn(premise, numbers)
    end = derive_descent_end(premise, turn, numbers)
    days = np.arange(last + 1.0)
    descent = _draw_descent(premise, end, rng, numbers)
    if turn is not None and turn < end:
        turn = _hasten_descent(descent, premise, end, turn, numbers)
    tables = load_tables(numbers)
    episodes = draw_episodes(case_id, last, premise.nadir_weight_kg, rng, numbers, tables)
    old_passing, old_kept, later_passing, later_kept = episodes.by_day(index)
    return Layers(
        premise=premise,
        numbers=numbers,
        rule=rule,
        rng=rng,
        days=days,
        whole_days=np.arange(last + 1, dtype=np.int64),
        descent=descent,
        descent_end=end,
        turn=turn,
        shape=draw_rebound_shape(case_id, rng),
        drift=draw_drift(case_id, last, rng, numbers),
        old=old_passing + old_kept,
        later_passing=later_passing,
        later_kept=later_kept,
        floor=numbers.floor_kg + numbers.floor_share * np.maximum(descent - premise.nadir_weight_kg, 0.0),
        damping=_damp(tables, end, last + 1),
        fade=tables.fade,
        # Not while weight falls: falling and fading together could pass the weekly limit.
        fading=lay_curve(tables.fade, max(end - index, 0), last + 1 - index),
    )


def _damp(tables: WeightTables, end: int, days: int) -> Reals:
    """How much drift and episodes act, by day: nothing on day 0, and little on the day the descent ends."""
    damping = lay_curve(tables.rise, 0, days)
    first = end - len(tables.dip) // 2
    around = slice(max(first, 0), max(first + len(tables.dip), 0))
    acting = damping[around]
    acting *= tables.dip[around.start - first :][: len(acting)]
    return damping


def derive_turn(premise: Premise, numbers: WeightNumbers) -> int | None:
    """The day weight begins to rise: the reversal, or up to three weeks earlier where the regain could else not last as the rule asks.

    Never before the day after T nor before the low point; None when weight is maintained.
    """
    if premise.outcome != "regain" or premise.reversal_day is None:
        return None
    in_time = premise.course_end_day - int(numbers.rise_room_days)
    return min(premise.reversal_day, max(in_time, premise.index_day + 1, premise.nadir_day))


def derive_descent_end(premise: Premise, turn: int | None, numbers: WeightNumbers) -> int:
    """The day of the low point: as declared, or later where the weekly limit asks for it; a reversal by the index day may hasten it."""
    loss = abs(premise.start_weight_kg - premise.nadir_weight_kg)
    end = max(premise.nadir_day, int(numbers.descent_days_least), ceil(loss / numbers.day_limit(numbers.plain_share)))
    if turn is not None and turn <= premise.index_day:
        end = min(end, max(turn, int(numbers.descent_days_least), ceil(loss / numbers.day_limit(numbers.skeleton_share)) + 1))
    return end


def _draw_descent(premise: Premise, end: int, rng: Rng, numbers: WeightNumbers) -> Reals:
    last, start, low = premise.course_end_day, premise.start_weight_kg, premise.nadir_weight_kg
    paces, limit = draw_descent_paces(premise.case_id, end, rng, numbers), numbers.day_limit(numbers.skeleton_share)
    # A loss that nearly fills the limit leaves no room for uneven days: they would end in a fall at full pace.
    even, contrast = float(np.add.reduce(paces)) / end, min(max(1.0 - abs(start - low) / (limit * end), 0.0) / numbers.contrast_room, 1.0)
    steps = fill_to_limit(even + contrast * (paces - even), low - start, limit)
    descent = np.empty(last + 1)
    fallen = min(last + 1, end)
    descent[:fallen], descent[fallen:] = start, low
    descent[1:fallen] += steps[: fallen - 1].cumsum()
    return descent


def _hasten_descent(descent: Reals, premise: Premise, end: int, turn: int, numbers: WeightNumbers) -> int:
    """Bring the rest of the descent after the index day forward to a reversal that falls into it, in place; the day it turns.

    What has happened by the index day stays; a rest that the weekly limit does not allow in the time delays the turn.
    """
    index = premise.index_day
    if turn <= index:
        return end
    left = float(descent[index]) - premise.nadir_weight_kg
    days = max(turn - index, ceil(abs(left) / numbers.day_limit(numbers.skeleton_share)))
    days = min(days, end - index)
    share = np.minimum(np.arange(len(descent) - index) / days, 1.0)
    descent[index:] = descent[index] - left * share
    return index + days


def declared_gain_kg(premise: Premise) -> float:
    """The weight regained from the reversal to the course's end, as declared."""
    if premise.regain_end_kg is not None:
        return premise.regain_end_kg - premise.nadir_weight_kg
    return premise.regain_kg_per_week * (premise.course_end_day - (premise.reversal_day or 0)) / 7.0


def rebound_gain(layers: Layers, rebound: Rebound) -> Reals:
    """Weight regained since the turn, by day, under a rebound shape; the part before the index day is always the one drawn."""
    gained = np.zeros(len(layers.days))
    turn, premise, numbers = layers.turn, layers.premise, layers.numbers
    steps = premise.course_end_day - turn if turn is not None else 0
    if turn is None or steps <= 0:
        return gained
    limit, total = numbers.day_limit(numbers.skeleton_share), declared_gain_kg(premise)
    drawn = draw_rebound_paces(premise.case_id, layers.shape, steps, layers.rng, numbers)
    known = min(max(premise.index_day - turn, 0), steps)
    pace = total / steps if premise.regain_end_kg is not None else premise.regain_kg_per_week / 7.0
    before = np.minimum(pace * drawn[:known], limit)
    rest = total - float(before.sum())
    if known == steps:
        after = drawn[:0]
    elif rebound == "early":
        after = _early_steps(layers, steps - known, rest)
    else:
        paces = drawn if rebound == "drawn" else draw_rebound_paces(premise.case_id, "gradual", steps, layers.rng, numbers)
        after = fill_to_limit(paces[known:], rest, limit)
    gained[turn + 1 :] = np.concatenate((before, after)).cumsum()
    return gained


def _early_steps(layers: Layers, steps: int, rest: float) -> Reals:
    # A regain that begins late counts only if it climbs at once and then holds.
    numbers, premise = layers.numbers, layers.premise
    low = premise.nadir_weight_kg
    need = threshold_kg(low, premise.start_weight_kg, layers.rule) - low + numbers.guard_over_kg
    have = declared_gain_kg(premise) - rest
    climb = min(max(need - have, 0.0), max(rest, 0.0))
    fast = min(ceil(climb / numbers.day_limit(numbers.early_share)), steps)
    slow = max((rest - climb) / max(steps - fast, 1), 0.0)
    paces = np.where(np.arange(steps) < fast, climb / max(fast, 1), slow)
    return np.minimum(paces, numbers.day_limit(numbers.skeleton_share))


def begin_weight(layers: Layers, level: Level, skeleton: Reals) -> Begun:
    """Weight to the index day, on a skeleton that reaches to it."""
    until = len(skeleton)
    raw = level.drift * layers.drift[:until] + level.old * layers.old[:until]
    acting = _settle(raw, layers.floor[:until], layers.damping[:until])
    share = _share_within_limit(skeleton, acting, layers.numbers)
    return Begun(level, skeleton + share * acting, share)


def finish_weight(layers: Layers, begun: Begun, level: Level, skeleton: Reals) -> Reals:
    """Weight to the course's end from how it began."""
    index, was, fading = layers.index_day, begun.level, layers.fading
    drift, old, kept_old = layers.drift[index:], layers.old[index:], level.old * was.old
    raw = level.drift * drift + kept_old * old
    if fixed := float((was.drift - level.drift) * drift[0] + (was.old - kept_old) * old[0]):
        raw += fixed * fading
    if level.later:
        raw += level.later * layers.later_passing[index:]
    if level.later and level.kept:
        raw += level.later * level.kept * layers.later_kept[index:]
    acting = _settle(raw, layers.floor[index:], layers.damping[index:])
    if begun.share != 1.0:
        acting *= 1.0 + (begun.share - 1.0) * fading
    acting[0] = begun.weight_kg[-1] - skeleton[index]
    after = _hold_limit(skeleton[index:], acting, fading, layers.numbers)
    return np.concatenate((begun.weight_kg, after[1:]))


def add_rebound(layers: Layers, kept: Reals, gain: Reals, turn: int, *, is_calm: bool) -> Reals:
    """A maintained weight with the gain from a turn after the index day on; with `is_calm`, drift and episodes act less around it."""
    numbers, days = layers.numbers, layers.days
    acting = kept - layers.descent
    if is_calm:
        rises = smooth_step((days - max(layers.index_day, turn - numbers.calm_days)) / numbers.calm_ramp_days)
        falls = smooth_step((days - (turn + numbers.calm_days)) / numbers.calm_ramp_days)
        acting *= 1.0 - numbers.calm_share * rises * (1.0 - falls)
    if layers.premise.regain_end_kg is not None:
        begins = max(len(days) - 1 - numbers.end_days, turn)
        acting *= 1.0 - smooth_step((days - begins) / numbers.end_days)
    weight = layers.descent + acting
    fading = lay_curve(layers.fade, 0, len(days) - turn)
    weight[turn:] = _hold_limit(layers.descent[turn:] + gain[turn:], acting[turn:], fading, numbers)
    return weight


def _hold_limit(skeleton: Reals, acting: Reals, fading: Reals, numbers: WeightNumbers) -> Reals:
    """Skeleton and layers together, never beyond the daily limit: what the layers begin with fades, the rest is scaled."""
    weight: Reals = skeleton + acting
    steps, limit = weight[1:] - weight[:-1], numbers.day_limit(numbers.hard_share)
    if not len(steps) or (np.maximum.reduce(steps) <= limit and np.minimum.reduce(steps) >= -limit):
        return weight
    base, added = skeleton + acting[0] * fading, acting - acting[0] * fading
    weight = base + _share_within_limit(base, added, numbers) * added
    return weight


def _settle(raw: Reals, floor: Reals, damping: Reals) -> Reals:
    """The part of drift and episodes that acts: damped around the anchors, and softly held above the floor."""
    below = np.minimum(raw, 0.0)
    acting: Reals = (raw - below + below / (1.0 - below / floor)) * damping
    return acting


def _share_within_limit(skeleton: Reals, acting: Reals, numbers: WeightNumbers) -> float:
    """The largest share of the layers, at most 1, with which no day's change goes over the limit."""
    limit = numbers.day_limit(numbers.hard_share)
    step, added = skeleton[1:] - skeleton[:-1], acting[1:] - acting[:-1]
    over = np.abs(step + added) > limit
    if not np.logical_or.reduce(over):
        return 1.0
    step, added = step[over], added[over]
    room = np.maximum(limit - np.where(added > 0.0, step, -step), 0.0)
    return min(1.0, float((room / np.abs(added)).min()))
