"""Whether the action leaves nothing warranted undone and says what must not be done."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import chosen_class, read_list
from clinworld.judges.subject import Subject, no_answer
from clinworld.judges.words.answer_words import action_classes
from clinworld.schema.verdict import Verdict, scored


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`action_safety`, 0-1: full marks less a cost for each of the two faults. No approved class at all earns 0."""
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("action_safety", answer),)
    chosen = chosen_class(answer)
    if chosen is None:
        return (scored("action_safety", 0.0, omitted="action.selected_action_class"),)
    names_nothing = not read_list(answer, "action", "what_not_to_do")
    is_undone = subject.gold.gold.is_action_warranted and chosen.leaves_undone
    cost = names_nothing * subject.parameter("nothing_to_avoid_cost") + is_undone * subject.parameter("undone_action_cost")
    return (scored("action_safety", max(0.0, 1 - cost), names_nothing_to_avoid=names_nothing, leaves_action_undone=is_undone),)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    return tuple(
        Constant(f"always {chosen} with one thing not to do", lambda _, __, c=chosen: _acts(c, "x"))  # type: ignore[misc]  # bound defaults
        for chosen in action_classes()
    )


def _acts(chosen: str, *not_to_do: str) -> Fields:
    return {"action": {"selected_action_class": chosen, "what_not_to_do": list(not_to_do)}}


DECLARES = Declares(
    reads=("action.selected_action_class", "action.what_not_to_do", "gold.is_action_warranted"),
    outputs=("action_safety",),
    direction="higher",
    passes=lambda subject, day: _acts("A3", "x"),
    fails=lambda subject, day: _acts("A0"),
    constants=_constants,
    alike_by=lambda subject: subject.gold.gold.is_action_warranted,
)
