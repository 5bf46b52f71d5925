"""Messages about a place in a job file: file, line, path, what was found, what is allowed, the nearest match."""

from typing import Any

from clinworld.core.errors import JobError
from clinworld.core.tables import Document, Place, place_text

_SHOWN_CHARACTERS = 60


def describe(value: Any) -> str:
    """A value as a reader of the file would name it.

    >>> describe(["a"]), describe("No"), describe(None), describe(True)
    ('a list', "'No'", 'nothing', 'true')
    """
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping"
        case str():
            shown = _cut(value)
            return ascii(shown) if any(not c.isprintable() for c in shown) else repr(shown)
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _shown(part: str | int) -> str | int:
    """A part of a place, cut and with invisible characters escaped."""
    return part if isinstance(part, int) else _cut(part if part.isprintable() else ascii(part))


def number_text(value: float) -> str:
    """A number without a trailing `.0`.

    >>> number_text(98.0), number_text(0.35)
    ('98', '0.35')
    """
    return str(int(value)) if value == int(value) else str(value)


class JobText:
    """A job document with the lines of its places."""

    def __init__(self, document: Document, path: str) -> None:
        self.value, self._document, self.path = document.value, document, path

    @classmethod
    def of_nothing(cls, name: str) -> "JobText":
        """A document in which nothing is written."""
        return cls(Document({}), name)

    def where(self, place: Place) -> str:
        """`file, line 12, cases[0].raw.sex`."""
        lines = self._document.lines
        line = next(lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines)
        return f"{self.path}, line {line}" + (f", {place_text(tuple(map(_shown, place)))}" if place else "")

    def error(self, place: Place, found: str, allowed: str = "", *, nearest: str | None = None, do: str = "", kind: str = "") -> JobError:
        """The error for a place, to be raised."""
        return JobError(self.where(place), found, allowed, nearest=nearest, do=do, kind=kind)
