"""Everyday events do not pile up shortly before T, where they would mark it."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.told_apart import tell_apart
from clinworld.schema.finding import Finding

CONTROLS = ("events_over_the_whole_time", "events_in_the_last_weeks_only")


def check(case: CaseUnderCheck) -> Outcome:
    """A finding when too large a share of the everyday events up to T lies in the last third of the time they can lie in."""
    last, first = case.item.index_day, int(case.knowledge.parameter("events_first_day"))
    least, most = case.knowledge.parameter("spread.least_events"), case.knowledge.parameter("spread.most_late_share")
    days = [note.day for note in case.everyday_notes if note.day <= last]
    if len(days) < least:
        return Outcome(0, (), f"needs {least:g} everyday events up to day {last}, there are {len(days)}")
    late = sum(day > first + 2 * (last - first) / 3 for day in days)
    if late <= most * len(days):
        return Outcome(len(days))
    share, limit = tell_apart(late / len(days), most, 0, "%")
    found = f"{late} of {len(days)} events ({share}) in the last third"
    return Outcome(len(days), (Finding("events_are_spread", f"notes up to day {last}", found, f"at most {limit}"),))
