"""Whether a series is charted as often as its row and its device say."""

import math

import numpy as np

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.item.cadence_is_kept import check as check_home_scale
from clinworld.gates.ledger_check import LedgerCheck, does_not_apply, passes
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.record import Series

NAME = "charted_as_often_as_said"
HOME_SCALE, CLINIC_SCALE = "weight", "weight_clinic"
ON_GRID = ("evidence", "quality")
RARE = 1e-6
LEAST_RUNS = 5


def check_cadence(series: Series, row: Analyte | Stream, case: CaseUnderCheck) -> LedgerCheck:
    """The days of a series against its grid, its parent's days, or its row's chance of a missing day."""
    if isinstance(row, Analyte) or row.role == "adherence":
        return does_not_apply(NAME, "drawn at visits" if isinstance(row, Analyte) else "read at irregular intervals")
    if row.id == HOME_SCALE:
        wrong = check_home_scale(case).findings
        return passes(NAME, not wrong, "; ".join(map(str, wrong)) or f"{len(series.days)} weigh-ins")
    if row.id == CLINIC_SCALE:
        return _near_plan(series, case)
    if row.role in ON_GRID:
        step = int(case.knowledge.parameter("evidence_grid"))
        wanted = np.arange(0, case.gold.premise.course_end_day + 1, step)
        return passes(NAME, np.array_equal(series.days, wanted), f"{len(series.days)} values, every {step} days are {len(wanted)}")
    if row.parent:
        return _like_parent(series, row, case)
    return _by_chance(series, row, case)


def _near_plan(series: Series, case: CaseUnderCheck) -> LedgerCheck:
    """Clinic weighings: on day 0, then one for each day of the plan, near it; the last may lie beyond the end of the course."""
    step, jitter = (int(case.knowledge.parameter(f"weight_clinic_{name}")) for name in ("days", "jitter_days"))
    off = series.days - step * np.arange(len(series.days))
    least = (case.gold.premise.course_end_day - jitter) // step + 1
    near = len(off) >= least and off[0] == 0 and bool((np.abs(off) <= jitter).all())
    return passes(NAME, near, f"{len(off)} values, every {step} days are at least {least}, each within {jitter} days of its own")


def _like_parent(series: Series, row: Stream, case: CaseUnderCheck) -> LedgerCheck:
    parent = case.gold.chart.find(row.parent)
    if parent is None:
        return passes(NAME, False, f"charted without {row.parent}")
    left = [day for fault in case.gold.faults if fault.kind == "mnar_missing" and fault.series == parent.name for day in fault.days]
    days = np.union1d(parent.days, np.array(left, dtype=np.int64)) if left else parent.days
    return passes(NAME, bool(np.isin(series.days, days).all()), f"on days of {row.parent}")


def _by_chance(series: Series, row: Stream, case: CaseUnderCheck) -> LedgerCheck:
    """Missing days of a device that is worn or not: their share, the longest run, and that they form no comb."""
    n, z = case.gold.premise.course_end_day + 1, case.knowledge.parameter("ledger.z")
    expected = row.p_off_worn / (1 - row.p_off_off + row.p_off_worn)
    alike = (1 + row.p_off_off - row.p_off_worn) / max(1 - row.p_off_off + row.p_off_worn, RARE)
    most = case.knowledge.parameter("cadence.missing_tolerance") + z * math.sqrt(expected * (1 - expected) * alike / n)
    missing = 1 - len(series.days) / n
    gaps = np.diff(series.days)
    longest = int(gaps.max(initial=1)) - 1
    allowed = math.log(RARE / n) / math.log(row.p_off_off) if row.p_off_off > 0 else 0.0
    starts = series.days[:-1][gaps > 1]
    is_comb = len(starts) >= LEAST_RUNS and len(set(np.diff(starts).tolist())) == 1
    detail = f"{missing:.2f} of days missing, expected {expected:.2f} ± {most:.2f}; longest run {longest}, at most {allowed:.0f}"
    return passes(
        NAME, abs(missing - expected) <= most and longest <= allowed and not is_comb, detail + (", at equal steps" if is_comb else "")
    )
