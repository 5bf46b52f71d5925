"""What the three question judges share: which appended questions a cell was asked, and the verdict when there was none."""

from clinworld.judges.subject import Subject
from clinworld.schema.gold import ProbeGold
from clinworld.schema.verdict import Verdict, not_applicable


def asked_probes(subject: Subject, kind: str) -> tuple[ProbeGold, ...]:
    """The questions of one kind that were appended, with their right replies; empty when the cell's probe set is "none"."""
    return tuple(probe for probe in subject.gold.probes if probe.kind == kind) if subject.probe_set != "none" else ()


def not_asked(name: str) -> tuple[Verdict, ...]:
    """The one verdict when no such question was asked."""
    return (not_applicable(name, "no such question was asked"),)
