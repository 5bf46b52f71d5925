"""The drug is indicated for the disease, its doses are on the ladder and below the indication's top."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_drug_for_its_disease", "a_dose_above_the_indication")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the charted prescriptions."""
    premise = case.gold.premise
    drug = case.knowledge.drugs[premise.drug]
    top = dict(drug.indications).get(premise.patient.disease)
    findings: list[Finding] = []
    if top is None:
        allowed = ", ".join(condition for condition, _ in drug.indications)
        findings.append(Finding("drug_is_indicated", premise.drug, f"given for {premise.patient.disease}", f"indicated for {allowed}"))
    for prescription in case.gold.chart.prescriptions:
        place = f"prescription, day {prescription.day}"
        if prescription.drug != premise.drug:
            continue
        if prescription.dose not in drug.ladder:
            ladder = ", ".join(f"{dose:g}" for dose in drug.ladder)
            findings.append(Finding("drug_is_indicated", place, f"{prescription.dose:g} {prescription.unit}", f"ladder {ladder}"))
        elif top is not None and prescription.dose > top:
            findings.append(
                Finding("drug_is_indicated", place, f"{prescription.dose:g} {prescription.unit}", f"at most {top:g} for this disease")
            )
    return Outcome(1 + len(case.gold.chart.prescriptions), tuple(findings))
