"""Rows as values and as columns: exact JSON with decimals, and the one place that turns a raw column into a typed value."""

from collections.abc import Mapping
from decimal import Decimal
from json import JSONDecoder
from json.encoder import encode_basestring
from typing import Any

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.store.layout import UNDECLARED, Layout

_DECODER = JSONDecoder(parse_float=Decimal)
_WORDS = {None: "null", True: "true", False: "false"}

# Column → text as the table holds it; None where the column is empty.
RawRow = Mapping[str, str | None]


def encode_json(value: Any) -> str:
    """Canonical JSON of a parsed value: sorted keys, no spaces, decimals as they were written.

    >>> encode_json({"b": Decimal("1.50"), "a": [True, None, "é"]})
    '{"a":[true,null,"é"],"b":1.50}'
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, (int, Decimal)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(encode_json(each) for each in value) + "]"
    return "{" + ",".join(f"{encode_basestring(key)}:{encode_json(value[key])}" for key in sorted(value)) + "}"


def decode_json(text: str) -> Any:
    """The value of JSON the store wrote itself; numbers with a point are Decimal."""
    return _DECODER.decode(text)


def encode_row(collection: str, fields: Row, layout: Layout) -> dict[str, str | None]:
    """Raw columns of typed fields; what no column is named after goes to `undeclared`. Text columns must hold str or None."""
    columns = layout.fields[collection]
    raw: dict[str, str | None] = {}
    undeclared = {name: value for name, value in fields.items() if name not in columns}
    for name, value in fields.items():
        if name in columns:
            raw[name] = value if value is None or columns[name].kind == "text" else encode_json(value)
    if undeclared:
        raw[UNDECLARED] = encode_json(undeclared)
    return raw


def decode_row(collection: str, raw: RawRow, layout: Layout) -> dict[str, Any]:
    """Typed fields of raw columns; empty columns are absent and `undeclared` is spread out."""
    columns = layout.fields[collection]
    row: dict[str, Any] = {}
    for name, text in raw.items():
        if text is None:
            continue
        if name == UNDECLARED:
            row |= decode_json(text)
        else:
            row[name] = text if columns[name].kind == "text" else decode_json(text)
    return row


def is_live(row: Row | None) -> bool:
    """True for a row that is there and not deleted; tables without the mark hold live rows only."""
    return row is not None and row.get("deleted", "0") == "0"
