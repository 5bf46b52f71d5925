"""Laboratory results and the visits that give them."""

from dataclasses import replace

import numpy as np
import pytest
from observe_case import ANALYTES, KNOWLEDGE, find, make_course, make_premise, observe, readings, with_rows

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.core.units import to_ticks
from clinworld.world.history import Diagnosis, draw_past_visits
from clinworld.world.lab_assays import list_calculated
from clinworld.world.observe_labs import observe_labs
from clinworld.world.visits import draw_clinic_days, draw_first_weekday, draw_visits


def visits(premise):
    return draw_visits(premise, make_course(premise), KNOWLEDGE, Rng("7"))


def results(premise, **levels: float):
    """Series by name of a patient whose true levels stand still."""
    course = replace(make_course(premise), levels={key: np.full(366, value) for key, value in {**ANALYTES, **levels}.items()})
    return {series.name: series for series in observe_labs(premise, course, visits(premise), KNOWLEDGE, Rng("7"))}


@pytest.fixture(scope="module")
def still():
    return [results(make_premise(f"N-{case}", patient={"comorbidities": ("type_2_diabetes",)})) for case in range(60)]


def test_the_first_visit_is_day_0_the_last_the_course_end_and_a_week_has_at_most_one():
    ends = []
    for case in range(60):
        days = visits(make_premise(f"V-{case}"))
        assert days[0] == 0 and (np.diff(days) > 0).all() and len(set((days // 7).tolist())) == len(days)
        ends += [days[-1] == 365] * ((draw_first_weekday(f"V-{case}", Rng("7")) + 365) % 7 < 5)
    assert np.mean(ends) > 0.9 and len(ends) > 40  # a routine visit in the last week takes the place of the closing one


def test_nobody_is_seen_at_a_weekend_and_day_0_is_any_other_day():
    first_days, weekdays = set(), np.zeros(7, dtype=np.int64)
    for case in range(60):
        premise = make_premise(f"W-{case}")
        first = draw_first_weekday(premise.case_id, Rng("7"))
        days = [*visits(premise), *draw_clinic_days(premise, 365, KNOWLEDGE, Rng("7")), *draw_past_visits(premise, {}, KNOWLEDGE, Rng("7"))]
        weekdays += np.bincount((first + np.array(days)) % 7, minlength=7)
        first_days.add(first)
    assert first_days == {0, 1, 2, 3, 4} and weekdays[5:].sum() == 0 and weekdays[:5].min() > 0.7 * weekdays[:5].mean()


@pytest.mark.parametrize("index_day", [14, 15, 20, 28, 56, 112])
def test_a_visit_lies_between_day_0_and_the_index_day_however_early_that_is(index_day: int):
    for case in range(40):
        premise = make_premise(f"I-{case}", index_day=index_day)
        days = draw_visits(premise, replace(make_course(premise), dose_changes=((0, 2.5),)), KNOWLEDGE, Rng("7"))
        assert any(0 < day <= index_day for day in days.tolist())


def test_past_visits_moved_off_a_weekend_stay_apart_and_before_day_0():
    often = {f"c{n}": Diagnosis(-9000, "") for n in range(9)}  # the more is known the more often a patient is seen
    for case in range(400):
        days = draw_past_visits(make_premise(f"O-{case}"), often, KNOWLEDGE, Rng("7"))
        assert (np.diff(days) > 0).all() and days[-1] < 0


def test_visits_follow_most_dose_changes_within_two_weeks():
    seen = sum(bool(np.any((days > 30) & (days <= 44))) for case in range(80) for days in [visits(make_premise(f"U-{case}"))])
    assert seen >= 60


def test_most_visits_that_nothing_calls_for_are_on_the_day_of_a_clinic_weighing():
    shares = []
    for i in range(40):
        premise = make_premise(f"N-{i}", symptoms=())
        course = replace(make_course(premise), dose_changes=((0, 2.5),))
        visits = draw_visits(premise, course, KNOWLEDGE, Rng("7"))[1:-1]
        shares += np.isin(visits, draw_clinic_days(premise, 365, KNOWLEDGE, Rng("7"))).tolist()
    assert np.mean(shares) > 0.6


def test_routine_visits_are_months_apart_and_not_on_a_grid():
    gaps = np.concatenate(
        [
            np.diff(draw_visits(premise, replace(make_course(premise), dose_changes=((0, 2.5),)), KNOWLEDGE, Rng("7")))
            for case in range(60)
            for premise in [make_premise(f"G-{case}", course_end_day=1000)]
        ]
    )
    assert 60 < np.median(gaps) < 160 and len(set(gaps.tolist())) > 60


@pytest.mark.parametrize("index_day", [14, 56, 112, 336])
def test_every_result_exists_twice_by_the_index_day(index_day: int):
    for case in range(30):
        observed = observe(make_premise(f"T-{case}", index_day=index_day))
        for name in ANALYTES:
            days = find(observed, name).days
            assert days[0] == 0 and np.count_nonzero(days <= index_day) >= 2


def test_results_of_one_group_come_from_one_specimen():
    observed = observe(make_premise(patient={"comorbidities": ("type_2_diabetes",)}))
    by_group: dict[str, set[tuple[int, ...]]] = {}
    for name in ANALYTES:
        by_group.setdefault(KNOWLEDGE.analytes[name].group, set()).add(tuple(find(observed, name).days.tolist()))
    assert all(len(days) == 1 for days in by_group.values())


def test_what_is_measured_seldom_comes_from_a_specimen_of_its_group():
    drawn = [observe(make_premise(f"C-{case}")) for case in range(12)]
    days = [[set(find(observed, name).days.tolist()) for name in ("hba1c", "fasting_glucose")] for observed in drawn]
    assert all(seldom <= group for seldom, group in days) and sum(seldom < group for seldom, group in days) >= 6


def test_how_often_a_panel_is_drawn_differs_between_groups_and_people(still):
    counts = np.array([[len(found[name].days) for name in ("hba1c", "alt")] for found in still])
    assert (counts[:, 0] != counts[:, 1]).any()
    shares = []
    for case in range(40):
        premise = make_premise(f"P-{case}", course_end_day=4000, index_day=14)
        course = replace(make_course(premise), levels={"alt": np.full(4001, 30.0)})
        days = draw_visits(premise, course, KNOWLEDGE, Rng("7"))
        shares.append(len(observe_labs(premise, course, days, KNOWLEDGE, Rng("7"))[0].days) / len(days))
    by_chance = 0.6 * 0.4 / 25
    assert np.var(shares) > 2.5 * by_chance


@pytest.mark.parametrize("name", list(ANALYTES))
def test_results_vary_by_the_rows_within_person_and_analytical_variation(still, name: str):
    row = KNOWLEDGE.analytes[name]
    expected = np.hypot(row.cv_within_pct, row.cv_analytic_pct) / 100
    errors = []
    for found in still:
        errors += np.log(found[name].values() / ANALYTES[name]).tolist()
    printed = 10.0**-row.decimals / ANALYTES[name] / np.sqrt(12)
    assert abs(np.std(errors) / np.hypot(expected, printed) - 1) < 0.12
    assert abs(np.mean(errors)) < 5 * expected / np.sqrt(len(errors))


def test_calculated_results_agree_with_the_printed_ones_they_come_from():
    for case in range(20):
        observed = observe(make_premise(f"A-{case}"))
        alt, ast, platelets, fib4 = (readings(find(observed, name)) for name in ("alt", "ast", "platelets", "fib4"))
        assert fib4.keys() == alt.keys()
        for day, tick in fib4.items():
            assert tick == int(to_ticks(47 * ast[day] / (platelets[day] * np.sqrt(alt[day])), 2))
        total, ldl, hdl, tg = (readings(find(observed, name)) for name in ("total_cholesterol", "ldl_c", "hdl_c", "triglycerides"))
        for day, tick in ldl.items():
            assert abs(tick / 100 - (total[day] - hdl[day] - tg[day] / 2.2) / 100) <= 0.0051
        non_hdl = readings(find(observed, "non_hdl_c"))
        assert all(non_hdl[day] == total[day] - hdl[day] for day in total)


def test_a_formula_outside_its_domain_gives_no_result():
    premise = make_premise()
    course = make_course(premise)
    observed = observe(premise, course=replace(course, levels={**course.levels, "triglycerides": np.full(366, 9.5)}))
    triglycerides, total = find(observed, "triglycerides"), find(observed, "total_cholesterol")
    ldl = next((series for series in observed.series if series.name == "ldl_c"), None)
    limit = KNOWLEDGE.parameter("sampson_most_triglycerides") / KNOWLEDGE.parameter("triglycerides_mg_dl_per_mmol")
    beyond = triglycerides.days[triglycerides.values() > limit].tolist()
    assert beyond and total.days.tolist() == triglycerides.days.tolist()
    assert ldl is None or not set(beyond) & set(ldl.days.tolist())


def test_an_analyte_without_a_true_level_is_absent_and_so_is_what_needs_it():
    premise = make_premise()
    course = make_course(premise)
    levels = {name: level for name, level in course.levels.items() if name != "platelets"}
    names = {series.name for series in observe(premise, course=replace(course, levels=levels)).series}
    assert "alt" in names and not {"platelets", "fib4"} & names


@pytest.mark.parametrize("comorbidities, may_cross", [((), False), (("type_2_diabetes",), True)])
def test_a_first_result_does_not_diagnose_what_the_patient_is_not_known_to_have(comorbidities, may_cross: bool):
    crossed = 0
    for case in range(60):
        premise = make_premise(f"D-{case}", patient={"comorbidities": comorbidities})
        crossed += results(premise, fasting_glucose=6.9)["fasting_glucose"].values()[0] >= 7.0
    assert (crossed > 0) == may_cross


def test_formulas_calculated_from_each_other_or_unknown_are_refused():
    for changes, message in (({"derived_by": "nobody_knows"}, "no formula"), ({"id": "ast", "derived_by": "fib4"}, "each other")):
        knowledge = with_rows("analytes", replace(KNOWLEDGE.analytes["fib4"], **changes))
        with pytest.raises(KnowledgeError, match=message):
            list_calculated(knowledge)
