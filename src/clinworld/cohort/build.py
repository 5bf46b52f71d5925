"""Builds a cohort: plans its shards, makes those that are missing, and writes the tables about all of them."""

import csv
import io
import platform
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clinworld import __version__
from clinworld.cohort.bookkeeping import DONE, MAKING, STATE, journal_row, seal
from clinworld.cohort.codes import describe_codes
from clinworld.cohort.folder import CODES, CODES_CSV, DESCRIPTION, PEOPLE, CohortFolder, open_folder
from clinworld.cohort.patient import TASK, Wanted
from clinworld.cohort.people import join_people
from clinworld.cohort.places import list_case_ids
from clinworld.cohort.shard import Setting, ShardFacts, Task, digest_file, replace_whole, shard_name
from clinworld.cohort.tables import FORMAT, codes_to_table, load_arrow, open_plain
from clinworld.cohort.workers import make_shards
from clinworld.core.digest import digest_value
from clinworld.core.errors import UsageError
from clinworld.core.store import hold_lock, write_atomic, write_json
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge, load_knowledge

MOST_PATIENTS = 10_000_000  # ids of more would often be taken
MOST_IN_SHARD = 1_000_000
MOST_WORKERS = 64
SEED_DIGEST_LENGTH = 32
PRIVATE = "private:"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for. Everything here but `workers` decides what is written; `stamps` say by which program."""

    patients: int
    seed: str
    first: int
    shard_size: int
    language: Language
    wanted: Wanted
    knowledge_dir: Path | None
    stamps: Mapping[str, str]
    workers: int

    def arguments(self) -> dict[str, Any]:
        """What may not differ between a run and one that goes on with it. The seed is not shown."""
        return {
            "patients": self.patients,
            "first": self.first,
            "seed_digest": digest_value(["seed", self.seed], length=SEED_DIGEST_LENGTH),
            "shard_size": self.shard_size,
            "daily": self.wanted.has_daily,
            "notes": self.wanted.has_notes,
            "specimens": self.wanted.has_specimens,
            "language": self.language,
        }

    def made_with(self) -> dict[str, Any]:
        """The rules the rows follow from, and what writes their bytes."""
        pa, _ = load_arrow()
        return {"format": FORMAT, "clinworld": __version__, "pyarrow": pa.__version__, **self.stamps}

    def tasks(self) -> list[Task]:
        """Every shard."""
        ids = list_case_ids(self.seed, self.first, self.patients)
        begins = range(0, self.patients, self.shard_size)
        return [Task(number, self.first + begin, ids[begin : begin + self.shard_size]) for number, begin in enumerate(begins)]


@dataclass(frozen=True, slots=True)
class CohortSummary:
    """What a run made. `patients` counts those of this run, `kept` those that were there already.

    `written` are the small files that this run wrote although no patient was missing.
    """

    folder: Path
    patients: int
    kept: int
    written: tuple[str, ...]
    row: Mapping[str, Any]

    def line(self) -> str:
        """One line saying what was made."""
        counts = self.row["counts"]
        shards = f"{counts['shards']:,} shard" + ("" if counts["shards"] == 1 else "s")
        held = f"{counts['patients']:,} patients, {counts['rows']:,} rows in {shards}:"
        if self.written:
            return f"Wrote {', '.join(self.written)}; no patient was missing of {held}"
        if not self.patients:
            return f"Nothing was missing of {held}"
        return f"Made {self.patients:,} of {held}" if self.kept else f"Made {held}"

    def document(self) -> dict[str, Any]:
        """The summary as JSON: where the cohort stands, what this run made, and cohort.json without shards and making."""
        return {
            "folder": str(self.folder),
            "made": self.patients,
            "kept": self.kept,
            "written": self.written,
            **{k: v for k, v in self.row.items() if k != "shards"},
        }


def check_plan(plan: Plan) -> None:
    """Raises UsageError for the first argument that is out of range."""
    for name, value, low, high in (
        ("--patients", plan.patients, 1, MOST_PATIENTS),
        ("--first", plan.first, 0, MOST_PATIENTS - 1),
        ("--shard-size", plan.shard_size, 1, MOST_IN_SHARD),
        ("--workers", plan.workers, 1, MOST_WORKERS),
    ):
        if not low <= value <= high:
            raise UsageError(name, f"{value:,}", f"allowed: {low:,} to {high:,}")
    if plan.first + plan.patients > MOST_PATIENTS:
        found = f"{plan.first:,} and {plan.patients:,} patients from there on"
        raise UsageError("--first", found, f"places go up to {MOST_PATIENTS:,}", do="Use another seed for more.")
    if not plan.seed.strip() or plan.seed.startswith(PRIVATE):
        raise UsageError("--seed", repr(plan.seed), "a whole number or a word is expected")


def build_cohort(
    out: Path,
    plan: Plan,
    *,
    knowledge: Knowledge | None = None,
    begin: Callable[[int], Callable[[int], None]] = lambda _: lambda __: None,
) -> CohortSummary:
    """Make a cohort in a folder, or what is still missing of it.

    `knowledge` is that of the plan's folder, read here where it is not given. `begin` is told how many patients are to be made and gives
    what is then told how many more are done. Raises UsageError for arguments
    out of range or unlike those the folder was begun with, StampMismatch where another program began it, StoreError for a folder that
    cannot be used or that another process is writing to.
    """
    check_plan(plan)
    known = knowledge or load_knowledge(plan.knowledge_dir)
    arguments, made_with = plan.arguments(), plan.made_with()
    folder = open_folder(out)
    began = time.monotonic()
    with hold_lock(out):
        said = folder.begin(arguments, made_with)
        folder.remove_leftovers()
        lost = folder.lost_tables(said)
        shards = folder.whole_shards(said, has_people=PEOPLE not in lost)
        missing = [task for task in plan.tasks() if task.number not in shards]
        kept = sum(facts.patients for facts in shards.values())
        if said.is_done and not missing and not lost:
            folder.remove_parts(list(shards))
            return CohortSummary(out, 0, kept, (), said.row)
        setting = Setting(out.resolve(), plan.seed, plan.language, plan.wanted, plan.knowledge_dir)
        advance = begin(plan.patients - kept)
        with folder.journal() as journal, closing(make_shards(missing, setting, known, plan.workers, advance)) as made:
            for facts in made:
                shards[facts.number] = facts
                journal.add(journal_row(facts, arguments, made_with))
        ordered = [shards[number] for number in sorted(shards)]
        if PEOPLE in lost:
            join_people(folder.file(PEOPLE), ordered)
        tables = _write_codes(folder, ordered, known)
        row = _describe(arguments, made_with, ordered, {PEOPLE: digest_file(folder.file(PEOPLE)), **tables})
        write_json(folder.file(DESCRIPTION), row | {MAKING: _tell_making(plan, began)})
        folder.remove_parts([facts.number for facts in ordered])
    written = () if missing else tuple(lost) if said.is_done else (*lost, DESCRIPTION)
    return CohortSummary(out, plan.patients - kept, kept, written, row)


def _write_codes(folder: CohortFolder, shards: list[ShardFacts], knowledge: Knowledge) -> dict[str, str]:
    """Write what the codes mean, twice; the digests of both files."""
    rows: dict[str, int] = {}
    for facts in shards:
        for code, count in facts.codes.items():
            rows[code] = rows.get(code, 0) + count
    table = codes_to_table(describe_codes(rows, knowledge), rows)
    with replace_whole(folder.file(CODES)) as temporary, open_plain(temporary, table.schema) as writer:
        writer.write_table(table)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(table.column_names)
    for row in table.to_pylist():
        lines.writerow(["|".join(cell) if isinstance(cell, list) else cell for cell in row.values()])
    write_atomic(folder.file(CODES_CSV), text.getvalue().encode())
    return {name: digest_file(folder.file(name)) for name in (CODES, CODES_CSV)}


def _describe(
    arguments: Mapping[str, Any], made_with: Mapping[str, Any], shards: list[ShardFacts], tables: Mapping[str, str]
) -> dict[str, Any]:
    row = {
        STATE: DONE,
        "arguments": arguments,
        "made_with": made_with,
        "same_patients_as": {"task": TASK, "items": arguments["first"] + arguments["patients"]},
        "counts": {
            "patients": sum(facts.patients for facts in shards),
            "rows": sum(facts.rows for facts in shards),
            "shards": len(shards),
            "drawn_again": sum(facts.drawn_again for facts in shards),
        },
        "tables": tables,
        "shards": [
            {"file": shard_name(f.number), "first": f.first, "patients": f.patients, "rows": f.rows, "sha256": f.sha256} for f in shards
        ],
    }
    return seal(row)


def _tell_making(plan: Plan, began: float) -> dict[str, Any]:
    """What differs between two runs that make the same; `duration_s` is that of the last run."""
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "duration_s": round(time.monotonic() - began, 3),
        "host": socket.gethostname(),
        "workers": plan.workers,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
