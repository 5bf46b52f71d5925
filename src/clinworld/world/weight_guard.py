"""True weight by day, put together so that it tells the declared outcome and nothing of the future.

Up to the index day only facts of that time decide: start, low point and its day, and a reversal that has happened. After it, layers are
left out one by one until the outcome read by the label rule is the declared one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import OutcomeRule
from clinworld.schema.premise import Premise
from clinworld.world.label import event_occurs, longest_run_days, threshold_kg
from clinworld.world.weight import (
    Reals,
    ReboundShape,
    WeightNumbers,
    draw_descent_paces,
    draw_drift,
    draw_episodes,
    draw_rebound_paces,
    draw_rebound_shape,
    fill_to_limit,
    read_numbers,
    smooth_step,
)


class Level(NamedTuple):
    """How much is left of what is drawn, as shares: `old` episodes begin by the index day, `later` ones after it.

    `kept` is the share of what is kept of a later gain.
    """

    name: str
    old: float
    later: float
    kept: float
    drift: float


BEFORE = (Level("full", 1, 0, 1, 1), Level("no_episodes", 0, 0, 1, 1), Level("plain", 0, 0, 1, 0))
AFTER = (
    Level("full", 1, 1, 1, 1),
    Level("passing_episodes", 1, 1, 0, 1),
    Level("smaller_episodes", 0, 1, 0, 0.7),
    Level("small_episodes", 0, 0.5, 0, 0.5),
    Level("plain", 0, 0, 1, 0.3),
)
Rebound = Literal["drawn", "gradual", "early"]
# (shape, whether drift and episodes are calmed around the turn); early climbs at once until the regain counts.
REBOUNDS: tuple[tuple[Rebound, bool], ...] = (("drawn", False), ("drawn", True), ("gradual", True), ("early", True))


class WeightCourse(NamedTuple):
    """True weight by day in kg, and how it was put together."""

    weight_kg: Reals
    notes: Mapping[str, str | float | int]


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of one case by day, in kg, and the days that shape them.

    `descent` is the skeleton without rebound, `turn` the day a rebound begins (None: it does not). `floor` is how far below the
    skeleton drift and episodes may take weight, `damping` by how much they act. Episodes are old when begun by the index day.
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
    old_episodes: Reals
    later_episodes: Reals
    floor: Reals
    damping: Reals

    @property
    def index_day(self) -> int:
        """T."""
        return self.premise.index_day

    def settle(self, raw: Reals) -> Reals:
        """The part of drift and episodes that acts: damped around the anchors, and softly held above the floor."""
        below = np.minimum(raw, 0.0)
        return (raw - below + below / (1.0 - below / self.floor)) * self.damping


class Begun(NamedTuple):
    """Weight as far as the index day is settled: `weight_kg` to the index day, `share` the scale of the acting layers."""

    level: Level
    weight_kg: Reals
    share: float


def derive_weight(premise: Premise, knowledge: Knowledge, rng: Rng, *, guard: bool = True) -> WeightCourse:
    """True weight from day 0 to the course's last day.

    Weight up to the index day is the same whatever the outcome, a later reversal and the course's end are. With `guard` off nothing
    makes the outcome read from the curve the declared one. Notes: `level_before` and `level` (what was left out up to and after the
    index day), `shape` of the rebound, `descent_end_day`, `turn_day`; `declared_below_rule` is the declared gain when the rule
    cannot be met by it.
    """
    layers = draw_layers(premise, knowledge.outcomes[premise.target_event], rng, read_numbers(knowledge))
    notes: dict[str, str | float | int] = {"descent_end_day": layers.descent_end}
    turn, is_short = layers.turn, False
    if turn is not None:
        gain = declared_gain_kg(premise)
        is_short = premise.nadir_weight_kg + gain < threshold_kg(premise.nadir_weight_kg, premise.start_weight_kg, layers.rule)
        notes |= {"turn_day": turn} | ({"declared_below_rule": round(gain, 3)} if is_short else {})
    begun = settle_before(layers, guard=guard)
    level, rebound, weight = settle_after(layers, begun, guard=guard, is_short=is_short)
    notes |= {"level_before": begun.level.name, "level": level.name}
    if turn is not None:
        notes["shape"] = layers.shape if rebound == "drawn" else rebound
    return WeightCourse(weight, notes)


def declared_gain_kg(premise: Premise) -> float:
    """The weight regained from the reversal to the course's end, as declared."""
    if premise.regain_end_kg is not None:
        return premise.regain_end_kg - premise.nadir_weight_kg
    return premise.regain_kg_per_week * (premise.course_end_day - (premise.reversal_day or 0)) / 7.0


def draw_layers(premise: Premise, rule: OutcomeRule, rng: Rng, numbers: WeightNumbers) -> Layers:
    """The layers of a case, drawn."""
    case_id, last = premise.case_id, premise.course_end_day
    turn = premise.reversal_day if premise.outcome == "regain" else None
    end = derive_descent_end(premise, turn, numbers)
    days = np.arange(last + 1.0)
    change, limit = premise.nadir_weight_kg - premise.start_weight_kg, numbers.day_limit(numbers.skeleton_share)
    steps = fill_to_limit(draw_descent_paces(case_id, end, rng, numbers), change, limit)
    descent = np.full(last + 1, float(premise.nadir_weight_kg))
    fallen = min(last + 1, end)
    descent[:fallen] = premise.start_weight_kg
    descent[1:fallen] += np.cumsum(steps[: fallen - 1])
    if turn is not None and turn < end:
        turn = hasten_descent(descent, premise, end, turn, numbers)
    near = (days - end) / numbers.anchor_days
    bump = np.maximum(1.0 - near * near, 0.0)
    episodes = draw_episodes(case_id, last, premise.nadir_weight_kg, rng, numbers)
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
        old_episodes=episodes.begun(by=premise.index_day),
        later_episodes=episodes.begun(by=last, after=premise.index_day),
        floor=numbers.floor_kg + numbers.floor_share * np.maximum(descent - premise.nadir_weight_kg, 0.0),
        damping=smooth_step(days / numbers.anchor_days) * (1.0 - numbers.anchor_damp * bump * bump),
    )


def derive_descent_end(premise: Premise, turn: int | None, numbers: WeightNumbers) -> int:
    """The day of the low point: as declared, or later where the weekly limit asks for it; a reversal by the index day may hasten it."""
    loss = abs(premise.start_weight_kg - premise.nadir_weight_kg)
    end = max(premise.nadir_day, int(numbers.descent_days_least), ceil(loss / numbers.day_limit(numbers.plain_share)))
    if turn is not None and turn <= premise.index_day:
        end = min(end, max(turn, int(numbers.descent_days_least), ceil(loss / numbers.day_limit(numbers.skeleton_share)) + 1))
    return end


def hasten_descent(descent: Reals, premise: Premise, end: int, turn: int, numbers: WeightNumbers) -> int:
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


def settle_before(layers: Layers, *, guard: bool) -> Begun:
    """Weight up to the index day, with the most layers that keep to the weekly limit and leave the outcome open."""
    skeleton = (layers.descent + rebound_gain(layers, "drawn"))[: layers.index_day + 1]
    for level in BEFORE:
        begun = _begin(layers, level, skeleton)
        if not guard or level is BEFORE[-1] or _leaves_outcome_open(layers, begun, skeleton):
            return begun
    raise AssertionError("the last level is always taken")


def settle_after(layers: Layers, begun: Begun, *, guard: bool, is_short: bool = False) -> tuple[Level, Rebound, Reals]:
    """The whole course: the most layers, and the rebound nearest to the one drawn, under which the declared outcome holds with room.

    A reversal still to come changes nothing but the rebound: the layers are those that would leave a maintained weight maintained,
    so weight is the same in both outcomes up to the reversal. `is_short`: the declared gain cannot meet the rule and is left as it is.
    """
    is_known = layers.turn is not None and layers.turn <= layers.index_day
    for level in AFTER:
        weight = _finish(layers, begun, level, layers.descent) if not is_known else begun.weight_kg
        if not guard or is_known or level is AFTER[-1] or _outcome_holds(layers, weight, layers.descent, None):
            break
    if layers.turn is None:
        return level, "drawn", weight
    for rebound, is_calm in REBOUNDS:
        skeleton = layers.descent + rebound_gain(layers, rebound)
        weight = _finish(layers, begun, level, skeleton, calm_at=layers.turn if is_calm else None)
        if not guard or is_short or _outcome_holds(layers, weight, skeleton, layers.turn):
            return level, rebound, weight
    if _outcome_holds(layers, weight, skeleton, layers.turn, is_narrow=True):
        return level, rebound, weight
    return AFTER[-1], rebound, _finish(layers, begun, AFTER[-1], skeleton)


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
    gained[turn + 1 :] = np.cumsum(np.concatenate((before, after)))
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


def _begin(layers: Layers, level: Level, skeleton: Reals) -> Begun:
    acting = layers.settle(level.drift * layers.drift + level.old * layers.old_episodes)[: len(skeleton)]
    share = _share_within_limit(skeleton, acting, layers.numbers)
    return Begun(level, skeleton + share * acting, share)


def _finish(layers: Layers, begun: Begun, level: Level, skeleton: Reals, *, calm_at: int | None = None) -> Reals:
    index, numbers, was = layers.index_day, layers.numbers, begun.level
    fades_from = max(index, layers.descent_end)  # not while weight falls: both together could pass the limit
    fading = 1.0 - smooth_step((layers.days - fades_from) / numbers.fade_days)
    drift, old, kept_old = layers.drift, layers.old_episodes, level.old * was.old
    raw = level.drift * drift + ((was.drift - level.drift) * drift[index]) * fading
    raw += kept_old * old + ((was.old - kept_old) * old[index]) * fading
    if level.later:
        raw += level.later * _later_episodes(layers, level.kept)
    acting = layers.settle(raw)[index:]
    if calm_at is not None:
        rises = smooth_step((layers.days[index:] - max(index, calm_at - numbers.calm_days)) / numbers.calm_ramp_days)
        falls = smooth_step((layers.days[index:] - (calm_at + numbers.calm_days)) / numbers.calm_ramp_days)
        acting = acting * (1.0 - numbers.calm_share * rises * (1.0 - falls))
    if layers.premise.regain_end_kg is not None:
        acting = acting * (1.0 - smooth_step((layers.days[index:] - (len(layers.days) - 1 - numbers.end_days)) / numbers.end_days))
    # What the layers had added by the index day fades; what they add from there on replaces it.
    fade = float(begun.weight_kg[-1] - skeleton[index]) * fading[index:]
    base, added = skeleton[index:] + fade, acting * (1.0 + (begun.share - 1.0) * fading[index:]) - fade
    after = base + _share_within_limit(base, added, numbers) * added
    return np.concatenate((begun.weight_kg, after[1:]))


def _later_episodes(layers: Layers, kept: float) -> Reals:
    if kept:
        return layers.later_episodes
    premise = layers.premise
    last = premise.course_end_day
    episodes = draw_episodes(premise.case_id, last, premise.nadir_weight_kg, layers.rng, layers.numbers, kept_share=0.0)
    return episodes.begun(by=last, after=premise.index_day)


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


def _leaves_outcome_open(layers: Layers, begun: Begun, skeleton: Reals) -> bool:
    numbers, low = layers.numbers, layers.premise.nadir_weight_kg
    index, turn = layers.index_day, layers.turn
    last = index if turn is None or turn > index else turn
    reached = begun.weight_kg[layers.descent_end : last + 1]
    if len(reached):
        high = threshold_kg(low, layers.premise.start_weight_kg, layers.rule) - numbers.guard_clear_kg
        run = longest_run_days(layers.whole_days, reached >= high)
        if 2 * run > numbers.guard_clear_days or abs(float(reached.min()) - low) > numbers.guard_low_kg:
            return False
    return turn is None or turn >= index or _turn_shows(begun.weight_kg, skeleton, turn, numbers)


def _outcome_holds(layers: Layers, weight: Reals, skeleton: Reals, turn: int | None, *, is_narrow: bool = False) -> bool:
    # First the room to spare, on unsmoothed weight because it is quick; the rule itself has the last word.
    numbers, premise = layers.numbers, layers.premise
    low_at = int(weight.argmin())
    low = float(weight[low_at])
    if layers.descent_end < len(weight) and abs(low - premise.nadir_weight_kg) > numbers.guard_low_kg:
        return False
    over, days = (numbers.narrow_over_kg, numbers.narrow_over_days) if is_narrow else (numbers.guard_over_kg, numbers.guard_over_days)
    high = threshold_kg(low, premise.start_weight_kg, layers.rule) + (over if turn is not None else -numbers.guard_clear_kg)
    run = longest_run_days(layers.whole_days[low_at:], weight[low_at:] >= high)
    if turn is None:
        has_room = run <= numbers.guard_clear_days
    else:
        has_room = run >= days and (is_narrow or turn <= layers.index_day or _turn_shows(weight, skeleton, turn, numbers))
    declared = turn is not None
    return has_room and event_occurs(layers.whole_days, weight, start_kg=premise.start_weight_kg, rule=layers.rule) == declared


def _turn_shows(weight: Reals, skeleton: Reals, turn: int, numbers: WeightNumbers) -> bool:
    """Whether weight turns up at the reversal about as clearly as it would without drift and episodes."""
    needed = min(numbers.guard_turn_kg_per_week / 7.0, numbers.guard_turn_share * _slope_change(skeleton, turn, numbers))
    return _slope_change(weight, turn, numbers) >= needed


def _slope_change(weight: Reals, turn: int, numbers: WeightNumbers) -> float:
    span = int(numbers.guard_turn_days)
    first, last = max(turn - span, 0), min(turn + span, len(weight) - 1)
    after = float(weight[last] - weight[turn]) / max(last - turn, 1)
    before = float(weight[turn] - weight[first]) / max(turn - first, 1)
    return after - before
