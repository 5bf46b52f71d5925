"""Where much weight was lost, what is coupled to weight did not clearly move the other way.

Read on the day of lowest weight, against the first result. A change counts as clear beyond twice what noise seldom produces. A quantity
that the drug itself moves against its coupling is left out, and so are blood pressures and calculated results.
"""

from functools import lru_cache

import numpy as np

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.reference_change import reference_change_pct
from clinworld.knowledge.rows import Analyte, Drug
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series

CONTROLS = ("labs_that_fall_with_weight", "a_lab_that_rises_while_weight_falls")
GATE = "labs_follow_weight"
TRUTH_SCALE = 100


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the analytes that are coupled to weight."""
    truth = np.array(case.gold.truth_weight_ticks)
    low_day = int(truth.argmin())
    lost_kg = float(truth[0] - truth[low_day]) / TRUTH_SCALE
    least_kg, near = case.knowledge.parameter("coupling.least_loss_kg"), case.knowledge.parameter("coupling.near_days")
    if lost_kg < least_kg:
        return Outcome(0, (), f"{lost_kg:.1f} kg were lost; at least {least_kg:g} kg move results clearly")
    drug = case.knowledge.drugs[case.gold.premise.drug]
    findings: list[Finding] = []
    checked = 0
    for series in case.gold.chart.series:
        row = case.knowledge.analytes.get(series.name)
        if row is None or not row.per_kg or row.derived_by or moves_against(drug, row):
            continue
        at = int(np.argmin(np.abs(series.days - low_day)))
        if at == 0 or abs(int(series.days[at]) - low_day) > near:
            continue
        checked += 1
        findings += check_direction(series, row, at, case.knowledge)
    return Outcome(checked, tuple(findings), "no result near the lowest weight is coupled to weight")


def check_direction(series: Series, row: Analyte, at: int, knowledge: Knowledge) -> list[Finding]:
    """Whether the result at a place moved clearly against the coupling since the first one."""
    assert row.per_kg is not None, "only coupled analytes are checked"
    first, later = int(series.ticks[0]), int(series.ticks[at])
    change_pct = 200 * (later - first) / max(1, first + later)  # of their mean, so that a low first value makes no large change
    is_opposite = change_pct * -row.per_kg < 0
    limit = 2 * reference_change_pct(row, knowledge)
    if not is_opposite or abs(change_pct) <= limit:
        return []
    change, most = tell_apart(change_pct, np.sign(change_pct) * limit, 0, sign="+")
    found = f"{print_tick(first, series.decimals)} to {print_tick(later, series.decimals)} ({change} %)"
    return [Finding(GATE, f"{series.name}, day {int(series.days[at])}", found, f"at most {most} % against the loss of weight")]


@lru_cache(maxsize=1024)
def moves_against(drug: Drug, row: Analyte) -> bool:
    """True when the drug's own effect on an analyte goes against what a loss of weight does to it."""
    effects = [effect.mean for effect in drug.effects if effect.item == row.id]
    return any(effect * -(row.per_kg or 0.0) < 0 for effect in effects)
