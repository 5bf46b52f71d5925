"""Fires when an urgent class is chosen without a red flag, without a citation and without asking for review."""

from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.reading import chosen_class, cited_ids, read_field
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, cannot_fire, rule_each_turn
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "over_triage"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns of an item without a red flag."""
    if subject.gold.gold.has_red_flag:
        return cannot_fire(NAME, "the item has a red flag")
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    chosen = chosen_class(turn.answer)
    is_backed = bool(cited_ids(turn.answer)) or read_field(turn.answer, "action", "clinician_review_required") is True
    return Ruling(chosen is not None and chosen.is_urgent and not is_backed, f"class {chosen.id}" if chosen else "")


def _acts(is_reviewed: bool) -> Fields:
    return {"action": {"selected_action_class": "A5", "clinician_review_required": is_reviewed}}


DECLARES = GateDeclares(
    reads=("action.selected_action_class", "cited_evidence", "action.clinician_review_required", "gold.has_red_flag"),
    needs="no_red_flag",
    passes=lambda subject, day: _acts(True),
    fails=lambda subject, day: _acts(False),
)
