"""The whole frame: every changed row is wanted, declared, or a finding; and the way there was clean.

A deleted row is not there: marking one is a removal, unmarking one an update, and a row made and marked within the episode is nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.checker.values import Comparison
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Finding, Rules
from clinworld.packs.emr_write.store.layout import Layout
from clinworld.packs.emr_write.store.protocol import Change, Reading
from clinworld.packs.emr_write.store.rows import encode_json, is_live

MOST_SHOWN = 20
_ANY_RECORD = ExpectedRecord("", "", "update", {}, {})  # allows nothing of its own


@dataclass(frozen=True, slots=True)
class Effects:
    """Net changes of one episode by kind; rows the system wrote by itself are apart where cascades are declared."""

    created: tuple[Change, ...]
    updated: tuple[Change, ...]
    removed: tuple[Change, ...]
    cascades: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        """True when no row but the system's own differs."""
        return not (self.created or self.updated or self.removed)


def sort_changes(reading: Reading, layout: Layout, rules: Rules) -> Effects:
    """The net changes of a reading by kind."""
    own = layout.cascade_collections() if "declared_cascades" in rules else frozenset()
    kinds: dict[str, list[Change]] = {"created": [], "updated": [], "removed": [], "cascades": []}
    for change in reading.changes:
        if change.collection in own:
            kinds["cascades"].append(change)
            continue
        was, now = _is_there(change.before, rules), _is_there(change.after, rules)
        if change.before is None:
            if now:
                kinds["created"].append(change)
        else:
            kinds["removed" if was and not now else "updated"].append(change)
    return Effects(*(tuple(kinds[name]) for name in ("created", "updated", "removed", "cascades")))


def _is_there(row: Row | None, rules: Rules) -> bool:
    return is_live(row) if "live_rows_only" in rules else row is not None


def show_row(row: Row | None, layout: Layout, collection: str) -> str:
    """A row's own fields on one line, without what the server adds."""
    kept = {} if row is None else {name: value for name, value in row.items() if layout.owner(collection, name) != "server"}
    return ", ".join(f"{name}={encode_json(value)}" for name, value in kept.items())[:400]


def check_frame(effects: Effects, wanted: frozenset[tuple[str, str]], reading: Reading, layout: Layout) -> Iterator[Finding]:
    """Findings for changed rows that are not `wanted` and for changes that the journal does not explain."""
    for label, values in reading.frame_faults[:MOST_SHOWN]:
        yield Finding("whole_frame", "wrong_effect", label, values)
    kinds = (("row_added", effects.created), ("row_removed", effects.removed), ("row_changed", effects.updated))
    surplus = [(label, each) for label, changes in kinds for each in changes if (each.collection, each.row_id) not in wanted]
    for label, change in surplus[:MOST_SHOWN]:
        place = {"place": f"{change.collection}/{change.row_id}"}
        if label == "row_changed":
            values = {**place, "found": _show_update(change)}
        else:
            values = {**place, "found": show_row(change.after or change.before, layout, change.collection)}
        yield Finding("whole_frame", "wrong_effect", label, values)
    if len(surplus) > MOST_SHOWN:
        yield Finding("whole_frame", "wrong_effect", "rows_more", {"found": len(surplus) - MOST_SHOWN})


def _show_update(change: Change) -> str:
    before, after = change.before or {}, change.after or {}
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name) and name != "version"]
    return ", ".join(f"{name}: {encode_json(before.get(name))} → {encode_json(after.get(name))}" for name in names)[:400]


def check_cascades(effects: Effects, reading: Reading, layout: Layout) -> Iterator[Finding]:
    """The system's own rows: each declared number for each change, linked to a changed row, and nothing more."""
    made = Counter((entry.collection, entry.row_id) for entry in reading.journal if entry.change == "insert")
    touched = Counter((entry.collection, entry.row_id) for entry in reading.journal)
    linked: Counter[tuple[str, str, str]] = Counter()
    for change in effects.cascades:
        place = f"{change.collection}/{change.row_id}"
        if change.before is not None or change.after is None:
            yield Finding("declared_cascades", "wrong_effect", "cascade_changed", {"place": place, "found": _show_update(change)})
        else:
            linked[change.collection, str(change.after.get("entityType")), str(change.after.get("entityId"))] += 1
    for cascade in layout.cascades:
        if cascade.change == "any":
            for (collection, kind, row_id), found in linked.items():
                most = touched[kind, row_id] * cascade.most
                if collection == cascade.collection and found > most:
                    yield _cascade_finding(cascade.collection, f"{kind}/{row_id}", most, found)
            continue
        rows = {key for key in made if key[0] == cascade.trigger} | {
            key[1:] for key in linked if key[:2] == (cascade.collection, cascade.trigger)
        }
        for kind, row_id in sorted(rows):
            found, times = linked[cascade.collection, kind, row_id], made[kind, row_id]
            if not cascade.least * times <= found <= cascade.most * times:
                yield _cascade_finding(cascade.collection, f"{kind}/{row_id}", cascade.most * times, found)
    triggers = {(cascade.collection, cascade.trigger) for cascade in layout.cascades}
    for collection, kind, row_id in linked:
        if (collection, kind) not in triggers and (collection, "*") not in triggers:
            yield _cascade_finding(collection, f"{kind}/{row_id}", 0, linked[collection, kind, row_id])


def _cascade_finding(collection: str, place: str, expected: int, found: int) -> Finding:
    return Finding(
        "declared_cascades",
        "wrong_effect",
        "cascade_count",
        {"collection": collection, "place": place, "expected": expected, "found": found},
    )


def check_history(reading: Reading, layout: Layout, rules: Rules) -> Iterator[Finding]:
    """Rows that were something else on the way: states must be as before, then as after, and never back."""
    net = {(change.collection, change.row_id): change for change in reading.changes}
    states: dict[tuple[str, str], list[Row | None]] = {}
    for entry in reading.journal:
        key = (entry.collection, entry.row_id)
        if entry.collection not in layout.cascade_collections():
            states.setdefault(key, [_content(entry.before, layout, entry.collection)]).append(
                _content(entry.after, layout, entry.collection)
            )
    for (collection, row_id), passed in states.items():
        change = net.get((collection, row_id))
        final = passed[0] if change is None else _content(change.after, layout, collection)
        steps = [state for i, state in enumerate(passed) if i == 0 or not _is_same(state, passed[i - 1])]
        if len(steps) > 2 or (len(steps) == 2 and not _is_same(steps[1], final)):
            shown = next((state for state in steps[1:] if not _is_same(state, final)), steps[-1])
            values = {"place": f"{collection}/{row_id}", "found": show_row(shown, layout, collection) or "-", "steps": len(passed) - 1}
            yield Finding("clean_history", "wrong_effect", "history_dirty", values)


def _content(row: Row | None, layout: Layout, collection: str) -> Row | None:
    """What a row says, without the version and stamps that every write moves; None when it is not there."""
    if not is_live(row) or row is None:
        return None
    return {name: value for name, value in row.items() if layout.owner(collection, name) != "server"}


def _is_same(one: Row | None, other: Row | None) -> bool:
    """True for two states that say the same: a value in another of its forms is the same value here, as it is where rows are compared."""
    if one is None or other is None:
        return one is other
    return not any(Comparison(_ANY_RECORD, ALL_RULES, {}).compare_objects("", one, other))
