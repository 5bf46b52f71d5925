"""Whether the true cause is among the first two drivers named."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from clinworld.judges.declares import Constant, Declares, Fields
from clinworld.judges.reading import named_drivers
from clinworld.judges.subject import Subject, no_answer
from clinworld.schema.verdict import Verdict, not_applicable, scored

FIRST = 2


def judge(subject: Subject, settings: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """`drivers_overlap`, 0-1: share of the true drivers, at most two, that the first two named hold.

    Calling one of them causally confirmed costs a factor: a record that was only watched cannot confirm a cause. Naming no driver earns 0.
    """
    gold = subject.gold.gold.drivers
    if not gold:
        return (not_applicable("drivers_overlap", "the item has no driver"),)
    answer = subject.last.answer
    if answer.unanswered:
        return (no_answer("drivers_overlap", answer),)
    named = named_drivers(answer)[:FIRST]
    hits = [each.driver for each in named if each.driver in gold]
    is_confirmed = any(each.causal_status == "causally_confirmed" for each in named)
    factor = subject.parameter("confirmed_cause_factor") if is_confirmed else 1.0
    value = len(hits) / min(FIRST, len(gold)) * factor
    return (scored("drivers_overlap", value, named=[each.driver for each in named], hits=hits, is_confirmed=is_confirmed),)


def _constants(subject: Subject) -> tuple[Constant, ...]:
    return tuple(
        Constant(f"always {first}, {second}", lambda _, __, pair=(first, second): _names(*pair))  # type: ignore[misc]  # bound defaults
        for first, second in combinations(sorted(subject.knowledge.drivers), FIRST)
    )


def _names(*drivers: str) -> Fields:
    return {"drivers": [{"rank": rank, "driver": driver} for rank, driver in enumerate(drivers, start=1)]}


def _wrong(subject: Subject, day: int) -> Fields:
    return _names(*[driver for driver in sorted(subject.knowledge.drivers) if driver not in subject.gold.gold.drivers][:FIRST])


DECLARES = Declares(
    reads=("drivers", "gold.drivers"),
    outputs=("drivers_overlap",),
    direction="higher",
    passes=lambda subject, day: _names(*subject.gold.gold.drivers),
    fails=_wrong,
    constants=_constants,
    alike_by=lambda subject: subject.gold.gold.drivers,
)
