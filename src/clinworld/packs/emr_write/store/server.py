"""The record system's write side: checks, keys, versions, references, then SQL. The same over any database; it cannot read the journal.

A write it cannot take is refused with a status and changes nothing. What it answers is for the policy; the oracle never looks at it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from clinworld.core.digest import digest_bytes
from clinworld.packs.emr_write.actions import Action, Row
from clinworld.packs.emr_write.store.layout import UNDECLARED, WRITE_KEY, Layout
from clinworld.packs.emr_write.store.protocol import Reply
from clinworld.packs.emr_write.store.references import find_references, place_references
from clinworld.packs.emr_write.store.rows import decode_json, encode_json, encode_row
from clinworld.packs.emr_write.strict_json import BadJson, check_whole

SOURCE = "record_system"
MOST_MATCHED = 200  # rows that one write may find by their values; a write to more is refused whole
_KEY_TYPES = {"patientId": "Patient", "encounterId": "Encounter"}


class ConstraintBroken(Exception):
    """The database refused a row."""


class Sql(Protocol):
    """A connection with `?` places. Queries return whole lists."""

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a statement. Raises ConstraintBroken."""

    def begin(self) -> None:
        """Open a transaction."""

    def commit(self) -> None:
        """Make it last."""

    def rollback(self) -> None:
        """Undo it."""


class Refused(Exception):
    """The server will not do this."""

    def __init__(self, status: int, said: str) -> None:
        self.reply = Reply(status, None, said)
        super().__init__(said)


class RecordServer:
    """The write side of one episode. `now` stamps every row; ids follow the order of creation, so equal episodes give equal rows.

    `honours_keys` False is a server that ignores the key of a write that is sent again. A key is used once its write was taken; a refused
    write uses none. The key of a write that changed nothing is kept here and leaves no row, so that each row of WriteKey has its change.
    """

    def __init__(self, sql: Sql, layout: Layout, *, now: str, honours_keys: bool = True) -> None:
        self.sql, self.layout, self.now, self.honours_keys = sql, layout, now, honours_keys
        self._created = self._written = 0
        self._urls: dict[str, str] = {}
        self._idle_keys: dict[str, tuple[str, str]] = {}  # key → digest of the payload, row it found

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Do the actions in order; a refused one changes nothing, and in an atomic bundle undoes all."""
        self._urls = {}
        if not is_atomic:
            return tuple(self._execute_alone(action) for action in actions)
        self.sql.begin()
        idle, replies = dict(self._idle_keys), list[Reply]()
        for action in actions:
            try:
                replies.append(self._apply_named(action))
            except (Refused, ConstraintBroken) as problem:
                self.sql.rollback()
                self._idle_keys = idle
                refused = problem.reply if isinstance(problem, Refused) else Reply(409, None, str(problem))
                return tuple(replace(refused) for _ in actions)
        self.sql.commit()
        return tuple(replies)

    def _execute_alone(self, action: Action) -> Reply:
        self.sql.begin()
        try:
            reply = self._apply_named(action)
        except Refused as refused:
            self.sql.rollback()
            return refused.reply
        except ConstraintBroken as broken:
            self.sql.rollback()
            return Reply(409, None, str(broken))
        self.sql.commit()
        return reply

    def _apply_named(self, action: Action) -> Reply:
        """Do an action; what it calls its row is then the row that was made, or made before under its key, or found by its condition."""
        try:  # a client of another face than the report's may send what no database can hold
            named = [action.row_id, action.full_url, action.key, action.if_version]
            check_whole([*named, action.fields, action.where, action.if_none_exist])
        except BadJson as bad:
            raise Refused(400, str(bad)) from None
        reply = self._apply_keyed(action)
        if action.op == "create" and action.full_url is not None and reply.row_id:
            self._urls[action.full_url] = f"{action.collection}/{reply.row_id}"
        return reply

    def _apply_keyed(self, action: Action) -> Reply:
        if action.key is None or not self.honours_keys:
            return self._apply(action)
        payload = [action.op, action.collection, dict(action.fields), action.row_id, action.full_url]
        rest = [action.where, action.if_version, action.if_none_exist]
        digest = digest_bytes(encode_json(payload + rest).encode())
        used = self._find_key(action.key)
        if used is not None:
            if used[0] != digest:
                raise Refused(422, f"key {action.key!r} was used with another payload")
            return Reply(200, used[1], "done before under this key")
        before = self._written
        reply = self._apply(action)
        if self._written > before:
            self._insert(WRITE_KEY, {"id": action.key, "digest": digest, "entityType": action.collection, "entityId": reply.row_id or ""})
        else:
            self._idle_keys[action.key] = digest, reply.row_id or ""
        return reply

    def _find_key(self, key: str) -> tuple[str, str] | None:
        """Digest of the payload and row of the write that used a key."""
        found = self.sql.query('SELECT "digest", "entityId" FROM "WriteKey" WHERE "id" = ?', (key,))
        return (found[0][0], found[0][1]) if found else self._idle_keys.get(key)

    def _apply(self, action: Action) -> Reply:
        if action.op == "create":
            return self._create(action)
        targets = self._targets(action)
        for raw in targets:
            if action.if_version is not None and raw["version"] != action.if_version:
                raise Refused(412, f"version {raw['version']}, not {action.if_version}")
            if action.op == "update":
                self._update(action, raw)
            else:
                self._set(action.collection, raw, {"deleted": "1"})
        return Reply(200, targets[0]["id"], f"{len(targets)} rows")

    def _create(self, action: Action) -> Reply:
        if action.if_none_exist is not None:
            found = self._find(action.collection, action.if_none_exist, most=2)
            if len(found) > 1:
                raise Refused(412, "more than one row matches")
            if found:
                return Reply(200, found[0]["id"], "there already")
        raw = self._encode(action.collection, action.fields)
        self._created += 1
        row_id = digest_bytes(f"{self.now}/{action.collection}/{self._created}".encode(), length=12)
        owned: dict[str, str | None] = {"id": row_id, "version": "1", "recordedAt": self.now, "deleted": "0"}
        columns = self.layout.fields[action.collection]
        if "source" in columns:
            owned["source"] = SOURCE
        if "pid" in columns:
            owned["pid"] = str(self.sql.query('SELECT count(*) FROM "patient_data"')[0][0] + 1)
        self._insert(action.collection, raw | self._resolve_keys(action.collection, raw) | owned)
        return Reply(201, row_id)

    def _update(self, action: Action, raw: Mapping[str, str | None]) -> None:
        written = self._encode(action.collection, action.fields, before=raw)
        changed = {name: text for name, text in written.items() if raw[name] != text}
        if raw["deleted"] == "1":
            changed["deleted"] = "0"
        if not changed:
            return  # a write of what is there already makes no version
        keys = self._resolve_keys(action.collection, {**raw, **changed})
        self._set(action.collection, raw, changed | {name: text for name, text in keys.items() if raw[name] != text})

    def _encode(self, collection: str, fields: Row, *, before: Mapping[str, str | None] | None = None) -> dict[str, str | None]:
        columns = self.layout.fields[collection]
        for name in fields:
            if name not in columns and not self.layout.takes_undeclared(collection):
                raise Refused(422, f"no element {name!r}")
            if name in columns and columns[name].owner != "policy":
                raise Refused(422, f"{name!r} is set by the server")
        self._check_texts(collection, fields)
        raw = encode_row(collection, place_references(dict(fields), self._urls), self.layout)
        if before and before.get(UNDECLARED) and raw.get(UNDECLARED):
            raw[UNDECLARED] = encode_json(decode_json(str(before[UNDECLARED])) | decode_json(str(raw[UNDECLARED])))
        return raw

    def _check_texts(self, collection: str, fields: Row) -> None:
        columns = self.layout.fields[collection]
        for name, value in fields.items():
            if name in columns and columns[name].kind == "text" and not (value is None or isinstance(value, str)):
                raise Refused(422, f"{name!r} must be text")

    def _resolve_keys(self, collection: str, raw: Mapping[str, str | None]) -> dict[str, str | None]:
        keys: dict[str, str | None] = {}
        for field in self.layout.fields[collection].values():
            if not field.resolves_to:
                continue
            kind = _KEY_TYPES[field.resolves_to]
            text = raw.get(field.name)
            found = find_references(decode_json(text), kind) if text else []
            if len(found) > 1 or (not found and (text if field.resolves_to != "patientId" else True)):
                raise Refused(422, f"{field.name!r} refers to {len(found)} rows of {kind}")
            row_id = found[0].partition("/")[2] if found else None
            if row_id is not None and not self.sql.query(f'SELECT 1 FROM "{kind}" WHERE "id" = ? AND "deleted" = \'0\'', (row_id,)):
                raise Refused(422, f"no {kind} {row_id!r}")
            keys[field.resolves_to] = row_id
        return keys

    def _targets(self, action: Action) -> list[dict[str, Any]]:
        row_id = action.row_id
        if action.full_url is not None:
            kind, _, row_id = self._urls.get(action.full_url, "").partition("/")
            if kind != action.collection:
                raise Refused(404, f"no row {action.full_url!r}")
        if row_id is None:
            values = {} if action.where == "*" or action.where is None else action.where
            found = self._find(action.collection, values, most=MOST_MATCHED + 1)
            if len(found) > MOST_MATCHED:
                raise Refused(413, f"more than {MOST_MATCHED} rows match")
        else:
            found = self._select(action.collection, '"id" = ?', (row_id,))
        if action.op == "delete":
            found = [raw for raw in found if raw["deleted"] == "0"]
        if not found:
            raise Refused(404, "no such row")
        return found

    def _find(self, collection: str, values: Row, *, most: int) -> list[dict[str, Any]]:
        """Live rows that hold these values by their ids, at most so many."""
        columns = self.layout.fields[collection]
        for name in values:
            if name not in columns:
                raise Refused(422, f"no element {name!r} to search by")
        self._check_texts(collection, values)
        raw = encode_row(collection, values, self.layout)
        terms = "".join(f' AND "{name}" IS NULL' if text is None else f' AND "{name}" = ?' for name, text in raw.items())
        texts = tuple(text for text in raw.values() if text is not None)
        return self._select(collection, f"\"deleted\" = '0'{terms}", texts, most=most)

    def _select(self, collection: str, where: str, values: Sequence[Any], *, most: int = 1) -> list[dict[str, Any]]:
        names = tuple(self.layout.fields[collection])
        listed = ", ".join(f'"{name}"' for name in names)
        found = self.sql.query(f'SELECT {listed} FROM "{collection}" WHERE {where} ORDER BY "id" LIMIT {most:d}', values)
        return [dict(zip(names, row, strict=True)) for row in found]

    def _insert(self, collection: str, raw: Mapping[str, str | None]) -> None:
        self._written += 1
        listed, places = ", ".join(f'"{name}"' for name in raw), ", ".join("?" * len(raw))
        self.sql.query(f'INSERT INTO "{collection}" ({listed}) VALUES ({places})', tuple(raw.values()))

    def _set(self, collection: str, raw: Mapping[str, Any], changed: Mapping[str, str | None]) -> None:
        self._written += 1
        changed = {**changed, "version": str(int(raw["version"]) + 1)}
        listed = ", ".join(f'"{name}" = ?' for name in changed)
        self.sql.query(f'UPDATE "{collection}" SET {listed} WHERE "id" = ?', (*changed.values(), raw["id"]))
