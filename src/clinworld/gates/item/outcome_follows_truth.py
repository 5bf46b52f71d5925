"""The outcome that the label rule reads from the true weight is the declared one, and the one gold says."""

import numpy as np

from clinworld.core.units import from_ticks
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.world.label import DECIMALS, event_occurs

CONTROLS = ("a_true_weight_that_keeps_its_promise", "a_true_weight_that_never_comes_back")
HAPPENS = {"regain": True, "maintain": False}


def check(case: CaseUnderCheck) -> Outcome:
    """A finding where truth, premise and gold do not say the same."""
    gold, rule = case.gold, case.knowledge.outcomes[case.gold.premise.target_event]
    weight = from_ticks(gold.truth_weight_ticks, DECIMALS)
    occurs = event_occurs(np.arange(len(weight)), weight, start_kg=float(weight[0]), rule=rule)
    findings = [
        Finding("outcome_follows_truth", place, said, f"the true weight says {occurs}")
        for place, said, means in (
            ("premise.outcome", gold.premise.outcome, HAPPENS[gold.premise.outcome]),
            ("gold.event_occurs", str(gold.gold.event_occurs), gold.gold.event_occurs),
        )
        if means != occurs
    ]
    if len(weight) != gold.premise.course_end_day + 1:
        found = f"{len(weight)} days"
        findings.append(Finding("outcome_follows_truth", "true weight", found, f"the course has {gold.premise.course_end_day + 1}"))
    return Outcome(1, tuple(findings))
