"""The faults by name: rows of faults.csv beside the functions that do them, and what two of them at once must come to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from clinworld.core.errors import KnowledgeError, UsageError, allowed_values, nearest_match
from clinworld.core.tables import load_csv
from clinworld.core.text import Wording
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, OUTCOMES, Outcome, Rules, Verdict
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.faults import (
    cardinality,
    delivery,
    evidence,
    frame,
    identity,
    lifecycle,
    omission,
    platform,
    storage,
    value,
)
from clinworld.packs.emr_write.faults.draft import Draft, draft_gold
from clinworld.packs.emr_write.faults.server import ServerFault, wrap_store
from clinworld.packs.emr_write.faults.traits import TRAITS, list_traits
from clinworld.packs.emr_write.store.protocol import Store
from clinworld.packs.emr_write.tasks.task import Task

HERE = Path(__file__).parent
_COLUMNS = ("id", "class", "side", "parts", "applies_to", "is_stopping", "is_written", "expected", "en", "zh", "source", "status")

FaultClass = Literal["cardinality", "omission", "identity", "value", "frame", "lifecycle", "transport", "platform", "evidence"]
CLASSES: tuple[FaultClass, ...] = get_args(FaultClass)
Part = Literal["element", "patient", "actions", "report", "text", "delivery", "storage", "tables", "reading"]
PARTS: tuple[Part, ...] = get_args(Part)  # in the order in which faults are applied

POLICY_FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    name: fault for module in (cardinality, omission, identity, value, frame, lifecycle, evidence) for name, fault in module.FAULTS.items()
}
SERVER_FAULTS: Mapping[str, ServerFault] = {**delivery.FAULTS, **storage.FAULTS, **platform.FAULTS}


@dataclass(frozen=True, slots=True)
class Fault:
    """A row of faults.csv. `parts` are the parts of an episode it changes; two faults go together when they share none.

    With an `is_stopping` fault no write arrives; an `is_written` fault shows only where one does.
    """

    fault_id: str
    fault_class: FaultClass
    side: Literal["policy", "server"]
    parts: tuple[Part, ...]
    applies_to: tuple[str, ...]
    is_stopping: bool
    is_written: bool
    expected: Outcome
    what: Wording


@lru_cache(maxsize=1)
def load_faults() -> Mapping[str, Fault]:
    """Every fault by id, in the order of the table. Raises KnowledgeError for a row without a function and the other way round."""
    faults = {row["id"]: _read_fault(row) for row in load_csv(HERE / "faults.csv", _COLUMNS)}
    for side, known in (("policy", set(POLICY_FAULTS)), ("server", set(SERVER_FAULTS))):
        listed = {fault.fault_id for fault in faults.values() if fault.side == side}
        for name in sorted(listed ^ known):
            raise KnowledgeError("faults.csv", f"{side} fault {name!r} is a row or a function only", do="Add the other one.")
    return faults


def _read_fault(row: Mapping[str, str]) -> Fault:
    parts, traits = row["parts"].split(), row["applies_to"].split()
    flags = {"yes": True, "no": False}
    checks: list[tuple[str, Sequence[str], Iterable[str]]] = [
        ("class", [row["class"]], CLASSES),
        ("side", [row["side"]], ("policy", "server")),
        ("parts", parts, PARTS),
        ("applies_to", traits, TRAITS),
        ("is_stopping", [row["is_stopping"]], flags),
        ("is_written", [row["is_written"]], flags),
        ("expected", [row["expected"]], OUTCOMES),
    ]
    for column, found, allowed in checks:
        for each in found:
            if each not in allowed:
                raise KnowledgeError(
                    f"faults.csv, {row['id']}, {column}", repr(each), allowed_values(allowed), nearest=nearest_match(each, allowed)
                )
    return Fault(
        row["id"],
        cast("FaultClass", row["class"]),
        cast("Literal['policy', 'server']", row["side"]),
        cast("tuple[Part, ...]", tuple(parts)),
        tuple(traits),
        flags[row["is_stopping"]],
        flags[row["is_written"]],
        cast("Outcome", row["expected"]),
        Wording(row["en"], row["zh"]),
    )


def find_fault(fault_id: str) -> Fault:
    """A fault by id. Raises UsageError for one there is not."""
    faults = load_faults()
    if fault_id not in faults:
        raise UsageError("fault", repr(fault_id), allowed_values(faults), nearest=nearest_match(fault_id, faults))
    return faults[fault_id]


def list_applying(task: Task) -> list[Fault]:
    """The faults that find what they work on in a task."""
    traits = list_traits(task)
    return [fault for fault in load_faults().values() if traits.issuperset(fault.applies_to)]


def expected_outcome(fault_ids: Sequence[str]) -> Outcome | None:
    """What the faults come to together, by the precedence of outcomes; None where two of them change the same part.

    A fault that shows only in what is written is left out where another one keeps every write away.
    """
    faults = [find_fault(each) for each in fault_ids]
    parts = [part for fault in faults for part in fault.parts]
    if len(parts) != len(set(parts)):
        return None
    shown = [fault for fault in faults if not fault.is_written or not any(each.is_stopping for each in faults if each is not fault)]
    return min((fault.expected for fault in shown), key=OUTCOMES.index, default="verified")


def draft_report(task: Task, fault_ids: Sequence[str]) -> Draft:
    """The draft of a policy with these faults; server faults among them do nothing here."""
    draft = draft_gold(task)
    faults = sorted((find_fault(each) for each in fault_ids), key=lambda fault: PARTS.index(fault.parts[0]))
    for fault in faults:
        if fault.side == "policy":
            draft = POLICY_FAULTS[fault.fault_id](draft)
    return draft


def find_server_faults(fault_ids: Sequence[str]) -> list[ServerFault]:
    """The server's side of the faults, outermost first."""
    faults = sorted((find_fault(each) for each in fault_ids), key=lambda fault: PARTS.index(fault.parts[-1]), reverse=True)
    return [SERVER_FAULTS[fault.fault_id] for fault in faults if fault.side == "server"]


def run_faults(store: Store, task: Task, fault_ids: Sequence[str], *, rules: Rules = ALL_RULES, is_full: bool = False) -> Verdict:
    """One whole episode with any number of faults: the gold report spoilt by the policy's, the store behind the server's."""
    draft = draft_report(task, fault_ids)
    system = wrap_store(store, find_server_faults(fault_ids))
    return run_report(system, draft.staged_task(), draft.text(), rules=rules, is_full=is_full)
