"""Daily streams as charted: person level, day-to-day noise, weekday effects, missing days, bounds and printed values.

All streams a case may have are computed at once as [stream, day]. A row of the stack depends on its own addressed draws, its parent, what
it goes together with and its device alone, so another stream, a longer course or an artifact moves nothing. How the home scale is
used stands in `observe_weight.py`.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, Words, words_to_normal, words_to_uniform
from clinworld.core.units import to_tick
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.world.formulas import DAILY, LINES, find_body_mass_index
from clinworld.world.observe_plan import HOME_SCALE, WORN, Ease, Limits, Passes, Plan, find_usual_shifts, load_plan
from clinworld.world.wear import Flags, draw_use, find_missing_days, load_share

Ticks = NDArray[np.int64]
Days = NDArray[np.int64]

_HALF = np.uint64(32)


class DailyValues(NamedTuple):
    """Printed values of a case's streams: `ticks` and `is_charted` are [stream, day], the row order is that of `ids`.

    A stream the patient does not have is charted on no day. `weight_noise` is the standard normal noise of the home scale and `weigh_in`
    the words that decide when it is used; `non_wear_days` is None where nothing is worn.
    """

    ids: tuple[str, ...]
    ticks: Ticks
    is_charted: Flags
    weight_noise: Reals
    weigh_in: Words
    non_wear_days: int | None
    distractors: tuple[str, ...]


def observe_streams(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng, weekdays: Days) -> DailyValues:
    """Printed values by day of the home scale and of every other stream this patient has.

    `weekdays` holds the weekday (0 = Monday) of each day of the course. The home scale is charted on every day here.
    """
    plan = load_plan(knowledge, premise.patient.devices)
    # One word a day: the high half makes the noise (the low half is far below its resolution), the low half decides whether the day is
    # missing. The first word of a stream belongs to the person: level, and whether the stream exists.
    words = rng.first_words(premise.case_id, plan.addresses, len(weekdays) + 1)
    shown, distractors = choose_streams(premise, plan, words_to_uniform(words[:, 0] << _HALF), knowledge)
    normals = words_to_normal(words)
    if plan.daily:
        places, mixtures = plan.daily
        normals[places, 1:] = mixtures[premise.patient.sex].mix(normals[places, 1:])
    noise = scan_ar1(normals[:, 1:], plan.stack.lag1, plan.passes)
    _share_noise(premise, plan, noise, rng)
    level = _derive_levels(premise, course, knowledge, plan, normals[:, :1], weekdays)
    is_charted = _draw_charted_days(premise, plan, words[:, 1:], knowledge, rng)
    spread = _draw_own_spread(premise, plan, knowledge, rng)
    ticks = _print_parents_first(premise, plan, is_charted, level, noise, spread, knowledge)
    is_charted[[i for i in range(len(shown)) if not shown[i]]] = False
    _keep_first_undiagnosed(premise, plan, ticks, is_charted, level)
    for greater, lesser, steps in plan.apart:
        np.minimum(ticks[lesser], ticks[greater] - steps, out=ticks[lesser])
    home, worn = plan.at[HOME_SCALE], [i for i, row in enumerate(plan.stack.rows) if shown[i] and row.role in WORN]
    non_wear = len(worn) * len(weekdays) - int(np.count_nonzero(is_charted[worn])) if worn else None
    return DailyValues(tuple(plan.at), ticks, is_charted, noise[home], words[home, 1:] << _HALF, non_wear, distractors)


def choose_streams(premise: Premise, plan: Plan, chance: Reals, knowledge: Knowledge) -> tuple[list[bool], tuple[str, ...]]:
    """(for each row of the stack whether this patient has the stream, ids of those there as distractors only).

    `chance` is a uniform for each row. Diary evidence and scale quality exist for everyone, other streams in a share of people and a
    derived one only beside its parent. A distractor is a wearable stream the device could report and this person would not have shown.
    """
    rows = plan.stack.rows
    is_shown = ((chance < plan.stack.p_present) | plan.stack.is_weekly).tolist()
    shown = {HOME_SCALE, *(row.id for row, is_so in zip(rows, is_shown, strict=True) if is_so)}
    for row, sources in zip(rows, plan.sources, strict=True):
        if sources and row.id in shown and not shown.issuperset(sources):
            shown.discard(row.id)
    added: list[str] = []
    if premise.distractor_level != "none":
        most = int(knowledge.parameter(f"distractor_streams_{premise.distractor_level}"))
        ranked = sorted((bool(row.parent), float(chance[i]), row.id, row) for i, row in enumerate(rows) if row.id not in shown)
        for _, _, name, row in ranked:
            if row.role == "wearable" and len(added) < most and (not row.parent or row.parent in shown or row.parent in added):
                added.append(name)
    return [row.id in shown or row.id in added for row in rows], tuple(added)


def scan_ar1(innovations: Reals, lag1: Reals, passes: Passes) -> Reals:
    """Stationary AR(1) series of variance 1 from standard normal innovations, along the last axis."""
    series: Reals = innovations * np.sqrt(1 - lag1 * lag1)
    series[:, 0] = innovations[:, 0]
    back = 1
    for active, factor in passes:
        if back < series.shape[1]:
            series[:active, back:] += factor * series[:active, :-back]
        back *= 2
    return series


def _share_noise(premise: Premise, plan: Plan, noise: Reals, rng: Rng) -> None:
    """Give readings of one home device what they have in common, where a parameter says how much."""
    for device, places, loading, own, lag1, passes in plan.sharing:
        drawn = rng.at(premise.case_id, "device", device, "noise").normal(noise.shape[1])
        common = scan_ar1(np.broadcast_to(drawn, (len(places), len(drawn))), lag1, passes)
        noise[places] = loading * common + own * noise[places]


def _derive_levels(premise: Premise, course: Course, knowledge: Knowledge, plan: Plan, person: Reals, weekdays: Days) -> Reals:
    """The expected value [stream, day] on the row's scale: person, age, weekday, and what the course moves.

    A derived row holds what is added to the value its parent gives. Without physiology only streams that show a driver are moved.
    """
    stack, levels = plan.stack, course.levels
    own = _derive_own_levels(premise, knowledge, plan, person)
    truths = {plan.at[HOME_SCALE]: course.weight_kg}
    for i, (row, (evidence, _)) in enumerate(zip(stack.rows, plan.names, strict=True)):
        truth = levels.get(evidence, levels.get(row.id))
        if truth is not None:
            truths.setdefault(i, truth)
    own[list(truths)] = 0
    level = (own + stack.weekday).take(weekdays, axis=1)
    for i, truth in truths.items():
        level[i] += np.log(truth) if stack.rows[i].scale == "log" else truth
    moving = None if premise.has_physiology else {driver.evidence for driver in knowledge.drivers.values()}
    for i, (row, (_, shift)) in enumerate(zip(stack.rows, plan.names, strict=True)):
        if shift in levels and (moving is None or row.id in moving):
            level[i] += levels[shift]
    return level


def _derive_own_levels(premise: Premise, knowledge: Knowledge, plan: Plan, person: Reals) -> Reals:
    """The level of this person in each stream [stream, 1]: the one stated, or drawn about what age, build, sex and diseases lead to expect.

    Two streams that go together between people share a part of where the person lies.
    """
    stack, cut = plan.stack, knowledge.parameter("person_cut_sd")
    years = max((premise.patient.age_low + premise.patient.age_high) / 2 - 40, 0)
    over = max(find_body_mass_index(premise.patient, premise.start_weight_kg, knowledge) - 25, 0)
    mean = stack.mean_m if premise.patient.sex == "M" else stack.mean_f
    usual = mean + stack.per_year_over_40 * years + stack.per_bmi_over_25 * over
    for name, shift in find_usual_shifts(knowledge, (premise.patient.disease, *premise.patient.comorbidities)).items():
        if name in plan.at:
            usual[plan.at[name]] += shift
    stated: dict[int, float] = {}
    for name, value in premise.patient.baseline_vitals:
        i = plan.at.get(name)
        if i is not None and not stack.rows[i].parent:
            stated[i] = math.log(value) if stack.rows[i].scale == "log" else value
    away = reflect(person, -cut, cut)
    for one, other, r_m, r_f in plan.alike:
        r = r_m if premise.patient.sex == "M" else r_f
        of_one = (stated[one] - usual[one]) / stack.sd_between[one] if one in stated else away[one]
        away[other] = np.clip(r * of_one + math.sqrt(1 - r * r) * away[other], -cut, cut)
    own = usual + stack.sd_between * away
    own = np.where(stack.is_derived, own, _ease_inside(own, plan.ease))
    for i, value in stated.items():
        own[i] = value
    return own


def _draw_own_spread(premise: Premise, plan: Plan, knowledge: Knowledge, rng: Rng) -> Reals:
    """How much more or less than in others a person's days differ [stream, 1]; lognormal, with a mean square of 1."""
    person = words_to_normal(rng.first_words(premise.case_id, plan.spread_addresses, 1))
    cut, sd = knowledge.parameter("person_cut_sd"), knowledge.parameter("person_spread_log_sd")
    return np.asarray(np.exp(sd * reflect(person, -cut, cut) - sd * sd))


def _ease_inside(level: Reals, ease: Ease) -> Reals:
    """Levels, bent smoothly to stay inside the bounds."""
    low, high, softness = ease
    level = low + softness * np.logaddexp(0, (level - low) / softness)
    return np.asarray(high - softness * np.logaddexp(0, (high - level) / softness))


def reflect(values: Reals, low: Reals | float, high: Reals | float) -> Reals:
    """Values folded back at the bounds, as often as it takes, so that none is cut off and none piles up on a bound.

    Changes and returns `values`. `low` and `high` are numbers or columns.
    """
    outside = values < low
    outside |= values > high
    if np.count_nonzero(outside):
        at = outside.ravel().nonzero()[0]
        row = at if values.ndim == 1 else at // values.shape[1]
        bottom, top = (bound.ravel()[row] if isinstance(bound, np.ndarray) and bound.ndim else bound for bound in (low, high))
        width = top - bottom
        values.put(at, bottom + width - np.abs(np.mod(values.take(at) - bottom, 2 * width) - width))
    return values


def _print_parents_first(
    premise: Premise, plan: Plan, is_charted: Flags, level: Reals, noise: Reals, spread: Reals, knowledge: Knowledge
) -> Ticks:
    """Printed ticks of every row; a derived row follows the printed values and the days of its parent."""
    ticks = np.empty(level.shape)  # whole numbers; what follows from them is worked out faster from floats
    for places, limits, parents, slope_per_step, by_formula, bounded, bounded_ease in plan.generations:
        expected = level.take(places, axis=0)
        if len(parents):
            expected += slope_per_step * ticks.take(parents, axis=0)
            for row, formula in by_formula:
                expected[row] += _follow_formula(formula, premise, plan, ticks, parents[row], knowledge)
            if bounded:
                expected[bounded] = _ease_inside(expected[bounded], bounded_ease)
            is_charted[places] = is_charted[parents]
        ticks[places] = _print_values(limits, expected, noise.take(places, axis=0), spread.take(places, axis=0))
    return ticks.astype(np.int64)


def _follow_formula(formula: str, premise: Premise, plan: Plan, ticks: Reals, parent: int, knowledge: Knowledge) -> Reals:
    """What a formula makes of the printed values: of the parent's by the patient's line, or of several of the same day."""
    if formula in LINES:
        line = LINES[formula](premise.patient, premise.start_weight_kg, knowledge)
        by_line: Reals = line.intercept + line.slope / plan.stack.limits.steps_per_unit[parent, 0] * ticks[parent]
        return by_line
    printed = {name: ticks[plan.at[name]] / plan.stack.limits.steps_per_unit[plan.at[name], 0] for name in DAILY[formula].inputs}
    age_years = (premise.patient.age_low + premise.patient.age_high) / 2
    by_formula: Reals = DAILY[formula].calculate(printed, age_years, premise.patient.sex, knowledge)
    return by_formula


def _print_values(limits: Limits, level: Reals, noise: Reals, spread: Reals) -> Reals:
    """Printed ticks of level plus noise, all inside the hard bounds, as floats. Changes `noise`.

    `spread` [stream, 1] is how many times the row's day-to-day SD this person has. A day stays above a floor that the level keeps above.
    Noise shrinks with the room left to the nearer bound: a day-to-day SD fits twice, or it would pile values up there.
    """
    low, high, sd_within, steps_per_unit, half_step, log_rows, floors, growing = limits
    if floors:
        low = low.copy()
        for row, floor in floors:
            low[row] = floor if level[row].min() > floor else low[row]
    room = np.minimum(level - low, high - level)
    room *= 0.5
    np.maximum(room, half_step, out=room)
    widest = sd_within * spread
    for row, at in growing:
        np.minimum(room[row], widest[row] * (level[row] / at), out=room[row])
        widest[row] = np.inf  # this row has its SD by day
    np.minimum(room, widest, out=room)
    values = np.multiply(noise, room, out=noise)
    values += level
    reflect(values, low, high)
    for row in log_rows:
        np.exp(values[row], out=values[row])
    values *= steps_per_unit
    return np.rint(values, out=values)


def _draw_charted_days(premise: Premise, plan: Plan, words: Words, knowledge: Knowledge, rng: Rng) -> Flags:
    """Days with a value: those on which a device is used, weekly for diaries; derived rows are left to their parents.

    `words` are [stream, day]. Readings of one home device are taken together.
    """
    worn, days = plan.worn, words.shape[1]
    is_charted = np.ones(words.shape, dtype=np.bool_)
    is_charted[plan.weekly] = _draw_weekly_days(premise, words.take(plan.weekly, axis=0), knowledge, rng)
    own = words.take(worn.places, axis=0) << _HALF
    for device, home in worn.home:
        own[home] = rng.at(premise.case_id, "device", device, "off").words(days)
    is_off = np.empty(own.shape, dtype=np.bool_)
    use = np.array([draw_use(premise.case_id, device, rng) for device in worn.devices], dtype=np.int64).take(worn.of_device)
    for rows, outer, (first, after_worn, after_off) in worn.layers:
        at = (use.take(rows), np.arange(len(rows)))
        off = first[at][:, None], after_worn[at][:, None], after_off[at][:, None]
        is_off[rows] = find_missing_days(own.take(rows, axis=0), off, None if outer is None else is_off.take(outer, axis=0))
    is_charted[worn.places] = ~is_off
    return is_charted


def _draw_weekly_days(premise: Premise, words: Words, knowledge: Knowledge, rng: Rng) -> Flags:
    """Days with an entry [stream, day] of what is to be entered once a week: some entries are missed, some a day late."""
    use, step = draw_use(premise.case_id, "diary", rng), int(knowledge.parameter("evidence_grid"))
    chance = words_to_uniform(words[:, ::step] << _HALF)
    is_missed = chance < load_share(knowledge, "weekly_p_missed")[use]
    is_late = chance >= 1 - load_share(knowledge, "weekly_p_late")[use]
    is_charted = np.zeros(words.shape, dtype=np.bool_)
    is_charted[:, ::step] = ~is_missed & ~is_late
    is_charted[:, 1::step] = is_late[:, : len(range(1, words.shape[1], step))]
    return is_charted


def _keep_first_undiagnosed(premise: Premise, plan: Plan, ticks: Ticks, is_charted: Flags, level: Reals) -> None:
    """Fold a first value back below the limit at which a condition this patient is not known to have would be diagnosed."""
    known = (premise.patient.disease, *premise.patient.comorbidities)
    for i in plan.diagnostic:
        row = plan.stack.rows[i]
        if row.diagnostic_high is not None and row.diagnostic_of not in known and is_charted[i].any():
            first = int(is_charted[i].argmax())
            limit = to_tick(row.diagnostic_high, row.decimals)
            if level[i, first] < row.diagnostic_high and ticks[i, first] >= limit:
                ticks[i, first] = 2 * limit - 1 - ticks[i, first]
