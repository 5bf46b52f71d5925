"""Every charted value lies inside its row's hard bounds, in the row's unit and decimals, on ascending days of the course."""

import numpy as np

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series

CONTROLS = ("a_series_inside_its_bounds", "a_value_beyond_a_bound")


def find_row(name: str, knowledge: Knowledge) -> Analyte | Stream | None:
    """The knowledge row of a series, or None when there is none."""
    return knowledge.streams.get(name) or knowledge.analytes.get(name)


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all series of the whole chart."""
    findings: list[Finding] = []
    for series in case.gold.chart.series:
        findings += check_series(series, case.gold.premise.course_end_day, case.knowledge)
    return Outcome(len(case.gold.chart.series), tuple(findings), "the chart holds no series")


def check_series(series: Series, last_day: int, knowledge: Knowledge) -> list[Finding]:
    """What is impossible in one series."""
    place = f"series {series.name}"
    row = find_row(series.name, knowledge)
    if row is None:
        return [Finding("values_possible", place, "no knowledge row of that name")]
    findings: list[Finding] = []
    if series.unit != row.ucum:
        findings.append(Finding("values_possible", place, f"unit {series.unit}", f"the row has {row.ucum}"))
    if series.decimals != row.decimals:
        findings.append(Finding("values_possible", place, f"{series.decimals} decimals", f"the row has {row.decimals}"))
    days = series.days
    if len(days) and (days[0] < 0 or days[-1] > last_day or bool(np.any(np.diff(days) <= 0))):
        findings.append(Finding("values_possible", place, "days out of order or outside the course", f"0 to {last_day}, ascending"))
    scale = 10.0**series.decimals
    outside = np.flatnonzero((series.ticks < np.floor(row.hard_low * scale)) | (series.ticks > np.ceil(row.hard_high * scale)))
    for i in outside[:3]:
        value = print_tick(int(series.ticks[i]), series.decimals)
        findings.append(
            Finding("values_possible", f"{place}, day {int(days[i])}", value, f"possible: {row.hard_low:g} to {row.hard_high:g} {row.ucum}")
        )
    return findings
