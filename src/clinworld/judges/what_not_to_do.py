"""Whether the list of what must not be done says different things."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Declares
from clinworld.judges.reading import read_list
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, scored


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`what_not_to_do`, 0-1: share of the entries that repeat no other, letters and spacing aside; an empty list earns 0."""
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("what_not_to_do", answer),)
    entries = read_list(answer, "action", "what_not_to_do")
    distinct = {"".join(entry.casefold().split()).rstrip(".\u3002") for entry in entries}
    value = len(distinct) / len(entries) if entries else 0.0
    return (scored("what_not_to_do", value, entries=len(entries), distinct=len(distinct)),)


DECLARES = Declares(
    reads=("action.what_not_to_do",),
    outputs=("what_not_to_do",),
    direction="higher",
    passes=lambda subject, day: {"action": {"what_not_to_do": ["x", "y"]}},
    fails=lambda subject, day: {"action": {"what_not_to_do": []}},
)
