"""Alphabets: named actions of which the searches make reports. One alphabet for each sort of task that is searched."""

from collections.abc import Mapping
from typing import Any

from clinworld.packs.emr_write.faults.draft import Draft, draft_gold, free_elements, neighbour, other_patient
from clinworld.packs.emr_write.faults.registry import POLICY_FAULTS
from clinworld.packs.emr_write.tasks.task import Task

Letters = Mapping[str, Mapping[str, Any]]
_NAME = "urn:uuid:new"


def spell_flat(task: Task) -> Letters:
    """Thirteen actions on a flat store: the right create in three ways, five wrong ones, and edits and deletes of rows old and new."""
    gold, table = draft_gold(task), task.spec.records[0].collection
    seed = {"op": "update", "collection": "patient_data", "id": neighbour(gold).row_id}
    new = {"op": "update", "collection": table, "full_url": _NAME}
    last = free_elements(gold)[-1]
    letters = {
        "gold": _create(gold),
        "gold_keyed": {**_create(gold), "key": "write-1"},
        "gold_taken_id": _create(gold, "taken_id"),
        "other_patient": _create(gold, "wrong_patient"),
        "extra": _create(gold, "extra_element"),
        "omit": _create(gold, "omit_element"),
        "other_collection": {"op": "create", "collection": "patient_data", "fields": {"pubpid": other_patient(gold).row_id}},
        "update_seed": {**seed, "fields": {"occupation": "1"}},
        "update_new": {**new, "fields": {last: "1"}},
        "repair_new": {**new, "fields": {last: gold.actions[0]["fields"][last]}},
        "delete_seed": {**seed, "op": "delete"},
        "delete_new": {**new, "op": "delete"},
    }
    if task.spec.records[0].optional:
        letters["gold_allowed"] = _create(gold, "allowed_element")
    return letters


def spell_order(task: Task) -> Letters:
    """Nineteen actions on an order: right ones written in other ways, wrong ones that look right, and what happens to them later."""
    gold, table = draft_gold(task), task.spec.records[0].collection
    new = {"op": "update", "collection": table, "full_url": _NAME}
    seed = {"op": "update", "collection": "patient_data", "id": neighbour(gold).row_id}
    return {
        "gold": _create(gold),
        "gold_keyed": {**_create(gold), "key": "write-1"},
        "other_unit_same_amount": _create(gold, "same_amount_in_other_unit"),
        "other_zone_same_instant": _create(gold, "same_instant_elsewhere"),
        "offset_there_is_not": _create(gold, "offset_there_is_not"),
        "foreign_digits": _create(gold, "foreign_digits_in_offset"),
        "whole_address": _create(gold, "absolute_references"),
        "with_its_name": _create(gold, "right_display"),
        "to_be_done": _create(gold, "marked_to_be_done"),
        "tenfold": _create(gold, "tenfold"),
        "not_to_be_done": _create(gold, "not_to_be_done"),
        "second_code": _create(gold, "second_coding"),
        "other_patient": _create(gold, "wrong_patient"),
        "other_visit": _create(gold, "wrong_encounter"),
        "stop_new": {**new, "fields": {"status": "stopped"}},
        "resume_new": {**new, "fields": {"status": "active"}},
        "resume_new_keyed": {**new, "fields": {"status": "active"}, "key": "write-1"},
        "delete_new": {**new, "op": "delete"},
        "update_seed": {**seed, "fields": {"occupation": "1"}},
    }


def spell_pair(task: Task) -> Letters:
    """Twelve actions on two records, the second of which refers to the first."""
    gold, other = draft_gold(task), POLICY_FAULTS["wrong_patient"](draft_gold(task))
    first, second = gold.actions
    away = POLICY_FAULTS["wrong_encounter"](gold).actions[1]
    return {
        "first": first,
        "second": second,
        "first_keyed": {**first, "key": "write-1"},
        "second_keyed": {**second, "key": "write-2"},
        "first_other_patient": other.actions[0],
        "second_other_patient": other.actions[1],
        "second_elsewhere": away,
        "first_omit": POLICY_FAULTS["omit_element"](gold).actions[0],
        "second_omit": {**second, "fields": {name: value for name, value in second["fields"].items() if name != "valueQuantity"}},
        "delete_first": {"op": "delete", "collection": first["collection"], "full_url": first["full_url"]},
        "delete_second": {"op": "delete", "collection": second["collection"], "full_url": second["full_url"]},
        "finish_first": {
            "op": "update",
            "collection": first["collection"],
            "full_url": first["full_url"],
            "fields": {"status": "finished"},
        },
    }


def _create(gold: Draft, fault: str = "") -> dict[str, Any]:
    draft = POLICY_FAULTS[fault](gold) if fault else gold
    return {**draft.actions[0], "full_url": _NAME}
