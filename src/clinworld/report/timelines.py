"""One patient as a picture: what was charted, what was hidden, and what was meant to mislead. Coordinates only; a template draws them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinworld.core.units import from_ticks
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Record, Series

WIDTH, HEIGHT = 760, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 26, 58
TRUTH_DECIMALS = 2


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on the picture; `label` is what hovering says, `kind` its style."""

    x: float
    y: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture's coordinates, in pixels from the top left."""

    width: int
    height: int
    plot_left: float
    plot_right: float
    plot_top: float
    plot_bottom: float
    index_x: float
    end_x: float
    truth: str  # SVG points
    truth_hidden: str
    readings: tuple[Mark, ...]
    events: tuple[Mark, ...]
    traps: tuple[Mark, ...]
    turns: tuple[Mark, ...]
    doses: tuple[tuple[float, float, str], ...]  # x, width, label
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


class _Scale:
    def __init__(self, last_day: int, low: float, high: float) -> None:
        self.last_day, self.low, self.high = last_day, low, high

    def x(self, day: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * day / max(1, self.last_day), 1)

    def y(self, value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (self.high - value) / max(1e-9, self.high - self.low), 1)


def make_timeline(item: Item, gold: GoldRow, event_labels: dict[str, str], *, chart: Record | None = None) -> Timeline:
    """The picture of one item; `chart` replaces the charted record (for twins), the truth stays the gold row's.

    `event_labels` maps an origin kind to its name in the page's language.
    """
    chart = chart or gold.chart
    truth = from_ticks(gold.truth_weight_ticks, TRUTH_DECIMALS)
    shown = [series for name in ("weight", "weight_clinic") if (series := chart.find(name)) is not None]
    values = np.concatenate([truth, *(series.values() for series in shown)])
    low, high = float(np.floor(values.min() - 1)), float(np.ceil(values.max() + 1))
    scale = _Scale(len(truth) - 1, low, high)
    day = item.index_day
    faulty = {(fault.series, touched): fault.kind for fault in gold.faults for touched in fault.days} if chart is gold.chart else {}
    readings = [mark for series in shown for mark in _readings(series, scale, day, faulty)]
    return Timeline(
        width=WIDTH,
        height=HEIGHT,
        plot_left=LEFT,
        plot_right=WIDTH - RIGHT,
        plot_top=TOP,
        plot_bottom=HEIGHT - BOTTOM,
        index_x=scale.x(day),
        end_x=scale.x(len(truth) - 1),
        truth=_points(truth, 0, day, scale),
        truth_hidden=_points(truth, day, len(truth) - 1, scale),
        readings=tuple(readings),
        events=tuple(_events(chart, gold, scale, day, event_labels)),
        traps=tuple(_traps(gold, scale)),
        turns=tuple(
            Mark(scale.x(point.day), scale.y(float(truth[min(point.day, len(truth) - 1)])), point.kind, f"{point.cause}, day {point.day}")
            for point in gold.gold.turning_points
            if point.kind == "real"
        ),
        doses=tuple(_doses(chart, scale, len(truth) - 1)),
        x_ticks=tuple((scale.x(tick), str(tick)) for tick in range(0, len(truth), 56)),
        y_ticks=tuple((scale.y(tick), f"{tick:g}") for tick in _round_steps(low, high)),
    )


def _points(truth: NDArray[np.float64], first: int, last: int, scale: _Scale) -> str:
    days = sorted({*range(first, last + 1, 3), last})
    return " ".join(f"{scale.x(day)},{scale.y(float(truth[day]))}" for day in days)


def _readings(series: Series, scale: _Scale, index_day: int, faulty: dict[tuple[str, int], str]) -> list[Mark]:
    marks = []
    for day, value in zip(series.days.tolist(), series.values().tolist(), strict=True):
        fault = faulty.get((series.name, day))
        kind = f"{'clinic' if series.name == 'weight_clinic' else 'home'}{' hidden' if day > index_day else ''}{' fault' if fault else ''}"
        marks.append(Mark(scale.x(day), scale.y(value), kind, f"day {day}: {value:.{series.decimals}f} kg" + (f" ({fault})" if fault else "")))
    return marks


def _events(chart: Record, gold: GoldRow, scale: _Scale, index_day: int, labels: dict[str, str]) -> list[Mark]:
    kinds = {origin.note_id: origin.kind for origin in gold.origins}
    base = HEIGHT - BOTTOM + 16
    marks = []
    for note in chart.notes:
        kind = kinds.get(note.note_id, "benign")
        marks.append(Mark(scale.x(note.day), base, kind + (" hidden" if note.day > index_day else ""), f"day {note.day}, {labels[kind]}: {note.text.en}"))
    return marks


def _traps(gold: GoldRow, scale: _Scale) -> list[Mark]:
    return [Mark(scale.x(min(f.days)), TOP, f.kind, f"{f.kind}, day {min(f.days)}") for f in gold.faults if f.days]


def _doses(chart: Record, scale: _Scale, last_day: int) -> list[tuple[float, float, str]]:
    steps = list(chart.prescriptions)
    bars = []
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        end = after.day if after else last_day
        bars.append((scale.x(step.day), round(scale.x(end) - scale.x(step.day), 1), f"{step.drug} {step.dose:g} {step.unit}, from day {step.day}"))
    return bars


def _round_steps(low: float, high: float) -> Sequence[float]:
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100) if (high - low) / size <= 6)
    return [float(value) for value in np.arange(np.ceil(low / step) * step, high + 1e-9, step)]
