"""The keys a job file may hold, one row of `schema/job_keys.csv` each, and the reference names that select a pack.

Decides nothing about values; `job_values.py` does. Called when a job is read and by `inputs`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from clinworld.core.tables import load_csv, load_yaml

_SCHEMA = Path(__file__).resolve().parents[1] / "schema"
_COLUMNS = ("section", "key", "type", "required", "default", "low", "high", "allowed", "class", "effect", "kind", "meaning")


@dataclass(frozen=True, slots=True)
class JobKey:
    """One key: its type, default as text ("" for none), bounds, and the words it may hold or the knowledge table it names.

    `field_class` patient_fact | gold | knob | job. `effect` yes | no (nothing here reads it) | other (only packs of another task do).
    `kind` is the name of the error for a bad value.
    """

    section: str
    key: str
    type: str
    is_required: bool
    default: str
    low: float | None
    high: float | None
    allowed: tuple[str, ...]
    field_class: str
    effect: str
    kind: str
    meaning: str


@lru_cache(maxsize=1)
def load_job_keys() -> Mapping[str, Mapping[str, JobKey]]:
    """Section → key → row, in the order of the table."""
    sections: dict[str, dict[str, JobKey]] = {}
    for row in load_csv(_SCHEMA / "job_keys.csv", _COLUMNS):
        key = JobKey(
            section=row["section"],
            key=row["key"],
            type=row["type"],
            is_required=row["required"] == "yes",
            default=row["default"],
            low=float(row["low"]) if row["low"] else None,
            high=float(row["high"]) if row["high"] else None,
            allowed=tuple(row["allowed"].split("|")) if row["allowed"] else (),
            field_class=row["class"],
            effect=row["effect"],
            kind=row["kind"],
            meaning=row["meaning"],
        )
        sections.setdefault(key.section, {})[key.key] = key
    return sections


@dataclass(frozen=True, slots=True)
class TaskName:
    """A task or plugin name of the reference contract and the pack it means here."""

    name: str
    kind: str  # task | plugin
    pack: str
    pack_when_gated: str


@lru_cache(maxsize=1)
def load_task_names() -> Mapping[str, TaskName]:
    """Reference name → the pack it means."""
    rows = load_csv(_SCHEMA / "task_names.csv", ("name", "kind", "pack", "pack_when_gated"))
    return {row["name"]: TaskName(row["name"], row["kind"], row["pack"], row["pack_when_gated"]) for row in rows}


def packaged_tasks() -> tuple[str, ...]:
    """Names of the packs of questions in the package: the folders with a `pack.yaml` that names no other kind."""
    return tuple(name for name, kind in _packaged_kinds().items() if kind is None)


def other_kind(name: str) -> str | None:
    """The kind of a packaged pack that asks no questions; None for any other name."""
    return _packaged_kinds().get(name)


def _packaged_kinds() -> dict[str, str | None]:
    found = {path.parent.name: load_yaml(path).value.get("kind") for path in (_SCHEMA.parent / "packs").glob("*/pack.yaml")}
    return dict(sorted(found.items()))


def read_default(key: JobKey) -> Any:
    """The value in force when the key is not written; None where it is drawn, derived or absent."""
    match key.type:
        case "words" | "names" | "some_names" | "choices":
            return tuple(key.default.split("|")) if key.default else ()
        case "numbers":
            return tuple(float(part) for part in key.default.split("|"))
        case _ if not key.default:
            return None
        case "flag":
            return key.default == "true"
        case "whole":
            return int(key.default)
        case "number":
            return float(key.default)
        case _:
            return key.default
