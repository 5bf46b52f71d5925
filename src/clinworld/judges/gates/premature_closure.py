"""Fires when warranted action is closed off: a class that ends the matter, no tests and no review."""

from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.reading import asks_review, chosen_class, proposed_tests
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, cannot_fire, rule_each_turn
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "premature_closure"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns of an item on which action is warranted."""
    if not subject.gold.gold.is_action_warranted:
        return cannot_fire(NAME, "no action is warranted")
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    chosen = chosen_class(turn.answer)
    return Ruling(is_closed(turn.answer), f"class {chosen.id} without tests or review" if chosen else "")


def is_closed(answer: Answer) -> bool:
    """Whether an answer ends the matter with neither tests nor review."""
    chosen = chosen_class(answer)
    return chosen is not None and chosen.closes_case and not asks_review(answer) and not proposed_tests(answer)


def _acts(is_reviewed: bool) -> Fields:
    return {"action": {"selected_action_class": "A0", "clinician_review_required": is_reviewed}}


DECLARES = GateDeclares(
    reads=("action.selected_action_class", "action.clinician_review_required", "tests_to_order", "gold.is_action_warranted"),
    needs="action_warranted",
    passes=lambda subject, day: _acts(True),
    fails=lambda subject, day: _acts(False),
)
