"""Names, texts and codes: one thing per name, both languages, check digits that add up."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from clinworld.core.text import Wording
from clinworld.knowledge.condition_rows import Wordings
from clinworld.knowledge.load import KINDS, Knowledge
from clinworld.knowledge.names import fold_name, spoken_names
from clinworld.knowledge.places import place_of, row_text, rows_in_question
from clinworld.schema.finding import Finding

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[a-z]{3}")
_MEASURED = ("streams", "analytes", "findings")
_LOINC = re.compile(r"^([0-9]{1,7})-([0-9])$")


def check_names(knowledge: Knowledge) -> Iterator[Finding]:
    """No id, name or alias of a kind stands for two things, as a reader sees it: whatever its case, and in look-alike letters too.

    Streams, analytes and findings share one set of names.
    """
    for kinds in (_MEASURED, *((kind,) for kind in KINDS if kind not in _MEASURED)):
        owner: dict[str, tuple[str, str]] = {}
        for kind, key in _own_before_added(knowledge, kinds):
            for name in (key, *spoken_names(kind, knowledge.table(kind)[key])):
                other = owner.setdefault(fold_name(name), (kind, key))
                if other != (kind, key):
                    taken = f"a name of its own: {row_text(knowledge, *other)} has it already"
                    yield Finding("name_stands_for_one_thing", place_of(knowledge, kind, key, "names"), repr(name), taken)


def _own_before_added(knowledge: Knowledge, kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Kind and id of every row, those of the package first: of two that clash the added one is wrong."""
    for is_added in (False, True):
        for kind in kinds:
            added = knowledge.added.get(kind, {})
            yield from ((kind, key) for key in knowledge.table(kind) if (key in added) == is_added)


def check_languages(knowledge: Knowledge) -> Iterator[Finding]:
    """The English text holds no Chinese character and the Chinese text at least one, unless both are one code."""
    for place, wording in _wordings(knowledge):
        if _HAN.search(wording.en):
            yield Finding("both_languages_native", place, repr(wording.en), "English in the English text")
        if not _HAN.search(wording.zh) and (wording.zh != wording.en or _WORD.search(wording.zh)):
            yield Finding("both_languages_native", place, repr(wording.zh), "Chinese in the Chinese text")


def check_repeated_texts(knowledge: Knowledge) -> Iterator[Finding]:
    """No two events are told in the same words."""
    seen: dict[str, str] = {}
    for key, row in knowledge.events.items():
        for text in (row.text.en, row.text.zh):
            other = seen.setdefault(text.casefold(), key)
            if other != key:
                said = f"words of its own: {row_text(knowledge, 'events', other)} has these already"
                yield Finding("text_stands_once", place_of(knowledge, "events", key, "text"), repr(text), said)


def check_loinc(knowledge: Knowledge) -> Iterator[Finding]:
    """A LOINC code ends in its own check digit (mod 10)."""
    for kind in ("analytes", "streams"):
        for key, row in knowledge.table(kind).items():
            if row.loinc and not has_loinc_check_digit(row.loinc):
                match = _LOINC.match(row.loinc)
                right = (
                    f"{match[1]}-{loinc_check_digit(match[1])}, with the right check digit" if match else "digits, a dash, a check digit"
                )
                yield Finding("loinc_check_digit", place_of(knowledge, kind, key, "loinc"), repr(row.loinc), right)


def check_codes(knowledge: Knowledge) -> Iterator[Finding]:
    """An added row takes no code of another: no LOINC, and no RxCUI but for a further product of the ingredient.

    A further product has the class of the other and no indication of it, so that the product meant for a condition stays one.
    """
    for kinds, code in ((("streams", "analytes"), "loinc"), (("drugs",), "rxcui")):
        owners: dict[str, list[tuple[str, str]]] = {}
        for kind in kinds:
            for key, row in knowledge.table(kind).items():
                if getattr(row, code):
                    owners.setdefault(getattr(row, code), []).append((kind, key))
        for kind in kinds:
            for key in knowledge.added.get(kind, {}):
                value = getattr(knowledge.table(kind)[key], code)
                for other in owners.get(value, ()):
                    if other != (kind, key) and not _are_products_of_one_ingredient(knowledge, kind, key, other[1]):
                        taken = f"a code of its own: {row_text(knowledge, *other)} has it already"
                        yield Finding("code_stands_for_one_thing", place_of(knowledge, kind, key, code), repr(value), taken)


def _are_products_of_one_ingredient(knowledge: Knowledge, kind: str, name: str, other: str) -> bool:
    if kind != "drugs":
        return False
    one, two = knowledge.drugs[name], knowledge.drugs[other]
    return one.drug_class == two.drug_class and not dict(one.indications).keys() & dict(two.indications).keys()


def has_loinc_check_digit(code: str) -> bool:
    """Whether a code is digits, a dash and the mod 10 (Luhn) check digit of those digits.

    >>> has_loinc_check_digit("4548-4"), has_loinc_check_digit("4548-5"), has_loinc_check_digit("HbA1c")
    (True, False, False)
    """
    match = _LOINC.match(code)
    return match is not None and loinc_check_digit(match[1]) == int(match[2])


def loinc_check_digit(digits: str) -> int:
    """The mod 10 (Luhn) check digit of the digits before the dash.

    >>> loinc_check_digit("4548")
    4
    """
    doubled = "".join(str(2 * int(digit) if place % 2 == 0 else int(digit)) for place, digit in enumerate(reversed(digits)))
    return (10 - sum(map(int, doubled)) % 10) % 10


def _wordings(knowledge: Knowledge) -> Iterator[tuple[str, Wording]]:
    """Every text of every row in question, with its place."""
    for kind in KINDS:
        for key, row in rows_in_question(knowledge, kind):
            for cell, wording in _texts_in(row):
                yield place_of(knowledge, kind, key, cell), wording


def _texts_in(row: Any) -> Iterator[tuple[str, Wording]]:
    """The texts of a row and of what stands in it, each with its cell."""
    for each in fields(row):
        value = getattr(row, each.name)
        if isinstance(value, Wording):
            yield each.name, value
        elif isinstance(value, Wordings):
            yield from ((f"{each.name}[{number}]", Wording(*pair)) for number, pair in enumerate(zip(value.en, value.zh, strict=False)))
        elif isinstance(value, tuple):
            for number, entry in enumerate(value):
                if isinstance(entry, Wording):
                    yield f"{each.name}[{number}]", entry
                elif is_dataclass(entry):
                    yield from ((f"{each.name}[{number}].{cell}", wording) for cell, wording in _texts_in(entry))
