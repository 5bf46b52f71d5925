"""Words that may not stand in a text, read from tables, and where they do. Whole words in English, anywhere in Chinese."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from clinworld.core.tables import load_csv
from clinworld.schema.record import Note

RED_FLAGS = Path(__file__).with_name("red_flag_words.csv")
SEX_WORDS = Path(__file__).with_name("sex_words.csv")
COLUMNS = ("id", "language", "word", "unless", "source", "status")


class WordTable(NamedTuple):
    """One pattern of all words, and the longer wordings in which one is harmless, both case folded."""

    pattern: re.Pattern[str]
    harmless: tuple[str, ...]


@lru_cache(maxsize=8)
def load_word_table(path: Path) -> WordTable:
    """The words of a table with the columns id, language, word, unless, source, status."""
    rows = load_csv(path, COLUMNS)
    harmless = tuple(part.casefold() for row in rows for part in row["unless"].split("|") if part)
    return WordTable(compile_words(row["word"] for row in rows), harmless)


def compile_words(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of the words in case-folded text.

    >>> compile_words(["seizure"]).search("a seizure.") is not None, compile_words(["seizure"]).search("seizures") is not None
    (True, False)
    """
    folded = [word.casefold() for word in words]
    parts = [rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])" if word.isascii() else re.escape(word) for word in folded]
    return re.compile("|".join(parts) or r"(?!)")


@lru_cache(maxsize=1)
def load_sex_words() -> dict[str, re.Pattern[str]]:
    """A pattern, for case-folded text, of the words that only one sex says of itself, by sex."""
    rows = load_csv(SEX_WORDS, ("id", "sex", "language", "word", "source", "status"))
    return {sex: compile_words(row["word"] for row in rows if row["sex"] == sex) for sex in ("F", "M")}


@lru_cache(maxsize=4096)
def find_listed_word(text: str, path: Path) -> str:
    """The first word of a table that stands in a text, "" when none does."""
    table = load_word_table(path)
    folded = text.casefold()
    for harmless in table.harmless:
        folded = folded.replace(harmless, " ")
    found = table.pattern.search(folded)
    return found[0] if found else ""


def texts_of(note: Note) -> tuple[str, ...]:
    """Everything a note says, in both languages."""
    context = (note.context.en, note.context.zh) if note.context else ()
    return (note.text.en, note.text.zh, *context)
