"""What a task wants the record system to look like afterwards: the exact set of effects, possibly empty."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clinworld.packs.emr_write.actions import Op, Row

# Path without list positions ("dosageInstruction.text") → the values that may stand there beside the spec.
Optional = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class ExpectedRecord:
    """One record that must be created, updated or deleted, and be exactly so.

    `identity` are key columns and what they must hold; `fields` the policy's elements, for an update those that change. Another record
    of the same spec is referred to as `urn:uuid:<name>`. In `unit_equivalent` paths another unit of the same amount will do, in
    `containing` paths a list may hold more.
    """

    name: str
    collection: str
    change: Op
    identity: Mapping[str, str]
    fields: Row
    row_id: str | None = None  # the row to update or delete
    optional: Optional = field(default_factory=dict)
    unit_equivalent: tuple[str, ...] = ()
    containing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedDecision:
    """What a report must say when nothing is to be written: the decision and one of these reason codes."""

    reasons: tuple[str, ...]
    decision: Literal["no_write"] = "no_write"


@dataclass(frozen=True, slots=True)
class WriteSpec:
    """The effects of a task. Without records there is a decision instead.

    `is_self_correction_allowed` judges the net state only; otherwise the way there must be clean too.
    """

    records: tuple[ExpectedRecord, ...]
    decision: ExpectedDecision | None = None
    is_self_correction_allowed: bool = False

    def near(self) -> list[tuple[str, Row]]:
        """Where naive witnesses look for rows that were there before: the collections and identities of what is created."""
        found: list[tuple[str, Row]] = []
        for record in self.records:
            keys = {name: value for name, value in record.identity.items() if not value.startswith("urn:")}
            if record.change == "create" and keys and (record.collection, keys) not in found:
                found.append((record.collection, keys))
        return found
