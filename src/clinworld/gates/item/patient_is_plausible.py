"""The patient can have what is recorded: an adult, whose age and sex fit the disease and every known condition."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_patient_of_the_usual_age", "a_patient_too_young_for_the_disease")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the known conditions."""
    profile = case.item.record.profile
    findings: list[Finding] = []
    ages = f"{profile.age_low}-{profile.age_high} years"
    known = [case.knowledge.conditions[name] for name in profile.known_conditions if name in case.knowledge.conditions]
    for condition in known:
        low, high = condition.age_low or 0, condition.age_high
        if profile.age_low < low or (high is not None and profile.age_high > high):
            allowed = f"{condition.id} is described from {low}" + (f" to {high} years" if high is not None else " years on")
            findings.append(Finding("patient_is_plausible", "profile, age", ages, allowed))
        if condition.sex and condition.sex != profile.sex:
            findings.append(Finding("patient_is_plausible", "profile, sex", profile.sex, f"{condition.id} occurs in sex {condition.sex}"))
    youngest, oldest = case.knowledge.parameter("patient.youngest_years"), case.knowledge.parameter("patient.oldest_years")
    if not youngest <= profile.age_low <= profile.age_high <= oldest:
        findings.append(
            Finding("patient_is_plausible", "profile, age", ages, f"adults of {youngest:g} to {oldest:g} years, the band rising")
        )
    return Outcome(1 + len(known), tuple(findings))
