"""The ledger's checks of one charted series: is it possible, backed, as often as its row says, and silent where it is not the answer."""

import math

import numpy as np
from numpy.typing import NDArray

from clinworld.gates.baseline import check_baseline
from clinworld.gates.cadence import check_cadence
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.item.derived_values_agree import check_calculated
from clinworld.gates.item.devices_record import needed_devices
from clinworld.gates.item.evidence_is_neutral import stray
from clinworld.gates.item.values_possible import check_series as find_impossible
from clinworld.gates.item.view_is_the_chart import compare_series
from clinworld.gates.ledger_check import LedgerCheck, does_not_apply, passes
from clinworld.knowledge.rows import Stream
from clinworld.schema.record import Series
from clinworld.world.formulas import FORMULAS

Days = NDArray[np.int32]
Reals = NDArray[np.float64]

SEGMENT_DAYS = 28
LEAST_READINGS = 8  # in a segment of days, for its mean to say something


def check_series(series: Series, case: CaseUnderCheck) -> list[LedgerCheck]:
    """The checks of one stream or laboratory series over its whole chart."""
    row, index_day = case.row(series.name), case.item.index_day
    wrong = find_impossible(series, case.knowledge)
    n_shown = int(np.searchsorted(series.days, index_day, side="right"))
    needed = needed_devices(case, series.name)
    checks = [
        passes("row_known", row is not None, "a knowledge row of that name"),
        passes("values_possible", not wrong, "; ".join(map(str, wrong)) or f"{len(series.ticks)} values in unit, decimals and bounds"),
        passes("visible_by_index_day", n_shown > 0, f"{n_shown} of {len(series.ticks)} values by day {index_day}"),
        _viewed(series, case),
        passes(
            "device_backed",
            not needed or bool(set(needed) & set(case.item.record.profile.devices)),
            f"needs {' or '.join(needed) or 'none'}",
        ),
    ]
    if row is None:
        return checks
    checks += [check_baseline(series, row, case), check_cadence(series, row, case)]
    if isinstance(row, Stream):
        checks += [_neutral_evidence(series, row, case), *_neutral_across(series, row, case)]
    elif row.derived_by in FORMULAS:
        by_name = {each.name: each for each in case.gold.chart.series}
        differs = check_calculated(series, row, by_name, case)
        checks.append(passes("follows_from_printed_values", not differs, "; ".join(map(str, differs)) or f"by {row.derived_by}"))
    return checks


def _viewed(series: Series, case: CaseUnderCheck) -> LedgerCheck:
    view = case.item.record
    shown, part = view.find(series.name), series.until(view.last_day)
    if shown is None:
        return passes(
            "view_equals_chart", len(part.days) == 0, "not in the view" if len(part.days) else "first charted after the last day shown"
        )
    differs = compare_series(shown, series, view.last_day)
    return passes("view_equals_chart", not differs, "; ".join(map(str, differs)) or f"{len(shown.days)} values up to day {view.last_day}")


def _neutral_evidence(series: Series, row: Stream, case: CaseUnderCheck) -> LedgerCheck:
    # Evidence of another driver that moves names a second answer.
    drivers = [driver for driver in case.knowledge.drivers.values() if driver.evidence == row.id]
    if not drivers or any(driver.id in case.gold.gold.drivers for driver in drivers):
        return does_not_apply("neutral_when_not_the_answer", "not the evidence of another driver")
    shown = case.find_shown(row.id)
    moved = "" if shown is None else next((found for driver in drivers if (found := stray(shown, driver, row, case.knowledge))), "")
    return passes("neutral_when_not_the_answer", not moved, moved or "level up to the index day")


def _neutral_across(series: Series, row: Stream, case: CaseUnderCheck) -> list[LedgerCheck]:
    """Whether a series steps at the index day or at the reversal: days that only the generator knows."""
    premise = case.gold.premise
    readings: tuple[Days, Reals] | None = None
    checks = []
    for name, day in (("level_across_index_day", premise.index_day), ("level_across_reversal", premise.reversal_day)):
        if day is None:
            checks.append(does_not_apply(name, "no reversal"))
        elif row.role in ("weight", "adherence") or row.id in case.knowledge.drivers[premise.driver].observed_in:
            checks.append(does_not_apply(name, "weight, doses and the driver's evidence may turn"))
        elif _drifts(row, case):
            checks.append(does_not_apply(name, "weight or the drug moves it"))
        else:
            readings = readings or _without_faults(series, row, case)
            checks.append(_level(name, *readings, row, day, case))
    return checks


def _drifts(row: Stream, case: CaseUnderCheck) -> bool:
    """True for a stream, or the child of one, that weight, the drug or what the drug does to glucose moves over the whole course."""
    parent = case.knowledge.streams.get(row.parent)
    moved = any(effect.item == row.id for effect in case.knowledge.drugs[case.gold.premise.drug].effects)
    own = row.per_kg is not None or moved or f"levels_per_hba1c_{row.id}" in case.knowledge.parameters
    return own or (parent is not None and (parent.role == "weight" or _drifts(parent, case)))


def _without_faults(series: Series, row: Stream, case: CaseUnderCheck) -> tuple[Days, Reals]:
    """Days and values, on the row's scale, that no fault touched."""
    touched = [each for fault in case.gold.faults if fault.series == series.name for each in fault.days]
    if not touched:
        return series.days, _on_scale(series, row)
    clean = ~np.isin(series.days, np.array(touched, dtype=np.int64))
    return series.days[clean], _on_scale(series, row)[clean]


def _level(name: str, days: Days, values: Reals, row: Stream, day: int, case: CaseUnderCheck) -> LedgerCheck:
    first, middle, last = days.searchsorted((day - SEGMENT_DAYS, day, day + SEGMENT_DAYS), side="right").tolist()
    before, after = values[first:middle], values[middle:last]
    if min(len(before), len(after)) < LEAST_READINGS:
        return does_not_apply(name, f"{len(before)} and {len(after)} readings beside day {day}")
    (mean_before, sd_before), (mean_after, sd_after) = _spread(before), _spread(after)
    alike = (1 + max(row.lag1, 0.0)) / (1 - max(row.lag1, 0.0))
    noise = max(float(np.hypot(sd_before, sd_after)) / math.sqrt(2), row.sd_within)
    limit = case.knowledge.parameter("ledger.z") * noise * math.sqrt(alike * (1 / len(before) + 1 / len(after)))
    limit = max(limit, case.knowledge.parameter("ledger.share_of_level") * max(1.0, abs(mean_before)))
    moved = mean_after - mean_before
    return passes(name, abs(moved) <= limit, f"{moved:+.3g} from before to after day {day}, limit {limit:.3g}")


def _spread(values: Reals) -> tuple[float, float]:
    """Mean and standard deviation, as NumPy's own methods have them but without their overhead on short arrays."""
    mean = float(np.add.reduce(values)) / len(values)
    off = values - mean
    return mean, math.sqrt(float(np.add.reduce(off * off)) / len(values))


def _on_scale(series: Series, row: Stream) -> Reals:
    values = series.values()
    return np.log(np.maximum(values, 10.0**-series.decimals)) if row.scale == "log" else values
