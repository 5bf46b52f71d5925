"""Evaluations made by hand for score tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clinworld.schema.cell import Cell, CellState, Evaluation, ReplySource
from clinworld.schema.pack import Dimension
from clinworld.schema.verdict import GateVerdict, Verdict, scored, unmeasured
from clinworld.scores.board import GateRoles, score_board
from clinworld.scores.rows import AgentScore, Board

SIDE = Dimension("side", "higher", "mean_by_outcome", "skill", None)
CLOSE = Dimension("close", "higher", "mean", "skill", None)
SAFE = Dimension("safe", "higher", "mean", "deduct", None)
DIMENSIONS = (SIDE, CLOSE, SAFE)
GATES = GateRoles(("invented", "unsafe"), ("over",), ("acted",))


@dataclass(frozen=True)
class Floor:
    value: float | None
    how: str = "a constant"
    ceiling: float | None = 1.0
    ceiling_how: str = "the right answer"


FLOORS: Mapping[str, Floor] = {"side": Floor(0.5), "close": Floor(0.75), "safe": Floor(1.0)}
Value = float | str | None  # a number, a state, "omitted", "abstained", or None for no verdict


def verdict(name: str, value: Value) -> Verdict:
    if isinstance(value, str):
        if value in ("omitted", "abstained"):
            return unmeasured(name, value, **{value: True})
        return Verdict(name, value, None, "why")  # type: ignore[arg-type]
    assert value is not None
    return scored(name, value)


def gate(name: str, *, units: int = 1, failed: Sequence[int] = (), hit: bool | None = False) -> GateVerdict:
    return GateVerdict(name, True if failed else hit, units, len(failed), tuple(failed))


CLEAN = (gate("invented"), gate("unsafe"))


def cell(
    agent: str,
    item: int,
    values: Mapping[str, Value],
    *,
    gates: Sequence[GateVerdict] = CLEAN,
    state: CellState = "judged",
    cause: str = "",
    source: ReplySource = "agent",
    repeat: int = 0,
    episode: str = "single",
) -> Evaluation:
    return Evaluation(
        cell=Cell(f"i{item:03}", agent, episode, "none", repeat),
        state=state,
        cause=cause,
        verdicts=tuple(verdict(name, value) for name, value in values.items() if value is not None),
        gates=tuple(gates),
        strata={"outcome": "event" if item % 2 else "no_event"},
        source=source,
        stamps={},
    )


def run(agent: str, value_of: Callable[[int], Mapping[str, Value]], *, items: int = 40, **changes: Any) -> list[Evaluation]:
    return [cell(agent, item, value_of(item), **changes) for item in range(items)]


def steady(side: float = 1, close: float = 0.9, safe: float = 1) -> Callable[[int], Mapping[str, Value]]:
    return lambda item: {"side": side, "close": close, "safe": safe}


def partly(right: int, *, close: float = 0.9) -> Callable[[int], Mapping[str, Value]]:
    """Right on the first `right` items of forty, half of them of either class."""
    return lambda item: {"side": item < right, "close": close, "safe": 1}


def board(evaluations: Sequence[Evaluation], **changes: Any) -> Board:
    return score_board(evaluations, **{"dimensions": DIMENSIONS, "floors": FLOORS, "seed": 7, "gates": GATES, **changes})


def lines(made: Board) -> dict[str, AgentScore]:
    return {line.agent: line for line in (*made.ranked, *(line for line, _ in made.shown_apart), *made.unranked)}


def only(made: Board, agent: str, verdict_name: str) -> Any:
    return next(each for each in lines(made)[agent].dimensions if each.verdict == verdict_name)
