"""The second opinion: a record system on plain dicts that keeps every state, and a judge that compares whole states.

Written apart from checker/ and store/ and imports neither, so that a mistake has to be made twice to go unseen. It is slow, small and
knows only what the searches do: reports that are executed action by action on a chart of a few rows.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Literal

from clinworld.packs.emr_write.search.slow_values import canonical

Row = dict[str, Any]
State = dict[str, dict[str, Row]]  # table → id → row
Truth = Literal["verified", "wrong_effect", "halted_before_effect", "rejected_policy"]

_STAMPS = ("id", "version", "deleted")  # what this system adds to a row
_KEYS = ("patientId", "encounterId")
_SERVER_ONLY = ("id", "version", "recordedAt", "deleted", "source", "pid", *_KEYS)
_WHOSE = {"subject": ("patientId", "Patient"), "patient": ("patientId", "Patient"), "encounter": ("encounterId", "Encounter")}
_ADDRESS = "https://emr.example.org/fhir/"


@dataclass(frozen=True)
class Wanted:
    """What a task wants, in plain values: rows to be there anew, elements to be changed, or a decision with its reasons."""

    creates: Sequence[tuple[str, str, Row]] = ()  # name, table, row
    edits: Mapping[tuple[str, str], Row] = field(default_factory=dict)  # (table, id) → elements
    optional: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    convertible: Sequence[str] = ()
    decision: str | None = None
    reasons: Sequence[str] = ()


class _No(Exception):
    """The system does not do this."""


class SlowStore:
    """A record system that copies everything at every action. `states[0]` is the chart before, `states[-1]` the chart now."""

    def __init__(self, rows: Sequence[tuple[str, str, Mapping[str, Any]]], *, flat: Sequence[str] = ("encounters", "patient_data")) -> None:
        self.flat = flat
        state: State = {}
        for table, row_id, fields in rows:
            kept = {name: value for name, value in fields.items() if value is not None}
            state.setdefault(table, {})[row_id] = {"id": row_id, "version": 1, "deleted": False, **kept}
        self.states: list[State] = [state]
        self.names: dict[str, tuple[str, str]] = {}
        self.seen: dict[str, tuple[str, str | None]] = {}  # key → the action as text, the row it made or found
        self.made = 0
        self.is_rejected = False  # a report that asks for what no report may is not done at all

    def fork(self) -> "SlowStore":
        """A system that goes on from here by itself."""
        twin = copy.copy(self)
        twin.states, twin.names, twin.seen = list(self.states), dict(self.names), dict(self.seen)
        return twin

    def do(self, action: Mapping[str, Any]) -> None:
        """One action as it stands in a report; one that is refused changes nothing."""
        self.is_rejected |= any(name in _SERVER_ONLY for name in action.get("fields", {}))
        before, names, made = self.states[-1], dict(self.names), self.made
        state, key = copy.deepcopy(before), action.get("key")
        try:
            if key in self.seen:
                text, row_id = self.seen[key]
                if text != repr(action):
                    raise _No  # used for something else
            else:
                row_id = self._do(state, action)
            if row_id is not None and action.get("full_url"):
                self.names[action["full_url"]] = (action["collection"], row_id)
            if key is not None:
                self.seen[key] = (repr(action), row_id)  # by a write that changed nothing too
        except _No:
            state, self.names, self.made = before, names, made
        self.states.append(state)

    def _do(self, state: State, action: Mapping[str, Any]) -> str | None:
        """Do an action; the row of a create."""
        table, fields = action["collection"], {**action.get("fields", {})}
        if action["op"] == "create":
            return self._create(state, table, fields, action)
        for row in self._targets(state, table, action):
            if action.get("if_version") is not None and action["if_version"] != str(row["version"]):
                raise _No
            if action["op"] == "delete":
                row.update(deleted=True, version=row["version"] + 1)
                continue
            was = copy.deepcopy(row)
            row.update(self._linked(fields), deleted=False)
            row_now = {name: value for name, value in row.items() if value is not None}
            row.clear()
            row.update(row_now)
            self._resolve(state, table, row)
            if row != was:
                row["version"] += 1
        return None

    def _create(self, state: State, table: str, fields: Row, action: Mapping[str, Any]) -> str:
        asked = action.get("if_none_exist")
        if asked is not None:
            found = [row for row in state.get(table, {}).values() if not row["deleted"] and _holds(row, asked)]
            if found and len(found) == 1:
                return str(found[0]["id"])
            if found:
                raise _No
        row = {name: value for name, value in self._linked(fields).items() if value is not None}
        self._resolve(state, table, row)
        self.made += 1
        row_id = f"row-{self.made}"
        state.setdefault(table, {})[row_id] = {"id": row_id, "version": 1, "deleted": False, **row}
        return row_id

    def _targets(self, state: State, table: str, action: Mapping[str, Any]) -> list[Row]:
        rows = state.get(table, {})
        if action.get("where") is not None:
            asked = {} if action["where"] == "*" else action["where"]
            found = [row for row in rows.values() if not row["deleted"] and _holds(row, asked)]
        else:
            named = self.names.get(action.get("full_url", ""), (table, action.get("id")))
            found = [rows[str(named[1])]] if named[0] == table and named[1] in rows else []
        if action["op"] == "delete":
            found = [row for row in found if not row["deleted"]]
        if not found:
            raise _No
        return found

    def _linked(self, value: Any) -> Any:
        """The value with names of new rows replaced by the rows."""
        if isinstance(value, dict):
            return {
                key: "/".join(self.names[each]) if key == "reference" and each in self.names else self._linked(each)
                for key, each in value.items()
            }
        return [self._linked(each) for each in value] if isinstance(value, list) else value

    def _resolve(self, state: State, table: str, row: Row) -> None:
        """Set the keys of a row; a row that belongs to nobody there is refused, and so is anything but text in a flat table."""
        if table in self.flat:
            declared = ("patient_id", "type", "note", "priority", "key", "pubpid", "fname", "lname", "DOB", "sex", "occupation")
            if any(name in declared and not isinstance(value, str) for name, value in row.items()):
                raise _No
            if table == "encounters" and row.get("patient_id") not in state.get("Patient", {}):
                raise _No
            return
        for element, (key, kind) in _WHOSE.items():
            if element not in row:
                continue
            place = row[element].get("reference", "") if isinstance(row[element], dict) else ""
            named, _, row_id = place.removeprefix(_ADDRESS).partition("/")
            if named != kind or row_id not in state.get(kind, {}) or state[kind][row_id]["deleted"]:
                raise _No
            row[key] = row_id
        if "patientId" not in row and table != "Patient":
            raise _No


def _holds(row: Row, asked: Mapping[str, Any]) -> bool:
    return all(row.get(name) == value for name, value in asked.items())


def judge_states(wanted: Wanted, states: Sequence[State], said: tuple[str | None, str | None] = (None, None), *, is_net: bool) -> Truth:
    """What the states of an episode come to. `is_net` looks at the first and the last one only; otherwise the way must be clean too."""
    before, after = states[0], states[-1]
    if not is_net and any(_is_dirty([state.get(table, {}).get(row_id) for state in states]) for table, row_id in _places(states)):
        return "wrong_effect"
    places = _places((before, after))
    touched = [place for place in places if place[1] in before.get(place[0], {}) and _at(before, place) != _at(after, place)]
    fresh = [(table, row_id) for table, row_id in places if row_id not in before.get(table, {}) and not after[table][row_id]["deleted"]]
    if not touched and not fresh:
        is_decided = wanted.decision is not None and said[0] == wanted.decision and said[1] in wanted.reasons
        return "verified" if is_decided and not wanted.creates and not wanted.edits else "halted_before_effect"
    if sorted(touched) != sorted(wanted.edits) or len(fresh) != len(wanted.creates):
        return "wrong_effect"
    for place in touched:
        row = _at(after, place)
        if row is None or row["deleted"] or not _is_same({**_own(_at(before, place)), **wanted.edits[place]}, _own(row), wanted):
            return "wrong_effect"
    return "verified" if any(_fits(wanted, chosen, after) for chosen in permutations(fresh)) else "wrong_effect"


def _places(states: Sequence[State]) -> list[tuple[str, str]]:
    return sorted({(table, row_id) for state in states for table, rows in state.items() for row_id in rows})


def _at(state: State, place: tuple[str, str]) -> Row | None:
    return state.get(place[0], {}).get(place[1])


def _own(row: Row | None) -> Row:
    return {} if row is None else {name: value for name, value in row.items() if name not in _STAMPS}


def _is_dirty(life: Sequence[Row | None]) -> bool:
    """True for a row that was anything else than first as before and then as after."""
    if all(row == life[0] for row in life):
        return False
    contents = [None if row is None or row["deleted"] else canonical(_own(row)) for row in life]
    turns = [content for i, content in enumerate(contents) if i == 0 or content != contents[i - 1]]
    return len(turns) > 2


def _fits(wanted: Wanted, chosen: Sequence[tuple[str, str]], after: State) -> bool:
    names = {f"urn:uuid:{name}": place for (name, _, _), place in zip(wanted.creates, chosen, strict=True)}
    return all(
        table == place[0] and _is_same(_named(row, names), _own(_at(after, place)), wanted)
        for (_, table, row), place in zip(wanted.creates, chosen, strict=True)
    )


def _named(row: Row, names: Mapping[str, tuple[str, str]]) -> Row:
    def put(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {each: put(each, inner) for each, inner in value.items()}
        if isinstance(value, str) and value in names:
            return names[value][1] if key in _KEYS else "/".join(names[value])
        return [put(key, each) for each in value] if isinstance(value, list) else value

    return {key: put(key, value) for key, value in row.items()}


def _is_same(wanted_row: Row, found: Row, wanted: Wanted) -> bool:
    kept = {name: value for name, value in found.items() if name not in _KEYS or name in wanted_row}
    for path, values in wanted.optional.items():
        kept = _without(kept, path.split("."), values, wanted_row)
    return bool(canonical(wanted_row, wanted.convertible) == canonical(kept, wanted.convertible))


def _without(value: Any, path: Sequence[str], allowed: Sequence[Any], beside: Any) -> Any:
    """The value without an element that may be left out, wherever the wanted row does not have it too."""
    if isinstance(value, list):
        others = beside if isinstance(beside, list) and len(beside) == len(value) else [None] * len(value)
        return [_without(each, path, allowed, other) for each, other in zip(value, others, strict=True)]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    rest: dict[str, Any] = {name: each for name, each in value.items() if name != path[0]}
    other = beside.get(path[0]) if isinstance(beside, dict) else None
    if path[1:]:
        return {**rest, path[0]: _without(value[path[0]], path[1:], allowed, other)}
    is_allowed = other is None and any(canonical(each) == canonical(value[path[0]]) for each in allowed)
    return rest if is_allowed else value
