"""What a task offers a fault to work on. A fault applies where the task has every trait that its row names."""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from clinworld.packs.emr_write.checker.values import load_units
from clinworld.packs.emr_write.faults.draft import (
    Draft,
    Place,
    draft_gold,
    find_places,
    first_record,
    is_amount,
    is_coding,
    is_instant,
    is_text,
    value_at,
)
from clinworld.packs.emr_write.faults.value import is_early_day
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.tasks.task import Task


def _texts(draft: Draft) -> list[str]:
    return [value_at(draft, place) for place in find_places(draft, is_text)[:1]]


def _is_accented(text: str) -> bool:
    return unicodedata.normalize("NFD", text) != text


def _is_convertible(draft: Draft) -> bool:
    amounts = find_places(draft, is_amount)
    return bool(first_record(draft).unit_equivalent and amounts) and value_at(draft, amounts[0])["unit"] in load_units()


def _has_element(draft: Draft, name: str) -> bool:
    return any(name in action["fields"] for action in draft.actions if action["op"] == "create")


def _refers(draft: Draft) -> bool:
    return any(value.startswith("urn:") for record in draft.task.spec.records for value in record.identity.values())


def _is_reference(place: Place, _value: Any) -> bool:
    return place[-1] == "reference"


def _is_flat(draft: Draft) -> bool:
    return load_layout().takes_undeclared(first_record(draft).collection)


def _displays(draft: Draft) -> bool:
    return any(path.endswith("display") for path in first_record(draft).optional)


def _is_audited(draft: Draft) -> bool:
    return first_record(draft).collection in {cascade.trigger for cascade in load_layout().cascades}


_CREATES: Mapping[str, Callable[[Draft], bool]] = {
    "single": lambda draft: len(draft.actions) == 1,
    "pair": lambda draft: len(draft.actions) > 1,
    "linked": lambda draft: len(draft.actions) > 1 and _refers(draft),
    "unlinked": lambda draft: len(draft.actions) > 1 and not _refers(draft),
    "flat": _is_flat,
    "resource": lambda draft: not _is_flat(draft),
    "registry": lambda draft: "pubpid" in first_record(draft).identity,
    "keyed": lambda draft: "pubpid" not in first_record(draft).identity,
    "text": lambda draft: bool(_texts(draft)),
    "spaced": lambda draft: any(" " in text for text in _texts(draft)),
    "cased": lambda draft: any(text != text.upper() for text in _texts(draft)),
    "not_ascii": lambda draft: any(not text.isascii() for text in _texts(draft)),
    "accented": lambda draft: any(_is_accented(text) for text in _texts(draft)),
    "amount": lambda draft: bool(find_places(draft, is_amount)),
    "convertible": _is_convertible,
    "instant": lambda draft: bool(find_places(draft, is_instant)),
    "early_day": lambda draft: bool(find_places(draft, is_early_day)),
    "coded": lambda draft: bool(find_places(draft, is_coding)),
    "named": _displays,
    "status": lambda draft: "status" in draft.actions[0]["fields"],
    "order": lambda draft: "intent" in draft.actions[0]["fields"],
    "encounter": lambda draft: _has_element(draft, "encounter"),
    "references": lambda draft: bool(find_places(draft, _is_reference)),
    "audited": _is_audited,
    "optional": lambda draft: _is_flat(draft) and bool(first_record(draft).optional),
}
TRAITS = ("any", "write", "nothing", "create", "update", *_CREATES)


def list_traits(task: Task) -> frozenset[str]:
    """Every trait of a task."""
    draft = draft_gold(task)
    if not draft.actions:
        return frozenset(("any", "nothing"))
    if draft.actions[0]["op"] != "create":
        return frozenset(("any", "write", draft.actions[0]["op"]))
    return frozenset(("any", "write", "create", *(name for name, holds in _CREATES.items() if holds(draft))))
