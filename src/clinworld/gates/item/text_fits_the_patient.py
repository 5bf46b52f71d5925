"""No note says something only the other sex or another age could say."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_complaint_anyone_has", "a_complaint_of_the_other_sex")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over notes drawn from event rows."""
    profile = case.item.record.profile
    findings: list[Finding] = []
    checked = 0
    for origin in case.gold.origins:
        row = case.knowledge.events.get(origin.row)
        if row is None:
            continue
        checked += 1
        if row.sex and row.sex != profile.sex:
            findings.append(
                Finding("text_fits_the_patient", f"note {origin.note_id}", f"{row.id} for sex {profile.sex}", f"only sex {row.sex}")
            )
        low, high = row.age_low or 0, row.age_high or 200
        if profile.age_high < low or profile.age_low > high:
            age = f"{profile.age_low}-{profile.age_high}"
            findings.append(Finding("text_fits_the_patient", f"note {origin.note_id}", f"{row.id} at age {age}", f"ages {low} to {high}"))
    return Outcome(checked, tuple(findings), "no note came from an event row")
