"""No text that would be delivered holds hidden content: no gold word, no later day, no unusual hidden value in any printed form.

The hidden values searched for are those of the chart after the last day shown, of the true weight, and of the declared controls, when
they are unusual enough (three or more digits, absent from the visible record) that finding one is no coincidence.
"""

import re

from clinworld.access.leaks import check_delivery
from clinworld.core.canary import CANARY
from clinworld.gates.case import CaseUnderCheck, Outcome, Prompt
from clinworld.schema.finding import Finding

CONTROLS = ("a_clean_prompt", "a_prompt_with_a_planted_value")
NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over every prompt of the item."""
    findings: list[Finding] = []
    for prompt in case.prompts:
        findings += check_delivery(prompt.text, item=case.item, day=prompt.day, forbidden=(CANARY, case.gold.case_id))
        findings += check_values(prompt, hidden_values(case))
    return Outcome(len(case.prompts), tuple(findings), "the item causes no prompt")


def hidden_values(case: CaseUnderCheck) -> dict[str, str]:
    """Unusual printed forms of hidden numbers → what they are."""
    premise = case.gold.premise
    numbers = {
        "adherence_low": premise.adherence_low,
        "drug_response": premise.drug_response,
        "regain_kg_per_week": premise.regain_kg_per_week,
    }
    forms: dict[str, str] = {}
    for name, number in numbers.items():
        for decimals in (3, 4, 5):
            printed = f"{number:.{decimals}f}"
            if len(printed.rstrip("0").split(".")[1]) >= 3:
                forms[printed] = name
        if number != round(number, 2):
            forms[repr(number)] = name
    return forms


def check_values(prompt: Prompt, forms: dict[str, str]) -> list[Finding]:
    """Hidden forms that stand in a prompt as whole numbers."""
    if not forms:
        return []
    said = set(NUMBER.findall(prompt.text))
    return [
        Finding("texts_clean", f"prompt {prompt.name}", f"the hidden value {form} ({what})", "hidden values are not delivered")
        for form, what in forms.items()
        if form in said
    ]
