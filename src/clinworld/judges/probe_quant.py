"""Whether a number question about the record is answered right."""

import re
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from clinworld.judges.declares import Constant, Declares
from clinworld.judges.probes import asked_probes, not_asked
from clinworld.judges.reading import read_field
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.answer import Answer
from clinworld.schema.verdict import Verdict, scored

TRENDS = ("rising", "falling", "flat")
_DAY = re.compile(r"^\D{0,6}(\d{1,5})\D{0,3}$")


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`probe_quant`: 1 when the one answer given is an expected one, else 0; several answers or silence are none."""
    probes = asked_probes(subject, "quant")
    if not probes:
        return not_asked("probe_quant")
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("probe_quant", answer),)
    said = _said(answer)
    value = fmean(said in [str(each) for each in probe.expected] for probe in probes)
    return (scored("probe_quant", value, said=said, expected=[list(probe.expected) for probe in probes]),)


def _said(answer: Answer) -> str | None:
    said = read_field(answer, "quant_answer")
    if isinstance(said, bool) or not isinstance(said, (str, int, float)):
        return None
    text = f"{said:g}" if isinstance(said, float) else str(said).strip().casefold().rstrip(".\u3002")
    day = _DAY.match(text)
    return day[1].lstrip("0") or "0" if day else text


DECLARES = Declares(
    reads=("quant_answer", "gold.probes"),
    outputs=("probe_quant",),
    direction="higher",
    passes=lambda subject, day: {"quant_answer": asked_probes(subject, "quant")[0].expected[0]},
    fails=lambda subject, day: {"quant_answer": "none of them"},
    constants=lambda subject: tuple(
        Constant(f"always {word}", lambda _, __, w=word: {"quant_answer": w})  # type: ignore[misc]  # bound defaults
        for word in TRENDS
    ),
    alike_by=lambda subject: asked_probes(subject, "quant"),
)
