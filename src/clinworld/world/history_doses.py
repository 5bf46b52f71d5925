"""Doses of a drug before day 0: where someone on it for years ends up, and by which steps."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from clinworld.core.days import DAYS_A_YEAR
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Drug


def climb_doses(
    drug: Drug, top: float, moments: Sequence[int], last: int | None, u: float, weight_kg: float, knowledge: Knowledge
) -> tuple[tuple[int, float], ...]:
    """(first day, dose) of each step, ascending: begun on the first moment, raised on later ones as titration allows, to the dose aimed at.

    `top` is the highest dose allowed, `last` the last day (None: still in force on day 0), `u` (0 to 1) says how high is aimed. A long
    ladder is climbed several rungs at a time, since what happens between visits is not charted.
    """
    rungs = [dose for dose in drug.ladder if dose <= top] or [drug.ladder[0]]
    years = ((last or 0) - moments[0]) / DAYS_A_YEAR
    target = _aim(rungs, _find_usual_dose(drug, weight_kg, years, knowledge), u, knowledge)
    stride = max(math.ceil(target / knowledge.parameter("history_rungs_most")), 1)
    steps, least, at = [(moments[0], rungs[0])], max(drug.min_titration_days, 1), 0
    for day in moments[1:]:
        if at >= target or (last is not None and day >= last):
            break
        if (reach := min(at + stride, target, at + (day - steps[-1][0]) // least)) > at:
            at = reach
            steps.append((day, rungs[at]))
    return tuple(steps)


def _find_usual_dose(drug: Drug, weight_kg: float, years: float, knowledge: Knowledge) -> float:
    """The usual maintenance dose: as its row says, by weight and years of use where it says so; else the middle of the ladder."""
    rows = knowledge.parameters
    if (by_weight := f"history_dose_per_kg.{drug.id}") in rows:
        return weight_kg * (rows[by_weight].value + knowledge.parameter("history_dose_per_kg_year") * years)
    written = rows.get(f"history_dose.{drug.id}")
    return drug.ladder[len(drug.ladder) // 2] if written is None else written.value


def _aim(rungs: Sequence[float], usual_dose: float, u: float, knowledge: Knowledge) -> int:
    """The rung aimed at: mostly that of the usual dose, below it in a few and above it in a few, at most twice as much."""
    usual = max(bisect_right(rungs, usual_dose) - 1, 0)
    p_low, p_high = knowledge.parameter("history_p_low_dose"), knowledge.parameter("history_p_high_dose")
    if u < p_low:
        return int(u / p_low * usual)
    if u < 1.0 - p_high:
        return usual
    most = max(bisect_right(rungs, 2 * usual_dose) - 1, usual)
    return most - int((1.0 - u) / p_high * (most - usual))
