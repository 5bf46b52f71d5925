"""The few statistics boards need: item draws, intervals, paired tests and their correction for many.

All are deterministic: draws are addressed by seed and name, sums run in item order.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng

Reals = NDArray[np.float64]

DIGITS = 6  # numbers of a board are kept to so many decimals


class Interval(NamedTuple):
    """A two-sided interval; both ends belong to it."""

    low: float
    high: float


def draw_item_weights(items: int, draws: int, seed: int | str) -> Reals:
    """How often each item is drawn in each of `draws` samples of `items` with replacement: (draws, items), rows sum to `items`."""
    chosen = (Rng(seed).at("board", "item_draws", items).uniform(draws * items) * items).astype(np.int64)
    places = np.repeat(np.arange(draws, dtype=np.int64) * items, items) + chosen
    return np.bincount(places, minlength=draws * items).reshape(draws, items).astype(np.float64)


def percentile_interval(values: Reals, *, level: float = 0.95) -> Interval | None:
    """The middle `level` of the values that are numbers; None when there are none."""
    ordered = np.sort(values[np.isfinite(values)])
    if not ordered.size:
        return None
    tail = (1 - level) / 2
    low, high = int(tail * ordered.size), min(ordered.size - 1, int((1 - tail) * ordered.size))
    return Interval(round(float(ordered[low]), DIGITS), round(float(ordered[high]), DIGITS))


def paired_p_value(differences: Reals, *, items: int) -> float:
    """Two-sided p of no difference, from paired draws of the difference over `items` items.

    Counted where some draws lie on the other side. Where none does, the count says only that p is at most 2 / (draws + 1), which no
    correction for many pairs could pass; then p is the normal tail of the mean difference over its spread between draws, never above
    that bound and never below 2 / 2**items, the least p that changing signs of the items could give.

    >>> paired_p_value(np.array([-0.1, 0.2, 0.1, 0.3]), items=20)
    0.8
    >>> paired_p_value(np.full(2000, 0.1), items=20) == 2 / 2**20
    True
    """
    known = differences[np.isfinite(differences)]
    if not known.size:
        return 1.0
    tail = min(int((known <= 0).sum()), int((known >= 0).sum()))
    counted = min(1.0, 2 * (1 + tail) / (known.size + 1))
    if tail:
        return counted
    spread = float(np.std(known))
    beyond = math.erfc(abs(float(np.mean(known))) / spread / math.sqrt(2)) if spread > 0 else 0.0
    return min(counted, max(beyond, 2.0 ** (1 - items)))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down adjusted p values, in the order given; never falling along rising p, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    order = sorted(range(len(p_values)), key=lambda place: (p_values[place], place))
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = round(highest, 12)
    return tuple(adjusted)


def exact_interval(hits: int, of: int, *, level: float = 0.95) -> Interval | None:
    """The exact (Clopper-Pearson) interval of a share; None over nothing."""
    if of <= 0:
        return None
    from scipy.special import betaincinv  # noqa: PLC0415 - heavy, loaded at use

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, of - hits + 1, tail))
    high = 1.0 if hits == of else float(betaincinv(hits + 1, of - hits, 1 - tail))
    return Interval(round(low, DIGITS), round(high, DIGITS))
