"""How a knowledge file is read. Every mapping is closed: an unknown key is an error that names its line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clinworld.core.errors import KnowledgeError, allowed_values, found_text, nearest_match, shorten
from clinworld.core.tables import Place, parse_yaml, place_text, read_text
from clinworld.core.text import Wording
from clinworld.knowledge.cells import Cells, PlacedCells
from clinworld.knowledge.rule_reader import read_predicate
from clinworld.knowledge.rule_rows import Predicate
from clinworld.knowledge.shapes import AGE_MAX, Field, Row, Shape

HERE = Path(__file__).parent
_MOST_SHOWN = 40
_WORDING = Shape(Wording, en=Field(Cells.word), zh=Field(Cells.word))
_LANGUAGES = {"en": ", the text in English", "zh": ", the text in Chinese"}


class YamlFile:
    """One YAML knowledge file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"{path.parent.name}/{path.name}" if path.parent.parent == HERE else str(path)
        self.document = parse_yaml(read_text(path, KnowledgeError), self.name, error=KnowledgeError)

    def where(self, place: Place) -> str:
        """`conditions/masld.yaml, line 12, look_alikes[0]`; the line of the nearest place above one that is not written."""
        return f"{self.name}, line {self.document.line(place)}{f', {place_text(place)}' if place else ''}"

    def read(self, shape: Shape[Row]) -> Row:
        """The row that the whole file is."""
        return shape.read(YamlCells(self, self.document.value, (), shape))


class YamlCells(Cells):
    """The keys of one mapping in a file, closed to those of a shape."""

    def __init__(self, file: YamlFile, value: Any, place: Place, shape: Shape[Any]) -> None:
        self.file, self.place = file, place
        if not isinstance(value, dict):
            raise KnowledgeError(
                file.where(place), found_text(value), "a mapping is expected; " + _allowed(shape), do="Write `key: value` pairs."
            )
        for key in value:
            if key not in shape.keys:
                nearest = nearest_match(key, shape.keys)
                told = f"no key {shorten(key)} here"
                raise KnowledgeError(file.where((*place, key)), told, _allowed(shape), nearest=nearest, do="Rename or remove the key.")
        for key in shape.needed:
            if key not in value:
                told = _LANGUAGES.get(key, "") if shape is _WORDING else ""
                raise KnowledgeError(file.where(place), f"no key {key!r}{told}", _allowed(shape), do="Add the key.")
        self.values: Mapping[str, Any] = value

    def where(self, column: str) -> str:
        """File, line and place of a key."""
        return self.file.where((*self.place, column))

    def file_id(self, column: str) -> str:
        """An id, which is the name of the file."""
        name = self.id(column)
        if name != self.file.path.stem:
            raise self.fail(column, name, f"the id is the file's name, {self.file.path.stem!r}", do="Rename one of them.")
        return name

    def wording(self, column: str) -> Wording:
        """A text as {en, zh}."""
        return self.entry(column, _WORDING)

    def maybe_wording(self, column: str) -> Wording | None:
        """A text as {en, zh}, None where the key is not written."""
        return self.entry(column, _WORDING) if column in self.values else None

    def texts(self, column: str) -> tuple[Wording, ...]:
        """A list of texts."""
        return self.entries(column, _WORDING)

    def entry(self, column: str, shape: Shape[Row]) -> Row:
        """The mapping under a key."""
        return shape.read(YamlCells(self.file, self.values.get(column), (*self.place, column), shape))

    def entries(self, column: str, shape: Shape[Row]) -> tuple[Row, ...]:
        """The mappings of a list; () where there is none."""
        file, place = self.file, (*self.place, column)
        return tuple(
            shape.read(YamlCells(file, value, (*place, number), shape))
            for number, value in enumerate(self._list(column, "a list is expected"))
        )

    def predicate(self, column: str) -> Predicate | None:
        """A condition on facts, None where the key is not written."""
        if column not in self.values:
            return None
        return read_predicate(self.values[column], (*self.place, column), self.file.where)

    def numbers(self, column: str, low: float) -> tuple[float, ...]:
        """A list of numbers, each at least `low`."""
        values = self._list(column, "a list is expected")
        return self._numbers({str(number): value for number, value in enumerate(values)}, column, low)

    def number_of_each(self, column: str, low: float) -> tuple[tuple[str, float], ...]:
        """A mapping of names to numbers, each at least `low`."""
        value = self.values.get(column)
        if not isinstance(value, dict):
            raise self.fail(column, value, "a mapping is expected", do="Write `{name: number}`.")
        self.check_length(column, [*value])
        return tuple(zip(value, self._numbers(value, column, low), strict=True))

    def limits(self, column: str, most: int, what: str) -> tuple[int | None, int | None]:
        """[from, to] as whole numbers from 0 to `most`; (None, None) where the key is not written."""
        if column not in self.values:
            return None, None
        value = self._list(column, f"a list of two {what} is expected")
        if len(value) != 2:
            raise self.fail(column, value, f"a list of two {what} is expected", do="Write [from, to].")
        both = PlacedCells({"0": value[0], "1": value[1]}, (*self.place, column), self.file.where)
        return both.whole("0", 0, most), both.whole("1", 0, most)

    def _list(self, column: str, expected: str) -> list[Any]:
        value = self.values.get(column)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fail(column, value, expected, do="Write [ ... ], or one `- ` line an entry.")
        self.check_length(column, value)
        return value

    def _numbers(self, values: Mapping[str, Any], column: str, low: float) -> tuple[float, ...]:
        cells = PlacedCells(values, (*self.place, column), self.file.where)
        return tuple(cells.number(key, low) for key in values)


FILE_ID = Field(YamlCells.file_id)
TEXTS = Field(YamlCells.texts)


def entries(shape: Shape[Any], *, may_lack: bool = False) -> Field:
    """A list of mappings of one shape."""
    return Field(lambda cells, column: cells.entries(column, shape), may_lack=may_lack)


def entry(shape: Shape[Any]) -> Field:
    """A mapping of one shape."""
    return Field(lambda cells, column: cells.entry(column, shape))


def ends(column: str, most: int, what: str, *, may_lack: bool = False) -> tuple[Field, Field]:
    """The two ends of a range of whole numbers, `age_years: [18, 100]`."""

    def end(number: int) -> Field:
        return Field(lambda cells, key: cells.limits(key, most, what)[number], column, may_lack=may_lack)

    return end(0), end(1)


def age_ends(*, may_lack: bool = False) -> tuple[Field, Field]:
    """The two ends of `age_years`."""
    return ends("age_years", AGE_MAX, "ages", may_lack=may_lack)


def _allowed(shape: Shape[Any]) -> str:
    return allowed_values(shape.keys, most=_MOST_SHOWN)
