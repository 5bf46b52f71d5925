"""The time of the year a patient's course lies in: what is tied to a season is told in its months only. Called by `notes.py`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng

MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MONTH_OF_DAY = np.arange(1, 13).repeat(MONTH_DAYS)


def draw_first_day_of_year(case_id: str, rng: Rng) -> int:
    """The day of the year (0 = 1 January) on which day 0 of a patient falls; all are equally likely, and nothing else depends on it."""
    return rng.at(case_id, "calendar").whole(0, len(_MONTH_OF_DAY) - 1)


def derive_months(first_day_of_year: int, days: Sequence[int]) -> NDArray[np.int64]:
    """The month, 1 to 12, of each day of a course.

    >>> derive_months(0, [0, 31, 364, 365]).tolist()
    [1, 2, 12, 1]
    """
    months: NDArray[np.int64] = _MONTH_OF_DAY[(first_day_of_year + np.asarray(days, dtype=np.int64)) % len(_MONTH_OF_DAY)]
    return months


def is_in_months(month: int, first_month: int | None, last_month: int | None) -> bool:
    """Whether a month lies in a span of months, which may go round the turn of the year; None limits nothing.

    >>> is_in_months(1, 11, 3), is_in_months(7, 11, 3), is_in_months(7, None, None)
    (True, False, True)
    """
    if first_month is None or last_month is None:
        return True
    return first_month <= month <= last_month if first_month <= last_month else month >= first_month or month <= last_month
