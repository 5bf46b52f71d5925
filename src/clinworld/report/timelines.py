"""One patient as a picture: what was charted, what was hidden, and what was meant to mislead. Coordinates only; a template draws them.

Every coordinate is in pixels of the picture's own box, from its top left; days run to the right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinworld.core.text import Language
from clinworld.core.units import from_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.report.lanes import Frame, Lane, Mark, draw_clue, draw_doses, draw_faults, draw_laboratory_faults, draw_notes
from clinworld.report.wording import dose_text, say, say_fault
from clinworld.schema.gold import GoldRow, TurningPoint
from clinworld.schema.item import Item
from clinworld.schema.record import ChartFault, NoteOrigin, Record, Series

Reals = NDArray[np.float64]
Bounds = tuple[float, float]

WIDTH, LEFT, RIGHT, TOP, PLOT_HEIGHT, LANE_GAP, AXIS_HEIGHT = 760, 66, 14, 30, 150, 8, 24
COMPACT_WIDTH, COMPACT_HEIGHT = 200, 64
TRUTH_DECIMALS = 2
TRUTH_EVERY_DAYS, COMPACT_EVERY_DAYS = 3, 7
MOST_Y_TICKS = 6
HOME, CLINIC = "weight", "weight_clinic"


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What a picture is made of: the truth by day, a whole chart, and what only the world knows of it."""

    truth_kg: Reals
    chart: Record
    faults: tuple[ChartFault, ...]
    origins: tuple[NoteOrigin, ...]
    turning_points: tuple[TurningPoint, ...]
    index_day: int
    driver: str
    does_turn: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """A picture's coordinates. `truth` are SVG points; `home` and `clinic` are SVG paths of dots, shown and hidden part apart."""

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    index_x: float
    index_day: int
    last_day: int
    truth: str
    truth_hidden: str
    home: tuple[str, str]
    clinic: tuple[tuple[Mark, ...], tuple[Mark, ...]]
    faulty: tuple[Mark, ...]
    gaps: tuple[tuple[float, float], ...]
    turns: tuple[Mark, ...]
    lanes: tuple[Lane, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    title: str


@dataclass(frozen=True, slots=True)
class Compact:
    """The truth line of one patient, small."""

    width: int
    height: int
    index_x: float
    truth: str
    truth_hidden: str
    title: str


def drawn_from_gold(item: Item, gold: GoldRow) -> Drawn:
    """The picture's material for an item of a batch."""
    return Drawn(
        truth_kg=from_ticks(gold.truth_weight_ticks, TRUTH_DECIMALS),
        chart=gold.chart,
        faults=gold.faults,
        origins=gold.origins,
        turning_points=gold.gold.turning_points,
        index_day=item.index_day,
        driver=gold.premise.driver,
        does_turn=gold.gold.event_occurs,
    )


def find_bounds(drawn: Sequence[Drawn]) -> Bounds:
    """The lowest and highest kg any of these pictures has to show, a little widened.

    A faulty reading further off than the others span, as pounds for kilograms, stands at the edge: it would flatten everything else.
    """
    sound, faulty = [each.truth_kg for each in drawn], [np.empty(0)]
    for each in drawn:
        for series in _weights(each.chart):
            is_faulty = np.isin(series.days, sorted(_faulty_days(each.faults, series.name)))
            sound.append(series.values()[~is_faulty])
            faulty.append(series.values()[is_faulty])
    low, high = float(np.concatenate(sound).min()), float(np.concatenate(sound).max())
    beside = np.concatenate(faulty)
    beside = beside[(beside > 2 * low - high) & (beside < 2 * high - low)]
    return float(np.floor(min([low, *beside]) - 1)), float(np.ceil(max([high, *beside]) + 1))


def draw_timeline(drawn: Drawn, knowledge: Knowledge, language: Language, *, title: str, bounds: Bounds | None = None) -> Timeline:
    """The picture of one patient in one language; `bounds` in kg makes several pictures comparable."""
    last = len(drawn.truth_kg) - 1
    low, high = bounds or find_bounds([drawn])
    frame = Frame(LEFT, WIDTH - RIGHT, TOP, TOP + PLOT_HEIGHT, last, low, high, drawn.index_day, language)
    home, clinic = drawn.chart.find(HOME), drawn.chart.find(CLINIC)
    faults = [fault for fault in drawn.faults if fault.kind not in knowledge.factors]
    lanes = _stack_lanes(drawn, knowledge, frame)
    return Timeline(
        width=WIDTH,
        height=round(lanes[-1].bottom + AXIS_HEIGHT + LANE_GAP),
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=TOP + PLOT_HEIGHT,
        index_x=frame.x(drawn.index_day),
        index_day=drawn.index_day,
        last_day=last,
        truth=_points(drawn.truth_kg, 0, drawn.index_day, frame, TRUTH_EVERY_DAYS),
        truth_hidden=_points(drawn.truth_kg, drawn.index_day, last, frame, TRUTH_EVERY_DAYS),
        home=_dots(home, frame, _faulty_days(faults, HOME)),
        clinic=_squares(clinic, frame, _faulty_days(faults, CLINIC)),
        faulty=tuple(mark for series in _weights(drawn.chart) for mark in _faulty(series, faults, knowledge, frame)),
        gaps=tuple(_gaps(faults, frame)),
        turns=tuple(_turns(drawn, frame)),
        lanes=lanes,
        x_ticks=tuple((frame.x(day), str(day)) for day in range(0, last + 1, 28 if last <= 200 else 56)),
        y_ticks=tuple((frame.y(tick), f"{tick:g}") for tick in _round_steps(low, high)),
        title=title,
    )


def draw_compact(gold: GoldRow, index_day: int, *, title: str) -> Compact:
    """The small picture: the true weight with T."""
    truth = from_ticks(gold.truth_weight_ticks, TRUTH_DECIMALS)
    low, high = float(truth.min()), float(truth.max())
    frame = Frame(2, COMPACT_WIDTH - 2, 6, COMPACT_HEIGHT - 6, len(truth) - 1, low, high, index_day, "en")
    shown = _points(truth, 0, index_day, frame, COMPACT_EVERY_DAYS)
    hidden = _points(truth, index_day, len(truth) - 1, frame, COMPACT_EVERY_DAYS)
    return Compact(COMPACT_WIDTH, COMPACT_HEIGHT, frame.x(index_day), shown, hidden, title)


def _stack_lanes(drawn: Drawn, knowledge: Knowledge, frame: Frame) -> tuple[Lane, ...]:
    y = float(TOP + PLOT_HEIGHT + LANE_GAP)
    lanes: list[Lane] = []
    doses = [(step.day, dose_text(step, knowledge, frame.language), f"{step.dose:g} {step.unit}") for step in drawn.chart.prescriptions]
    in_laboratory = [fault for fault in drawn.faults if fault.kind in knowledge.factors]
    elsewhere = [fault for fault in drawn.faults if fault.kind not in knowledge.factors]
    for lane in (
        draw_faults(elsewhere, knowledge, frame, y),
        draw_doses(doses, frame, y),
        draw_clue(drawn.chart, drawn.driver, knowledge, frame, y) if drawn.does_turn else None,
        draw_notes(drawn.chart, drawn.origins, frame, y, panel=False),
        draw_notes(drawn.chart, drawn.origins, frame, y, panel=True),
        draw_laboratory_faults(in_laboratory, knowledge, frame, y),
    ):
        if lane is not None:
            lanes.append(lane.moved_to(y))
            y = lanes[-1].bottom + LANE_GAP
    return tuple(lanes)


def _weights(chart: Record) -> list[Series]:
    return [series for name in (HOME, CLINIC) if (series := chart.find(name)) is not None]


def _points(truth: Reals, first: int, last: int, frame: Frame, every: int) -> str:
    days = sorted({*range(first, last + 1, every), last})
    return " ".join(f"{frame.x(day):g},{frame.y(float(truth[day])):g}" for day in days)


def _faulty_days(faults: Sequence[ChartFault], name: str) -> frozenset[int]:
    return frozenset(day for fault in faults if fault.series == name for day in fault.days)


def _dots(series: Series | None, frame: Frame, faulty: frozenset[int]) -> tuple[str, str]:
    """Paths of zero-length strokes, which round caps make dots; faulty readings are drawn apart."""
    shown: list[str] = []
    hidden: list[str] = []
    if series is not None:
        for day, value in zip(series.days.tolist(), series.values().tolist(), strict=True):
            if day not in faulty:
                (shown if day <= frame.index_day else hidden).append(f"M{frame.x(day):g} {frame.y(value):g}h0")
    return "".join(shown), "".join(hidden)


def _squares(series: Series | None, frame: Frame, faulty: frozenset[int]) -> tuple[tuple[Mark, ...], tuple[Mark, ...]]:
    marks: tuple[list[Mark], list[Mark]] = ([], [])
    if series is not None:
        for day, value in zip(series.days.tolist(), series.values().tolist(), strict=True):
            if day not in faulty:
                label = say("mark:reading", frame.language, day=day, value=f"{value:.{series.decimals}f}")
                marks[day > frame.index_day].append(Mark(frame.x(day), frame.y(value), "clinic", label))
    return tuple(marks[0]), tuple(marks[1])


def _faulty(series: Series, faults: Sequence[ChartFault], knowledge: Knowledge, frame: Frame) -> list[Mark]:
    kinds: Mapping[int, str] = {day: fault.kind for fault in faults if fault.series == series.name for day in fault.days}
    marks = []
    for day, value in zip(series.days.tolist(), series.values().tolist(), strict=True):
        if day in kinds:
            name = say_fault(knowledge, kinds[day], frame.language)
            label = say("mark:fault", frame.language, day=day, value=f"{value:.{series.decimals}f}", name=name)
            kg = min(max(value, frame.low), frame.high)
            marks.append(Mark(frame.x(day), frame.y(kg), "hidden" if day > frame.index_day else "", label))
    return marks


def _gaps(faults: Sequence[ChartFault], frame: Frame) -> list[tuple[float, float]]:
    """Stretches without readings, as (x, width)."""
    found = []
    for fault in faults:
        if fault.size is None and fault.days:
            first, last = frame.x(min(fault.days)), frame.x(max(fault.days))
            found.append((first, max(2.0, round(last - first, 1))))
    return found


def _turns(drawn: Drawn, frame: Frame) -> list[Mark]:
    marks = []
    for point in drawn.turning_points:
        if point.kind == "real" and 0 <= point.day < len(drawn.truth_kg):
            label = say("mark:turn", frame.language, day=point.day)
            marks.append(Mark(frame.x(point.day), frame.y(float(drawn.truth_kg[point.day])), "real", label))
    return marks


def _round_steps(low: float, high: float) -> list[float]:
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200) if (high - low) / size <= MOST_Y_TICKS)
    return [float(value) for value in np.arange(np.ceil(low / step) * step, high + 1e-9, step)]
