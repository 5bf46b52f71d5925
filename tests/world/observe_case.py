"""A premise and a small made-up course for the tests of what is charted; the real course has its own tests."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.course import Course
from clinworld.schema.job import ArtifactClass, EventDensity
from clinworld.schema.premise import Patient, PlannedArtifact, Premise
from clinworld.schema.record import Series
from clinworld.world.observe import ObservedSeries, observe_series

_NUMBERS = count()
SIZES: dict[str, float] = {
    **{"device_switch": 3.2, "transient_spike": 3.6, "context_confound": 2.2, "unit_error": 2.0},
    **{"mnar_missing": 0.0, "adherence_gap": 0.45},
}
KNOWLEDGE = load_knowledge()
EVERYTHING = ("smart_scale", "clinic_scale", "wearable", "cgm", "bp_cuff", "lab_panel")
ANALYTES = {
    "hba1c": 5.6,
    "fasting_glucose": 5.4,
    "ldl_c": 2.9,
    "hdl_c": 1.2,
    "triglycerides": 1.7,
    "alt": 32.0,
    "ast": 25.0,
    "ggt": 30.0,
    "platelets": 245.0,
    "creatinine": 74.0,
}


def make_premise(case_id: str = "C-1", **changes: object) -> Premise:
    patient = Patient("obesity", (), "F", 45, 49, 34.0, EVERYTHING, (), ())
    premise = Premise(
        case_id=case_id,
        seed="7",
        patient=replace(patient, **changes.pop("patient", {})),  # type: ignore[arg-type]
        drug="tirzepatide",
        dose_steps=(2.5, 5.0, 7.5),
        start_weight_kg=98.0,
        nadir_weight_kg=86.0,
        nadir_day=112,
        index_day=112,
        course_end_day=365,
        outcome="regain",
        driver="poor_medication_adherence",
        reversal_day=154,
        regain_kg_per_week=0.35,
        regain_end_kg=None,
        adherence_low=0.66,
        adherence_course=((0, 0.95), (112, 0.80), (365, 0.66)),
        drug_response=1.0,
        missingness="MAR",
        sampling_days=1,
        density=EventDensity(7, 1, 0.1, 0.05),
        artifacts=(),
        distractor_level="none",
        distractor_axes=(),
        symptoms=(),
        target_event="weight_regain",
        has_findings=False,
        has_physiology=True,
        withheld_contexts=(),
    )
    return replace(premise, **changes)  # type: ignore[arg-type]


def make_course(premise: Premise) -> Course:
    """A course whose day d does not depend on how long it is."""
    day = np.arange(premise.course_end_day + 1, dtype=np.float64)
    lost = 12 * (1 - np.exp(-day / 50))
    weight = premise.start_weight_kg - lost + np.where(day > 154, (day - 154) * 0.05, 0)
    levels = {name: value * (1 - 0.004 * lost) for name, value in ANALYTES.items()}
    levels |= {"home_sbp": 128 - lost, "home_dbp": 80 - 0.6 * lost, "cgm_mean": np.full(len(day), 6.4)}
    levels |= {"shift:resting_hr": 2 * (1 - np.exp(-day / 14))}
    levels |= {"evidence:gi_symptom_score": np.full(len(day), 1.2), "evidence:carb_pct": np.full(len(day), 45.0)}
    adherence = np.interp(day, [0, 42, 56, 112, 365], [0.95, 0.95, 0.88, 0.80, 0.66])
    dose = np.where(day < 30, 2.5, np.where(day < 65, 5.0, 7.5))
    return Course(premise.course_end_day, weight, adherence, dose, ((0, 2.5), (30, 5.0), (65, 7.5)), levels, {})


def observe(premise: Premise, *, course: Course | None = None, knowledge: Knowledge = KNOWLEDGE, seed: str = "7") -> ObservedSeries:
    return observe_series(premise, course or make_course(premise), knowledge, Rng(seed))


def with_rows(kind: str, *rows: Any) -> Knowledge:
    """The package's knowledge with rows added or changed; it equals no other, so nothing kept for another is used for it."""
    knowledge = Knowledge((*KNOWLEDGE.folders, Path(f"added-{next(_NUMBERS)}")))
    tables = ("streams", "analytes", "artifacts", "parameters", "drugs", "conditions", "drivers", "devices")
    knowledge.__dict__.update({table: getattr(KNOWLEDGE, table) for table in tables})
    knowledge.__dict__[kind] = {**getattr(KNOWLEDGE, kind), **{row.id: row for row in rows}}
    return knowledge


def plan(kind: ArtifactClass, week: int = 8, span: int = 10) -> PlannedArtifact:
    """A fault of a usual size; `draw_artifact` gives one of its own to a case."""
    return PlannedArtifact(kind, 7 * week, 7 * week + span, SIZES[kind], 2 if kind == "unit_error" else None)


def find(observed: ObservedSeries, name: str) -> Series:
    return next(series for series in observed.series if series.name == name)


def as_bytes(series: Series) -> tuple[str, str, int, bytes, bytes]:
    return series.name, series.unit, series.decimals, series.days.tobytes(), series.ticks.tobytes()


def readings(series: Series) -> dict[int, int]:
    return dict(zip(series.days.tolist(), series.ticks.tolist(), strict=True))
