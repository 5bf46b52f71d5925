"""What is true of one patient, fixed before anything is measured. Every value is resolved: written, defaulted, derived or drawn."""

from dataclasses import dataclass
from typing import Any

from clinworld.schema.job import ArtifactClass, DistractorLevel, EventDensity, Outcome


@dataclass(frozen=True, slots=True)
class PlannedSymptom:
    """A real symptom with the words the patient used, and whether its context may be shown."""

    day: int
    text_en: str
    text_zh: str
    context_en: str
    context_zh: str
    is_as_written: bool  # True: the author's words, the same in both languages


@dataclass(frozen=True, slots=True)
class PlannedArtifact:
    """A fault in the measurements: `last_day` is inclusive; `size` in the artifact row's unit (kg, factor, fraction), below 0 downwards.

    `most_readings` is how many readings of its days it touches, from the first on; None: all, or those its kind says.
    """

    kind: ArtifactClass
    first_day: int
    last_day: int
    size: float
    most_readings: int | None = None


@dataclass(frozen=True, slots=True)
class Patient:
    """Who the patient is. Ids are knowledge ids; a comorbidity may be a label without physiology."""

    disease: str
    comorbidities: tuple[str, ...]
    sex: str
    age_low: int
    age_high: int
    bmi: float | None
    devices: tuple[str, ...]
    goals: tuple[str, ...]
    baseline_vitals: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Presenting:
    """A condition that shows itself during the course and stands in no record yet.

    `presentation` is one of the condition's own; `onset_day` may lie before day 0; `severity` 0–1 scales its findings.
    """

    condition: str
    presentation: str
    onset_day: int
    severity: float


@dataclass(frozen=True, slots=True)
class Premise:
    """One patient's truth. Days count from the first visit; `index_day` is T."""

    case_id: str
    seed: str
    patient: Patient
    drug: str
    dose_steps: tuple[float, ...]
    start_weight_kg: float
    nadir_weight_kg: float
    nadir_day: int
    index_day: int
    course_end_day: int
    outcome: Outcome
    driver: str
    reversal_day: int | None  # None when the outcome is maintain
    regain_kg_per_week: float
    regain_end_kg: float | None  # end weight when it was written, else None
    adherence_low: float  # 0–1
    adherence_course: tuple[tuple[int, float], ...]  # (day, level 0–1), ascending
    drug_response: float  # multiplier of the drug's mean effect
    missingness: str
    sampling_days: int
    density: EventDensity
    artifacts: tuple[PlannedArtifact, ...]
    distractor_level: DistractorLevel
    distractor_axes: tuple[str, ...]
    symptoms: tuple[PlannedSymptom, ...]
    target_event: str
    has_findings: bool
    has_physiology: bool
    withheld_contexts: tuple[tuple[int, str, str], ...]  # (day, context as written, why it is not delivered)
    has_red_flag: bool = False  # the record shows a complaint up to T that needs prompt care
    clinician_warranted: bool | None = None  # whether a clinician must act where it was written, else None
    presenting: Presenting | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two good values that contradict each other. `found` and `limit` are what a reader checks by hand."""

    kind: str
    place: str
    found: str
    limit: str
    do: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: found {self.found}; {self.limit}. {self.do}".strip()


def premise_from_row(row: dict[str, Any]) -> Premise:
    """The premise in its JSON form (`dataclasses.asdict`)."""
    patient = row["patient"]
    return Premise(
        **{
            **row,
            "patient": Patient(
                **{
                    **patient,
                    "comorbidities": tuple(patient["comorbidities"]),
                    "devices": tuple(patient["devices"]),
                    "goals": tuple(patient["goals"]),
                    "baseline_vitals": tuple((name, value) for name, value in patient["baseline_vitals"]),
                }
            ),
            "dose_steps": tuple(row["dose_steps"]),
            "adherence_course": tuple((day, level) for day, level in row["adherence_course"]),
            "density": EventDensity(**row["density"]),
            "artifacts": tuple(PlannedArtifact(**artifact) for artifact in row["artifacts"]),
            "distractor_axes": tuple(row["distractor_axes"]),
            "symptoms": tuple(PlannedSymptom(**symptom) for symptom in row["symptoms"]),
            "withheld_contexts": tuple((day, context, why) for day, context, why in row["withheld_contexts"]),
            "presenting": Presenting(**row["presenting"]) if row.get("presenting") else None,
        }
    )
