"""Policy faults of a row's life: the right words on a row that came about, stands or ended in another way than was asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from clinworld.packs.emr_write.faults.draft import Draft, change_at, first_record, free_elements, other_patient, seeded
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.protocol import SeedRow

_NAME = "urn:uuid:first"


def _named(draft: Draft) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first create under a name, and the delete of it."""
    first = {"full_url": _NAME, **draft.actions[0]}
    return first, {"op": "delete", "collection": first["collection"], "full_url": first["full_url"]}


def update_over_create(draft: Draft) -> Draft:
    """An older row of the same patient turned into the record, instead of a new one."""
    record, first = first_record(draft), draft.actions[0]
    last = free_elements(draft)[-1]
    was = {name: value for name, value in first["fields"].items() if name != last}
    keys = {name: value for name, value in record.identity.items() if load_layout().owner(record.collection, name) == "key"}
    row = SeedRow(record.collection, "older-row", {**was, **keys})
    edit = {"op": "update", "collection": record.collection, "id": row.row_id, "fields": first["fields"]}
    return replace(draft, actions=(edit, *draft.actions[1:]), setup=(*draft.setup, row))


def create_over_update(draft: Draft) -> Draft:
    """A new row with what the old one should say, instead of an update."""
    edit, layout = draft.actions[0], load_layout()
    row = next(row for row in seeded(draft, edit["collection"]) if row.row_id == edit["id"])
    own = {name: value for name, value in row.fields.items() if layout.owner(row.collection, name) == "policy"}
    twin = {"op": "create", "collection": row.collection, "fields": {**own, **edit["fields"]}}
    return replace(draft, actions=(twin, *draft.actions[1:]))


def deleted_and_written_again(draft: Draft) -> Draft:
    """The record, its delete, and the record again."""
    first, back = _named(draft)
    return replace(draft, actions=(first, back, *draft.actions))


def written_and_deleted(draft: Draft) -> Draft:
    """The record, and its delete."""
    first, back = _named(draft)
    return replace(draft, actions=(first, *draft.actions[1:], back))


def corrected(draft: Draft) -> Draft:
    """The record without an element, then put right."""
    first, _ = _named(draft)
    last = free_elements(draft)[-1]
    fields = first["fields"]
    half = {**first, "fields": {name: value for name, value in fields.items() if name != last}}
    edit = {"op": "update", "collection": first["collection"], "full_url": first["full_url"], "fields": {last: fields[last]}}
    return replace(draft, actions=(half, edit, *draft.actions[1:]))


def written_twice_the_same(draft: Draft) -> Draft:
    """The record, then an update of it to what it says already, which changes nothing."""
    first, _ = _named(draft)
    last = free_elements(draft)[-1]
    edit = {"op": "update", "collection": first["collection"], "full_url": first["full_url"], "fields": {last: first["fields"][last]}}
    return replace(draft, actions=(first, edit, *draft.actions[1:]))


def neighbour_undeleted(draft: Draft) -> Draft:
    """A deleted row of another patient brought back."""
    row = SeedRow("patient_data", "withdrawn-row", {"pubpid": other_patient(draft).row_id, "deleted": "1"})
    edit = {"op": "update", "collection": row.collection, "id": row.row_id, "fields": {"occupation": "1"}}
    return replace(draft, actions=(*draft.actions, edit), setup=(*draft.setup, row))


def entered_in_error(draft: Draft) -> Draft:
    """The record with the status of one that was a mistake."""
    return change_at(draft, (0, "fields", "status"), "entered-in-error")


def plan_for_order(draft: Draft) -> Draft:
    """A plan where an order was asked for."""
    return change_at(draft, (0, "fields", "intent"), "plan")


def not_to_be_done(draft: Draft) -> Draft:
    """The right order, marked as one that must not be done."""
    return change_at(draft, (0, "fields", "doNotPerform"), True)


def marked_to_be_done(draft: Draft) -> Draft:
    """The right order, with the mark at what it means when it is absent."""
    return change_at(draft, (0, "fields", "doNotPerform"), False)


def modifier_extension(draft: Draft) -> Draft:
    """An extension that may change the meaning of everything else."""
    return change_at(draft, (0, "fields", "modifierExtension"), [{"url": "urn:other", "valueBoolean": True}])


def stale_version(draft: Draft) -> Draft:
    """An update on condition of a version the row does not have."""
    return replace(draft, actions=({**draft.actions[0], "if_version": "2"}, *draft.actions[1:]))


def right_version(draft: Draft) -> Draft:
    """An update on condition of the version the row has."""
    return replace(draft, actions=({**draft.actions[0], "if_version": "1"}, *draft.actions[1:]))


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        update_over_create,
        create_over_update,
        deleted_and_written_again,
        written_and_deleted,
        corrected,
        written_twice_the_same,
        neighbour_undeleted,
        entered_in_error,
        plan_for_order,
        not_to_be_done,
        marked_to_be_done,
        modifier_extension,
        stale_version,
        right_version,
    )
}
