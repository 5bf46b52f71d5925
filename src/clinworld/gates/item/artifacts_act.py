"""Every declared artifact touched readings, where it was planned; what is charted as left out is not there, anything else is.

What befalls specimens and methods is declared by no case: such a fault stands where its results and their specimens are charted.
"""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.schema.premise import PlannedArtifact
from clinworld.schema.record import ChartFault, Record

CONTROLS = ("an_artifact_with_its_reading", "an_artifact_that_touched_nothing")
LEFT_OUT = "mnar_missing"
LASTING = "device_switch"
NEAREST = "transient_spike"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the declared artifacts."""
    reach = case.knowledge.parameter("spike_reach_days")
    of_laboratory = [fault for fault in case.gold.faults if fault.kind in case.knowledge.factors]
    left = [fault for fault in case.gold.faults if fault.days and fault.kind not in case.knowledge.factors]
    findings: list[Finding] = []
    for planned in case.gold.premise.artifacts:
        place = f"{planned.kind}, day {planned.first_day}"
        fault = next((fault for fault in left if fault.kind == planned.kind and lies_where_planned(fault, planned, reach)), None)
        if fault is None:
            found = "no reading it touched there"
            findings.append(Finding("artifacts_act", place, found, f"it is declared for day {planned.first_day} to {planned.last_day}"))
            continue
        left.remove(fault)
        series = case.gold.chart.find(fault.series)
        present = 0 if series is None else int(np.count_nonzero(np.isin(series.days, np.array(fault.days))))
        wanted = 0 if fault.kind == LEFT_OUT else len(fault.days)
        if present != wanted:
            findings.append(Finding("artifacts_act", place, f"{present} of its {len(fault.days)} days charted", f"{wanted} are expected"))
    findings += [
        Finding("artifacts_act", f"{fault.kind}, day {min(fault.days)}", "not declared", "no fault stands without a plan") for fault in left
    ]
    findings += [finding for fault in of_laboratory for finding in check_laboratory_fault(fault, case.gold.chart)]
    return Outcome(len(case.gold.premise.artifacts) + len(of_laboratory), tuple(findings), "no artifact declared")


def check_laboratory_fault(fault: ChartFault, chart: Record) -> list[Finding]:
    """What keeps a fault of specimens or methods from having acted: results it moved that are not charted, or have no specimen."""
    place = f"{fault.kind}, {fault.series}"
    series = chart.find(fault.series)
    charted = set() if series is None else set(series.days.tolist())
    drawn = {specimen.day for specimen in chart.specimens}
    missing = sorted(day for day in fault.days if day not in charted or day not in drawn)
    if missing:
        return [Finding("artifacts_act", f"{place}, day {missing[0]}", "no result of a specimen there", "a fault touches charted results")]
    if not fault.days:
        return [Finding("artifacts_act", place, "no reading it touched", "a fault touches charted results")]
    return []


def lies_where_planned(fault: ChartFault, planned: PlannedArtifact, reach: float) -> bool:
    """True when all days of a fault lie in the planned window; a spike may land some days off, a changed scale stays to the end."""
    if planned.kind == NEAREST:
        return len(fault.days) == 1 and abs(fault.days[0] - planned.first_day) <= reach
    return planned.first_day <= min(fault.days) and (planned.kind == LASTING or max(fault.days) <= planned.last_day)
