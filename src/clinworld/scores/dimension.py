"""One dimension of one agent: its value, how far it stands over its floor, and what it brings to the headline, with draws of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinworld.schema.cell import Evaluation
from clinworld.schema.pack import Dimension
from clinworld.schema.verdict import State
from clinworld.scores.rows import DimensionScore, FloorValue
from clinworld.scores.statistics import DIGITS, percentile_interval
from clinworld.scores.table import STRATUM, Column, Reals, read_column

Classes = tuple[tuple[str, ...], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class MeasuredDimension:
    """A dimension's score with its column and the draws of what enters the headline (NaN where a draw leaves it unmeasured)."""

    score: DimensionScore
    column: Column
    credit_draws: Reals


def is_deduction(dimension: Dimension, floor: FloorValue | None) -> bool:
    """Whether a dimension enters as a factor: declared so, or because its floor leaves no room for skill."""
    return dimension.role == "deduct" or (floor is not None and floor.value is not None and _room(floor.value, dimension) <= 0)


def score_dimension(
    dimension: Dimension,
    floor: FloorValue | None,
    repeats_by_item: Mapping[str, Sequence[Evaluation]],
    items: Sequence[str],
    classes: Classes,
    weights: Reals | None,
) -> MeasuredDimension:
    """The score of a dimension on the common items. `weights` are item draws, None when there are too few items for intervals."""
    floor_value = floor.value if floor else None
    deducts = is_deduction(dimension, floor)
    worst = 1.0 if dimension.direction == "lower" else 0.0
    fill = worst if deducts or floor_value is None else floor_value
    column = read_column(repeats_by_item, items, dimension.verdict, fill=fill)
    once = np.ones((1, len(items)))
    value = _number(_join(column.value, column.has, classes, once))
    kept = _number(_join(column.kept, column.due, classes, once))
    margin = None if deducts else _over_floor(value, floor_value, dimension)
    skill = None if margin is None else max(0.0, margin)
    credit = _credit(kept if value is not None else None, floor_value, dimension, deducts)
    draws = np.empty(0)
    interval = None
    if weights is not None:
        interval = percentile_interval(_join(column.value, column.has, classes, weights))
        draws = _credit_draws(_join(column.kept, column.due, classes, weights), floor_value, dimension, deducts)
    state, reason = _state(column, value, dimension, classes)
    score = DimensionScore(
        verdict=dimension.verdict,
        direction=dimension.direction,
        role="deduct" if deducts else dimension.role,
        state=state,
        reason=reason or ("no floor" if skill is None and not deducts and dimension.direction != "none" else ""),
        value=_rounded(value),
        n=int(column.has.sum()),
        omitted=column.counts.get("omitted", 0),
        abstained=column.counts.get("abstained", 0),
        not_applicable=column.counts.get("not_applicable", 0),
        unmeasured=column.counts.get("unmeasured", 0),
        unscored=column.counts.get("unscored", 0),
        by_class=_by_class(column, classes) if dimension.join.startswith(STRATUM) else {},
        floor=floor_value,
        ceiling=floor.ceiling if floor else None,
        margin=_rounded(margin),
        skill=_rounded(skill),
        credit=_rounded(credit),
        interval=interval,
    )
    return MeasuredDimension(score, column, draws)


def _join(value: Reals, has: Reals, classes: Classes, weights: Reals) -> Reals:
    """The joined value in each row of weights: mean of the class means; NaN when a class is empty or only one is named."""
    names, masks = classes
    if not names or (names != ("",) and len(names) < 2):
        return np.full(len(weights), np.nan)
    masked = masks.astype(np.float64)
    totals = weights @ (masked * has).T
    sums = weights @ (masked * has * value).T
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Reals = np.where(totals > 0, sums / totals, np.nan)
    joined: Reals = means.mean(axis=1)
    return joined


def _room(floor: float, dimension: Dimension) -> float:
    return floor if dimension.direction == "lower" else 1 - floor


def _over_floor(value: float | None, floor: float | None, dimension: Dimension) -> float | None:
    if value is None or floor is None or dimension.direction == "none":
        return None
    return (floor - value if dimension.direction == "lower" else value - floor) / _room(floor, dimension)


def _credit(kept: float | None, floor: float | None, dimension: Dimension, deducts: bool) -> float | None:
    if kept is None or dimension.direction == "none":
        return None
    if deducts:
        return 1 - kept if dimension.direction == "lower" else kept
    over = _over_floor(kept, floor, dimension)
    return None if over is None else max(0.0, over)


def _credit_draws(kept: Reals, floor: float | None, dimension: Dimension, deducts: bool) -> Reals:
    if dimension.direction == "none" or (floor is None and not deducts):
        return np.full(len(kept), np.nan)
    if deducts or floor is None:
        return 1 - kept if dimension.direction == "lower" else kept
    over = floor - kept if dimension.direction == "lower" else kept - floor
    return np.maximum(0.0, over / _room(floor, dimension))


def _state(column: Column, value: float | None, dimension: Dimension, classes: Classes) -> tuple[State, str]:
    if value is not None:
        return "scored", ""
    if dimension.join.startswith(STRATUM) and column.has.any():
        missing = "one class" if len(classes[0]) < 2 else "no measured cell in a class"
        return "unmeasured", f"{missing} of {dimension.join.removeprefix(STRATUM)}"
    if column.counts.get("unscored"):
        return "unscored", "no cell could be judged"
    if column.counts and set(column.counts) == {"not_applicable"}:
        return "not_applicable", "applies to no cell"
    return "unmeasured", "nothing was measured"


def _by_class(column: Column, classes: Classes) -> dict[str, tuple[float, int]]:
    names, masks = classes
    counts = [int(column.has[mask].sum()) for mask in masks]
    return {
        name: (round(float(column.value[mask & (column.has > 0)].mean()), DIGITS), n)
        for name, mask, n in zip(names, masks, counts, strict=True)
        if n
    }


def _number(joined: Reals) -> float | None:
    return float(joined[0]) if np.isfinite(joined[0]) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
