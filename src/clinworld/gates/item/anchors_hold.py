"""The written start and lowest weight are those of the true course, and the first charted weight is near the start."""

from clinworld.core.units import from_ticks
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_course_through_its_anchors", "a_course_that_misses_its_low_point")
TRUTH_DECIMALS = 2


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for the start, the low point and the first reading of the home scale."""
    premise = case.gold.premise
    weight = from_ticks(case.gold.truth_weight_ticks, TRUTH_DECIMALS)
    tolerance, first_tolerance = case.knowledge.parameter("anchor.tolerance_kg"), case.knowledge.parameter("anchor.first_reading_kg")
    readings = [
        ("true weight, day 0", float(weight[0]), premise.start_weight_kg, tolerance),
        ("lowest true weight", float(weight.min()), premise.nadir_weight_kg, tolerance),
    ]
    home = case.gold.chart.find("weight")
    if home is not None and len(home.days):
        readings.append((f"home scale, day {int(home.days[0])}", float(home.values()[0]), premise.start_weight_kg, first_tolerance))
    findings = tuple(
        Finding("anchors_hold", place, f"{found:.2f} kg", f"{wanted:.2f} ± {most:g} kg")
        for place, found, wanted, most in readings
        if abs(found - wanted) > most
    )
    return Outcome(len(readings), findings)
