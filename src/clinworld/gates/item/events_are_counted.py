"""The number of everyday complaints and life events up to T is exactly rate × weeks, rounded; nothing declared was dropped."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("the_declared_number_of_events", "one_event_fewer")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for each kind of event, and for the author's own symptoms."""
    premise, day = case.gold.premise, case.item.index_day
    weeks = max(1.0, day / 7)
    charted = {note.note_id: note.day for note in case.gold.chart.notes}
    count = {kind: 0 for kind in ("real", "benign", "life", "look_alike", "distractor", "panel")}
    for origin in case.gold.origins:
        if charted.get(origin.note_id, day + 1) <= day:
            count[origin.kind] += 1
    expected = {
        "benign": round(premise.density.symptom_rate * weeks),
        "life": round(premise.density.life_event_rate * weeks),
        "real": sum(1 for symptom in premise.symptoms if symptom.day <= day),
    }
    found = {**count, "benign": count["benign"] + count["distractor"] + count["look_alike"]}
    findings = [
        Finding("events_are_counted", f"{kind} events up to day {day}", str(found[kind]), f"declared {wanted}")
        for kind, wanted in expected.items()
        if found[kind] != wanted
    ]
    return Outcome(len(expected), tuple(findings))
