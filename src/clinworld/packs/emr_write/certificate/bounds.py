"""Exact one-sided bounds on a share, rounded away from the claim, and what dependence between trials leaves of them.

Plain mathematics in log space: no count overflows, and nothing heavy is loaded.
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import NamedTuple

DECIMALS, SHOWN = 10, 4
_SLACK = Decimal(1).scaleb(-DECIMALS - 1)  # more than the error of the search below, so that rounding up stays an upper bound
_EPSILON, _TINY = 2.0**-50, 2.0**-1000


@lru_cache(maxsize=4096)
def upper_bound(hits: int, trials: int, alpha: float) -> float:
    """The exact (Clopper-Pearson) upper bound of a share at confidence 1 - `alpha`, rounded up to ten decimals.

    The least p for which at most so many hits come with chance at most `alpha`. Raises ValueError for counts that are none.

    >>> upper_bound(0, 600, 0.05), upper_bound(1, 600, 0.05), upper_bound(600, 20000, 0.05)
    (0.0049804434, 0.0078818165, 0.0320603929)
    """
    if not (0 <= hits <= trials and trials > 0 and 0 < alpha < 1):
        raise ValueError(f"{hits} of {trials} at alpha {alpha}")
    if hits == trials:
        return 1.0
    exact = -math.expm1(math.log(alpha) / trials) if hits == 0 else _solve(hits, trials, math.log(alpha))
    return min(1.0, _round(Decimal(exact) + _SLACK, ROUND_CEILING, DECIMALS))


def lower_bound(hits: int, trials: int, alpha: float) -> float:
    """The exact lower bound of a share at confidence 1 - `alpha`, rounded down.

    >>> lower_bound(3000, 3000, 0.05)
    0.9990019209
    """
    return float(1 - Decimal(repr(upper_bound(trials - hits, trials, alpha))))


def trials_needed(epsilon: float, alpha: float) -> int:
    """Trials after which no hit at all bounds the share by `epsilon`.

    >>> trials_needed(0.005, 0.05), trials_needed(0.005, 0.05 / 12)
    (598, 1094)
    """
    return math.ceil(math.log(alpha) / math.log1p(-epsilon))


def round_down(value: float) -> float:
    """A number of ten decimals, none of them rounded up."""
    return _round(Decimal(repr(value)), ROUND_FLOOR, DECIMALS)


def print_up(share: float) -> str:
    """A share in four decimals, rounded up.

    >>> print_up(0.0049804434), print_up(1.0)
    ('0.0050', '1.0000')
    """
    return f"{_round(Decimal(repr(share)), ROUND_CEILING, SHOWN):.{SHOWN}f}"


def print_down(share: float) -> str:
    """A share in four decimals, rounded down.

    >>> print_down(0.9990019209)
    '0.9990'
    """
    return f"{_round(Decimal(repr(share)), ROUND_FLOOR, SHOWN):.{SHOWN}f}"


class Dependent(NamedTuple):
    """What is left of a bound when trials of one template are correlated: `effective` trials of so many, and their bound."""

    rho: float
    effective: int
    bound: float


def bound_dependent(hits: int, clusters: Sequence[tuple[int, int]], rho: str, alpha: float) -> Dependent:
    """The bound when any two trials of one template correlate by `rho`; `clusters` are (trials of a template, templates of so many).

    The design effect is 1 + (m - 1) rho with m the size of the template a trial stands in, on average. Effective trials are rounded down
    and hits up, at least to one where there was one.

    >>> bound_dependent(0, [(50, 12)], "0.01", 0.05).effective, bound_dependent(0, [(50, 12)], "1", 0.05)
    (402, Dependent(rho=1.0, effective=12, bound=0.220922192))
    """
    trials = sum(size * times for size, times in clusters)
    effect = 1 + (Fraction(sum(size * size * times for size, times in clusters), trials) - 1) * Fraction(rho)
    effective = max(1, math.floor(trials / effect))
    kept = min(effective, math.ceil(hits * Fraction(effective, trials)))
    return Dependent(float(Fraction(rho)), effective, upper_bound(kept, effective, alpha))


def correlate_clusters(clusters: Sequence[tuple[int, int]]) -> float | None:
    """Intra-cluster correlation of (hits, trials) by template, from the mean squares; None where nothing varies or each stands alone."""
    trials, hits = sum(size for _, size in clusters), sum(hit for hit, _ in clusters)
    within_df, between_df = trials - len(clusters), len(clusters) - 1
    if hits in (0, trials) or within_df <= 0 or between_df <= 0:
        return None
    mean = hits / trials
    between = math.fsum(size * (hit / size - mean) ** 2 for hit, size in clusters) / between_df
    within = math.fsum(hit * (size - hit) / size for hit, size in clusters) / within_df
    size = (trials - sum(size * size for _, size in clusters) / trials) / between_df
    spread = between + (size - 1) * within
    return round((between - within) / spread, 6) if spread > 0 else None


def _solve(hits: int, trials: int, target: float) -> float:
    """The p at which the log chance of at most `hits` is `target`; it falls with p, so halving finds it."""
    low, high = hits / trials, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        if _log_tail(hits, trials, middle) > target:
            low = middle
        else:
            high = middle
    return high


def _log_tail(hits: int, trials: int, p: float) -> float:
    """Log chance of at most `hits`: the regularised incomplete beta function at 1 - p, by its continued fraction (Lentz)."""
    a, b, x = trials - hits, hits + 1, 1 - p
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log1p(-p) + b * math.log(p) - math.log(a)
    fraction, upper, lower = 1.0, 1.0, 0.0
    for step in count(1):
        half, is_odd = divmod(step, 2)
        if is_odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / _off_zero(1 + term * lower)
        upper = _off_zero(1 + term / upper)
        fraction *= upper * lower
        if abs(upper * lower - 1) < _EPSILON:
            break
    return front - math.log(fraction)


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _round(value: Decimal, rounding: str, decimals: int) -> float:
    return float(value.quantize(Decimal(1).scaleb(-decimals), rounding=rounding))
