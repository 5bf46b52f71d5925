"""How many causes are weighed with evidence, and whether the evidence was there to be seen."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Declares, Fields
from clinworld.judges.reading import cited_ids, named_drivers
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, scored, unmeasured


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`evidence_breadth`, 0-1: drivers with at least one delivered citation, against the number that is full breadth.

    `evidence_breadth_grounded`, 0-1: share of citations that had been delivered; unmeasured when nothing is cited.
    """
    day, answer = subject.last.day, subject.last.answer
    if answer.unanswered:
        return no_answer("evidence_breadth", answer), unmeasured("evidence_breadth_grounded", "nothing is cited")

    def is_delivered(cited: str) -> bool:
        return subject.delivered.standing(cited, day) == "delivered"

    backed = [each.driver for each in named_drivers(answer) if any(is_delivered(cited) for cited in each.evidence)]
    breadth = scored("evidence_breadth", min(1.0, len(backed) / subject.parameter("breadth_drivers")), backed=backed)
    cited = cited_ids(answer)
    if not cited:
        return breadth, unmeasured("evidence_breadth_grounded", "nothing is cited")
    grounded = sum(is_delivered(each) for each in cited)
    return breadth, scored("evidence_breadth_grounded", grounded / len(cited), cited=len(cited), delivered=grounded)


def _cites(subject: Subject, day: int, *, suffix: str = "") -> Fields:
    series = subject.item.record.until(day).series[0].name + suffix
    names = sorted(subject.knowledge.drivers)[: int(subject.parameter("breadth_drivers"))]
    return {"drivers": [{"rank": rank, "driver": name, "evidence_for": [series]} for rank, name in enumerate(names, start=1)]}


DECLARES = Declares(
    reads=("drivers", "cited_evidence", "delivered"),
    outputs=("evidence_breadth", "evidence_breadth_grounded"),
    direction="higher",
    passes=_cites,
    fails=lambda subject, day: _cites(subject, day, suffix="_never_delivered"),
    grows_with_output=("evidence_breadth",),
)
