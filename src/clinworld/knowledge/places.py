"""Where knowledge rows stand, and every claim in them that carries a source and a status; called by the checks and the listing."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from clinworld.knowledge.csv_tables import TABLES
from clinworld.knowledge.load import FILE_KINDS, KINDS, Knowledge
from clinworld.knowledge.rows import Contraindication, RedFlag

_ENTRIES = {
    "drugs": ("effects", "monitoring", "adverse_effects", "contraindications", "interactions"),
    "conditions": ("levels", "prevalence", "findings", "look_alikes"),
    "protocols": ("rules",),
}
_CALLED_BY = ("item", "symptom", "condition", "state", "drug", "drug_class", "id")  # what an entry is about; the first that is filled


class Claim(NamedTuple):
    """One thing that names a source: a row, or an entry inside a file. `place` names file, row and entry."""

    kind: str
    place: str
    source: str
    status: str


class Entry(NamedTuple):
    """One entry of a list inside a file: the list's name, its number there, what it is about ("" where that is not one id), and the row."""

    cell: str
    number: int
    about: str
    row: Any

    @property
    def place(self) -> str:
        """`effects[0] (hba1c)`."""
        return f"{self.cell}[{self.number}]" + (f" ({self.about})" if self.about else "")


def place_of(knowledge: Knowledge, kind: str, name: str, cell: str = "") -> str:
    """`drugs/metformin.yaml, ladder` or `streams.csv (steps), lag1`, with its whole path for an added row; cell "" names the row."""
    added = knowledge.added.get(kind, {}).get(name)
    if added:
        file = str(added)
    elif kind == "conditions" and knowledge.conditions[name].is_name_only:
        file = TABLES["condition_labels"].file
    else:
        file = f"{kind}/{name}.yaml" if kind in FILE_KINDS else TABLES[kind].file
    row = file if file.endswith(".yaml") else f"{file} ({name})"
    return f"{row}, {cell}" if cell else row


def wrong_place(knowledge: Knowledge, first: tuple[str, str, str], second: tuple[str, str, str]) -> str:
    """Where to look when two rows disagree, each given as kind, id and cell: the added one where only one is, else the first."""
    is_second = second[1] in knowledge.added.get(second[0], {}) and first[1] not in knowledge.added.get(first[0], {})
    return place_of(knowledge, *(second if is_second else first))


def row_text(knowledge: Knowledge, kind: str, name: str) -> str:
    """`row hba1c of analytes.csv`, or the file where the row is a whole one."""
    place = place_of(knowledge, kind, name)
    file = place.removesuffix(f" ({name})")
    return place if file == place else f"row {name} of {file}"


def entries_of(kind: str, row: Any) -> Iterator[Entry]:
    """The entries inside a file that carry a source of their own."""
    for cell in _ENTRIES.get(kind, ()):
        for number, entry in enumerate(getattr(row, cell)):
            about = next((name for field in _CALLED_BY if (name := getattr(entry, field, ""))), "")
            yield Entry(cell, number, about, entry)


def rows_in_question(knowledge: Knowledge, kind: str) -> Iterator[tuple[str, Any]]:
    """The rows that a check of one row alone has to look at: the added ones, and all where nothing is added.

    The package's own rows are checked by its tests, and what is added changes nothing in them.
    """
    rows = knowledge.table(kind)
    names = knowledge.added.get(kind, {}) if knowledge.added else rows
    return ((name, rows[name]) for name in names)


def claims(knowledge: Knowledge, *, in_question: bool = False) -> Iterator[Claim]:
    """Every row of every kind but the sources themselves, each followed by what stands inside it; or those rows that are in question."""
    for kind in KINDS:
        if kind == "sources":
            continue
        for name, row in rows_in_question(knowledge, kind) if in_question else knowledge.table(kind).items():
            yield Claim(kind, place_of(knowledge, kind, name), row.source, row.status)
            for entry in entries_of(kind, row):
                yield Claim(kind, place_of(knowledge, kind, name, entry.place), entry.row.source, entry.row.status)


def limits_of(row: RedFlag | Contraindication) -> tuple[float, ...]:
    """The limits that a red flag or contraindication sets, usually one or none."""
    return tuple(limit for limit in (row.at_least, row.above, row.at_most, row.below) if limit is not None)
