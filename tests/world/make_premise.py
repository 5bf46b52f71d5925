"""A premise for tests: a usual case, with any field changed by name. Fields of the patient may be named directly."""

from dataclasses import fields, replace
from typing import Any

from clinworld.schema.job import EventDensity
from clinworld.schema.premise import Patient, Premise

PATIENT = Patient(
    disease="obesity",
    comorbidities=(),
    sex="F",
    age_low=45,
    age_high=49,
    bmi=34.0,
    devices=("smart_scale", "wearable", "lab_panel"),
    goals=("sustained_weight_loss",),
    baseline_vitals=(),
)

FALLING, STEADY = (0.95, 0.88, 0.80), (0.96, 0.95, 0.94)


def make_premise(**changes: Any) -> Premise:
    """A resolved premise: obesity on tirzepatide, T at day 84, course of 365 days, weight kept.

    `outcome="regain"` alone gives a reversal on day 140 driven by missed doses. The adherence course follows driver, outcome, index
    day and end unless it is given.
    """
    patient = replace(PATIENT, **{f.name: changes.pop(f.name) for f in fields(Patient) if f.name in changes})
    outcome = changes.get("outcome", "maintain")
    regains = outcome == "regain"
    driver = changes.get("driver", "poor_medication_adherence" if regains else "unknown_or_multifactorial")
    index, end = changes.get("index_day", 84), changes.get("course_end_day", 365)
    low = changes.get("adherence_low", 0.66 if driver == "poor_medication_adherence" and regains else 0.92)
    first, second, last = FALLING if driver == "poor_medication_adherence" and regains else STEADY
    middle = index + (end - index) // 2
    days = sorted({min(42, index // 2): first, min(56, 2 * index // 3): second, index: last, middle: (last + low) / 2, end: low}.items())
    values: dict[str, Any] = {
        "case_id": "CASE-1",
        "seed": "7",
        "patient": patient,
        "drug": "tirzepatide",
        "dose_steps": (2.5, 5.0, 7.5),
        "start_weight_kg": 98.0,
        "nadir_weight_kg": 86.0,
        "nadir_day": index,
        "index_day": index,
        "course_end_day": end,
        "outcome": outcome,
        "driver": driver,
        "reversal_day": 140 if regains else None,
        "regain_kg_per_week": 0.35,
        "regain_end_kg": None,
        "adherence_low": low,
        "adherence_course": tuple(days),
        "drug_response": 1.0,
        "missingness": "MAR",
        "sampling_days": 1,
        "density": EventDensity(7.0, 1.0, 0.1, 0.05),
        "artifacts": (),
        "distractor_level": "none",
        "distractor_axes": (),
        "symptoms": (),
        "target_event": "weight_regain",
        "has_findings": False,
        "has_physiology": True,
        "withheld_contexts": (),
    }
    return Premise(**{**values, **changes})
