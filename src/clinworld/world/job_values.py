"""One value of a job file against the row of its key: type, bounds, allowed words; and the keys of one mapping against a section.

Raises JobError for the first thing wrong and never turns a value into another. Called by `job_case.py` and `job_file.py`.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

from clinworld.core.days import parse_age_range
from clinworld.core.errors import JobError, allowed_values, nearest_match
from clinworld.core.tables import Place
from clinworld.world.job_id import read_id
from clinworld.world.job_keys import JobKey, load_job_keys, read_default
from clinworld.world.job_text import JobText, describe, number_text


def read_section(text: JobText, place: Place, section: str, *, given: Any = None) -> dict[str, Any]:
    """The written keys of a mapping, checked against a section; structured keys keep their raw value.

    An empty value counts as not written for a key without default. A list, an unknown key or a missing required key is a JobError.
    """
    keys = load_job_keys()[section]
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise text.error(place, describe(given), "a mapping is expected", do="Write `key: value` lines under it.")
    for name in given:
        if name not in keys:
            raise _unknown_key(text, (*place, name), section, name)
    for name, key in keys.items():
        if key.is_required and given.get(name) is None:
            raise text.error(place, f"no `{name}`", f"{key.meaning}", do=f"Add `{name}`.")
    return {
        name: read_value(text, (*place, name), keys[name], value)
        for name, value in given.items()
        if not (value is None and not keys[name].default)
    }


def _unknown_key(text: JobText, place: Place, section: str, name: str) -> JobError:
    sections = load_job_keys()
    homes = [other for other, keys in sections.items() if name in keys and other != section]
    if homes:
        return text.error(place, f"the key {describe(name)} in {_title(section)}", f"it belongs in {_title(homes[0])}", do="Move it there.")
    return text.error(
        place,
        f"no key {describe(name)} in {_title(section)}",
        allowed_values(sections[section], most=60),
        nearest=nearest_match(name, sections[section]),
    )


def _title(section: str) -> str:
    titles = {"top": "the top level", "case": "a case", "symptom": "a symptom", "noise": "a noise entry"}
    return titles.get(section, f"`{section}`")


def read_value(text: JobText, place: Place, key: JobKey, value: Any) -> Any:
    """The value of one key in its type: int, float, bool, str or a tuple; structured types and `any` come back as they are."""
    match key.type:
        case "id":
            return read_id(text, place, value, names_folder=key.section == "top")
        case "text" | "name":
            return _read_text(text, place, key, value)
        case "choice":
            return _read_choice(text, place, key, value)
        case "flag":
            if not isinstance(value, bool):
                raise text.error(place, describe(value), "true or false is expected", kind=key.kind)
            return value
        case "whole" | "number":
            return _read_number(text, place, key, value)
        case "age_range":
            return _read_age_range(text, place, key, value)
        case "numbers" | "names" | "some_names" | "words" | "choices":
            return _read_items(text, place, key, value)
        case "list" | "noise" | "symptoms":
            if not isinstance(value, list):
                raise text.error(place, describe(value), "a list is expected", do="Start each entry with `- `.", kind=key.kind)
            return value
        case "mapping" | "density" | "vitals":
            if not isinstance(value, dict):
                raise text.error(place, describe(value), "a mapping is expected", do="Write `key: value` lines under it.", kind=key.kind)
            return value
        case _:
            return value


def _read_text(text: JobText, place: Place, key: JobKey, value: Any) -> str:
    if not isinstance(value, str):
        raise text.error(place, describe(value), "text is expected", do="Put it in quotes if it is meant as text.", kind=key.kind)
    if key.is_required and not value.strip():
        raise text.error(place, "an empty text", key.meaning, kind=key.kind)
    for character in value:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs"):
            raise text.error(place, f"an invisible character U+{ord(character):04X}", "text holds printable characters", kind=key.kind)
    if key.high is not None and len(value) > key.high:
        found, rule = f"a text of {len(value)} characters", f"at most {number_text(key.high)} are read"
        raise text.error(place, found, rule, do="Shorten it.", kind=key.kind)
    return value


def read_word(text: JobText, place: Place, key: JobKey, value: Any) -> str:
    """A name that may have no row of its own, so that only its form is checked: it holds a letter."""
    word = _read_text(text, place, key, value)
    if word == "null" or not any(character.isalpha() for character in word):
        raise text.error(place, describe(word) if word.strip() else "an empty name", "a name holds a letter", do="Name it.", kind=key.kind)
    return word


def _read_choice(text: JobText, place: Place, key: JobKey, value: Any) -> str:
    if not isinstance(value, str) or value not in key.allowed:
        nearest = nearest_match(value, key.allowed) if isinstance(value, str) else None
        raise text.error(place, describe(value), allowed_values(key.allowed), nearest=nearest, kind=key.kind)
    return value


def _read_number(text: JobText, place: Place, key: JobKey, value: Any) -> int | float:
    expected = "a whole number" if key.type == "whole" else "a number"
    limits = f" from {number_text(key.low)} to {number_text(key.high)}" if key.low is not None and key.high is not None else ""
    is_right = isinstance(value, int) if key.type == "whole" else isinstance(value, int | float)
    if isinstance(value, bool) or not is_right:
        raise text.error(place, describe(value), f"{expected}{limits} is expected", kind=key.kind)
    if (key.low is not None and value < key.low) or (key.high is not None and value > key.high):
        raise text.error(place, describe(value), f"{expected}{limits} is expected", kind=key.kind)
    return int(value) if key.type == "whole" else float(value)


def _read_age_range(text: JobText, place: Place, key: JobKey, value: Any) -> str:
    is_plain = isinstance(value, str) and value.isascii() and value == value.strip()
    ages = parse_age_range(value) if is_plain else None
    low, high = key.low or 0, key.high or 0
    if ages is None or not low <= ages[0] <= ages[1] <= high:
        rule = f"two ages in years such as `45-49`, the lower first, from {number_text(low)} to {number_text(high)}, are expected"
        do = "The world describes adults; choose a band of adult ages." if ages else ""
        raise text.error(place, describe(value), rule, do=do)
    return str(value)


def _read_items(text: JobText, place: Place, key: JobKey, value: Any) -> tuple[Any, ...]:
    what = "numbers" if key.type == "numbers" else "words"
    if not isinstance(value, list):
        is_one = isinstance(value, str | int | float) and not isinstance(value, bool)
        do = f"Write it in brackets: [{describe(value)}]." if is_one else "Write them in brackets: [one, another]."
        raise text.error(place, describe(value), f"a list of {what} is expected", do=do, kind=key.kind)
    if not value and key.type in ("numbers", "some_names"):
        raise text.error(place, "an empty list", f"at least one of {key.meaning} is expected", kind=key.kind)
    items: list[Any] = []
    for number, item in enumerate(value):
        at = (*place, number)
        if key.type == "numbers":
            items.append(_read_number(text, at, key, item))
            continue
        word = _read_choice(text, at, key, item) if key.type == "choices" else read_word(text, at, key, item)
        if word in items:
            raise text.error(at, f"{describe(word)} twice", "each stands once", do="Remove one of them.", kind=key.kind)
        items.append(word)
    return tuple(items)


def in_force(section: str, written: Mapping[str, Any], key: str) -> Any:
    """The written value, or the key's default."""
    return written[key] if key in written else read_default(load_job_keys()[section][key])
