"""Can anything be said at all? A system that cannot be read or is not at rest leaves the episode unscored."""

from collections.abc import Iterator

from clinworld.packs.emr_write.checker.verdict import Finding, Rules
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading


def check_platform(reading: Reading | OracleUnreadable, rules: Rules) -> Iterator[Finding]:
    """Findings that leave the episode unscored: no reading, rows stamped by another clock, writes still waiting."""
    if isinstance(reading, OracleUnreadable):
        if "readable_oracle" in rules:
            yield Finding("readable_oracle", "failed_platform", "oracle_unreadable", {"found": reading.found})
        return
    if "readable_oracle" in rules:
        stamps = {
            entry.after["recordedAt"]
            for entry in reading.journal
            if entry.change == "insert" and entry.after and "recordedAt" in entry.after
        }
        for stamp in sorted(stamps - {reading.clock}):
            yield Finding("readable_oracle", "failed_platform", "clock_other", {"expected": reading.clock, "found": stamp})
    if reading.pending and "quiescence" in rules:
        yield Finding("quiescence", "reconciliation_required", "writes_waiting", {"found": reading.pending})
