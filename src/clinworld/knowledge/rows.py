"""The shapes of knowledge rows. Each carries its source id and status; what the columns mean stands here, once.

Statuses, strongest first: checked, partly_checked, secondary, peer_cited, derived, recalled, authored. None is "not known", never zero.
"""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording

STATUSES = ("checked", "partly_checked", "secondary", "peer_cited", "derived", "recalled", "authored")


@dataclass(frozen=True, slots=True)
class Source:
    """A citation other rows point to."""

    id: str
    citation: str
    what: str
    status: str


@dataclass(frozen=True, slots=True)
class Analyte:
    """A laboratory quantity. Bounds in `ucum`; CVs in percent; `per_kg` is the change of the true level per kg of body-weight change.

    `group` is the panel it is drawn with (glycaemic, lipids, liver, kidney …); `half_time_days` its lag behind weight and drug.
    `diagnostic_high` with `diagnostic_of`: at or above it the named condition would be diagnosed.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    loinc: str
    ucum: str
    decimals: int
    ref_low_m: float | None
    ref_high_m: float | None
    ref_low_f: float | None
    ref_high_f: float | None
    cv_within_pct: float | None
    cv_between_pct: float | None
    cv_analytic_pct: float | None
    hard_low: float
    hard_high: float
    group: str
    per_kg: float | None
    half_time_days: float | None
    derived_by: str  # formula id of world/formulas.py ("fib4", "friedewald"), "" when measured
    diagnostic_high: float | None
    diagnostic_of: str
    device: str  # what reports it: lab_panel, cgm, bp_cuff
    clinician_reads: bool
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Stream:
    """A daily wearable, home or diary quantity.

    `scale` linear or log: person level and day-to-day noise are added on that scale (`sd_between`, `sd_within` are on it too).
    `lag1` is the day-to-day autocorrelation of the noise. `saturday`, `sunday`, `monday` are added on the scale. `p_present` is the
    share of people who have the stream at all, `p_off_worn` and `p_off_off` the chance of a missing day after a worn and after a missing
    one. `role`: wearable (any wearable), evidence (shows a driver, exists for everyone), quality (says how sure a reading is), home (a
    home device), diary (few people keep it; shown only where a pack asks). `mean_m`, `mean_f` are in `ucum` whatever the scale.
    A derived stream is `intercept_m` or `intercept_f` + slope * parent on the parent's days, or the line that `derived_by` names in
    `world/formulas.py`, plus its own noise; its scale is linear. `per_bmi_over_25`: change of a person's level per kg/m2 over 25.
    `per_kg`: change of the true level per kg of body-weight change, with lag `half_time_days` (None: weight does not move it).
    `diagnostic_high` with `diagnostic_of`: at or above it the named condition would be diagnosed.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    loinc: str
    ucum: str
    decimals: int
    setting: Literal["home", "clinic", "diary", "medication"]
    devices: tuple[str, ...]
    role: Literal["weight", "wearable", "evidence", "quality", "home", "adherence", "diary"]
    scale: Literal["linear", "log"]
    mean_m: float | None
    mean_f: float | None
    per_year_over_40: float
    per_bmi_over_25: float
    sd_between: float
    sd_within: float
    lag1: float
    saturday: float
    sunday: float
    monday: float
    p_present: float
    p_off_worn: float
    p_off_off: float
    hard_low: float
    hard_high: float
    parent: str
    derived_by: str
    intercept_m: float | None
    intercept_f: float | None
    slope: float | None
    clinician_reads: bool
    source: str
    status: str
    per_kg: float | None = None
    half_time_days: float | None = None
    diagnostic_high: float | None = None
    diagnostic_of: str = ""


@dataclass(frozen=True, slots=True)
class DrugEffect:
    """Mean change of `item` (analyte or stream id) at steady state on `dose` (None: typical dose).

    `unit`: the item's own unit; "%" is always a relative change, so percentage points of an item measured in percent are "pp".
    `population`: any, or t2d, obesity (the trial population the number belongs to). `half_time_days` None: the item's own.
    """

    item: str
    dose: float | None
    mean: float
    sd: float | None
    unit: str
    population: str
    half_time_days: float | None
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Drug:
    """A drug product: `indications` maps a condition id to the top dose for it; `ladder` rises.

    `off_label` are the indications this product is used for without a licence; those pairs are authored for simulation.
    Two products may share an ingredient (`rxcui`); `Knowledge.product` picks the one meant for a condition.
    `min_titration_days` 0: the ladder has one step.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    rxcui: str
    drug_class: str
    indications: tuple[tuple[str, float], ...]
    ladder: tuple[float, ...]
    dose_unit: str
    frequency: Literal["weekly", "daily", "twice_daily", "three_times_daily", "every_two_weeks"]
    min_titration_days: int
    onset_days: int
    effects: tuple[DrugEffect, ...]
    source: str
    status: str
    off_label: tuple[str, ...] = ()


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
class LookAlike:
    """A symptom of another condition that resembles one of this condition's, with what tells it apart."""

    condition: str
    discriminator: Wording
    text: Wording
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A disease: everything about it, nothing about packs. `signals` are the analytes and streams followed in it.

    `has_physiology` False means the name is kept as a label only.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    icd10cm: str
    sex: str  # "", "F" or "M"
    age_low: int | None
    age_high: int | None
    is_primary: bool  # may be a case's disease
    has_physiology: bool
    signals: tuple[str, ...]
    levels: tuple[Level, ...]
    look_alikes: tuple[LookAlike, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class BenignEvent:
    """An everyday complaint or life event without diagnostic meaning.

    `kind`: benign (patient_reported_symptom) or life (patient_reported_context). `topic` groups those that must not repeat in one
    patient. `shadows` are the drivers and conditions it could be mistaken for; it is not drawn where one of them is the answer or known.
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
    shadows: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A class of measurement fault: its default size (kg, factor or adherence fraction), what it needs and what it does."""

    id: str
    names: Wording
    explains: Wording
    size: float | None
    unit: str
    needs: tuple[str, ...]  # any of these devices
    series: str  # the series it touches
    turning_kind: Literal["trap", "missing", "confound"]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Device:
    """What a patient measures with. `reports` are the streams and analyte groups that exist because of it."""

    id: str
    names: Wording
    reports: tuple[str, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Driver:
    """A cause of regain. `observed_in`: streams that show it, or "dose", the prescriptions; empty means only symptoms or nothing show it.

    `normal` and `abnormal` are typical levels of the evidence stream; on a log-scale stream their ratio, else their difference, is what
    moves the patient's own level. `lead_days`: how long before the reversal it moves.
    `needs_symptom`: a real symptom must be charted for it to be readable.
    """

    id: str
    names: Wording
    observed_in: tuple[str, ...]
    evidence: str  # the stream that moves when this driver is the answer, "" for none
    normal: float | None
    abnormal: float | None
    lead_days: int | None
    needs_symptom: bool
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number of the world that a clinician could dispute and that belongs to no single row of another table."""

    id: str
    value: float
    unit: str
    meaning: str
    source: str
    status: str
