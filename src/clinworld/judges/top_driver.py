"""Whether the first driver named is a true one."""

from collections.abc import Mapping
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import named_drivers
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, not_applicable, scored


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`top_driver`: 1 when the best ranked driver is a true one, else 0; naming none earns 0."""
    gold = subject.gold.gold.drivers
    if not gold:
        return (not_applicable("top_driver", "the item has no driver"),)
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("top_driver", answer),)
    named = named_drivers(answer)
    return (scored("top_driver", bool(named) and named[0].driver in gold, named=named[0].driver if named else None),)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    return tuple(Constant(f"always {driver}", lambda _, __, d=driver: _names(d)) for driver in sorted(subject.knowledge.drivers))  # type: ignore[misc]  # bound defaults


def _names(driver: str) -> Fields:
    return {"drivers": [{"rank": 1, "driver": driver}]}


def _wrong(subject: Subject, day: int) -> Fields:
    return _names(next(driver for driver in sorted(subject.knowledge.drivers) if driver not in subject.gold.gold.drivers))


DECLARES = Declares(
    reads=("drivers", "gold.drivers"),
    outputs=("top_driver",),
    direction="higher",
    passes=lambda subject, day: _names(subject.gold.gold.drivers[0]),
    fails=_wrong,
    constants=_constants,
    alike_by=lambda subject: subject.gold.gold.drivers,
)
