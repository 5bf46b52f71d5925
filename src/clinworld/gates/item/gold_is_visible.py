"""What decides the answer can be seen by the agent: the driver's evidence by T, and each trap's readings by the last day shown.

Evidence that first moves after T, or that is charted nowhere, makes the question unanswerable.
"""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding
from clinworld.schema.record import Record

CONTROLS = ("evidence_before_the_index_day", "evidence_after_the_index_day_only")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for the driver and for each charted fault."""
    findings: list[Finding] = []
    checked = 0
    if case.gold.gold.event_occurs:
        for driver in case.gold.gold.drivers:
            checked += 1
            findings += check_driver(driver, case)
    for fault in case.gold.faults:
        if fault.series == "" or not fault.days or fault.size is None:
            continue
        checked += 1
        series = case.item.record.find(fault.series)
        first = min(fault.days)
        if series is None or not bool((series.days >= first).any()):
            findings.append(
                Finding(
                    "gold_is_visible",
                    f"{fault.kind}, day {first}",
                    "no reading of it in the view",
                    f"shown up to day {case.item.record.last_day}",
                )
            )
    return Outcome(checked, tuple(findings), "no event and no fault: nothing has to be seen")


def check_driver(driver: str, case: CaseUnderCheck) -> list[Finding]:
    """Whether one driver can be read from the view at T."""
    row, shown = case.knowledge.drivers[driver], case.shown()
    place = f"driver {driver}, view to day {case.item.index_day}"
    if row.needs_symptom:
        real = {origin.note_id for origin in case.gold.origins if origin.kind == "real"}
        if not any(note.note_id in real for note in shown.notes):
            return [Finding("gold_is_visible", place, "no real symptom charted by then", "this driver is read from symptoms")]
        return []
    if not row.observed_in:
        return []
    present = [name for name in row.observed_in if shown.find(name) is not None or (name == "dose" and shown.prescriptions)]
    if not present:
        return [Finding("gold_is_visible", place, "none of its streams is charted", "one of " + ", ".join(row.observed_in))]
    if row.evidence and not moves(row.evidence, shown, case.knowledge.parameter("visible.min_relative_change")):
        return [Finding("gold_is_visible", f"{place}, {row.evidence}", "no change by then", "the evidence must move before the index day")]
    return []


def moves(name: str, shown: Record, least: float) -> bool:
    """True when a series' range is at least `least` (0–1) of its largest value."""
    series = shown.find(name)
    if series is None or len(series.ticks) < 2:
        return False
    low, high = int(series.ticks.min()), int(series.ticks.max())
    return (high - low) >= least * max(abs(low), abs(high), 1)
