"""When a regain event has happened, read from weights: the one outcome rule, for true weight and for charted readings alike.

Its numbers are a knowledge row (`OutcomeRule`). Readings known to be wrong are left out by the caller; where a scale offset stays to the
end, the caller passes the clinic scale and a rule whose `smoothing_readings` is 1.
"""

import sys
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinworld.core.units import to_ticks
from clinworld.knowledge.rows import OutcomeRule

DECIMALS = 2  # the rule decides on whole ticks of 0.01 kg, so that no last bit of a float decides it
PER_KG = 10.0**DECIMALS  # ticks

Ticks = NDArray[np.int64]


class RuleReading(NamedTuple):
    """What the rule saw: low point and its day, the threshold, and the longest run at or above it, first to last reading."""

    low_kg: float
    low_day: int
    threshold_kg: float
    longest_run_days: int


def event_occurs(days: ArrayLike, weight_kg: ArrayLike, *, start_kg: float, rule: OutcomeRule) -> bool:
    """Whether the weights hold a run that is high enough for long enough after their low point.

    `days` ascend; both have one element a reading. The threshold lies max(`min_change_frac` of the weight lost, `min_change_kg`)
    above the low point of the smoothed readings: with next to nothing lost, the rule reads a plain gain over the low point.
    Fewer than two readings hold no run.

    >>> from clinworld.core.text import Wording
    >>> rule = OutcomeRule("x", Wording("x", "x"), 0.05, 0.75, 56, 7, "authored", "authored")
    >>> low, high = [90.0] * 60, [91.0]
    >>> event_occurs(range(60 + 57), low + high * 57, start_kg=100.0, rule=rule)
    True
    >>> event_occurs(range(60 + 56), low + high * 56, start_kg=100.0, rule=rule)
    False
    """
    return read_rule(days, weight_kg, start_kg=start_kg, rule=rule).longest_run_days >= rule.persist_days


def read_rule(
    days: ArrayLike, weight_kg: ArrayLike, *, start_kg: float, rule: OutcomeRule, shift_kg: float = 0.0, since: int = 0
) -> RuleReading:
    """The rule's own numbers for a set of readings; `shift_kg` moves the threshold, to see how near a call it was.

    `since`: only runs from that day on are looked at (the low point is still that of all readings).
    """
    on = np.asarray(days, dtype=np.int64)
    smoothed = smooth_ticks(to_ticks(weight_kg, DECIMALS), rule.smoothing_readings)
    if on.size < 2:
        return RuleReading(float("nan"), 0, float("nan"), 0)
    low_at = int(smoothed.argmin())
    low = int(smoothed[low_at])
    threshold = low + threshold_ticks(low, start_kg, rule) + 2 * _ticks(shift_kg)
    first = max(low_at, int(on.searchsorted(since)))
    longest = longest_run_days(on[first:], smoothed[first:] >= threshold)
    scale = 2.0 * PER_KG
    return RuleReading(low / scale, int(on[low_at]), threshold / scale, longest)


def threshold_ticks(low: int, start_kg: float, rule: OutcomeRule) -> int:
    """How far above the low point the threshold lies; `low` and the result in half ticks."""
    lost = max(0, 2 * _ticks(start_kg) - low)
    return max(round(rule.min_change_frac * lost), 2 * _ticks(rule.min_change_kg))


def threshold_kg(low_kg: float, start_kg: float, rule: OutcomeRule) -> float:
    """The weight at which a regain begins to count, for a known low point.

    >>> from clinworld.core.text import Wording
    >>> rule = OutcomeRule("x", Wording("x", "x"), 0.05, 0.75, 56, 7, "authored", "authored")
    >>> threshold_kg(80.0, 100.0, rule), threshold_kg(61.0, 61.0, rule)
    (81.0, 61.75)
    """
    low = 2 * _ticks(low_kg)
    return (low + threshold_ticks(low, start_kg, rule)) / (2.0 * PER_KG)


def smooth_ticks(ticks: Ticks, readings: int) -> Ticks:
    """Centred running median over `readings` readings, in half ticks; at the ends over those there are.

    >>> [int(t) for t in smooth_ticks(np.array([900, 900, 960, 900, 900]), 3)]
    [1800, 1800, 1800, 1800, 1800]
    """
    n = len(ticks)
    if readings <= 1 or n == 0:
        return 2 * ticks
    half = readings // 2
    padded = np.empty(n + 2 * half, dtype=np.int64)
    padded[:half] = padded[half + n :] = sys.maxsize  # sorts last
    padded[half : half + n] = ticks
    windows = np.ndarray((n, 2 * half + 1), dtype=np.int64, buffer=padded, strides=padded.strides * 2)
    ordered = np.sort(windows, axis=-1)
    lower, upper = _find_middles(n, half)
    smoothed: Ticks = ordered.take(lower) + ordered.take(upper)
    return smoothed


@lru_cache(maxsize=256)
def _find_middles(n: int, half: int) -> tuple[Ticks, Ticks]:
    """Places of the two middle readings (one and the same where they are odd) of each ordered window, counted through all windows."""
    place = np.arange(n)
    there = np.minimum(place, half) + np.minimum(n - 1 - place, half) + 1  # readings inside the window
    first = place * (2 * half + 1)
    return first + (there - 1) // 2, first + there // 2


def longest_run_days(days: NDArray[np.int64], is_above: NDArray[np.bool_]) -> int:
    """Days from the first to the last reading of the longest unbroken run of True; 0 when there is none.

    >>> longest_run_days(np.array([0, 7, 14, 21]), np.array([True, True, False, True]))
    7
    """
    walled = np.zeros(len(is_above) + 2, dtype=np.bool_)
    walled[1:-1] = is_above
    edges = (walled[1:] != walled[:-1]).nonzero()[0]
    return int((days[edges[1::2] - 1] - days[edges[::2]]).max()) if edges.size else 0


def _ticks(kg: float) -> int:
    return round(kg * PER_KG)  # half to even, as `to_ticks`
