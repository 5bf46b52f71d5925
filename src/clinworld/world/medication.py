"""The medicine as it was: which dose was in force on each day, and what share of doses was taken.

Drawn from the case id and facts of the premise; a hold, a step down or a passing dip of adherence befalls anyone, so that none of them
names a driver. Weight does not depend on either: its course is declared.
"""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise

LOW_DOSE = "insufficient_dose_exposure"  # the driver whose dose stays low


class MedicationNumbers(NamedTuple):
    """The rows of parameters/medication.csv, by name without its prefix."""

    step_extra_days: float
    hold_p: float
    hold_low_days: float
    hold_high_days: float
    low_dose_steps: float
    down_p: float
    down_after_low_days: float
    down_after_high_days: float
    down_low_days: float
    down_high_days: float
    down_stays_p: float
    dip_p: float
    dip_low: float
    dip_high: float
    dip_low_days: float
    dip_high_days: float
    dip_first_day: float
    dip_clear_days: float
    dip_gap_days: float


@lru_cache(maxsize=8)
def read_numbers(knowledge: Knowledge) -> MedicationNumbers:
    """The medication parameters of a knowledge base."""
    return MedicationNumbers(*[knowledge.parameter(f"medication_{name}") for name in MedicationNumbers._fields])


def draw_dose_changes(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[tuple[int, float], ...]:
    """(day, dose) from day 0 on: the declared steps at irregular times, each at least the titration interval after the one before.

    Some people are held on a step for longer; some go down a step later, and most of those up again. Where too low a dose is the
    cause of regain, the later steps are never taken.
    """
    numbers, steps = read_numbers(knowledge), premise.dose_steps
    u = rng.at(premise.case_id, "medication", "doses").uniform(2 * len(steps) + 6).tolist()
    least = knowledge.drugs[premise.drug].min_titration_days
    taken = len(steps)
    if premise.driver == LOW_DOSE and premise.outcome == "regain":
        taken = min(taken, int(numbers.low_dose_steps))
    changes, day = [(0, steps[0])], 0
    for step in range(1, taken):
        extra, hold = u[6 + 2 * step], u[7 + 2 * step]
        day += least + int(extra * (numbers.step_extra_days + 1))
        if hold < numbers.hold_p:
            day += int(_between(hold / numbers.hold_p, numbers.hold_low_days, numbers.hold_high_days))
        changes.append((day, steps[step]))
    if taken > 1 and u[0] < numbers.down_p:
        day += int(_between(u[1], max(least, numbers.down_after_low_days), least + numbers.down_after_high_days))
        changes.append((day, steps[taken - 2]))
        if u[2] >= numbers.down_stays_p:
            changes.append((day + int(_between(u[3], max(least, numbers.down_low_days), least + numbers.down_high_days)), steps[taken - 1]))
    return tuple((day, float(dose)) for day, dose in changes if day <= premise.course_end_day)


def derive_doses(changes: tuple[tuple[int, float], ...], last_day: int) -> Reals:
    """The dose in force on each day, in the drug's unit."""
    days = [*(day for day, _ in changes), last_day + 1]
    return np.array([dose for _, dose in changes]).repeat([until - day for day, until in pairwise(days)])


def draw_adherence(premise: Premise, knowledge: Knowledge, rng: Rng) -> Reals:
    """Share of doses taken by day, 0 to 1: the premise's course, with passing dips of a few weeks that anyone may have.

    No dip touches the last days before the index day, where it could be taken for a fall.
    """
    numbers = read_numbers(knowledge)
    last, index = premise.course_end_day, premise.index_day
    days = np.arange(last + 1.0)
    level: Reals = np.interp(days, [day for day, _ in premise.adherence_course], [share for _, share in premise.adherence_course])
    rows = 1 + int(max(last - index, 0) // numbers.dip_gap_days)
    u = rng.at(premise.case_id, "medication", "dips").uniform(4 * rows).tolist()
    for row in range(rows):
        happens, place, depth, length = u[4 * row : 4 * row + 4]
        long = _between(length, numbers.dip_low_days, numbers.dip_high_days)
        first, gap = (
            (numbers.dip_first_day, index - numbers.dip_clear_days) if row == 0 else (index + (row - 1) * numbers.dip_gap_days, 0.0)
        )
        room = (gap or first + numbers.dip_gap_days) - first - long
        if happens < numbers.dip_p and room > 0.0:
            begin = int(first + place * room)
            inside = slice(begin, begin + int(long) + 1)
            near = 2.0 * (days[inside] - begin) / int(long) - 1.0
            level[inside] *= 1.0 - _between(depth, numbers.dip_low, numbers.dip_high) * (1.0 - near * near)
    return level


def _between(u: float, low: float, high: float) -> float:
    return low + (high - low) * u
