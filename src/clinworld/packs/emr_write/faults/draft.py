"""A report before it is text, and the places in it that a fault can change. Faults take a draft and give another.

Nothing is changed in place.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.packs.emr_write.tasks.task import Task, gold_actions, write_report

_TEXTS = ("note", "text", "lname", "description")
_DAY_AND_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_INSTANT = re.compile(_DAY_AND_TIME + r"(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)")  # another offset is no time zone

# Where a value stands: the number of its action, "fields", then keys and positions.
Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a policy is about to send: actions, other keys, what is done to the text; and rows it finds in the chart."""

    task: Task
    actions: tuple[dict[str, Any], ...]
    more: Mapping[str, Any] = field(default_factory=dict)
    wraps: tuple[Callable[[str], str], ...] = ()
    setup: tuple[SeedRow, ...] = ()

    def text(self) -> str:
        """The report as it is sent."""
        text = write_report(self.actions, None, **self.more)
        for wrap in self.wraps:
            text = wrap(text)
        return text

    def staged_task(self) -> Task:
        """The task with the rows the draft adds to the chart."""
        return replace(self.task, setup=(*self.task.setup, *self.setup))


def draft_gold(task: Task) -> Draft:
    """The draft that does exactly what the task wants."""
    decision = task.spec.decision
    more = {"decision": decision.decision, "reason": decision.reasons[0]} if decision else {}
    return Draft(task, tuple(gold_actions(task.spec)), more)


def put_value(value: Any, place: Place, to: Any) -> Any:
    """The value with another one at a place; KeyError where there is no such place. A last key may be a new one."""
    if not place:
        return to
    step, rest = place[0], place[1:]
    if isinstance(value, dict):
        return {**value, step: put_value(value.get(step) if not rest else value[step], rest, to)}
    return [put_value(each, rest, to) if i == step else each for i, each in enumerate(value)]


def change_at(draft: Draft, place: Place, to: Any) -> Draft:
    """The draft with another value at a place."""
    return replace(draft, actions=tuple(put_value(list(draft.actions), place, to)))


def value_at(draft: Draft, place: Place) -> Any:
    """What stands at a place."""
    value: Any = draft.actions
    for step in place:
        value = value[step]
    return value


def walk(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value inside a value with its place, outer ones first."""
    yield place, value
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for step, each in steps:
        yield from walk(each, (*place, step))


def is_text(place: Place, value: Any) -> bool:
    """True for words a person reads."""
    return isinstance(value, str) and bool(place) and place[-1] in _TEXTS


def is_amount(_place: Place, value: Any) -> bool:
    """True for a number with its unit."""
    return isinstance(value, dict) and "unit" in value and isinstance(value.get("value"), (int, Decimal))


def is_instant(_place: Place, value: Any) -> bool:
    """True for an instant with an offset."""
    return isinstance(value, str) and bool(_INSTANT.fullmatch(value))


def is_coding(place: Place, value: Any) -> bool:
    """True for the code of a concept."""
    return isinstance(value, dict) and {"system", "code"} <= value.keys() and "coding" in place


def find_places(draft: Draft, is_it: Callable[[Place, Any], bool]) -> list[Place]:
    """Places in the fields of creates where something stands, in order."""
    return [
        place
        for i, action in enumerate(draft.actions)
        if action["op"] == "create"
        for place, value in walk(action["fields"], (i, "fields"))
        if is_it(place, value)
    ]


def first_record(draft: Draft) -> ExpectedRecord:
    """The first record the task wants."""
    return draft.task.spec.records[0]


def free_elements(draft: Draft) -> list[str]:
    """Elements of the first action that say nothing about whose it is."""
    record, layout = first_record(draft), load_layout()
    columns = layout.fields[record.collection]
    return [
        name
        for name in draft.actions[0]["fields"]
        if name not in record.identity and not (name in columns and columns[name].resolves_to) and name != "patient_id"
    ]


def seeded(draft: Draft, collection: str) -> list[SeedRow]:
    """Rows of the task's chart in one collection."""
    return [row for row in draft.task.setup if row.collection == collection]


def patient_of(draft: Draft) -> str:
    """The key the first record stands under: a patient id, or a record number where a patient is registered."""
    identity = first_record(draft).identity
    return next(identity[name] for name in ("patientId", "patient_id", "pubpid") if name in identity)


def other_patient(draft: Draft) -> SeedRow:
    """Another patient of the task's chart."""
    return next(row for row in seeded(draft, "Patient") if row.row_id != patient_of(draft))


def neighbour(draft: Draft) -> SeedRow:
    """A row of another patient that no task wants changed."""
    return next(row for row in seeded(draft, "patient_data") if row.row_id == other_patient(draft).row_id)
