"""What a test would find in a patient on a day, for any item a test can measure; and the findings that visits chart unasked.

`find_result` is the one answer to every order: a printed number, positive or negative, or why there is none. It follows from the same
truth as the chart: levels, conditions and their course. What is charted already is repeated as charted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_normal, words_to_uniform
from clinworld.core.units import to_tick, to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, FindingKind, Stream
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import FindingResult, Record
from clinworld.world.common_causes import squeeze
from clinworld.world.condition_effects import Acting, acting_conditions, group_acting, push_levels
from clinworld.world.condition_ramps import derive_ramps
from clinworld.world.condition_sizes import Scale, load_scale
from clinworld.world.course import HOME_PRESSURE
from clinworld.world.formulas import DAILY, FORMULAS, LINES, find_body_mass_index, has_own_level
from clinworld.world.history_drugs import find_states
from clinworld.world.level_course import derive_levels
from clinworld.world.level_motion import Treatment
from clinworld.world.observe_plan import find_usual_shifts, list_sources
from clinworld.world.observe_streams import reflect
from clinworld.world.ordered_labs import measure_ordered
from clinworld.world.visits import draw_visits

Days = NDArray[np.int64]

AREA = "findings"
HAS_DIABETES = "has_diabetes"  # the flag of rule_facts
_BMI, _OFFICE, _AMBULATORY, _HOME = "bmi", "office_sbp", "daytime_ambulatory_sbp", HOME_PRESSURE
_SCALES = ("weight", "weight_clinic")


class Examined(NamedTuple):
    """A patient to be tested. `record` is what is charted already, None for nothing."""

    premise: Premise
    course: Course
    knowledge: Knowledge
    rng: Rng
    record: Record | None = None


class Unavailable(NamedTuple):
    """No result, and why: not measured at this sex, no device, or no result under these circumstances."""

    day: int
    name: str
    reason: Literal["sex", "device", "out_of_domain"]


def follow(patient: Examined, items: Sequence[str]) -> Examined:
    """The same patient with the levels of measured analytes and home streams worked out at once: quicker where many are tested."""
    course, knowledge = patient.course, patient.knowledge
    rows = ((name, knowledge.items[name]) for name in dict.fromkeys(items) if name not in course.levels)
    wanted = [name for name, row in rows if (isinstance(row, Analyte) and has_own_level(row)) or _is_at_home(row)]
    return patient._replace(course=replace(course, levels=MappingProxyType({**_derive(patient, tuple(wanted)), **course.levels})))


def find_test(test: str, day: int, patient: Examined) -> tuple[FindingResult | Unavailable, ...]:
    """What an orderable test shows on a day: a result for each item it measures."""
    return tuple(find_result(name, day, patient) for name in patient.knowledge.tests[test].measures)


def find_result(name: str, day: int, patient: Examined) -> FindingResult | Unavailable:
    """What a test of one item (analyte, stream or finding) would show on a day of the course, in the row's unit and decimals.

    Pure: the same item on the same day has the same result, whatever else was tested. A number has `is_positive` only where the item has
    a cut. Raises KeyError for an item that no knowledge row describes.
    """
    row = patient.knowledge.items[name]
    if patient.premise.patient.sex == "M" and f"finding.women_only.{name}" in patient.knowledge.parameters:
        return Unavailable(day, name, "sex")
    charted = _find_charted(name, day, patient)
    if charted is not None:
        return charted
    if isinstance(row, FindingKind):
        found = _find_numbers(row, np.array([day]), patient) if row.is_numeric else _find_words(row, (day,), patient)
        return found[0]
    return _find_stream(row, day, patient) if isinstance(row, Stream) else _find_analyte(row, day, patient)


def derive_findings(
    premise: Premise, course: Course, knowledge: Knowledge, rng: Rng, *, visits: Days | None = None
) -> tuple[FindingResult, ...]:
    """What the visits chart without anyone ordering it, by day and then in the order of the findings table. Pure.

    `visits` are drawn where they are not given.
    """
    patient = Examined(premise, course, knowledge, rng)
    if _HOME not in course.levels and _HOME not in course.unreported:  # worked out once, not for each pressure that follows it
        patient = patient._replace(course=replace(course, unreported=MappingProxyType({_HOME: _derive_home(patient)})))
    days_seen = draw_visits(premise, course, knowledge, rng) if visits is None else visits
    routine = _list_routine(knowledge)
    words = rng.first_words(premise.case_id, routine.paths, int(days_seen[-1]) + 1)[:, days_seen]
    charted: list[FindingResult] = []
    has_diabetes = HAS_DIABETES in find_states(knowledge, (premise.patient.disease, *premise.patient.comorbidities))
    for name, is_charted in zip(routine.names, words_to_uniform(words) < routine.shares, strict=True):
        if not has_diabetes and f"finding.diabetes_only.{name}" in knowledge.parameters:
            continue
        charted += [result for result in _find_on_days(name, days_seen[is_charted], patient) if isinstance(result, FindingResult)]
    return tuple(sorted(charted, key=attrgetter("day")))


def _derive_home(patient: Examined) -> Reals:
    """The true pressure at home of someone whose course has none: as that of the same person without any device, which is less work."""
    person = patient.premise.patient
    if set(patient.knowledge.streams[_HOME].devices) & set(person.devices):
        return _find_level(_HOME, patient)
    alone = replace(patient.premise, patient=replace(person, devices=()))
    return _find_level(_HOME, patient._replace(premise=alone))


class _Routine(NamedTuple):
    # What visits chart unasked, in the order of the findings table: where its draws are, and the share of visits [name, 1] that do.
    names: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    shares: Reals


@lru_cache(maxsize=8)
def _list_routine(knowledge: Knowledge) -> _Routine:
    shares = {name: knowledge.parameters.get(f"finding.routine.{name}") for name in knowledge.findings}
    rows = {name: row.value for name, row in shares.items() if row is not None}
    return _Routine(tuple(rows), tuple((AREA, name, "routine") for name in rows), np.array(list(rows.values())).reshape(-1, 1))


def _find_on_days(name: str, days: Days, patient: Examined) -> Sequence[FindingResult | Unavailable]:
    """`find_result` on some days, ascending; a finding is looked for on all of them at once."""
    row, knowledge = patient.knowledge.items[name], patient.knowledge
    is_barred = patient.premise.patient.sex == "M" and f"finding.women_only.{name}" in knowledge.parameters
    if not len(days):
        return ()
    if is_barred or patient.record is not None or not isinstance(row, FindingKind):
        return [find_result(name, day, patient) for day in days.tolist()]
    return _find_numbers(row, days, patient) if row.is_numeric else _find_words(row, days.tolist(), patient)


def _find_charted(name: str, day: int, patient: Examined) -> FindingResult | None:
    if patient.record is None:
        return None
    told = next((each for each in patient.record.findings if each.name == name and each.day == day), None)
    series = patient.record.find(name) if told is None else None
    if series is not None and day in series.days:
        return FindingResult(day, name, None, int(series.ticks[int(np.searchsorted(series.days, day))]), series.decimals)
    return told


def _find_analyte(row: Analyte, day: int, patient: Examined) -> FindingResult | Unavailable:
    if row.derived_by:
        return _calculate(row, day, patient)
    ticks = measure_ordered(row.id, day, lambda name: _find_level(name, patient), patient.premise, patient.knowledge, patient.rng)
    return FindingResult(day, row.id, None, ticks, row.decimals)


def _calculate(row: Analyte, day: int, patient: Examined) -> FindingResult | Unavailable:
    """A calculated result from the printed results of its inputs on the same day."""
    premise, formula = patient.premise, FORMULAS[row.derived_by]
    values: dict[str, Reals] = {}
    for name in formula.inputs:
        found = find_result(name, day, patient)
        if isinstance(found, Unavailable) or found.ticks is None:
            return Unavailable(day, row.id, "out_of_domain")
        values[name] = np.array([found.ticks / 10.0**found.decimals])
    age = (premise.patient.age_low + premise.patient.age_high) / 2
    result = float(formula.calculate(values, age, premise.patient.sex, patient.knowledge)[0])
    is_possible = np.isfinite(result) and row.hard_low <= result <= row.hard_high  # the inputs' own noise may not make a whole of a part
    return _print(row.id, day, result, row.decimals) if is_possible else Unavailable(day, row.id, "out_of_domain")


def _find_stream(row: Stream, day: int, patient: Examined) -> FindingResult | Unavailable:
    premise = patient.premise
    if row.role == "wearable" and not set(row.devices) & set(premise.patient.devices):
        return Unavailable(day, row.id, "device")
    noise = row.sd_within * patient.rng.at(premise.case_id, AREA, row.id).normal(1, start=day)
    is_log = row.scale == "log"
    if row.parent:
        printed: dict[str, Reals] = {}
        for name in list_sources(row):
            found = find_result(name, day, patient)
            if isinstance(found, Unavailable) or found.ticks is None:
                return Unavailable(day, row.id, "device")
            printed[name] = np.array([found.ticks / 10.0**found.decimals])
        level = _follow_sources(row, printed, patient)
    else:
        level = _stream_level(row, patient)[day : day + 1]
    step = 10.0**-row.decimals
    floor = patient.knowledge.parameters.get(f"days_floor_{row.id}")
    least = row.hard_low if floor is None or level[0] <= floor.value else floor.value
    bounds = np.array([max(least, step) if is_log else least, row.hard_high])
    low, high = (np.log(bounds) if is_log else bounds).tolist()
    value = reflect(level + noise, low, high)
    return _print(row.id, day, float((np.exp(value) if is_log else value)[0]), row.decimals)


def _follow_sources(row: Stream, printed: Mapping[str, Reals], patient: Examined) -> Reals:
    """What a derived stream follows from: the line of its row or of its patient, or a formula of several values."""
    premise, knowledge = patient.premise, patient.knowledge
    if row.derived_by in DAILY:
        age_years = (premise.patient.age_low + premise.patient.age_high) / 2
        return DAILY[row.derived_by].calculate(printed, age_years, premise.patient.sex, knowledge)
    line = LINES[row.derived_by](premise.patient, premise.start_weight_kg, knowledge) if row.derived_by else None
    intercept = line.intercept if line else (row.intercept_m if premise.patient.sex == "M" else row.intercept_f) or 0.0
    return intercept + (line.slope if line else row.slope or 0.0) * printed[row.parent]


def _stream_level(row: Stream, patient: Examined) -> Reals:
    """A stream's level by day on its scale."""
    premise, course = patient.premise, patient.course
    if row.id in _SCALES:
        return np.log(course.weight_kg) if row.scale == "log" else course.weight_kg
    if row.role == "adherence":
        return 100.0 * course.adherence
    shift, level = course.levels.get(f"shift:{row.id}"), course.levels.get(f"evidence:{row.id}", course.levels.get(row.id))
    if level is not None:
        return np.log(level) if row.scale == "log" else level
    if _is_at_home(row):
        return _find_level(row.id, patient)
    # As `observe_streams` draws this person's own level.
    usual = (row.mean_m if premise.patient.sex == "M" else row.mean_f) or (row.hard_low + row.hard_high) / 2.0
    years = max((premise.patient.age_low + premise.patient.age_high) / 2 - 40, 0)
    over = max(find_body_mass_index(premise.patient, premise.start_weight_kg, patient.knowledge) - 25, 0)
    own = row.sd_between * _find_distance(row.id, patient)
    first = np.log(np.array([usual])) if row.scale == "log" else np.array([usual])
    own += find_usual_shifts(patient.knowledge, (premise.patient.disease, *premise.patient.comorbidities)).get(row.id, 0.0)
    still = np.repeat(first + row.per_year_over_40 * years + row.per_bmi_over_25 * over + own, premise.course_end_day + 1)
    if shift is None:
        shift = push_levels({row.id: (np.zeros_like(still), True)}, premise, patient.knowledge, patient.rng).get(row.id)
    return still if shift is None else still + shift


def _find_distance(name: str, patient: Examined) -> Reals:
    """How many SDs this person lies from the usual level of a stream, as `observe_streams` draws it."""
    premise, knowledge = patient.premise, patient.knowledge
    cut = knowledge.parameter("person_cut_sd")
    away = reflect(patient.rng.at(premise.case_id, "stream", name).normal(1), -cut, cut)
    for row in knowledge.correlations.values():
        one = knowledge.streams.get(row.a)
        if row.level == "between" and row.b == name and one is not None and set(one.devices) & set(premise.patient.devices):
            r = row.r_m if premise.patient.sex == "M" else row.r_f
            away = np.clip(r * _find_distance(row.a, patient) + np.sqrt(1 - r * r) * away, -cut, cut)
    return away


def _find_level(name: str, patient: Examined) -> Reals:
    """The true level by day of an analyte or home stream: that of the course, or of the same person followed for it too."""
    course = patient.course
    if name in course.levels:
        return course.levels[name]
    return course.unreported[name] if name in course.unreported else _derive(patient, (name,))[name]


def _derive(patient: Examined, items: tuple[str, ...]) -> dict[str, Reals]:
    course = patient.course
    treatment = Treatment(course.weight_kg, course.dose, course.adherence)
    return derive_levels(patient.premise, treatment, patient.knowledge, patient.rng, items=items)


def _is_at_home(row: Analyte | Stream | FindingKind) -> bool:
    return isinstance(row, Stream) and (row.role == "diary" or row.per_kg is not None) and not row.parent


def _find_numbers(row: FindingKind, days: Days, patient: Examined) -> list[FindingResult]:
    """A finding that is a number on some days, ascending: printed inside its hard bounds, positive from its cut on."""
    premise, knowledge = patient.premise, patient.knowledge
    if row.id == _BMI:
        start = find_body_mass_index(premise.patient, premise.start_weight_kg, knowledge)
        values = start * patient.course.weight_kg[days] / premise.start_weight_kg
    else:
        values = _add_noise(row, _follow_finding(row, patient)[days], days, patient)
    decimals = row.decimals or 0
    cut = None if row.cut is None else to_tick(row.cut, decimals)
    return [
        FindingResult(day, row.id, None if cut is None else tick >= cut, tick, decimals)
        for day, tick in zip(days.tolist(), to_ticks(values, decimals).tolist(), strict=True)
    ]


def _add_noise(row: FindingKind, level: Reals, days: Days, patient: Examined) -> Reals:
    """A numeric finding's level on some days with its noise, inside the bounds."""
    knowledge, scale = patient.knowledge, _scale_of(row, patient)
    first = int(days[0])
    words = patient.rng.at(patient.premise.case_id, AREA, row.id).words(int(days[-1]) + 1 - first, start=first)
    noise = words_to_normal(words[days - first])
    if row.id in (_OFFICE, _AMBULATORY):
        return np.minimum(np.maximum(level + knowledge.parameter("finding.office_sd") * noise, scale.floor), scale.ceiling)
    width = knowledge.parameter("finding.noise_log") if scale.is_log else _find_noise(row, scale, knowledge)
    on_scale = np.log(level) if scale.is_log else level
    value = np.minimum(np.maximum(on_scale + width * noise, scale.floor), scale.ceiling)
    return np.exp(value) if scale.is_log else value


def _find_noise(row: FindingKind, scale: Scale, knowledge: Knowledge) -> float:
    own = knowledge.parameters.get(f"finding.noise.{row.id}")
    return knowledge.parameter("finding.noise_share") * _half(scale) if own is None else own.value


def _scale_of(row: FindingKind, patient: Examined) -> Scale:
    scale = load_scale(patient.knowledge, row.id, patient.premise.patient.sex)
    assert scale is not None, row.id
    return scale


def _follow_finding(row: FindingKind, patient: Examined) -> Reals:
    """A numeric finding by day without noise. Pressure elsewhere than at home follows that at home; conditions come on top."""
    premise, knowledge = patient.premise, patient.knowledge
    if row.id in (_OFFICE, _AMBULATORY):
        above = knowledge.parameter("finding.office_above_home" if row.id == _OFFICE else "finding.ambulatory_above_home")
        own = _find_level(_HOME, patient) + above
        if row.id == _OFFICE:
            own = own + _draw_office_part(row, float(own[0]), patient)
    else:
        scale = _scale_of(row, patient)
        own = np.full(premise.course_end_day + 1, scale.write(_usual_level(row, scale, patient)))
    return push_levels({row.id: (own, False)}, premise, knowledge, patient.rng).get(row.id, own)


def _draw_office_part(row: FindingKind, level: float, patient: Examined) -> float:
    """How far this person's pressure in the office lies from the usual `level`: tense there, or at ease.

    Nobody's pressure in the office would diagnose what is not known, nor alarm.
    """
    premise, number, step = patient.premise, patient.knowledge.parameter, 10.0 ** -(row.decimals or 0)
    known = patient.knowledge.streams[_HOME].diagnostic_of in (premise.patient.disease, *premise.patient.comorbidities)
    sd = number("finding.office_person_sd_known" if known else "finding.office_person_sd")
    low = min((row.ref_low or 0.0) + number("finding.office_from_alarm_sd") * number("finding.office_sd"), level)
    high = level + number("levels_person_cut_sd") * sd
    if row.cut is not None and not known:
        high = max(number("levels_undiagnosed_share") * row.cut, low + step)
    normal = patient.rng.at(premise.case_id, AREA, row.id, "person").normal(1)
    return float(squeeze(normal, *(np.array([each]) for each in (level, sd, low, high)))[0]) - level


def _usual_level(row: FindingKind, scale: Scale, patient: Examined) -> float:
    """The person's level of a numeric finding without a cause, on the scale; in a few people a little outside the limits."""
    number, premise = patient.knowledge.parameter, patient.premise
    drawn = patient.rng.at(premise.case_id, AREA, row.id, "person")
    share, chance = float(reflect(np.array([drawn.gauss(0)]), -2.0, 2.0)[0]), drawn.chance(1)
    if f"finding.usual_mean.{row.id}" in patient.knowledge.parameters:  # some people lie beyond the limit, and nobody apart from the rest
        return scale.read(number(f"finding.usual_mean.{row.id}") + number(f"finding.usual_sd.{row.id}") * share)
    if chance < number(f"finding.false_positive.{row.kind}"):
        sign = 1 if scale.high is not None else -1
        limit = scale.limit(sign)
        assert limit is not None, row.id
        return limit + sign * scale.beyond(sign, "mild") / 2.0
    sd = number("finding.usual_sd_share")
    low, high = row.ref_low, row.cut if row.ref_low is None and row.ref_high is None else row.ref_high
    step = 10.0 ** -(row.decimals or 0)
    if low is not None and high is not None:
        value = (low + high) / 2.0 + sd * (high - low) * share
    elif high is not None:
        value = high - abs(high) * (1.0 - number("finding.usual_below")) + sd * abs(high) * share
    else:
        value = (low or 0.0) + abs(low or 0.0) * (number("finding.usual_above") - 1.0) + sd * abs(low or 0.0) * share
    floor = (row.hard_low if row.hard_low is not None else value) + step
    ceiling = (row.hard_high if row.hard_high is not None else value) - step
    return scale.read(min(max(value, floor), ceiling))


def _half(scale: Scale) -> float:
    if scale.low is not None and scale.high is not None:
        return (scale.high - scale.low) / 2.0
    return abs((scale.low if scale.high is None else scale.high) or 1.0) / 2.0


def _find_words(row: FindingKind, days: Sequence[int], patient: Examined) -> list[FindingResult]:
    """A finding that is there or not: by the conditions that show it, once they have come far enough, seen in most people but not all."""
    premise, knowledge = patient.premise, patient.knowledge
    number = knowledge.parameter
    drawn = patient.rng.at(premise.case_id, AREA, row.id)
    acting = group_acting(premise, knowledge).get(row.id, ())
    causes = [each for each in acting if each.push.sign > 0]
    is_denied = any(each.push.sign < 0 for each in acting)
    is_sensed = bool(causes) and drawn.chance(0) < number(f"finding.sensitivity.{row.kind}")
    # What a condition says is absent is absent; else few people have it for no reason.
    is_false_positive = not is_denied and drawn.chance(1) < number(f"finding.false_positive.{row.kind}")
    return [
        FindingResult(day, row.id, (is_sensed and any(_has_come(each, day, patient) for each in causes)) or is_false_positive, None, 0)
        for day in days
    ]


def _has_come(each: Acting, day: int, patient: Examined) -> bool:
    premise, knowledge = patient.premise, patient.knowledge
    if each.is_documented:
        return True
    ramp = derive_ramps(acting_conditions([each]), premise, knowledge, patient.rng)
    return bool(next(iter(ramp.values()))[day] >= knowledge.parameter("finding.onset_share"))


def _print(name: str, day: int, value: float, decimals: int) -> FindingResult:
    return FindingResult(day, name, None, to_tick(value, decimals), decimals)
