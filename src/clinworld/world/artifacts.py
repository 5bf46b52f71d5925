"""Faults in the charted values, laid over finished readings. Truth, other readings and the draws behind them are never touched.

Missing readings and adherence gaps come first; faults of value follow and find the readings that are left.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import PremiseConflict
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import PlannedArtifact, Premise
from clinworld.schema.record import ChartFault, Series

Days = NDArray[np.int64]
FIRST = ("mnar_missing", "adherence_gap")


def apply_artifacts(
    charted: Mapping[str, Series], premise: Premise, knowledge: Knowledge
) -> tuple[dict[str, Series], tuple[ChartFault, ...]]:
    """(the series with the premise's faults in them, the faults with the exact days they touched).

    Raises PremiseConflict `artifact_not_placed` for a fault that finds no reading.
    """
    series = dict(charted)
    faults: list[ChartFault] = []
    for planned in sorted(premise.artifacts, key=lambda planned: planned.kind not in FIRST):
        name = knowledge.artifacts[planned.kind].series
        if name not in series:
            raise _not_placed(premise, planned, f"no series {name}", "the fault needs readings")
        series[name], days = APPLY[planned.kind](series[name], planned, premise, knowledge)
        size = None if planned.kind == "mnar_missing" else planned.size
        faults.append(ChartFault(planned.kind, name, tuple(int(day) for day in days), size))
    return series, tuple(faults)


def shift_from_day(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """Another scale: readings are moved by the size from the first day to the end."""
    return _shift(series, np.flatnonzero(series.days >= planned.first_day), planned, premise)


def shift_window(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """Other weighing conditions: readings inside the window are moved by the size."""
    return _shift(series, _inside(series, planned), planned, premise)


def shift_nearest(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """One odd reading: the nearest to the first day, the earlier of two; one the index day still shows where the fault begins by then."""
    reach = int(knowledge.parameter("spike_reach_days"))
    away = np.abs(series.days.astype(np.int64) - planned.first_day)
    possible = np.flatnonzero(away <= reach)
    shown = possible[series.days[possible] <= premise.index_day]
    if planned.first_day <= premise.index_day and len(shown):
        possible = shown
    if not len(possible):
        nearest = f"nearest reading {int(away.min())} days away" if len(away) else "no reading at all"
        raise _not_placed(premise, planned, nearest, f"at most {reach} days are allowed")
    return _shift(series, possible[[int(np.argmin(away[possible]))]], planned, premise)


def multiply_first(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """Mixed-up units: the first readings of the window are multiplied by the size."""
    places = _inside(series, planned)[: planned.most_readings]
    _need(series, places, planned, premise)
    ticks = series.ticks.copy()
    ticks[places] = to_ticks(ticks[places] * planned.size, 0)
    return replace(series, ticks=ticks), series.days[places].astype(np.int64)


def remove_window(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """Readings left out: none remains inside the window."""
    places = _inside(series, planned)
    _need(series, places, planned, premise)
    return replace(series, days=np.delete(series.days, places), ticks=np.delete(series.ticks, places)), series.days[places].astype(np.int64)


def lower_once(series: Series, planned: PlannedArtifact, premise: Premise, knowledge: Knowledge) -> tuple[Series, Days]:
    """One low reading in the middle of the window, in place of the one charted that day or beside the others."""
    day = (planned.first_day + planned.last_day) // 2
    if day > premise.course_end_day:
        raise _not_placed(premise, planned, f"its middle is day {day}", f"the course ends on day {premise.course_end_day}")
    tick = to_ticks(100 * planned.size, series.decimals)
    place = int(np.searchsorted(series.days, day))
    if place < len(series.days) and series.days[place] == day:
        ticks = series.ticks.copy()
        ticks[place] = tick
        return replace(series, ticks=ticks), np.array([day])
    days = np.insert(series.days, place, day)
    return replace(series, days=days, ticks=np.insert(series.ticks, place, tick)), np.array([day])


APPLY: Mapping[str, Callable[[Series, PlannedArtifact, Premise, Knowledge], tuple[Series, Days]]] = {
    "device_switch": shift_from_day,
    "transient_spike": shift_nearest,
    "context_confound": shift_window,
    "unit_error": multiply_first,
    "mnar_missing": remove_window,
    "adherence_gap": lower_once,
}


def _inside(series: Series, planned: PlannedArtifact) -> Days:
    return np.flatnonzero((series.days >= planned.first_day) & (series.days <= planned.last_day))


def _shift(series: Series, places: Days, planned: PlannedArtifact, premise: Premise) -> tuple[Series, Days]:
    _need(series, places, planned, premise)
    ticks = series.ticks.copy()
    ticks[places] += to_ticks(planned.size, series.decimals)
    return replace(series, ticks=ticks), series.days[places].astype(np.int64)


def _need(series: Series, places: Days, planned: PlannedArtifact, premise: Premise) -> None:
    if not len(places):
        found = f"no {series.name} reading from day {planned.first_day} to {planned.last_day}"
        raise _not_placed(premise, planned, found, f"{len(series.days)} readings, the last on day {int(series.days[-1])}")


def _not_placed(premise: Premise, planned: PlannedArtifact, found: str, limit: str) -> PremiseConflict:
    where = f"{premise.case_id}, {planned.kind} from day {planned.first_day}"
    return PremiseConflict(where, found, limit, do="Move the artifact or sample more often.", kind="artifact_not_placed")
