"""A jump that is meant to mislead still stands off its neighbours; a trap nobody can see is no trap."""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.schema.finding import Finding
from clinworld.schema.record import ChartFault, Series

CONTROLS = ("a_spike_that_stands_out", "a_spike_that_was_smoothed_away")
NEIGHBOURS = 10
FIRST_TOUCHED = 4
NEAR_DAYS = 42
LEAST_FOR_A_LINE = 4
NEAREST = 3


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over faults that invite a wrong revision."""
    findings: list[Finding] = []
    checked = 0
    every = tuple(day for fault in case.gold.faults for day in fault.days)
    for fault in case.gold.faults:
        row = case.knowledge.artifacts.get(fault.kind)
        series = case.gold.chart.find(fault.series)
        if row is None or row.turning_kind != "trap" or series is None or fault.size is None or not fault.days:
            continue
        checked += 1
        jump = read_jump(fault, series, every)
        size = fault.size if row.unit == series.unit else (fault.size - 1) * float(np.median(series.values()))
        least = case.knowledge.parameter("trap.min_share_of_size") * abs(size)
        if jump is None or jump * np.sign(size) < least:
            wanted = np.sign(size) * least
            said, limit = tell_apart(jump or 0.0, wanted, 1, sign="+")
            found = "no reading beside it" if jump is None else f"{said} {series.unit} from its neighbours"
            place = f"{fault.kind}, day {min(fault.days)}"
            findings.append(Finding("traps_stand_out", place, found, f"at least {limit} {series.unit}"))
    return Outcome(checked, tuple(findings), "no artifact with a jump")


def read_jump(fault: ChartFault, series: Series, faulty_days: tuple[int, ...]) -> float | None:
    """How far the first touched readings stand off the untouched ones near them, in the series' unit; None without neighbours.

    Off the line through them or off the level of the nearest ones, whichever is more: weight may fall or bend meanwhile.
    """
    days, values = series.days.astype(np.float64), series.values()
    touched = np.flatnonzero(np.isin(series.days, np.array(fault.days)))[:FIRST_TOUCHED]
    clean = ~np.isin(series.days, np.array(faulty_days))
    if not len(touched):
        return None
    first, last = days[touched[0]], max(fault.days)
    before = np.flatnonzero(clean & (days < first) & (days >= first - NEAR_DAYS))[-NEIGHBOURS:]
    after = np.flatnonzero(clean & (days > last) & (days <= last + NEAR_DAYS))[:NEIGHBOURS]
    beside = np.concatenate([before, after])
    if not len(beside):
        return None
    nearest = beside[np.argsort(np.abs(days[beside] - first), kind="stable")[:NEAREST]]
    off_level = float(np.median(values[touched])) - float(np.median(values[nearest]))
    x, y = days[beside], values[beside]
    if len(beside) < LEAST_FOR_A_LINE:
        return off_level
    slope = float(np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2))
    off_line = float(np.median(values[touched] - (y.mean() + slope * (days[touched] - x.mean()))))
    return max(off_level, off_line, key=abs)
