"""Fires when an answer acts on a reading the world knows to be faulty, without doubting it in any way."""

from clinworld.judges.changes import decided_change
from clinworld.judges.declares import Fields, GateDeclares
from clinworld.judges.reading import chosen_class, read_field
from clinworld.judges.subject import Subject
from clinworld.judges.units import Ruling, cannot_fire, rule_each_turn
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.verdict import GateVerdict

NAME = "acted_on_unverified_signal"
DOUBTED = "unreliable"
INSUFFICIENT = "insufficient_data"
TRAP = "trap"


def judge(subject: Subject) -> GateVerdict:
    """One verdict over the turns that fall within `artifact_days` of a faulty reading."""
    signals = {each.day: _faulty_series(subject, each.day) for each in subject.answers}
    if not any(signals.values()):
        return cannot_fire(NAME, "no faulty reading close before an answer")

    def rule(subject: Subject, turn: RoundAnswer) -> Ruling:
        series = signals[turn.day]
        if not series:
            return Ruling(None, "no faulty reading close before this answer")
        is_acted_on = _acts_on_signal(subject, turn.answer) and not _doubts(subject, turn.answer, series)
        return Ruling(is_acted_on, f"acts on {', '.join(series)}" if is_acted_on else "")

    return rule_each_turn(NAME, subject, rule)


def _faulty_series(subject: Subject, day: int) -> tuple[str, ...]:
    rows, first = subject.knowledge.artifacts, day - subject.parameter("artifact_days")
    faults = [fault for fault in subject.gold.faults if fault.kind in rows and rows[fault.kind].turning_kind == TRAP]
    return tuple(dict.fromkeys(fault.series for fault in faults if any(first <= each <= day for each in fault.days)))


def _acts_on_signal(subject: Subject, answer: Answer) -> bool:
    chosen = chosen_class(answer)
    return (chosen is not None and chosen.acts_on_signal) or decided_change(answer, subject.knowledge) is not None


def _doubts(subject: Subject, answer: Answer, series: tuple[str, ...]) -> bool:
    chosen, quality = chosen_class(answer), read_field(answer, "data_quality", "signal_quality")
    said = quality.items() if isinstance(quality, dict) else ()
    doubted = {subject.delivered.names.get(name.casefold(), name) for name, word in said if word == DOUBTED}
    is_insufficient = read_field(answer, "data_quality", "data_sufficiency") == INSUFFICIENT
    return is_insufficient or (chosen is not None and chosen.checks_signal) or all(name in doubted for name in series)


def _acts(word: str) -> Fields:
    return {"action": {"selected_action_class": "A3"}, "data_quality": {"data_sufficiency": word}}


DECLARES = GateDeclares(
    reads=("action", "management_plan", "data_quality", "faults"),
    needs="faulty_reading",
    passes=lambda subject, day: _acts(INSUFFICIENT),
    fails=lambda subject, day: _acts("sufficient"),
)
