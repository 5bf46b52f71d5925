"""Canonical forms: two values mean the same exactly when their canonical forms are equal. Part of the slow oracle; imports no other part.

Unlike the checker, which walks two values side by side, this rewrites each value alone and compares once.
"""

import csv
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

_ADDRESS = "https://emr.example.org/fhir/"
_INSTANTS = ("authoredOn", "recordedDate", "issued", "created", "start", "end", "occurrenceDateTime", "effectiveDateTime", "onsetDateTime")
_UNORDERED = ("coding", "participant", "category")
_MEANT = {"doNotPerform": False, "active": True}  # what the absence of an element means


@lru_cache(maxsize=1)
def _load_units() -> dict[str, tuple[str, Fraction]]:
    text = (Path(__file__).parent / "slow_units.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["unit"]: (row["base"], Fraction(10) ** int(row["power_of_ten"])) for row in rows}


def canonical(value: Any, convertible: Sequence[str] = (), path: tuple[str, ...] = ()) -> Any:
    """The form of a value that is equal to another one exactly when the two mean the same. `convertible` are paths of amounts."""
    if isinstance(value, dict):
        if ".".join(path) in convertible and (amount := _amount(value)) is not None:
            return amount
        kept = {name: each for name, each in value.items() if each is not None and not (name in _MEANT and each is _MEANT[name])}
        return ("object", tuple((name, canonical(kept[name], convertible, (*path, name))) for name in sorted(kept)))
    if isinstance(value, (list, tuple)):
        forms = [canonical(each, convertible, path) for each in value]
        return ("unordered", tuple(sorted(forms, key=repr))) if path and path[-1] in _UNORDERED else ("list", tuple(forms))
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, (int, Decimal)):
        return ("number", Fraction(value))
    return _text(value, path[-1] if path else "")


def _text(text: str, name: str) -> tuple[str, Any]:
    if name in _INSTANTS:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            return ("text", unicodedata.normalize("NFC", text))
        if at.tzinfo is not None:
            return ("instant", at.astimezone(UTC))
    return ("text", unicodedata.normalize("NFC", text.removeprefix(_ADDRESS) if name == "reference" else text))


def _amount(value: dict[str, Any]) -> tuple[str, Any] | None:
    if set(value) != {"value", "unit"} or value["unit"] not in _load_units():
        return None
    number = value["value"]
    if isinstance(number, bool) or not isinstance(number, (int, Decimal)):
        return None
    base, factor = _load_units()[value["unit"]]
    return ("amount", (base, Fraction(number) * factor))
