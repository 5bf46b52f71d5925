"""When the patient is seen: the weekday the course begins on, clinic weighings and visits. What is measured is decided elsewhere."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.world.observe_streams import reflect

_FRIDAY, _SATURDAY = 4, 5


class _Routine(NamedTuple):
    # Gaps between routine visits, on the logarithm of days.
    least_days: float
    low: float
    high: float
    median: float
    sd: float


@lru_cache(maxsize=4)
def _load_routine(knowledge: Knowledge) -> _Routine:
    least = knowledge.parameter("visit_gap_low")
    low, high, median = (float(np.log(knowledge.parameter(f"visit_gap_{name}"))) for name in ("low", "high", "median"))
    return _Routine(least, low, high, median, knowledge.parameter("visit_gap_log_sd"))


def draw_first_weekday(case_id: str, rng: Rng) -> int:
    """The weekday (0 = Monday) of day 0, on which the patient is seen: Monday to Friday."""
    return rng.at(case_id, "calendar", "weekday").whole(0, _FRIDAY)


def draw_weekdays(premise: Premise, rng: Rng) -> NDArray[np.int64]:
    """The weekday (0 = Monday) of every day of the course; which weekday day 0 is differs between cases."""
    return (draw_first_weekday(premise.case_id, rng) + np.arange(premise.course_end_day + 1)) % 7


def hold_on_workdays(days: NDArray[np.int64], place: NDArray[np.float64], first_weekday: int) -> NDArray[np.int64]:
    """The days; instead of a Saturday a working day of the week before it, instead of a Sunday one of the week after it.

    `place`, in [0, 1), says which of the five, so that no weekday has more visits than another. `first_weekday` is that of day 0.

    >>> hold_on_workdays(np.array([4, 5, 5, 6, 6, 7]), np.array([0.9, 0.0, 0.9, 0.0, 0.9, 0.9]), 0).tolist()
    [4, 0, 4, 7, 11, 7]
    """
    weekdays, later = (first_weekday + days) % 7, (5 * place).astype(np.int64)
    return np.where(weekdays <= _FRIDAY, days, np.where(weekdays == _SATURDAY, days - 5, days + 1) + later)


def draw_clinic_days(premise: Premise, last_day: int, knowledge: Knowledge, rng: Rng) -> NDArray[np.int64]:
    """Days of clinic weighings up to `last_day`: day 0, then the days of the plan, each some days early or late and none at a weekend."""
    step, jitter = int(knowledge.parameter("weight_clinic_days")), int(knowledge.parameter("weight_clinic_jitter_days"))
    planned = np.arange(1, (last_day + jitter) // step + 1)
    window = step * planned[:, None] + np.arange(-jitter, jitter + 1)
    is_open = (draw_first_weekday(premise.case_id, rng) + window) % 7 <= _FRIDAY
    # Each open day of the window is as likely as another.
    drawn = (rng.at(premise.case_id, "weight", "clinic_days").uniform(len(planned)) * is_open.sum(axis=1)).astype(np.int64)
    days = np.zeros(len(planned) + 1, dtype=np.int64)
    days[1:] = window[is_open & (is_open.cumsum(axis=1) == drawn[:, None] + 1)]
    return days[days <= last_day]


def draw_visits(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng) -> NDArray[np.int64]:
    """Visit days, ascending: day 0, routine visits, visits after dose changes and symptoms, and the end of the course.

    A routine visit is held on the nearest day of a clinic weighing. Nobody is seen at a weekend, not at the end of the course either.

    At most one visit falls into a week, so a visit is known by its week and one more moves no other. At least one lies after day 0
    and up to the index day.
    """
    end, index_day, first = premise.course_end_day, premise.index_day, draw_first_weekday(premise.case_id, rng)
    by_slot: dict[int, int] = {}
    slot_days = int(knowledge.parameter("visit_slot_days"))
    changes = [day for day, _ in course.dose_changes[1:]]
    symptoms = [symptom.day for symptom in premise.symptoms]
    days = [0, *_routine(premise, knowledge, rng), *_follow_ups(premise, "dose", changes, knowledge, rng)]
    days += _follow_ups(premise, "symptom", symptoms, knowledge, rng)
    days += [end] if (first + end) % 7 <= _FRIDAY else []
    for day in days:
        if day <= end:
            by_slot.setdefault(day // slot_days, day)
    if not any(0 < day <= index_day for day in by_slot.values()):
        most = min(int(knowledge.parameter("visit_review_days")), index_day - slot_days)
        day = index_day - rng.at(premise.case_id, "visits", "review").whole(0, most)
        day -= max((first + day) % 7 - _FRIDAY, 0)
        by_slot[day // slot_days] = day
    return np.array(sorted(by_slot.values()))


def _routine(premise: Premise, knowledge: Knowledge, rng: Rng) -> list[int]:
    routine = _load_routine(knowledge)
    most = int(premise.course_end_day / routine.least_days) + 1
    drawn = rng.at(premise.case_id, "visits", "routine").normal(most)
    gaps = np.exp(reflect(routine.median + routine.sd * drawn, routine.low, routine.high))
    days = np.rint(gaps).astype(np.int64).cumsum()
    # Weighings beyond the end count too, so that a longer course moves no visit.
    weighings = draw_clinic_days(premise, int(days[-1]), knowledge, rng)
    nearest: list[int] = weighings[np.abs(weighings[:, None] - days).argmin(axis=0)].tolist()
    return nearest


def _follow_ups(premise: Premise, why: str, days: list[int], knowledge: Knowledge, rng: Rng) -> list[int]:
    """Visits that a share of the events on `days` leads to, each 1 day later at the earliest and after a weekend instead of on it."""
    if not days:
        return []
    first = draw_first_weekday(premise.case_id, rng)
    drawn = rng.at(premise.case_id, "visits", why).uniform(2 * max(days) + 2).reshape(-1, 2)[days].tolist()
    p, most = knowledge.parameter(f"visit_{why}_p"), knowledge.parameter(f"visit_{why}_days")
    planned = [day + 1 + int(delay * most) for day, (chance, delay) in zip(days, drawn, strict=True) if chance < p]
    return [day if (weekday := (first + day) % 7) <= _FRIDAY else day + 7 - weekday for day in planned]
