"""How far "mild", "moderate" and "marked" lie from normal, for any item: analyte, stream or numeric finding, at one sex.

Sizes are multiples in parameters/conditions.csv; here they become distances on the item's own scale. Decides nothing about a patient.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, FindingKind, Stream

SIZES = ("mild", "moderate", "marked")
UP, DOWN = 1, -1
_WORDS = {UP: "up", DOWN: "down"}


@dataclass(frozen=True, slots=True)
class Scale:
    """An item's measure of size. All numbers are on its scale: the natural logarithm where `is_log`, else the unit itself.

    `low` and `high` are the reference limits, None where there is none; a stream has none and moves from the person's own level.
    `floor` and `ceiling` lie one printed step inside the hard bounds; `up` and `down` are the distances of SIZES beyond a limit.
    """

    is_log: bool
    low: float | None
    high: float | None
    floor: float
    ceiling: float
    up: tuple[float, ...]
    down: tuple[float, ...]

    def beyond(self, sign: int, size: str) -> float:
        """The distance of a size in a direction."""
        return (self.up if sign == UP else self.down)[SIZES.index(size)]

    def limit(self, sign: int) -> float | None:
        """The limit a move in this direction passes."""
        return self.high if sign == UP else self.low

    def read(self, value: float) -> float:
        """A value in the item's unit, on the scale."""
        return float(np.log(np.array([value]))[0]) if self.is_log else value

    def write(self, level: float) -> float:
        """A level on the scale, in the item's unit."""
        return float(np.exp(np.array([level]))[0]) if self.is_log else level


@lru_cache(maxsize=1024)
def load_scale(knowledge: Knowledge, item: str, sex: str) -> Scale | None:
    """The scale of an item at one sex; None for a finding that is no number."""
    row = knowledge.items[item]
    if isinstance(row, Stream):
        return _scale_stream(row, knowledge)
    if isinstance(row, FindingKind) and not row.is_numeric:
        return None
    low, high = reference_limits(row, sex)
    step = 10.0 ** -(row.decimals or 0)
    hard_low, hard_high = float(row.hard_low or 0.0), float(row.hard_high if row.hard_high is not None else np.inf)
    is_log = hard_low >= 0.0 and (low is None or high is None or (low > 0.0 and high > low * knowledge.parameter("effect.log_from")))
    floor, ceiling = hard_low + step, hard_high - step
    # A number counts as positive from its cut on, so that is what a rise must pass.
    if isinstance(row, FindingKind) and row.cut is not None:
        high = row.cut
    group = row.group if isinstance(row, Analyte) else ""
    multiples = {
        sign: [_find_multiple(knowledge, size, sign, item, group, "log" if is_log else "linear") for size in SIZES] for sign in _WORDS
    }
    if is_log:
        limits = [None if limit is None or limit <= 0.0 else float(np.log(np.array([limit]))[0]) for limit in (low, high)]
        bounds = np.log(np.array([floor, ceiling])).tolist()
        up, down = (tuple(np.log(np.array(multiples[sign])).tolist()) for sign in (UP, DOWN))
        return Scale(True, limits[0], limits[1], bounds[0], bounds[1], up, down)
    half = _half_width(low, high)
    up, down = (tuple(half * multiple for multiple in multiples[sign]) for sign in (UP, DOWN))
    return Scale(False, low, high, floor, ceiling, up, down)


def reference_limits(row: Analyte | FindingKind, sex: str) -> tuple[float | None, float | None]:
    """The reference limits in the item's unit; those of the sex where the sexes differ."""
    if isinstance(row, FindingKind):
        return row.ref_low, row.ref_high
    return (row.ref_low_m, row.ref_high_m) if sex == "M" else (row.ref_low_f, row.ref_high_f)


def _half_width(low: float | None, high: float | None) -> float:
    if low is not None and high is not None:
        return (high - low) / 2.0
    limit = low if high is None else high
    return abs(limit or 0.0) / 2.0


def _find_multiple(knowledge: Knowledge, size: str, sign: int, item: str, group: str, scale: str) -> float:
    """The row of the item, else of its group, else of its kind of scale."""
    for name in (item, f"group.{group}"):
        key = f"effect.{size}.{_WORDS[sign]}.{name}"
        if key in knowledge.parameters:
            return knowledge.parameters[key].value
    return knowledge.parameter(f"effect.{size}.{_WORDS[sign]}.{scale}")


def find_most_own(knowledge: Knowledge, item: str, sign: int, size: str) -> float:
    """How far a move goes at most from a person's own level, on the log scale; without a row there is no such limit.

    People differ so much in these items that the way from a low own level past the limit would be another size.
    """
    key = f"effect.most_own.{size}.{_WORDS[sign]}.{item}" if sign else ""
    return float(np.log(np.array([knowledge.parameters[key].value]))[0]) if key in knowledge.parameters else np.inf


def bend_move(move: float, way: float, reach: float) -> float:
    """A move that never goes all the `way` to a bound: from `reach` of it on it is bent, so that large ones stay apart.

    >>> [round(bend_move(move, 10.0, 0.8), 2) for move in (5.0, 8.0, 10.0, 14.0, 30.0)]
    [5.0, 8.0, 9.0, 9.5, 9.83]
    """
    left, span = way - move, (1.0 - reach) * way
    return move if left >= span else way - span / (2.0 - left / span) if span > 0.0 else 0.0


def _scale_stream(row: Stream, knowledge: Knowledge) -> Scale:
    is_log = row.scale == "log"
    step = 10.0**-row.decimals
    floor, ceiling = (row.hard_low + step, row.hard_high - step)
    if is_log:
        floor, ceiling = np.log(np.array([floor, ceiling])).tolist()
    unit = row.sd_between or 1.0
    up, down = (tuple(unit * _find_multiple(knowledge, size, sign, row.id, "", "stream") for size in SIZES) for sign in (UP, DOWN))
    return Scale(is_log, None, None, floor, ceiling, up, down)
