"""Evaluations as arrays over the common items: what each agent earned on each dimension, and its gate units.

An item's value is the mean over its repeats. Which items are common, and why others are left out, is decided here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinworld.schema.cell import Evaluation
from clinworld.schema.pack import Dimension
from clinworld.schema.verdict import GateVerdict, Verdict

Reals = NDArray[np.float64]
Cells = dict[str, dict[str, list[Evaluation]]]  # agent → item → repeats

STRATUM = "mean_by_"


@dataclass(frozen=True, slots=True)
class CommonItems:
    """The items a board stands on, in order, and why each other one is left out."""

    items: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    incomplete: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One dimension of one agent over the common items.

    `value` is the item's mean over repeats that were measured (0 where none was) and `has` whether one was. `kept` and `due` say the same
    with repeats that said nothing counted at `fill`. `counts` are cells by state, "omitted" and "abstained" among them.
    """

    value: Reals
    has: Reals
    kept: Reals
    due: Reals
    counts: Mapping[str, int]
    distinct: frozenset[float]


def group_cells(evaluations: Sequence[Evaluation]) -> Cells:
    """Evaluations by agent, item and repeat, each in order whatever the order of rows; a cell judged twice counts once, the last."""
    latest = {evaluation.cell: evaluation for evaluation in evaluations}
    cells: Cells = {}
    for cell in sorted(latest, key=lambda cell: (cell.agent, cell.item_id, cell.repeat)):
        cells.setdefault(cell.agent, {}).setdefault(cell.item_id, []).append(latest[cell])
    return cells


def find_common_items(cells: Cells, rivals: Sequence[str], dimensions: Sequence[Dimension]) -> CommonItems:
    """Items that every rival has, judged and resolved throughout. One unresolved cell takes its item from every agent."""
    scored = {dimension.verdict for dimension in dimensions}
    every = sorted({item for agent in rivals for item in cells[agent]})
    left_out: list[tuple[str, str]] = []
    incomplete: list[str] = []
    for item in every:
        reasons = [reason for agent in rivals if (reason := _why_left_out(cells[agent].get(item, []), agent, scored))]
        incomplete += [f"item {item}: {reason}" for reason in reasons]
        if reasons:
            left_out.append((item, "; ".join(reasons)))
    lost = {item for item, _ in left_out}
    return CommonItems(tuple(item for item in every if item not in lost), tuple(left_out), tuple(incomplete))


def _why_left_out(repeats: Sequence[Evaluation], agent: str, scored: set[str]) -> str:
    if not repeats:
        return f"{agent} was not run on it"
    for evaluation in repeats:
        if evaluation.state in ("undetermined", "unjudged"):
            return f"{agent} is {evaluation.state} ({evaluation.cause})"
        unresolved = [verdict.name for verdict in evaluation.verdicts if verdict.state == "unscored" and verdict.name in scored]
        if unresolved:
            return f"{agent} is unscored on {', '.join(unresolved)}"
    return ""


def read_classes(cells: Cells, items: Sequence[str], join: str) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """The classes a dimension is joined over and which items belong to each, (classes, items); one class of all for a plain mean."""
    if not join.startswith(STRATUM):
        return ("",), np.ones((1, len(items)), dtype=bool)
    rows = (evaluation for repeats_by_item in cells.values() for repeats in repeats_by_item.values() for evaluation in repeats[:1])
    strata = {evaluation.cell.item_id: evaluation.strata for evaluation in rows if evaluation.strata}
    of = [strata.get(item, {}).get(join.removeprefix(STRATUM)) for item in items]
    names = tuple(sorted({name for name in of if name is not None}))
    return names, np.array([[each == name for each in of] for name in names], dtype=bool).reshape(len(names), len(items))


def read_column(repeats_by_item: Mapping[str, Sequence[Evaluation]], items: Sequence[str], name: str, *, fill: float) -> Column:
    """One dimension of one agent; `fill` is what a cell that said nothing is worth in `kept`."""
    arrays = np.zeros((4, len(items)))
    counts: Counter[str] = Counter()
    distinct: set[float] = set()
    for place, item in enumerate(items):
        values: list[float] = []
        silent = 0
        for evaluation in repeats_by_item.get(item, ()):
            state = _state_of(evaluation, name)
            counts[state[0]] += 1
            if state[1] is not None:
                values.append(state[1])
            silent += state[0] in ("omitted", "abstained")
        distinct.update(values)
        if values:
            arrays[0, place], arrays[1, place] = sum(values) / len(values), 1
        if values or silent:
            arrays[2, place], arrays[3, place] = (sum(values) + silent * fill) / (len(values) + silent), 1
    return Column(arrays[0], arrays[1], arrays[2], arrays[3], counts, frozenset(distinct))


def _state_of(evaluation: Evaluation, name: str) -> tuple[str, float | None]:
    verdict: Verdict | None = next((verdict for verdict in evaluation.verdicts if verdict.name == name), None)
    if verdict is None:
        return ("unscored", None)
    if verdict.state == "unmeasured" and verdict.detail.get("omitted"):
        return ("omitted", None)
    if verdict.state == "unmeasured" and verdict.detail.get("abstained"):
        return ("abstained", None)
    return verdict.state, verdict.value


def count_units(evaluation: Evaluation, hard_gates: Sequence[str]) -> tuple[int, int]:
    """(units judged, units failed) of one cell over the hard gates. No unit fails twice; one a gate could not judge is in neither."""
    verdicts = [verdict for verdict in evaluation.gates if verdict.name in hard_gates]
    failed = {day for verdict in verdicts for day in verdict.unit_days} if verdicts else set()
    able = [verdict for verdict in verdicts if not is_idle(verdict)]
    judged = min((verdict.units for verdict in able), default=0)
    return max(judged, len(failed)), len(failed)


def is_idle(verdict: GateVerdict) -> bool:
    """Whether a gate had nothing to stop on a cell."""
    return verdict.hit is False and verdict.units == 0


def as_row(value: Any) -> Any:
    """A plain JSON form of a board or a part of it."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: as_row(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(name): as_row(each) for name, each in value.items()}
    return [as_row(each) for each in value] if isinstance(value, (list, tuple)) else value
