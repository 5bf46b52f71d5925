"""Strict tables and YAML: what is not plainly one thing is an error, and every error names file and line.

YAML outside its plain part (`plain_yaml.py`) is read from the event stream, so size, nodes and aliases are checked before anything is
built. Only null, true, false, plain whole numbers and decimals are resolved; `1:40`, `No`, dates and the like stay text for the schema
to refuse.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from clinworld.core.errors import ClinworldError, JobError, KnowledgeError, allowed_values, nearest_match, shorten
from clinworld.core.plain_yaml import NotFinite, NotPlain, read_plain, read_scalar

MAX_BYTES = 5_000_000
MAX_NODES = 1_000_000
MAX_DEPTH = 40
_MOST_SHOWN = 60

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A YAML document, and the line (from 1) of each place in it, `("cases", 0, "raw", "sex")` for example.

    Lines are found when first asked for: only messages need them.
    """

    value: Any
    text: str = ""

    @cached_property
    def lines(self) -> dict[Place, int]:
        """Line of each place; the document itself is the place ()."""
        return _find_lines(self.text) if self.text else {(): 1}

    def line(self, place: Place) -> int:
        """The line of a place; of the nearest place above one that is not written."""
        lines = self.lines
        return next((lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), 1)


def place_text(place: Place) -> str:
    """`cases[0].raw.sex` for ("cases", 0, "raw", "sex")."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else (f".{_cut(part)}" if text else _cut(part))
    return text


def read_text(path: Path, error: type[ClinworldError]) -> str:
    """The UTF-8 text of a file of at most 5 MB, or an error that says what the path is instead."""
    name = str(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise error(name, "a folder", "a file is expected", do="Name a file inside it.")
        if size > MAX_BYTES:
            raise error(name, f"{size:,} bytes", f"at most {MAX_BYTES:,} bytes are read", do="Split the file.")
        with path.open("rb") as opened:  # a device or a pipe has no size to go by
            raw = opened.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise error(name, f"more than {MAX_BYTES:,} bytes", f"at most {MAX_BYTES:,} bytes are read", do="Name a regular file.")
    except FileNotFoundError:
        raise error(name, "no such file", "a file that exists", nearest=_nearest_file(path), do="Check the path.") from None
    except OSError as problem:
        told = f"cannot be read ({problem.strerror})"
        raise error(name, told, "a file that can be read", do="Check the path and its permissions.") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(name, f"byte {problem.start} is not UTF-8", "text in UTF-8 is expected", do="Save the file as UTF-8.") from None
    if "\x00" in text:
        raise error(name, "a NUL byte", "text is expected", do="This looks like a binary file.")
    if not text.strip():
        raise error(name, "an empty file", "a document is expected", do=error.examples)
    return text


def _nearest_file(path: Path) -> str | None:
    """The file beside a missing one whose name without its ending is close; a shared ending alone makes none."""
    stems = {beside.stem: beside.name for beside in sorted(path.parent.glob("*"))} if path.parent.is_dir() else {}
    nearest = nearest_match(path.stem, stems)
    folded = {stem.casefold(): file for stem, file in stems.items()}
    return None if nearest is None else folded[nearest.casefold()]


def load_yaml(path: Path, *, error: type[ClinworldError] = JobError) -> Document:
    """The one document of a strict YAML file. Raises `error` with file and line for anything unclear."""
    return parse_yaml(read_text(path, error), str(path), error=error)


def parse_yaml(text: str, name: str, *, error: type[ClinworldError] = JobError) -> Document:
    """The one document of strict YAML text; `name` is what messages call it."""
    try:
        return Document(read_plain(text), text)
    except NotPlain:
        return _Reader(text, name, error).read()


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…, {len(text)} characters"


class _Reader:
    def __init__(self, text: str, name: str, error: type[ClinworldError]) -> None:
        self.text, self.name, self.error = text, name, error
        self.nodes = 0

    def fail(self, line: int, found: str, allowed: str = "", do: str = "") -> ClinworldError:
        return self.error(f"{self.name}, line {line}", found, allowed, do=do)

    def read(self) -> Document:
        try:
            return Document(self._document(), self.text)
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            what = getattr(problem, "problem", None) or str(problem).splitlines()[0]
            raise self.fail(
                line, f"not YAML ({what})", "YAML is expected", "Check indentation, brackets and quotes on this line."
            ) from None

    def _document(self) -> Any:
        self._next: Callable[[], Any] = yaml.CSafeLoader(self.text).get_event
        self._next()  # stream start
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise self.error(self.name, "no document", "one document is expected", do=self.error.examples)
        value = self._node(self._next(), 0)
        self._next()  # document end
        after: Any = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.fail(after.start_mark.line + 1, "a second document", "one document is expected", "Remove everything after `---`.")
        return value

    def _node(self, event: Any, depth: int) -> Any:
        kind = event.__class__
        if kind is yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            self._check_plain(event)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.fail(_line(event), f"more than {MAX_NODES:,} values", f"at most {MAX_NODES:,} are read", "Split the file.")
        if kind is yaml.ScalarEvent:
            return self._scalar(event) if event.implicit[0] else event.value
        if depth > MAX_DEPTH:
            raise self.fail(_line(event), f"values nested deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels", "Flatten the file.")
        depth += 1
        if kind is yaml.SequenceStartEvent:
            items: list[Any] = []
            while (event := self._next()).__class__ is not yaml.SequenceEndEvent:
                items.append(self._node(event, depth))
            return items
        mapping: dict[str, Any] = {}
        while (event := self._next()).__class__ is not yaml.MappingEndEvent:
            if event.__class__ is not yaml.ScalarEvent:
                self._check_plain(event)
                raise self.fail(_line(event), "a key that is a list or mapping", "keys are words", "Write one word before the colon.")
            if event.anchor is not None or event.tag is not None:
                self._check_plain(event)
            key = event.value
            if key in mapping:
                raise self.fail(_line(event), f"the key {_cut(key)!r} twice", "each key stands once", "Remove one of them.")
            mapping[key] = self._node(self._next(), depth)
        return mapping

    def _check_plain(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self.fail(_line(event), "an anchor or alias", "anchors and aliases are not allowed", "Write the value out.")
        if event.tag not in (None, "!"):
            raise self.fail(_line(event), f"a tag {_cut(event.tag)!r}", "tags are not allowed", "Remove the tag.")

    def _scalar(self, event: Any) -> Any:
        try:
            return read_scalar(event.value)
        except NotFinite:
            raise self.fail(_line(event), _cut(event.value), "numbers are finite", "Write a finite number or leave the key out.") from None


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _find_lines(text: str) -> dict[Place, int]:
    """The line of each place of a text that has been read without error; a key's place has the line of the key."""
    lines: dict[Place, int] = {}
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)

    def walk(event: Any, place: Place) -> None:
        lines.setdefault(place, _line(event))
        if isinstance(event, yaml.SequenceStartEvent):
            number = 0
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                walk(event, (*place, number))
                number += 1
        elif isinstance(event, yaml.MappingStartEvent):
            while not isinstance(event := next(events), yaml.MappingEndEvent):
                lines[(*place, event.value)] = _line(event)
                walk(next(events), (*place, event.value))

    next(events), next(events)  # starts of stream and document
    walk(next(events), ())
    return lines


def load_csv(path: Path, columns: Iterable[str], *, error: type[ClinworldError] = KnowledgeError) -> list[dict[str, str]]:
    """Rows of a CSV file whose header holds exactly `columns`, in any order; cells are stripped text.

    Lines that start with `#` before the header are skipped. A `_row` key holds the line number as text.
    """
    text = read_text(path, error)
    skipped = 0
    while text.startswith("#"):
        text = text.partition("\n")[2]
        skipped += 1
    reader = csv.reader(io.StringIO(text), strict=True)
    expected = tuple(columns)
    rows: list[dict[str, str]] = []
    try:
        header = [cell.strip() for cell in next(reader, [])]
        _check_header(header, expected, f"{path.name}, line {skipped + 1}, header", error)
        line = reader.line_num + skipped + 1
        for cells in reader:
            if len(cells) != len(header):
                found = f"{len(cells)} cells" if cells else "an empty line"
                do = "Quote cells with commas." if cells else "Remove the line."
                raise error(f"{path.name}, line {line}", found, f"{len(header)} cells, as in the header", do=do)
            row = dict(zip(header, map(str.strip, cells), strict=True))
            row["_row"] = str(line)
            rows.append(row)
            line = reader.line_num + skipped + 1
    except csv.Error as problem:
        where = f"{path.name}, line {reader.line_num + skipped}"
        allowed = f"cells between commas, each of at most {csv.field_size_limit():,} characters"
        raise error(where, f"not CSV ({problem})", allowed, do="Check the quotes, and shorten long cells.") from None
    return rows


def _check_header(header: list[str], expected: tuple[str, ...], where: str, error: type[ClinworldError]) -> None:
    allowed = allowed_values(expected, most=60)
    for column in header:
        if column not in expected:
            raise error(where, f"column {shorten(column)}", allowed, nearest=nearest_match(column, expected), do="Rename or remove it.")
        if header.count(column) > 1:
            raise error(where, f"column {column!r} twice", allowed, do="Remove one of them.")
    for column in expected:
        if column not in header:
            raise error(where, f"no column {column!r}", allowed, do="Add the column.")
