"""The guard at the door: what may not be in a delivered text. Called on every prompt before it is sent.

Words stand in `leaks.csv` (scope: all text, or only the notes of the record). Names of causes are read from the prompt's own list of
allowed drivers, and may not stand in the record. Controls: `tests/access/test_leaks.py`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clinworld.access.record_text import drop_values, split_record
from clinworld.core.canary import CANARY
from clinworld.core.lookalikes import fold_lookalikes
from clinworld.core.tables import load_csv
from clinworld.schema.finding import Finding
from clinworld.schema.item import Item

WORDS = Path(__file__).with_name("leaks.csv")
SHORT = 6

_DAY = re.compile(r"\bd(\d+)(?=[ :])")
_NOTE_HEAD = re.compile(r"^\[[^\]]+\] d(\d+) [^:]+: ?")
_DRIVER_LINE = re.compile(r"^(\w+)(?:: (.+))?$", re.MULTILINE)
_CJK = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]+")
_WORDS_APART = re.compile(r" [a-z]{2,} [a-z]{2}")  # in every English phrase, and found far faster
_ENGLISH_PHRASE = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")
_TOKEN = re.compile(r"[a-z0-9_]+")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_VALUE_CHARACTERS = frozenset("-0123456789 .,:d")
_MAYBE_DAY = re.compile(r"d(\d+)[ :]")


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """Words to look for, case folded, in order. Those in `single` are looked up among a line's own, the others are searched."""

    words: tuple[str, ...]
    single: frozenset[str]


def check_delivery(text: str, *, item: Item, day: int, forbidden: Iterable[str] = ()) -> list[Finding]:
    """What is in a text to be delivered that may not be there; `day` is the last day it may show.

    `forbidden` are further strings that may stand nowhere, whatever the case; a short one (under 6 characters) only counts as a word.
    """
    before, record, after = split_record(text)
    spoken = drop_values(record)
    told = f"{before}{spoken}{after}"
    folded = told.casefold()
    record_lines = spoken.casefold().split("\n")
    findings = [Finding("leak_word", "text", repr(word), "not deliverable") for word in _held(folded.split("\n"), load_words(WORDS)[0])]
    findings += [Finding("leak_word", "notes", repr(word), "not deliverable") for word in _held_in_notes(spoken)]
    findings += [Finding("leak_word", "text", repr(word), "not deliverable") for word in _forbidden_in(text, folded, forbidden)]
    findings += [Finding("leak_day", "record", f"d{late}", f"the record ends on d{day}") for late in _late_days(record, day)]
    findings += [
        Finding("leak_driver", "record", repr(name), "causes stand only in the list of allowed drivers")
        for name in _held(record_lines, _driver_names(told))
    ]
    return findings + _check_language(told, item)


def _late_days(record: str, day: int) -> list[int]:
    """Days after `day`, ascending, that stand in the heads of notes or anywhere on the other lines of a record."""
    if _latest_possible_day(record) <= day:
        return []
    notes, rest = _split_notes(record)
    days = {int(match[1]) for line in notes if (match := _NOTE_HEAD.match(line))} | {int(each) for each in _DAY.findall(rest)}
    return sorted(late for late in days if late > day)


@lru_cache(maxsize=64)
def _latest_possible_day(record: str) -> int:
    """The highest number that stands anywhere like a day; -1 without one."""
    return max(map(int, _MAYBE_DAY.findall(record)), default=-1)


def _split_notes(record: str) -> tuple[list[str], str]:
    """The lines that notes stand on, and the rest of the record."""
    lines = record.split("\n")
    return [line for line in lines if line[:1] in ("[", " ")], "\n".join(line for line in lines if line[:1] not in ("[", " "))


def _held_in_notes(record: str) -> list[str]:
    listed = load_words(WORDS)[1]
    notes, _ = _split_notes(record)
    found = {word for line in notes for word in _held_in_note(line, listed)}
    return [word for word in listed.words if word in found]


@lru_cache(maxsize=8192)
def _held_in_note(line: str, listed: _Listed) -> tuple[str, ...]:
    return _held_on(fold_lookalikes(_NOTE_HEAD.sub("", line)), listed)


def _forbidden_in(text: str, folded: str, forbidden: Iterable[str]) -> list[str]:
    sought = [(word, word.casefold()) for word in (CANARY, *forbidden)]
    return [each for each, word in sought if _is_in(folded, word) or (_VALUE_CHARACTERS.issuperset(word) and _is_in(text, word))]


def _is_in(folded: str, word: str) -> bool:
    return bool(word) and (_holds(folded, word) if len(word) < SHORT else word in folded)


def _check_language(text: str, item: Item) -> list[Finding]:
    if item.language == "en":
        text = "\n".join(line for line in text.split("\n") if not line.isascii())
    own_words = {note.text.say(item.language) for note in item.record.notes if note.is_as_written}
    own_words |= {note.context.say(item.language) for note in item.record.notes if note.is_as_written and note.context}
    for words in sorted(own_words, key=lambda each: (-len(each), each)):  # the longest first: one complaint may hold another
        text = text.replace(" ".join(words.split()), " ")
    if item.language == "en":
        return [Finding("wrong_language", "text", repr(part[:40]), "English throughout") for part in _CJK.findall(text)[:5]]
    prose = _CODE.sub(" ", text)
    found = _ENGLISH_PHRASE.findall(prose) if _WORDS_APART.search(prose) else []
    return [Finding("wrong_language", "text", repr(part[:40]), "Chinese throughout") for part in found[:5]]


def _driver_names(text: str) -> _Listed:
    start, end = text.find("<drivers>"), text.find("</drivers>")
    return _names_listed(text[start + len("<drivers>") : end] if 0 <= start < end else "")


@lru_cache(maxsize=16)
def _names_listed(lines: str) -> _Listed:
    pairs = _DRIVER_LINE.findall(lines)
    return _list_words(form.casefold() for name, said in pairs for form in (name, name.replace("_", " "), said) if form)


def _list_words(words: Iterable[str]) -> _Listed:
    listed = tuple(words)
    return _Listed(listed, frozenset(word for word in listed if _TOKEN.fullmatch(word)))


def _held(folded_lines: Iterable[str], listed: _Listed) -> list[str]:
    """The listed words that stand on some lines as whole words, in the list's order."""
    found = {word for line in folded_lines for word in _held_on(line, listed)}
    return [word for word in listed.words if word in found] if found else []


@lru_cache(maxsize=8192)  # most lines of a prompt stand in every prompt
def _held_on(line: str, listed: _Listed) -> tuple[str, ...]:
    tokens = set(_TOKEN.findall(line))
    return tuple(word for word in listed.words if (word in tokens if word in listed.single else _holds(line, word)))


def _holds(folded: str, word: str) -> bool:
    """True where a word stands in a text as a whole word; a word of a language without spaces counts wherever it stands.

    >>> _holds("a golden apple", "gold"), _holds("is gold.", "gold")
    (False, True)
    """
    at = folded.find(word)
    while at >= 0:
        before, after = folded[at - 1 : at], folded[at + len(word) : at + len(word) + 1]
        if not (_joins(word[0]) and _joins(before)) and not (_joins(word[-1]) and _joins(after)):
            return True
        at = folded.find(word, at + 1)
    return False


def _joins(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


@lru_cache
def load_words(path: Path) -> tuple[_Listed, _Listed]:
    """Forbidden words, case folded: those that may stand nowhere, and those that may not stand in notes."""
    rows = load_csv(path, ("word", "language", "scope", "why"))
    everywhere, in_notes = (_list_words(row["word"].casefold() for row in rows if row["scope"] == scope) for scope in ("all", "notes"))
    return everywhere, in_notes


def check_words(text: str) -> list[str]:
    """Words of the table that may stand neither in a text nor in a note and do stand in this one."""
    lines = text.casefold().split("\n")
    return [word for listed in load_words(WORDS) for word in _held(lines, listed)]
