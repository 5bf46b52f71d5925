"""Whether the risk category points to what happened. Abstaining is no error and no hit; it is counted apart."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import said_side
from clinworld.judges.subject import Subject, no_answer
from clinworld.judges.words.answer_words import risk_sides
from clinworld.schema.verdict import Verdict, scored, unmeasured


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`direction`: 1 when the side taken is what happened, else 0. No known category at all earns 0; an abstention is unmeasured."""
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("direction", answer),)
    side = said_side(answer)
    if side is None:
        return (scored("direction", 0.0, omitted="forecast.risk_category"),)
    if side == "abstains":
        return (unmeasured("direction", "the answer abstained", abstained=True),)
    return (scored("direction", (side == "event") == subject.gold.gold.event_occurs, side=side),)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    return tuple(Constant(f"always {category}", lambda _, __, c=category: _says(c)) for category in risk_sides())  # type: ignore[misc]  # bound defaults


def _says(category: str) -> Fields:
    return {"forecast": {"risk_category": category}}


DECLARES = Declares(
    reads=("forecast.risk_category", "gold.event_occurs"),
    outputs=("direction",),
    direction="higher",
    passes=lambda subject, day: _says("high" if subject.gold.gold.event_occurs else "low"),
    fails=lambda subject, day: _says("low" if subject.gold.gold.event_occurs else "high"),
    constants=_constants,
    alike_by=lambda subject: subject.gold.gold.event_occurs,
)
