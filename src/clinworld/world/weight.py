"""The layers of true weight: an uneven descent, a rebound, slow drift, and episodes of eating more or less.

Each layer is drawn from the case id alone; none knows the outcome. How they are put together so that nothing before the index day
depends on what comes after it, and the declared outcome holds, stands in `weight_guard.py`. Sums, products and quotients only: the
bits are the same on every CPU.
"""

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge

Reals = NDArray[np.float64]
ReboundShape = Literal["gradual", "accelerating", "steps"]
REBOUND_SHAPES: tuple[ReboundShape, ...] = ("gradual", "accelerating", "steps")


class WeightNumbers(NamedTuple):
    """The rows of parameters/weight.csv, by name without its prefix; what they mean and their units stand there."""

    weekly_limit_kg: float
    plain_share: float
    skeleton_share: float
    hard_share: float
    descent_days_least: float
    slowing_low: float
    slowing_high: float
    phases_least: float
    phases_most: float
    pace_low: float
    pace_high: float
    stalls_most: float
    stall_pace: float
    stall_days_low: float
    stall_days_high: float
    pace_ramp_days: float
    contrast_room: float
    level_off_share: float
    level_off_days: float
    drift_sd_low_kg: float
    drift_sd_high_kg: float
    drift_knot_days: float
    drift_memory: float
    episode_first_day: float
    episode_gap_least_days: float
    episode_gap_mean_days: float
    episode_up_share: float
    episode_up_low_pct: float
    episode_up_high_pct: float
    episode_down_low_kg: float
    episode_down_high_kg: float
    episode_rise_low_days: float
    episode_rise_high_days: float
    episode_fade_low_days: float
    episode_fade_high_days: float
    episode_kept_low: float
    episode_kept_high: float
    episode_kept_low_days: float
    episode_kept_high_days: float
    floor_kg: float
    floor_share: float
    anchor_days: float
    anchor_damp: float
    fade_days: float
    rebound_ramp_days: float
    rebound_slow_start: float
    rebound_slow_days: float
    rebound_step_low_days: float
    rebound_step_high_days: float
    rebound_hold_pace: float
    rebound_norm_days: float
    calm_days: float
    calm_ramp_days: float
    calm_share: float
    early_share: float
    end_days: float
    guard_clear_kg: float
    guard_clear_days: float
    guard_over_kg: float
    guard_over_days: float
    rise_room_days: float
    narrow_over_kg: float
    narrow_over_days: float
    guard_low_kg: float
    guard_turn_kg_per_week: float
    guard_turn_days: float
    guard_turn_share: float

    def day_limit(self, share: float) -> float:
        """A share of the weekly limit, in kg a day."""
        return share * self.weekly_limit_kg / 7.0


@lru_cache(maxsize=8)
def read_numbers(knowledge: Knowledge) -> WeightNumbers:
    """The weight parameters of a knowledge base."""
    return WeightNumbers(*[knowledge.parameter(f"weight_{name}") for name in WeightNumbers._fields])


class WeightTables(NamedTuple):
    """Curves that follow from the numbers alone, each from the day on which it begins to change to the day it has ended.

    `rise` damps the layers at the start and `dip` around the low point (in its middle), `fade` falls from 1 to 0. `episode_low` and
    `episode_span` are the bounds of what is drawn of an episode: gain, dip, share kept, rise, fade, and fade of what is kept.
    """

    rise: Reals
    dip: Reals
    fade: Reals
    episode_low: Reals
    episode_span: Reals


@lru_cache(maxsize=8)
def load_tables(numbers: WeightNumbers) -> WeightTables:
    """The curves of some numbers."""
    near = np.arange(-numbers.anchor_days, numbers.anchor_days + 1.0) / numbers.anchor_days
    bump = 1.0 - near * near
    names = ("up_{}_pct", "down_{}_kg", "kept_{}", "rise_{}_days", "fade_{}_days", "kept_{}_days")
    low, high = ([getattr(numbers, f"episode_{name.format(end)}") for name in names] for end in ("low", "high"))
    return WeightTables(
        rise=smooth_step(np.arange(numbers.anchor_days + 1.0) / numbers.anchor_days),
        dip=1.0 - numbers.anchor_damp * bump * bump,
        fade=1.0 - smooth_step(np.arange(numbers.fade_days + 1.0) / numbers.fade_days),
        episode_low=np.array(low)[:, None],
        episode_span=np.array([most - least for least, most in zip(low, high, strict=True)])[:, None],
    )


def lay_curve(curve: Reals, first: int, days: int) -> Reals:
    """A curve by day over so many days that begins on the first: before it its first value, after it its last."""
    end = min(first + len(curve), days)
    laid = np.empty(days)
    laid[:first], laid[first:end], laid[end:] = curve[0], curve[: max(end - first, 0)], curve[-1]
    return laid


def smooth_step(x: Reals) -> Reals:
    """0 below 0, 1 above 1, and a curve without corners between."""
    u = np.minimum(np.maximum(x, 0.0), 1.0)
    eased: Reals = 3.0 - 2.0 * u
    u *= u
    eased *= u
    return eased


def moving_mean(values: Reals, width: int) -> Reals:
    """Centred mean over `width` (odd) values; at the ends the first and last value are repeated."""
    total = lay_curve(values, width // 2 + 1, len(values) + width).cumsum()
    mean: Reals = total[width:] - total[:-width]
    mean /= width
    return mean


def fill_to_limit(paces: Reals, total: float, most: float) -> Reals:
    """Steps of a given sum that follow the paces as far as none is larger than `most`; where it would be, the others take up the rest.

    Even steps of `most` when the sum cannot be reached. `total` may be negative; paces are positive.
    """
    size, n = abs(total), len(paces)
    if size >= most * n:
        return np.full(n, most if total > 0.0 else -most)
    scale = size / np.add.reduce(paces)
    if scale * np.maximum.reduce(paces) > most:
        falling = np.sort(paces)[::-1]
        rest = falling[::-1].cumsum()[::-1]
        scales = (size - most * np.arange(n)) / rest
        scale = scales[(scales * falling <= most).argmax()]
    steps: Reals = np.minimum(scale * paces, most)
    return steps if total > 0.0 else -steps


def draw_descent_paces(case_id: str, days: int, rng: Rng, numbers: WeightNumbers) -> Reals:
    """Relative pace of loss on each day of a descent of so many days: a slowing curve times phases of different pace.

    There are none to two stalls, and the last days level off.
    """
    words = rng.at(case_id, "weight", "descent").uniform(32)
    x = np.arange(0.5, days) / days
    slowed = 1.0 + _between(words[0], numbers.slowing_low, numbers.slowing_high) * x
    phases = _whole(words[1], numbers.phases_least, numbers.phases_most)
    edges = (0.5 + words[4 : 4 + phases]).cumsum()
    begins = [0, *x.searchsorted(edges[:-1] / edges[-1]).tolist(), days]
    pace = _between(words[12 : 12 + phases], numbers.pace_low, numbers.pace_high).repeat(
        [after - before for before, after in pairwise(begins)]
    )
    for stall in range(_whole(words[2], 0, numbers.stalls_most)):
        place, long = words[20 + 2 * stall], _between(words[21 + 2 * stall], numbers.stall_days_low, numbers.stall_days_high)
        first = (0.15 + 0.7 * place) * days
        pace[int(first) : int(first + long)] *= numbers.stall_pace
    levels_off = 1.0 - numbers.level_off_share * smooth_step(1.0 - (1.0 - x) * days / numbers.level_off_days)
    paces: Reals = 1.0 / (slowed * slowed) * levels_off
    paces *= moving_mean(pace, int(numbers.pace_ramp_days))
    return paces


def draw_drift(case_id: str, last_day: int, rng: Rng, numbers: WeightNumbers) -> Reals:
    """Slow wandering of weight around what it would be, kg by day: a smooth curve through knots."""
    series = rng.at(case_id, "weight", "drift")
    every = int(numbers.drift_knot_days)
    knots = last_day // every + 5
    drawn = series.normal(knots + 1, start=1)
    sd = _between(series.chance(), numbers.drift_sd_low_kg, numbers.drift_sd_high_kg)
    values = drawn[1:] + numbers.drift_memory * drawn[:-1]
    values *= sd / math.sqrt(1.0 + numbers.drift_memory * numbers.drift_memory)
    u = np.arange(every) / every  # between two knots; all knots at once as [knot, day]
    here, there = values[1:-2, None], values[2:-1, None]
    slopes = 0.5 * (values[2:] - values[:-2])[:, None]
    slope_here, slope_there, rise = slopes[:-1], slopes[1:], there - here
    drift: Reals = u * (slope_here + slope_there - 2.0 * rise)
    drift += 3.0 * rise - 2.0 * slope_here - slope_there
    drift *= u
    drift += slope_here
    drift *= u
    drift += here
    return drift.ravel()[: last_day + 1]


class Episodes(NamedTuple):
    """Episodes by row, ascending: first day, and effects on weight in kg on every second day.

    `passing_kg` is the effect when all of it passes, `kept_kg` what is more where part of a gain is kept.
    """

    first_day: Reals
    passing_kg: Reals
    kept_kg: Reals
    last_day: int

    def by_day(self, day: int) -> Reals:
        """Sums by day [4, day]: passing and kept effect of the episodes begun by a day, and of those that begin later."""
        begun = int(self.first_day.searchsorted(day, side="right"))
        even = np.empty((4, self.passing_kg.shape[1]))
        for row, effect in ((0, self.passing_kg), (1, self.kept_kg)):
            np.add.reduce(effect[:begun], axis=0, out=even[row])
            np.add.reduce(effect[begun:], axis=0, out=even[row + 2])
        total = np.empty((4, 2 * even.shape[1] - 1))
        total[:, ::2] = even
        total[:, 1::2] = 0.5 * (even[:, 1:] + even[:, :-1])
        return total[:, : self.last_day + 1]


def draw_episodes(case_id: str, last_day: int, body_kg: float, rng: Rng, numbers: WeightNumbers, tables: WeightTables) -> Episodes:
    """Gains that are partly kept (holidays) and dips that pass, to the course's last day."""
    rows = 2 + int(last_day // numbers.episode_gap_least_days)
    u = rng.at(case_id, "weight", "episodes").uniform(8 * rows).reshape(rows, 8).T
    # A gap without a tail: its mean is the row's, its largest four times that.
    gaps = numbers.episode_gap_least_days + (4.0 * numbers.episode_gap_mean_days) * (u[0] * u[0] * u[0])
    first = gaps.cumsum() - (gaps[0] - numbers.episode_first_day - 2.0 * numbers.episode_gap_least_days * u[7, 0])
    n = int(first.searchsorted(last_day))
    drawn = tables.episode_low + tables.episode_span * u[[2, 2, 3, 4, 5, 6], :n]
    is_up, gain, dip = u[1, :n] < numbers.episode_up_share, drawn[0] * body_kg / 100.0, drawn[1]
    size, kept = np.where(is_up, gain, -dip)[:, None], np.where(is_up, drawn[2], 0.0)[:, None]
    rise, fade, slow = drawn[3:, :, None]
    age: Reals = np.arange(0.0, last_day + 2.0, 2.0) - first[:n, None]
    past = np.maximum(age - rise, 0.0)
    past *= past
    age /= rise
    risen = size * smooth_step(age)
    passing = risen / (1.0 + past * (1.0 / (fade * fade)))
    past *= 1.0 / (slow * slow)
    past += 1.0
    lasting = np.divide(risen, past, out=past)
    lasting -= passing
    lasting *= kept
    return Episodes(first[:n], passing, lasting, last_day)


def draw_rebound_shape(case_id: str, rng: Rng) -> ReboundShape:
    """How this person would regain, should the outcome be regain."""
    return rng.at(case_id, "weight", "rebound").pick(REBOUND_SHAPES)


def draw_rebound_paces(case_id: str, shape: ReboundShape, days: int, rng: Rng, numbers: WeightNumbers) -> Reals:
    """Relative pace on each of the first `days` days after a reversal; it averages 1 over `rebound_norm_days`.

    The paces of earlier days do not depend on `days`.
    """
    norm = int(numbers.rebound_norm_days)
    if shape != "steps":
        length = norm * -(-max(days, 1) // norm)  # one curve for many lengths
        return _load_paces(shape, length, numbers)[:days]
    since = np.arange(0.5, max(days, norm) + int(numbers.pace_ramp_days))  # longer than asked: the mean at its end looks ahead
    rows = 1 + int(len(since) // numbers.rebound_step_low_days)
    u = rng.at(case_id, "weight", "rebound_steps").uniform(rows)
    edges = _between(u, numbers.rebound_step_low_days, numbers.rebound_step_high_days).cumsum()
    is_hold = edges.searchsorted(since, side="right") % 2 == 1
    holds = moving_mean(np.where(is_hold, numbers.rebound_hold_pace, 1.0), int(numbers.pace_ramp_days))
    return _even_out(smooth_step(since / numbers.rebound_ramp_days) * holds, norm)[:days]


@lru_cache(maxsize=32)
def _load_paces(shape: ReboundShape, days: int, numbers: WeightNumbers) -> Reals:
    """The paces of a shape in which nothing is drawn; not to be changed."""
    since = np.arange(0.5, days)
    pace: Reals = smooth_step(since / numbers.rebound_ramp_days)
    if shape == "accelerating":
        low = numbers.rebound_slow_start
        pace = pace * (low + (1.0 - low) * smooth_step(since / numbers.rebound_slow_days))
    return _even_out(pace, int(numbers.rebound_norm_days))


def _even_out(pace: Reals, norm: int) -> Reals:
    paces: Reals = pace / (np.sum(pace[:norm]) / norm)
    paces.flags.writeable = False
    return paces


def _between(u: Any, low: float, high: float) -> Any:
    return low + (high - low) * u


def _whole(u: float, low: float, high: float) -> int:
    return int(low) + int(u * (int(high) - int(low) + 1))
