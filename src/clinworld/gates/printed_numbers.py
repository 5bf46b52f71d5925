"""Numbers as they stand in a text, however they are printed, and the words a number can be said in.

`0.66`, `.66`, `0,66`, `66 %`, `66%`, `66 percent` and full-width digits are one number; so are `85300` and `85,300`. Nothing here knows
which numbers are hidden.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from clinworld.core.text import LANGUAGES, load_labels

WORDS = Path(__file__).with_name("number_words.csv")
MOST_WORDED = 100


class PrintedNumber(NamedTuple):
    """One number of a text: as it stands, and how it can be read (canonical decimals; a percentage also ends in %)."""

    text: str
    readings: tuple[str, ...]


@lru_cache(maxsize=1)
def number_pattern() -> re.Pattern[str]:
    """A pattern with the groups before (a percent word), number and after (a percent sign or word)."""
    labels = load_labels(WORDS)
    before, after = labels.say("percent", "zh"), labels.say("percent", "en")
    number = r"\d{1,3}(?:[,']\d{3})+(?![\d,'])(?:\.\d+)?|\d+(?:[.,]\d+)?|(?<!\d)[.,]\d+"
    return re.compile(rf"(?P<before>{before}\s?)?(?P<number>{number})(?P<after>\s?(?:%|{after}\b|per cent\b))?", re.IGNORECASE)


def read_numbers(text: str) -> list[PrintedNumber]:
    """Every number of a text, in order.

    >>> [number.readings for number in read_numbers("66 % of 1,250 kg, .5")]
    [('66%', '0.66'), ('1250', '1.25'), ('0.5',)]
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[PrintedNumber] = []
    for match in number_pattern().finditer(text):
        readings = read_forms(match["number"])
        if match["before"] or match["after"]:
            readings = tuple(f"{each}%" for each in readings) + tuple(canonical(Decimal(each) / 100) for each in readings)
        found.append(PrintedNumber(match[0].strip(), readings))
    return found


@lru_cache(maxsize=8192)
def read_forms(number: str) -> tuple[str, ...]:
    """The values a printed number can have; a comma before three digits may part thousands or decimals."""
    plain = number.replace("'", "")
    if "," not in plain:
        return (canonical(Decimal(plain)),)
    without, decimal = plain.replace(",", ""), plain.replace(",", ".", 1)
    readings = [canonical(Decimal(without))] if re.search(r",\d{3}", plain) else []
    if plain.count(",") == 1 and decimal.count(".") == 1:
        readings.append(canonical(Decimal(decimal)))
    return tuple(readings)


def canonical(value: Decimal) -> str:
    """A decimal without trailing zeros or exponent.

    >>> canonical(Decimal("0.660")), canonical(Decimal("300"))
    ('0.66', '300')
    """
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


@lru_cache(maxsize=8192)
def read_line(line: str) -> tuple[PrintedNumber, ...]:
    """The numbers of one line; kept, because most lines of a prompt are the same in every prompt."""
    return tuple(read_numbers(line))


def readings_of(texts: Iterable[str]) -> frozenset[str]:
    """Every reading of every number in some texts."""
    return frozenset(reading for text in texts for number in read_numbers(text) for reading in number.readings)


def canonical_of(value: float) -> str:
    """The canonical form of a number."""
    return canonical(Decimal(repr(float(value))))


@lru_cache(maxsize=4096)
def say_in_words(form: str) -> tuple[str, ...]:
    """How a canonical decimal below 1000 is said in words: digit by digit after the point, a fraction below 1 also as a percentage.

    >>> say_in_words("0.66")[:3]
    ('zero point six six', 'point six six', 'sixty-six percent')
    """
    labels = load_labels(WORDS)
    whole, _, decimals = form.partition(".")
    if not decimals or not whole.isdigit() or int(whole) >= MOST_WORDED:
        return ()
    said: list[str] = []
    for language in LANGUAGES:
        space = " " if language == "en" else ""
        digits = space.join(labels.say(digit, language) for digit in decimals)
        start = say_whole(int(whole), language)
        said += [f"{start}{space}{labels.say('point', language)}{space}{digits}"]
        said += [f"{labels.say('point', language)} {digits}"] if language == "en" and whole == "0" else []
        if whole == "0" and len(decimals) <= 2:
            percent, word = say_whole(int(decimals.ljust(2, "0")), language), labels.say("percent", language)
            said += [f"{percent} {word}", f"{percent.replace('-', ' ')} {word}"] if language == "en" else [f"{word}{percent}"]
    return tuple(dict.fromkeys(said))


def say_whole(value: int, language: str) -> str:
    """A whole number below 100 in words."""
    labels = load_labels(WORDS)
    chosen = "en" if language == "en" else "zh"
    if str(value) in labels:
        return labels.say(str(value), chosen)  # type: ignore[arg-type]  # one of the two languages
    tens, ones = labels.say(str(value // 10 * 10), chosen), labels.say(str(value % 10), chosen)  # type: ignore[arg-type]
    return f"{tens}-{ones}" if chosen == "en" else tens + ones
