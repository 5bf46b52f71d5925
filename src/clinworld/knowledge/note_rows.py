"""What a patient may tell or live through, why weight comes back, and when it counts as back."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording


@dataclass(frozen=True, slots=True)
class BenignEvent:
    """An everyday complaint or life event without diagnostic meaning.

    `kind`: benign (patient_reported_symptom) or life (patient_reported_context). `topic` groups those that must not repeat in one
    patient. `first_month` to `last_month` (1–12, may go round the turn of the year) are when it happens, None at any time. `shadows` are
    the drivers and conditions it could be mistaken for; it is not drawn where one of them is the answer or known.
    """

    id: str
    kind: Literal["benign", "life"]
    topic: str
    text: Wording
    context: Wording | None
    weight: float
    sex: str
    age_low: int | None
    age_high: int | None
    is_exertional: bool
    axis: str  # "", season, activity
    first_month: int | None
    last_month: int | None
    shadows: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class SymptomShadow:
    """What the symptom of this id could be mistaken for: drivers, conditions, and streams or analytes that would show it."""

    id: str
    shadows: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class SymptomComplaints:
    """The complaints that triage protocols are about, symptoms too, of which the symptom of this id is a form."""

    id: str
    complaints: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class ContextPhrase:
    """A phrase allowed or refused beside a symptom.

    Facets measure, neg, sign, course, therapy are shown; attr, interp, join, gold are not.
    """

    id: str
    facet: Literal["measure", "neg", "sign", "course", "therapy", "attr", "interp", "join", "gold"]
    text: Wording
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Driver:
    """A cause of regain. `observed_in`: streams that show it, or "dose", the prescriptions; empty means only symptoms or nothing show it.

    `normal` and `abnormal` are typical levels of the evidence stream; on a log-scale stream their ratio, else their difference, is what
    moves the patient's own level. `lead_days`: how long before the reversal it moves.
    `needs_symptom`: a real symptom must be charted for it to be readable. `through_drug`: it is less of what the drug does to weight.
    """

    id: str
    names: Wording
    observed_in: tuple[str, ...]
    evidence: str  # the stream that moves when this driver is the answer, "" for none
    normal: float | None
    abnormal: float | None
    lead_days: int | None
    needs_symptom: bool
    through_drug: bool
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class OutcomeRule:
    """When a target event has happened, read from weight.

    The threshold lies max(`min_change_frac` of the loss, `min_change_kg`) over the low point; readings are smoothed by a centred
    median of `smoothing_readings`; a run at or above it must last `persist_days` from its first to its last reading.
    """

    id: str
    names: Wording
    min_change_frac: float
    min_change_kg: float
    persist_days: int
    smoothing_readings: int
    source: str
    status: str
