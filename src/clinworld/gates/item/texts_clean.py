"""No text that would be delivered holds what the guard at the door refuses: hidden words, a later day, another language, the case id.

The same guard as before every delivery, here on every prompt the item can cause. Numbers have their own gates.
"""

from clinworld.access.leaks import SHORT, check_delivery
from clinworld.core.canary import CANARY
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding

CONTROLS = ("a_clean_prompt", "a_prompt_that_names_the_answer_key")
NAMED = ("analytes", "streams", "drugs", "conditions", "devices", "drivers", "artifacts", "outcomes")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over every prompt of the item. A case id that any patient's prompt may hold is not looked for."""
    case_id = case.gold.case_id
    forbidden = (CANARY, case_id) if is_distinctive(case_id, case.knowledge) else (CANARY,)
    findings = tuple(
        Finding("texts_clean", f"prompt {prompt.name}", f"{leak.check} {leak.found}", f"{leak.place}: {leak.allowed}")
        for prompt in case.prompts
        for leak in check_delivery(prompt.text, item=case.item, day=prompt.day, forbidden=forbidden)
    )
    return Outcome(len(case.prompts), findings, "the item causes no prompt")


def is_distinctive(case_id: str, knowledge: Knowledge) -> bool:
    """True when an id in a prompt can only have come from the case: long enough, letters and digits mixed, and no name of a row.

    A plain word or number (`patient`, `weight`, `100000`) stands in prompts of its own accord.
    """
    is_mixed = any(sign.isalpha() for sign in case_id) and any(sign.isdigit() for sign in case_id)
    return len(case_id) >= SHORT and is_mixed and all(knowledge.resolve(kind, case_id) is None for kind in NAMED)
