"""How a row of each CSV table is read. Which columns there are stands in `csv_tables.py`; what they mean in `rows.py`."""

from typing import get_args

from clinworld.knowledge.cells import Cells
from clinworld.knowledge.rows import (
    STATUSES,
    Analyte,
    ArtifactRow,
    BenignEvent,
    Condition,
    ContextPhrase,
    Device,
    Driver,
    OutcomeRule,
    Parameter,
    Source,
    Stream,
)

DEVICES = ("smart_scale", "clinic_scale", "wearable", "cgm", "bp_cuff", "lab_panel")
FACETS = get_args(ContextPhrase.__annotations__["facet"])
SETTINGS = get_args(Stream.__annotations__["setting"])
ROLES = get_args(Stream.__annotations__["role"])
TURNING_KINDS = get_args(ArtifactRow.__annotations__["turning_kind"])
SEXES = ("F", "M")
AGE_MAX = 120


def read_source(cells: Cells) -> Source:
    """A citation. Its status says how it was seen, as for every row."""
    return Source(cells.id(), cells.word("citation"), cells.word("what"), cells.choice("status", STATUSES))


def read_analyte(cells: Cells) -> Analyte:
    """A laboratory quantity."""
    source, status = cells.origin()
    return Analyte(
        id=cells.id(),
        names=cells.wording("name"),
        aliases=cells.words("aliases"),
        loinc=cells.maybe_word("loinc"),
        ucum=cells.word("ucum"),
        decimals=cells.whole("decimals", 0, 4),
        ref_low_m=cells.maybe_number("ref_low_m"),
        ref_high_m=cells.maybe_number("ref_high_m"),
        ref_low_f=cells.maybe_number("ref_low_f"),
        ref_high_f=cells.maybe_number("ref_high_f"),
        cv_within_pct=cells.maybe_number("cv_within_pct", 0, 200),
        cv_between_pct=cells.maybe_number("cv_between_pct", 0, 300),
        cv_analytic_pct=cells.maybe_number("cv_analytic_pct", 0, 100),
        hard_low=cells.number("hard_low"),
        hard_high=cells.number("hard_high"),
        group=cells.id("group"),
        per_kg=cells.maybe_number("per_kg"),
        half_time_days=cells.maybe_number("half_time_days", 0),
        derived_by=cells.maybe_word("derived_by"),
        diagnostic_high=cells.maybe_number("diagnostic_high"),
        diagnostic_of=cells.maybe_word("diagnostic_of"),
        device=cells.choice("device", DEVICES),
        clinician_reads=cells.flag("clinician_reads"),
        source=source,
        status=status,
    )


def read_stream(cells: Cells) -> Stream:
    """A daily wearable, home or diary quantity."""
    source, status = cells.origin()
    return Stream(
        id=cells.id(),
        names=cells.wording("name"),
        aliases=cells.words("aliases"),
        loinc=cells.maybe_word("loinc"),
        ucum=cells.word("ucum"),
        decimals=cells.whole("decimals", 0, 4),
        setting=cells.choice("setting", SETTINGS),  # type: ignore[arg-type]  # a choice of the Literal's own values
        devices=cells.words("devices"),
        role=cells.choice("role", ROLES),  # type: ignore[arg-type]  # a choice of the Literal's own values
        scale=cells.choice("scale", ("linear", "log")),  # type: ignore[arg-type]  # a choice of the Literal's own values
        mean_m=cells.maybe_number("mean_m"),
        mean_f=cells.maybe_number("mean_f"),
        per_year_over_40=cells.number("per_year_over_40"),
        per_bmi_over_25=cells.number("per_bmi_over_25"),
        sd_between=cells.number("sd_between", 0),
        sd_within=cells.number("sd_within", 0),
        lag1=cells.number("lag1", -0.99, 0.99),
        saturday=cells.number("saturday"),
        sunday=cells.number("sunday"),
        monday=cells.number("monday"),
        p_present=cells.number("p_present", 0, 1),
        p_off_worn=cells.number("p_off_worn", 0, 1),
        p_off_off=cells.number("p_off_off", 0, 1),
        hard_low=cells.number("hard_low"),
        hard_high=cells.number("hard_high"),
        parent=cells.maybe_word("parent"),
        derived_by=cells.maybe_word("derived_by"),
        intercept_m=cells.maybe_number("intercept_m"),
        intercept_f=cells.maybe_number("intercept_f"),
        slope=cells.maybe_number("slope"),
        clinician_reads=cells.flag("clinician_reads"),
        source=source,
        status=status,
        per_kg=cells.maybe_number("per_kg"),
        half_time_days=cells.maybe_number("half_time_days", 0),
        diagnostic_high=cells.maybe_number("diagnostic_high"),
        diagnostic_of=cells.maybe_word("diagnostic_of"),
    )


def read_event(cells: Cells) -> BenignEvent:
    """An everyday complaint or life event."""
    source, status = cells.origin()
    return BenignEvent(
        id=cells.id(),
        kind=cells.choice("kind", ("benign", "life")),  # type: ignore[arg-type]  # a choice of the Literal's own values
        topic=cells.id("topic"),
        text=cells.wording("text"),
        context=cells.maybe_wording("context"),
        weight=cells.number("weight", 0, 100),
        sex=cells.choice("sex", SEXES, empty=True),
        age_low=cells.maybe_whole("age_low", 0, AGE_MAX),
        age_high=cells.maybe_whole("age_high", 0, AGE_MAX),
        is_exertional=cells.flag("is_exertional"),
        axis=cells.choice("axis", ("season", "activity"), empty=True),
        shadows=cells.words("shadows"),
        source=source,
        status=status,
    )


def read_artifact(cells: Cells) -> ArtifactRow:
    """A class of measurement fault."""
    source, status = cells.origin()
    return ArtifactRow(
        id=cells.id(),
        names=cells.wording("name"),
        explains=cells.wording("explains"),
        size=cells.maybe_number("size"),
        unit=cells.maybe_word("unit"),
        needs=cells.words("needs"),
        series=cells.id("series"),
        turning_kind=cells.choice("turning_kind", TURNING_KINDS),  # type: ignore[arg-type]  # a choice of the Literal's own values
        source=source,
        status=status,
    )


def read_device(cells: Cells) -> Device:
    """What a patient measures with."""
    return Device(cells.id(), cells.wording("name"), cells.words("reports"), *cells.origin())


def read_driver(cells: Cells) -> Driver:
    """A cause of regain."""
    source, status = cells.origin()
    return Driver(
        id=cells.id(),
        names=cells.wording("name"),
        observed_in=cells.words("observed_in"),
        evidence=cells.maybe_word("evidence"),
        normal=cells.maybe_number("normal"),
        abnormal=cells.maybe_number("abnormal"),
        lead_days=cells.maybe_whole("lead_days", 0, 365),
        needs_symptom=cells.flag("needs_symptom"),
        source=source,
        status=status,
    )


def read_context(cells: Cells) -> ContextPhrase:
    """A phrase allowed or refused beside a symptom."""
    facet = cells.choice("facet", FACETS)
    return ContextPhrase(cells.id(), facet, cells.wording("text"), *cells.origin())  # type: ignore[arg-type]  # a choice of the Literal's values


def read_outcome(cells: Cells) -> OutcomeRule:
    """When a target event has happened."""
    source, status = cells.origin()
    return OutcomeRule(
        id=cells.id(),
        names=cells.wording("name"),
        min_change_frac=cells.number("min_change_frac", 0, 1),
        min_change_kg=cells.number("min_change_kg", 0),
        persist_days=cells.whole("persist_days", 1, 1000),
        smoothing_readings=cells.whole("smoothing_readings", 1, 99),
        source=source,
        status=status,
    )


def read_condition_label(cells: Cells) -> Condition:
    """A condition kept as a name only: no physiology, never a case's disease."""
    source, status = cells.origin()
    return Condition(
        id=cells.id(),
        names=cells.wording("name"),
        aliases=cells.words("aliases"),
        icd10cm=cells.maybe_word("icd10cm"),
        sex=cells.choice("sex", SEXES, empty=True),
        age_low=cells.maybe_whole("age_low", 0, AGE_MAX),
        age_high=cells.maybe_whole("age_high", 0, AGE_MAX),
        is_primary=False,
        has_physiology=False,
        signals=(),
        levels=(),
        look_alikes=(),
        source=source,
        status=status,
    )


def read_parameter(cells: Cells) -> Parameter:
    """One number of the world."""
    return Parameter(cells.id(dots=True), cells.number("value"), cells.word("unit"), cells.word("meaning"), *cells.origin())
