"""A jump that is meant to mislead still stands above its neighbours in the chart; a trap nobody can see is no trap."""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.schema.record import ChartFault, Series

CONTROLS = ("a_spike_that_stands_out", "a_spike_that_was_smoothed_away")
NEIGHBOURS = 5


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over faults with a size in kg."""
    findings: list[Finding] = []
    checked = 0
    for fault in case.gold.faults:
        row = case.knowledge.artifacts.get(fault.kind)
        series = case.gold.chart.find(fault.series)
        if row is None or row.unit != "kg" or row.turning_kind != "trap" or series is None or fault.size is None:
            continue
        checked += 1
        jump = read_jump(fault, series)
        least = case.knowledge.parameter("trap.min_share_of_size") * abs(fault.size)
        if jump is None or jump < least:
            found = "no reading beside it" if jump is None else f"{jump:.1f} kg above its neighbours"
            findings.append(Finding("traps_stand_out", f"{fault.kind}, day {min(fault.days)}", found, f"at least {least:.1f} kg"))
    return Outcome(checked, tuple(findings), "no artifact with a jump")


def read_jump(fault: ChartFault, series: Series) -> float | None:
    """How far the touched readings stand above the untouched ones before them, in the series' unit; None without neighbours."""
    touched = np.isin(series.days, np.array(fault.days))
    before = np.flatnonzero((series.days < min(fault.days)) & ~touched)[-NEIGHBOURS:]
    inside = np.flatnonzero(touched)[:NEIGHBOURS]
    if not len(before) or not len(inside):
        return None
    values = series.values()
    return abs(float(np.median(values[inside])) - float(np.median(values[before])))
