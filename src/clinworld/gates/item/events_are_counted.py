"""The number of everyday complaints and life events up to T is exactly rate × weeks, rounded; nothing declared was dropped."""

from collections import Counter

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("the_declared_number_of_events", "one_event_fewer")
GATE = "events_are_counted"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for each kind of event, and for the author's own symptoms over the whole course."""
    premise, day = case.gold.premise, case.item.index_day
    weeks = max(1.0, day / 7)
    by_t: Counter[str] = Counter()
    told: Counter[str] = Counter()
    for note in case.gold.chart.notes:
        origin = case.kinds.get(note.note_id)
        kind = "presenting" if origin and origin.kind == "real" and origin.row else origin.kind if origin else "unexplained"
        told[kind] += 1
        by_t[kind] += note.day <= day
    complaints, life = by_t["benign"] + by_t["distractor"] + by_t["look_alike"], by_t["life"]
    due, due_life = round(premise.density.symptom_rate * weeks), round(premise.density.life_event_rate * weeks)
    events: tuple[tuple[str, int, int], ...]
    events = ((f"everyday complaints up to day {day}", complaints, due), (f"life events up to day {day}", life, due_life))
    if premise.presenting:
        # What is told of the presenting condition stands in the place of events that were not declared, as long as there are any.
        total = complaints + life + by_t["presenting"]
        full = due + due_life if complaints - by_t["distractor"] + life else max(due + due_life, total)
        events = ((f"events and presenting complaints up to day {day}", total, full),)
    counts = (
        *events,
        (f"told symptoms up to day {day}", by_t["real"], sum(symptom.day <= day for symptom in premise.symptoms)),
        ("told symptoms", told["real"], len(premise.symptoms)),
        ("notes without an origin", told["unexplained"], 0),
        ("origins without a note", len(case.gold.origins) - (told.total() - told["unexplained"]), 0),
    )
    findings = tuple(Finding(GATE, what, str(found), f"declared {wanted}") for what, found, wanted in counts if found != wanted)
    return Outcome(len(counts), findings)
