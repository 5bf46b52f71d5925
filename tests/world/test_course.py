"""The course: one set of effects on one timeline, and a change of one cause moves only what depends on it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from course_cases import DEVICES, draw_premise
from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.world.course import build_course
from clinworld.world.effects import derive_direct_effects, load_drug_table
from clinworld.world.held import find_held

KNOWLEDGE = load_knowledge()
RNG = Rng("course tests")
DIABETES: dict[str, Any] = {"disease": "type_2_diabetes", "devices": DEVICES, "dose_steps": (5.0, 10.0, 15.0), "course_end_day": 448}


def build(premise: Premise) -> Course:
    return build_course(premise, KNOWLEDGE, RNG)


def channels(course: Course) -> dict[str, Reals]:
    return {"weight": course.weight_kg, "dose": course.dose, "adherence": course.adherence, **course.levels}


def moved(one: Course, other: Course) -> set[str]:
    first, second = channels(one), channels(other)
    assert first.keys() == second.keys()
    return {name for name in first if not np.array_equal(first[name], second[name])}


def steady(share: float, **changes: Any) -> Course:
    return build(make_premise(**{**DIABETES, **changes}, adherence_course=((0, share), (448, share))))


@pytest.mark.parametrize("number", range(40))
def test_every_array_reaches_from_day_0_to_the_end_and_stays_inside_its_limits(number: int) -> None:
    premise = draw_premise(number)
    course = build(premise)
    assert course.last_day == premise.course_end_day
    for name, values in channels(course).items():
        assert values.shape == (premise.course_end_day + 1,) and np.isfinite(values).all(), name
        row = KNOWLEDGE.analytes.get(name) or KNOWLEDGE.streams.get(name)
        if row is not None and name != "weight":
            assert row.hard_low < values.min() and values.max() < row.hard_high, name
    assert course.adherence.min() >= 0.0 and course.adherence.max() <= 1.0
    assert set(np.unique(course.dose)) <= set(premise.dose_steps)


HEART = ("shift:resting_hr", "shift:hrv_rmssd", "shift:pulse_bp_cuff")  # the pulse, and what follows it


def test_only_adherence_changed_moves_adherence_and_what_the_drug_does_directly() -> None:
    one, other = steady(0.95), steady(0.6)
    assert moved(one, other) == {"adherence", "hba1c", "fasting_glucose", "triglycerides", "alt", "cgm_mean", *HEART}
    end = -1
    for name in ("hba1c", "fasting_glucose", "cgm_mean"):
        assert other.levels[name][end] > one.levels[name][end]


def test_only_drug_response_changed_moves_what_the_drug_does_directly() -> None:
    one, other = build(make_premise(**DIABETES)), build(make_premise(**DIABETES, drug_response=0.2))
    assert moved(one, other) == {"hba1c", "fasting_glucose", "triglycerides", "alt", "cgm_mean", *HEART}
    assert other.levels["hba1c"][-1] > one.levels["hba1c"][-1] + 0.5


def test_only_distractor_level_changed_moves_no_truth() -> None:
    assert moved(build(make_premise(**DIABETES)), build(make_premise(**DIABETES, distractor_level="high"))) == set()


def test_devices_added_move_no_level_that_was_there() -> None:
    one, other = build(make_premise(devices=("smart_scale", "lab_panel"))), build(make_premise(devices=DEVICES))
    assert all(np.array_equal(values, other.levels[name]) for name, values in one.levels.items())
    assert {"home_sbp", "home_dbp", "cgm_mean"} <= other.levels.keys() - one.levels.keys()


def test_better_adherence_never_leaves_glucose_higher() -> None:
    shares = np.linspace(0.1, 1.0, 10)
    ends = np.array([steady(share).levels["hba1c"] for share in shares])
    assert (np.diff(ends, axis=0) <= 0.0).all() and (np.diff(ends[:, -1]) < 0.0).all()


def test_a_tenth_of_adherence_is_worth_a_sourced_amount_of_hba1c() -> None:
    differences = [steady(0.8, case_id=f"a{i}").levels["hba1c"][-1] - steady(0.9, case_id=f"a{i}").levels["hba1c"][-1] for i in range(20)]
    assert 0.05 <= np.mean(differences) <= 0.30
    assert all(0.0 < difference <= 0.36 for difference in differences)


def test_a_kilogram_regained_is_worth_a_sourced_amount_of_hba1c() -> None:
    for i in range(10):
        course = ((0, 0.95), (448, 0.95))
        kept = build(make_premise(**DIABETES, case_id=f"k{i}", adherence_course=course))
        regained = build(make_premise(**DIABETES, case_id=f"k{i}", adherence_course=course, outcome="regain", reversal_day=168))
        kilograms = regained.weight_kg[-40] - kept.weight_kg[-40]
        assert 0.03 <= (regained.levels["hba1c"][-1] - kept.levels["hba1c"][-1]) / kilograms <= 0.15


def test_drug_and_weight_parts_add_up_to_the_trial_total_once() -> None:
    items = ("hba1c", "fasting_glucose", "home_sbp", "creatinine")
    table = load_drug_table(KNOWLEDGE, "tirzepatide", items, True)
    base = np.array([[8.28], [9.6], [130.0], [80.0]])
    coupling = 0.75 * np.array([[KNOWLEDGE.analytes["hba1c"].per_kg], [0.05], [1.05], [0.0]], dtype=float)
    direct, share = derive_direct_effects(table, base, coupling, 94.0, 15.0)
    at = int(np.searchsorted(table.doses, 15.0))
    whole = direct[:, at] + (coupling * share)[:, 0] * table.weight_kg[at]
    assert whole[0] == pytest.approx(-2.46) and whole[1] == pytest.approx(-3.52)
    assert whole[2] == pytest.approx(-7.0 * KNOWLEDGE.parameter("levels_double_dose_share"), rel=0.2)
    assert direct[2, at] == 0.0 and share[2, 0] < 1.0  # weight alone would do more than the trial saw
    assert not direct[3].any()  # no effect row, no response


def test_a_trial_patient_ends_near_the_trial_mean() -> None:
    changes = []
    for i in range(40):
        premise = make_premise(
            disease="type_2_diabetes",
            devices=DEVICES,
            dose_steps=(5.0, 10.0, 15.0),
            case_id=f"trial-{i}",
            course_end_day=336,
            start_weight_kg=94.0,
            nadir_weight_kg=82.0,
            nadir_day=150,
            adherence_course=((0, 1.0), (336, 1.0)),
            baseline_vitals=(("hba1c", 8.28),),
        )
        course = build(premise)
        assert course.levels["hba1c"][0] == 8.28
        changes.append(course.levels["hba1c"][280] - 8.28)
    assert np.mean(changes) == pytest.approx(-2.46, abs=0.25)


@pytest.mark.parametrize(
    ("drug", "dose", "lost_kg", "item", "least", "most"),
    [
        ("metformin", 2000.0, 2.0, "hba1c", -0.15, 0.05),
        ("metformin", 2000.0, 2.0, "fasting_glucose", -0.4, 0.1),
        ("semaglutide_2_4", 2.4, 13.0, "hba1c", -0.7, -0.1),
    ],
)
def test_a_drug_against_diabetes_hardly_moves_normal_glucose(
    drug: str, dose: float, lost_kg: float, item: str, least: float, most: float
) -> None:
    for i in range(8):
        person = {"drug": drug, "start_weight_kg": 95.0, "nadir_weight_kg": 95.0 - lost_kg, "devices": DEVICES, "case_id": f"n{i}"}
        level = build(make_premise(**person, dose_steps=(dose,), baseline_vitals=(("hba1c", 5.4), ("fasting_glucose", 5.0)))).levels[item]
        assert least <= level[-1] - level[0] <= most


def test_a_steroid_raises_glucose_without_diabetes_too() -> None:
    arms = [build(make_premise(disease="gout", drug="prednisone", dose_steps=(dose,), devices=DEVICES)) for dose in (5.0, 20.0)]
    assert arms[1].levels["fasting_glucose"][-1] > arms[0].levels["fasting_glucose"][-1] + 0.2


def test_fasting_glucose_follows_a_start_and_a_stop_within_weeks_and_hba1c_over_months() -> None:
    course = build(
        make_premise(
            disease="type_2_diabetes",
            devices=DEVICES,
            drug="metformin",
            dose_steps=(1000.0,),
            start_weight_kg=80.0,
            nadir_weight_kg=80.0,
            course_end_day=400,
            adherence_course=((0, 1.0), (200, 1.0), (201, 0.0), (400, 0.0)),
        )
    )
    glucose, hba1c = course.levels["fasting_glucose"], course.levels["hba1c"]
    for begin in (0, 200):
        fast, slow = [
            np.abs(level[begin : begin + 200] - level[begin]) / abs(level[begin + 199] - level[begin]) for level in (glucose, hba1c)
        ]
        assert int(np.argmax(fast > 0.5)) < 15 < 30 < int(np.argmax(slow > 0.5)) < 120
    assert glucose[399] > glucose[199] + 0.4 and hba1c[399] > hba1c[199] + 0.3


def test_a_signal_without_an_effect_row_of_the_drug_does_not_respond_to_it() -> None:
    flat = {"start_weight_kg": 90.0, "nadir_weight_kg": 90.0, "devices": DEVICES, "disease": "hypertension", "drug": "lisinopril"}
    course = build(make_premise(**flat, dose_steps=(5.0, 10.0, 20.0)))
    other = build(make_premise(**flat, dose_steps=(5.0,)))
    assert moved(course, other) == {"dose", "home_sbp", "home_dbp", "creatinine", "potassium"}
    assert course.levels["home_sbp"][-1] < other.levels["home_sbp"][-1] - 1.0


def test_low_responder_is_not_served_by_the_drug_and_no_level_passes_its_floor() -> None:
    strong = [build(make_premise(**{**DIABETES, "case_id": f"s{i}"}, drug_response=1.8, nadir_weight_kg=78.0)) for i in range(20)]
    assert min(course.levels["hba1c"].min() for course in strong) > KNOWLEDGE.parameter("levels_floor_hba1c")
    assert min(course.levels["fasting_glucose"].min() for course in strong) > KNOWLEDGE.parameter("levels_floor_fasting_glucose")
    assert len({round(float(course.levels["fasting_glucose"].min()), 4) for course in strong}) > 16


EVIDENCE = [driver for driver in KNOWLEDGE.drivers.values() if driver.evidence]


def evidence_key(stream: str) -> str:
    return f"shift:{stream}" if KNOWLEDGE.streams[stream].role == "wearable" else f"evidence:{stream}"


@pytest.mark.parametrize("driver", EVIDENCE, ids=lambda driver: driver.id)
@pytest.mark.parametrize("reversal_day", [70, 154])
def test_evidence_moves_for_the_driver_that_acts_and_is_flat_for_all_others(driver: Any, reversal_day: int) -> None:
    course = build(make_premise(outcome="regain", driver=driver.id, reversal_day=reversal_day, nadir_day=70))
    onset = min(reversal_day, 84) - driver.lead_days
    for other in EVIDENCE:
        level = course.levels[evidence_key(other.evidence)]
        if other is not driver:
            assert np.ptp(level) == 0.0, other.id
    level = course.levels[evidence_key(driver.evidence)]
    is_log = KNOWLEDGE.streams[driver.evidence].scale == "log"
    size = np.log(driver.abnormal / driver.normal) if is_log else driver.abnormal - driver.normal
    assert np.ptp(level[: onset + 1]) == 0.0 and level[onset + 2] != level[onset]
    assert level[-1] - level[0] == pytest.approx(size)
    assert np.ptp(level[onset + 28 :]) == 0.0


def test_evidence_of_a_maintained_weight_is_flat_whatever_its_driver() -> None:
    for driver in EVIDENCE:
        course = build(make_premise(driver=driver.id))
        assert all(np.ptp(course.levels[evidence_key(other.evidence)]) == 0.0 for other in EVIDENCE)


def test_people_differ_in_their_usual_evidence_level() -> None:
    assert len({float(build(make_premise(case_id=f"e{i}")).levels["evidence:gi_symptom_score"][0]) for i in range(10)}) == 10


@pytest.mark.slow
def test_doses_rise_by_the_declared_steps_no_sooner_than_the_drug_allows() -> None:
    gaps, courses = [], [build(make_premise(case_id=f"d{i}", course_end_day=560)) for i in range(120)]
    for course in courses:
        days, doses = zip(*course.dose_changes, strict=True)
        assert days[0] == 0 and doses[:3] == (2.5, 5.0, 7.5) and set(doses) <= {2.5, 5.0, 7.5}
        gaps += np.diff(days).tolist()
        assert all(course.dose[day] == dose for day, dose in course.dose_changes)
    assert min(gaps) >= 28 and np.std(gaps) > 5
    downs = [len(course.dose_changes) > 3 for course in courses]
    assert 0.1 < np.mean(downs) < 0.45


def test_too_low_a_dose_is_never_raised_where_it_is_the_cause() -> None:
    course = build(make_premise(outcome="regain", driver="insufficient_dose_exposure"))
    assert course.dose_changes == ((0, 2.5),)


def test_adherence_dips_befall_people_whose_adherence_is_not_the_cause_and_spare_the_index_day() -> None:
    dips = 0
    for i in range(80):
        premise = make_premise(case_id=f"dip-{i}")
        course = build(premise)
        plain = np.interp(np.arange(366), *zip(*premise.adherence_course, strict=True))
        assert np.array_equal(course.adherence[70:85], plain[70:85])
        assert (course.adherence <= plain + 1e-12).all()
        dips += bool((course.adherence[:70] < plain[:70] - 0.02).any())
    assert 8 < dips < 60


@pytest.mark.slow
def test_first_levels_stay_undiagnosed_without_the_diagnosis_and_go_together_within_a_group() -> None:
    courses = [build(make_premise(case_id=f"f{i}", devices=DEVICES)) for i in range(150)]
    for name, row in {**KNOWLEDGE.analytes, **KNOWLEDGE.streams}.items():
        if name in courses[0].levels and row.diagnostic_high is not None:
            assert max(course.levels[name][0] for course in courses) < row.diagnostic_high, name
    known = [build(make_premise(case_id=f"f{i}", **DIABETES)) for i in range(150)]
    first = np.array([[course.levels[name][0] for name in ("hba1c", "fasting_glucose", "alt", "ast", "ldl_c")] for course in known])
    r = np.corrcoef(first.T)
    assert 0.4 < r[0, 1] < 0.917 and 0.4 < r[2, 3] < 0.9 and abs(r[0, 4]) < 0.25


def test_a_known_condition_moves_levels_of_someone_with_another_disease() -> None:
    alone = [build(make_premise(case_id=f"m{i}", devices=DEVICES)) for i in range(30)]
    both = [build(make_premise(case_id=f"m{i}", devices=DEVICES, comorbidities=("hypertension", "osa"))) for i in range(30)]
    held = [bool(find_held(make_premise(case_id=f"m{i}", comorbidities=("hypertension",)), KNOWLEDGE, RNG)) for i in range(30)]
    more = np.array([b.levels["home_sbp"][0] - a.levels["home_sbp"][0] for a, b in zip(alone, both, strict=True)])
    assert more[held] == pytest.approx(0.0) and more[np.logical_not(held)].mean() > 15 and 5 < sum(held) < 25
    assert all("spo2_night" in course.levels for course in both) and "spo2_night" not in alone[0].levels
    assert all(np.array_equal(a.weight_kg, b.weight_kg) for a, b in zip(alone, both, strict=True))


def test_stated_vital_is_the_first_level() -> None:
    course = build(make_premise(devices=DEVICES, baseline_vitals=(("home_sbp", 127.0), ("resting_hr", 58.0))))
    assert course.levels["home_sbp"][0] == 127.0 and course.levels["shift:resting_hr"][0] == 0.0


def test_levels_up_to_the_index_day_are_the_same_in_both_outcomes_when_the_driver_leaves_no_trace() -> None:
    common: dict[str, Any] = {"driver": "unknown_or_multifactorial", "adherence_course": ((0, 0.96), (365, 0.93)), "devices": DEVICES}
    kept, regained = build(make_premise(**common)), build(make_premise(**common, outcome="regain", reversal_day=98))
    for name, values in channels(kept).items():
        assert np.array_equal(values[:85], channels(regained)[name][:85]), name


def test_same_arrays_alone_repeated_and_in_any_order() -> None:
    premises = [draw_premise(i) for i in range(6)]
    forward = [channels(build(premise)) for premise in premises]
    backward = [channels(build_course(premise, load_knowledge(), Rng("course tests"))) for premise in reversed(premises)][::-1]
    for one, other in zip(forward, backward, strict=True):
        assert list(one) == list(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_fields_that_only_what_is_charted_depends_on_move_no_truth() -> None:
    premise = make_premise(**DIABETES)
    other = replace(premise, missingness="MNAR", sampling_days=3, has_findings=True, distractor_axes=("season",), seed="9")
    assert moved(build(premise), build(other)) == set()
