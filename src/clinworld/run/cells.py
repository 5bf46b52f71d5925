"""Which cells a run has, and what of each was already answered.

A cell is item × agent × episode × probe set × repeat, under an exam stamp.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clinworld.core.errors import UsageError
from clinworld.run.agents import Agent
from clinworld.run.exam import Exam
from clinworld.schema.cell import Cell, Response
from clinworld.schema.item import Item


@dataclass(frozen=True, slots=True, eq=False)
class PlannedCell:
    """A cell to be finished. `kept` are the replies it already has, turn by turn from 0; `failed` the last failure after them, if any."""

    cell: Cell
    item: Item
    agent: Agent
    kept: tuple[Response, ...]
    failed: Response | None


@dataclass(frozen=True, slots=True, eq=False)
class CellPlan:
    """Cells in the order they are asked: by item, then agent, then repeat.

    `partial` says why this is not the whole exam, "" when it is. `left_out` counts items that cannot carry the episode, and
    `other_stamps` finished turns that stand under another exam stamp and so are not this exam's.
    """

    cells: tuple[PlannedCell, ...]
    partial: str
    left_out: int
    other_stamps: Mapping[str, int]


def plan_cells(
    items: Sequence[Item], agents: Sequence[Agent], responses: Iterable[Response], exam: Exam, *, repeats: int = 1, limit: int | None = None
) -> CellPlan:
    """Every cell of a run. `limit` keeps the first N items, for every agent, so that a sample compares like with like.

    Raises UsageError for repeats or a limit below 1, or an episode none of the items can carry.
    """
    for name, number in (("--repeats", repeats), ("--limit", limit)):
        if number is not None and number < 1:
            raise UsageError(name, f"{number}", "a whole number from 1 on is expected")
    fitting = [item for item in items if exam.episode in item.episodes]
    if items and not fitting:
        able = ", ".join(dict.fromkeys(episode for item in items for episode in item.episodes))
        raise UsageError(
            "--episode", f"no item of this batch can carry {exam.episode!r}", f"they carry: {able}", do="Build it with that episode."
        )
    chosen = fitting[:limit]
    partial = f"{len(chosen)} of {len(fitting)} items (--limit)" if len(chosen) < len(fitting) else ""
    replies, other = sort_responses(responses, exam.stamp)
    cells = []
    for item in chosen:
        for agent in agents:
            for repeat in range(repeats):
                cell = Cell(item.item_id, agent.name, exam.episode, exam.probe_set, repeat)
                cells.append(_plan(cell, item, agent, replies.get(cell, {})))
    return CellPlan(tuple(cells), partial, len(items) - len(fitting), other)


def sort_responses(responses: Iterable[Response], exam_stamp: str) -> tuple[dict[Cell, dict[int, Response]], dict[str, int]]:
    """(cell → turn → its response, other exam stamp → turns under it).

    A reply wins over a failure of the same turn, whichever came last.
    """
    found: dict[Cell, dict[int, Response]] = {}
    other: dict[str, int] = {}
    for response in responses:
        if response.exam_stamp != exam_stamp:
            other[response.exam_stamp] = other.get(response.exam_stamp, 0) + (not response.failure)
            continue
        turns = found.setdefault(response.cell, {})
        if response.turn not in turns or not response.failure or turns[response.turn].failure:
            turns[response.turn] = response
    return found, other


def _plan(cell: Cell, item: Item, agent: Agent, turns: Mapping[int, Response]) -> PlannedCell:
    kept: list[Response] = []
    while (response := turns.get(len(kept))) is not None and not response.failure:
        kept.append(response)
    return PlannedCell(cell, item, agent, tuple(kept), turns.get(len(kept)))
