"""Doses before day 0 that stay where results were good: nothing is raised or added on a visit whose latest result asks for no more."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from clinworld.knowledge.load import Knowledge
from clinworld.schema.record import Series
from clinworld.world.history_drugs import Line

_ENOUGH = "history_enough."


def leave_enough(lines: Sequence[Line], series: Iterable[Series], knowledge: Knowledge) -> tuple[Line, ...]:
    """The lines without the steps up and the further drugs for a condition that the latest results before them spoke against.

    A dose that was not raised on one visit is raised on the next on which that is called for, by one step. A line whose beginning was not
    called for is left out.
    """
    charted = {each.name: each for each in series}
    kept: list[Line] = []
    for line in lines:
        enough = _list_enough(knowledge, line.condition)
        steps = _list_called_for(line, kept, enough, charted) if enough else line.steps
        if steps:
            kept.append(line._replace(steps=steps))
    return tuple(kept)


def _list_called_for(
    line: Line, before: Sequence[Line], enough: Mapping[str, float], charted: Mapping[str, Series]
) -> tuple[tuple[int, float], ...]:
    first = line.steps[0][0]
    beside = any(other.condition == line.condition and _is_in_force(other, first) for other in before)
    if beside and _is_enough(first, enough, charted):
        return ()
    days = (first, *(day for day, _ in line.steps[1:] if not _is_enough(day, enough, charted)))
    return tuple((day, dose) for day, (_, dose) in zip(days, line.steps, strict=False))


def _is_in_force(line: Line, day: int) -> bool:
    return line.steps[0][0] <= day and (line.last_day is None or line.last_day >= day)


def _is_enough(day: int, enough: Mapping[str, float], charted: Mapping[str, Series]) -> bool:
    """Whether the latest result of any item by a day lies below what calls for more."""
    until = [(charted[name].until(day), limit) for name, limit in enough.items() if name in charted]
    return any(len(part.ticks) and part.ticks[-1] < limit * 10.0**part.decimals for part, limit in until)


@lru_cache(maxsize=512)
def _list_enough(knowledge: Knowledge, condition: str) -> dict[str, float]:
    """Analyte → the result below which nothing more is given for a condition."""
    beginning = f"{_ENOUGH}{condition}."
    return {row.id.removeprefix(beginning): row.value for row in knowledge.parameters.values() if row.id.startswith(beginning)}
