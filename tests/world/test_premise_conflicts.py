"""Good values that contradict each other: each kind has a case refused for it alone, and a case just inside the limit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from job_texts import KNOWLEDGE, conflicts_of, premise_of, read_case
from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import PlannedArtifact, Premise
from clinworld.world.conflicts import note_premise
from clinworld.world.job_file import find_job, read_job
from clinworld.world.premise import check_premise, derive_premise
from clinworld.world.signals import Signal, check_signals, derive_signals

REGAIN = "outcome: regain, driver: unknown_or_multifactorial"
FULL = "{devices: [smart_scale, clinic_scale, wearable]}"

# kind → (raw, latent) refused for it alone, words of the message, (raw, latent) just inside
JOBS: dict[str, tuple[tuple[str, str], list[str], tuple[str, str]]] = {
    "range_out_of_domain": (
        ("{start_weight: 45, nadir_weight: 39}", "{outcome: maintain}"),
        ["39 kg", "40 to 250"],
        ("{start_weight: 52}", "{outcome: maintain}"),
    ),
    "range_out_of_domain vitals": (
        ("{baseline_vitals: {resting_hr: 900}}", "{outcome: maintain}"),
        ["resting_hr", "900"],
        ("{baseline_vitals: {resting_hr: 70}}", "{outcome: maintain}"),
    ),
    "bad_sampling_days": (
        ("{sampling_days: 50}", "{outcome: maintain}"),
        ["every 50 days", "2 up to day 84", "at least 3"],
        ("{sampling_days: 42}", "{outcome: maintain}"),
    ),
    "dose_off_ladder": (
        ("{dose_steps: [2.5, 6]}", "{outcome: maintain}"),
        ["6", "2.5, 5, 7.5"],
        ("{dose_steps: [2.5, 5]}", "{outcome: maintain}"),
    ),
    "titration_not_rising": (
        ("{dose_steps: [5, 2.5]}", "{outcome: maintain}"),
        ["2.5 after 5"],
        ("{dose_steps: [2.5, 5]}", "{outcome: maintain}"),
    ),
    "titration_too_fast": (
        ("{dose_steps: [2.5, 5, 7.5, 10], nadir_weight: 96}", "{outcome: maintain, index_time_T: 28, course_end_day: 83}"),
        ["3 steps", "28 days apart", "84 days", "83"],
        ("{dose_steps: [2.5, 5, 7.5, 10], nadir_weight: 96}", "{outcome: maintain, index_time_T: 28, course_end_day: 84}"),
    ),
    "drug_not_indicated": (
        ("{disease: hypertension, dose_steps: [2.5]}", "{outcome: maintain}"),
        ["tirzepatide for hypertension", "indicated for"],
        ("{disease: T2D, dose_steps: [2.5]}", "{outcome: maintain}"),
    ),
    "drug_dose_above_indication": (
        ("{disease: T2D, drug: liraglutide, dose_steps: [1.2, 3.0]}", "{outcome: maintain}"),
        ["3 mg of liraglutide", "at most 1.8"],
        ("{disease: T2D, drug: liraglutide, dose_steps: [1.2, 1.8]}", "{outcome: maintain}"),
    ),
    "drug_response_out_of_band": (
        ("{}", f"{{{REGAIN}, drug_response: 0.36}}"),
        ["0.36", "unknown_or_multifactorial", "0 to 0.35", "0.5 to 1.8"],
        ("{}", f"{{{REGAIN}, drug_response: 0.5}}"),
    ),
    "drug_response_out_of_band low": (
        ("{}", "{outcome: regain, driver: biological_low_response, drug_response: 0.4}"),
        ["0.4", "biological_low_response", "0 to 0.35", "0.5 to 1.8"],
        ("{}", "{outcome: regain, driver: biological_low_response, drug_response: 0.35}"),
    ),
    "reversal_outside_course": (
        ("{}", f"{{{REGAIN}, reversal_week: 40, course_end_day: 280}}"),
        ["week 40, day 280", "ends on day 280"],
        ("{}", f"{{{REGAIN}, reversal_week: 32, course_end_day: 280}}"),
    ),
    "reversal_outside_course default": (
        ("{nadir_weight: 95}", f"{{{REGAIN}, index_time_T: 28, course_end_day: 63}}"),
        ["week 12, day 84", "day 63"],
        ("{nadir_weight: 95}", f"{{{REGAIN}, index_time_T: 28, course_end_day: 140}}"),
    ),
    "regain_not_sustainable": (
        ("{}", f"{{{REGAIN}, reversal_week: 20, course_end_day: 195}}"),
        ["55 days", "day 140", "day 195", "56"],
        ("{}", f"{{{REGAIN}, reversal_week: 20, course_end_day: 196}}"),
    ),
    "weekly_delta_exceeds_physio": (
        ("{start_weight: 120, nadir_weight: 101.9}", f"{{{REGAIN}, reversal_week: 20}}"),
        ["18.1 kg lost by day 140", "0.9 kg a week", "18 kg"],
        ("{start_weight: 120, nadir_weight: 102}", f"{{{REGAIN}, reversal_week: 20}}"),
    ),
    "weekly_delta_exceeds_physio course": (
        ("{start_weight: 120, nadir_weight: 90}", "{outcome: maintain, course_end_day: 210}"),
        ["30 kg lost by day 210", "27 kg"],
        ("{start_weight: 120, nadir_weight: 93}", "{outcome: maintain, course_end_day: 210}"),
    ),
    "weekly_delta_exceeds_physio slope": (
        ("{}", f"{{{REGAIN}, reversal_week: 20, regain_slope: 0.95}}"),
        ["0.95 kg a week", "at most 0.9"],
        ("{}", f"{{{REGAIN}, reversal_week: 20, regain_slope: 0.9}}"),
    ),
    "nadir_above_start": (
        ("{start_weight: 80, nadir_weight: 81}", "{outcome: maintain}"),
        ["81", "80"],
        ("{start_weight: 80, nadir_weight: 80}", "{outcome: maintain}"),
    ),
    "nadir_after_turn": (
        ("{}", f"{{{REGAIN}, reversal_week: 20, nadir_day: 141}}"),
        ["day 141", "weight turns on day 140"],
        ("{}", f"{{{REGAIN}, reversal_week: 20, nadir_day: 140}}"),
    ),
    "effect_before_drug_start": (
        ("{nadir_weight: 97.5}", "{outcome: maintain, nadir_day: 5}"),
        ["day 5", "Tirzepatide acts from day 7"],
        ("{nadir_weight: 97.5}", "{outcome: maintain, nadir_day: 7}"),
    ),
    "outcome_not_reachable": (
        ("{start_weight: 98, nadir_weight: 78}", f"{{{REGAIN}, reversal_week: 26, regain_end_kg: 78.9}}"),
        ["0.9 kg", "1 kg", "78 kg"],
        ("{start_weight: 98, nadir_weight: 78}", f"{{{REGAIN}, reversal_week: 26, regain_end_kg: 79}}"),
    ),
    "insufficient_after_symptom": (
        ("{symptoms: [{day: 84, text: tired}]}", "{outcome: maintain, ddx_insufficient: true}"),
        ["day 84", "index day is 84"],
        ("{symptoms: [{day: 85, text: tired}]}", "{outcome: maintain, ddx_insufficient: true}"),
    ),
    "red_flag_not_declared": (
        ("{symptoms: [{day: 84, text: Chest pain on the stairs}]}", "{outcome: maintain}"),
        ["symptoms[0]", "chest pain", "ddx_red_flag: true"],
        ("{symptoms: [{day: 84, text: Chest pain on the stairs}]}", "{outcome: maintain, ddx_red_flag: true}"),
    ),
    "red_flag_not_visible": (
        ("{symptoms: [{day: 85, text: Chest pain on the stairs}, {day: 50, text: tired}]}", "{outcome: maintain, ddx_red_flag: true}"),
        ["ddx_red_flag", "1 symptoms up to day 84"],
        ("{symptoms: [{day: 85, text: Chest pain on the stairs}, {day: 50, text: 胸痛}]}", "{outcome: maintain, ddx_red_flag: true}"),
    ),
    "artifact_outside_course": (
        ("{}", "{outcome: maintain, noise: [{class: unit_error, week: 51, span_days: 10}]}"),
        ["days 357 to 366", "365"],
        ("{}", "{outcome: maintain, noise: [{class: unit_error, week: 51, span_days: 9}]}"),
    ),
    "noise_not_allowed_by_premise": (
        ("{}", "{outcome: maintain, adherence_low: 0.8, noise: [{class: adherence_gap, week: 9}]}"),
        ["adherence_low 0.8", "less than 0.8"],
        ("{}", "{outcome: maintain, adherence_low: 0.79, noise: [{class: adherence_gap, week: 9}]}"),
    ),
    "noise_not_allowed_by_premise step": (
        ("{sampling_days: 4}", "{outcome: maintain, noise: [{class: context_confound, week: 9, span_days: 30}]}"),
        ["every 4 days", "every 3 days"],
        ("{sampling_days: 3}", "{outcome: maintain, noise: [{class: context_confound, week: 9, span_days: 30}]}"),
    ),
    "window_trap_not_visible": (
        ("{}", "{outcome: maintain, noise: [{class: context_confound, week: 9, span_days: 2}]}"),
        ["2 readings in days 63 to 64", "at least 3"],
        ("{}", "{outcome: maintain, noise: [{class: context_confound, week: 9, span_days: 3}]}"),
    ),
    "demographic_implausible": (
        ("{comorbidities: [pcos], sex: M}", "{outcome: maintain}"),
        ["sex M with pcos"],
        ("{comorbidities: [pcos], sex: F}", "{outcome: maintain}"),
    ),
    "demographic_implausible age": (
        ("{comorbidities: [pcos], age_range: 60-64}", "{outcome: maintain}"),
        ["60-64 years with pcos", "18 to 50"],
        ("{comorbidities: [pcos], age_range: 40-44}", "{outcome: maintain}"),
    ),
    "body_implausible": (
        ("{start_weight: 98, bmi: 20, disease: T2D, dose_steps: [2.5]}", "{outcome: maintain}"),
        ["98 kg", "bmi 20", "2.21 m", "1.3 to 2.2 m"],
        ("{start_weight: 98, bmi: 21, disease: T2D, dose_steps: [2.5]}", "{outcome: maintain}"),
    ),
    "body_implausible short": (
        ("{start_weight: 98, bmi: 89}", "{outcome: maintain}"),
        ["bmi 89", "1.05 m"],
        ("{start_weight: 98, bmi: 57}", "{outcome: maintain}"),
    ),
    "bmi_below_disease": (
        ("{start_weight: 75, nadir_weight: 70, bmi: 26.9}", "{outcome: maintain}"),
        ["bmi 26.9", "obesity", "27"],
        ("{start_weight: 75, nadir_weight: 70, bmi: 27}", "{outcome: maintain}"),
    ),
    "adherence_does_not_fall": (
        ("{}", "{outcome: regain, driver: poor_medication_adherence, adherence_low: 0.99}"),
        ["adherence_low 0.99", "from 0.8"],
        ("{}", "{outcome: regain, driver: poor_medication_adherence, adherence_low: 0.79}"),
    ),
    "noise_on_first_day": (
        ("{}", "{outcome: maintain, noise: [{class: transient_spike, week: 0}]}"),
        ["transient_spike", "day 0", "week 1"],
        ("{}", "{outcome: maintain, adherence_low: 0.5, noise: [{class: transient_spike, week: 1}, {class: adherence_gap, week: 0}]}"),
    ),
    "answer_in_text lookalike": (
        ("{symptoms: [{day: 20, text: I fear I will r\u0435g\u0430in it all}]}", "{outcome: maintain}"),
        ["'regain'", "outcome"],
        ("{symptoms: [{day: 20, text: \u044f \u0443\u0441\u0442\u0430\u043b\u0430}]}", "{outcome: maintain}"),
    ),
    "answer_in_text full width": (
        ("{symptoms: [{day: 20, text: \uff32\uff45\uff47\uff41\uff49\uff4e is near}]}", "{outcome: maintain}"),
        ["'regain'", "outcome"],
        ("{symptoms: [{day: 20, text: \uff34\uff49\uff52\uff45\uff44 again}]}", "{outcome: maintain}"),
    ),
    "comorbidity_is_disease": (
        ("{comorbidities: [Obesity]}", "{outcome: maintain}"),
        ["obesity"],
        ("{comorbidities: [hypertension]}", "{outcome: maintain}"),
    ),
    "symptom_after_course": (
        ("{symptoms: [{day: 366, text: tired}]}", "{outcome: maintain}"),
        ["day 366", "day 365"],
        ("{symptoms: [{day: 365, text: tired}]}", "{outcome: maintain}"),
    ),
    "symptom_of_other_sex": (
        ("{sex: M, symptoms: [{day: 20, text: my period pain is worse}]}", "{outcome: maintain}"),
        ["'period pain'", "sex is M"],
        ("{sex: F, symptoms: [{day: 20, text: my period pain is worse}]}", "{outcome: maintain}"),
    ),
    "symptom_of_other_sex zh": (
        ("{sex: F, symptoms: [{day: 20, text: 前列腺不舒服}]}", "{outcome: maintain}"),
        ["前列腺", "sex is F"],
        ("{sex: M, symptoms: [{day: 20, text: 前列腺不舒服}]}", "{outcome: maintain}"),
    ),
    "answer_in_text": (
        ("{symptoms: [{day: 20, text: I fear I will regain it all}]}", "{outcome: maintain}"),
        ["'regain'", "outcome"],
        ("{symptoms: [{day: 20, text: I regained consciousness on the floor}]}", "{outcome: maintain}"),
    ),
    "answer_in_text zh": (
        ("{symptoms: [{day: 20, text: 体重又反弹了}]}", "{outcome: maintain}"),
        ["反弹", "outcome"],
        ("{symptoms: [{day: 20, text: 按压后有反弹痛}]}", "{outcome: maintain}"),
    ),
    "answer_in_text driver": (
        ("{symptoms: [{day: 20, text: they wrote biological_low_response on the form}]}", "{outcome: maintain}"),
        ["biological_low_response", "driver"],
        ("{symptoms: [{day: 20, text: my response was slow}]}", "{outcome: maintain}"),
    ),
    "driver_not_visible": (
        ("{symptoms: [{day: 85, text: fever}]}", "{outcome: regain, driver: acute_illness, reversal_week: 20}"),
        ["acute_illness", "day 84"],
        ("{symptoms: [{day: 84, text: fever}]}", "{outcome: regain, driver: acute_illness, reversal_week: 20}"),
    ),
    "driver_not_visible device": (
        ("{devices: [smart_scale]}", "{outcome: regain, driver: activity_decline, reversal_week: 20}"),
        ["activity_decline", "steps", "wearable"],
        ("{devices: [smart_scale, wearable]}", "{outcome: regain, driver: activity_decline, reversal_week: 20}"),
    ),
    "event_density_mismatch": (
        (FULL, "{outcome: maintain, distractor_level: high, event_density: {symptom_rate: 0.45}}"),
        ["needs 6", "symptom_rate 0.45", "allows 5"],
        (FULL, "{outcome: maintain, distractor_level: high, event_density: {symptom_rate: 0.5}}"),
    ),
    "event_density_mismatch low": (
        (FULL, "{outcome: maintain, distractor_level: low, event_density: {symptom_rate: 0.02}}"),
        ["needs 1", "allows 0"],
        (FULL, "{outcome: maintain, distractor_level: low}"),
    ),
    "event_density_mismatch days": (
        ("{}", "{outcome: maintain, event_density: {symptom_rate: 7}}"),
        ["85 events", "78 days"],
        ("{}", "{outcome: maintain, event_density: {symptom_rate: 6}}"),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_contradiction_is_refused_for_exactly_its_reason(name: str, tmp_path: Path) -> None:
    (raw, latent), words, inside = JOBS[name]
    conflicts = conflicts_of(tmp_path, raw, latent)
    assert [conflict.kind for conflict in conflicts] == [name.split(" ")[0]], [str(c) for c in conflicts]
    for word in words:
        assert word in str(conflicts[0])
    assert conflicts_of(tmp_path, *inside) == ()


# Kinds a job file cannot express (the reader refuses or derives them): shown on a premise.
PREMISES: dict[str, dict[str, Any]] = {
    "adherence_out_of_range": {"adherence_course": ((0, 0.95), (84, 1.2))},
    "bad_outcome_label": {"outcome": "relapse"},
    "empty_gold_drivers": {"driver": ""},
    "noise_not_allowed_by_premise": {"artifacts": (PlannedArtifact("unit_error", 35, 44, 1.15),), "devices": ("wearable",)},
    "artifact_outside_course": {"artifacts": (PlannedArtifact("transient_spike", -7, 2, 3.6),)},
    "bad_sampling_days": {"sampling_days": 0},
    "drug_not_indicated": {"drug": "no_such_drug"},
}


@pytest.mark.parametrize("kind", PREMISES)
def test_premise_that_no_job_can_say_is_still_refused(kind: str) -> None:
    assert check_premise(make_premise(nadir_day=100), None, KNOWLEDGE) == ()
    assert [conflict.kind for conflict in check_premise(make_premise(nadir_day=100, **PREMISES[kind]), None, KNOWLEDGE)] == [kind]


WRITTEN: dict[str, Callable[[Premise], Premise]] = {
    "disease_conflicts_original": lambda p: replace(p, patient=replace(p.patient, disease="type_2_diabetes")),
    "anchor_value_conflicts_original": lambda p: replace(p, start_weight_kg=p.start_weight_kg - 1.1),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_premise_that_differs_from_what_was_written_is_refused(kind: str, tmp_path: Path) -> None:
    job, case = read_case(tmp_path, latent="{outcome: maintain}")
    premise = derive_premise(case, job, KNOWLEDGE, Rng(job.seed))
    assert check_premise(premise, case, KNOWLEDGE) == ()
    assert [conflict.kind for conflict in check_premise(WRITTEN[kind](premise), case, KNOWLEDGE)] == [kind]


SIGNALS: dict[str, Callable[[tuple[Signal, ...]], tuple[Signal, ...]]] = {
    "n_signals_mismatch": lambda signals: signals[:-1],
    "signal_not_in_disease_domain": lambda signals: (*signals[:-1], Signal("ldl_c", "mmol/L", 1, 8)),
    "unit_mismatch": lambda signals: (replace(signals[0], unit="[lb_av]"), *signals[1:]),
    "range_out_of_domain": lambda signals: (replace(signals[0], high=900.0), *signals[1:]),
}


@pytest.mark.parametrize("kind", SIGNALS)
def test_inventory_that_differs_from_knowledge_is_refused(kind: str) -> None:
    premise = make_premise()
    signals = derive_signals(premise, KNOWLEDGE)
    assert {"weight", "hba1c"} <= {signal.name for signal in signals}
    assert list(check_signals(signals, premise, KNOWLEDGE)) == []
    assert [conflict.kind for conflict in check_signals(SIGNALS[kind](signals), premise, KNOWLEDGE)] == [kind]


def test_all_contradictions_come_in_one_pass(tmp_path: Path) -> None:
    raw = "{dose_steps: [2.5, 6], start_weight: 80, nadir_weight: 81}"
    kinds = [c.kind for c in conflicts_of(tmp_path, raw, "{outcome: maintain, drug_response: 0.4, distractor_level: high}")]
    assert kinds == ["drug_response_out_of_band", "dose_off_ladder", "nadir_above_start", "event_density_mismatch"]


def test_fourth_case_of_the_example_is_refused_for_density_alone() -> None:
    job = read_job(find_job("example-ew"), KNOWLEDGE)
    found = [check_premise(derive_premise(case, job, KNOWLEDGE, Rng(job.seed)), case, KNOWLEDGE) for case in job.cases]
    assert [[conflict.kind for conflict in conflicts] for conflicts in found] == [[], [], [], ["event_density_mismatch"]]
    assert "needs 6 events" in str(found[3][0]) and "allows 1" in str(found[3][0])


@pytest.mark.parametrize("name", ["example-tr", "early_warning-20", "tracking_review-20"])
def test_packaged_cases_hold_no_contradiction(name: str) -> None:
    job = read_job(find_job(name), KNOWLEDGE)
    refused = {case.case_id: check_premise(derive_premise(case, job, KNOWLEDGE, Rng(job.seed)), case, KNOWLEDGE) for case in job.cases}
    assert {case_id: found for case_id, found in refused.items() if found} == {}


def test_rate_without_an_event_is_noted_and_refuses_nothing(tmp_path: Path) -> None:
    quiet = replace(premise_of(tmp_path), density=EventDensity(7.0, 1.0, 0.01, 0.0))
    assert [note.place for note in note_premise(quiet)] == ["latent.event_density.symptom_rate"]
    assert check_premise(quiet, None, KNOWLEDGE) == ()
    assert note_premise(replace(quiet, density=EventDensity(7.0, 1.0, 0.1, 0.1))) == ()
