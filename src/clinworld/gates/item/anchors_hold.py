"""The written start and lowest weight are those of the true course, and the first charted weight is near the start."""

from clinworld.core.units import from_ticks
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_course_through_its_anchors", "a_course_that_misses_its_low_point")
TRUTH_DECIMALS = 2


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for the start and the low point."""
    premise = case.gold.premise
    weight = from_ticks(case.gold.truth_weight_ticks, TRUTH_DECIMALS)
    tolerance = case.knowledge.parameter("anchor.tolerance_kg")
    findings: list[Finding] = []
    if abs(weight[0] - premise.start_weight_kg) > tolerance:
        findings.append(
            Finding("anchors_hold", "true weight, day 0", f"{weight[0]:.2f} kg", f"{premise.start_weight_kg:g} ± {tolerance:g} kg")
        )
    lowest = float(weight.min())
    if abs(lowest - premise.nadir_weight_kg) > tolerance:
        findings.append(
            Finding("anchors_hold", "lowest true weight", f"{lowest:.2f} kg", f"{premise.nadir_weight_kg:g} ± {tolerance:g} kg")
        )
    home = case.gold.chart.find("weight")
    first_tolerance = case.knowledge.parameter("anchor.first_reading_kg")
    if home is not None and len(home.days) and abs(float(home.values()[0]) - premise.start_weight_kg) > first_tolerance:
        found = f"{float(home.values()[0]):.1f} kg"
        findings.append(
            Finding("anchors_hold", f"home scale, day {int(home.days[0])}", found, f"{premise.start_weight_kg:g} ± {first_tolerance:g} kg")
        )
    return Outcome(2, tuple(findings))
