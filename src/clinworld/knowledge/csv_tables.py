"""The CSV tables of knowledge: file, and how each column is read. A new column is a line here and a field of its row class."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from clinworld.knowledge.cells import Cells
from clinworld.knowledge.rows import (
    Analyte,
    ArtifactRow,
    BenignEvent,
    Comorbidity,
    Condition,
    ConditionStates,
    ContextPhrase,
    Coupling,
    Device,
    Driver,
    EventEffect,
    FindingKind,
    LabFactor,
    LabFactorEffect,
    LabPlatform,
    OldEvent,
    OrderableTest,
    OrderedTests,
    OutcomeRule,
    PanelCorrelation,
    Parameter,
    PriceTier,
    Source,
    Specialty,
    Stream,
    Symptom,
    SymptomComplaints,
    SymptomShadow,
)
from clinworld.knowledge.rule_reader import read_rule_fact
from clinworld.knowledge.shapes import (
    DOTTED_ID,
    FLAG,
    ID,
    MAYBE_AGE,
    MAYBE_SEX,
    MAYBE_WORDING,
    SOME_WORDS,
    STATUS,
    TEXT,
    WORD,
    WORDING,
    WORDINGS,
    WORDS,
    Shape,
    choice,
    maybe_choice,
    maybe_number,
    maybe_whole,
    named,
    number,
    numbers,
    options_of,
    sourced,
    whole,
)

DEVICES = ("smart_scale", "clinic_scale", "wearable", "cgm", "bp_cuff", "lab_panel")
NUMBER, MAYBE_NUMBER, DECIMALS, SHARE = number(), maybe_number(), whole(0, 4), number(0, 1)


class RowReader(Protocol):
    """What reads the rows of a table: a Shape, or another reader with its columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table."""
        ...

    def read(self, cells: Cells) -> Any:
        """The row in some cells."""
        ...


@dataclass(frozen=True, slots=True)
class TableShape:
    """One CSV table: file name (a folder of files when it has no suffix), and what reads its rows."""

    file: str
    shape: RowReader

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns its header holds."""
        return self.shape.columns


_ANALYTE = named(
    Analyte,
    aliases=WORDS,
    loinc=TEXT,
    ucum=WORD,
    decimals=DECIMALS,
    ref_low_m=MAYBE_NUMBER,
    ref_high_m=MAYBE_NUMBER,
    ref_low_f=MAYBE_NUMBER,
    ref_high_f=MAYBE_NUMBER,
    cv_within_pct=maybe_number(0, 200),
    cv_between_pct=maybe_number(0, 300),
    cv_analytic_pct=maybe_number(0, 100),
    hard_low=NUMBER,
    hard_high=NUMBER,
    group=ID,
    per_kg=MAYBE_NUMBER,
    half_time_days=maybe_number(0),
    derived_by=TEXT,
    diagnostic_high=MAYBE_NUMBER,
    diagnostic_of=TEXT,
    device=choice(DEVICES),
    clinician_reads=FLAG,
)

_STREAM = named(
    Stream,
    aliases=WORDS,
    loinc=TEXT,
    ucum=WORD,
    decimals=DECIMALS,
    setting=choice(options_of(Stream, "setting")),
    devices=WORDS,
    role=choice(options_of(Stream, "role")),
    scale=choice(options_of(Stream, "scale")),
    mean_m=MAYBE_NUMBER,
    mean_f=MAYBE_NUMBER,
    per_year_over_40=NUMBER,
    per_bmi_over_25=NUMBER,
    sd_between=number(0),
    sd_within=number(0),
    lag1=number(-0.99, 0.99),
    saturday=NUMBER,
    sunday=NUMBER,
    monday=NUMBER,
    p_present=SHARE,
    p_off_worn=SHARE,
    p_off_off=SHARE,
    hard_low=NUMBER,
    hard_high=NUMBER,
    parent=TEXT,
    derived_by=TEXT,
    intercept_m=MAYBE_NUMBER,
    intercept_f=MAYBE_NUMBER,
    slope=MAYBE_NUMBER,
    clinician_reads=FLAG,
    per_kg=MAYBE_NUMBER,
    half_time_days=maybe_number(0),
    diagnostic_high=MAYBE_NUMBER,
    diagnostic_of=TEXT,
)

_FINDING = named(
    FindingKind,
    aliases=WORDS,
    kind=choice(options_of(FindingKind, "kind")),
    ucum=TEXT,
    decimals=maybe_whole(0, 4),
    cut=MAYBE_NUMBER,
    ref_low=MAYBE_NUMBER,
    ref_high=MAYBE_NUMBER,
    hard_low=MAYBE_NUMBER,
    hard_high=MAYBE_NUMBER,
    positive=MAYBE_WORDING,
    negative=MAYBE_WORDING,
)

_TEST = named(
    OrderableTest,
    aliases=WORDS,
    measures=SOME_WORDS,
    tier=ID,
    alternatives=WORDS,
    availability=choice(options_of(OrderableTest, "availability")),
    turnaround_days=number(0, 60),
    specimen=choice(options_of(OrderableTest, "specimen")),
    is_fasting=FLAG,
)

_SYMPTOM = sourced(
    Symptom,
    id=ID,
    kind=choice(options_of(Symptom, "kind")),
    system=choice(options_of(Symptom, "system")),
    sex=MAYBE_SEX,
    age_low=MAYBE_AGE,
    age_high=MAYBE_AGE,
    weight_days=maybe_whole(1, 365),
    weight_low_kg=maybe_number(-50, 50),
    weight_high_kg=maybe_number(-50, 50),
    bmi_low=maybe_number(10, 60),
    bmi_high=maybe_number(10, 60),
    wordings=WORDINGS,
)

_COMORBIDITY = sourced(Comorbidity, id=ID, a=ID, b=ID, relation=ID, share_low=maybe_number(0, 1), share_high=maybe_number(0, 1))

_FACTOR = named(LabFactor, kind=choice(options_of(LabFactor, "kind")), recognise=WORDING, response=WORDING)

_FACTOR_EFFECT = sourced(
    LabFactorEffect,
    id=ID,
    factor=ID,
    item=ID,
    moves=choice(options_of(LabFactorEffect, "moves")),
    low=MAYBE_NUMBER,
    high=MAYBE_NUMBER,
    unit=TEXT,
)

_CORRELATION = sourced(
    PanelCorrelation,
    id=ID,
    a=ID,
    b=ID,
    level=choice(options_of(PanelCorrelation, "level")),
    of=choice(options_of(PanelCorrelation, "of")),
    r_m=number(-1, 1),
    r_f=number(-1, 1),
)

_EVENT = sourced(
    BenignEvent,
    id=ID,
    kind=choice(options_of(BenignEvent, "kind")),
    topic=ID,
    text=WORDING,
    context=MAYBE_WORDING,
    weight=number(0, 100),
    sex=MAYBE_SEX,
    age_low=MAYBE_AGE,
    age_high=MAYBE_AGE,
    is_exertional=FLAG,
    axis=maybe_choice(("season", "activity")),
    first_month=maybe_whole(1, 12),
    last_month=maybe_whole(1, 12),
    shadows=WORDS,
)

_PAST_EVENT = sourced(
    OldEvent,
    id=ID,
    kind=choice(options_of(OldEvent, "kind")),
    condition=TEXT,
    drugs=WORDS,
    taken=TEXT,
    state=TEXT,
    sex=MAYBE_SEX,
    age_low=MAYBE_AGE,
    age_high=MAYBE_AGE,
    text=WORDING,
    weight=number(0),
)

_EVENT_EFFECT = sourced(
    EventEffect,
    id=ID,
    event=ID,
    item=ID,
    peak=NUMBER,
    unit=choice(options_of(EventEffect, "unit")),
    rise_days=number(1, 365),
    lasts_days=number(1, 365),
    fade_days=number(1, 365),
    cap=number(0),
)

_COUPLING = sourced(Coupling, id=ID, cause=ID, effect=ID, slope=NUMBER, lag_days=number(0, 365), cap=number(0))

_ARTIFACT = named(
    ArtifactRow,
    explains=WORDING,
    size_low=maybe_number(0),
    size_high=maybe_number(0),
    direction=maybe_choice(options_of(ArtifactRow, "direction")),
    factors=numbers(0),
    unit=TEXT,
    needs=WORDS,
    series=ID,
    turning_kind=choice(options_of(ArtifactRow, "turning_kind")),
)

_DRIVER = named(
    Driver,
    observed_in=WORDS,
    evidence=TEXT,
    normal=MAYBE_NUMBER,
    abnormal=MAYBE_NUMBER,
    lead_days=maybe_whole(0, 365),
    needs_symptom=FLAG,
    through_drug=FLAG,
)

_OUTCOME = named(
    OutcomeRule,
    min_change_frac=SHARE,
    min_change_kg=number(0),
    persist_days=whole(1, 1000),
    smoothing_readings=whole(1, 99),
)

_LABEL = named(
    partial(
        Condition,
        clinical_review="none",
        specialty="",
        urgency="",
        is_primary=False,
        has_physiology=False,
        signals=(),
        levels=(),
        prevalence=(),
        symptoms=(),
        presentations=(),
        findings=(),
        all_normal=False,
        look_alikes=(),
        tests=OrderedTests((), ()),
        red_flags=(),
        traps=(),
        is_name_only=True,
    ),
    aliases=WORDS,
    icd10cm=TEXT,
    sex=MAYBE_SEX,
    age_low=MAYBE_AGE,
    age_high=MAYBE_AGE,
)


class _RuleFacts:
    columns = (
        *("id", "name_en", "name_zh", "kind", "ucum", "decimals", "low", "high"),
        *("choices", "choices_en", "choices_zh", "source", "status"),
    )
    read = staticmethod(read_rule_fact)


TABLES: dict[str, TableShape] = {
    "sources": TableShape("sources.csv", Shape(Source, id=ID, citation=WORD, what=WORD, status=STATUS)),
    "analytes": TableShape("analytes.csv", _ANALYTE),
    "streams": TableShape("streams.csv", _STREAM),
    "symptoms": TableShape("symptoms.csv", _SYMPTOM),
    "findings": TableShape("findings.csv", _FINDING),
    "tests": TableShape("tests.csv", _TEST),
    "tiers": TableShape("test_tiers.csv", named(PriceTier, price=number(0, 1000))),
    "specialties": TableShape("specialties.csv", named(Specialty, aliases=WORDS)),
    "comorbidities": TableShape("comorbidities.csv", _COMORBIDITY),
    "factors": TableShape("lab_factors.csv", _FACTOR),
    "factor_effects": TableShape("lab_factor_effects.csv", _FACTOR_EFFECT),
    "correlations": TableShape("panel_correlations.csv", _CORRELATION),
    "platforms": TableShape("lab_platforms.csv", named(LabPlatform, factor=TEXT, measures=WORDS)),
    "rule_facts": TableShape("rule_facts.csv", _RuleFacts()),
    "events": TableShape("events.csv", _EVENT),
    "event_effects": TableShape("event_effects.csv", _EVENT_EFFECT),
    "couplings": TableShape("couplings.csv", _COUPLING),
    "past_events": TableShape("past_events.csv", _PAST_EVENT),
    "symptom_shadows": TableShape("symptom_shadows.csv", sourced(SymptomShadow, id=ID, shadows=SOME_WORDS)),
    "symptom_complaints": TableShape("symptom_complaints.csv", sourced(SymptomComplaints, id=ID, complaints=SOME_WORDS)),
    "condition_states": TableShape("condition_states.csv", sourced(ConditionStates, id=ID, states=SOME_WORDS)),
    "artifacts": TableShape("artifacts.csv", _ARTIFACT),
    "devices": TableShape("devices.csv", named(Device, reports=WORDS, worn_days=TEXT, worn_nights=WORDS)),
    "drivers": TableShape("drivers.csv", _DRIVER),
    "contexts": TableShape("contexts.csv", sourced(ContextPhrase, id=ID, facet=choice(options_of(ContextPhrase, "facet")), text=WORDING)),
    "outcomes": TableShape("outcomes.csv", _OUTCOME),
    "condition_labels": TableShape("condition_labels.csv", _LABEL),
    "parameters": TableShape("parameters", sourced(Parameter, id=DOTTED_ID, value=NUMBER, unit=WORD, meaning=WORD)),
}
