"""One row of a knowledge file, read cell by cell: exact types, closed choices, and errors that name file, row and cell."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clinworld.core.errors import MOST_SHOWN, KnowledgeError, allowed_values, found_text, nearest_match
from clinworld.core.tables import Place
from clinworld.core.text import Wording
from clinworld.knowledge.condition_rows import Wordings
from clinworld.knowledge.source_rows import STATUSES

_ID = re.compile(r"^[a-z][A-Za-z0-9_]*$")  # capitals only because the driver names of the job contract have some

# Control characters, line ends, bidirectional marks, and whatever is not seen: a name that holds one looks like another name.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    r"\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

MOST_WORDS = 200  # ten times the longest list there is; every check of names stays quick
MOST_CHARACTERS = 2_000


class Cells:
    """The cells of one row. `where` names the row, `hyperkalaemia.csv, line 4` for example, or finds its name when a message needs it.

    Values are text (CSV) or already typed (YAML); an empty cell is None, never zero. Several words in a CSV cell stand between `|`.
    """

    def __init__(self, values: Mapping[str, Any], where: str | Callable[[], str]) -> None:
        self.values, self._where = values, where

    def where(self, column: str) -> str:
        """File, row and column of a cell."""
        name = self.values.get("id")
        row = self._where if isinstance(self._where, str) else self._where()
        return f"{row}{f' ({name[:MOST_SHOWN]})' if isinstance(name, str) and name else ''}, {column}"

    def fail(self, column: str, found: object, allowed: str, *, nearest: str | None = None, do: str = "") -> KnowledgeError:
        """The error for one cell of this row."""
        return KnowledgeError(self.where(column), found_text(found), allowed, nearest=nearest, do=do or "Correct this value.")

    def word(self, column: str) -> str:
        """Text that may not be empty."""
        value = self.maybe_word(column)
        if not value:
            raise self.fail(column, "", "a value is required" + _in_language(column), do="Write it.")
        return value

    def maybe_word(self, column: str) -> str:
        """Text, "" when the cell is empty."""
        value = self.values.get(column)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(column, value, "text is expected", do="Put the value in quotes.")
        if len(value) > MOST_CHARACTERS:
            raise self.fail(column, value, f"at most {MOST_CHARACTERS:,} characters", do="Shorten the text.")
        if value.isascii() and value.isprintable():  # most cells, of which a table has tens of thousands
            return value.strip()
        text = value.strip()
        self._check_seen(column, text)
        return text

    def id(self, column: str = "id", *, dots: bool = False) -> str:
        """A lower-snake name; with `dots`, names joined by dots."""
        value = self.word(column)
        if not _ID.match(value.replace(".", "_") if dots else value):
            raise self.fail(column, value, "ids are words joined by _", do="Use letters, digits and _.")
        return value

    def words(self, column: str) -> tuple[str, ...]:
        """Words between `|`, or the entries of a list, each once; () when empty."""
        value = self.values.get(column)
        if not isinstance(value, list | str | None):
            raise self.fail(column, value, "a list of words is expected", do="Write [ ... ], a single word too.")
        parts = value if isinstance(value, list) else [part.strip() for part in value.split("|")] if value else []
        self.check_length(column, parts)
        seen: set[str] = set()
        for part in parts:
            if not isinstance(part, str) or not part.strip():
                raise self.fail(column, part, "words are expected, in a list or between |", do="Write the word, or remove its place.")
            if len(part) > MOST_CHARACTERS:
                raise self.fail(column, part, f"at most {MOST_CHARACTERS:,} characters a word", do="Shorten the word.")
            if not (part.isascii() and part.isprintable()):
                self._check_seen(column, part)
            if part in seen:
                raise self.fail(column, part, "each word stands once", do="Remove one of them.")
            seen.add(part)
        return tuple(parts)

    def _check_seen(self, column: str, text: str) -> None:
        """Raises KnowledgeError for a text with a character that a reader does not see."""
        if (unseen := _UNSEEN.search(text)) is not None:
            allowed = f"text of one line that a reader sees whole; this holds U+{ord(unseen[0]):04X}"
            raise self.fail(column, text, allowed, do="Remove the character.")

    def check_length(self, column: str, values: list[Any]) -> None:
        """Raises KnowledgeError for a list longer than any that somebody writes by hand."""
        if len(values) > MOST_WORDS:
            raise KnowledgeError(
                self.where(column), f"found {len(values):,} entries", f"at most {MOST_WORDS}", do="Keep those that matter."
            )

    def some_words(self, column: str) -> tuple[str, ...]:
        """As `words`, and at least one."""
        words = self.words(column)
        if not words:
            raise self.fail(column, "", "at least one word" + _in_language(column), do="Write it.")
        return words

    def choice(self, column: str, options: Iterable[str], *, empty: bool = False) -> str:
        """One of a closed list; with `empty` also ""."""
        value = self.values.get(column)
        known = tuple(options)
        if isinstance(value, str) and value in known:
            return value
        value = self.maybe_word(column)
        if value not in known and not (empty and not value):
            raise self.fail(column, value, allowed_values(known, most=30), nearest=nearest_match(value, known))
        return value

    def flag(self, column: str) -> bool:
        """true or false."""
        value = self.values.get(column)
        if isinstance(value, bool):
            return value
        if value not in ("true", "false"):
            raise self.fail(column, value, allowed_values(("true", "false")), do="Write true or false.")
        return bool(value == "true")

    def maybe_number(self, column: str, low: float | None = None, high: float | None = None) -> float | None:
        """A finite number within [low, high], None when the cell is empty."""
        value = self.values.get(column)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.fail(column, value, "a number is expected", do="Write a number such as 12 or 0.5.") from None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) == float("inf"):
            raise self.fail(column, value, "a finite number is expected", do="Write a number such as 12 or 0.5.")
        if (low is not None and value < low) or (high is not None and value > high):
            raise self.fail(column, value, "allowed: " + range_text(low, high), do="Check the number and its unit.")
        return float(value)

    def number(self, column: str, low: float | None = None, high: float | None = None) -> float:
        """A finite number within [low, high]; an empty cell is an error."""
        value = self.maybe_number(column, low, high)
        if value is None:
            raise self.fail(column, "", "a number is required", do="Write it.")
        return value

    def number_words(self, column: str, low: float | None = None, high: float | None = None) -> tuple[float, ...]:
        """Numbers within [low, high] between `|`, each once; () when empty."""
        return tuple(Cells({**self.values, column: word}, self._where).number(column, low, high) for word in self.words(column))

    def maybe_whole(self, column: str, low: int, high: int) -> int | None:
        """A whole number within [low, high], None when the cell is empty."""
        value = self.maybe_number(column, low, high)
        if value is None:
            return None
        if value != int(value):
            raise self.fail(column, value, "a whole number is expected", do="Write it without decimals.")
        return int(value)

    def whole(self, column: str, low: int, high: int) -> int:
        """A whole number within [low, high]; an empty cell is an error."""
        value = self.maybe_whole(column, low, high)
        if value is None:
            raise self.fail(column, "", "a whole number is required", do="Write it.")
        return value

    def wording(self, column: str) -> Wording:
        """The text of `column_en` and `column_zh`; both must be there."""
        return Wording(self.word(f"{column}_en"), self.word(f"{column}_zh"))

    def maybe_wording(self, column: str) -> Wording | None:
        """The text in both languages, or None when both cells are empty."""
        if not self.maybe_word(f"{column}_en") and not self.maybe_word(f"{column}_zh"):
            return None
        return self.wording(column)

    def wordings(self, column: str) -> Wordings:
        """The ways of saying it in `column_en` and `column_zh`; at least one in each."""
        return Wordings(self.some_words(f"{column}_en"), self.some_words(f"{column}_zh"))

    def origin(self) -> tuple[str, str]:
        """The row's source id and status."""
        return self.word("source"), self.choice("status", STATUSES)

    def check_one_of(self, columns: tuple[str, ...]) -> None:
        """Raises KnowledgeError unless exactly one of the columns is filled."""
        filled = [column for column in columns if self.values.get(column) not in (None, "", [])]
        if len(filled) != 1:
            found = f"{' and '.join(filled)} together" if filled else f"neither {' nor '.join(columns)}"
            do = "Keep one of them." if filled else "Write one of them."
            where = self.where(filled[-1] if filled else columns[0])
            raise KnowledgeError(where, f"found {found}", f"exactly one of: {', '.join(columns)}", do=do)


class PlacedCells(Cells):
    """The values of the mapping or list that stands at a place of a file; those of a list are called "0", "1" and so on."""

    def __init__(self, values: Mapping[str, Any], place: Place, where: Callable[[Place], str]) -> None:
        self.values, self._place, self._at = values, place, where

    def where(self, column: str) -> str:
        """File, line and place of a value."""
        return self._at((*self._place, int(column) if column.isdecimal() else column))


def range_text(low: float | None, high: float | None) -> str:
    """`0 to 5`, `0 or more`, `5 or less`.

    >>> range_text(0, 5), range_text(0, None), range_text(None, 5)
    ('0 to 5', '0 or more', '5 or less')
    """
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"{low:g} or more" if low is not None else f"{high:g} or less"


def _in_language(column: str) -> str:
    """Which language a cell is in whose name ends as those of texts do."""
    language = {"en": "English", "zh": "Chinese"}.get(column.rpartition("_")[2])
    return f", the text in {language}" if language else ""
