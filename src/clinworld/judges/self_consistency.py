"""Whether the parts of one answer agree with each other."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Declares, Fields
from clinworld.judges.reading import chosen_class, named_drivers, read_field, said_risk, said_side
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.answer import Answer
from clinworld.schema.verdict import Verdict, scored, unmeasured


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`self_consistency`, 0-1: share of the comparisons an answer allows that hold; unmeasured when it allows none."""
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("self_consistency", answer),)
    made = {name: holds for name, holds in _comparisons(answer, subject.parameter("even_risk")).items() if holds is not None}
    if not made:
        return (unmeasured("self_consistency", "no two parts of the answer can be compared"),)
    broken = [name for name, holds in made.items() if not holds]
    return (scored("self_consistency", 1 - len(broken) / len(made), compared=len(made), broken=broken),)


def _comparisons(answer: Answer, even_risk: float) -> dict[str, bool | None]:
    risk, side, chosen = said_risk(answer), said_side(answer), chosen_class(answer)
    review = read_field(answer, "action", "clinician_review_required")
    named = named_drivers(answer)
    status = named[0].causal_status if named else None
    return {
        "risk_and_category": None if risk is None or side in (None, "abstains") else (risk >= even_risk) == (side == "event"),
        "first_driver_is_believed": None if status is None else status != "contradicted",
        "urgent_class_and_review": None if chosen is None or not chosen.is_urgent or review is None else review is True,
    }


def _says(risk: float, category: str) -> Fields:
    return {"forecast": {"risk": risk, "risk_category": category}}


DECLARES = Declares(
    reads=("forecast", "drivers", "action.selected_action_class", "action.clinician_review_required"),
    outputs=("self_consistency",),
    direction="higher",
    passes=lambda subject, day: _says(0.9, "high"),
    fails=lambda subject, day: _says(0.9, "low"),
)
