"""What a job file says, once it has been read: patient facts, hidden controls, and which of them were written.

The keys, types, ranges and defaults are rows of `job_keys.csv`; `world/job_file.py` reads a file into these. Facts may reach the
agent; controls never do. None means "not written, no default": it is drawn or derived when the premise is made.
"""

from dataclasses import dataclass
from typing import Any, Literal

from clinworld.core.text import Language

Task = str  # a pack name: early_warning, tracking_review, …
Outcome = Literal["regain", "maintain"]
DistractorLevel = Literal["none", "low", "high"]
ArtifactClass = Literal["device_switch", "transient_spike", "context_confound", "unit_error", "mnar_missing", "adherence_gap"]
EpisodeKind = Literal["single", "slices", "rounds", "purchase", "query"]


@dataclass(frozen=True, slots=True)
class DeclaredSymptom:
    """A symptom the author wrote: kept in the author's words, never translated."""

    day: int
    text: str
    context: str


@dataclass(frozen=True, slots=True)
class DeclaredArtifact:
    """A fault the author placed in the measurements: from day `day` (0-6) of a week on."""

    kind: ArtifactClass
    week: int
    span_days: int
    day: int = 0


@dataclass(frozen=True, slots=True)
class EventDensity:
    """How often things are measured, dosed and reported; per week."""

    measure_per_week: float
    dosing_per_week: float
    symptom_rate: float
    life_event_rate: float


@dataclass(frozen=True, slots=True)
class Facts:
    """`raw`: what is true of the patient and may be read by an agent. Ids are knowledge ids, not the words of the file."""

    disease: str
    drug: str
    dose_steps: tuple[float, ...]
    devices: tuple[str, ...]
    age_range: str
    sex: Literal["F", "M"]
    bmi: float | None
    comorbidities: tuple[str, ...]
    baseline_vitals: tuple[tuple[str, float], ...]
    start_weight: float
    nadir_weight: float
    sampling_days: int
    symptoms: tuple[DeclaredSymptom, ...]
    goals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Controls:
    """`latent`: what decides the answer. Nothing here may be delivered."""

    outcome: Outcome | None
    driver: str | None
    reversal_week: int | None
    regain_slope: float
    regain_end_kg: float | None
    index_time_T: int
    course_end_day: int
    nadir_day: int | None
    adherence_low: float
    missingness: Literal["MCAR", "MAR", "MNAR"]
    noise: tuple[DeclaredArtifact, ...]
    distractor_level: DistractorLevel
    distractor_cond_axes: tuple[str, ...]
    event_density: EventDensity
    drug_response: float | None
    target_event: str
    other: tuple[tuple[str, Any], ...]  # keys other packs read (ddx_*, rhythm_gap, …), as written


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a job. `written` holds the places the author wrote, such as "raw.sex"."""

    case_id: str
    facts: Facts
    controls: Controls
    written: frozenset[str]


@dataclass(frozen=True, slots=True)
class Job:
    """A job file, read and checked. `digest` is over the values, not the layout."""

    job_id: str
    task: Task
    language: Language
    seed: str
    cases: tuple[Case, ...]
    episode: EpisodeKind | None  # None: the pack's first
    cadence_days: int
    findings: bool
    physio: bool
    items: int | None  # drawn items wanted, None when every case is written out
    mix: tuple[tuple[str, str], ...]
    without_effect: tuple[str, ...]  # keys accepted and named once in the output
    digest: str
    path: str
