"""What decides the answer can be seen by the agent: the driver's evidence by T, and each trap by the last day shown.

Evidence that first moves after T, or that is charted nowhere, makes the question unanswerable.
"""

import numpy as np

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Driver, Stream
from clinworld.schema.finding import Finding
from clinworld.schema.record import Series

CONTROLS = ("evidence_before_the_index_day", "evidence_after_the_index_day_only")
GATE = "gold_is_visible"
ORDERS = "dose"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings for the driver and for each trap."""
    findings: list[Finding] = []
    checked = 0
    if case.gold.gold.event_occurs:
        for driver in case.gold.gold.drivers:
            checked += 1
            findings += check_driver(case.knowledge.drivers[driver], case)
    last = case.item.record.last_day
    for fault in case.gold.faults:
        row = case.knowledge.artifacts.get(fault.kind)
        if row is None or row.turning_kind != "trap" or not fault.days:
            continue
        checked += 1
        if min(fault.days) > last or case.item.record.find(fault.series) is None:
            place, found = f"{fault.kind}, day {min(fault.days)}", "nothing of it in the view"
            findings.append(Finding(GATE, place, found, f"shown up to day {last}"))
    return Outcome(checked, tuple(findings), "no event and no trap: nothing has to be seen")


def check_driver(driver: Driver, case: CaseUnderCheck) -> list[Finding]:
    """Whether one driver can be read from the view at T."""
    place = f"driver {driver.id}, view to day {case.item.index_day}"
    if driver.needs_symptom:
        if not any((o := case.kinds.get(note.note_id)) is not None and o.kind == "real" for note in case.shown_notes):
            return [Finding(GATE, place, "no real symptom charted by then", "this driver is read from symptoms")]
        return []
    if not driver.observed_in:
        return []
    is_ordered = ORDERS in driver.observed_in and any(order.day <= case.item.index_day for order in case.item.record.prescriptions)
    if not is_ordered and all(case.find_shown(name) is None for name in driver.observed_in):
        return [Finding(GATE, place, "none of its streams is charted", "one of " + ", ".join(driver.observed_in))]
    name = driver.evidence or ("" if ORDERS in driver.observed_in else driver.observed_in[0])
    series = case.find_shown(name) if name else None
    if name and (series is None or not moves(series, driver, case.item.index_day, case.knowledge)):
        found = "no change by then" if series is not None else "not charted"
        return [Finding(GATE, f"{place}, {name}", found, "the evidence must move before the index day")]
    return []


def moves(series: Series, driver: Driver, last_day: int, knowledge: Knowledge) -> bool:
    """True when the latest readings lie off the earlier ones, towards what the driver does: a share of the level or of the full move.

    A record of doses taken is read by its last value against its best one.
    """
    if len(series.ticks) < 2:
        return False
    values, least = series.values(), knowledge.parameter("visible.min_relative_change")
    row = knowledge.streams[series.name]
    if driver.normal is None or driver.abnormal is None:
        return float(values[-1]) <= (1 - least * knowledge.parameter("visible.adherence_share")) * float(values.max())
    if row.scale == "log":
        values = np.log(np.maximum(values, 10.0**-row.decimals))
    is_late = series.days > last_day - knowledge.parameter("visible.late_days")
    is_late[-1] = True
    is_early = ~is_late & (series.days <= max(last_day / 2, float(series.days[0])))
    if not is_early.any():
        return False
    early, late = float(values[is_early].mean()), float(values[is_late].mean())
    return (late - early) * direction(driver) >= min(share_of_level(early, row, least), least * full_move(driver, row))


def direction(driver: Driver) -> int:
    """1 where the evidence of a driver rises, -1 where it falls."""
    return 1 if (driver.abnormal or 0.0) > (driver.normal or 0.0) else -1


def full_move(driver: Driver, row: Stream) -> float:
    """How far the evidence of a driver moves in all, on the stream's scale."""
    normal, abnormal = driver.normal or 0.0, driver.abnormal or 0.0
    return float(abs(np.log(abnormal / normal))) if row.scale == "log" else abs(abnormal - normal)


def share_of_level(level: float, row: Stream, share: float) -> float:
    """A relative change of a level, on the stream's scale."""
    return float(np.log(1 + share)) if row.scale == "log" else share * abs(level)
