"""The tables of the record system as data: which column is whose, how it is held, and what the system writes by itself.

Read from fields.csv and cascades.csv; server, oracle, parser and checker go by it, and a test holds it against tables.sql.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from clinworld.core.tables import load_csv

HERE = Path(__file__).parent
UNDECLARED = "undeclared"
AUDIT, WRITE_KEY, PENDING = "AuditEvent", "WriteKey", "Pending"

Owner = Literal["policy", "server", "key"]


@dataclass(frozen=True, slots=True)
class Field:
    """A column. `kind` text is held as sent, json as canonical JSON. `resolves_to` is the key column the server sets from it, or ""."""

    name: str
    kind: Literal["text", "json"]
    owner: Owner
    resolves_to: str


@dataclass(frozen=True, slots=True)
class Cascade:
    """`least` to `most` rows of `collection` that the system writes for one change of a row of `trigger` ("*": any)."""

    trigger: str
    change: str
    collection: str
    least: int
    most: int


@dataclass(frozen=True)
class Layout:
    """Collections by name, their columns in table order, and the declared cascades."""

    fields: dict[str, dict[str, Field]]
    cascades: tuple[Cascade, ...]

    def collections(self) -> tuple[str, ...]:
        """Every collection, the server's own included."""
        return tuple(self.fields)

    def writable(self) -> tuple[str, ...]:
        """Collections a report may write to."""
        return tuple(name for name, fields in self.fields.items() if any(field.owner == "policy" for field in fields.values()))

    def takes_undeclared(self, collection: str) -> bool:
        """True for the flat stores, which keep any field they are sent."""
        return UNDECLARED in self.fields[collection]

    def owner(self, collection: str, field: str) -> Owner:
        """Who may write a field; one that no column is named after is the policy's."""
        known = self.fields[collection].get(field)
        return known.owner if known else "policy"

    def cascade_collections(self) -> frozenset[str]:
        """Collections that hold only what the system writes by itself."""
        return frozenset(cascade.collection for cascade in self.cascades)


@lru_cache(maxsize=1)
def load_layout() -> Layout:
    """The layout of the packaged tables."""
    fields: dict[str, dict[str, Field]] = {}
    for row in load_csv(HERE / "fields.csv", ("collection", "field", "kind", "owner", "resolves_to")):
        kind, owner = cast("Literal['text', 'json']", row["kind"]), cast("Owner", row["owner"])
        fields.setdefault(row["collection"], {})[row["field"]] = Field(row["field"], kind, owner, row["resolves_to"])
    cascades = tuple(
        Cascade(row["trigger"], row["change"], row["collection"], int(row["least"]), int(row["most"]))
        for row in load_csv(HERE / "cascades.csv", ("trigger", "change", "collection", "least", "most"))
    )
    return Layout(fields, cascades)
