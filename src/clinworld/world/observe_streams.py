"""Daily streams as charted: person level, day-to-day noise, weekday effects, missing days, bounds and printed values.

All streams of a case are computed at once as [stream, day]. A row of the stack depends on its own addressed draws, its parent and its
device alone, so another stream, a longer course or an artifact moves nothing. How the home scale is used stands in `observe_weight.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng, Words, words_to_normal, words_to_uniform
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Stream
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise

Flags = NDArray[np.bool_]
Ticks = NDArray[np.int64]
Days = NDArray[np.int64]

HOME_SCALE = "weight"
WORN = ("wearable", "home")  # roles that need a device and are missing in runs of days
WEEKLY = ("evidence", "quality")  # roles that exist for everyone and are charted once a week
NEGLIGIBLE = 2.0**-20  # weight of a past day from which on it is dropped
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


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Stream rows, most autocorrelated first, with their numbers as columns [stream, 1].

    `mean_m`, `mean_f`, SDs and bounds are on the row's scale; the bounds lie one printed step inside the hard bounds. `weekday` is
    [stream, 7] from Monday; `off` are thresholds on words [stream, 3]: missing at the start, after a worn and after a missing day.
    """

    rows: tuple[Stream, ...]
    devices: tuple[str, ...]  # the owned device behind each row, "" for none
    mean_m: Reals
    mean_f: Reals
    per_year_over_40: Reals
    sd_between: Reals
    sd_within: Reals
    lag1: Reals
    low: Reals
    high: Reals
    steps_per_unit: Reals
    weekday: Reals
    off: Words
    p_present: Reals
    is_log: Flags
    is_weekly: Flags
    is_derived: Flags

    def pick(self, places: Sequence[int]) -> "Stack":
        """The stack of some of its rows."""
        at = list(places)
        columns = {name: getattr(self, name)[at] for name in self.__slots__ if name not in ("rows", "devices")}
        return Stack(rows=tuple(self.rows[i] for i in at), devices=tuple(self.devices[i] for i in at), **columns)


class Generation(NamedTuple):
    """Rows of a stack that can be printed once those before are: `places` in the stack, and for each row its parent.

    A row's value is `intercept + slope * parent`, or follows from no parent: then all generations hold is the empty `parents`.
    """

    places: list[int]
    stack: Stack
    parents: list[int]
    intercept: Reals
    slope_per_step: Reals


class Plan(NamedTuple):
    """What does not differ between patients with the same streams: their rows and the order in which they are printed."""

    stack: Stack
    generations: tuple[Generation, ...]
    at: dict[str, int]


@lru_cache(maxsize=64)
def load_stack(knowledge: Knowledge, devices: tuple[str, ...]) -> Stack:
    """The stream rows charted by day that a patient with these devices may have, stacked."""
    kept = [row for row in knowledge.streams.values() if row.id == HOME_SCALE or row.role in WEEKLY or _is_backed(row, devices)]
    rows = tuple(sorted(kept, key=lambda row: (-abs(row.lag1), row.id)))
    is_log = np.array([[row.scale == "log"] for row in rows])
    is_derived = np.array([[bool(row.parent)] for row in rows])
    per_unit = np.array([[10.0**row.decimals] for row in rows])

    def column(name: str) -> Reals:
        return np.array([[_number(row, name)] for row in rows], dtype=np.float64)

    def scaled(values: Reals) -> Reals:
        return np.where(is_log, np.log(np.where(is_log, np.maximum(values, 1 / per_unit), 1)), values)

    return Stack(
        rows=rows,
        devices=tuple(_device(row, devices) if row.role in WORN else "" for row in rows),
        mean_m=np.where(is_derived, 0, scaled(column("mean_m"))),
        mean_f=np.where(is_derived, 0, scaled(column("mean_f"))),
        per_year_over_40=column("per_year_over_40"),
        sd_between=column("sd_between"),
        sd_within=column("sd_within"),
        lag1=column("lag1"),
        low=scaled((np.floor(column("hard_low") * per_unit) + 1) / per_unit),
        high=scaled((np.ceil(column("hard_high") * per_unit) - 1) / per_unit),
        steps_per_unit=per_unit,
        weekday=np.array([[row.monday, 0, 0, 0, 0, row.saturday, row.sunday] for row in rows]),
        off=np.array([_thresholds(row) for row in rows], dtype=np.uint64),
        p_present=column("p_present")[:, 0],
        is_log=is_log[:, 0],
        is_weekly=np.array([row.role in WEEKLY for row in rows]),
        is_derived=is_derived,
    )


@lru_cache(maxsize=2048)
def load_plan(knowledge: Knowledge, devices: tuple[str, ...], places: tuple[int, ...]) -> Plan:
    """The plan for some of the streams that patients with these devices may have; parents are printed before their children."""
    stack = load_stack(knowledge, devices).pick(places)
    at = {row.id: i for i, row in enumerate(stack.rows)}
    waiting, generations = list(range(len(stack.rows))), []
    while waiting:
        ready = [i for i in waiting if at.get(stack.rows[i].parent) not in waiting]
        if not ready:
            names = ", ".join(stack.rows[i].id for i in waiting)
            raise KnowledgeError("streams.csv", f"{names} derived from each other", "a parent comes first", do="Cut the cycle.")
        rows = [stack.rows[i] for i in ready]
        parents = [at[row.parent] for row in rows if row.parent]
        per_step = [10.0 ** -stack.rows[parent].decimals for parent in parents]
        slope = [(row.slope or 0) * step for row, step in zip(rows, per_step, strict=False)]
        intercept = np.array([[float(row.intercept or 0)] for row in rows])
        generations.append(Generation(ready, stack.pick(ready), parents, intercept, np.array(slope)[:, None]))
        waiting = [i for i in waiting if i not in ready]
    return Plan(stack, tuple(generations), at)


def _is_backed(row: Stream, devices: tuple[str, ...]) -> bool:
    return row.role in WORN and (not row.devices or bool(_device(row, devices)))


def _device(row: Stream, devices: tuple[str, ...]) -> str:
    return next((device for device in row.devices if device in devices), "")


def _number(row: Stream, name: str) -> float:
    value = getattr(row, name)
    # A row without a mean takes its level from the course or a parent; the middle of the bounds only keeps the arithmetic finite.
    return float((row.hard_low + row.hard_high) / 2 if value is None else value)


def _thresholds(row: Stream) -> list[int]:
    if row.p_off_off < row.p_off_worn:
        found = f"p_off_off {row.p_off_off} below p_off_worn {row.p_off_worn}"
        raise KnowledgeError(f"streams.csv ({row.id})", found, "missing days come in runs", do="Raise p_off_off.")
    start = row.p_off_worn / (1 - row.p_off_off + row.p_off_worn) if row.p_off_worn else 0
    return [min(int(p * 2**64), 2**64 - 1) for p in (start, row.p_off_worn, row.p_off_off)]


def observe_streams(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng, weekdays: Days) -> DailyValues:
    """Printed values by day of the home scale and of every other stream this patient has.

    `weekdays` holds the weekday (0 = Monday) of each day of the course. The home scale is charted on every day here.
    """
    possible = load_stack(knowledge, premise.patient.devices)
    # One word a day: the high half makes the noise (the low half is far below its resolution), the low half decides whether the day is
    # missing. The first word of a stream belongs to the person: level, and whether the stream exists.
    drawn = np.stack([rng.at(premise.case_id, "stream", row.id).words(len(weekdays) + 1) for row in possible.rows])
    places, distractors = choose_streams(premise, possible, words_to_uniform(drawn[:, 0] << _HALF), knowledge)
    plan, words = load_plan(knowledge, premise.patient.devices, places), drawn[list(places)]
    stack = plan.stack
    normals = words_to_normal(words)
    noise = scan_ar1(normals[:, 1:], stack.lag1)
    _share_noise(premise, stack, noise, knowledge, rng)
    level = _derive_levels(premise, course, knowledge, stack, normals[:, :1], weekdays)
    low_halves = words[:, 1:] << _HALF
    is_charted = _draw_charted_days(premise, stack, low_halves, knowledge, rng)
    ticks = _print_parents_first(plan, is_charted, level, noise)
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
    orphans = {row.id for row in possible.rows if row.id in shown and row.parent and row.parent not in shown}
    shown -= orphans
    added: list[str] = []
    if premise.distractor_level != "none":
        most = int(knowledge.parameter(f"distractor_streams_{premise.distractor_level}"))
        ranked = sorted((bool(row.parent), float(chance[i]), row.id, row) for i, row in enumerate(possible.rows) if row.id not in shown)
        for _, _, name, row in ranked:
            if row.role == "wearable" and len(added) < most and (not row.parent or row.parent in shown or row.parent in added):
                added.append(name)
    return tuple(i for i, name in enumerate(names) if name in shown or name in added), tuple(added)


def scan_ar1(innovations: Reals, lag1: Reals) -> Reals:
    """Stationary AR(1) series of variance 1 from standard normal innovations, along the last axis.

    `lag1` is a column sorted by falling size. The passes a row gets follow from its own lag-1, so no row changes another.
    """
    series: Reals = innovations * np.sqrt(1 - lag1 * lag1)
    series[:, 0] = innovations[:, 0]
    factor, back = lag1, 1
    while back < series.shape[1] and (active := np.count_nonzero(np.abs(factor) > NEGLIGIBLE)):
        series[:active, back:] += factor[:active] * series[:active, :-back]
        factor, back = factor * factor, 2 * back
    return series


def _share_noise(premise: Premise, stack: Stack, noise: Reals, knowledge: Knowledge, rng: Rng) -> None:
    """Give readings of one home device what they have in common, where a parameter says how much."""
    for device in premise.patient.devices:
        name = f"shared_noise_{device}"
        if name in knowledge.parameters:
            alike = [i for i, owned in enumerate(stack.devices) if owned == device and stack.rows[i].role == "home"]
            loading = knowledge.parameter(name)
            common = rng.at(premise.case_id, "device", device, "noise").normal(noise.shape[1])[None]
            noise[alike] = loading * scan_ar1(common, stack.lag1[alike[:1]]) + np.sqrt(1 - loading * loading) * noise[alike]


def _derive_levels(premise: Premise, course: Course, knowledge: Knowledge, stack: Stack, person: Reals, weekdays: Days) -> Reals:
    """The expected value [stream, day] on the row's scale: person, age, weekday, and what the course moves.

    A derived row holds what is added to the value its parent gives.
    """
    cut = knowledge.parameter("person_cut_sd")
    years = max((premise.patient.age_low + premise.patient.age_high) / 2 - 40, 0)
    mean = stack.mean_m if premise.patient.sex == "M" else stack.mean_f
    own = mean + stack.per_year_over_40 * years + stack.sd_between * reflect(person, -cut, cut)
    own = np.where(stack.is_derived, own, _ease_inside(own, stack))
    stated, levels = dict(premise.patient.baseline_vitals), course.levels
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
        if (shift := levels.get(f"shift:{row.id}")) is not None:
            level[i] += shift
    return level


def _ease_inside(level: Reals, stack: Stack) -> Reals:
    """A person's level, bent smoothly to stay one day-to-day SD inside the bounds."""
    softness = np.maximum(stack.sd_within / 2, 1 / stack.steps_per_unit)
    low, high = stack.low + stack.sd_within, stack.high - stack.sd_within
    level = low + softness * np.logaddexp(0, (level - low) / softness)
    return np.asarray(high - softness * np.logaddexp(0, (high - level) / softness))


def reflect(values: Reals, low: Reals | float, high: Reals | float) -> Reals:
    """Values folded back at the bounds, as often as it takes, so that none is cut off and none piles up on a bound.

    Changes and returns `values`. `low` and `high` are numbers or columns.
    """
    outside = (values < low) | (values > high)
    if outside.any():
        at = np.nonzero(outside)
        bottom, top = (np.ravel(bound)[at[0]] if np.ndim(bound) else bound for bound in (low, high))
        width = top - bottom
        values[at] = bottom + width - np.abs(np.mod(values[at] - bottom, 2 * width) - width)
    return values


def _print_parents_first(plan: Plan, is_charted: Flags, level: Reals, noise: Reals) -> Ticks:
    """Printed ticks of every row; a derived row follows the printed values and the days of its parent."""
    ticks = np.empty(level.shape, dtype=np.int64)
    for places, stack, parents, intercept, slope_per_step in plan.generations:
        expected = level[places]
        if parents:
            given = intercept + slope_per_step * ticks[parents]
            given[stack.is_log] = np.log(given[stack.is_log])
            expected += given
            is_charted[places] = is_charted[parents]
        ticks[places] = _print_values(stack, expected, noise[places])
    return ticks


def _print_values(stack: Stack, level: Reals, noise: Reals) -> Ticks:
    """Printed ticks of level plus noise, all inside the hard bounds.

    Noise shrinks with the room left to the nearer bound: a day-to-day SD fits twice, or it would pile values up there.
    """
    values = np.minimum(level - stack.low, stack.high - level)
    values *= 0.5
    np.maximum(values, 0.5 / stack.steps_per_unit, out=values)
    np.minimum(values, stack.sd_within, out=values)
    values *= noise
    values += level
    reflect(values, stack.low, stack.high)
    values[stack.is_log] = np.exp(values[stack.is_log])
    values *= stack.steps_per_unit
    return to_ticks(values, 0)


def _draw_charted_days(premise: Premise, stack: Stack, words: Words, knowledge: Knowledge, rng: Rng) -> Flags:
    """Days with a value: a two-state chain of worn and missing days, weekly for diaries.

    Readings of one home device are taken together; a wearable is off as a whole on a share of the days.
    """
    days = words.shape[1]
    words = words.copy()
    by_device = np.uint64(int(knowledge.parameter("device_day_share") * 2**64))
    for device in dict.fromkeys(owned for owned in stack.devices if owned):
        alike = [i for i, owned in enumerate(stack.devices) if owned == device]
        common = rng.at(premise.case_id, "device", device, "off").words(days)
        is_common = (common << _HALF) < by_device
        for i in alike:
            words[i] = common if stack.rows[i].role == "home" else np.where(is_common, common, words[i])
    begins = words < stack.off[:, 1:2]
    turns = begins | (words >= stack.off[:, 2:3])
    begins[:, 0], turns[:, 0] = words[:, 0] < stack.off[:, 0], True
    last = np.maximum.accumulate(turns * np.arange(days, dtype=np.int32), axis=1)
    last += np.arange(0, begins.size, days, dtype=np.int32)[:, None]
    is_charted = ~begins.ravel().take(last)
    is_charted[stack.is_weekly] = np.arange(days) % int(knowledge.parameter("evidence_grid")) == 0
    is_charted[[row.id == HOME_SCALE for row in stack.rows]] = True
    return is_charted


def _keep_first_undiagnosed(premise: Premise, stack: Stack, ticks: Ticks, is_charted: Flags, level: Reals) -> None:
    """Fold a first value back below the limit at which a condition this patient is not known to have would be diagnosed."""
    known = (premise.patient.disease, *premise.patient.comorbidities)
    for i, row in enumerate(stack.rows):
        if row.diagnostic_high is not None and row.diagnostic_of not in known and is_charted[i].any():
            first = int(np.argmax(is_charted[i]))
            limit = int(to_ticks(row.diagnostic_high, row.decimals))
            if level[i, first] < row.diagnostic_high and ticks[i, first] >= limit:
                ticks[i, first] = 2 * limit - 1 - ticks[i, first]
