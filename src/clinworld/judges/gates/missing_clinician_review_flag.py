"""Fires when action is warranted and no review is asked for, where `premature_closure` does not fire already."""

from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.gates.premature_closure import is_closed
from clinworld.judges.reading import asks_review
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, cannot_fire, rule_each_turn
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "missing_clinician_review_flag"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns of an item on which action is warranted. An urgent class is review by itself."""
    if not subject.gold.gold.is_action_warranted:
        return cannot_fire(NAME, "no action is warranted")
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    return Ruling(not asks_review(turn.answer) and not is_closed(turn.answer), "no review asked for")


def _acts(is_reviewed: bool) -> Fields:
    return {"action": {"selected_action_class": "A3", "clinician_review_required": is_reviewed}}


DECLARES = GateDeclares(
    reads=("action.selected_action_class", "action.clinician_review_required", "tests_to_order", "gold.is_action_warranted"),
    needs="action_warranted",
    passes=lambda subject, day: _acts(True),
    fails=lambda subject, day: _acts(False),
)
