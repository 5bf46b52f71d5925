"""A disease and everything about it, nothing about packs; and what diseases share: symptoms, specialties, comorbid pairs."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording
from clinworld.knowledge.source_rows import ClinicalReview

Sex = Literal["", "F", "M"]
Found = Literal["up", "down", "normal", "positive", "negative"]
Shown = Literal["up", "down", "normal", "positive", "negative", "absent", "present"]
System = Literal[
    "general",
    "cardiac",
    "respiratory",
    "digestive",
    "urinary",
    "endocrine",
    "neuro",
    "psych",
    "skin",
    "musculoskeletal",
    "blood",
    "reproductive",
    "head_neck",
    "eye",
    "immune",
]


@dataclass(frozen=True, slots=True)
class Wordings:
    """Ways of saying one thing, as many in each language; those of one place are no translation of each other."""

    en: tuple[str, ...]
    zh: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Symptom:
    """One clinical meaning in patients' words; conditions that share it share its id.

    `kind`: complaint, history (a fact about the past, family, drugs or habits), none (no complaint; found by chance). What it claims of
    weight: a change of `weight_low_kg` to `weight_high_kg` over the last `weight_days`, a body mass index of `bmi_low` to `bmi_high`; None
    claims nothing.
    """

    id: str
    kind: Literal["complaint", "history", "none"]
    system: System
    sex: Sex
    age_low: int | None
    age_high: int | None
    weight_days: int | None
    weight_low_kg: float | None
    weight_high_kg: float | None
    bmi_low: float | None
    bmi_high: float | None
    wordings: Wordings
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Specialty:
    """Where a patient is referred to."""

    id: str
    names: Wording
    aliases: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Comorbidity:
    """Two conditions that come together. Shares: the fraction of patients with `a` who have `b`, None where not known."""

    id: str
    a: str
    b: str
    relation: str
    share_low: float | None
    share_high: float | None
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Level:
    """Where a patient with a condition starts: the true level of an analyte or stream on day 0.

    `mean_m` and `mean_f` stand for `mean` in their sex. Without them a level of an analyte whose reference interval differs between the
    sexes is that of both together, and moves with the interval of the patient's own sex.
    """

    item: str
    mean: float
    sd: float
    low: float
    high: float
    source: str
    status: str
    mean_m: float | None = None
    mean_f: float | None = None


@dataclass(frozen=True, slots=True)
class Prevalence:
    """The share (0 to 1) of people of a sex ("": both) and an age range who have the condition."""

    sex: Sex
    age_low: int
    age_high: int
    share: float
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class ConditionSymptom:
    """A symptom of the condition; a deciding one tells it from its look-alikes."""

    symptom: str
    role: Literal["deciding", "common"]


@dataclass(frozen=True, slots=True)
class Presentation:
    """One way the condition comes to light: what is complained of first, what follows in order, how fast, and in whom."""

    id: str
    opens_with: str
    then: tuple[str, ...]
    tempo: Literal["hours", "days", "weeks", "months", "years"]
    sex: Sex
    age_low: int | None
    age_high: int | None

    @property
    def course(self) -> tuple[str, ...]:
        """Its symptoms in order."""
        return (self.opens_with, *self.then)


@dataclass(frozen=True, slots=True)
class ConditionFinding:
    """How an analyte, stream or finding stands in the condition: against its reference, or found or not."""

    item: str
    moves: Found
    size: Literal["mild", "moderate", "marked", "none"]
    role: Literal["screening", "supportive", "confirmatory"]
    trajectory: Literal["stable", "progressive", "episodic", "fluctuating", "treatment_responsive"]
    sex: Sex
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class ToldApart:
    """What one item, symptom or drug (one of the three) shows here, in this condition, and there, in the look-alike.

    A symptom or drug is absent or present; an item is whatever a finding can be.
    """

    item: str
    symptom: str
    drug: str
    here: Shown
    there: Shown


@dataclass(frozen=True, slots=True)
class LookAlike:
    """A condition that resembles this one, and what tells the two apart, for a machine and for a clinician."""

    condition: str
    told_apart_by: ToldApart
    discriminator: Wording
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class OrderedTests:
    """Tests to order first, and to confirm the condition."""

    first_line: tuple[str, ...]
    confirmatory: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every test once, those to order first before the others."""
        return tuple(dict.fromkeys((*self.first_line, *self.confirmatory)))

    def roles(self, name: str) -> tuple[str, ...]:
        """`first_line`, `confirmatory`, or both, for a test; () for one that is not among them."""
        return tuple(role for role, tests in (("first_line", self.first_line), ("confirmatory", self.confirmatory)) if name in tests)


@dataclass(frozen=True, slots=True)
class RedFlag:
    """What makes it urgent, in words; for a machine a symptom, or an item with one limit, where there is one."""

    text: Wording
    symptom: str
    item: str
    at_least: float | None
    above: float | None
    at_most: float | None
    below: float | None


@dataclass(frozen=True, slots=True)
class Condition:
    """A disease. `signals` are the analytes and streams followed in it; `traps` what is wrongly done before it is excluded.

    `shares_code_with` are the other diseases that have the same `icd10cm`, where the classification has one code for both.
    A row that is a name only has nothing but names, code and limits; `urgency` "" stands for not known there. `all_normal`: nothing
    measurable is out of order; otherwise there are findings.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    icd10cm: str
    clinical_review: ClinicalReview
    specialty: str
    urgency: Literal["", "emergency", "urgent", "soon", "routine"]
    sex: Sex
    age_low: int | None
    age_high: int | None
    is_primary: bool  # may be a case's disease
    has_physiology: bool
    signals: tuple[str, ...]
    levels: tuple[Level, ...]
    prevalence: tuple[Prevalence, ...]
    symptoms: tuple[ConditionSymptom, ...]
    presentations: tuple[Presentation, ...]
    findings: tuple[ConditionFinding, ...]
    all_normal: bool
    look_alikes: tuple[LookAlike, ...]
    tests: OrderedTests
    red_flags: tuple[RedFlag, ...]
    traps: tuple[Wording, ...]
    source: str
    status: str
    is_name_only: bool = False
    shares_code_with: tuple[str, ...] = ()

    def has_symptom(self, name: str) -> bool:
        """Whether a symptom is one of the condition's."""
        return any(entry.symptom == name for entry in self.symptoms)


@dataclass(frozen=True, slots=True)
class ConditionStates:
    """The flags of rule_facts that are true of a patient because the condition of this id is documented."""

    id: str
    states: tuple[str, ...]
    source: str
    status: str
