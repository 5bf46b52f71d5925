"""How an agent revises: with something new to show for it, and not when nothing happened."""

from collections.abc import Mapping
from typing import Any

from clinworld.core.errors import StoreError
from clinworld.judges.declares import NO_SLICES, ONE_ANSWER, Declares, Fields
from clinworld.judges.reading import chosen_class, cited_ids, named_drivers, said_side
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.verdict import Verdict, scored, unmeasured

Belief = tuple[str | None, str | None, str | None]


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`revision_conduct`, 0-1: share of revisions that cite something first delivered since the former answer and are kept.

    A revision taken back at the next answer, or one more swing between the same two beliefs, earns nothing.

    `revision_conduct_stability`, 0-1: share of the steps in which nothing turned and no real symptom was told, that change no belief.
    Each is unmeasured when there is no such revision or step. A belief is the side taken, the class of action and the first driver.
    Raises StoreError when the gold does not say which notes are real.
    """
    if subject.item.record.notes and not subject.gold.origins:
        raise StoreError(
            f"gold of {subject.item.item_id}, origins", "nothing", "each note has an origin", do="Restore gold.jsonl or build again."
        )
    if not subject.answered:
        return no_answer("revision_conduct", subject.last.answer), no_answer("revision_conduct_stability", subject.last.answer)
    beliefs = [_belief(turn.answer) for turn in subject.answered]
    steps = range(1, len(beliefs))
    revised = [step for step in steps if beliefs[step] != beliefs[step - 1]]
    quiet = [step for step in steps if _is_quiet(subject, subject.answered[step - 1], subject.answered[step])]
    grounded = sum(_lasts(beliefs, step) and _cites_news(subject, step) for step in revised)
    steady = sum(step not in revised for step in quiet)
    counts = {"steps": len(steps), "revisions": len(revised), "grounded": grounded, "quiet_steps": len(quiet), "steady": steady}
    return (
        scored("revision_conduct", grounded / len(revised), **counts)
        if revised
        else unmeasured("revision_conduct", "no belief was revised", **counts),
        scored("revision_conduct_stability", steady / len(quiet), **counts)
        if quiet
        else unmeasured("revision_conduct_stability", "something turned in every step", **counts),
    )


def _belief(answer: Answer) -> Belief:
    chosen, named = chosen_class(answer), named_drivers(answer)
    return said_side(answer), chosen.id if chosen else None, named[0].driver if named else None


def _is_quiet(subject: Subject, former: RoundAnswer, later: RoundAnswer) -> bool:
    points = subject.gold.gold.turning_points
    real_notes = {origin.note_id for origin in subject.gold.origins if origin.kind in ("real", "look_alike")}
    told = any(former.day < note.day <= later.day and note.note_id in real_notes for note in subject.gold.chart.notes)
    turned = any(former.day < point.day <= later.day for point in points)
    return not told and not turned and not any(point.kind == "real" and point.day <= later.day for point in points)


def _cites_news(subject: Subject, step: int) -> bool:
    former, later = subject.answered[step - 1], subject.answered[step]
    return any(subject.delivered.is_new(cited, former.day, later.day) for cited in cited_ids(later.answer))


def _lasts(beliefs: list[Belief], step: int) -> bool:
    """False for a step that the next one takes back, and for one that goes on swinging between two beliefs."""
    is_taken_back = step + 1 < len(beliefs) and beliefs[step + 1] == beliefs[step - 1]
    is_swing = step >= 3 and beliefs[step] == beliefs[step - 2] and beliefs[step - 1] == beliefs[step - 3]
    return not is_taken_back and not is_swing


def _says(subject: Subject, day: int, category: str, *cited: str) -> Fields:
    return {"forecast": {"risk_category": category}, "cited_evidence": list(cited)}


def _right(subject: Subject, day: int) -> Fields:
    turned = any(point.kind == "real" and point.day <= day for point in subject.gold.gold.turning_points)
    series = max(subject.item.record.until(day).series, key=lambda each: int(each.days[-1]))
    return _says(subject, day, "high" if turned else "low", f"{series.name}@{series.days[-1]}")


def _wrong(subject: Subject, day: int) -> Fields:
    turn = [each.day for each in subject.answers].index(day)
    return _says(subject, day, "high" if turn % 2 else "low")


DECLARES = Declares(
    reads=("forecast.risk_category", "action.selected_action_class", "drivers", "cited_evidence", "gold.turning_points", "origins"),
    outputs=("revision_conduct", "revision_conduct_stability"),
    direction="higher",
    passes=_right,
    fails=_wrong,
    not_in={"slices": NO_SLICES, "single": ONE_ANSWER, "purchase": ONE_ANSWER, "query": ONE_ANSWER},
)
