"""Dots with their intervals, one small plot a dimension, beside its floor and ceiling. Coordinates in pixels from the top left."""

from collections.abc import Sequence
from dataclasses import dataclass

from clinworld.scores.rows import AgentScore, Board, DimensionScore

WIDTH, LABEL_WIDTH, RIGHT, ROW, TOP, BOTTOM = 440, 172, 16, 15, 20, 20
LONGEST_NAME = 28


@dataclass(frozen=True, slots=True)
class Dot:
    """One agent's row. `x` None: no value, `state` says so. `low_x` and `high_x` are its interval's ends, where it has one."""

    name: str
    kind: str
    y: float
    x: float | None
    low_x: float | None
    high_x: float | None
    state: str
    value: float | None


@dataclass(frozen=True, slots=True)
class DotPlot:
    """The plot of one dimension."""

    verdict: str
    width: int
    height: int
    left: float
    right: float
    bottom: float
    rows: tuple[Dot, ...]
    ticks: tuple[tuple[float, str], ...]
    floor_x: float | None
    ceiling_x: float | None


def draw_dots(board: Board) -> tuple[DotPlot, ...]:
    """A plot for each scored dimension: agents first, then controls, then those that read the right answer."""
    lines = list_lines(board)
    if not lines:
        return ()
    return tuple(_plot(lines, place) for place in range(len(lines[0].dimensions)))


def list_lines(board: Board) -> list[AgentScore]:
    """Every row of a board in the order it is shown."""
    apart = [score for score, _ in board.shown_apart]
    controls = [score for score in board.unranked if score.kind == "control"]
    return [*board.ranked, *apart, *controls, *(score for score in board.unranked if score.kind != "control")]


def _plot(lines: Sequence[AgentScore], place: int) -> DotPlot:
    scores = [line.dimensions[place] for line in lines]
    every = [number for score in scores for number in _numbers(score)]
    low, high = min(0.0, *every, 0.0), max(1.0, *every, 1.0)
    left, right = float(LABEL_WIDTH), float(WIDTH - RIGHT)

    def x(value: float | None) -> float | None:
        return None if value is None else round(left + (right - left) * (value - low) / (high - low), 1)

    rows = tuple(_dot(line, line.dimensions[place], TOP + ROW * (n + 0.5), x) for n, line in enumerate(lines))
    bottom = TOP + ROW * len(lines)
    ticks = tuple((position, f"{value:g}") for value in (low, (low + high) / 2, high) if (position := x(value)) is not None)
    first = scores[0]
    return DotPlot(first.verdict, WIDTH, bottom + BOTTOM, left, right, bottom, rows, ticks, x(first.floor), x(first.ceiling))


def _numbers(score: DimensionScore) -> list[float]:
    ends = list(score.interval) if score.interval else []
    return [value for value in (score.value, score.floor, score.ceiling, *ends) if value is not None]


def _dot(line: AgentScore, score: DimensionScore, y: float, x: object) -> Dot:
    assert callable(x)
    name = line.agent.removeprefix("control:")
    name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "\u2026"
    low, high = (x(score.interval.low), x(score.interval.high)) if score.interval else (None, None)
    return Dot(name, line.kind, y, x(score.value), low, high, score.state, score.value)
