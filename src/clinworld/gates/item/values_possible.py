"""Every charted value lies inside its row's hard bounds, in the row's unit and decimals, on ascending days."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series

CONTROLS = ("a_series_inside_its_bounds", "a_value_beyond_a_bound")
GATE = "values_possible"
MOST_NAMED = 3


class Bounds(NamedTuple):
    """The lowest and highest tick a row allows."""

    low: int
    high: int


def find_row(name: str, knowledge: Knowledge) -> Analyte | Stream | None:
    """The knowledge row of a series, or None when there is none."""
    return knowledge.streams.get(name) or knowledge.analytes.get(name)


def load_bounds(row: Analyte | Stream) -> Bounds:
    """A row's hard bounds in ticks of its decimals."""
    scale = 10.0**row.decimals
    return Bounds(math.floor(row.hard_low * scale), math.ceil(row.hard_high * scale))


@lru_cache(maxsize=256)
def stack_bounds(names: tuple[str, ...], knowledge: Knowledge) -> NDArray[np.int64]:
    """The hard bounds of several series, [series, low and high]; every name has a row."""
    rows = [find_row(name, knowledge) for name in names]
    return np.array([load_bounds(row) for row in rows if row is not None], dtype=np.int64)


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all series of the whole chart."""
    findings: list[Finding] = []
    charted = case.gold.chart.series
    if not all_plain(charted, case.knowledge):
        for series in charted:
            findings += check_series(series, case.knowledge)
    return Outcome(len(charted), tuple(findings), "the chart holds no series")


def all_plain(charted: Sequence[Series], knowledge: Knowledge) -> bool:
    """True when nothing is wrong with any series; all at once, because nearly every chart is so."""
    for series in charted:
        row = find_row(series.name, knowledge)
        if row is None or series.unit != row.ucum or series.decimals != row.decimals or not 0 < len(series.days) == len(series.ticks):
            return False
    if not charted:
        return True
    starts = np.cumsum([0, *(len(series.days) for series in charted)])
    ticks, days = np.concatenate([series.ticks for series in charted]), np.concatenate([series.days for series in charted])
    bounds = stack_bounds(tuple(series.name for series in charted), knowledge)
    rises = days[1:] > days[:-1]
    rises[starts[1:-1] - 1] = True  # from one series to the next
    low, high = np.minimum.reduceat(ticks, starts[:-1]), np.maximum.reduceat(ticks, starts[:-1])
    return bool(rises.all() and (low >= bounds[:, 0]).all() and (high <= bounds[:, 1]).all())


def check_series(series: Series, knowledge: Knowledge) -> list[Finding]:
    """What is impossible in one series."""
    place = f"series {series.name}"
    row = find_row(series.name, knowledge)
    if row is None:
        return [Finding(GATE, place, "no knowledge row of that name")]
    findings: list[Finding] = []
    if series.unit != row.ucum:
        findings.append(Finding(GATE, place, f"unit {series.unit}", f"the row has {row.ucum}"))
    if series.decimals != row.decimals:
        findings.append(Finding(GATE, place, f"{series.decimals} decimals", f"the row has {row.decimals}"))
    if not len(series.days) or len(series.days) != len(series.ticks):
        found = f"{len(series.days)} days and {len(series.ticks)} values"
        return [*findings, Finding(GATE, place, found, "a charted series has a value a day charted")]
    days, ticks = series.days, series.ticks
    if not bool((days[1:] > days[:-1]).all()):
        findings.append(Finding(GATE, place, "days out of order", "ascending"))
    low, high = load_bounds(row)
    if int(ticks.min()) < low or int(ticks.max()) > high:
        for i in np.flatnonzero((ticks < low) | (ticks > high))[:MOST_NAMED]:
            value, allowed = print_tick(int(ticks[i]), series.decimals), f"possible: {row.hard_low:g} to {row.hard_high:g} {row.ucum}"
            findings.append(Finding(GATE, f"{place}, day {int(days[i])}", value, allowed))
    return findings
