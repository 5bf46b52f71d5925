"""Canonical forms: two values mean the same exactly when their canonical forms are equal. Part of the slow oracle; imports no other part.

Unlike the checker, which walks two values side by side, this rewrites each value alone and compares once.
"""

import csv
import unicodedata
from collections.abc import Sequence
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
    if name in _INSTANTS and (moment := _moment(text)) is not None:
        return ("instant", moment)
    return ("text", unicodedata.normalize("NFC", text.removeprefix(_ADDRESS) if name == "reference" else text))


def _number(text: str, least: int, most: int) -> int | None:
    """The number of two or four plain digits within bounds."""
    if not text or any(each not in "0123456789" for each in text):
        return None
    number = sum("0123456789".index(each) * 10**place for place, each in enumerate(reversed(text)))
    return number if least <= number <= most else None


def _moment(text: str) -> tuple[int, str] | None:
    """Minutes and seconds of an instant counted from the year 1 by the calendar's own rules, and its fraction without closing zeros."""
    day, _, rest = text.partition("T")
    if len(day) != 10 or day[4] + day[7] != "--" or len(rest) < 9 or rest[2] + rest[5] != "::":
        return None
    year, month, date = _number(day[:4], 1, 9999), _number(day[5:7], 1, 12), _number(day[8:], 1, 31)
    hour, minute, second = _number(rest[:2], 0, 23), _number(rest[3:5], 0, 59), _number(rest[6:8], 0, 59)
    parts = (year, month, date, hour, minute, second)
    zone = rest[8:].lstrip(".0123456789")
    fraction, shift = rest[8 : len(rest) - len(zone)], _shift(zone)
    is_fraction = not fraction or (fraction[0] == "." and fraction.count(".") == 1 and len(fraction) > 1)
    if any(part is None for part in parts) or shift is None or not is_fraction:
        return None
    y, m, d, h, n, s = (int(part) for part in parts if part is not None)
    is_leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    lengths = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if d > lengths[m - 1]:
        return None
    before = y - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 + sum(lengths[: m - 1]) + d
    return ((days * 24 + h) * 60 + n - shift) * 60 + s, fraction[1:].rstrip("0")


def _shift(text: str) -> int | None:
    """Minutes of an offset, at most fourteen hours either way."""
    if text == "Z":
        return 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        return None
    hours, minutes = _number(text[1:3], 0, 14), _number(text[4:], 0, 59)
    if hours is None or minutes is None or 60 * hours + minutes > 14 * 60:
        return None
    return (60 * hours + minutes) * (1 if text[0] == "+" else -1)


def _amount(value: dict[str, Any]) -> tuple[str, Any] | None:
    if set(value) != {"value", "unit"} or value["unit"] not in _load_units():
        return None
    number = value["value"]
    if isinstance(number, bool) or not isinstance(number, (int, Decimal)):
        return None
    base, factor = _load_units()[value["unit"]]
    return ("amount", (base, Fraction(number) * factor))
