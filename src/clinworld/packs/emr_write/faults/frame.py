"""Policy faults of the frame: the right record, and something beside it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from clinworld.packs.emr_write.faults.draft import Draft, change_at, first_record, neighbour, other_patient
from clinworld.packs.emr_write.store.layout import load_layout


def _beside(draft: Draft, *more: dict[str, Any]) -> Draft:
    return replace(draft, actions=(*draft.actions, *more))


def extra_element(draft: Draft) -> Draft:
    """An element of the table that nobody asked for."""
    record, layout = first_record(draft), load_layout()
    taken = {*record.identity, *draft.actions[0]["fields"], *record.optional}
    columns = layout.fields[record.collection].values()
    name = next(each.name for each in columns if each.owner == "policy" and each.kind == "text" and each.name not in taken)
    return change_at(draft, (0, "fields", name), "stat")


def undeclared_element(draft: Draft) -> Draft:
    """An element that the table does not have."""
    return change_at(draft, (0, "fields", "ward"), "1")


def server_column(draft: Draft) -> Draft:
    """A column that belongs to the server."""
    return change_at(draft, (0, "fields", "recordedAt"), draft.task.now)


def forged_audit(draft: Draft) -> Draft:
    """A row for the audit trail, which the system writes by itself."""
    return _beside(draft, {"op": "create", "collection": "AuditEvent", "fields": {"action": "create"}})


def collateral_create(draft: Draft) -> Draft:
    """A row in another table."""
    fields = {"subject": {"reference": f"Patient/{other_patient(draft).row_id}"}, "status": "active", "intent": "order"}
    code = {"text": "1"}
    return _beside(draft, {"op": "create", "collection": "ServiceRequest", "fields": {**fields, "code": code}})


def collateral_update(draft: Draft) -> Draft:
    """An edit of another patient's row."""
    return _beside(draft, _edit_neighbour(draft, "1"))


def _edit_neighbour(draft: Draft, to: Any) -> dict[str, Any]:
    return {"op": "update", "collection": "patient_data", "id": neighbour(draft).row_id, "fields": {"occupation": to}}


def undone_update(draft: Draft) -> Draft:
    """An edit of another patient's row, and back."""
    return _beside(draft, _edit_neighbour(draft, "1"), _edit_neighbour(draft, None))


def collateral_delete(draft: Draft) -> Draft:
    """Another patient's row deleted."""
    return _beside(draft, {"op": "delete", "collection": "patient_data", "id": neighbour(draft).row_id})


def mass_update(draft: Draft) -> Draft:
    """Every row of another table edited at once."""
    return _beside(draft, {"op": "update", "collection": "patient_data", "where": "*", "fields": {"sex": "1"}})


def delete_everything_first(draft: Draft) -> Draft:
    """A whole table deleted, then the right record."""
    return replace(draft, actions=({"op": "delete", "collection": "patient_data", "where": "*"}, *draft.actions))


def refused_attempt(draft: Draft) -> Draft:
    """An edit of a row that is not there: the server refuses it and nothing changes."""
    return _beside(draft, {"op": "update", "collection": "patient_data", "id": "nobody", "fields": {"occupation": "1"}})


def wrote_anyway(draft: Draft) -> Draft:
    """An order where the policy asks for none."""
    person = draft.task.facts["person"]
    fields = {"subject": person.subject, "status": "active", "intent": "order", "code": {"text": "1"}}
    return replace(draft, actions=({"op": "create", "collection": "ServiceRequest", "fields": fields},), more={})


def wrote_and_decided(draft: Draft) -> Draft:
    """An order together with the decision to write nothing."""
    return replace(draft, actions=wrote_anyway(draft).actions)


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        extra_element,
        undeclared_element,
        server_column,
        forged_audit,
        collateral_create,
        collateral_update,
        undone_update,
        collateral_delete,
        mass_update,
        delete_everything_first,
        refused_attempt,
        wrote_anyway,
        wrote_and_decided,
    )
}
