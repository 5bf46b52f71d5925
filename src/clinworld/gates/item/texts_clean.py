"""No text that would be delivered holds what the guard at the door refuses: hidden words, a later day, another language, the case id.

The same guard as before every delivery, here on every prompt the item can cause. Numbers have their own gates.
"""

from clinworld.access.leaks import check_delivery
from clinworld.core.canary import CANARY
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("a_clean_prompt", "a_prompt_that_names_the_answer_key")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over every prompt of the item."""
    findings = tuple(
        Finding("texts_clean", f"prompt {prompt.name}", f"{leak.check} {leak.found}", f"{leak.place}: {leak.allowed}")
        for prompt in case.prompts
        for leak in check_delivery(prompt.text, item=case.item, day=prompt.day, forbidden=(CANARY, case.gold.case_id))
    )
    return Outcome(len(case.prompts), findings, "the item causes no prompt")
