"""Whether a series starts where its row, or what the author stated, says."""

import math

import numpy as np

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.ledger_check import LedgerCheck, does_not_apply, passes
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.record import Series
from clinworld.world.condition_effects import widen_span
from clinworld.world.formulas import find_body_mass_index, has_own_level
from clinworld.world.levels import add_age, fit_level_to_sex, let_age
from clinworld.world.observe_plan import find_usual_shifts

NAME = "starts_where_its_row_says"
FIRST_DAYS = 28


def check_baseline(series: Series, row: Analyte | Stream, case: CaseUnderCheck) -> LedgerCheck:
    """The first values against the stated level, the condition's levels, the row's mean, or the reference interval."""
    span = widen_span(find_span(row, case), row, case.gold.premise, case.knowledge)
    if span is None or not len(series.ticks):
        return does_not_apply(NAME, "its start is decided elsewhere")
    low, high, noise = span
    early = max(1, int(np.searchsorted(series.days, FIRST_DAYS))) if isinstance(row, Stream) else 1
    values = series.values()[:early]
    if isinstance(row, Stream) and row.scale == "log":
        values = np.log(np.maximum(values, 10.0**-series.decimals))
    alike = (1 + max(row.lag1, 0.0)) / (1 - max(row.lag1, 0.0)) if isinstance(row, Stream) else 1.0
    most = case.knowledge.parameter("ledger.z") * noise * math.sqrt(alike / early) + 10.0**-series.decimals
    first = float(values.mean())
    return passes(NAME, low - most <= first <= high + most, f"{first:.4g}, expected {low - most:.4g} to {high + most:.4g}")


def find_span(row: Analyte | Stream, case: CaseUnderCheck) -> tuple[float, float, float] | None:
    """(lowest, highest level a person starts with, noise of one value), on the row's scale; None where a row does not say."""
    patient = case.gold.premise.patient
    noise = noise_of(row, case)
    is_log = isinstance(row, Stream) and row.scale == "log"
    stated = dict(patient.baseline_vitals).get(row.id)
    levels = [
        fit_level_to_sex(level, row, patient.sex)
        for name in (patient.disease, *patient.comorbidities)
        for level in (case.knowledge.conditions[name].levels if name in case.knowledge.conditions else ())
        if level.item == row.id
    ]
    if isinstance(row, Stream) and (row.parent or row.role in ("weight", "adherence")):
        return None
    if stated is not None:
        low = high = stated
    elif levels:
        low, high = min(level.low for level in levels), max(level.high for level in levels)
        if isinstance(row, Analyte):
            age_years = (patient.age_low + patient.age_high) / 2
            aged = [let_age((e.mean, e.sd, e.low, e.high), row, patient.sex, age_years, case.knowledge) for e in levels]
            low, high = min(low, *(each[2] for each in aged)), max(high, *(each[3] for each in aged))
    elif isinstance(row, Stream):
        mean = row.mean_m if patient.sex == "M" else row.mean_f
        if mean is None:
            return None
        over = max(find_body_mass_index(patient, case.gold.premise.start_weight_kg, case.knowledge) - 25, 0)
        middle = (math.log(mean) if is_log else mean) + row.per_bmi_over_25 * over
        middle += add_age(row, (patient.age_low + patient.age_high) / 2, case.knowledge)
        middle += find_usual_shifts(case.knowledge, (patient.disease, *patient.comorbidities)).get(row.id, 0.0)
        cut = case.knowledge.parameter("person_cut_sd") * row.sd_between
        return middle - cut, middle + cut, noise
    else:
        low_ref, high_ref = (row.ref_low_m, row.ref_high_m) if patient.sex == "M" else (row.ref_low_f, row.ref_high_f)
        if not has_own_level(row):
            return None
        low, high = (row.hard_low if low_ref is None else low_ref), (row.hard_high if high_ref is None else high_ref)
    if is_log:
        return math.log(low), math.log(high), noise
    return low, high, noise if isinstance(row, Stream) else noise * high


def noise_of(row: Analyte | Stream, case: CaseUnderCheck) -> float:
    """Standard deviation of one value: on the scale of a stream, relative for an analyte."""
    if isinstance(row, Stream):
        return row.sd_within
    unknown = case.knowledge.parameter("lab_cv_unknown_pct")
    within = unknown if row.cv_within_pct is None else row.cv_within_pct
    analytic = unknown if row.cv_analytic_pct is None else row.cv_analytic_pct
    return math.hypot(within, analytic) / 100
