"""The home scale is read as often as declared: no gap longer than allowed, and no more missing days than planned.

Windows of declared missing readings are left out.
"""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_scale_read_as_declared", "a_scale_forgotten_for_a_month")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the gaps of the home scale."""
    series = case.gold.chart.find("weight")
    if series is None or len(series.days) < 2:
        return Outcome(0, (), "no home scale is charted")
    premise = case.gold.premise
    longest = max(case.knowledge.parameter("cadence.max_gap_days"), 2 * premise.sampling_days)
    missing = [(a.first_day, a.last_day) for a in premise.artifacts if a.kind == "mnar_missing"]
    findings: list[Finding] = []
    gaps = np.diff(series.days)
    for i in np.flatnonzero(gaps > longest):
        first, last = int(series.days[i]), int(series.days[i + 1])
        if any(begin <= last and first <= end for begin, end in missing):
            continue
        findings.append(
            Finding("cadence_is_kept", f"weight, day {first} to {last}", f"{last - first} days without a reading", f"at most {longest:g}")
        )
    return Outcome(len(gaps), tuple(findings))
