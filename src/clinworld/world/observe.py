"""What was charted of a course: every series to the end of the course, the orders, and the faults in them.

Puts the parts together and decides their order. Notes are not charted here; the record is cut at the index day elsewhere.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import ChartFault, MethodChange, Prescription, Series, Specimen
from clinworld.world.artifacts import apply_artifacts
from clinworld.world.observe_labs import observe_laboratory
from clinworld.world.observe_medication import derive_prescriptions, observe_adherence
from clinworld.world.observe_plan import HOME_SCALE
from clinworld.world.observe_streams import DailyValues, Days, observe_streams
from clinworld.world.observe_weight import HomeScale, draw_weigh_in_days, observe_clinic_scale, observe_home_scale
from clinworld.world.steps import Steps, run_alone
from clinworld.world.visits import draw_visits, draw_weekdays


class ObservedSeries(NamedTuple):
    """The charted half of a record that is numbers.

    `series` stand in the order of the knowledge tables, streams first. `acted` counts how often each mechanism acted; `rows_used` are
    the knowledge rows of what is charted, sorted.
    """

    series: tuple[Series, ...]
    prescriptions: tuple[Prescription, ...]
    faults: tuple[ChartFault, ...]
    acted: tuple[tuple[str, int], ...]
    rows_used: tuple[str, ...]
    specimens: tuple[Specimen, ...] = ()
    method_changes: tuple[MethodChange, ...] = ()


def observe_series(
    premise: Premise,
    course: Course,
    knowledge: Knowledge,
    rng: Rng,
    *,
    visits: Days | None = None,
    has_daily: bool = True,
    has_specimens: bool = False,
) -> ObservedSeries:
    """Every series of a patient from day 0 to the end of the course, with the premise's faults in it. Pure.

    With `has_specimens` laboratory results come from charted specimens, with what befalls these, and from methods that change.
    Without `has_daily` what is charted by day (home scale, wearables, home devices, diaries) is left out with its faults; nothing else
    moves. `visits` are drawn where they are not given. Raises PremiseConflict `artifact_not_placed` for a fault that finds no reading.
    """
    visits = draw_visits(premise, course, knowledge, rng) if visits is None else visits
    return run_alone(follow_series(premise, course, visits, knowledge, rng, has_daily=has_daily, has_specimens=has_specimens))


def follow_series(
    premise: Premise, course: Course, visits: Days, knowledge: Knowledge, rng: Rng, *, has_daily: bool, has_specimens: bool
) -> Steps[ObservedSeries]:
    """`observe_series` in steps."""
    if not has_daily:
        return _observe_without_daily(premise, course, visits, knowledge, rng, has_specimens)
    weekdays = draw_weekdays(premise, rng)
    daily = observe_streams(premise, course, knowledge, rng, weekdays)
    yield
    weigh_ins = draw_weigh_in_days(premise, weekdays, daily.weight_noise, daily.weigh_in, knowledge)
    home = observe_home_scale(premise, weigh_ins, daily.ticks[daily.ids.index(HOME_SCALE)], knowledge, rng)
    clinic = observe_clinic_scale(premise, course, knowledge, rng)
    adherence, dips = observe_adherence(premise, course, knowledge, rng)
    charted = {HOME_SCALE: home.series, clinic.name: clinic, adherence.name: adherence}
    charted |= _chart_daily(daily, weigh_ins, knowledge)
    faulty, faults = apply_artifacts(charted, premise, knowledge)
    yield
    laboratory = observe_laboratory(premise, course, visits, knowledge, rng, has_specimens=has_specimens)
    yield
    labs = laboratory.series
    streams = tuple(faulty[name] for name in knowledge.streams if name in faulty)
    acted = {f"artifact:{fault.kind}": 0 for fault in faults}
    for fault in faults:
        acted[f"artifact:{fault.kind}"] += len(fault.days)
    acted["carried_forward"] = _count_repeats(home, faults)
    if daily.non_wear_days is not None:
        acted["non_wear"] = daily.non_wear_days
    if premise.sampling_days == 1:
        acted[f"missingness:{premise.missingness}"] = len(weekdays) - len(weigh_ins)
    if dips:
        acted["adherence_dip"] = dips
    if daily.distractors:
        acted["distractor_stream"] = len(daily.distractors)
    acted |= _count_drug_effects(premise, course, {series.name for series in (*streams, *labs)}, knowledge)
    used = [f"streams:{series.name}" for series in streams] + [f"analytes:{series.name}" for series in labs] + [f"drugs:{premise.drug}"]
    orders = derive_prescriptions(premise, course, knowledge)
    every, told = (*faults, *laboratory.faults), (laboratory.specimens, laboratory.method_changes)
    return ObservedSeries((*streams, *labs), orders, every, tuple(sorted(acted.items())), tuple(sorted(used)), *told)


def _observe_without_daily(
    premise: Premise, course: Course, visits: Days, knowledge: Knowledge, rng: Rng, has_specimens: bool
) -> ObservedSeries:
    clinic = observe_clinic_scale(premise, course, knowledge, rng)
    adherence, _ = observe_adherence(premise, course, knowledge, rng)
    charted = {clinic.name: clinic, adherence.name: adherence}
    kept = tuple(fault for fault in premise.artifacts if knowledge.artifacts[fault.kind].series in charted)
    faulty, faults = apply_artifacts(charted, replace(premise, artifacts=kept), knowledge)
    labs = observe_laboratory(premise, course, visits, knowledge, rng, has_specimens=has_specimens)
    streams = tuple(faulty[name] for name in knowledge.streams if name in faulty)
    orders, told = derive_prescriptions(premise, course, knowledge), (labs.specimens, labs.method_changes)
    return ObservedSeries((*streams, *labs.series), orders, (*faults, *labs.faults), (), (), *told)


def _chart_daily(daily: DailyValues, weigh_ins: Days, knowledge: Knowledge) -> dict[str, Series]:
    """The daily streams on their days; what a scale reads beside the weight is there on the weigh-in days."""
    charted: dict[str, Series] = {}
    counts = np.add.reduce(daily.is_charted, axis=1, dtype=np.int64)
    ends = counts.cumsum().tolist()
    places = daily.is_charted.ravel().nonzero()[0]
    starts = np.arange(0, daily.is_charted.size, daily.is_charted.shape[1])
    days = (places - starts.repeat(counts)).astype(np.int32)
    ticks = daily.ticks.ravel().take(places)
    for i, (name, first, last) in enumerate(zip(daily.ids, [0, *ends], ends, strict=False)):
        row = knowledge.streams[name]
        if last > first and row.parent == HOME_SCALE:
            charted[name] = Series(name, row.setting, row.ucum, row.decimals, weigh_ins.astype(np.int32), daily.ticks[i, weigh_ins])
        elif last > first and name != HOME_SCALE:
            charted[name] = Series(name, row.setting, row.ucum, row.decimals, days[first:last], ticks[first:last])
    return charted


def _count_repeats(home: HomeScale, faults: tuple[ChartFault, ...]) -> int:
    """Repeated readings that neither are nor repeat a reading with a fault."""
    touched = {day for fault in faults if fault.series == HOME_SCALE for day in fault.days}
    if not touched:
        return len(home.repeats)
    return sum(
        day not in touched and source not in touched for day, source in zip(home.repeats.tolist(), home.copied.tolist(), strict=True)
    )


def _count_drug_effects(premise: Premise, course: Course, charted: set[str], knowledge: Knowledge) -> dict[str, int]:
    """How many charted quantities the drug has an effect row for and the course has moved by its end; none when there is no such row."""
    items = dict.fromkeys(effect.item for effect in knowledge.drugs[premise.drug].effects if effect.item in charted)
    levels = [level for item in items if (level := course.levels.get(item, course.levels.get(f"shift:{item}"))) is not None]
    return {"drug_effect": sum(bool(level[0] != level[-1]) for level in levels)} if levels and premise.has_physiology else {}
