"""The premise of a case: every value written, defaulted, derived from others, or drawn by the case's own address.

Nothing is clipped to fit: contradictions stay and `check_premise` names them. Called by `world/build.py` and `verify`.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from clinworld.core.days import parse_age_range
from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Case, Controls, Facts, Job, Outcome
from clinworld.schema.premise import Patient, PlannedArtifact, PlannedSymptom, Premise
from clinworld.world.artifact_sizes import draw_artifact
from clinworld.world.conflicts import check_premise
from clinworld.world.contexts import choose_contexts
from clinworld.world.job_case import FALLING_DRIVER, SLIPPING_DRIVER
from clinworld.world.job_task import shown_seed
from clinworld.world.pace import descent_limit_kg_per_day

__all__ = ["LOW_RESPONSE", "check_premise", "derive_premise"]

LOW_RESPONSE = "biological_low_response"
_DEFAULT_DRIVERS: dict[Outcome, str] = {"regain": FALLING_DRIVER, "maintain": "unknown_or_multifactorial"}
_LASTING = "device_switch"  # another scale stays another scale
_TRIES = 64


def derive_premise(case: Case, job: Job, knowledge: Knowledge, rng: Rng) -> Premise:
    """The truth of one case. Draws depend on the seed and the case id alone."""
    facts, controls = case.facts, case.controls
    outcome = controls.outcome or _draw_outcome(case.case_id, knowledge, rng)
    driver = controls.driver or _DEFAULT_DRIVERS[outcome]
    reversal_day = _derive_reversal(controls, knowledge) if outcome == "regain" else None
    falls = outcome == "regain" and driver == FALLING_DRIVER
    # Who bears a medicine badly leaves out a dose now and then.
    slips = outcome == "regain" and driver == SLIPPING_DRIVER
    low = _derive_adherence_low(case, knowledge, falls=falls, slips=slips)
    contexts = choose_contexts(facts.symptoms, knowledge)
    ages = parse_age_range(facts.age_range)
    assert ages is not None, facts.age_range
    premise = Premise(
        case_id=case.case_id,
        seed=shown_seed(job.seed),
        patient=Patient(
            disease=facts.disease,
            comorbidities=facts.comorbidities,
            sex=facts.sex,
            age_low=ages[0],
            age_high=ages[1],
            bmi=facts.bmi,
            devices=facts.devices,
            goals=facts.goals,
            baseline_vitals=facts.baseline_vitals,
        ),
        drug=facts.drug,
        dose_steps=facts.dose_steps,
        start_weight_kg=facts.start_weight,
        nadir_weight_kg=facts.nadir_weight,
        nadir_day=_derive_nadir_day(facts, controls, reversal_day, knowledge),
        index_day=controls.index_time_T,
        course_end_day=controls.course_end_day,
        outcome=outcome,
        driver=driver,
        reversal_day=reversal_day,
        regain_kg_per_week=_derive_slope(facts, controls, reversal_day),
        regain_end_kg=controls.regain_end_kg if outcome == "regain" else None,
        adherence_low=low,
        adherence_course=_derive_adherence(controls, low, knowledge.parameter, falls=falls, slips=slips),
        drug_response=_derive_response(case.case_id, controls, driver, knowledge, rng),
        missingness=controls.missingness,
        sampling_days=max(facts.sampling_days, max(1, round(7 / controls.event_density.measure_per_week))),
        density=controls.event_density,
        artifacts=(),
        distractor_level=controls.distractor_level,
        distractor_axes=controls.distractor_cond_axes,
        symptoms=tuple(
            PlannedSymptom(symptom.day, symptom.text, symptom.text, context.shown.en, context.shown.zh, True)
            for symptom, context in zip(facts.symptoms, contexts, strict=True)
        ),
        target_event=controls.target_event,
        has_findings=job.findings,
        has_physiology=job.physio,
        withheld_contexts=tuple(
            (symptom.day, symptom.context, context.withheld)
            for symptom, context in zip(facts.symptoms, contexts, strict=True)
            if context.withheld
        ),
        has_red_flag=bool(dict(controls.other).get("ddx_red_flag", False)),
        clinician_warranted=dict(controls.other).get("ddx_clinician_warranted"),
    )
    return replace(premise, artifacts=_plan_artifacts(controls, premise, knowledge, rng)) if controls.noise else premise


def _draw_outcome(case_id: str, knowledge: Knowledge, rng: Rng) -> Outcome:
    return "regain" if rng.at(case_id, "premise", "outcome").chance() < knowledge.parameter("premise_p_regain") else "maintain"


def _derive_reversal(controls: Controls, knowledge: Knowledge) -> int:
    if controls.reversal_week is not None:
        return 7 * controls.reversal_week
    after = int(knowledge.parameter("premise_reversal_after_index_days"))
    return 7 * ((controls.index_time_T + after) // 7)


def _derive_nadir_day(facts: Facts, controls: Controls, reversal_day: int | None, knowledge: Knowledge) -> int:
    """Last day of the descent: the index day, later when the loss needs longer, never after the reversal."""
    if controls.nadir_day is not None:
        return controls.nadir_day
    needed = math.ceil(abs(facts.start_weight - facts.nadir_weight) / descent_limit_kg_per_day(knowledge) - 1e-9)
    day = max(controls.index_time_T, needed)
    return day if reversal_day is None else min(day, reversal_day)


def _derive_slope(facts: Facts, controls: Controls, reversal_day: int | None) -> float:
    """kg a week from the reversal on: the written slope, or what the written end weight needs; 0 without a reversal."""
    if reversal_day is None:
        return 0.0
    days = controls.course_end_day - reversal_day
    if controls.regain_end_kg is None or days <= 0:
        return controls.regain_slope
    return (controls.regain_end_kg - facts.nadir_weight) * 7 / days


def _derive_adherence_low(case: Case, knowledge: Knowledge, *, falls: bool, slips: bool) -> float:
    """The written share; where adherence falls or slips and nothing is written, a share below that of the index day."""
    low = case.controls.adherence_low
    if slips and "latent.adherence_low" not in case.written:
        return min(low, knowledge.parameter("premise_adherence_slipping_last"))
    if falls and "latent.adherence_low" not in case.written and low >= knowledge.parameter("premise_adherence_falling_index"):
        return knowledge.parameter("premise_adherence_falling_low")
    return low


def _derive_adherence(
    controls: Controls, low: float, number: Callable[[str], float], *, falls: bool, slips: bool
) -> tuple[tuple[int, float], ...]:
    index_day, end = controls.index_time_T, controls.course_end_day
    middle = index_day + (end - index_day) // 2
    # An index day before the usual days moves them forward, so that days always rise.
    first = int(min(number("premise_adherence_first_day"), number("premise_adherence_first_share") * index_day))
    second = int(min(number("premise_adherence_second_day"), number("premise_adherence_second_share") * index_day))
    if falls:
        high, at_index = number("premise_adherence_falling_first"), number("premise_adherence_falling_index")
        knots = [(0, high), (first, high), (second, number("premise_adherence_falling_second")), (index_day, at_index)]
        knots += [(middle, (at_index + low) / 2), (end, low)]
    else:
        high = number("premise_adherence_steady_first")
        knots = [(0, high), (first, high), (index_day, number("premise_adherence_steady_index"))]
        later = (number("premise_adherence_steady_middle"), max(number("premise_adherence_steady_least"), low))
        if slips and low < number("premise_adherence_steady_least"):
            later = (number("premise_adherence_slipping_middle"), low)
        knots += zip((middle, end), later, strict=True)
    return tuple({day: level for day, level in knots}.items())


def _derive_response(case_id: str, controls: Controls, driver: str, knowledge: Knowledge, rng: Rng) -> float:
    if controls.drug_response is not None:
        return controls.drug_response
    number = knowledge.parameter
    if driver == LOW_RESPONSE:
        low, high = number("premise_low_response_low"), number("premise_low_response_high")
        return round(low + (high - low) * rng.at(case_id, "premise", "low_response").chance(), 4)
    low, high = number("premise_usual_response_low"), number("premise_usual_response_high")
    series, sd = rng.at(case_id, "premise", "drug_response"), number("premise_usual_response_sd")
    drawn = (1 + sd * series.gauss(place) for place in range(_TRIES))
    return next((round(value, 4) for value in drawn if low <= value <= high), 1.0)


def _plan_artifacts(controls: Controls, premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[PlannedArtifact, ...]:
    """The declared faults with their windows and drawn sizes, by first day."""
    planned = []
    for fault in controls.noise:
        first = 7 * fault.week + fault.day
        last = controls.course_end_day if fault.kind == _LASTING else first + fault.span_days - 1
        planned.append(draw_artifact(fault.kind, first, last, premise, knowledge, rng))
    return tuple(sorted(planned, key=lambda artifact: (artifact.first_day, artifact.kind)))
