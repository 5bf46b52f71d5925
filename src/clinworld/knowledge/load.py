"""The knowledge tables, parsed when first asked for and never changed. What rows mean stands in `rows.py`; what must agree
between files is checked by `check.py`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from clinworld.core.errors import KnowledgeError, UsageError, allowed_values, nearest_match
from clinworld.core.tables import load_csv
from clinworld.knowledge.cells import Cells
from clinworld.knowledge.csv_tables import TABLES, TableShape
from clinworld.knowledge.rows import (
    Analyte,
    ArtifactRow,
    BenignEvent,
    Condition,
    ContextPhrase,
    Device,
    Driver,
    Drug,
    OutcomeRule,
    Parameter,
    Source,
    Stream,
)
from clinworld.knowledge.yaml_rows import read_condition, read_drug

HERE = Path(__file__).parent
FILE_KINDS = ("conditions", "drugs")
KINDS = (*FILE_KINDS, *(kind for kind in TABLES if kind != "condition_labels"))
_UNNAMED = ("sources", "events", "contexts", "parameters")  # rows that have an id but no name to be called by

Row = TypeVar("Row")


class _Files(Mapping[str, Row], Generic[Row]):
    """Rows that stand in one file each, named by file, after which come `rows` that are parsed already.

    A file is parsed when its row is first asked for.
    """

    def __init__(self, paths: Mapping[str, Path], read: Callable[[Path], Row], rows: Mapping[str, Row]) -> None:
        self._paths, self._read = paths, read
        self._rows: dict[str, Row] = dict(rows)
        self._ids = dict.fromkeys((*paths, *rows))

    def __getitem__(self, name: str) -> Row:
        if name not in self._rows:
            self._rows[name] = self._read(self._paths[name])
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, name: object) -> bool:
        return name in self._ids


@dataclass(frozen=True)
class Knowledge:
    """Every knowledge row, by kind and id. Tables are parsed when first read, and reading raises KnowledgeError for a wrong row.

    `folders` are searched in order; the first is the package's own.
    """

    folders: tuple[Path, ...] = field(default=(HERE,))

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """Citations."""
        return self._table("sources")

    @cached_property
    def analytes(self) -> Mapping[str, Analyte]:
        """Laboratory quantities."""
        return self._table("analytes")

    @cached_property
    def streams(self) -> Mapping[str, Stream]:
        """Daily wearable, home and diary quantities."""
        return self._table("streams")

    @cached_property
    def events(self) -> Mapping[str, BenignEvent]:
        """Everyday complaints and life events."""
        return self._table("events")

    @cached_property
    def artifacts(self) -> Mapping[str, ArtifactRow]:
        """Classes of measurement fault."""
        return self._table("artifacts")

    @cached_property
    def devices(self) -> Mapping[str, Device]:
        """What patients measure with."""
        return self._table("devices")

    @cached_property
    def drivers(self) -> Mapping[str, Driver]:
        """Causes of regain."""
        return self._table("drivers")

    @cached_property
    def contexts(self) -> Mapping[str, ContextPhrase]:
        """The closed vocabulary of phrases beside a symptom."""
        return self._table("contexts")

    @cached_property
    def outcomes(self) -> Mapping[str, OutcomeRule]:
        """Target events."""
        return self._table("outcomes")

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """Numbers of the world that belong to no other row."""
        return self._table("parameters")

    @cached_property
    def conditions(self) -> Mapping[str, Condition]:
        """Diseases: a file for each that does something, parsed when first asked for, and a row for each that is a name only."""
        paths, labels = self._paths("conditions"), self._table("condition_labels")
        for name in labels:
            if name in paths:
                added = self.added.get("conditions", {}).get(name, paths[name])
                raise _already(str(added), name, "condition_labels.csv" if added == paths[name] else str(paths[name]))
        return _Files(paths, read_condition, labels)

    @cached_property
    def drugs(self) -> Mapping[str, Drug]:
        """Drug products, each parsed when first asked for."""
        return _Files(self._paths("drugs"), read_drug, {})

    def parameter(self, name: str) -> float:
        """The value of a parameter row, in the row's unit."""
        if name not in self.parameters:
            nearest = nearest_match(name, self.parameters)
            raise KnowledgeError("parameters", f"no parameter {name!r}", nearest=nearest, do="Add a row to parameters/*.csv.")
        return self.parameters[name].value

    def table(self, kind: str) -> Mapping[str, Any]:
        """The rows of one kind by id."""
        if kind not in KINDS:
            raise UsageError(kind, "no such kind of knowledge", allowed_values(KINDS, most=20), nearest=nearest_match(kind, KINDS))
        return cast("Mapping[str, Any]", getattr(self, kind))

    def resolve(self, kind: str, name: str) -> str | None:
        """The id that an id, an alias or a name in either language stands for, any case; None when it stands for nothing."""
        if name in self.table(kind):
            return name
        return self._names[kind].get(name.strip().casefold())

    def names(self, kind: str) -> list[str]:
        """Everything `resolve` accepts for a kind, ids first."""
        rows = self.table(kind)
        return list(dict.fromkeys([*rows, *(name for key in rows for name in spoken_names(kind, rows[key]))]))

    def product(self, name: str, condition: str) -> str | None:
        """The drug product a name means for a patient with a condition: same ingredient, indicated for it.

        A name that is itself an indicated product stays, and so does one of which no product is indicated. None: the name is no drug.
        """
        drug = self.resolve("drugs", name)
        if drug is None or condition in dict(self.drugs[drug].indications):
            return drug
        ingredient = self.drugs[drug].rxcui
        alike = [other for other in self.drugs if ingredient and self.drugs[other].rxcui == ingredient]
        return next((other for other in alike if condition in dict(self.drugs[other].indications)), drug)

    def status_of(self, place: str) -> str:
        """The review status of a row given as `kind:id`, `analytes:hba1c` for example."""
        kind, _, name = place.partition(":")
        rows = self.table(kind)
        if name not in rows:
            raise KnowledgeError(place, f"no row {name!r} among {kind}", nearest=nearest_match(name, rows))
        return str(rows[name].status)

    @cached_property
    def _names(self) -> "_NameIndex":
        return _NameIndex(self)

    def _table(self, kind: str) -> Mapping[str, Any]:
        shape = TABLES[kind]
        rows: dict[str, Any] = {}
        for folder in self.folders:
            for file in _table_files(folder, shape):
                if file.is_file() or folder == HERE:
                    _read_rows(file, kind, rows, file.name if folder == HERE else str(file))
        return MappingProxyType(rows)

    @cached_property
    def added(self) -> Mapping[str, Mapping[str, Path]]:
        """Where the rows stand that are not the package's own: kind → id → file. A disease that is a name only counts as a condition."""
        found: dict[str, dict[str, Path]] = {}
        for folder in self.folders[1:]:
            for kind in FILE_KINDS:
                for path in sorted((folder / kind).glob("*.yaml")):
                    found.setdefault(kind, {})[path.stem] = path
            for kind, shape in TABLES.items():
                for file in _table_files(folder, shape):
                    for values in _load_table(file, shape, str(file)) if file.is_file() else ():
                        found.setdefault("conditions" if kind == "condition_labels" else kind, {})[values["id"]] = file
        return found

    def _paths(self, kind: str) -> dict[str, Path]:
        paths: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted((folder / kind).glob("*.yaml")):
                if path.stem in paths:
                    raise _already(str(path), path.stem, str(paths[path.stem]))
                paths[path.stem] = path
        return paths


class _NameIndex(dict[str, dict[str, str]]):
    """For each kind, folded name → id; made for a kind when first asked for."""

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__()
        self._knowledge = knowledge

    def __missing__(self, kind: str) -> dict[str, str]:
        rows = self._knowledge.table(kind)
        folded = {name.casefold(): key for key in rows for name in spoken_names(kind, rows[key])}
        self[kind] = {**folded, **{key.casefold(): key for key in rows}}
        return self[kind]


def load_knowledge(extra: Path | None = None) -> Knowledge:
    """The package's knowledge, with the rows of the folder `extra` added.

    Without `extra` nothing is parsed yet. `extra` holds files of the same names and columns as the package's; all rows are then read and
    checked against each other. Raises KnowledgeError for an id, name or code that another row has, and for whatever else disagrees.
    """
    if extra is None:
        return Knowledge()
    if not extra.is_dir():
        raise KnowledgeError(str(extra), "no such folder", "a folder of knowledge files is expected", do="Check --knowledge.")
    known = (*(shape.file for shape in TABLES.values()), *FILE_KINDS)
    for path in sorted(extra.iterdir()):
        if path.name not in known and not path.name.startswith("."):
            raise KnowledgeError(str(path), "not a knowledge file", allowed_values(known, most=20), nearest=nearest_match(path.name, known))
    knowledge = Knowledge((HERE, extra.resolve()))
    if not any(knowledge.added.values()):
        raise KnowledgeError(
            str(extra), "a folder that adds nothing", allowed_values(known, most=20), do="Put a row in it, or leave it out."
        )
    from clinworld.knowledge.check import check_knowledge  # noqa: PLC0415 - the checks read Knowledge; only added rows need them

    for finding in check_knowledge(knowledge):
        raise KnowledgeError(finding.place, f"found {finding.found}", f"expected: {finding.allowed}", kind=finding.check)
    return knowledge


def _table_files(folder: Path, shape: TableShape) -> list[Path]:
    path = folder / shape.file
    return [path] if path.suffix else sorted(path.glob("*.csv"))


def _read_rows(path: Path, kind: str, rows: dict[str, Any], place: str) -> None:
    """Add the rows of a file to `rows`; messages call the file `place`."""
    shape = TABLES[kind]
    for values in _load_table(path, shape, place):
        where = f"{place}, line {values['_row']}"
        row = shape.read(Cells(values, where))
        if row.id in rows:
            raise _already(where, row.id, f"another row of {kind}")
        rows[row.id] = row


def _load_table(path: Path, shape: TableShape, place: str) -> list[dict[str, str]]:
    """The cells of a table; an error names the file as `place`, not by its name alone."""
    try:
        return load_csv(path, shape.columns)
    except KnowledgeError as problem:
        if place == path.name or not problem.where.startswith(path.name):
            raise
        where = place + problem.where.removeprefix(path.name)
        raise KnowledgeError(where, problem.found, problem.allowed, nearest=problem.nearest, do=problem.do) from None


def _already(where: str, name: str, by: str) -> KnowledgeError:
    return KnowledgeError(where, f"the id {name!r} again, which {by} has already", do="Added rows take ids of their own; rename this one.")


def spoken_names(kind: str, row: Any) -> tuple[str, ...]:
    """What a row is called besides its id: names in both languages and aliases; the phrase itself for a context; () for unnamed kinds."""
    if kind == "contexts":
        return (row.text.en, row.text.zh)
    if kind in _UNNAMED:
        return ()
    return (row.names.en, row.names.zh, *getattr(row, "aliases", ()))
