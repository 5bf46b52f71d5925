"""Real symptoms do not stand out by their days: three or more in exactly equal steps need an everyday event on the same grid."""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("symptoms_on_uneven_days", "symptoms_every_two_weeks_alone")
LEAST = 3


def check(case: CaseUnderCheck) -> Outcome:
    """A finding when the days of the real symptoms up to T are an arithmetic progression that no everyday event shares."""
    last = case.item.index_day
    days = sorted({note.day for note in case.shown_notes if (o := case.kinds.get(note.note_id)) is not None and o.kind == "real"})
    if len(days) < LEAST:
        return Outcome(0, (), f"needs {LEAST} real symptoms up to day {last}, there are {len(days)}")
    steps = np.diff(days)
    step = int(steps[0])
    is_even = bool((steps == step).all())
    if not is_even or any((note.day - days[0]) % step == 0 for note in case.everyday_notes if note.day <= last):
        return Outcome(len(days))
    found = f"real symptoms on days {', '.join(map(str, days))}, every {step} days"
    return Outcome(len(days), (Finding("symptom_days_irregular", f"notes up to day {last}", found, "no everyday event shares the grid"),))
