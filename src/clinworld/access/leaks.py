"""The guard at the door: what may not be in a delivered text. Called on every prompt before it is sent.

Words stand in `leaks.csv` (scope: all text, or only the notes of the record). Names of causes are read from the prompt's own list of
allowed drivers, and may not stand in the record. Controls: `tests/access/test_leaks.py`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from clinworld.access.record_text import CLOSE, OPEN
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
_ENGLISH_PHRASE = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")
_TOKEN = re.compile(r"[a-z0-9_]+")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def check_delivery(text: str, *, item: Item, day: int, forbidden: Iterable[str] = ()) -> list[Finding]:
    """What is in a text to be delivered that may not be there; `day` is the last day it may show.

    `forbidden` are further strings that may stand nowhere, whatever the case; a short one (under 6 characters) only counts as a word.
    """
    record = _record_part(text)
    notes, rest = _split_notes(record)
    findings = [Finding("leak_word", place, repr(word), "not deliverable") for word, place in _words_found(text, notes, forbidden)]
    days = {int(match[1]) for line in notes if (match := _NOTE_HEAD.match(line))} | {int(each) for each in _DAY.findall(rest)}
    findings += [Finding("leak_day", "record", f"d{late}", f"the record ends on d{day}") for late in sorted(days) if late > day]
    folded = record.casefold()
    findings += [
        Finding("leak_driver", "record", repr(name), "causes stand only in the list of allowed drivers")
        for name in _held(folded, _driver_names(text))
    ]
    return findings + _check_language(text, item)


def _record_part(text: str) -> str:
    start, end = text.find(f"{OPEN}\n"), text.rfind(f"\n{CLOSE}")
    return text[start : end + 1] if 0 <= start < end else ""


def _split_notes(record: str) -> tuple[list[str], str]:
    """The lines that notes stand on, and the rest of the record."""
    lines = record.split("\n")
    return [line for line in lines if line[:1] in ("[", " ")], "\n".join(line for line in lines if line[:1] not in ("[", " "))


def _words_found(text: str, notes: list[str], forbidden: Iterable[str]) -> list[tuple[str, str]]:
    everywhere, in_notes = load_words(WORDS)
    folded = text.casefold()
    told = fold_lookalikes("\n".join(_NOTE_HEAD.sub("", line) for line in notes))
    found = [(word, "text") for word in _held(folded, everywhere)]
    found += [(word, "notes") for word in _held(told, in_notes)]
    return found + [(word, "text") for word in (CANARY, *forbidden) if _is_in(folded, word.casefold())]


def _is_in(folded: str, word: str) -> bool:
    return bool(word) and (_holds(folded, word) if len(word) < SHORT else word in folded)


def _check_language(text: str, item: Item) -> list[Finding]:
    own_words = {note.text.say(item.language) for note in item.record.notes if note.is_as_written}
    own_words |= {note.context.say(item.language) for note in item.record.notes if note.is_as_written and note.context}
    for words in sorted(own_words, key=lambda each: (-len(each), each)):  # the longest first: one complaint may hold another
        text = text.replace(" ".join(words.split()), " ")
    if item.language == "en":
        return [Finding("wrong_language", "text", repr(part[:40]), "English throughout") for part in _CJK.findall(text)[:5]]
    prose = _CODE.sub(" ", text)
    return [Finding("wrong_language", "text", repr(part[:40]), "Chinese throughout") for part in _ENGLISH_PHRASE.findall(prose)[:5]]


def _driver_names(text: str) -> list[str]:
    start, end = text.find("<drivers>"), text.find("</drivers>")
    if not 0 <= start < end:
        return []
    pairs = _DRIVER_LINE.findall(text[start + len("<drivers>") : end])
    return [form.casefold() for name, said in pairs for form in (name, name.replace("_", " "), said) if form]


def _held(folded: str, words: Iterable[str]) -> list[str]:
    """The words that stand in a text as whole words; single words are looked up among the text's own, which is many times faster."""
    tokens = set(_TOKEN.findall(folded))
    return [word for word in words if (word in tokens if _TOKEN.fullmatch(word) else _holds(folded, word))]


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
def load_words(path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Forbidden words, case folded: those that may stand nowhere, and those that may not stand in notes."""
    rows = load_csv(path, ("word", "language", "scope", "why"))
    return tuple(tuple(row["word"].casefold() for row in rows if row["scope"] == scope) for scope in ("all", "notes"))  # type: ignore[return-value]


def check_words(text: str) -> list[str]:
    """Words of the table that may stand neither in a text nor in a note and do stand in this one."""
    everywhere, in_notes = load_words(WORDS)
    return _held(text.casefold(), (*everywhere, *in_notes))
