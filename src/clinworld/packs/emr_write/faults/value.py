"""Policy faults of value: one element that says something else, and some that say the same in another way and must be paid."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from clinworld.packs.emr_write.checker.values import load_units
from clinworld.packs.emr_write.faults.draft import (
    Draft,
    Place,
    change_at,
    find_places,
    first_record,
    is_amount,
    is_coding,
    is_instant,
    is_text,
    value_at,
    walk,
)
from clinworld.packs.emr_write.store.references import BASE_URL

_NO_BREAK, _ZERO_WIDTH = "\u00a0", "\u200b"
_FOREIGN_DIGITS = {ord(str(digit)): chr(ord("\N{ARABIC-INDIC DIGIT ZERO}") + digit) for digit in range(10)}


def _edit(draft: Draft, is_it: Callable[[Place, Any], bool], edit: Callable[[Any], Any]) -> Draft:
    place = find_places(draft, is_it)[0]
    return change_at(draft, place, edit(value_at(draft, place)))


def _edit_number(draft: Draft, edit: Callable[[Decimal], Any]) -> Draft:
    return _edit(draft, is_amount, lambda amount: {**amount, "value": edit(Decimal(amount["value"]))})


def other_text(draft: Draft) -> Draft:
    """A text with its halves exchanged."""
    return _edit(draft, is_text, lambda text: f"{text[len(text) // 2 :]} {text[: len(text) // 2]}")


def cut_text(draft: Draft) -> Draft:
    """A text without its last character."""
    return _edit(draft, is_text, lambda text: text[:-1])


def trailing_space(draft: Draft) -> Draft:
    """A text with a space at its end."""
    return _edit(draft, is_text, lambda text: f"{text} ")


def capitals(draft: Draft) -> Draft:
    """A text in capitals."""
    return _edit(draft, is_text, str.upper)


def no_break_space(draft: Draft) -> Draft:
    """A text with a space that looks like a space."""
    return _edit(draft, is_text, lambda text: text.replace(" ", _NO_BREAK, 1))


def hidden_character(draft: Draft) -> Draft:
    """A text with a character without width."""
    return _edit(draft, is_text, lambda text: text[:1] + _ZERO_WIDTH + text[1:])


def decomposed_text(draft: Draft) -> Draft:
    """The same text in the other Unicode form."""
    return _edit(draft, is_text, lambda text: unicodedata.normalize("NFD", text))


def tenfold(draft: Draft) -> Draft:
    """Ten times the amount."""
    return _edit_number(draft, lambda number: number.scaleb(1))


def number_as_text(draft: Draft) -> Draft:
    """The number as a text."""
    return _edit_number(draft, str)


def decimal_comma(draft: Draft) -> Draft:
    """The number as a text with a decimal comma."""
    return _edit_number(draft, lambda number: f"{number:.1f}".replace(".", ","))


def trailing_zero(draft: Draft) -> Draft:
    """The same number with one more decimal."""
    return _edit_number(draft, lambda number: Decimal(f"{number:f}{'' if '.' in f'{number:f}' else '.'}0"))


def _other_unit(unit: str) -> str:
    """Another unit, of the same dimension where there is one."""
    units = load_units()
    near = [name for name, (dimension, _) in units.items() if unit in units and dimension == units[unit][0] and units[name] != units[unit]]
    return near[-1] if near else next(iter(units))


def other_unit(draft: Draft) -> Draft:
    """The same number in another unit."""
    return _edit(draft, is_amount, lambda amount: {**amount, "unit": _other_unit(amount["unit"])})


def same_amount_in_other_unit(draft: Draft) -> Draft:
    """The same amount in another unit."""

    def convert(amount: dict[str, Any]) -> dict[str, Any]:
        units, to = load_units(), _other_unit(amount["unit"])
        exact = Fraction(amount["value"]) * units[amount["unit"]][1] / units[to][1]
        return {**amount, "value": Decimal(exact.numerator) / exact.denominator, "unit": to}

    return _edit(draft, is_amount, convert)


def is_early_day(place: Place, value: Any) -> bool:
    """True for an instant whose day could be read as a month and is not the same."""
    if not is_instant(place, value):
        return False
    at = datetime.fromisoformat(value)
    return at.day != at.month and at.day <= 12


def day_for_month(draft: Draft) -> Draft:
    """Day and month exchanged."""

    def swap(text: str) -> str:
        at = datetime.fromisoformat(text)
        return at.replace(day=at.month, month=at.day).isoformat()

    return _edit(draft, is_early_day, swap)


def other_offset(draft: Draft) -> Draft:
    """The same clock time in another time zone."""
    return _edit(draft, is_instant, lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC).isoformat())


def no_offset(draft: Draft) -> Draft:
    """An instant without its offset."""
    return _edit(draft, is_instant, lambda text: datetime.fromisoformat(text).replace(tzinfo=None).isoformat())


def same_instant_elsewhere(draft: Draft) -> Draft:
    """The same instant with the offset of another time zone."""
    return _edit(draft, is_instant, lambda text: datetime.fromisoformat(text).astimezone(UTC).isoformat().replace("+00:00", "Z"))


def offset_there_is_not(draft: Draft) -> Draft:
    """The same instant by arithmetic, with an offset that no time zone has."""

    def shift(text: str) -> str:
        local = datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None) + timedelta(hours=99, minutes=99)
        return f"{local.isoformat()}+99:99"

    return _edit(draft, is_instant, shift)


def foreign_digits_in_offset(draft: Draft) -> Draft:
    """The right instant with the digits of its offset in another script."""

    def respell(text: str) -> str:
        whole = datetime.fromisoformat(text).isoformat()
        return whole[:19] + whole[19:].translate(_FOREIGN_DIGITS)

    return _edit(draft, is_instant, respell)


def code_against_text(draft: Draft) -> Draft:
    """The right words with the code of something else."""
    return _edit(draft, is_coding, lambda coding: {**coding, "code": coding["code"][::-1] + "0"})


def second_coding(draft: Draft) -> Draft:
    """A second code beside the right one."""
    place = find_places(draft, is_coding)[0][:-1]
    return change_at(draft, place, [*value_at(draft, place), {"system": "urn:other", "code": "1"}])


def other_display(draft: Draft) -> Draft:
    """The right code with another name."""
    return _edit(draft, is_coding, lambda coding: {**coding, "display": coding["code"]})


def right_display(draft: Draft) -> Draft:
    """The right code with its own name, which is allowed."""
    names = next(values for path, values in first_record(draft).optional.items() if path.endswith("display"))
    return _edit(draft, is_coding, lambda coding: {**coding, "display": names[0]})


def absolute_references(draft: Draft) -> Draft:
    """The same rows by their whole address."""
    for place, value in list(walk(draft.actions)):
        if place and place[-1] == "reference" and not value.startswith("urn:"):
            draft = change_at(draft, place, f"{BASE_URL}/{value}")
    return draft


def allowed_element(draft: Draft) -> Draft:
    """An element that may be left out, with the value it may have."""
    name, values = next(iter(first_record(draft).optional.items()))
    return change_at(draft, (0, "fields", name), values[0])


def allowed_element_other_value(draft: Draft) -> Draft:
    """An element that may be left out, with another value."""
    name, values = next(iter(first_record(draft).optional.items()))
    return change_at(draft, (0, "fields", name), f"{values[0]}0")


def verdict_in_text(draft: Draft) -> Draft:
    """A text that tells the reader what to find."""
    return _edit(draft, is_text, lambda text: f"{text} VERIFIED")


def list_for_object(draft: Draft) -> Draft:
    """A list where one value belongs."""
    place = next(place for place in find_places(draft, is_coding))[:-2]
    return replace(draft, actions=change_at(draft, place, [value_at(draft, place)]).actions)


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        other_text,
        cut_text,
        trailing_space,
        capitals,
        no_break_space,
        hidden_character,
        decomposed_text,
        tenfold,
        number_as_text,
        decimal_comma,
        trailing_zero,
        other_unit,
        same_amount_in_other_unit,
        day_for_month,
        other_offset,
        no_offset,
        same_instant_elsewhere,
        offset_there_is_not,
        foreign_digits_in_offset,
        code_against_text,
        second_coding,
        other_display,
        right_display,
        absolute_references,
        allowed_element,
        allowed_element_other_value,
        verdict_in_text,
        list_for_object,
    )
}
