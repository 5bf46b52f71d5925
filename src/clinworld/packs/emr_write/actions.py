"""What a report asks the record system to do. Decides nothing; the parser makes actions and a server executes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Op = Literal["create", "update", "delete"]
OPS: tuple[Op, ...] = ("create", "update", "delete")

# Field → value as parsed from JSON: str, bool, int, Decimal, None, list, dict. A field that is absent is not a key.
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Action:
    """One write. An update or delete names its rows by exactly one of `row_id`, `full_url` (a create of the same report) and `where`.

    `where` holds equal values by field, or is "*" for every live row. `key` makes the write safe to send again. `if_version` is the
    version the row must still have, `if_none_exist` what no live row may hold for a create to happen.
    """

    op: Op
    collection: str
    fields: Row
    row_id: str | None = None
    full_url: str | None = None
    where: Row | Literal["*"] | None = None
    key: str | None = None
    if_version: str | None = None
    if_none_exist: Row | None = None
