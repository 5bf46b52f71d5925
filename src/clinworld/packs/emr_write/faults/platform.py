"""Server faults of the platform: tables changed behind the API, and readers that cannot see, see too little or see another clock."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from clinworld.packs.emr_write.faults.server import FaultyStore, ServerFault
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading

_FIRST = '"id" = (SELECT min("id") FROM "Patient")'


def change_neighbour(line: FaultyStore) -> None:
    """A row changes behind the API, and the journal says so."""
    line.tamper(f'UPDATE "Patient" SET "family" = \'1\' WHERE {_FIRST}')


def change_silently(line: FaultyStore) -> None:
    """A row changes behind the API, and the journal does not say so."""
    line.tamper(f'UPDATE "Patient" SET "family" = \'1\' WHERE {_FIRST}', is_recorded=False)


def delete_for_good(line: FaultyStore) -> None:
    """A row disappears from its table."""
    line.tamper('DELETE FROM "patient_data" WHERE "id" = (SELECT min("id") FROM "patient_data")')


def forge_audit(line: FaultyStore) -> None:
    """The audit trail holds a row for a write that never was."""
    line.tamper("INSERT INTO \"AuditEvent\" VALUES ('forged', ?, 'create', 'MedicationRequest', 'nobody', 'nobody')", (line.now,))


def lose_audit(line: FaultyStore) -> None:
    """The audit trail has no row for a write that was."""
    line.tamper('DELETE FROM "AuditEvent" WHERE "recordedAt" = ?', (line.now,))


def drift(line: FaultyStore) -> None:
    """A column has another name than the reader knows."""
    line.tamper('ALTER TABLE "Patient" RENAME COLUMN "given" TO "forename"')


def lose_journal(line: FaultyStore) -> None:
    """There is no journal."""
    line.tamper('DROP TABLE "Journal"')


def _refuse(*_: object) -> Reading:
    raise OracleUnreadable("record system", "no connection", do="Repair it; the episode is unscored.")


def _refuse_to_begin(_line: FaultyStore, _now: str) -> str:
    raise OracleUnreadable("record system", "no connection", do="Repair it; the episode is unscored.")


def hour_ahead(_line: FaultyStore, now: str) -> str:
    """The server's clock is an hour ahead of the one everybody goes by."""
    return (datetime.fromisoformat(now) + timedelta(hours=1)).isoformat()


def read_behind(_line: FaultyStore, reading: Reading) -> Reading:
    """A copy that is behind, and knows how far: it shows nothing yet of what was written."""
    return replace(reading, changes=(), journal=(), frame_faults=(), pending=reading.pending + len(reading.journal))


FAULTS: Mapping[str, ServerFault] = {
    "neighbour_changed": ServerFault(settles=change_neighbour),
    "changed_silently": ServerFault(settles=change_silently),
    "deleted_for_good": ServerFault(settles=delete_for_good),
    "audit_forged": ServerFault(settles=forge_audit),
    "audit_lost": ServerFault(settles=lose_audit),
    "read_outage": ServerFault(reads=_refuse),
    "outage_from_the_start": ServerFault(begins=_refuse_to_begin),
    "schema_drift": ServerFault(settles=drift),
    "journal_lost": ServerFault(settles=lose_journal),
    "clock_skew": ServerFault(begins=hour_ahead, reads=lambda line, reading: replace(reading, clock=line.now)),
    "reader_behind": ServerFault(reads=read_behind),
    "others_waiting": ServerFault(reads=lambda _line, reading: replace(reading, pending=reading.pending + 1)),
}
