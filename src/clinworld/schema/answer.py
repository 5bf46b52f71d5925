"""What an agent replied, after reading: fields that could be used, and what could not."""

from dataclasses import dataclass
from typing import Any, Literal

UnansweredCause = Literal["empty", "cut_off", "unparsable", "reasoning_only", "deadline", "budget"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply, read.

    `fields` holds validated values only (plain dict, list, str, float, bool), under the pack's answer model's names. A field of the
    wrong type is in `left_out` with what was found; a field the model does not know is in `unknown`. Neither voids the rest.
    `unanswered` names why there is no usable answer at all; then `fields` is empty.
    """

    fields: dict[str, Any]
    left_out: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]
    unanswered: UnansweredCause | None
    raw: str


@dataclass(frozen=True, slots=True)
class RoundAnswer:
    """An answer given on the record up to `day`; a single episode has exactly one."""

    day: int
    answer: Answer
