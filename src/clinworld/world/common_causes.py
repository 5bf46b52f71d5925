"""Normals that go together as the table of correlations says: what an item has in common with those before it, and its own part.

The weights are worked out once from the table, item by item in its order, with plain sums; a patient costs a product a weight. An item
takes nothing from those that come after it, so a new one at the end of the table moves no other.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, PanelCorrelation
from clinworld.schema.course import Reals

GRID_SD, GRID_STEP = 8, 2.0**-8  # a table of the normal distribution: how far out, how fine
TOGETHER = 0.97  # true levels go together at most so far, whatever the noise in published results


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """How normals of `needed` (the items asked for, then those they share with) become normals of the items.

    `places` [pass, item] are of one normal of `needed` for every item in each pass, `weights` [pass, item, 1] how much of it the item
    takes; the first is the item's own.
    """

    needed: tuple[str, ...]
    places: NDArray[np.int64]
    weights: Reals

    def mix(self, normals: Reals) -> Reals:
        """Normals [item, …] from independent ones [needed, …]."""
        mixed, *others = self.weights * normals.take(self.places, axis=0)
        for part in others:
            mixed += part
        return np.asarray(mixed)


@lru_cache(maxsize=4096)
def load_mixture(knowledge: Knowledge, level: Literal["between", "within", "daily"], items: tuple[str, ...], sex: str) -> Mixture:
    """The mixture for some items. One that the table does not know is all its own."""
    weights = load_weights(knowledge, level, sex)
    needed = list(items)
    for item in items:
        needed += [name for name in weights.get(item, {}) if name not in needed]
    made = [weights.get(item, {item: 1.0}) for item in items]
    rows = [{item: row[item], **row} for item, row in zip(items, made, strict=True)]
    passes = max(map(len, rows), default=1)
    places = np.array([needed.index(item) for item in items] * passes, dtype=np.int64).reshape(passes, len(items))
    shares = np.zeros((passes, len(items), 1))
    for i, row in enumerate(rows):
        places[: len(row), i] = [needed.index(name) for name in row]
        shares[: len(row), i, 0] = list(row.values())
    return Mixture(tuple(needed), places, shares)


@lru_cache(maxsize=32)
def load_weights(knowledge: Knowledge, level: str, sex: str) -> Mapping[str, Mapping[str, float]]:
    """For every item of the table, what it is made of: item → weight of that item's own normal, its squares summing to 1.

    An item is told by the earlier ones its rows name. Where they would tell more than `correlation_most_explained` of it, which is
    where rows contradict each other, all its correlations shrink alike.
    """
    most = knowledge.parameter("correlation_most_explained")
    rows = [row for row in knowledge.correlations.values() if row.level == level]
    weights: dict[str, dict[str, float]] = {}
    for item in dict.fromkeys(name for row in rows for name in (row.a, row.b)):
        told = {row.a if row.b == item else row.b: _true_r(row, sex, knowledge) for row in rows if item in (row.a, row.b)}
        told = {name: r for name, r in told.items() if name in weights}
        slopes = _solve([[_product(weights[a], weights[b]) for b in told] for a in told], list(told.values()))
        explained = sum(slope * r for slope, r in zip(slopes, told.values(), strict=True))
        shrink = math.sqrt(most / explained) if explained > most else 1.0
        made: dict[str, float] = {}
        for name, slope in zip(told, slopes, strict=True):
            for source, weight in weights[name].items():
                made[source] = made.get(source, 0.0) + shrink * slope * weight
        weights[item] = {**made, item: math.sqrt(1.0 - shrink * shrink * explained)}
    return weights


def _product(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(weight * other[name] for name, weight in one.items() if name in other)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a few linear equations, positive definite, by elimination in order."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(rows):
        for other in rows[i + 1 :]:
            factor = other[i] / pivot[i]
            for j in range(i, len(pivot)):
                other[j] -= factor * pivot[j]
    solved = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        solved[i] = (rows[i][-1] - sum(rows[i][j] * solved[j] for j in range(i + 1, len(rows)))) / rows[i][i]
    return solved


def _true_r(row: PanelCorrelation, sex: str, knowledge: Knowledge) -> float:
    """The correlation of what the world draws behind a published one: of true levels, without the noise that single results have, or of
    what is new on a day in two streams, of which the slower shows less the same day."""
    r = row.r_m if sex == "M" else row.r_f
    if row.level == "daily":
        a, b = (knowledge.streams[name].lag1 for name in (row.a, row.b))
        return max(-TOGETHER, min(TOGETHER, r * (1 - a * b) / math.sqrt((1 - a * a) * (1 - b * b))))
    one, other = knowledge.analytes.get(row.a), knowledge.analytes.get(row.b)
    if row.of == "levels":
        return r
    total, between, within = 1.0, 1.0, 1.0
    for analyte in (one, other):
        if analyte is not None and analyte.cv_between_pct:
            steady, daily = analyte.cv_between_pct, analyte.cv_within_pct or 0.0
            total, between, within = total * math.hypot(steady, daily, analyte.cv_analytic_pct or 0.0), between * steady, within * daily
    daily_row = knowledge.correlations.get(f"{row.id}__within")
    by_day = 0.0 if daily_row is None else (daily_row.r_m if sex == "M" else daily_row.r_f) * within
    return max(-TOGETHER, min(TOGETHER, (r * total - by_day) / between))


@lru_cache(maxsize=1)
def _normal_table() -> tuple[Reals, Reals]:
    grid = np.arange(-GRID_SD, GRID_SD + GRID_STEP / 2, GRID_STEP)
    below = NormalDist().cdf
    return grid, np.array([below(float(z)) for z in grid])


def squeeze(normals: Reals, mean: Reals, sd: Reals, low: Reals, high: Reals) -> Reals:
    """Normal values of a mean and SD that lie between limits, in the order of their standard normals: no value is drawn twice.

    All are of one shape. The rank of a value among people stays, so that what goes together before does so within the limits.
    """
    grid, below = _normal_table()
    sd = np.maximum(sd, sys.float_info.min)  # where nobody differs, the mean is everybody's
    least, most, place = np.interp(np.array([(low - mean) / sd, (high - mean) / sd, normals]), grid, below)
    inside = least + (most - least) * place
    return np.asarray(np.minimum(np.maximum(mean + sd * np.interp(inside, below, grid), low), high))


def is_skewed(row: Analyte, knowledge: Knowledge) -> bool:
    """True for an analyte whose levels differ so much between people that they are normal on the log scale."""
    return row.cv_between_pct is not None and row.cv_between_pct >= knowledge.parameter("levels_log_from_cv_pct")
