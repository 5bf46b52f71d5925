"""The drug is indicated for the disease; its charted doses go by declared steps, spaced as its titration asks."""

from collections.abc import Sequence
from itertools import pairwise

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.rows import Drug
from clinworld.schema.finding import Finding
from clinworld.schema.premise import Premise
from clinworld.schema.record import Prescription

CONTROLS = ("a_drug_for_its_disease", "a_dose_off_the_ladder")
GATE = "drug_is_indicated"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the drug and its charted prescriptions."""
    premise = case.gold.premise
    drug = case.knowledge.drugs[premise.drug]
    top = dict(drug.indications).get(premise.patient.disease)
    findings: list[Finding] = []
    if top is None:
        allowed = ", ".join(condition for condition, _ in drug.indications)
        findings.append(Finding(GATE, premise.drug, f"given for {premise.patient.disease}", f"indicated for {allowed}"))
    orders = case.gold.chart.prescriptions
    for order in orders:
        findings += check_order(order, drug, top)
    findings += check_steps(orders, premise, drug)
    return Outcome(1 + len(orders), tuple(findings))


def check_order(order: Prescription, drug: Drug, top: float | None) -> list[Finding]:
    """What is wrong with one order on its own."""
    place, dose = f"prescription, day {order.day}", f"{order.dose:g} {order.unit}"
    if order.drug != drug.id:
        return [Finding(GATE, place, order.drug, f"the case is treated with {drug.id}")]
    if (order.unit, order.frequency) != (drug.dose_unit, drug.frequency):
        return [Finding(GATE, place, f"{order.unit}, {order.frequency}", f"given in {drug.dose_unit}, {drug.frequency}")]
    if order.dose not in drug.ladder:
        return [Finding(GATE, place, dose, "ladder " + ", ".join(f"{step:g}" for step in drug.ladder))]
    if top is not None and order.dose > top:
        return [Finding(GATE, place, dose, f"at most {top:g} for this disease")]
    return []


def check_steps(orders: Sequence[Prescription], premise: Premise, drug: Drug) -> list[Finding]:
    """What is wrong with the orders taken together: they start low, go one declared step at a time, and rise no faster than allowed."""
    steps = premise.dose_steps
    declared = ", ".join(f"{dose:g}" for dose in steps)
    if not orders or orders[0].day != 0 or orders[0].dose != steps[0]:
        found = f"{orders[0].dose:g} on day {orders[0].day}" if orders else "none"
        return [Finding(GATE, "prescriptions", found, f"the first declared step of {declared} on day 0")]
    findings: list[Finding] = []
    for before, after in pairwise(orders):
        place = f"prescription, day {after.day}"
        if after.dose not in steps or before.dose not in steps or abs(steps.index(after.dose) - steps.index(before.dose)) != 1:
            findings.append(Finding(GATE, place, f"{before.dose:g} to {after.dose:g}", f"one step of {declared} at a time"))
        elif after.dose > before.dose and after.day - before.day < drug.min_titration_days:
            found = f"{after.day - before.day} days after the step before"
            findings.append(Finding(GATE, place, found, f"at least {drug.min_titration_days}"))
    return findings
