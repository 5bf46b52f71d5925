"""The record system in PostgreSQL: the same tables, server, oracle and checker as in SQLite, so the verdicts are the same.

Three roles: the owner makes, seeds and restores; the server's can write rows but neither the journal nor the audit trail nor a table's
shape; the oracle's can only read, in transactions that are read-only. One store is one schema. Needs the extra `postgres`.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.actions import Action, Row
from clinworld.packs.emr_write.store.layout import AUDIT, PENDING, load_layout
from clinworld.packs.emr_write.store.oracle import Mark, Oracle
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, SeedRow
from clinworld.packs.emr_write.store.rows import decode_json, encode_json, encode_row
from clinworld.packs.emr_write.store.server import SOURCE, ConstraintBroken, RecordServer

HERE = Path(__file__).parent
SEEDED_AT = "2000-01-01T00:00:00Z"
SERVER, ORACLE = "clinworld_server", "clinworld_oracle"
_COUNTED = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables WHERE schemaname = ?"
_SHAPE = """
SELECT md5(coalesce(string_agg(line, ',' ORDER BY line), '')) FROM (
  SELECT c.relname || ' ' || a.attname || ' ' || a.atttypid AS line FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = ?::regnamespace AND c.relkind = 'r' AND a.attnum > 0
  UNION ALL SELECT c.relname || ' ' || t.tgname || ' ' || t.tgenabled::text || ' ' || t.tgfoid
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ?::regnamespace AND NOT t.tgisinternal
) AS shape
"""


class _Connection:
    """The `Sql` shape over one PostgreSQL connection; counts the changes that lasted as the engine counts them."""

    def __init__(self, driver: Any, conninfo: str, schema: str, *, user: str | None = None, is_read_only: bool = False) -> None:
        self.driver, self.schema = driver, schema
        self.raw = driver.connect(conninfo, autocommit=True, **({"user": user} if user else {}))
        self.raw.prepare_threshold = 2
        self.raw.execute(f"SET search_path = {schema}")
        if is_read_only:
            self.raw.execute("SET default_transaction_read_only = on")
        self._lasting = self._opened_at = 0

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.run(sql, values)[0]

    def run(self, sql: str, values: Sequence[Any] = ()) -> tuple[list[tuple[Any, ...]], int]:
        """The rows, and how many a write touched."""
        text = sql.replace("%", "%%").replace("?", "%s") if values else sql
        try:
            cursor = self.raw.execute(text, tuple(values) or None)
        except (self.driver.errors.IntegrityError, self.driver.errors.DataError, UnicodeError) as problem:  # values no row can hold
            raise ConstraintBroken(str(problem)) from None
        return (cursor.fetchall() if cursor.description else []), cursor.rowcount

    def begin(self) -> None:
        self.raw.execute("BEGIN")
        self._opened_at = self._count()

    def commit(self) -> None:
        made = self._count() - self._opened_at
        self.raw.execute("COMMIT")
        self._lasting += made

    def rollback(self) -> None:
        self.raw.execute("ROLLBACK")

    @property
    def is_open(self) -> bool:
        """True within a transaction, a failed one included."""
        return bool(self.raw.info.transaction_status != self.driver.pq.TransactionStatus.IDLE)

    def lasting_changes(self) -> int:
        """Rows inserted, updated and deleted in transactions that were committed, those of triggers included."""
        return self._lasting

    def _count(self) -> int:
        # Counts of earlier transactions may still be among these, so they say something only as a difference within one transaction.
        return int(self.query(_COUNTED, (self.schema,))[0][0])


class PostgresStore:
    """A `Store` in a schema of its own in the database of `conninfo`, whose user must be able to make schemas and roles.

    `chart` are the rows that stand before every episode. `honours_keys` False is a server that ignores the keys of repeated writes.
    """

    def __init__(self, chart: Sequence[SeedRow] = (), *, conninfo: str, honours_keys: bool = True) -> None:
        self.layout, self.honours_keys, self._conninfo, self._chart = load_layout(), honours_keys, conninfo, tuple(chart)
        self._driver = _load_driver()
        self._audited = {each.trigger for each in self.layout.cascades if each.collection == AUDIT}
        self._schema = f"clinworld_{uuid.uuid4().hex}"
        self._owner = _Connection(self._driver, conninfo, self._schema)
        self._setup: Sequence[SeedRow] | None = ()
        self._base = self._mark = Mark(0, {})
        self._write_roles()
        self._build()
        self._writer = _Connection(self._driver, conninfo, self._schema, user=SERVER)
        self._reader = _Connection(self._driver, conninfo, self._schema, user=ORACLE, is_read_only=True)
        self._oracle = Oracle(self._reader, self.layout)
        self._settle()
        self._digests = self._oracle.digest_rows()
        self._clock = SEEDED_AT
        self.server = RecordServer(self._writer, self.layout, now=SEEDED_AT, honours_keys=honours_keys)

    def begin(self, setup: Sequence[SeedRow] = (), *, now: str) -> None:
        """Put the task's own rows into the chart and mark it. `now` is the instant that stamps every row of the episode."""
        if setup is not self._setup:
            self._undo(self._base.seq)
            self._mark, self._setup = self._base, None
            counts: Counter[str] = Counter(self._base.counts)
            self._owner.begin()
            for seed in setup:
                self._insert_seed(seed)
                counts.update([seed.collection, *([AUDIT] if seed.collection in self._audited else [])])
            self._owner.commit()
            self._mark = Mark(self._oracle.last_seq(), dict(counts))
            self._setup = setup if isinstance(setup, tuple) else None
        self._clock, self._made_before = now, self._lasting_changes()
        self.server = RecordServer(self._writer, self.layout, now=now, honours_keys=self.honours_keys)

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Do the actions in order over the server's connection. Raises OracleUnreadable when the system is broken."""
        try:
            return self.server.execute(actions, is_atomic=is_atomic)
        except self._driver.Error as problem:
            raise _broken(problem) from None

    def postpone(self, action: Action) -> None:
        """Accept a write without applying it: it waits for `drain`. A fault of the server's side."""
        fields = {"op": action.op, "collection": action.collection, "fields": dict(action.fields), "row_id": action.row_id}
        number = self._owner.query(f'SELECT count(*) FROM "{PENDING}"')[0][0]
        self._owner.query(f'INSERT INTO "{PENDING}" VALUES (?, ?)', (f"{number:06d}", encode_json(fields)))

    def drain(self, *, most: int = 1000) -> int:
        """Apply waiting writes in order, at most so many; how many still wait."""
        waiting = self._owner.query(f'SELECT "id", "action" FROM "{PENDING}" ORDER BY "id"')
        for row_id, text in waiting[:most]:
            self.execute((Action(**decode_json(text)),))
            self._owner.query(f'DELETE FROM "{PENDING}" WHERE "id" = ?', (row_id,))
        return max(0, len(waiting) - most)

    def read(self, near: Sequence[tuple[str, Row]] = (), *, is_full: bool = False) -> Reading:
        """What changed since `begin`, over the read-only connection. Raises OracleUnreadable."""
        try:
            if self._read_shape() != self._shape:
                raise ValueError("its tables are not as they were")
            reading = self._oracle.read(self._mark, near, self._clock)
            faults = list(reading.frame_faults)
            made, explained = self._lasting_changes() - self._made_before, 2 * len(reading.journal)
            if made != explained:
                faults.append(("changes_unexplained", {"place": "Journal", "expected": explained, "found": made}))
            if is_full:
                faults += self._oracle.compare_all(self._digests, self._base.seq)
        except (self._driver.Error, ConstraintBroken, KeyError, ValueError) as problem:
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
        """Put the chart back as `begin` left it: undo the journal, newest first; where something else happened too, make it anew."""
        for connection in (self._owner, self._writer):
            if connection.is_open:  # an episode that broke off
                connection.rollback()
        try:
            made = self._lasting_changes() - self._made_before
            is_explained = made == 2 * self._undo(self._mark.seq) and self._read_shape() == self._shape
        except (self._driver.Error, ConstraintBroken):
            is_explained = False
        if not is_explained:
            if self._owner.is_open:
                self._owner.rollback()
            self._build()
            self._settle()
        self._made_before = self._lasting_changes()

    def close(self) -> None:
        """Drop the schema and close every connection."""
        self._reader.raw.close()
        self._writer.raw.close()
        self._owner.raw.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._owner.raw.close()

    def _undo(self, since: int) -> int:
        """Undo every journaled change after a line; how many there were. Raises ConstraintBroken where a row is not as the journal says."""
        lines = self._owner.query(
            'SELECT "collection", "rowId", "change", "before" FROM "Journal" WHERE "seq" > ? ORDER BY "seq" DESC', (since,)
        )
        self._owner.begin()
        self._owner.query('UPDATE "Recording" SET "isOn" = 0')
        for collection, row_id, change, before in lines:
            raw = {} if before is None else decode_json(before)
            if change == "insert":
                _, touched = self._owner.run(f'DELETE FROM "{collection}" WHERE "id" = ?', (row_id,))
            elif change == "update":
                listed = ", ".join(f'"{name}" = ?' for name in raw)
                _, touched = self._owner.run(f'UPDATE "{collection}" SET {listed} WHERE "id" = ?', (*raw.values(), row_id))
            else:
                touched = self._insert(collection, raw)
            if touched != 1:
                self._owner.rollback()
                raise ConstraintBroken(f"{collection}/{row_id} cannot be put back")
        self._owner.query('DELETE FROM "Journal" WHERE "seq" > ?', (since,))
        self._owner.query(f'DELETE FROM "{PENDING}"')
        self._owner.query('UPDATE "Recording" SET "isOn" = 1')
        self._owner.commit()
        return len(lines)

    def _build(self) -> None:
        """The schema with its tables and the chart without any setup, from nothing."""
        self._owner.raw.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        self._owner.raw.execute(f"CREATE SCHEMA {self._schema}")
        self._owner.raw.execute("DISCARD PLANS")
        for name in ("tables.sql", "postgres_journal.sql"):
            self._owner.raw.execute((HERE / name).read_text(encoding="utf-8").replace("{{schema}}", self._schema))
        table = (HERE / "postgres_table.sql").read_text(encoding="utf-8")
        values = {"server": SERVER, "oracle": ORACLE}
        for name in self.layout.fields:
            text = table.replace("{{table}}", name)
            for key, value in values.items():
                text = text.replace("{{" + key + "}}", value)
            self._owner.raw.execute(text)
        for name in sorted(self._audited):
            trigger = f'CREATE TRIGGER "{name}_audit" AFTER INSERT ON "{name}" FOR EACH ROW EXECUTE FUNCTION "audit_create"()'
            self._owner.raw.execute(trigger)
        self._owner.raw.execute(f'REVOKE INSERT, UPDATE, DELETE ON "{AUDIT}" FROM {SERVER}')
        self._owner.raw.execute(f'GRANT SELECT ON "Journal", "{PENDING}" TO {ORACLE}')
        self._owner.raw.execute(f"GRANT USAGE ON SCHEMA {self._schema} TO {SERVER}, {ORACLE}")
        self._write_chart()

    def _settle(self) -> None:
        """What every episode begins from: the mark, the shape of the tables, no setup."""
        self._shape = self._read_shape()
        self._base = self._mark = Mark(self._oracle.last_seq(), self._oracle.count_rows())
        self._setup = ()
        self._made_before = self._lasting_changes()

    def _read_shape(self) -> str:
        return str(self._reader.query(_SHAPE, (self._schema, self._schema))[0][0])

    def _lasting_changes(self) -> int:
        return self._owner.lasting_changes() + self._writer.lasting_changes()

    def _write_roles(self) -> None:
        for role in (SERVER, ORACLE):
            if not self._owner.query("SELECT 1 FROM pg_roles WHERE rolname = ?", (role,)):
                self._owner.raw.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE")

    def _write_chart(self) -> None:
        self._owner.begin()
        self._owner.query('UPDATE "Recording" SET "isOn" = 0')
        for seed in self._chart:
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

    def _insert(self, collection: str, raw: Mapping[str, str | None]) -> int:
        listed, places = ", ".join(f'"{name}"' for name in raw), ", ".join("?" * len(raw))
        return self._owner.run(f'INSERT INTO "{collection}" ({listed}) VALUES ({places})', tuple(raw.values()))[1]


def _load_driver() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra, loaded at use
    except ImportError:
        raise UsageError("PostgreSQL", "its driver psycopg is not installed", do="Install `clinworld[postgres]`.") from None
    return psycopg


def _broken(problem: Exception) -> OracleUnreadable:
    return OracleUnreadable("record system", f"cannot be used ({problem})", do="Repair it; the episode is unscored.")
