"""Nothing is dispensed before it is ordered, and every pack is of the dose then in force."""

from collections.abc import Sequence
from itertools import pairwise

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.record import Dispensing, PastPrescription, Prescription

CONTROLS = ("packs_of_the_orders_in_force", "a_pack_before_its_order")
GATE = "dispensing_follows_orders"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the packs of the whole chart."""
    chart = case.gold.chart
    past = chart.history.prescriptions if chart.history is not None else ()
    findings = check_dispensing(chart.dispensing, chart.prescriptions, case.knowledge, past)
    return Outcome(len(chart.dispensing), tuple(findings), "nothing is dispensed in the chart")


def check_dispensing(
    packs: Sequence[Dispensing], orders: Sequence[Prescription], knowledge: Knowledge, past: Sequence[PastPrescription] = ()
) -> list[Finding]:
    """What is impossible in packs beside the orders they were fetched on; of the `past` ones those still in force on day 0 count too."""
    still = [Prescription(each.first_day, each.drug, each.dose, each.unit, "") for each in past if each.last_day is None]
    most = knowledge.parameter("dispensing.most_days")
    findings: list[Finding] = []
    for pack in packs:
        place = f"pack of {pack.drug}, day {pack.day}"
        before = [order for order in (*still, *orders) if order.drug == pack.drug and order.day <= pack.day]
        if not before:
            findings.append(Finding(GATE, place, f"{pack.dose:g} {pack.unit}", "after an order of the drug"))
            continue
        order = max(before, key=lambda each: each.day)
        if (pack.dose, pack.unit) != (order.dose, order.unit):
            findings.append(Finding(GATE, place, f"{pack.dose:g} {pack.unit}", f"{order.dose:g} {order.unit}, ordered on day {order.day}"))
        if not 1 <= pack.days_supplied <= most:
            findings.append(Finding(GATE, place, f"for {pack.days_supplied} days", f"for 1 to {most:g} days"))
    for earlier, later in pairwise(packs):
        if later.day < earlier.day:
            place = f"pack of {later.drug}, day {later.day}"
            findings.append(Finding(GATE, place, f"after day {earlier.day}", "packs in order of their days"))
    return findings
