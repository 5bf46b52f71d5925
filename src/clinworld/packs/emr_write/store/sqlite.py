"""The record system in SQLite: an owner, a server and an oracle connection to one database, and a chart put back after each episode.

The owner makes tables and seeds and restores; the server's connection can neither write the journal nor change the schema; the
oracle's is opened read-only. Restoring undoes the journal newest first, and copies the whole chart back where that does not add up.
"""

import sqlite3
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clinworld.packs.emr_write.actions import Action, Row
from clinworld.packs.emr_write.store.layout import AUDIT, PENDING, load_layout
from clinworld.packs.emr_write.store.oracle import Mark, Oracle
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, SeedRow
from clinworld.packs.emr_write.store.rows import decode_json, encode_json, encode_row
from clinworld.packs.emr_write.store.server import SOURCE, ConstraintBroken, RecordServer

HERE = Path(__file__).parent
SEEDED_AT = "2000-01-01T00:00:00Z"
_GUARDED = ("Journal", "Recording", AUDIT)
_WRITES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_HARMLESS = (sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_FUNCTION)


class _Connection:
    """The `Sql` shape over one SQLite connection; counts the changes that lasted."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self._voided = self._opened_at = 0

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self.raw.execute(sql, values).fetchall()
        except (sqlite3.IntegrityError, sqlite3.DataError, UnicodeError, OverflowError) as problem:  # values no row can hold
            raise ConstraintBroken(str(problem)) from None

    def begin(self) -> None:
        self.raw.execute("BEGIN IMMEDIATE")
        self._opened_at = self.raw.total_changes

    def commit(self) -> None:
        self.raw.execute("COMMIT")

    def rollback(self) -> None:
        self.raw.execute("ROLLBACK")
        self._voided += self.raw.total_changes - self._opened_at

    def lasting_changes(self) -> int:
        """Rows inserted, updated and deleted in transactions that were committed, as the engine counts them."""
        return self.raw.total_changes - self._voided


class SqliteStore:
    """A `Store` in SQLite, in memory or in a file at `path`.

    `chart` are the rows that stand before every episode. `honours_keys` False is a server that ignores the keys of repeated writes.
    """

    def __init__(self, chart: Sequence[SeedRow] = (), *, path: Path | None = None, honours_keys: bool = True) -> None:
        self.layout = load_layout()
        self.honours_keys = honours_keys
        self._audited = {each.trigger for each in self.layout.cascades if each.collection == AUDIT}
        place = f"file:{path.resolve()}?" if path else f"file:/clinworld-{uuid.uuid4().hex}?vfs=memdb&"
        self._owner = _connect(place + "mode=rwc")
        self._write_tables()
        self._write_chart(chart)
        self._place = place
        self._connect_both()
        self._template = sqlite3.connect(":memory:", check_same_thread=False)
        self._owner.raw.backup(self._template)
        self._digests: dict[str, dict[str, int]] | None = None
        self._base = self._mark = Mark(self._oracle.last_seq(), self._oracle.count_rows())
        self._clock, self._made_before = SEEDED_AT, self._lasting_changes()
        self._setup: Sequence[SeedRow] | None = ()
        self._has_queue = False
        self.server = RecordServer(self._writer, self.layout, now=SEEDED_AT, honours_keys=honours_keys)

    def begin(self, setup: Sequence[SeedRow] = (), *, now: str) -> None:
        """Put the task's own rows into the chart and mark it. `now` is the instant that stamps every row of the episode.

        The rows of the episode before stay where they are when it had the same setup, and are taken out otherwise.
        """
        if setup is not self._setup:
            self._undo(self._base.seq)
            self._mark, self._setup = self._base, None
            counts = Counter(self._base.counts)
            self._owner.begin()
            for seed in setup:
                self._insert_seed(seed)
                counts.update([seed.collection, *([AUDIT] if seed.collection in self._audited else [])])
            self._owner.commit()
            self._mark = Mark(self._oracle.last_seq(), counts)
            self._setup = setup if isinstance(setup, tuple) else None
        self._clock, self._made_before = now, self._lasting_changes()
        self.server = RecordServer(self._writer, self.layout, now=now, honours_keys=self.honours_keys)

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Do the actions in order over the server's connection. Raises OracleUnreadable when the system is broken."""
        try:
            return self.server.execute(actions, is_atomic=is_atomic)
        except sqlite3.Error as problem:
            raise _broken(problem) from None

    def postpone(self, action: Action) -> None:
        """Accept a write without applying it: it waits for `drain`. A fault of the server's side."""
        fields = {"op": action.op, "collection": action.collection, "fields": dict(action.fields), "row_id": action.row_id}
        self._has_queue = True
        number = self._owner.query(f'SELECT count(*) FROM "{PENDING}"')[0][0]
        self._change_queue(f'INSERT INTO "{PENDING}" VALUES (?, ?)', (f"{number:06d}", encode_json(fields)))

    def drain(self, *, most: int = 1000) -> int:
        """Apply waiting writes in order, at most so many; how many still wait."""
        waiting = self._owner.query(f'SELECT "id", "action" FROM "{PENDING}" ORDER BY "id"') if self._has_queue else []
        for row_id, text in waiting[:most]:
            self.execute((Action(**decode_json(text)),))
            self._change_queue(f'DELETE FROM "{PENDING}" WHERE "id" = ?', (row_id,))
        return max(0, len(waiting) - most)

    def read(self, near: Sequence[tuple[str, Row]] = (), *, is_full: bool = False) -> Reading:
        """What changed since `begin`, over the read-only connection. Raises OracleUnreadable."""
        try:
            if self._read_schema() != self._schema:  # an unknown column in quotes would be read as text
                raise sqlite3.DatabaseError("its tables are not as they were")
            reading = self._oracle.read(self._mark, near, self._clock)
            faults = list(reading.frame_faults)
            # Every journaled change is two for the engine: the row and its journal line.
            made, explained = self._lasting_changes() - self._made_before, 2 * len(reading.journal)
            if made != explained:
                faults.append(("changes_unexplained", {"place": "Journal", "expected": explained, "found": made}))
            if is_full:
                faults += self._oracle.compare_all(self._read_digests(), self._base.seq)
        except (sqlite3.Error, ConstraintBroken, KeyError, ValueError) as problem:
            raise _broken(problem) from None
        return Reading(reading.changes, reading.journal, reading.near, reading.pending, reading.clock, tuple(faults))

    def tamper(self, sql: str, values: Sequence[Any] = (), *, is_recorded: bool = True) -> None:
        """Run SQL as the owner: what a fault of the server's side does behind the API. Unrecorded changes leave no journal line."""
        self._owner.begin()
        if not is_recorded:
            self._owner.query('UPDATE "Recording" SET "isOn" = 0')
        self._owner.query(sql, values)
        if not is_recorded:
            self._owner.query('UPDATE "Recording" SET "isOn" = 1')
        self._owner.commit()

    def restore(self) -> None:
        """Put the chart back as `begin` left it: undo the journal, newest first; where something else happened too, copy it all back."""
        for connection in (self._owner, self._writer):
            if connection.raw.in_transaction:  # an episode that broke off
                connection.rollback()
        try:
            made, explained = self._lasting_changes() - self._made_before, self._undo(self._mark.seq)
            is_explained = made == 2 * explained and self._read_schema() == self._schema
        except (sqlite3.Error, ConstraintBroken):
            is_explained = False
        if not is_explained:
            self._copy_back()
        self._made_before = self._lasting_changes()

    def close(self) -> None:
        """Close every connection; an in-memory chart is gone."""
        for connection in (self._reader.raw, self._writer.raw, self._owner.raw, self._template):
            connection.close()

    def _undo(self, since: int) -> int:
        """Undo every journaled change after a line; how many there were. Raises ConstraintBroken where a row is not as the journal says."""
        lines = self._owner.query(
            'SELECT "collection", "rowId", "change", "before" FROM "Journal" WHERE "seq" > ? ORDER BY "seq" DESC', (since,)
        )
        if not lines and not self._has_queue:
            return 0
        self._owner.begin()
        self._owner.query('UPDATE "Recording" SET "isOn" = 0')
        for collection, row_id, change, before in lines:
            raw = {} if before is None else decode_json(before)
            made = self._owner.raw.total_changes
            if change == "insert":
                self._owner.query(f'DELETE FROM "{collection}" WHERE "id" = ?', (row_id,))
            elif change == "update":
                listed = ", ".join(f'"{name}" = ?' for name in raw)
                self._owner.query(f'UPDATE "{collection}" SET {listed} WHERE "id" = ?', (*raw.values(), row_id))
            else:
                self._insert(collection, raw)
            if self._owner.raw.total_changes != made + 1:
                raise ConstraintBroken(f"{collection}/{row_id} cannot be put back")
        self._owner.query('DELETE FROM "Journal" WHERE "seq" > ?', (since,))
        self._owner.query(f'DELETE FROM "{PENDING}"')
        self._owner.query('UPDATE "Recording" SET "isOn" = 1')
        self._owner.commit()
        self._has_queue = False
        return len(lines)

    def _copy_back(self) -> None:
        """The chart without any setup, from the copy made at first."""
        if self._owner.raw.in_transaction:
            self._owner.rollback()
        self._template.backup(self._owner.raw)
        # The copy may carry a change counter that the other connections have seen, and their pages would pass for fresh.
        self._writer.raw.close()
        self._reader.raw.close()
        self._connect_both()
        self._mark, self._setup, self._has_queue = self._base, (), False

    def _connect_both(self) -> None:
        self._writer, self._reader = _connect(self._place + "mode=rw"), _connect(self._place + "mode=ro")
        self._writer.query("PRAGMA foreign_keys = ON")
        self._writer.raw.set_authorizer(_authorize_server)
        self._reader.query("PRAGMA query_only = ON")
        self._oracle = Oracle(self._reader, self.layout)
        self._schema = self._read_schema()

    def _read_schema(self) -> int:
        return int(self._reader.query("PRAGMA schema_version")[0][0])

    def _lasting_changes(self) -> int:
        return self._owner.lasting_changes() + self._writer.lasting_changes()

    def _change_queue(self, sql: str, values: Sequence[Any]) -> None:
        # The queue is not journaled, so its changes are taken out of the engine's count.
        before = self._owner.lasting_changes()
        self._owner.query(sql, values)
        self._made_before += self._owner.lasting_changes() - before

    def _read_digests(self) -> dict[str, dict[str, int]]:
        if self._digests is None:
            self._digests = Oracle(_Connection(self._template), self.layout).digest_rows()
        return self._digests

    def _write_tables(self) -> None:
        script = [(HERE / name).read_text(encoding="utf-8") for name in ("tables.sql", "sqlite_journal.sql")]
        audit, table = ((HERE / f"sqlite_{name}.sql").read_text(encoding="utf-8") for name in ("audit", "triggers"))
        script += [audit.replace("{{table}}", name) for name in sorted(self._audited)]
        for name, fields in self.layout.fields.items():
            text = table.replace("{{table}}", name)
            for side in ("new", "old"):
                pairs = ", ".join(f"'{field}', {side}.\"{field}\"" for field in fields)
                text = text.replace(f"{{{{{side}}}}}", f"json_object({pairs})")
            script.append(text)
        self._owner.raw.executescript("\n".join(script))

    def _write_chart(self, chart: Sequence[SeedRow]) -> None:
        self._owner.begin()
        self._owner.query('UPDATE "Recording" SET "isOn" = 0')
        for seed in chart:
            self._insert_seed(seed)
            if seed.collection in self._audited:
                entity = {"action": "create", "entityType": seed.collection, "entityId": seed.row_id}
                owned = {"id": f"audit-{seed.row_id}", "recordedAt": SEEDED_AT, "patientId": seed.fields["patientId"]}
                self._insert(AUDIT, owned | entity)
        self._owner.query('UPDATE "Recording" SET "isOn" = 1')
        self._owner.commit()

    def _insert_seed(self, seed: SeedRow) -> None:
        owned = {"id": seed.row_id, "version": "1", "recordedAt": SEEDED_AT, "deleted": "0", "source": SOURCE, "pid": seed.row_id}
        columns = self.layout.fields[seed.collection]
        kept = {name: text for name, text in owned.items() if name in columns}
        self._insert(seed.collection, kept | encode_row(seed.collection, seed.fields, self.layout))

    def _insert(self, collection: str, raw: Mapping[str, str | None]) -> None:
        listed, places = ", ".join(f'"{name}"' for name in raw), ", ".join("?" * len(raw))
        self._owner.query(f'INSERT INTO "{collection}" ({listed}) VALUES ({places})', tuple(raw.values()))


def _connect(uri: str) -> _Connection:
    return _Connection(sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False))


def _broken(problem: Exception) -> OracleUnreadable:
    return OracleUnreadable("record system", f"cannot be used ({problem})", do="Repair it; the episode is unscored.")


def _authorize_server(action: int, table: str | None, _column: str | None, _database: str | None, trigger: str | None) -> int:
    """The server reads and writes rows; the journal and what is made of it are written by triggers alone, and the schema stays."""
    if action in _WRITES:
        return sqlite3.SQLITE_OK if trigger or table not in _GUARDED else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _HARMLESS else sqlite3.SQLITE_DENY
