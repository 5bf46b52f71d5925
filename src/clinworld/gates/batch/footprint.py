"""A change in the streams around an event does not tell real symptoms from everyday ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clinworld.gates.case import Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Note, Record

CONTROLS = ("events_without_a_trace", "real_symptoms_that_alone_leave_a_trace")
BEFORE_DAYS, AFTER_DAYS = 14, 3
LEAST_BEFORE, LEAST_AFTER = 3, 2
DENSE_READINGS = 30
REAL, EVERYDAY = "real", "benign"
Days = NDArray[np.int64]


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding when the association (phi) of footprint and kind is too large."""
    pairs, knowledge = batch
    least = int(knowledge.parameter("footprint.least_events"))
    by_chart = [[(gold.chart, note.day, kind) for note, kind in list_events(gold)] for _, gold in pairs]
    n_real = sum(kind == REAL for events in by_chart for _, _, kind in events)
    n_everyday = sum(map(len, by_chart)) - n_real
    if min(n_real, n_everyday) < least:
        return Outcome(0, (), f"needs {least} events of each kind, there are {n_real} real and {n_everyday} everyday")
    table = np.zeros((2, 2))
    for events in by_chart:
        if not events:
            continue
        days = np.array([day for _, day, _ in events], dtype=np.int64)
        traced = leave_footprints(events[0][0], days, knowledge.parameter("footprint.z"))
        for (_, _, kind), is_traced in zip(events, traced.tolist(), strict=True):
            table[int(kind == REAL), int(is_traced)] += 1
    n = int(table.sum())
    margins = float(np.prod(table.sum(axis=0)) * np.prod(table.sum(axis=1)))
    phi = 0.0 if margins == 0 else float((table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]) / np.sqrt(margins))
    # phi² · n is a chi square with one degree of freedom when footprint and kind have nothing to do with each other.
    by_chance = knowledge.parameter("footprint.chance_z") / float(np.sqrt(n))
    most = max(knowledge.parameter("footprint.max_phi"), by_chance)
    shares = [float(row[1] / row.sum()) for row in table]
    said, limit = tell_apart(abs(phi), most, 2)
    signed = f"-{said}" if phi < 0 else said
    told = f"phi {signed} over {n} events; {shares[1]:.0%} of real and {shares[0]:.0%} of everyday events leave a footprint"
    findings = (Finding("footprint", "streams around events", told, f"|phi| below {limit}"),) if abs(phi) >= most else ()
    return Outcome(n, findings, told=told)


def list_events(gold: GoldRow) -> list[tuple[Note, str]]:
    """Real symptoms and everyday complaints of a chart with their kind."""
    kinds = {origin.note_id: origin.kind for origin in gold.origins}
    return [(note, kind) for note in gold.chart.notes if (kind := kinds.get(note.note_id, "")) in (REAL, EVERYDAY)]


def leave_footprints(chart: Record, days: Days, z: float) -> NDArray[np.bool_]:
    """For each event day: whether some dense stream moves by more than z of its own day-to-day SD in the days after it."""
    traced = np.zeros(len(days), dtype=np.bool_)
    for series in chart.series:
        if len(series.ticks) < DENSE_READINGS:
            continue
        spread = float(np.std(np.diff(series.ticks))) / np.sqrt(2.0)
        sums = np.concatenate([[0.0], np.cumsum(series.ticks)])
        first, at, last = (np.searchsorted(series.days, days + shift) for shift in (-BEFORE_DAYS, 0, AFTER_DAYS))
        n_before, n_after = at - first, last - at
        enough = (n_before >= LEAST_BEFORE) & (n_after >= LEAST_AFTER)
        if spread > 0 and enough.any():
            before = (sums[at] - sums[first]) / np.maximum(n_before, 1)
            after = (sums[last] - sums[at]) / np.maximum(n_after, 1)
            traced |= enough & (np.abs(after - before) > z * spread)
    return traced
