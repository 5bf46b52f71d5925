"""What the gates share: a rule asked of each answered turn, and the count of turns that were judged and that failed."""

from collections.abc import Callable
from typing import NamedTuple

from clinworld.judges.subject import Subject
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.verdict import GateVerdict


class Ruling(NamedTuple):
    """A gate's word on one turn: fired, let pass, or None where it cannot tell. `detail` says on what."""

    hit: bool | None
    detail: str = ""


def rule_each_turn(name: str, subject: Subject, rule: Callable[[Subject, RoundAnswer], Ruling]) -> GateVerdict:
    """The gate's verdict over the answered turns. A turn it cannot judge is in neither number; silence trips nothing and is not judged."""
    rulings = [(each.day, rule(subject, each)) for each in subject.answered]
    judged = [(day, ruling) for day, ruling in rulings if ruling.hit is not None]
    failed = [(day, ruling) for day, ruling in judged if ruling.hit]
    if not judged:
        why = rulings[0][1].detail if rulings else f"no usable answer ({subject.last.answer.unanswered})"
        return GateVerdict(name, None, 0, 0, (), why)
    details = dict.fromkeys(ruling.detail for _, ruling in failed if ruling.detail)
    return GateVerdict(name, bool(failed), len(judged), len(failed), tuple(day for day, _ in failed), "; ".join(details))


def cannot_fire(name: str, why: str) -> GateVerdict:
    """The verdict on an item on which the gate has nothing to stop: no hit, and nothing judged."""
    return GateVerdict(name, False, 0, 0, (), f"cannot fire: {why}")
