"""Daily streams as charted: person level, day-to-day noise, weekday effects, missing days, bounds and printed values.

All streams of a case are computed at once as [stream, day]. A row of the stack depends on its own addressed draws, its parent and its
device alone, so another stream, a longer course or an artifact moves nothing. How the home scale is used stands in `observe_weight.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, Words, words_to_normal, words_to_uniform
from clinworld.core.units import to_tick, to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.world.formulas import DAILY, LINES, find_body_mass_index
from clinworld.world.observe_plan import HOME_SCALE, Flags, Limits, Plan, Stack, list_passes, list_sources, load_plan, load_stack

Ticks = NDArray[np.int64]
Days = NDArray[np.int64]

_HALF = np.uint64(32)


class DailyValues(NamedTuple):
    """Printed values of a case's streams: `ticks` and `is_charted` are [stream, day], the row order is that of `ids`.

    `weight_noise` is the standard normal noise of the home scale and `weigh_in` the words that decide when it is used.
    """

    ids: tuple[str, ...]
    ticks: Ticks
    is_charted: Flags
    weight_noise: Reals
    weigh_in: Words
    non_wear_days: int
    distractors: tuple[str, ...]


def observe_streams(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng, weekdays: Days) -> DailyValues:
    """Printed values by day of the home scale and of every other stream this patient has.

    `weekdays` holds the weekday (0 = Monday) of each day of the course. The home scale is charted on every day here.
    """
    possible = load_stack(knowledge, premise.patient.devices)
    # One word a day: the high half makes the noise (the low half is far below its resolution), the low half decides whether the day is
    # missing. The first word of a stream belongs to the person: level, and whether the stream exists.
    drawn = rng.first_words(premise.case_id, [("stream", row.id) for row in possible.rows], len(weekdays) + 1)
    places, distractors = choose_streams(premise, possible, words_to_uniform(drawn[:, 0] << _HALF), knowledge)
    plan, words = load_plan(knowledge, premise.patient.devices, places), drawn[list(places)]
    stack = plan.stack
    normals = words_to_normal(words)
    noise = scan_ar1(normals[:, 1:], stack.lag1, plan.passes)
    _share_noise(premise, stack, noise, knowledge, rng)
    level = _derive_levels(premise, course, knowledge, stack, normals[:, :1], weekdays)
    low_halves = words[:, 1:] << _HALF
    is_charted = _draw_charted_days(premise, plan, low_halves, knowledge, rng)
    ticks = _print_parents_first(premise, plan, is_charted, level, noise, knowledge)
    _keep_first_undiagnosed(premise, stack, ticks, is_charted, level)
    home = plan.at[HOME_SCALE]
    by_stream = np.count_nonzero(is_charted, axis=1)[~stack.is_weekly]
    non_wear = len(by_stream) * len(weekdays) - int(by_stream.sum())
    return DailyValues(tuple(plan.at), ticks, is_charted, noise[home], low_halves[home], non_wear, distractors)


def choose_streams(premise: Premise, possible: Stack, chance: Reals, knowledge: Knowledge) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """(places of the streams this patient has, ids of those among them that are there as distractors only).

    `chance` is a uniform for each row. Diary evidence and scale quality exist for everyone, other streams in a share of people and a
    derived one only beside its parent. A distractor is a wearable stream the device could report and this person would not have shown.
    """
    is_shown = (chance < possible.p_present) | possible.is_weekly
    names = [row.id for row in possible.rows]
    shown = {HOME_SCALE, *(name for name, is_so in zip(names, is_shown.tolist(), strict=True) if is_so)}
    for row in possible.rows:
        if row.id in shown and not shown.issuperset(list_sources(row)):
            shown.discard(row.id)
    added: list[str] = []
    if premise.distractor_level != "none":
        most = int(knowledge.parameter(f"distractor_streams_{premise.distractor_level}"))
        ranked = sorted((bool(row.parent), float(chance[i]), row.id, row) for i, row in enumerate(possible.rows) if row.id not in shown)
        for _, _, name, row in ranked:
            if row.role == "wearable" and len(added) < most and (not row.parent or row.parent in shown or row.parent in added):
                added.append(name)
    return tuple(i for i, name in enumerate(names) if name in shown or name in added), tuple(added)


def scan_ar1(innovations: Reals, lag1: Reals, passes: tuple[tuple[int, Reals], ...]) -> Reals:
    """Stationary AR(1) series of variance 1 from standard normal innovations, along the last axis."""
    series: Reals = innovations * np.sqrt(1 - lag1 * lag1)
    series[:, 0] = innovations[:, 0]
    back = 1
    for active, factor in passes:
        if back < series.shape[1]:
            series[:active, back:] += factor * series[:active, :-back]
        back *= 2
    return series


def _share_noise(premise: Premise, stack: Stack, noise: Reals, knowledge: Knowledge, rng: Rng) -> None:
    """Give readings of one home device what they have in common, where a parameter says how much."""
    for device in premise.patient.devices:
        name = f"shared_noise_{device}"
        if name in knowledge.parameters:
            alike = [i for i, owned in enumerate(stack.devices) if owned == device and stack.rows[i].role == "home"]
            loading, lag1 = knowledge.parameter(name), stack.lag1[alike]
            drawn = rng.at(premise.case_id, "device", device, "noise").normal(noise.shape[1])
            common = scan_ar1(np.broadcast_to(drawn, (len(alike), len(drawn))), lag1, list_passes(lag1))
            noise[alike] = loading * common + np.sqrt(1 - loading * loading) * noise[alike]


def _derive_levels(premise: Premise, course: Course, knowledge: Knowledge, stack: Stack, person: Reals, weekdays: Days) -> Reals:
    """The expected value [stream, day] on the row's scale: person, age, weekday, and what the course moves.

    A derived row holds what is added to the value its parent gives. Without physiology only streams that show a driver are moved.
    """
    cut = knowledge.parameter("person_cut_sd")
    years = max((premise.patient.age_low + premise.patient.age_high) / 2 - 40, 0)
    over = max(find_body_mass_index(premise.patient, premise.start_weight_kg, knowledge) - 25, 0)
    mean = stack.mean_m if premise.patient.sex == "M" else stack.mean_f
    own = mean + stack.per_year_over_40 * years + stack.per_bmi_over_25 * over + stack.sd_between * reflect(person, -cut, cut)
    own = np.where(stack.is_derived, own, _ease_inside(own, stack.limits))
    stated, levels = dict(premise.patient.baseline_vitals), course.levels
    still = set() if premise.has_physiology else {row.id for row in stack.rows} - {driver.evidence for driver in knowledge.drivers.values()}
    for i, row in enumerate(stack.rows):
        if row.id == HOME_SCALE or row.id in levels or f"evidence:{row.id}" in levels:
            own[i] = 0
        elif row.id in stated and not row.parent:
            own[i] = np.log([stated[row.id]]) if row.scale == "log" else stated[row.id]
    level = (own + stack.weekday).take(weekdays, axis=1)
    for i, row in enumerate(stack.rows):
        truth = course.weight_kg if row.id == HOME_SCALE else levels.get(f"evidence:{row.id}", levels.get(row.id))
        if truth is not None:
            level[i] += np.log(truth) if row.scale == "log" else truth
        if row.id not in still and (shift := levels.get(f"shift:{row.id}")) is not None:
            level[i] += shift
    return level


def _ease_inside(level: Reals, limits: Limits) -> Reals:
    """A person's level, bent smoothly to stay one day-to-day SD inside the bounds."""
    # A printed step is a length on a linear scale only.
    softness = np.maximum(limits.sd_within / 2, np.where(limits.is_log, 0, 1 / limits.steps_per_unit))
    low, high = limits.low + limits.sd_within, limits.high - limits.sd_within
    level = low + softness * np.logaddexp(0, (level - low) / softness)
    return np.asarray(high - softness * np.logaddexp(0, (high - level) / softness))


def reflect(values: Reals, low: Reals | float, high: Reals | float) -> Reals:
    """Values folded back at the bounds, as often as it takes, so that none is cut off and none piles up on a bound.

    Changes and returns `values`. `low` and `high` are numbers or columns.
    """
    outside = values < low
    outside |= values > high
    if np.count_nonzero(outside):
        at = np.nonzero(outside)
        bottom, top = (np.ravel(bound)[at[0]] if np.ndim(bound) else bound for bound in (low, high))
        width = top - bottom
        values[at] = bottom + width - np.abs(np.mod(values[at] - bottom, 2 * width) - width)
    return values


def _print_parents_first(premise: Premise, plan: Plan, is_charted: Flags, level: Reals, noise: Reals, knowledge: Knowledge) -> Ticks:
    """Printed ticks of every row; a derived row follows the printed values and the days of its parent."""
    ticks = np.empty(level.shape, dtype=np.int64)
    for places, limits, parents, slope_per_step, by_formula, bounded, bounded_limits in plan.generations:
        expected = level[places]
        if parents:
            expected += slope_per_step * ticks[parents]
            for row, formula in by_formula:
                expected[row] += _follow_formula(formula, premise, plan, ticks, parents[row], knowledge)
            if bounded:
                expected[bounded] = _ease_inside(expected[bounded], bounded_limits)
            is_charted[places] = is_charted[parents]
        ticks[places] = _print_values(limits, expected, noise[places])
    return ticks


def _follow_formula(formula: str, premise: Premise, plan: Plan, ticks: Ticks, parent: int, knowledge: Knowledge) -> Reals:
    """What a formula makes of the printed values: of the parent's by the patient's line, or of several of the same day."""
    if formula in LINES:
        line = LINES[formula](premise.patient, premise.start_weight_kg, knowledge)
        by_line: Reals = line.intercept + line.slope / plan.stack.limits.steps_per_unit[parent, 0] * ticks[parent]
        return by_line
    printed = {name: ticks[plan.at[name]] / plan.stack.limits.steps_per_unit[plan.at[name], 0] for name in DAILY[formula].inputs}
    age_years = (premise.patient.age_low + premise.patient.age_high) / 2
    by_formula: Reals = DAILY[formula].calculate(printed, age_years, premise.patient.sex, knowledge)
    return by_formula


def _print_values(limits: Limits, level: Reals, noise: Reals) -> Ticks:
    """Printed ticks of level plus noise, all inside the hard bounds.

    Noise shrinks with the room left to the nearer bound: a day-to-day SD fits twice, or it would pile values up there.
    """
    values = np.minimum(level - limits.low, limits.high - level)
    values *= 0.5
    np.maximum(values, 0.5 / limits.steps_per_unit, out=values)
    np.minimum(values, limits.sd_within, out=values)
    values *= noise
    values += level
    reflect(values, limits.low, limits.high)
    is_log = limits.is_log[:, 0]
    values[is_log] = np.exp(values[is_log])
    values *= limits.steps_per_unit
    return to_ticks(values, 0)


def _draw_charted_days(premise: Premise, plan: Plan, words: Words, knowledge: Knowledge, rng: Rng) -> Flags:
    """Days with a value: a two-state chain of worn and missing days, weekly for diaries; derived rows are left to their parents.

    Readings of one home device are taken together; a wearable is off as a whole on a share of the days.
    """
    days = words.shape[1]
    measured = plan.generations[0].places
    own, off = words[measured], plan.stack.off[measured]
    by_device = np.uint64(int(knowledge.parameter("device_day_share") * 2**64))
    for device, alike in plan.by_device:
        common = rng.at(premise.case_id, "device", device, "off").words(days)
        is_common = (common << _HALF) < by_device
        for i in alike:
            own[i] = common if plan.stack.rows[measured[i]].role == "home" else np.where(is_common, common, own[i])
    begins = own < off[:, 1:2]
    turns = begins | (own >= off[:, 2:3])
    begins[:, 0], turns[:, 0] = own[:, 0] < off[:, 0], True
    last = np.maximum.accumulate(turns * np.arange(days, dtype=np.int32), axis=1)
    last += np.arange(0, begins.size, days, dtype=np.int32)[:, None]
    is_worn = ~begins.ravel().take(last)
    is_worn[plan.stack.is_weekly[measured]] = np.arange(days) % int(knowledge.parameter("evidence_grid")) == 0
    is_charted = np.ones(words.shape, dtype=np.bool_)
    is_charted[measured] = is_worn
    is_charted[plan.at[HOME_SCALE]] = True
    return is_charted


def _keep_first_undiagnosed(premise: Premise, stack: Stack, ticks: Ticks, is_charted: Flags, level: Reals) -> None:
    """Fold a first value back below the limit at which a condition this patient is not known to have would be diagnosed."""
    known = (premise.patient.disease, *premise.patient.comorbidities)
    for i, row in enumerate(stack.rows):
        if row.diagnostic_high is not None and row.diagnostic_of not in known and is_charted[i].any():
            first = int(np.argmax(is_charted[i]))
            limit = to_tick(row.diagnostic_high, row.decimals)
            if level[i, first] < row.diagnostic_high and ticks[i, first] >= limit:
                ticks[i, first] = 2 * limit - 1 - ticks[i, first]
