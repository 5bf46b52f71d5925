"""What differs between people by sex, age and build, and how fast a statin acts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from make_premise import make_premise
from observe_case import KNOWLEDGE, find, make_course, observe, with_rows
from observe_case import make_premise as make_observed

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.knowledge.check_numbers import check_diagnostic_limits
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Level
from clinworld.schema.premise import Premise
from clinworld.schema.record import FindingResult
from clinworld.world.condition_findings import Examined, find_result
from clinworld.world.course import build_course
from clinworld.world.formulas import calculate_egfr, derive_body_fat_line, find_body_mass_index
from clinworld.world.levels import fit_level_to_sex, let_age

pytestmark = pytest.mark.rows

RNG = Rng("people")
PEOPLE = 80
PLAIN = {"start_weight_kg": 90.0, "nadir_weight_kg": 90.0}


def first_levels(name: str, **changes: Any) -> np.ndarray:
    premises = [make_premise(case_id=f"P-{i}", devices=("bp_cuff", "lab_panel"), **changes) for i in range(PEOPLE)]
    return np.array([build_course(premise, KNOWLEDGE, RNG).levels[name][0] for premise in premises])


def charted_mean(name: str, n: int = 40, **patient: Any) -> float:
    row = replace(KNOWLEDGE.streams[name], p_present=1.0)
    knowledge = with_rows("streams", row)
    means = []
    for i in range(n):
        premise = make_observed(f"P-{i}", patient=patient, course_end_day=140, reversal_day=None, outcome="maintain")
        course = make_course(premise)
        still = replace(course, weight_kg=np.full(len(course.weight_kg), premise.start_weight_kg), levels={})
        means.append(find(observe(premise, course=still, knowledge=knowledge), name).values().mean())
    return float(np.mean(means))


@pytest.mark.parametrize(
    ("analyte", "women", "men", "tolerance"),
    [("creatinine", 60.0, 78.0, 3.0), ("hdl_c", 1.36, 1.13, 0.06), ("alt", 28.0, 36.0, 3.0), ("ggt", 26.0, 35.0, 4.0)],
)
@pytest.mark.slow
def test_women_and_men_start_inside_the_interval_of_their_own_sex(analyte: str, women: float, men: float, tolerance: float) -> None:
    found = {sex: first_levels(analyte, sex=sex) for sex in "FM"}
    assert abs(found["F"].mean() - women) < tolerance and abs(found["M"].mean() - men) < tolerance
    row = KNOWLEDGE.analytes[analyte]
    for sex, high in (("F", row.ref_high_f), ("M", row.ref_high_m)):
        assert high is None or (found[sex] > high).mean() < 0.2


def test_a_level_moves_with_the_interval_of_the_sex_and_its_own_mean_comes_first() -> None:
    level = Level("creatinine", 69.0, 9.0, 49.0, 85.0, "authored", "authored")
    row = KNOWLEDGE.analytes["creatinine"]
    women, men = fit_level_to_sex(level, row, "F"), fit_level_to_sex(level, row, "M")
    assert (women.low, women.high, men.low, men.high) == (41.0, 73.0, 57.0, 97.0)
    assert women.sd == 8.0 and men.sd == 10.0
    own = replace(level, mean_f=60.0)
    assert fit_level_to_sex(own, row, "F") == replace(own, mean=60.0) and fit_level_to_sex(own, row, "M").mean == men.mean
    same = replace(level, item="hba1c", mean=5.6, low=4.9, high=6.2)
    assert fit_level_to_sex(same, KNOWLEDGE.analytes["hba1c"], "F").mean == pytest.approx(5.6)
    assert fit_level_to_sex(level, KNOWLEDGE.streams["steps"], "F") is level


def test_a_fatty_liver_is_there_with_a_normal_transaminase_in_some() -> None:
    found = first_levels("alt", disease="masld", sex="M")
    assert 0.2 < (found < KNOWLEDGE.analytes["alt"].ref_high_m).mean() < 0.7


@pytest.mark.slow
def test_home_pressure_rises_with_build_and_age_and_diagnoses_nobody() -> None:
    lean, heavy = first_levels("home_sbp", bmi=26.0), first_levels("home_sbp", bmi=40.0)
    young, old = first_levels("home_sbp", age_low=25, age_high=29), first_levels("home_sbp", age_low=65, age_high=69)
    assert 2 < (heavy - lean).mean() < 5 and 3 < (old - young).mean() < 9
    assert max(found.max() for found in (lean, heavy, young, old)) < KNOWLEDGE.streams["home_sbp"].diagnostic_high


@pytest.mark.parametrize(("sex", "age", "bmi"), [("F", 47, 34.0), ("M", 47, 34.0), ("F", 67, 28.0), ("M", 27, 24.0)])
def test_body_fat_is_that_of_the_published_equation(sex: str, age: int, bmi: float) -> None:
    expected = 1.2 * bmi + 0.23 * age - 10.8 * (sex == "M") - 5.4
    assert abs(charted_mean("body_fat_pct", sex=sex, age_low=age, age_high=age, bmi=bmi) - expected) < 1.6


def test_body_fat_falls_with_weight_as_the_equation_has_it() -> None:
    patient = make_premise(bmi=30.0).patient
    line = derive_body_fat_line(patient, 90.0, KNOWLEDGE)
    assert line.slope * 9.0 == pytest.approx(1.2 * 3.0)
    assert line.intercept + line.slope * 90.0 == pytest.approx(1.2 * 30 + 0.23 * 47 - 5.4)


def test_a_patient_without_a_stated_build_has_the_height_of_the_sex() -> None:
    found = [find_body_mass_index(make_premise(bmi=None, sex=sex).patient, 90.0, KNOWLEDGE) for sex in "FM"]
    assert found[0] > found[1] > 25 and find_body_mass_index(make_premise(bmi=33.0).patient, 90.0, KNOWLEDGE) == 33.0


def test_an_unknown_formula_of_a_stream_is_refused() -> None:
    knowledge = with_rows("streams", replace(KNOWLEDGE.streams["body_fat_pct"], derived_by="deurenburg"))
    with pytest.raises(KnowledgeError, match="deurenberg"):
        observe(make_observed(), knowledge=knowledge)


@pytest.mark.parametrize(("sex", "expected"), [("F", 25.0), ("M", 31.0)])
def test_fitness_differs_by_sex_and_falls_with_age_and_build(sex: str, expected: float) -> None:
    usual = charted_mean("vo2max", sex=sex, age_low=45, age_high=45, bmi=33.0)
    assert abs(usual - expected) < 2.5
    assert 3 < usual - charted_mean("vo2max", sex=sex, age_low=60, age_high=60, bmi=33.0) < 6
    assert 2 < charted_mean("vo2max", sex=sex, age_low=45, age_high=45, bmi=27.0) - usual < 3.5


def test_steps_fall_by_two_percent_per_unit_of_build_and_no_day_is_a_marathon() -> None:
    lean, heavy = (charted_mean("steps", bmi=bmi) for bmi in (25.0, 35.0))
    assert heavy / lean == pytest.approx(np.exp(-0.2), abs=0.04)
    assert KNOWLEDGE.streams["steps"].hard_high <= 30000


def on_statin(**changes: Any) -> Premise:
    steady = {"adherence_course": ((0, 1.0), (365, 1.0)), "dose_steps": (10.0,), **PLAIN}
    return make_premise(disease="dyslipidemia", drug="atorvastatin", **{**steady, **changes})


@pytest.mark.parametrize(("day", "least", "most"), [(7, 0.2, 0.6), (28, 0.8, 0.93), (42, 0.92, 0.99), (90, 0.985, 1.01)])
def test_a_statin_has_most_of_its_effect_in_four_weeks_and_all_of_it_in_six(day: int, least: float, most: float) -> None:
    ldl = build_course(on_statin(), KNOWLEDGE, RNG).levels["ldl_c"]
    assert least < (ldl[day] / ldl[0] - 1) / -0.37 < most


def test_an_effect_whose_row_names_no_time_builds_up_within_the_drugs_steady_weeks() -> None:
    row = KNOWLEDGE.drugs["atorvastatin"]
    slow = replace(row, effects=tuple(replace(effect, half_time_days=None) for effect in row.effects))
    course = build_course(on_statin(), with_rows("drugs", slow), RNG)
    ldl = course.levels["ldl_c"]
    built = [(ldl[day] / ldl[0] - 1) / -0.37 for day in (8, 7 * int(row.steady_weeks))]
    assert 0.35 < built[0] < 0.55 and built[1] > 0.9


def test_sensor_glucose_and_hba1c_of_a_person_agree() -> None:
    premises = [make_premise(case_id=f"G-{i}", disease="type_2_diabetes", devices=("cgm", "lab_panel")) for i in range(PEOPLE)]
    levels = [build_course(premise, KNOWLEDGE, RNG).levels for premise in premises]
    off = np.array([3.31 + 0.02392 * 18.0 * one["cgm_mean"][0] - one["hba1c"][0] for one in levels])
    assert abs(off.mean()) < 0.15 and off.std() < 0.5


def filtration(**changes: Any) -> np.ndarray:
    """Rates on day 0 of people of one sex and age."""
    sex, age = changes["sex"], (changes["age_low"] + changes["age_high"]) / 2
    return calculate_egfr({"creatinine": first_levels("creatinine", **changes)}, age, sex, KNOWLEDGE)


@pytest.mark.parametrize("sex", ["F", "M"])
def test_filtration_falls_with_age_and_makes_no_kidney_disease(sex: str) -> None:
    young, middle, old = (filtration(sex=sex, age_low=age, age_high=age + 4) for age in (40, 55, 70))
    assert np.median(young) > np.median(middle) + 10 > np.median(old) + 15
    assert 74 < np.median(old) < 82 and old.max() - old.min() > 12
    least = KNOWLEDGE.parameter("levels_undiagnosed_least_egfr")
    assert min(young.min(), middle.min(), old.min()) > least - 0.5 > 60


@pytest.mark.slow
def test_known_kidney_disease_is_of_many_stages_and_graver_with_age() -> None:
    for condition, low, high, spread in (("ckd", 15, 66, 8), ("diabetic_kidney_disease", 30, 112, 15)):
        known = {"comorbidities": (condition,), "sex": "M"}
        younger, older = (filtration(age_low=age, age_high=age + 4, **known) for age in (45, 70))
        assert np.median(younger) > np.median(older) + 3, condition
        assert low < older.min() and younger.max() < high and older.std() > spread, condition
    assert (older < 45).any() and (younger > 90).any()  # from 3b to normal


def test_a_level_that_a_kidney_disease_sets_does_not_rise_with_age() -> None:
    row = KNOWLEDGE.analytes["creatinine"]
    usual, ill = (68.0, 10.0, 50.0, 96.0), (150.0, 30.0, 110.0, 260.0)
    assert let_age(ill, row, "M", 72.0, KNOWLEDGE) == ill
    assert let_age(usual, row, "M", 72.0, KNOWLEDGE)[0] > 80.0 and let_age(usual, row, "M", 38.0, KNOWLEDGE) == usual
    assert let_age(usual, KNOWLEDGE.analytes["alt"], "M", 72.0, KNOWLEDGE) == usual


def charted(name: str, premises: list[Premise], knowledge: Knowledge = KNOWLEDGE) -> list[np.ndarray]:
    return [find(observe(one, course=build_course(one, knowledge, RNG), knowledge=knowledge), name).values() for one in premises]


def worn(n: int, **changes: Any) -> list[Premise]:
    devices = ("bp_cuff", "wearable", "lab_panel")
    usual = {"devices": devices, "course_end_day": 140, "reversal_day": None, **PLAIN}
    return [make_premise(case_id=f"W-{i}", **{**usual, **changes}) for i in range(n)]


def pulses_beside_heart_rates(knowledge: Knowledge) -> tuple[float, np.ndarray]:
    """(correlation between people, how far the mean pulse at the cuff lies above the mean resting heart rate of each)."""
    people = worn(60)
    heart, pulse = ([values.mean() for values in charted(name, people, knowledge)] for name in ("resting_hr", "pulse_bp_cuff"))
    return float(np.corrcoef(heart, pulse)[0, 1]), np.array(pulse) - heart


@pytest.mark.slow
def test_a_pulse_at_the_cuff_goes_with_the_resting_heart_rate_of_the_person_and_lies_a_little_above_it() -> None:
    r, above = pulses_beside_heart_rates(KNOWLEDGE)
    assert r > 0.5 and 5 < above.mean() < 10 and (above < -8).mean() < 0.03
    row = KNOWLEDGE.correlations["resting_hr__pulse_bp_cuff"]
    r_apart, apart = pulses_beside_heart_rates(with_rows("correlations", replace(row, r_m=0.0, r_f=0.0)))
    assert r_apart < 0.4 and apart.std() > 1.3 * above.std()


def test_a_stated_resting_heart_rate_is_that_of_the_pulse_too() -> None:
    slow, fast = (
        np.mean([v.mean() for v in charted("pulse_bp_cuff", worn(12, baseline_vitals=(("resting_hr", hr),)))]) for hr in (54.0, 80.0)
    )
    assert 15 < fast - slow < 30


@pytest.mark.parametrize("devices", [("bp_cuff",), ("bp_cuff", "wearable")])
def test_a_drug_that_slows_the_heart_slows_the_pulse_at_the_cuff_whatever_else_is_worn(devices: tuple[str, ...]) -> None:
    on = make_premise(disease="hypertension", drug="metoprolol", dose_steps=(100.0,), devices=devices, **PLAIN)
    course = build_course(on, KNOWLEDGE, RNG)
    assert course.levels["shift:pulse_bp_cuff"][120] < -5
    assert ("resting_hr" in {series.name for series in observe(on, course=course).series}) == ("wearable" in devices)


def office_beside_home(knowledge: Knowledge, **changes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean pressure of people at home and over six readings in the office."""
    home, office = [], []
    for i in range(60):
        premise = make_premise(case_id=f"O-{i}", devices=("bp_cuff", "lab_panel"), **{**PLAIN, **changes})
        course = build_course(premise, knowledge, RNG)
        patient = Examined(premise, course, knowledge, RNG)
        found = [find_result("office_sbp", day, patient) for day in range(0, 84, 14)]
        office.append(np.mean([each.ticks for each in found if isinstance(each, FindingResult) and each.ticks is not None]))
        home.append(course.levels["home_sbp"][:84].mean())
    return np.array(home), np.array(office)


@pytest.mark.slow
def test_pressure_in_the_office_is_that_at_home_and_a_part_of_the_person() -> None:
    known, unknown = office_beside_home(KNOWLEDGE, disease="hypertension"), office_beside_home(KNOWLEDGE)
    both = np.concatenate([known, unknown], axis=1)
    assert 0.55 < np.corrcoef(both)[0, 1] < 0.85 and known[1].mean() > unknown[1].mean() + 12
    assert unknown[1].max() < 140 and min(known[1].min(), unknown[1].min()) > 95
    names = ("finding.office_person_sd", "finding.office_person_sd_known")
    alike = with_rows("parameters", *(replace(KNOWLEDGE.parameters[name], value=0.01) for name in names))
    same = np.concatenate([office_beside_home(alike, disease="hypertension"), office_beside_home(alike)], axis=1)
    assert np.corrcoef(same)[0, 1] > 0.93


def shares_with_a_day_over(limit: int, knowledge: Knowledge, **changes: Any) -> float:
    days = charted("steps", worn(60, course_end_day=364, **changes), knowledge)
    return float(np.mean([values.max() > limit for values in days]))


@pytest.mark.slow
def test_few_older_people_have_a_day_of_twenty_thousand_steps() -> None:
    old, few = {"age_low": 67, "age_high": 71}, 0.3
    found = shares_with_a_day_over(20000, KNOWLEDGE, **old)
    wild = with_rows("streams", replace(KNOWLEDGE.streams["steps"], sd_within=0.5675, per_year_over_40=-0.0095))
    of_wild = shares_with_a_day_over(20000, wild, **old)
    assert found < few < of_wild and of_wild > 2 * found


def test_people_with_a_disease_of_lungs_or_heart_walk_less_and_several_count_once() -> None:
    well, lungs, both = (charted("steps", worn(20, comorbidities=known)) for known in ((), ("copd",), ("cad", "copd")))
    assert np.mean([v.mean() for v in lungs]) / np.mean([v.mean() for v in well]) == pytest.approx(np.exp(-0.4), abs=0.05)
    assert all(np.array_equal(one, other) for one, other in zip(lungs, both, strict=True))


def test_active_energy_follows_steps_and_the_weight_that_they_move() -> None:
    light, heavy = (worn(8, start_weight_kg=kg, nadir_weight_kg=kg, bmi=30.0) for kg in (60.0, 120.0))
    per_step = []
    for people in (light, heavy):
        seen = [observe(one, course=build_course(one, KNOWLEDGE, RNG)) for one in people]
        steps, burn = (np.concatenate([find(each, name).values() for each in seen]) for name in ("steps", "active_burn"))
        assert (burn[steps > 2000] / steps[steps > 2000]).max() < 0.15 and burn[steps < 500].max(initial=0.0) < 100
        per_step.append(burn.sum() / steps.sum())
    assert per_step[0] == pytest.approx(0.033, rel=0.1) and per_step[1] == pytest.approx(0.066, rel=0.1)


def test_heart_rate_variability_falls_with_age_by_a_slope_without_a_step() -> None:
    means = np.array([charted_mean("hrv_rmssd", n=8, age_low=age, age_high=age + 4) for age in range(40, 75, 5)])
    assert np.allclose(means[1:] / means[:-1], np.exp(-0.08), atol=0.03)


def test_nobody_sleeps_for_minutes() -> None:
    short = {"baseline_vitals": (("sleep_hours", 4.5),)}
    assert min(values.min() for values in charted("sleep_hours", worn(12, **short))) >= 2.0


@pytest.mark.slow
def test_diastolic_pressure_peaks_before_sixty_and_falls() -> None:
    ages = {age: first_levels("home_dbp", age_low=age, age_high=age + 4).mean() for age in (35, 55, 70)}
    assert ages[55] > ages[35] + 0.5 and ages[70] < ages[55] - 2
    systolic = first_levels("home_sbp", disease="hypertension", age_low=70, age_high=74)
    diastolic = first_levels("home_dbp", disease="hypertension", age_low=70, age_high=74)
    assert systolic.min() >= 140 and 0.2 < (diastolic < 90).mean() < 0.8


def test_a_condition_starts_beyond_one_of_its_diagnostic_limits_at_least() -> None:
    row = KNOWLEDGE.conditions["hypertension"]
    low = replace(row, levels=tuple(replace(each, low=min(each.low, 120.0)) if each.item == "home_sbp" else each for each in row.levels))
    assert not [each for each in check_diagnostic_limits(KNOWLEDGE) if "hypertension" in each.place]
    assert [each for each in check_diagnostic_limits(with_rows("conditions", low)) if "home_sbp" in each.place]


@pytest.mark.slow
def test_the_lower_pressure_of_a_reading_stays_below_the_upper_one() -> None:
    people = worn(40, baseline_vitals=(("home_sbp", 92.0), ("home_dbp", 74.0)))
    least = KNOWLEDGE.parameter("least_apart.home_sbp.home_dbp")

    def nearest(knowledge: Knowledge) -> float:
        pairs = zip(charted("home_sbp", people, knowledge), charted("home_dbp", people, knowledge), strict=True)
        return float(min((upper - lower).min() for upper, lower in pairs))

    assert nearest(KNOWLEDGE) >= least
    row = KNOWLEDGE.parameters["least_apart.home_sbp.home_dbp"]
    assert nearest(with_rows("parameters", replace(row, value=-100.0))) < least
