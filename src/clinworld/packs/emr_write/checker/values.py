"""Are two values the same? Typed, exact, with the declared ways in which one value may be written differently.

Text is equal after Unicode normalisation (NFC) and in no other way; numbers are equal as decimals; instants with offsets are equal as
moments; amounts convert only where the spec says so. null and absent are one.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from clinworld.core.tables import load_csv
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.checker.verdict import Rule, Rules
from clinworld.packs.emr_write.store.references import resolve_reference
from clinworld.packs.emr_write.store.rows import decode_json

HERE = Path(__file__).parent
# FHIR's instant. [0-9] and never \d, which takes the digits of every script.
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:\.([0-9]+))?"
    r"(?:Z|([+-])(?:(0[0-9]|1[0-3]):([0-5][0-9])|14:00))"
)
_QUANTITY = frozenset(("value", "unit", "code", "system", "comparator"))
_UNIT_KEYS = ("unit", "code")


class Element(NamedTuple):
    """How an element is compared; `default` is meant only where `is_modifier`."""

    kind: str
    is_modifier: bool
    default: Any
    choice: str


@lru_cache(maxsize=1)
def load_elements() -> Mapping[str, Element]:
    """Rows of elements.csv by element name."""
    rows = load_csv(HERE / "elements.csv", ("element", "kind", "default", "choice"))
    return {
        row["element"]: Element(
            row["kind"], row["default"] != "-", None if row["default"] == "-" else decode_json(row["default"]), row["choice"]
        )
        for row in rows
    }


@lru_cache(maxsize=1)
def load_units() -> Mapping[str, tuple[str, Fraction]]:
    """Unit → dimension and exact factor to the dimension's base."""
    rows = load_csv(HERE / "units.csv", ("unit", "dimension", "numerator", "denominator", "source", "status"))
    return {row["unit"]: (row["dimension"], Fraction(int(row["numerator"]), int(row["denominator"]))) for row in rows}


class Difference(NamedTuple):
    """One place where a row is not the record. `label` is a row of findings.csv."""

    rule: Rule
    label: str
    path: str
    expected: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one record is compared: its own allowances, the rules in force, and the row each `urn:uuid` name stands for."""

    record: ExpectedRecord
    rules: Rules
    urls: Mapping[str, str]

    def compare(self, path: str, expected: Any, found: Any) -> Iterator[Difference]:
        """Every difference between two values at a path."""
        if expected is None or found is None:
            if expected is not found:
                rule: Rule = "typed_values" if found is None else "no_extra_elements"
                yield Difference(rule, "missing" if found is None else "extra", path, expected, found)
        elif isinstance(expected, dict) and isinstance(found, dict):
            differences = list(self.compare_objects(path, expected, found))
            if differences and _is_quantity(expected) and path in self.record.unit_equivalent and "unit_equivalence" in self.rules:
                differences = list(self._compare_amounts(path, expected, found))
            yield from differences
        elif isinstance(expected, (list, tuple)) and isinstance(found, list):
            yield from self._compare_lists(path, expected, found)
        elif not self._is_same(path, expected, found):
            yield Difference("typed_values", "differs", path, expected, found)

    def compare_objects(self, path: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
        """Every difference between two objects, element by element: those of the spec, modifiers, choices, optional ones, extras."""
        elements = load_elements()
        modifiers = "modifier_elements" in self.rules
        choices = {elements[name].choice for name in expected if name in elements} - {""}
        for name in dict.fromkeys((*expected, *found)):
            at = f"{path}.{name}" if path else name
            element = elements.get(name)
            wanted, value = expected.get(name), found.get(name)
            if element and element.is_modifier:
                if modifiers or wanted is not None:
                    wanted, value = (element.default if each is None else each for each in (wanted, value))
                    yield from (each._replace(rule="modifier_elements") for each in self.compare(at, wanted, value))
            elif wanted is not None:
                yield from self.compare(at, wanted, value)
            elif value is None:
                continue
            elif element and element.choice in choices and "same_choice" in self.rules:
                yield Difference("same_choice", "other_choice", at, None, value)
            elif "no_extra_elements" in self.rules:
                yield from self._compare_optional(at, value)

    def _compare_optional(self, path: str, found: Any) -> Iterator[Difference]:
        allowed = self.record.optional.get(path, ())
        if not any(not list(self.compare(path, each, found)) for each in allowed):
            yield Difference("no_extra_elements", "optional_other" if allowed else "extra", path, list(allowed), found)

    def _compare_lists(self, path: str, expected: Any, found: list[Any]) -> Iterator[Difference]:
        element = load_elements().get(path.rpartition(".")[2])
        may_hold_more = path in self.record.containing or "whole_lists" not in self.rules
        if len(expected) != len(found) and not may_hold_more:
            yield Difference("whole_lists", "list_length", path, list(expected), found)
        elif may_hold_more or (element and element.kind == "set"):
            left = list(found)
            for each in expected:
                match = next((i for i, other in enumerate(left) if not list(self.compare(path, each, other))), None)
                if match is None:
                    yield Difference("whole_lists", "missing", path, each, left)
                else:
                    del left[match]
        else:
            for each, other in zip(expected, found, strict=True):
                yield from self.compare(path, each, other)

    def _compare_amounts(self, path: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
        rest = [{name: value for name, value in each.items() if name not in ("value", *_UNIT_KEYS)} for each in (expected, found)]
        yield from self.compare_objects(path, *rest)
        for name in _UNIT_KEYS:
            if (expected.get(name) is None) != (found.get(name) is None):
                yield Difference("unit_equivalence", "differs", f"{path}.{name}", expected.get(name), found.get(name))
        amounts = [_read_amount(each) for each in (expected, found)]
        if amounts[0] is None or amounts[0] != amounts[1]:
            yield Difference("unit_equivalence", "differs", path, dict(expected), dict(found))

    def _is_same(self, path: str, expected: Any, found: Any) -> bool:
        if "typed_values" not in self.rules:
            return bool(expected == found)
        if isinstance(expected, str) and isinstance(found, str):
            return self._is_same_text(path.rpartition(".")[2], expected, found)
        if isinstance(expected, bool) or isinstance(found, bool):
            return expected is found
        numbers = (int, Decimal)
        return isinstance(expected, numbers) and isinstance(found, numbers) and Decimal(expected) == Decimal(found)

    def _is_same_text(self, name: str, expected: str, found: str) -> bool:
        if unicodedata.normalize("NFC", expected) == unicodedata.normalize("NFC", found):
            return True
        if name == "reference" and "resolved_references" in self.rules:
            wanted = resolve_reference(expected, self.urls)
            return wanted is not None and wanted == resolve_reference(found, self.urls)
        element = load_elements().get(name)
        if element and element.kind == "instant" and "instants_with_offset" in self.rules:
            moment = _read_moment(expected)
            return moment is not None and moment == _read_moment(found)
        return False


def _is_quantity(value: Mapping[str, Any]) -> bool:
    return "value" in value and value.keys() <= _QUANTITY


def _read_amount(quantity: Mapping[str, Any]) -> tuple[str, Fraction] | None:
    """Dimension and exact amount; None when the number or a unit is not known, or unit and code are two units."""
    value = quantity.get("value")
    named = [quantity[name] for name in _UNIT_KEYS if quantity.get(name) is not None]
    units = {load_units().get(name) if isinstance(name, str) else None for name in named}
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or len(units) != 1:
        return None
    (unit,) = units
    return None if unit is None else (unit[0], Fraction(value) * unit[1])


def _read_moment(text: str) -> tuple[int, str] | None:
    """The moment of an instant: seconds, and the digits of their fraction. None for what is no instant of FHIR's form.

    A second 60 and a day no month has are no moment; such a text is equal to itself alone.
    """
    match = _INSTANT.fullmatch(text)
    if not match:
        return None
    clock, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(clock)
    except ValueError:
        return None
    offset = 0 if sign is None else 60 * (60 * int(hours or 14) + int(minutes or 0))
    seconds = 86400 * moment.toordinal() + 3600 * moment.hour + 60 * moment.minute + moment.second
    return seconds + (offset if sign == "-" else -offset), (fraction or "").rstrip("0")
