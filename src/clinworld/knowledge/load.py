"""The knowledge tables and files, parsed when first asked for and never changed. What rows mean stands in `rows.py`; what must agree
between files is checked by `check.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from clinworld.core.errors import KnowledgeError, UsageError, allowed_values, nearest_match
from clinworld.core.tables import load_csv
from clinworld.knowledge.cells import Cells
from clinworld.knowledge.condition_file import read_condition
from clinworld.knowledge.csv_tables import TABLES, TableShape
from clinworld.knowledge.drug_file import read_drug
from clinworld.knowledge.lazy_files import LazyFiles
from clinworld.knowledge.names import NameIndex, spoken_names
from clinworld.knowledge.outside import check_folder, visible_files
from clinworld.knowledge.rows import (
    Analyte,
    ArtifactRow,
    BenignEvent,
    Comorbidity,
    Condition,
    ConditionStates,
    ContextPhrase,
    Coupling,
    Device,
    Driver,
    Drug,
    EventEffect,
    FindingKind,
    LabFactor,
    LabFactorEffect,
    LabPlatform,
    OldEvent,
    OrderableTest,
    OutcomeRule,
    PanelCorrelation,
    Parameter,
    PriceTier,
    Source,
    Specialty,
    Stream,
    Symptom,
    SymptomComplaints,
    SymptomShadow,
)
from clinworld.knowledge.rule_reader import read_protocol
from clinworld.knowledge.rule_rows import Protocol, RuleFact

HERE = Path(__file__).parent
FILE_KINDS = ("conditions", "drugs", "protocols")
KINDS = (*FILE_KINDS, *(kind for kind in TABLES if kind != "condition_labels"))
MOST_ADDED = 10_000  # twice the rows of the package
_TABLE_FILES = tuple(shape.file for shape in TABLES.values())


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Every knowledge row, by kind and id. Tables are parsed when first read, and reading raises KnowledgeError for a wrong row.

    `folders` are searched in order; the first is the package's own. What is kept about one is not about another with the same folders,
    whose files may have changed since.
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
    def past_events(self) -> Mapping[str, OldEvent]:
        """Documented events before the first visit, and what they mean for later decisions."""
        return self._table("past_events")

    @cached_property
    def event_effects(self) -> Mapping[str, EventEffect]:
        """What told events do to what is measured."""
        return self._table("event_effects")

    @cached_property
    def couplings(self) -> Mapping[str, Coupling]:
        """How one measured quantity moves another."""
        return self._table("couplings")

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
    def symptoms(self) -> Mapping[str, Symptom]:
        """What patients complain of or tell of their past, in their words."""
        return self._table("symptoms")

    @cached_property
    def symptom_shadows(self) -> Mapping[str, SymptomShadow]:
        """What some symptoms could be mistaken for."""
        return self._table("symptom_shadows")

    @cached_property
    def symptom_complaints(self) -> Mapping[str, SymptomComplaints]:
        """Of which complaints of triage protocols some symptoms are a form."""
        return self._table("symptom_complaints")

    @cached_property
    def condition_states(self) -> Mapping[str, ConditionStates]:
        """What is a fact of a patient because a condition is documented."""
        return self._table("condition_states")

    @cached_property
    def findings(self) -> Mapping[str, FindingKind]:
        """What is found and is neither analyte nor stream."""
        return self._table("findings")

    @cached_property
    def tests(self) -> Mapping[str, OrderableTest]:
        """Tests that can be ordered."""
        return self._table("tests")

    @cached_property
    def tiers(self) -> Mapping[str, PriceTier]:
        """What groups of tests cost."""
        return self._table("tiers")

    @cached_property
    def specialties(self) -> Mapping[str, Specialty]:
        """Where patients are referred to."""
        return self._table("specialties")

    @cached_property
    def comorbidities(self) -> Mapping[str, Comorbidity]:
        """Conditions that come together."""
        return self._table("comorbidities")

    @cached_property
    def factors(self) -> Mapping[str, LabFactor]:
        """Why a result may differ from the last one."""
        return self._table("factors")

    @cached_property
    def factor_effects(self) -> Mapping[str, LabFactorEffect]:
        """How factors move items."""
        return self._table("factor_effects")

    @cached_property
    def correlations(self) -> Mapping[str, PanelCorrelation]:
        """How far results go together, between people and from day to day."""
        return self._table("correlations")

    @cached_property
    def platforms(self) -> Mapping[str, LabPlatform]:
        """What results are measured on."""
        return self._table("platforms")

    @cached_property
    def conditions(self) -> LazyFiles[Condition]:
        """Diseases: a file for each, parsed when first asked for, and a row for each that is a name only."""
        paths, labels = self._paths("conditions"), self._table("condition_labels")
        for name in labels:
            if name in paths:
                added = self.added.get("conditions", {}).get(name, paths[name])
                raise _already(f"{added}, line 1", name, "condition_labels.csv" if added == paths[name] else str(paths[name]))
        return LazyFiles(paths, read_condition, labels)

    @cached_property
    def drugs(self) -> LazyFiles[Drug]:
        """Drug products, each parsed when first asked for."""
        return LazyFiles(self._paths("drugs"), read_drug, {})

    @cached_property
    def protocols(self) -> LazyFiles[Protocol]:
        """Rules read from the top, each protocol parsed when first asked for."""
        return LazyFiles(self._paths("protocols"), read_protocol, {})

    @cached_property
    def rule_facts(self) -> Mapping[str, RuleFact]:
        """What rules may look at besides analytes, streams and findings."""
        return self._table("rule_facts")

    @cached_property
    def followed(self) -> frozenset[str]:
        """The analytes and streams that some condition follows; only the files that name signals are parsed."""
        return frozenset(item for name in self.conditions.containing("signals") for item in self.conditions[name].signals)

    @cached_property
    def items(self) -> Mapping[str, Analyte | Stream | FindingKind]:
        """Whatever can be measured or found, by id."""
        return MappingProxyType({**self.findings, **self.streams, **self.analytes})

    def parameter(self, name: str) -> float:
        """The value of a parameter row, in the row's unit."""
        try:
            return self._values[name]
        except KeyError:
            nearest = nearest_match(name, self.parameters)
            allowed = "the id of a row in parameters/*.csv"
            do = "Add a row to parameters/*.csv."
            raise KnowledgeError("parameters", f"no parameter {name!r}", allowed, nearest=nearest, do=do) from None

    @cached_property
    def _values(self) -> Mapping[str, float]:
        # Worlds ask for some two hundred parameters a patient.
        return {name: row.value for name, row in self.parameters.items()}

    def table(self, kind: str) -> Mapping[str, Any]:
        """The rows of one kind by id."""
        if kind not in KINDS:
            raise UsageError(kind, "no such kind of knowledge", allowed_values(KINDS, most=40), nearest=nearest_match(kind, KINDS))
        return cast("Mapping[str, Any]", getattr(self, kind))

    def resolve(self, kind: str, name: str) -> str | None:
        """The id that an id, an alias or a name in either language stands for, any case; None when it stands for nothing."""
        if name in self.table(kind):
            return name
        if kind not in self._names:
            self._names[kind] = NameIndex(kind, self.table(kind))
        return self._names[kind].find(name)

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
        alike = [other for other in self.drugs.containing(ingredient) if self.drugs[other].rxcui == ingredient] if ingredient else []
        return next((other for other in alike if condition in dict(self.drugs[other].indications)), drug)

    def status_of(self, place: str) -> str:
        """The review status of a row given as `kind:id`, `analytes:hba1c` for example."""
        kind, _, name = place.partition(":")
        rows = self.table(kind)
        if name not in rows:
            allowed, do = f"an id of {kind}", f"`clinworld inputs {kind}` lists them."
            raise KnowledgeError(place, f"no row {name!r} among {kind}", allowed, nearest=nearest_match(name, rows), do=do)
        return str(rows[name].status)

    @cached_property
    def _names(self) -> dict[str, NameIndex]:
        return {}

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
                for path in visible_files(folder / kind, ".yaml"):
                    found.setdefault(kind, {})[path.stem] = path
            for kind, shape in TABLES.items():
                for file in _table_files(folder, shape):
                    for values in _load_table(file, shape, str(file)) if file.is_file() else ():
                        found.setdefault("conditions" if kind == "condition_labels" else kind, {})[values["id"]] = file
        return found

    def _paths(self, kind: str) -> dict[str, Path]:
        paths: dict[str, Path] = {}
        for folder in self.folders:
            for path in visible_files(folder / kind, ".yaml"):
                if path.stem in paths:
                    raise _already(f"{path}, line 1", path.stem, str(paths[path.stem].relative_to(HERE)))
                paths[path.stem] = path
        return paths


def load_knowledge(extra: Path | None = None) -> Knowledge:
    """The package's knowledge, with the rows of the folder `extra` added.

    Without `extra` nothing is parsed yet, and it is the same object each time. `extra` holds files of the same names and columns as the
    package's; all rows are then read and checked against each other. Raises KnowledgeError for an id, name or code that another row has,
    and for whatever else disagrees.
    """
    if extra is None:
        return _packaged()
    check_folder(extra, _TABLE_FILES, FILE_KINDS)
    knowledge = Knowledge((HERE, extra.resolve()))
    added = sum(len(rows) for rows in knowledge.added.values())
    if not added:
        do = "Put a row in it, or leave it out."
        raise KnowledgeError(str(extra), "a folder that adds nothing", allowed_values((*_TABLE_FILES, *FILE_KINDS), most=40), do=do)
    if added > MOST_ADDED:
        raise KnowledgeError(str(extra), f"{added:,} rows", f"at most {MOST_ADDED:,} added rows are read", do="Add those that you use.")
    from clinworld.knowledge.check import check_knowledge  # noqa: PLC0415 - the checks read Knowledge; only added rows need them
    from clinworld.knowledge.faults import make_error  # noqa: PLC0415 - as above

    for finding in check_knowledge(knowledge):
        raise make_error(finding, knowledge)
    return knowledge


@cache
def _packaged() -> Knowledge:
    return Knowledge()


def _table_files(folder: Path, shape: TableShape) -> list[Path]:
    path = folder / shape.file
    return [path] if path.suffix else visible_files(path, ".csv")


def _read_rows(path: Path, kind: str, rows: dict[str, Any], place: str) -> None:
    """Add the rows of a file to `rows`; messages call the file `place`."""
    shape = TABLES[kind]
    lines: dict[str, str] = {}
    for values in _load_table(path, shape, place):
        where = f"{place}, line {values['_row']}"
        row = shape.shape.read(Cells(values, where))
        if row.id in rows:
            raise _already(where, row.id, lines.get(row.id) or f"the row {row.id} of {kind}")
        rows[row.id], lines[row.id] = row, where


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
    allowed = f"an id of its own: {by} has it already"
    return KnowledgeError(where, f"the id {name!r} again", allowed, do="Added rows take ids of their own; rename this one.")
