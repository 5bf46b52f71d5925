"""What the pharmacy handed out: packs that last as long as the doses taken let them, so that gaps show what was left out."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from clinworld.core.errors import UsageError
from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import Dispensing, PastPrescription

_SIZES = "dispensing_days_"
WEEKLY = ("weekly", "every_two_weeks")
_WEEKS = 28  # what is taken by the week is packed by four weeks


@lru_cache(maxsize=16)
def _list_sizes(knowledge: Knowledge, is_weekly: bool) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Days a pack lasts, and how much of all packs is of that size or a smaller one."""
    weights = {int(name.removeprefix(_SIZES)): row.value for name, row in knowledge.parameters.items() if name.startswith(_SIZES)}
    sizes = [size for size in sorted(weights) if not is_weekly or size % _WEEKS == 0]
    total = sum(weights[size] for size in sizes)
    return tuple(sizes), tuple(np.cumsum([weights[size] / total for size in sizes]).tolist())


def derive_dispensing(
    premise: Premise, course: Course, knowledge: Knowledge, rng: Rng, *, earlier: Sequence[PastPrescription] = ()
) -> tuple[Dispensing, ...]:
    """The packs by day: of the course's drug, each of the dose in force, a new one for each change of dose; and of those orders `earlier`
    than day 0 that are still in force.

    A pack is fetched when the one before it is all but used up at the doses really taken (`course.adherence`), never later, since
    nothing can be taken that is not there.
    """
    drug, early_most = knowledge.drugs[premise.drug], int(knowledge.parameter("dispensing_early_most_days"))
    sizes, shares = _list_sizes(knowledge, drug.frequency in WEEKLY)
    most = course.last_day // sizes[0] + len(course.dose_changes) + 2
    drawn = rng.at(premise.case_id, "dispensing", drug.id).uniform(1 + most)
    size = sizes[bisect_right(shares[:-1], drawn[0])]
    left = (drawn[1:] * (early_most + 1)).astype(np.int64)  # days' worth still there when the next pack is fetched
    taken = np.zeros(len(course.adherence) + 1)  # days' worth taken before each day
    np.add.accumulate(course.adherence, out=taken[1:])
    ends = [*(day for day, _ in course.dose_changes[1:]), course.last_day + 1]
    packs: list[Dispensing] = []
    for (day, dose), end in zip(course.dose_changes, ends, strict=True):
        later = left[len(packs) : len(packs) + (end - day) // size]
        used_up = taken[day] + size * np.arange(1, len(later) + 1) - later
        days = [day, *taken.searchsorted(used_up).tolist()]
        packs += [Dispensing(when, drug.id, dose, drug.dose_unit, size) for when in days if when < end]
    for order in earlier:
        if order.last_day is None and order.drug != drug.id:
            packs += _dispense_on(order, premise, course, knowledge, rng)
    return tuple(sorted(packs, key=lambda pack: pack.day))


def _dispense_on(order: PastPrescription, premise: Premise, course: Course, knowledge: Knowledge, rng: Rng) -> list[Dispensing]:
    """The packs of a drug that goes on as before, the first some time into one that was fetched before day 0.

    It is taken as the person took medicine on day 0: what changes later is about the course's drug.
    """
    early_most, taken = int(knowledge.parameter("dispensing_early_most_days")), float(course.adherence[0])
    sizes, shares = _list_sizes(knowledge, knowledge.drugs[order.drug].frequency in WEEKLY)
    drawn = rng.at(premise.case_id, "dispensing", order.drug).uniform(3 + course.last_day // sizes[0])
    size = sizes[bisect_right(shares[:-1], drawn[0])]
    if taken <= 0:
        return []
    left = (drawn[2:] * (early_most + 1)).astype(np.int64)
    used_up = (size * (np.arange(len(left)) + drawn[1]) - left) / taken
    days = np.ceil(used_up[(used_up >= 0) & (used_up <= course.last_day)]).astype(np.int64).tolist()
    return [Dispensing(day, order.drug, order.dose, order.unit, size) for day in days if day <= course.last_day]


def days_covered_pct(dispensing: Sequence[Dispensing], first: int, last: int) -> float | None:
    """The share of days from `first` to `last` (both included) on which packs of one drug were at hand if taken as ordered, in percent.

    A pack fetched early begins when the one before it ends, but for a pack of another dose, which begins at once. None without any pack:
    then nothing is known of the pharmacy. Raises UsageError for packs of several drugs and for days that do not ascend.

    >>> packs = [Dispensing(0, "metformin", 500.0, "mg", 30), Dispensing(40, "metformin", 500.0, "mg", 30)]
    >>> days_covered_pct(packs, 0, 59)
    83.33333333333333
    """
    if first > last or len({pack.drug for pack in dispensing}) > 1:
        found = f"days {first} to {last}, " + ", ".join(dict.fromkeys(pack.drug for pack in dispensing))
        raise UsageError("days_covered_pct", found, "a first day, a later last day and packs of one drug")
    if not dispensing:
        return None
    ordered = sorted(dispensing, key=lambda pack: pack.day)
    origin = min(first, ordered[0].day)
    at_hand = np.zeros(max(last, ordered[-1].day) + 1 - origin, dtype=np.bool_)
    end, dose = origin, ordered[0].dose
    for pack in ordered:
        if pack.dose != dose:
            at_hand[pack.day - origin :] = False
            end, dose = pack.day, pack.dose
        begin = max(end, pack.day)
        end = begin + pack.days_supplied
        at_hand[begin - origin : end - origin] = True
    return 100 * int(np.count_nonzero(at_hand[first - origin : last + 1 - origin])) / (last + 1 - first)
