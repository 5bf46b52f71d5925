"""Without a recorded diagnosis, no first laboratory or home value lies at or beyond that disease's diagnostic limit."""

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.world.condition_effects import list_acting

CONTROLS = ("a_normal_first_value", "a_first_value_that_makes_the_diagnosis")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the first value of each series with a diagnostic limit."""
    known = set(case.item.record.profile.known_conditions)
    # What a condition that shows itself moves may well make its diagnosis.
    shown = {each.push.item for each in list_acting(case.gold.premise, case.knowledge) if not each.is_documented}
    findings: list[Finding] = []
    checked = 0
    for series in case.gold.chart.series:
        row = case.row(series.name)
        if row is None or row.diagnostic_high is None or row.diagnostic_of in known or series.name in shown or not len(series.ticks):
            continue
        checked += 1
        if int(series.ticks[0]) >= row.diagnostic_high * 10**series.decimals - 1e-9:
            value = print_tick(int(series.ticks[0]), series.decimals)
            place = f"{series.name}, day {int(series.days[0])}"
            findings.append(Finding("baseline_is_undiagnosed", place, value, f"below {row.diagnostic_high:g} without {row.diagnostic_of}"))
    return Outcome(checked, tuple(findings), "no series with a diagnostic limit is charted")
