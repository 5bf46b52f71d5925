"""A drug does not stand in spite of a result that anyone could see, neither in the course nor before it."""

from dataclasses import replace

import numpy as np
import pytest
from history_cases import KNOWLEDGE

from clinworld.cohort.patient import drawn_job
from clinworld.core.rng import Rng
from clinworld.gates.impossible import World, find_impossible
from clinworld.schema.premise import Premise
from clinworld.schema.record import PARTS, Prescription, Series
from clinworld.world import plan_presenting as plan_presenting_module
from clinworld.world.build import build_world
from clinworld.world.draw import draw_case
from clinworld.world.drug_safety import check_drug_safety, find_result_against
from clinworld.world.history_drugs import Line, stop_forbidden
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.premise import derive_premise
from clinworld.world.seen_results import Against, find_against, list_measured_rules, read_against

RNG, JOB = Rng("impossible"), drawn_job("impossible")
# Patients in whom a drug would stand in spite of a result, most of them found by `bench/impossible.py`: the place, and what they hide.
IN_THE_COURSE = {362: "renal_artery_stenosis", 227: "aki", 50: "aki", 43183: "renal_artery_stenosis"}
BEFORE_IT = {1558: "", 18102: "", 26037: "depression"}


def plan(place: int, condition: str) -> Premise:
    if condition:
        return plan_presenting(f"random.{place}", condition, JOB, KNOWLEDGE, RNG)
    return derive_premise(draw_case(f"random.{place}", {}, KNOWLEDGE, RNG), JOB, KNOWLEDGE, RNG)


@pytest.mark.parametrize(("place", "condition"), [*IN_THE_COURSE.items(), *BEFORE_IT.items()])
def test_nothing_impossible_is_left_in_a_patient_whose_drug_a_result_forbade(place: int, condition: str) -> None:
    premise = plan(place, condition)
    course, chart = build_world(premise, KNOWLEDGE, RNG, frozenset(PARTS))
    found = find_impossible(World(premise, course, chart, KNOWLEDGE, RNG))
    assert {name: each for name, each in found.items() if each} == {}


def series(name: str, *values: tuple[int, float]) -> Series:
    row = KNOWLEDGE.analytes[name]
    days, levels = (np.array(each) for each in zip(*values, strict=True))
    ticks = np.rint(levels * 10.0**row.decimals).astype(np.int64)
    return Series(name, "laboratory", row.ucum, row.decimals, days.astype(np.int32), ticks)


FALLS = series("egfr", (0, 64.0), (40, 28.0), (90, 55.0))
KIDNEY, CELLS, SALT = 26.0, 4000.0, 6.1


@pytest.mark.parametrize(
    ("drug", "charted", "first", "last", "found"),
    [
        ("metformin", FALLS, 0, 39, None),
        ("metformin", FALLS, 0, 40, Against(40, "egfr", 28.0)),
        ("metformin", FALLS, 0, 400, Against(40, "egfr", 28.0)),
        ("metformin", FALLS, 60, 80, Against(60, "egfr", 28.0)),
        ("metformin", FALLS, 90, 400, None),
        ("metformin", FALLS, -9, -1, None),
        ("linagliptin", FALLS, 0, 400, None),
        ("losartan", series("potassium", (0, 4.1), (30, SALT)), 0, 400, Against(30, "potassium", SALT)),
        ("losartan", series("potassium", (0, 4.1), (30, 5.9)), 0, 400, None),
        ("atorvastatin", series("ck", (0, CELLS)), 0, 400, Against(0, "ck_times_upper", CELLS / 200)),
        ("atorvastatin", series("ck", (0, 900.0)), 0, 400, None),
    ],
)
def test_an_order_stands_in_spite_of_a_result_from_the_day_it_is_seen(
    drug: str, charted: Series, first: int, last: int, found: Against | None
) -> None:
    assert find_against(read_against(drug, [charted], "F", KNOWLEDGE), first, last) == found


def test_a_value_measured_elsewhere_than_in_a_laboratory_forbids_nothing() -> None:
    assert not read_against("metformin", [replace(FALLS, setting="home")], "F", KNOWLEDGE)


def test_every_rule_on_a_laboratory_result_is_read_of_every_drug() -> None:
    told = {(drug, rule.item) for drug in KNOWLEDGE.drugs for _, rule in list_measured_rules(KNOWLEDGE, drug)}
    assert {("metformin", "egfr"), ("perindopril", "potassium"), ("rosuvastatin", "ck_times_upper"), ("methimazole", "neutrophils")} <= told
    written = {(row.id, rule.item) for row in KNOWLEDGE.drugs.values() for rule in row.contraindications if rule.kind == "absolute"}
    assert {(drug, item) for drug, item in written if item in KNOWLEDGE.analytes} <= told


def line(*steps: tuple[int, float], last: int | None = None) -> Line:
    return Line(KNOWLEDGE.drugs["metformin"], "type_2_diabetes", steps, last)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([line((-900, 500.0), (-700, 1000.0))], [line((-900, 500.0), (-700, 1000.0), last=-601)]),
        ([line((-900, 500.0), (-500, 1000.0))], [line((-900, 500.0), last=-601)]),
        ([line((-900, 500.0), last=-601)], [line((-900, 500.0), last=-601)]),
        ([line((-550, 500.0))], []),
        ([line((-600, 500.0))], []),
        ([line((-400, 500.0))], [line((-400, 500.0))]),
    ],
)
def test_an_old_order_ends_at_the_visit_that_sees_a_result_against_it(before: list[Line], after: list[Line]) -> None:
    fell = series("egfr", (-800, 64.0), (-600, 28.0), (-400, 44.0))
    assert stop_forbidden(before, [fell], "F", KNOWLEDGE) == tuple(after)


def first_with(drug: str, condition: str) -> Premise:
    """A drawn patient on a drug who hides a condition, as drawn before anyone asked what its results say."""
    for place in range(400):
        premise = plan_presenting(f"safe.{place}", condition, JOB, KNOWLEDGE, RNG)
        if premise.drug == drug and premise.index_day > 60:
            return premise
    raise AssertionError(f"no patient with {drug}")


@pytest.mark.parametrize("place", IN_THE_COURSE)
def test_a_drug_that_a_result_forbids_before_the_last_visit_is_not_planned(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(place, IN_THE_COURSE[place])
    assert check_drug_safety(planned, KNOWLEDGE, RNG) == ()
    monkeypatch.setattr(plan_presenting_module, "check_drug_safety", lambda *_: ())
    unasked = plan(place, IN_THE_COURSE[place])
    against = find_result_against(unasked, KNOWLEDGE, RNG)
    assert unasked.drug == "metformin" and against is not None and against.item == "egfr"
    (conflict,) = check_drug_safety(unasked, KNOWLEDGE, RNG)
    assert conflict.kind == "drug_forbidden" and f"egfr {against.value:g} on day {against.day}" in conflict.found
    assert check_drug_safety(replace(unasked, drug="amlodipine", dose_steps=(5.0,)), KNOWLEDGE, RNG) == ()


def with_results(days: tuple[int, ...], values: tuple[float, ...], orders: tuple[tuple[int, str, float], ...]) -> list[str]:
    """What the check of random patients says of a course with these filtration rates and orders; visits are on 0, 30, 60, 90, 120."""
    premise = first_with("metformin", "gout")
    course, chart = build_world(premise, KNOWLEDGE, RNG, frozenset(), has_daily=False)
    ordered = tuple(Prescription(day, drug, dose, KNOWLEDGE.drugs[drug].dose_unit, "daily") for day, drug, dose in orders)
    charted = series("egfr", *zip(days, values, strict=True))
    record = replace(chart.record, last_day=120, series=(charted,), prescriptions=ordered)
    world = World(premise, course, replace(chart, record=record), KNOWLEDGE, RNG)
    world.__dict__["visits"] = frozenset({0, 30, 60, 90, 120})
    return [str(each) for each in find_impossible(world)["contraindicated drugs"]]


STEADY = ((0, "metformin", 500.0),)
SWITCHED = (*STEADY, (60, "linagliptin", 5.0))


@pytest.mark.parametrize(
    ("values", "orders", "is_found"),
    [
        ((70.0, 70.0, 70.0, 70.0, 70.0), STEADY, False),
        ((28.0, 70.0, 70.0, 70.0, 70.0), STEADY, True),
        ((70.0, 28.0, 70.0, 70.0, 70.0), STEADY, True),
        ((70.0, 28.0, 70.0, 70.0, 70.0), SWITCHED, False),
        ((70.0, 28.0, 70.0, 70.0, 70.0), (*STEADY, (90, "linagliptin", 5.0)), True),
        ((70.0, 70.0, 70.0, 28.0, 70.0), STEADY, False),
        ((70.0, 70.0, 70.0, 28.0, 70.0), (*STEADY, (100, "metformin", 1000.0)), True),
        ((70.0, 70.0, 70.0, 28.0, 70.0), (*STEADY, (80, "metformin", 1000.0)), False),
        ((70.0, 70.0, 70.0, 70.0, 28.0), STEADY, False),
    ],
)
def test_an_order_not_stopped_at_the_visit_after_a_result_against_it_is_found(
    values: tuple[float, ...], orders: tuple[tuple[int, str, float], ...], is_found: bool
) -> None:
    found = with_results((0, 30, 60, 90, 120), values, orders)
    assert bool(found) is is_found, found
    assert all("egfr 28" in each for each in found)
