"""Whether clinician review is asked for exactly where action is warranted."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import asks_review, chosen_class, read_field
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, scored


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`review_flag`: 1 when review is asked for and action warranted, or neither. An urgent class asks for review by itself.

    Average it within the stratum `review`: asking always and never both sit at one half there. Saying neither flag nor class earns 0.
    """
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("review_flag", answer),)
    if not isinstance(read_field(answer, "action", "clinician_review_required"), bool) and chosen_class(answer) is None:
        return (scored("review_flag", 0.0, omitted="action.clinician_review_required"),)
    is_asked = asks_review(answer)
    return (scored("review_flag", is_asked == subject.gold.gold.is_action_warranted, is_asked=is_asked),)


def _flags(is_asked: bool) -> Fields:
    return {"action": {"clinician_review_required": is_asked}}


DECLARES = Declares(
    reads=("action.clinician_review_required", "action.selected_action_class", "gold.is_action_warranted"),
    outputs=("review_flag",),
    direction="higher",
    passes=lambda subject, day: _flags(subject.gold.gold.is_action_warranted),
    fails=lambda subject, day: _flags(not subject.gold.gold.is_action_warranted),
    constants=lambda subject: (
        Constant("always asks for review", lambda _, __: _flags(True)),
        Constant("never asks for review", lambda _, __: _flags(False)),
    ),
    alike_by=lambda subject: subject.gold.gold.is_action_warranted,
)
