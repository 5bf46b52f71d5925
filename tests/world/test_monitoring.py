"""Tests that documented conditions and medicine bring to visits."""

from dataclasses import replace

import numpy as np
import pytest
from history_cases import KNOWLEDGE, RNG, course_of, history_of, premises, showing
from observe_case import make_premise

from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.condition_findings import derive_findings
from clinworld.world.course import build_course
from clinworld.world.history import draw_history
from clinworld.world.history_drugs import find_states
from clinworld.world.monitoring import Span, Watch, find_due, known_conditions, list_watched
from clinworld.world.observe_labs import observe_labs
from clinworld.world.panel import panel_analytes, render_panel
from clinworld.world.visits import draw_visits

LAB = ("lab_panel",)


def charted(premise: Premise, visits: np.ndarray | None = None) -> dict[str, Series]:
    course = course_of(premise)
    days = draw_visits(premise, course, KNOWLEDGE, RNG) if visits is None else visits
    return {series.name: series for series in observe_labs(premise, course, days, KNOWLEDGE, RNG)}


def has_diabetes(premise: Premise) -> bool:
    return "has_diabetes" in find_states(KNOWLEDGE, known_conditions(premise))


@pytest.mark.parametrize(
    ("condition", "item"),
    [
        *(("iron_deficiency_anaemia", "haemoglobin"), ("diabetic_kidney_disease", "urine_acr"), ("gout", "uric_acid")),
        *(("hypothyroidism", "tsh"), ("hyperthyroidism", "tsh"), ("hypertension", "potassium"), ("vitamin_d_deficiency", "vitamin_d_25oh")),
    ],
)
def test_a_known_condition_brings_what_shows_it_or_what_its_drugs_are_watched_by(condition: str, item: str) -> None:
    """The control: without the condition nobody measures it."""
    plain = make_premise("M-1", patient={"devices": LAB, "disease": "obesity", "comorbidities": ()})
    known = replace(plain, patient=replace(plain.patient, comorbidities=(condition,)))
    assert item in charted_anew(known) and item not in charted_anew(plain)
    past = draw_history(known, KNOWLEDGE, RNG)
    assert any(series.name == item for series in past.series)


def charted_anew(premise: Premise) -> dict[str, Series]:
    course = build_course(premise, KNOWLEDGE, RNG)
    visits = draw_visits(premise, course, KNOWLEDGE, RNG)
    return {series.name: series for series in observe_labs(premise, course, visits, KNOWLEDGE, RNG)}


@pytest.mark.parametrize("drug", ["lisinopril", "spironolactone", "losartan", "hydrochlorothiazide"])
def test_a_drug_that_moves_potassium_brings_potassium(drug: str) -> None:
    assert "potassium" in list_watched(KNOWLEDGE, ("obesity",), drug, LAB)
    assert "potassium" not in list_watched(KNOWLEDGE, ("obesity",), "semaglutide_2_4", LAB)


def test_few_tests_are_brought() -> None:
    brought = [list_watched(KNOWLEDGE, known_conditions(premise), premise.drug, premise.patient.devices) for premise in premises()]
    assert np.mean([len(names) for names in brought]) < 1.5 and max(map(len, brought)) <= 8
    reported = {name for names in brought for name in names if KNOWLEDGE.analytes[name].group in KNOWLEDGE.devices["lab_panel"].reports}
    assert reported == set()


@pytest.mark.slow
def test_what_is_hidden_brings_no_test_and_moves_the_day_of_none() -> None:
    """The same visits chart the same analytes on the same days, whatever shows itself in the course."""
    looked = 0
    for premise in showing()[:60]:
        alone = replace(premise, presenting=None, case_id=f"{premise.case_id}")
        visits = draw_visits(premise, course_of(premise), KNOWLEDGE, RNG)
        course = build_course(alone, KNOWLEDGE, RNG)
        plain = {series.name: series.days.tolist() for series in observe_labs(alone, course, visits, KNOWLEDGE, RNG)}
        shown = {name: series.days.tolist() for name, series in charted(premise, visits).items()}
        # A calculated result may fall outside its formula's domain.
        names = [name for name in {*plain, *shown} if not KNOWLEDGE.analytes[name].derived_by]
        assert [plain.get(name) for name in names] == [shown.get(name) for name in names]
        looked += len(names)
    assert looked > 300


@pytest.mark.slow
def test_hba1c_is_measured_once_a_year_at_most_where_no_diabetes_is_known() -> None:
    """But for the second one of a course, which lies on its last visit by the index day."""
    gaps: dict[bool, list[int]] = {True: [], False: []}
    for premise in premises():
        past = next((series for series in history_of(premise).series if series.name == "hba1c"), None)
        gaps[has_diabetes(premise)] += [] if past is None else np.diff(past.days).tolist()
        course = charted(premise).get("hba1c")
        if course is not None and not has_diabetes(premise):
            seen = course.days <= premise.index_day
            assert np.count_nonzero(seen) == 2 + np.count_nonzero(np.diff(course.days[seen])[:-1] >= 365)
            assert (np.diff(course.days[int(seen.sum()) - 1 :]) >= 365).all()
    assert min(gaps[False]) >= 365
    assert np.median(gaps[True]) < 200


def test_before_day_0_nothing_is_brought_by_what_was_not_yet_diagnosed() -> None:
    """The control: from the diagnosis on it is measured."""
    plain = make_premise("M-3", patient={"devices": LAB, "disease": "hypertension", "comorbidities": ("vitamin_d_deficiency",)})
    checked = 0
    for case in range(30):
        past = draw_history(replace(plain, case_id=f"M-{case}"), KNOWLEDGE, RNG)
        made = next(event.day for event in past.events if event.text.en.startswith("Vitamin D"))
        for series in past.series:
            if series.name in ("vitamin_d_25oh", "calcium"):
                assert series.days[0] >= made
                checked += 1
    assert checked > 20


def test_feet_and_eyes_are_looked_at_unasked_where_diabetes_is_known() -> None:
    found = {True: 0, False: 0}
    for premise in premises():
        names = [each.name for each in derive_findings(premise, course_of(premise), KNOWLEDGE, RNG)]
        found[has_diabetes(premise)] += names.count("monofilament_absent") + names.count("retinopathy")
    assert found[False] == 0 and found[True] > 10


def test_something_watched_is_due_again_when_the_shortest_time_in_force_is_over() -> None:
    visits = np.array([-500, -300, -290, -200, -20])
    yearly = Span(Watch("potassium", 365, None), -400, 0, ())
    assert find_due(visits, [yearly], 60, KNOWLEDGE).tolist() == [False, True, False, False, False]
    assert find_due(visits, [yearly, Span(Watch("potassium", 100, None), -250, 0, ())], 60, KNOWLEDGE).tolist() == [
        *(False, True, False, True, True)
    ]
    assert not find_due(visits, [], 60, KNOWLEDGE).any()


def test_the_panel_of_the_first_visit_says_nothing_that_a_series_charts() -> None:
    plain = make_premise("M-2", patient={"devices": LAB, "disease": "obesity", "comorbidities": ()}, drug="semaglutide_2_4")
    known = replace(plain, patient=replace(plain.patient, comorbidities=("hypertension",)))
    everything = {row.id for row in panel_analytes(KNOWLEDGE)}
    assert {line.analyte for line in render_panel(plain, KNOWLEDGE, RNG)} == everything
    assert {line.analyte for line in render_panel(known, KNOWLEDGE, RNG)} == everything - {"potassium"}
