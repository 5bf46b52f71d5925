"""No series starts before day 0 or reaches past the course's end, and the home scale reaches near enough to the end to tell the outcome."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("series_that_end_with_the_course", "a_series_past_the_course_end")
GATE = "series_stay_in_the_course"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all series of the whole chart, its notes and its orders."""
    chart, end = case.gold.chart, case.gold.premise.course_end_day
    allowed = f"day 0 to {end}"
    findings: list[Finding] = []
    for series in chart.series:
        if len(series.days) and (int(series.days[0]) < 0 or int(series.days[-1]) > end):
            found = f"day {int(series.days[0])} to {int(series.days[-1])}"
            findings.append(Finding(GATE, f"series {series.name}", found, allowed))
    outside = [(f"note {note.note_id}", note.day) for note in chart.notes] + [("prescription", order.day) for order in chart.prescriptions]
    findings += [Finding(GATE, place, f"day {day}", allowed) for place, day in outside if not 0 <= day <= end]
    home, most = chart.find("weight"), case.knowledge.parameter("horizon.most_days_short")
    last = max([artifact.last_day for artifact in case.gold.premise.artifacts if artifact.kind == "mnar_missing"], default=0)
    if home is not None and len(home.days) and end - max(int(home.days[-1]), min(last, end)) > most:
        findings.append(Finding(GATE, "series weight", f"ends on day {int(home.days[-1])}", f"at most {most:g} days before day {end}"))
    return Outcome(len(chart.series), tuple(findings), "the chart holds no series")
