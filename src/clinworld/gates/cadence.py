"""Whether a series is charted as often as its row and its device say."""

import math

import numpy as np

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.item.cadence_is_kept import check as check_home_scale
from clinworld.gates.ledger_check import LedgerCheck, does_not_apply, passes
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.record import Series
from clinworld.world.wear import derive_use, load_share

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
        return _about_weekly(series, case)
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


def _about_weekly(series: Series, case: CaseUnderCheck) -> LedgerCheck:
    """Entries that are due at equal steps from day 0: on their day or the next, and no more missed than people who miss most miss."""
    step, z = int(case.knowledge.parameter("evidence_grid")), case.knowledge.parameter("ledger.z")
    due = case.gold.premise.course_end_day // step + 1
    # The last may be late beyond the end of the course.
    missed = max(due - 1 - len(series.days), 0) / due
    expected = float(load_share(case.knowledge, "weekly_p_missed").max())
    most = expected + z * math.sqrt(expected * (1 - expected) / due)
    on_time = bool((series.days % step <= 1).all()) and len(np.unique(series.days // step)) == len(series.days)
    detail = f"{len(series.days)} entries, due {due} times every {step} days; {missed:.2f} missed, at most {most:.2f}"
    return passes(NAME, on_time and missed <= most, detail if on_time else f"{detail}; one is not on its day or the next")


def _like_parent(series: Series, row: Stream, case: CaseUnderCheck) -> LedgerCheck:
    parent = case.gold.chart.find(row.parent)
    if parent is None:
        return passes(NAME, False, f"charted without {row.parent}")
    left = [day for fault in case.gold.faults if fault.kind == "mnar_missing" and fault.series == parent.name for day in fault.days]
    days = np.union1d(parent.days, np.array(left, dtype=np.int64)) if left else parent.days
    return passes(NAME, bool(np.isin(series.days, days).all()), f"on days of {row.parent}")


def _by_chance(series: Series, row: Stream, case: CaseUnderCheck) -> LedgerCheck:
    """Missing days of a device that is worn or not: their share, the longest run, and that they form no comb.

    Both lie between what the people who use a device most and least would show.
    """
    n, z = case.gold.premise.course_end_day + 1, case.knowledge.parameter("ledger.z")
    use = derive_use(np.array([row.p_off_worn]), np.array([row.p_off_off]), case.knowledge)
    least, expected = float(use.share.min()), float(use.share.max())
    alike = (1 + row.p_off_off - row.p_off_worn) / max(1 - row.p_off_off + row.p_off_worn, RARE)
    most = case.knowledge.parameter("cadence.missing_tolerance") + z * math.sqrt(expected * (1 - expected) * alike / n)
    missing = 1 - len(series.days) / n
    gaps = np.diff(series.days)
    longest = int(gaps.max(initial=1)) - 1
    goes_on = max(float(use.after_off.max()), row.p_off_off)
    allowed = math.log(RARE / n) / math.log(goes_on) if goes_on > 0 else 0.0
    starts = series.days[:-1][gaps > 1]
    is_comb = len(starts) >= LEAST_RUNS and len(set(np.diff(starts).tolist())) == 1
    detail = f"{missing:.2f} of days missing, expected {least:.2f} to {expected:.2f} ± {most:.2f}"
    detail += f"; longest run {longest}, at most {allowed:.0f}"
    is_usual = least - most <= missing <= expected + most
    return passes(NAME, is_usual and longest <= allowed and not is_comb, detail + (", at equal steps" if is_comb else ""))
