"""Whether the agent says that a window holds no data when it holds none, and reads it when it does."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.probes import asked_probes, not_asked
from clinworld.judges.reading import read_field
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.answer import Answer
from clinworld.schema.verdict import Verdict, scored

WORDS = ("present", "no_data_in_window", "unreliable")


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`probe_no_op`: 1 when the reply beside the series asked about is a right one, else 0; silence and other words are none.

    Average it within the stratum `no_op`: always missing and always present both sit at one half there.
    """
    probes = asked_probes(subject, "no_op")
    if not probes:
        return not_asked("probe_no_op")
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("probe_no_op", answer),)
    said = [_reply_about(subject, answer, probe.about) for probe in probes]
    value = fmean(reply in probe.expected for reply, probe in zip(said, probes, strict=True))
    return (scored("probe_no_op", value, said=said, expected=[list(probe.expected) for probe in probes]),)


def _reply_about(subject: Subject, answer: Answer, series: str) -> str | None:
    """What the answer says of a series, under any of the series' names."""
    said = read_field(answer, "data_quality", "signal_quality")
    names = subject.delivered.names
    matching = [word for name, word in said.items() if names.get(name.casefold(), name) == series] if isinstance(said, dict) else []
    return matching[0] if matching and len(set(matching)) == 1 and isinstance(matching[0], str) else None


def _says(subject: Subject, word: str) -> Fields:
    return {"data_quality": {"signal_quality": {probe.about: word for probe in asked_probes(subject, "no_op")}}}


def _right(subject: Subject, day: int) -> Fields:
    return {"data_quality": {"signal_quality": {probe.about: probe.expected[0] for probe in asked_probes(subject, "no_op")}}}


def _wrong(subject: Subject, day: int) -> Fields:
    wrong = {probe.about: next(word for word in WORDS if word not in probe.expected) for probe in asked_probes(subject, "no_op")}
    return {"data_quality": {"signal_quality": wrong}}


DECLARES = Declares(
    reads=("data_quality.signal_quality", "gold.probes"),
    outputs=("probe_no_op",),
    direction="higher",
    passes=_right,
    fails=_wrong,
    constants=lambda subject: tuple(Constant(f"always {word}", lambda s, _, w=word: _says(s, w)) for word in WORDS),  # type: ignore[misc]  # bound defaults
    alike_by=lambda subject: asked_probes(subject, "no_op"),
)
