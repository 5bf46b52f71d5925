"""The premise is legal and free of contradictions: known names, doses on the ladder, values in their domains, rules between keys."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.world.premise import check_premise

CONTROLS = ("a_premise_without_contradiction", "a_reversal_after_the_course_end")


def check(case: CaseUnderCheck) -> Outcome:
    """The premise's conflicts, as findings."""
    conflicts = check_premise(case.gold.premise, None, case.knowledge)
    return Outcome(1, tuple(Finding(conflict.kind, conflict.place, conflict.found, conflict.limit) for conflict in conflicts))
