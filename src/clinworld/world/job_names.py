"""Names of a job file as knowledge ids, and the error with the nearest name when there is none.

A drug name means the product indicated for the case's disease; a comorbidity or vital without a row is kept as a label.
"""

from typing import NamedTuple

from clinworld.core.errors import nearest_match
from clinworld.core.tables import Place
from clinworld.knowledge.load import Knowledge
from clinworld.world.job_text import JobText, describe

_SINGULAR = {
    "conditions": "condition",
    "drugs": "drug",
    "devices": "device",
    "drivers": "driver",
    "artifacts": "kind of fault",
    "outcomes": "target event",
}
_LISTED = ("conditions", "drugs")  # too many to print; `inputs` lists them


class Named(NamedTuple):
    """An id, and whether knowledge has a row for it."""

    id: str
    is_known: bool


def find_name(text: JobText, place: Place, kind: str, name: str, knowledge: Knowledge, *, error_kind: str) -> str:
    """The id of a name, or a JobError with the nearest name."""
    found = knowledge.resolve(kind, name)
    if found is not None:
        return found
    rows = knowledge.table(kind)
    if kind in _LISTED:
        allowed, do = f"`clinworld inputs {kind}` lists all {len(rows)}", ""
    else:
        allowed, do = "allowed: " + ", ".join(rows), ""
    nearest = nearest_match(name, reversed(knowledge.names(kind)))  # of names that differ in case only the last wins, and ids come first
    raise text.error(place, f"no {_SINGULAR[kind]} {describe(name)}", allowed, nearest=nearest, do=do, kind=error_kind)


def find_disease(text: JobText, place: Place, name: str, knowledge: Knowledge) -> str:
    """The condition a case may be about; a condition kept only as a comorbidity is refused."""
    condition = find_name(text, place, "conditions", name, knowledge, error_kind="unknown_disease")
    if not knowledge.conditions[condition].is_primary:
        primary = [row for row in knowledge.conditions if knowledge.conditions[row].is_primary]
        raise text.error(
            place,
            f"{describe(name)} is known as a comorbidity only",
            "allowed: " + ", ".join(primary),
            do="Name it under `comorbidities`.",
            kind="unknown_disease",
        )
    return condition


def find_drug(text: JobText, place: Place, name: str, condition: str, knowledge: Knowledge) -> str:
    """The product of that name which is indicated for the condition, or the named one when none is."""
    find_name(text, place, "drugs", name, knowledge, error_kind="unknown_drug")
    return str(knowledge.product(name, condition))


def find_comorbidity(name: str, knowledge: Knowledge) -> Named:
    """The condition of that name, or the name kept as a label."""
    found = knowledge.resolve("conditions", name)
    return Named(found, knowledge.conditions[found].has_physiology) if found else Named(name, False)


def find_vital(name: str, knowledge: Knowledge) -> Named:
    """The stream or analyte of that name, or the name kept as a label."""
    for kind in ("streams", "analytes"):
        found = knowledge.resolve(kind, name)
        if found is not None:
            return Named(found, True)
    return Named(name, False)
