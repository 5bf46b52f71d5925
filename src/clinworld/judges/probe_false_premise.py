"""Whether a claim about the record is flagged when it is false, and let stand when it is true."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.probes import asked_probes, not_asked
from clinworld.judges.reading import read_field
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, scored

WORDS = ("contradicts_record", "consistent")


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`probe_false_premise`: 1 when a false claim is flagged or a true one is not, else 0; silence is neither.

    The stratum `false_premise` (true, false) keeps the two rates apart: flagging always and never both sit at one half over them.
    """
    probes = asked_probes(subject, "false_premise")
    if not probes:
        return not_asked("probe_false_premise")
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("probe_false_premise", answer),)
    said = read_field(answer, "data_quality", "premise_check")
    value = fmean(said in probe.expected for probe in probes)
    return (scored("probe_false_premise", value, said=said, expected=[list(probe.expected) for probe in probes]),)


def _says(word: str) -> Fields:
    return {"data_quality": {"premise_check": word}}


def _wrong(subject: Subject, day: int) -> Fields:
    expected = asked_probes(subject, "false_premise")[0].expected
    return _says(next(word for word in WORDS if word not in expected))


DECLARES = Declares(
    reads=("data_quality.premise_check", "gold.probes"),
    outputs=("probe_false_premise",),
    direction="higher",
    passes=lambda subject, day: _says(asked_probes(subject, "false_premise")[0].expected[0]),
    fails=_wrong,
    constants=lambda subject: tuple(Constant(f"always {word}", lambda _, __, w=word: _says(w)) for word in WORDS),  # type: ignore[misc]  # bound defaults
    alike_by=lambda subject: asked_probes(subject, "false_premise"),
)
