"""True weight by day, put together so that it tells the declared outcome and nothing of the future.

After the index day layers are left out one by one until the outcome read by the label rule is the declared one; before it, until they
leave the outcome open.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import Premise
from clinworld.world.label import event_occurs, longest_run_days, threshold_kg
from clinworld.world.weight import Reals, WeightNumbers, read_numbers
from clinworld.world.weight_curve import (
    Begun,
    Layers,
    Level,
    Rebound,
    add_rebound,
    begin_weight,
    declared_gain_kg,
    draw_layers,
    finish_weight,
    rebound_gain,
)

BEFORE = (Level("full", 1, 0, 1, 1), Level("no_episodes", 0, 0, 1, 1), Level("plain", 0, 0, 1, 0))
AFTER = (
    Level("full", 1, 1, 1, 1),
    Level("passing_episodes", 1, 1, 0, 1),
    Level("smaller_episodes", 0, 1, 0, 0.7),
    Level("small_episodes", 0, 0.5, 0, 0.5),
    Level("plain", 0, 0, 1, 0.3),
)
# (shape, whether drift and episodes are calmed around the turn)
REBOUNDS: tuple[tuple[Rebound, bool], ...] = (("drawn", False), ("drawn", True), ("gradual", True), ("early", True))


class WeightCourse(NamedTuple):
    """True weight by day in kg, and how it was put together."""

    weight_kg: Reals
    notes: Mapping[str, str | float | int]


def derive_weight(premise: Premise, knowledge: Knowledge, rng: Rng, *, guard: bool = True) -> WeightCourse:
    """True weight from day 0 to the course's last day.

    Weight up to the index day is the same whatever the outcome, a later reversal and the course's end are. With `guard` off nothing
    makes the outcome read from the curve the declared one. Notes: `level_before` and `level` (what was left out up to and after the
    index day), `shape` of the rebound, `descent_end_day`, `turn_day`. Where the rule cannot be met, `declared_below_rule` is the
    declared gain, or `declared_too_late` the days left after the turn; nothing is changed then.
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
    if turn is not None and level is AFTER[-1] and not is_short and not _event_occurs(layers, weight):
        notes["declared_too_late"] = premise.course_end_day - turn
    if turn is not None:
        notes["shape"] = layers.shape if rebound == "drawn" else rebound
    return WeightCourse(weight, notes)


def settle_before(layers: Layers, *, guard: bool) -> Begun:
    """Weight up to the index day, with the most layers that keep to the weekly limit and leave the outcome open."""
    skeleton = layers.descent[: layers.index_day + 1]
    if layers.turn is not None and layers.turn < layers.index_day:
        skeleton = skeleton + rebound_gain(layers, "drawn")[: layers.index_day + 1]
    for level in BEFORE:
        begun = begin_weight(layers, level, skeleton)
        if not guard or level is BEFORE[-1] or _leaves_outcome_open(layers, begun, skeleton):
            return begun
    raise AssertionError("the last level is always taken")


def settle_after(layers: Layers, begun: Begun, *, guard: bool, is_short: bool = False) -> tuple[Level, Rebound, Reals]:
    """The whole course: the most layers, and the rebound nearest to the one drawn, under which the declared outcome holds with room.

    A reversal still to come changes nothing but the rebound: the layers are those that would leave a maintained weight maintained,
    so weight is the same in both outcomes up to the reversal. `is_short`: the declared gain cannot meet the rule and is left as it is.
    """
    turn = layers.turn
    level, kept = _settle_layers(layers, begun, guard=guard)
    if turn is None:
        return level, "drawn", kept
    for rebound, is_calm in REBOUNDS:
        gain = rebound_gain(layers, rebound)
        weight = _rise(layers, begun, level, kept, gain, is_calm=is_calm)
        if not guard or is_short or _is_regain(layers, weight, layers.descent + gain):
            return level, rebound, weight
    if not _is_regain(layers, weight, layers.descent + gain, is_narrow=True):
        level = AFTER[-1]
        kept = finish_weight(layers, begun, level, layers.descent)
        weight = _rise(layers, begun, level, kept, gain, is_calm=True)
    return level, rebound, weight


def _rise(layers: Layers, begun: Begun, level: Level, kept: Reals, gain: Reals, *, is_calm: bool) -> Reals:
    if layers.turn is not None and layers.turn > layers.index_day:
        return add_rebound(layers, kept, gain, layers.turn, is_calm=is_calm)
    return finish_weight(layers, begun, level, layers.descent + gain)


def _settle_layers(layers: Layers, begun: Begun, *, guard: bool) -> tuple[Level, Reals]:
    if layers.turn is not None and layers.turn <= layers.index_day:
        return AFTER[0], begun.weight_kg
    for level in AFTER:
        weight = finish_weight(layers, begun, level, layers.descent)
        if not guard or level is AFTER[-1]:
            return level, weight
        # The rule has the last word on a maintained weight; for a regain it is asked again once the rebound is there.
        if _has_room_to_maintain(layers, weight) and (layers.turn is not None or not _event_occurs(layers, weight)):
            return level, weight
    raise AssertionError("the last level is always taken")


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


def _has_room_to_maintain(layers: Layers, weight: Reals) -> bool:
    numbers = layers.numbers
    return _reaches_low_point(layers, weight) and _run_days(layers, weight, -numbers.guard_clear_kg) <= numbers.guard_clear_days


def _is_regain(layers: Layers, weight: Reals, skeleton: Reals, *, is_narrow: bool = False) -> bool:
    numbers, turn = layers.numbers, layers.turn
    over, days = (numbers.narrow_over_kg, numbers.narrow_over_days) if is_narrow else (numbers.guard_over_kg, numbers.guard_over_days)
    if not _reaches_low_point(layers, weight) or _run_days(layers, weight, over) < days:
        return False
    if not is_narrow and turn is not None and turn > layers.index_day and not _turn_shows(weight, skeleton, turn, numbers):
        return False
    return _event_occurs(layers, weight)


def _event_occurs(layers: Layers, weight: Reals) -> bool:
    return event_occurs(layers.whole_days, weight, start_kg=layers.premise.start_weight_kg, rule=layers.rule)


def _reaches_low_point(layers: Layers, weight: Reals) -> bool:
    if layers.descent_end >= len(weight):
        return True
    return abs(float(weight.min()) - layers.premise.nadir_weight_kg) <= layers.numbers.guard_low_kg


def _run_days(layers: Layers, weight: Reals, over_kg: float) -> int:
    """Days of the longest run after the low point this far over the threshold, on unsmoothed weight because it is quick."""
    low_at = int(weight.argmin())
    high = threshold_kg(float(weight[low_at]), layers.premise.start_weight_kg, layers.rule) + over_kg
    return longest_run_days(layers.whole_days[low_at:], weight[low_at:] >= high)


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
