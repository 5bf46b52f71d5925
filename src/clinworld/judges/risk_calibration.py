"""How close the stated risk came to what happened: 1 - (risk - outcome)^2, less when the risk category points the wrong way."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import said_risk, said_side
from clinworld.judges.subject import Subject, no_answer
from clinworld.judges.words.answer_words import risk_sides
from clinworld.schema.verdict import Verdict, scored, unmeasured

STEPS = 250  # a constant between two steps could be better by 0.000004 at most


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`risk_calibration`, 0-1. A risk that was left out is unmeasured; it is never read as an even chance.

    Calling the outcome indeterminate is the wrong way only when the event happened; a category left out is never the right way.
    """
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("risk_calibration", answer),)
    risk, side = said_risk(answer), said_side(answer)
    if risk is None:
        return (unmeasured("risk_calibration", "no risk was stated", omitted="forecast.risk"),)
    happened = subject.gold.gold.event_occurs
    is_right_way = side == "event" if happened else side in ("no_event", "abstains")
    factor = 1.0 if is_right_way else subject.parameter("wrong_direction_factor")
    error = (risk - happened) ** 2
    return (scored("risk_calibration", (1 - error) * factor, brier=round(error, 4), is_right_way=is_right_way),)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    one_a_side = {side: category for category, side in risk_sides().items()}
    return tuple(
        Constant(f"always risk {step / STEPS:.3f}, {category}", lambda _, __, r=step / STEPS, c=category: _says(r, c))  # type: ignore[misc]  # bound defaults
        for category in one_a_side.values()
        for step in range(STEPS + 1)
    )


def _says(risk: float, category: str) -> Fields:
    return {"forecast": {"risk": risk, "risk_category": category}}


def _right(subject: Subject, day: int) -> Fields:
    return _says(1.0, "high") if subject.gold.gold.event_occurs else _says(0.0, "low")


def _wrong(subject: Subject, day: int) -> Fields:
    return _says(0.0, "low") if subject.gold.gold.event_occurs else _says(1.0, "high")


DECLARES = Declares(
    reads=("forecast.risk", "forecast.risk_category", "gold.event_occurs"),
    outputs=("risk_calibration",),
    direction="higher",
    passes=_right,
    fails=_wrong,
    constants=_constants,
    alike_by=lambda subject: subject.gold.gold.event_occurs,
)
