"""Calculated results follow from the printed ones they come from, and values of one day keep the order physiology gives them."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from clinworld.core.tables import load_csv
from clinworld.core.units import print_tick, to_ticks
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.rows import Analyte
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series
from clinworld.world.formulas import FORMULAS

CONTROLS = ("results_that_follow_from_the_printed_ones", "a_calculated_result_that_does_not_follow")
GATE = "derived_values_agree"
ORDERINGS = Path(__file__).parents[1] / "orderings.csv"


@lru_cache(maxsize=1)
def load_orderings() -> tuple[tuple[str, str], ...]:
    """(greater, lesser) pairs of series."""
    rows = load_csv(ORDERINGS, ("greater", "lesser", "why", "source", "status"))
    return tuple((row["greater"], row["lesser"]) for row in rows)


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the calculated results and the ordered pairs."""
    by_name = {series.name: series for series in case.gold.chart.series}
    findings: list[Finding] = []
    checked = 0
    for series in case.gold.chart.series:
        row = case.knowledge.analytes.get(series.name)
        if row is not None and row.derived_by in FORMULAS:
            checked += 1
            findings += check_calculated(series, row, by_name, case)
    for greater, lesser in load_orderings():
        if greater in by_name and lesser in by_name:
            checked += 1
            findings += check_order(by_name[greater], by_name[lesser])
    return Outcome(checked, tuple(findings), "nothing is calculated from other results")


def check_calculated(series: Series, row: Analyte, by_name: dict[str, Series], case: CaseUnderCheck) -> list[Finding]:
    """Whether one calculated series follows from the printed inputs of its days."""
    formula = FORMULAS[row.derived_by]
    inputs = [by_name.get(name) for name in formula.inputs]
    present = [each for each in inputs if each is not None]
    if len(present) < len(inputs) or not all(stands_on(series, each) for each in present):
        return [Finding(GATE, f"series {series.name}", "a result without its inputs", "calculated from " + ", ".join(formula.inputs))]
    values = {each.name: each.values()[np.searchsorted(each.days, series.days)] for each in present}
    patient = case.gold.premise.patient
    wanted = formula.calculate(values, (patient.age_low + patient.age_high) / 2, patient.sex, case.knowledge)
    is_wrong = ~np.isfinite(wanted)
    ticks = to_ticks(np.where(is_wrong, 0.0, wanted), series.decimals)
    is_wrong |= ticks != series.ticks
    return [
        Finding(
            GATE,
            f"{series.name}, day {int(series.days[i])}",
            print_tick(int(series.ticks[i]), series.decimals),
            f"{print_tick(int(ticks[i]), series.decimals)} from " + ", ".join(formula.inputs),
        )
        for i in np.flatnonzero(is_wrong)[:3]
    ]


def stands_on(series: Series, other: Series) -> bool:
    """True when the other series has a value on every day of this one."""
    at = np.searchsorted(other.days, series.days)
    return len(other.days) > 0 and bool((other.days[np.minimum(at, len(other.days) - 1)] == series.days).all())


def check_order(greater: Series, lesser: Series) -> list[Finding]:
    """Days on which the lesser value lies above the greater one."""
    if len(greater.days) == len(lesser.days) and bool((greater.days == lesser.days).all()):
        days, one, other = greater.days, greater.values(), lesser.values()
    else:
        days, at, beside = np.intersect1d(greater.days, lesser.days, assume_unique=True, return_indices=True)
        one, other = greater.values()[at], lesser.values()[beside]
    return [
        Finding(GATE, f"day {int(days[i])}", f"{lesser.name} {other[i]:g} above {greater.name} {one[i]:g}", "the other way round")
        for i in np.flatnonzero(other > one)[:3]
    ]
