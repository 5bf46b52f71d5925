"""How a row is read, one line a field: its kind, its limits, and the column or key where that is not called as the field is.

The same kinds read cells of a CSV table and keys of a YAML mapping. Which tables and files there are stands in `csv_tables.py`,
`condition_file.py` and `drug_file.py`; what the fields mean in the row classes.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, get_args

from clinworld.knowledge.cells import Cells
from clinworld.knowledge.source_rows import STATUSES

Row = TypeVar("Row")

AGE_MAX = 120
SEXES = ("F", "M")


class Field(NamedTuple):
    """How one field is read. `column`: where it stands, "" for its own name; `parts`: endings of the columns it takes in a CSV table.

    A key that `may_lack` can be left out of a YAML mapping; a CSV table has every column.
    """

    read: Callable[[Any, str], Any]
    column: str = ""
    parts: tuple[str, ...] = ("",)
    may_lack: bool = False

    def at(self, column: str) -> "Field":
        """The same kind of field in another column."""
        return self._replace(column=column)


ID = Field(Cells.id)
DOTTED_ID = Field(lambda cells, column: cells.id(column, dots=True))
WORD = Field(Cells.word)
TEXT = Field(Cells.maybe_word, may_lack=True)
WORDS = Field(Cells.words, may_lack=True)
SOME_WORDS = Field(Cells.some_words)
FLAG = Field(Cells.flag)
WORDING = Field(lambda cells, column: cells.wording(column), parts=("_en", "_zh"))
MAYBE_WORDING = Field(lambda cells, column: cells.maybe_wording(column), parts=("_en", "_zh"), may_lack=True)
WORDINGS = Field(Cells.wordings, parts=("_en", "_zh"))


def number(low: float | None = None, high: float | None = None) -> Field:
    """A number within [low, high] that must be there."""
    return Field(lambda cells, column: cells.number(column, low, high))


def maybe_number(low: float | None = None, high: float | None = None) -> Field:
    """A number within [low, high], None when empty."""
    return Field(lambda cells, column: cells.maybe_number(column, low, high), may_lack=True)


def numbers(low: float | None = None, high: float | None = None) -> Field:
    """Numbers within [low, high] between `|`, each once; () when empty."""
    return Field(lambda cells, column: cells.number_words(column, low, high), may_lack=True)


def whole(low: int, high: int) -> Field:
    """A whole number within [low, high] that must be there."""
    return Field(lambda cells, column: cells.whole(column, low, high))


def maybe_whole(low: int, high: int) -> Field:
    """A whole number within [low, high], None when empty."""
    return Field(lambda cells, column: cells.maybe_whole(column, low, high), may_lack=True)


def choice(options: Iterable[str]) -> Field:
    """One of a closed list."""
    known = tuple(options)
    return Field(lambda cells, column: cells.choice(column, known))


def maybe_choice(options: Iterable[str]) -> Field:
    """One of a closed list, "" when empty."""
    known = tuple(option for option in options if option)
    return Field(lambda cells, column: cells.choice(column, known, empty=True), may_lack=True)


def options_of(row: type[Any], field: str) -> tuple[str, ...]:
    """The values of a field that is a Literal."""
    return get_args(row.__annotations__[field])


MAYBE_SEX = maybe_choice(SEXES)
MAYBE_AGE = maybe_whole(0, AGE_MAX)
STATUS = choice(STATUSES)


class Shape(Generic[Row]):
    """How one kind of row is read from cells: `make` is called with every field.

    `one_of`: exactly one of these keys is there; `also`: keys that may stand there and are not read.
    """

    def __init__(self, make: Callable[..., Row], /, *, one_of: tuple[str, ...] = (), also: tuple[str, ...] = (), **fields: Field) -> None:
        self.make, self.one_of = make, one_of
        named = [(name, field.column or name, field) for name, field in fields.items()]
        self._plan = tuple((name, column, field.read) for name, column, field in named)
        self.columns = tuple(column + part for _, column, field in named for part in field.parts)
        self.keys = dict.fromkeys([*(column for _, column, _ in named), *also])
        self.needed = tuple(dict.fromkeys(column for _, column, field in named if not field.may_lack))

    def read(self, cells: Cells) -> Row:
        """The row in some cells; KnowledgeError names the wrong cell."""
        if self.one_of:
            cells.check_one_of(self.one_of)
        return self.make(**{name: read(cells, column) for name, column, read in self._plan})


def sourced(make: Callable[..., Row], /, *, one_of: tuple[str, ...] = (), also: tuple[str, ...] = (), **fields: Field) -> Shape[Row]:
    """A shape that ends with source and status."""
    return Shape(make, one_of=one_of, also=also, **fields, source=WORD, status=STATUS)


def named(make: Callable[..., Row], /, **fields: Field) -> Shape[Row]:
    """A sourced shape that begins with id and names."""
    return sourced(make, one_of=(), also=(), id=ID, names=WORDING.at("name"), **fields)
