"""Gate verdicts of one agent as rates with their own denominators, and the hard gates' multiplier per item."""

from collections.abc import Mapping, Sequence

import numpy as np

from clinworld.schema.cell import Evaluation
from clinworld.schema.verdict import GateVerdict
from clinworld.scores.rows import GateRole, GateScore
from clinworld.scores.statistics import DIGITS, exact_interval
from clinworld.scores.table import Reals, count_units, is_idle


def score_gate(gate: str, role: GateRole, cells: Sequence[Evaluation]) -> GateScore:
    """The rate of one gate over an agent's cells. A hit where nothing was judged is a contradiction and is called one."""
    said: list[GateVerdict] = [verdict for cell in cells for verdict in cell.gates if verdict.name == gate]
    units, failed = sum(verdict.units for verdict in said), sum(verdict.failed for verdict in said)
    hits = sum(verdict.hit is True for verdict in said)
    unknown = sum(verdict.hit is None for verdict in said)
    idle = sum(is_idle(verdict) for verdict in said)
    note = ""
    if hits and units == 0:
        note = "contradiction"
    elif units == 0:
        note = "cannot fire here" if idle and not unknown else "unmeasured"
    rate = round(failed / units, DIGITS) if units else None
    return GateScore(gate, role, failed, units, unknown, idle, rate, exact_interval(failed, units) if units else None, note)


def count_item_units(repeats_by_item: Mapping[str, Sequence[Evaluation]], items: Sequence[str], hard_gates: Sequence[str]) -> Reals:
    """(judged, failed) units of each common item over the hard gates, repeats together: shape (2, items)."""
    counted = np.zeros((2, len(items)))
    for place, item in enumerate(items):
        for evaluation in repeats_by_item.get(item, ()):
            counted[:, place] += count_units(evaluation, hard_gates)
    return counted


def multiply(units: Reals, weights: Reals) -> Reals:
    """1 - failed / judged units in each row of item weights; 1 where no unit was judged."""
    judged, failed = weights @ units[0], weights @ units[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Reals = np.where(judged > 0, 1 - failed / judged, 1.0)
    return found
