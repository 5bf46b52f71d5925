"""Where knowledge rows stand, and every claim in them that carries a source and a status; called by the checks and the listing."""

from collections.abc import Iterator
from typing import NamedTuple

from clinworld.knowledge.csv_tables import TABLES
from clinworld.knowledge.load import FILE_KINDS, KINDS, Knowledge


class Claim(NamedTuple):
    """One thing that names a source: a row, or an entry inside a drug or disease file. `place` names file, row and entry."""

    kind: str
    place: str
    source: str
    status: str


def place_of(knowledge: Knowledge, kind: str, name: str, cell: str = "") -> str:
    """`drugs/metformin.yaml, ladder` or `streams.csv (steps), lag1`, with its whole path for an added row; cell "" names the row."""
    added = knowledge.added.get(kind, {}).get(name)
    file = str(added) if added else f"{kind}/{name}.yaml" if kind in FILE_KINDS else TABLES[kind].file
    row = file if file.endswith(".yaml") else f"{file} ({name})"
    return f"{row}, {cell}" if cell else row


def claims(knowledge: Knowledge) -> Iterator[Claim]:
    """Every row of every kind but the sources themselves, then what stands inside it."""
    for kind in KINDS:
        if kind == "sources":
            continue
        for name, row in knowledge.table(kind).items():
            yield Claim(kind, place_of(knowledge, kind, name), row.source, row.status)
    for name, drug in knowledge.drugs.items():
        for number, effect in enumerate(drug.effects):
            yield Claim("drugs", place_of(knowledge, "drugs", name, f"effects[{number}] ({effect.item})"), effect.source, effect.status)
    for name, condition in knowledge.conditions.items():
        for number, level in enumerate(condition.levels):
            yield Claim(
                "conditions", place_of(knowledge, "conditions", name, f"levels[{number}] ({level.item})"), level.source, level.status
            )
        for number, alike in enumerate(condition.look_alikes):
            place = place_of(knowledge, "conditions", name, f"look_alikes[{number}] ({alike.condition})")
            yield Claim("conditions", place, alike.source, alike.status)
