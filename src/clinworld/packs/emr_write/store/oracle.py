"""The read side: what changed, taken from the tables themselves where the journal says to look, and signs of any change it does not say.

The journal tells which rows may differ, so the chart is not read whole. Row counts of every table and the engine's own count of
changes must agree with it; `is_full` compares every row with its digest from before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.store.layout import PENDING, Layout
from clinworld.packs.emr_write.store.protocol import Change, Entry, Reading
from clinworld.packs.emr_write.store.rows import RawRow, decode_json, decode_row, is_live
from clinworld.packs.emr_write.store.server import Sql

Fault = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where an episode begins: the last journal line and the row count of every table then."""

    seq: int
    counts: dict[str, int]


class Oracle:
    """Reads one record system over a connection of its own that cannot write."""

    def __init__(self, sql: Sql, layout: Layout) -> None:
        self.sql, self.layout = sql, layout
        self._names = {name: tuple(fields) for name, fields in layout.fields.items()}
        listed = {name: ", ".join(f'"{field}"' for field in fields) for name, fields in self._names.items()}
        self._select = {name: f'SELECT {columns} FROM "{name}"' for name, columns in listed.items()}
        self._count_all = "SELECT " + ", ".join(f'(SELECT count(*) FROM "{name}")' for name in self._names)

    def last_seq(self) -> int:
        """The last journal line, 0 when there is none."""
        return int(self.sql.query('SELECT coalesce(max("seq"), 0) FROM "Journal"')[0][0])

    def count_rows(self) -> dict[str, int]:
        """Rows of every table, deleted ones included."""
        return dict(zip(self._names, (int(n) for n in self.sql.query(self._count_all)[0]), strict=True))

    def digest_rows(self) -> dict[str, dict[str, int]]:
        """A hash of every row of every table by id; equal within one process only. Reads the whole chart."""
        return {name: {row[0]: hash(row) for row in self.sql.query(select)} for name, select in self._select.items()}

    def read(self, mark: Mark, near: Sequence[tuple[str, Row]], clock: str) -> Reading:
        """Everything that changed since the mark."""
        lines = self.sql.query(
            'SELECT "seq", "collection", "rowId", "change", "before", "after" FROM "Journal" WHERE "seq" > ? ORDER BY "seq"', (mark.seq,)
        )
        journal: list[Entry] = []
        last: dict[tuple[str, str], RawRow | None] = {}
        first: dict[tuple[str, str], RawRow | None] = {}
        faults: list[Fault] = []
        expected = dict(mark.counts)
        for seq, collection, row_id, change, before_text, after_text in lines:
            before, after = (None if text is None else decode_json(text) for text in (before_text, after_text))
            first.setdefault((collection, row_id), before)
            last[collection, row_id] = after
            expected[collection] += {"insert": 1, "delete": -1}.get(change, 0)
            journal.append(Entry(seq, collection, row_id, change, self._decode(collection, before), self._decode(collection, after)))
        changes: list[Change] = []
        for (collection, row_id), raw_before in first.items():
            raw_after = self._find_raw(collection, row_id)
            if raw_after != last[collection, row_id]:
                faults.append(("journal_disagrees", {"place": f"{collection}/{row_id}"}))
            if raw_after != raw_before:
                changes.append(Change(collection, row_id, self._decode(collection, raw_before), self._decode(collection, raw_after)))
        for collection, found in self.count_rows().items():
            if found != expected[collection]:
                faults.append(("rows_unexplained", {"place": collection, "expected": expected[collection], "found": found}))
        pending = int(self.sql.query(f'SELECT count(*) FROM "{PENDING}"')[0][0])
        return Reading(tuple(changes), tuple(journal), self._read_near(near, first), pending, clock, tuple(faults))

    def compare_all(self, digests: Mapping[str, Mapping[str, int]], since: int) -> list[Fault]:
        """Rows that differ from their digest, or are new or gone, without a journal line after `since`. Reads the whole chart."""
        known = {(name, row_id) for name, row_id in self.sql.query('SELECT "collection", "rowId" FROM "Journal" WHERE "seq" > ?', (since,))}
        faults: list[Fault] = []
        for name, rows in self.digest_rows().items():
            before = digests[name]
            touched = [row_id for row_id, value in rows.items() if before.get(row_id) != value]
            touched += [row_id for row_id in before if row_id not in rows]
            faults += [("row_unexplained", {"place": f"{name}/{row_id}"}) for row_id in touched if (name, row_id) not in known]
        return faults

    def _find_raw(self, collection: str, row_id: str) -> RawRow | None:
        found = self.sql.query(f'{self._select[collection]} WHERE "id" = ?', (row_id,))
        return dict(zip(self._names[collection], found[0], strict=True)) if found else None

    def _decode(self, collection: str, raw: RawRow | None) -> Row | None:
        return None if raw is None else decode_row(collection, raw, self.layout)

    def _read_near(self, near: Sequence[tuple[str, Row]], touched: Mapping[tuple[str, str], Any]) -> tuple[tuple[str, Row], ...]:
        """Live rows under the asked identities that the episode did not touch."""
        found: list[tuple[str, Row]] = []
        for collection, identity in near:
            terms = " AND ".join(f'"{name}" = ?' for name in identity)
            for values in self.sql.query(f"{self._select[collection]} WHERE {terms}", tuple(identity.values())):
                row = self._decode(collection, dict(zip(self._names[collection], values, strict=True)))
                if row is not None and is_live(row) and (collection, row["id"]) not in touched:
                    found.append((collection, row))
        return tuple(found)
