"""Nothing impossible in random patients, and every check finds what it is for."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest
from presenting_case import CONDITIONS, KNOWLEDGE

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.gates.impossible import CHECKS, World, find_impossible
from clinworld.schema.premise import Premise
from clinworld.schema.record import PARTS, Dispensing, FindingResult, Series
from clinworld.world.build import build_world
from clinworld.world.draw import draw_case
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.premise import check_premise, derive_premise

RNG, JOB = Rng("nothing impossible"), drawn_job("nothing impossible")
PATIENTS = 400
CHEAP = 8  # of so many patients one has every part; the others have one each, and nothing that is charted by day
ROTATED = (frozenset({"history"}), frozenset({"specimens", "dispensing"}), frozenset({"findings"}))


def plan(place: int) -> Premise | None:
    """Patient number `place`, None where the drawn values contradict each other: every other one with a hidden condition."""
    if place % 2:
        return plan_presenting(f"random.{place}", CONDITIONS[place // 2 % len(CONDITIONS)], JOB, KNOWLEDGE, RNG)
    case = draw_case(f"random.{place}", {}, KNOWLEDGE, RNG)
    premise = derive_premise(case, JOB, KNOWLEDGE, RNG)
    return None if list(check_premise(premise, case, KNOWLEDGE)) else premise


def finish(premise: Premise, parts: frozenset[str] = frozenset(PARTS), *, has_daily: bool = True) -> World:
    course, chart = build_world(premise, KNOWLEDGE, RNG, parts, has_daily=has_daily)
    return World(premise, course, chart, KNOWLEDGE, RNG)


def look_at(places: range) -> list[str]:
    found = []
    for place in places:
        premise = plan(place)
        if premise is None:
            continue
        has_daily = place // 2 % CHEAP == 0
        try:
            world = finish(premise, frozenset(PARTS) if has_daily else ROTATED[place % len(ROTATED)], has_daily=has_daily)
        except PremiseConflict:
            continue
        for name, findings in find_impossible(world).items():
            # Without the daily streams a device has nothing to show.
            kept = [each for each in findings if has_daily or "no series of it" not in each.found]
            found += [f"{name}: {premise.case_id}: {each}" for each in kept]
    return found


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(100, PATIENTS, 100))])
def test_nothing_impossible_is_found_in_random_patients(first: int) -> None:
    assert look_at(range(first, first + 100)) == []


@cache
def usual() -> World:
    """A woman with a hidden condition, packs, specimens, findings and a history with results and orders."""
    for number in count():
        premise = plan_presenting(f"usual.{number}", "hypothyroidism", JOB, KNOWLEDGE, RNG)
        world = finish(premise)
        history = world.record.history
        if premise.patient.sex == "F" and world.record.findings and history and history.prescriptions and history.events:
            return world
    raise AssertionError("count never ends")


def change_record(**changes: Any) -> World:
    world = usual()
    chart = replace(world.chart, record=replace(world.record, **changes))
    return World(world.premise, world.course, chart, KNOWLEDGE, RNG)


def change_patient(**changes: Any) -> World:
    world = usual()
    premise = replace(world.premise, patient=replace(world.premise.patient, **changes))
    profile = replace(world.record.profile, **{name: value for name, value in changes.items() if name != "comorbidities"})
    chart = replace(world.chart, record=replace(world.record, profile=profile))
    return World(premise, world.course, chart, KNOWLEDGE, RNG)


def change_series(name: str, change: Callable[[Series], Series]) -> World:
    return change_record(series=tuple(change(each) if each.name == name else each for each in usual().record.series))


def first_lab() -> Series:
    return next(each for each in usual().record.series if each.setting == "laboratory")


def with_known(condition: str) -> World:
    profile = usual().record.profile
    return change_record(profile=replace(profile, known_conditions=(*profile.known_conditions, condition)))


def too_high(series: Series) -> Series:
    return replace(series, ticks=series.ticks + 10**9)


def as_a_man() -> World:
    world = change_patient(sex="M")
    extra = FindingResult(0, "pelvic_ultrasound_pcom", True, None, 0)
    return World(world.premise, world.course, replace(world.chart, record=replace(world.record, findings=(extra,))), KNOWLEDGE, RNG)


def without_chinese() -> World:
    first, *rest = usual().record.notes
    return change_record(notes=(replace(first, text=Wording(first.text.en, "")), *rest))


def history_after_day_0() -> World:
    history = usual().record.history
    assert history is not None
    return change_record(history=replace(history, visits=(*history.visits, 5)))


def off_ladder() -> World:
    first, *rest = usual().record.prescriptions
    return change_record(prescriptions=(replace(first, dose=first.dose * 1.5), *rest))


def forbidden() -> World:
    """A statin ordered although a liver disease is documented."""
    first, *_ = usual().record.prescriptions
    world = with_known("autoimmune_hepatitis")
    statin = replace(first, drug="rosuvastatin", dose=KNOWLEDGE.drugs["rosuvastatin"].ladder[0])
    record = replace(world.record, prescriptions=(statin,))
    return World(world.premise, world.course, replace(world.chart, record=record), KNOWLEDGE, RNG)


def pack_before_order() -> World:
    order = usual().record.prescriptions[0]
    later = tuple(replace(each, day=each.day + 3) for each in usual().record.prescriptions)
    return change_record(prescriptions=later, dispensing=(Dispensing(0, order.drug, order.dose, order.unit, 28),))


def result_between_visits() -> World:
    visits = usual().visits
    day = next(day for day in range(1, 400) if day not in visits)
    return change_series(first_lab().name, lambda series: replace(series, days=np.array([0, day], np.int32), ticks=series.ticks[:2]))


def device_without_series() -> World:
    return change_record(series=tuple(each for each in usual().record.series if each.setting == "laboratory"))


FAILING: dict[str, Callable[[], World]] = {
    "hard bounds and units": lambda: change_series(first_lab().name, too_high),
    "findings": lambda: change_record(findings=(FindingResult(0, "bmi", True, 1, 1),)),
    "sex": as_a_man,
    "age": lambda: change_patient(age_low=3, age_high=7),
    "contraindicated drugs": forbidden,
    "doses off the ladder": off_ladder,
    "results before orders and visits": result_between_visits,
    "dispensing before prescription": pack_before_order,
    "missing language": without_chinese,
    "history": history_after_day_0,
    "results that disagree": lambda: change_series("egfr", lambda series: replace(series, ticks=series.ticks + 30)),
    "devices and ids": device_without_series,
}


def test_every_check_has_a_control() -> None:
    assert FAILING.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_passes_the_usual_patient_and_finds_its_control(name: str) -> None:
    assert CHECKS[name](usual()) == []
    found = CHECKS[name](FAILING[name]())
    assert found and all(each.place and each.found for each in found)


def test_units_and_decimals_of_another_row_are_found() -> None:
    for changed in ({"unit": "stone"}, {"decimals": 7}):
        world = change_series(first_lab().name, lambda series, changed=changed: replace(series, **changed))  # type: ignore[misc]
        assert CHECKS["hard bounds and units"](world)
