"""What was declared for this case acted in it: symptoms, rates, distractors, findings. A mechanism that did nothing shows as zero.

Faults in the measurements have their own gate (`artifacts_act`); what acts by chance (repeated readings, non-wear) may be absent.
"""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_case_in_which_everything_acted", "a_rate_that_yielded_nothing")
BY_CHANCE = ("carried_forward", "non_wear", "missingness:", "adherence_dip", "artifact:")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the declared mechanisms."""
    declared = [(name, times) for name, times in case.gold.acted if not name.startswith(BY_CHANCE)]
    findings = tuple(
        Finding("declared_acts", name, "acted 0 times", "what a case declares acts in it") for name, times in declared if times == 0
    )
    return Outcome(len(declared), findings, "nothing was declared that must act")
