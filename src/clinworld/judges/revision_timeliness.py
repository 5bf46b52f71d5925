"""Whether beliefs turn when the picture turns, and only then: reversals recognised soon, traps seen through."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from clinworld.judges.declares import NO_SLICES, ONE_ANSWER, Constant, Declares, Fields
from clinworld.judges.reading import said_side
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, scored, unmeasured

Beliefs = tuple[tuple[int, str | None], ...]  # (day, side said; None when nothing usable was said)


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`revision_timeliness`, 0-1.

    A reversal earns 1 - lag / (late_cadences x cadence): days from the first round that shows it to the first round from which the
    event side is held to the end. A trap fools an answer that takes the event side within a cadence of it, before any reversal; a side
    held from before the trap to the end is no fault where the event happens. Each trap costs the same share of what traps weigh: full
    marks where there are only traps, less beside a reversal. Nothing that turns within the rounds is unmeasured.
    """
    days = [each.day for each in subject.answers]
    points = [point for point in subject.gold.gold.turning_points if point.day <= days[-1]]
    real = [next(day for day in days if day >= point.day) for point in points if point.kind == "real"]
    traps = [point.day for point in points if point.kind == "trap"]
    if not real and not traps:
        return (unmeasured("revision_timeliness", "neither a reversal nor a trap within the rounds"),)
    if not subject.answered:
        return (no_answer("revision_timeliness", subject.last.answer),)
    beliefs: Beliefs = tuple((each.day, said_side(each.answer)) for each in subject.answers)
    held = _held_from(beliefs)
    late = subject.parameter("late_cadences") * subject.item.cadence_days
    lags = [None if held is None else max(0, held - day) for day in real]
    timely = fmean(0.0 if lag is None else max(0.0, 1 - lag / late) for lag in lags) if real else 1.0
    right_from = held if subject.gold.gold.event_occurs else None
    is_right_throughout = right_from == days[0]
    open_traps = [] if is_right_throughout else [trap for trap in traps if right_from is None or trap < right_from]
    fooled = [trap for trap in open_traps if _is_fooled(beliefs, trap, subject.item.cadence_days, real)]
    cost = subject.parameter("trap_cost_beside_reversal" if real else "trap_cost_alone") * len(fooled) / len(traps) if traps else 0.0
    return (scored("revision_timeliness", max(0.0, timely - cost), lags=lags, traps=len(traps), fooled_on=fooled),)


def _held_from(beliefs: Beliefs) -> int | None:
    """First day from which the event side is held to the end, None when it is not held at the end."""
    held = None
    for day, side in reversed(beliefs):
        if side != "event":
            break
        held = day
    return held


def _is_fooled(beliefs: Beliefs, trap: int, cadence_days: int, real: list[int]) -> bool:
    after = [(day, side) for day, side in beliefs if trap <= day <= trap + cadence_days] or [beliefs[0]]
    took_side = any(side == "event" and not any(turn <= day for turn in real) for day, side in after)
    # Silence sees through nothing.
    return took_side or all(side is None for _, side in after)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    turn = {each.day: number for number, each in enumerate(subject.answers)}

    def alternates(first: int) -> Constant:
        return Constant(
            "low and high in turn" if first == 0 else "high and low in turn",
            lambda _, day: _says("high" if (turn[day] + first) % 2 else "low"),
        )

    return (
        Constant("always low", lambda _, __: _says("low")),
        Constant("always high", lambda _, __: _says("high")),
        alternates(0),
        alternates(1),
    )


def _says(category: str) -> Fields:
    return {"forecast": {"risk_category": category}}


def _reversed_on(subject: Subject) -> list[int]:
    return [point.day for point in subject.gold.gold.turning_points if point.kind == "real"]


def _right(subject: Subject, day: int) -> Fields:
    return _says("high" if any(turn <= day for turn in _reversed_on(subject)) else "low")


def _wrong(subject: Subject, day: int) -> Fields:
    return _says("low" if _reversed_on(subject) else "high")


DECLARES = Declares(
    reads=("forecast.risk_category of every round", "gold.turning_points"),
    outputs=("revision_timeliness",),
    direction="higher",
    passes=_right,
    fails=_wrong,
    not_in={"slices": NO_SLICES, "single": ONE_ANSWER, "purchase": ONE_ANSWER, "query": ONE_ANSWER},
    constants=_constants,
    alike_by=lambda subject: (
        subject.gold.gold,
        subject.item.cadence_days,
        tuple(each.day for each in subject.answers),
    ),
)
