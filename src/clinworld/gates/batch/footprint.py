"""A change in the streams around an event does not tell real symptoms from everyday ones."""

from collections.abc import Sequence

import numpy as np

from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Record

CONTROLS = ("events_without_a_trace", "real_symptoms_that_alone_leave_a_trace")
BEFORE_DAYS, AFTER_DAYS = 14, 3
DENSE_READINGS = 30


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding when the association (phi) of footprint and kind is too large."""
    pairs, knowledge = batch
    table = np.zeros((2, 2))
    for _, gold in pairs:
        kinds = {origin.note_id: origin.kind for origin in gold.origins}
        for note in gold.chart.notes:
            if kinds[note.note_id] in ("real", "benign"):
                traced = leaves_footprint(gold.chart, note.day, knowledge.parameter("footprint.z"))
                table[int(kinds[note.note_id] == "real"), int(traced)] += 1
    least = knowledge.parameter("footprint.least_events")
    if table.sum(axis=1).min() < least:
        counts = f"{int(table[1].sum())} real and {int(table[0].sum())} everyday"
        return Outcome(0, (), f"needs {least:g} events of each kind, there are {counts}")
    margins = float(np.prod(table.sum(axis=0)) * np.prod(table.sum(axis=1)))
    phi = 0.0 if margins == 0 else float((table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]) / np.sqrt(margins))
    most = knowledge.parameter("footprint.max_phi")
    found = f"phi {phi:.2f} over {int(table.sum())} events"
    findings = (Finding("footprint", "streams around events", found, f"at most {most:g}"),) if abs(phi) >= most else ()
    return Outcome(int(table.sum()), findings)


def leaves_footprint(chart: Record, day: int, z: float) -> bool:
    """True when some dense stream moves by more than z of its own day-to-day SD in the days after an event."""
    for series in chart.series:
        if len(series.ticks) < DENSE_READINGS:
            continue
        before = series.ticks[(series.days >= day - BEFORE_DAYS) & (series.days < day)]
        after = series.ticks[(series.days >= day) & (series.days < day + AFTER_DAYS)]
        if len(before) < 3 or len(after) < 2:
            continue
        spread = float(np.std(np.diff(series.ticks))) / np.sqrt(2.0)
        if spread > 0 and abs(float(after.mean()) - float(before.mean())) > z * spread:
            return True
    return False
