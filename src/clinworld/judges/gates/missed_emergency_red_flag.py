"""Fires when the record shows a red flag and the action class is not an urgent one."""

from clinworld.judges.declares import GateDeclares
from clinworld.judges.reading import chosen_class
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, cannot_fire, rule_each_turn
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "missed_emergency_red_flag"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns of an item with a red flag. No class at all misses it too."""
    if not subject.gold.gold.has_red_flag:
        return cannot_fire(NAME, "no red flag")
    return rule_each_turn(NAME, subject, _rule)


def _rule(subject: Subject, turn: RoundAnswer) -> Ruling:
    chosen = chosen_class(turn.answer)
    return Ruling(chosen is None or not chosen.is_urgent, f"class {chosen.id if chosen else 'none'}")


DECLARES = GateDeclares(
    reads=("action.selected_action_class", "gold.has_red_flag"),
    needs="red_flag",
    passes=lambda subject, day: {"action": {"selected_action_class": "A5"}},
    fails=lambda subject, day: {"action": {"selected_action_class": "A2"}},
)
