"""A result too low for an outpatient has its cause: by clinical tiers, beside the hard bounds below which nothing is possible.

Below the tier `low.cause_…` of an analyte a condition that lowers it, a drug or a fault in the specimen must explain a result; below
`low.critical_…` a drug alone does not. A calculated result is explained by what moves the results it comes from.
"""

from functools import lru_cache

import numpy as np

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.schema.finding import Finding
from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.formulas import FORMULAS

CONTROLS = ("results_low_for_a_reason", "a_critical_result_for_no_reason")
GATE = "low_results_have_a_cause"
CAUSE, CRITICAL = "low.cause_", "low.critical_"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the results of every analyte with tiers."""
    findings: list[Finding] = []
    checked = 0
    for series in case.gold.chart.series:
        row = case.knowledge.analytes.get(series.name)
        if row is not None and CAUSE + row.id in case.knowledge.parameters:
            checked += len(series.days)
            findings += check_tiers(series, row, case)
    return Outcome(checked, tuple(findings), "no result with tiers is charted")


def check_tiers(series: Series, row: Analyte, case: CaseUnderCheck) -> list[Finding]:
    """What is too low in one series without a cause."""
    limit = case.knowledge.parameter(CAUSE + row.id)
    values = series.values()
    low = np.flatnonzero(values < limit)
    if not len(low):
        return []
    has_condition, has_drug = is_lowered(row, case.gold.premise, case.knowledge), is_lowered_by_drug(row, case.gold.premise, case.knowledge)
    touched = {day for fault in case.gold.faults if fault.series == row.id for day in fault.days}
    critical = case.knowledge.parameter(CRITICAL + row.id)
    findings = []
    for i in low.tolist():
        day, is_critical = int(series.days[i]), values[i] < critical
        if day not in touched and not has_condition and (is_critical or not has_drug):
            below, asked = (critical, "a condition or a fault") if is_critical else (limit, "a condition, a drug or a fault")
            found = print_tick(int(series.ticks[i]), series.decimals)
            findings.append(Finding(GATE, f"{series.name}, day {day}", found, f"below {below:g} {asked} explains it"))
    return findings


def is_lowered(row: Analyte, premise: Premise, knowledge: Knowledge) -> bool:
    """True when a known condition, or the one that shows itself, lowers an analyte or moves what it is calculated from."""
    shown = (premise.presenting.condition,) if premise.presenting else ()
    return any(_lowers(knowledge, name, row.id) for name in (premise.patient.disease, *premise.patient.comorbidities, *shown))


def is_lowered_by_drug(row: Analyte, premise: Premise, knowledge: Knowledge) -> bool:
    """True when an effect of the drug, wanted or not, lowers an analyte or moves what it is calculated from."""
    drug, inputs = knowledge.drugs[premise.drug], _inputs(row)
    moved = [(each.item, each.mean < 0) for each in drug.effects] + [(each.item, each.moves == "down") for each in drug.adverse_effects]
    return any(item in inputs or (item == row.id and is_down) for item, is_down in moved)


@lru_cache(maxsize=4096)
def _lowers(knowledge: Knowledge, condition: str, item: str) -> bool:
    row = knowledge.conditions.get(condition)
    inputs = _inputs(knowledge.analytes[item])
    found = row.findings if row is not None else ()
    return any((each.item == item and each.moves == "down") or (each.item in inputs and each.moves in ("up", "down")) for each in found)


def _inputs(row: Analyte) -> tuple[str, ...]:
    return FORMULAS[row.derived_by].inputs if row.derived_by in FORMULAS else ()
