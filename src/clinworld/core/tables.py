"""Strict tables and YAML: what is not plainly one thing is an error, and every error names file and line.

YAML is read from the event stream, so size, nodes and aliases are checked before anything is built. Only null, true, false, plain
whole numbers and decimals are resolved; `1:40`, `No`, dates and the like stay text for the schema to refuse.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from clinworld.core.errors import ClinworldError, JobError, KnowledgeError, allowed_values, nearest_match

MAX_BYTES = 5_000_000
MAX_NODES = 1_000_000
MAX_DEPTH = 40
_MOST_SHOWN = 60

_WHOLE = re.compile(r"^[-+]?[0-9]{1,18}$")
_DECIMAL = re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$")
_NOT_FINITE = re.compile(r"^[-+]?\.(?:inf|nan)$", re.IGNORECASE)

Place = tuple[str | int, ...]


class Document(NamedTuple):
    """A YAML document and the line (from 1) of each place in it, `("cases", 0, "raw", "sex")` for example."""

    value: Any
    lines: dict[Place, int]


def place_text(place: Place) -> str:
    """`cases[0].raw.sex` for ("cases", 0, "raw", "sex")."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
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
        raise error(name, "no such file", nearest=_nearest_file(path), do="Check the path.") from None
    except OSError as problem:
        raise error(name, f"cannot be read ({problem.strerror})", do="Check the path and its permissions.") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(name, f"byte {problem.start} is not UTF-8", "text in UTF-8 is expected", do="Save the file as UTF-8.") from None
    if "\x00" in text:
        raise error(name, "a NUL byte", "text is expected", do="This looks like a binary file.")
    if not text.strip():
        raise error(name, "an empty file", "a document is expected", do="See `clinworld inputs jobs` for examples.")
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
    return _Reader(name, error).read(text)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…, {len(text)} characters"


class _Reader:
    def __init__(self, name: str, error: type[ClinworldError]) -> None:
        self.name, self.error = name, error
        self.lines: dict[Place, int] = {}
        self.nodes = 0

    def fail(self, line: int, found: str, allowed: str = "", do: str = "") -> ClinworldError:
        return self.error(f"{self.name}, line {line}", found, allowed, do=do)

    def read(self, text: str) -> Document:
        try:
            events = self._events(text)
            next(events)  # stream start
            first = next(events)
            if isinstance(first, yaml.StreamEndEvent):
                raise self.error(self.name, "no document", "one document is expected")
            value = self._node(next(events), events, ())
            next(events)  # document end
            after = next(events)
            if not isinstance(after, yaml.StreamEndEvent):
                raise self.fail(
                    after.start_mark.line + 1, "a second document", "one document is expected", "Remove everything after `---`."
                )
        except yaml.YAMLError as problem:
            mark = getattr(problem, "problem_mark", None)
            line = mark.line + 1 if mark else 1
            what = getattr(problem, "problem", None) or str(problem).splitlines()[0]
            raise self.fail(line, f"not YAML ({what})", do="Check indentation, brackets and quotes on this line.") from None
        return Document(value, self.lines)

    def _events(self, text: str) -> Iterator[Any]:
        event: Any
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise self.fail(line, "an anchor or alias", "anchors and aliases are not allowed", "Write the value out.")
            if getattr(event, "tag", None) not in (None, "!"):
                raise self.fail(line, f"a tag {event.tag!r}", "tags are not allowed", "Remove the tag.")
            self.nodes += 1
            if self.nodes > MAX_NODES:
                raise self.fail(line, f"more than {MAX_NODES:,} values", f"at most {MAX_NODES:,} are read", "Split the file.")
            yield event

    def _node(self, event: Any, events: Iterator[Any], place: Place) -> Any:
        self.lines[place] = line = event.start_mark.line + 1
        if len(place) > MAX_DEPTH:
            raise self.fail(line, f"values nested deeper than {MAX_DEPTH}", do="Flatten the file.")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._node(event, events, (*place, len(items))))
            return items
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key_line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise self.fail(key_line, "a key that is a list or mapping", "keys are words")
            key = event.value
            if key in mapping:
                raise self.fail(key_line, f"the key {_cut(key)!r} twice", "each key stands once", "Remove one of them.")
            mapping[key] = self._node(next(events), events, (*place, key))
            self.lines[(*place, key)] = key_line
        return mapping

    def _scalar(self, event: Any, line: int) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return text
        if text in ("", "null", "~"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _WHOLE.match(text):
            return int(text)
        if _NOT_FINITE.match(text):
            raise self.fail(line, text, "numbers are finite", "Write a number or leave the key out.")
        if _DECIMAL.match(text):
            number = float(text)
            if not math.isfinite(number):
                raise self.fail(line, _cut(text), "numbers are finite", "Write a smaller number.")
            return number
        return text


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
    try:
        header = [cell.strip() for cell in next(reader)]
        for column in header:
            if column not in expected or header.count(column) > 1:
                nearest = nearest_match(column, expected)
                raise error(f"{path.name}, header", f"column {column!r}", allowed_values(expected, most=60), nearest=nearest)
        for column in expected:
            if column not in header:
                raise error(f"{path.name}, header", f"no column {column!r}", allowed_values(expected, most=60), do="Add the column.")
        rows: list[dict[str, str]] = []
        for cells in reader:
            line = reader.line_num + skipped
            if len(cells) != len(header):
                raise error(
                    f"{path.name}, line {line}", f"{len(cells)} cells", f"the header has {len(header)}", do="Quote cells with commas."
                )
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            row["_row"] = str(line)
            rows.append(row)
    except csv.Error as problem:
        raise error(f"{path.name}, line {reader.line_num + skipped}", f"not CSV ({problem})", do="Check the quotes.") from None
    return rows
