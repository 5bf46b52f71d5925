"""Server faults of storage: what was sent is not what is kept. Some keep the same in another form, which is right."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.faults.draft import Place, is_amount, is_instant, is_text, put_value, walk
from clinworld.packs.emr_write.faults.server import ServerFault
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.references import BASE_URL


def _edit(action: Action, is_it: Callable[[Place, Any], bool], edit: Callable[[Any], Any]) -> Action:
    """The action with every value of one sort kept in another way."""
    fields: Any = dict(action.fields)
    for place, value in list(walk(fields)):
        if is_it(place, value):
            fields = put_value(fields, place, edit(value))
    return replace(action, fields=fields)


def _is_relative(place: Place, value: Any) -> bool:
    return place[-1:] == ("reference",) and ":" not in value


def _own_elements(action: Action) -> list[str]:
    columns = load_layout().fields[action.collection]
    free = [name for name in action.fields if not (name in columns and columns[name].resolves_to)]
    return [name for name in free if name not in ("patient_id", "pubpid")]


def column_too_narrow(action: Action) -> Action:
    """A text is cut at the width of its column."""
    return _edit(action, is_text, lambda text: text[: len(text) // 2])


def encoding_lost(action: Action) -> Action:
    """Characters the column's encoding does not have become question marks."""
    return _edit(action, is_text, lambda text: text.encode("ascii", "replace").decode())


def kept_decomposed(action: Action) -> Action:
    """A text is kept in the other Unicode form."""
    return _edit(action, is_text, lambda text: unicodedata.normalize("NFD", text))


def kept_in_utc(action: Action) -> Action:
    """Instants are kept with the offset of another time zone."""
    return _edit(action, is_instant, lambda text: datetime.fromisoformat(text).astimezone(UTC).isoformat())


def kept_without_offset(action: Action) -> Action:
    """Instants lose their offset."""
    return _edit(action, is_instant, lambda text: datetime.fromisoformat(text).replace(tzinfo=None).isoformat())


def kept_absolute(action: Action) -> Action:
    """References are kept as whole addresses."""
    return _edit(action, _is_relative, lambda text: f"{BASE_URL}/{text}")


def number_not_exact(action: Action) -> Action:
    """A number is kept with the error of a binary fraction."""
    return _edit(action, is_amount, lambda amount: {**amount, "value": amount["value"] + Decimal(1).scaleb(-12)})


def kept_with_more_decimals(action: Action) -> Action:
    """A number is kept with more decimals, all of them zero."""
    return _edit(action, is_amount, lambda amount: {**amount, "value": Decimal(amount["value"]) + Decimal(0).scaleb(-6)})


def element_ignored(action: Action) -> Action:
    """An element is accepted and not kept."""
    if action.op != "create" or not _own_elements(action):
        return action
    first = _own_elements(action)[0]
    return replace(action, fields={name: value for name, value in action.fields.items() if name != first})


def default_filled_in(action: Action) -> Action:
    """An element nobody sent is filled in."""
    columns = load_layout().fields[action.collection].values()
    free = [each for each in columns if each.owner == "policy" and each.name not in action.fields]
    name = next((each.name for each in free if each.kind == "text"), free[0].name)
    return replace(action, fields={**action.fields, name: "routine"}) if action.op == "create" else action


def update_widened(action: Action) -> Action:
    """An update of one element touches another one too."""
    return replace(action, fields={**action.fields, "priority": "routine"}) if action.op == "update" else action


FAULTS: Mapping[str, ServerFault] = {
    each.__name__: ServerFault(stores=each)
    for each in (
        column_too_narrow,
        encoding_lost,
        kept_decomposed,
        kept_in_utc,
        kept_without_offset,
        kept_absolute,
        number_not_exact,
        kept_with_more_decimals,
        element_ignored,
        default_filled_in,
        update_widened,
    )
}
