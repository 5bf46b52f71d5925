"""One shard: the patients of some places in a row, built a few at a time and written to a file that appears whole or not at all."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clinworld.cohort.patient import Built, Wanted, build_patients, drawn_job
from clinworld.cohort.places import Ids, name_case
from clinworld.cohort.rows import Columns, RowBlock
from clinworld.cohort.tables import Person, open_plain, open_rows, people_schema, people_to_table, rows_to_table
from clinworld.core.errors import StoreError
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Job

GROUP_ROWS = 400_000  # rows gathered before they are written as one row group
GROUP_PATIENTS = 2_000
SIDE_BY_SIDE = 32  # patients built together: fewer take longer each, more take memory
STEP_PATIENTS = 20  # progress is told this often
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Setting:
    """What all shards of a cohort share."""

    folder: Path
    seed: str = field(repr=False)
    language: Language
    wanted: Wanted
    knowledge_dir: Path | None


class Task(NamedTuple):
    """A shard to make: its number, its first place, and the case ids of its places as numbers."""

    number: int
    first: int
    ids: Ids


class ShardFacts(NamedTuple):
    """A finished shard. `codes` is how many rows each code has; `drawn_again` how many patients took more than one draw."""

    number: int
    first: int
    patients: int
    rows: int
    bytes: int
    sha256: str
    people_sha256: str
    drawn_again: int
    codes: dict[str, int]


def shard_name(number: int) -> str:
    """The file of a shard.

    >>> shard_name(3)
    'patients-00003.parquet'
    """
    return f"patients-{number:05d}.parquet"


def people_part_name(number: int) -> str:
    """The file that holds a shard's people until the cohort is whole."""
    return f".people-{number:05d}.parquet"


def patient_id(place: int) -> str:
    """The id of the patient at a place: digits of one width, so that text sorts as numbers do.

    >>> patient_id(12)
    '00000012'
    """
    return f"{place:08d}"


def write_shard(task: Task, setting: Setting, knowledge: Knowledge, advance: Callable[[int], None]) -> ShardFacts:
    """Build and write one shard and its people; `advance` is told how many patients more are done.

    Memory does not grow with the shard. Raises StoreError where the folder cannot be written.
    """
    job, rng = drawn_job(setting.seed, setting.language), Rng(setting.seed)
    target, part = setting.folder / shard_name(task.number), setting.folder / people_part_name(task.number)
    block = RowBlock(knowledge, setting.language if setting.wanted.has_notes else None)
    people: list[Person] = []
    codes: dict[str, int] = {}
    rows = drawn_again = done = told = 0
    with _calm_collector(), replace_whole(target) as temporary, open_rows(temporary) as writer:
        for place, built in _build_all(task, job, setting.wanted, knowledge, rng):
            people.append(_describe(place, built, block.add(built.record)))
            drawn_again += built.draws > 1
            done += 1
            is_last = done == len(task.ids)
            if is_last or block.rows >= GROUP_ROWS or block.patients >= GROUP_PATIENTS:
                names = [person.patient for person in people[-block.patients :]]
                columns = block.take()
                rows += len(columns.day)
                _count_codes(columns, codes)
                writer.write_table(rows_to_table(columns, names))
            if is_last or done - told >= STEP_PATIENTS:
                advance(done - told)
                told = done
    with replace_whole(part) as temporary, open_plain(temporary, people_schema()) as writer:
        writer.write_table(people_to_table(people))
    return ShardFacts(
        number=task.number,
        first=task.first,
        patients=done,
        rows=rows,
        bytes=target.stat().st_size,
        sha256=digest_file(target),
        people_sha256=digest_file(part),
        drawn_again=drawn_again,
        codes=dict(sorted(codes.items())),
    )


def _build_all(task: Task, job: Job, wanted: Wanted, knowledge: Knowledge, rng: Rng) -> Iterator[tuple[int, Built]]:
    """Each place of a shard with its patient, some of them built side by side."""
    for begin in range(0, len(task.ids), SIDE_BY_SIDE):
        names = [name_case(number) for number in task.ids[begin : begin + SIDE_BY_SIDE].tolist()]
        yield from enumerate(build_patients(task.first + begin, names, job, wanted, knowledge, rng), task.first + begin)


def _describe(place: int, built: Built, rows: int) -> Person:
    profile = built.record.profile
    return Person(
        patient=patient_id(place),
        case=built.case_id,
        sex=profile.sex,
        age_low=profile.age_low,
        age_high=profile.age_high,
        bmi=profile.bmi,
        conditions=profile.known_conditions,
        devices=profile.devices,
        drug=built.premise.drug,
        last_day=built.record.last_day,
        rows=rows,
    )


def _count_codes(columns: Columns, codes: dict[str, int]) -> None:
    counts = np.bincount(columns.code, minlength=len(columns.code_names)).tolist()
    for name, count in zip(columns.code_names, counts, strict=True):
        codes[name] = codes.get(name, 0) + count


@contextmanager
def replace_whole(target: Path) -> Iterator[Path]:
    """A temporary file that becomes `target` when all of it is on disk, and is removed when anything fails before."""
    temporary = target.with_name(f".{target.name.lstrip('.')}.{os.getpid()}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)  # Arrow words the same otherwise
        raise StoreError(str(target), f"cannot be written ({reason})", do="Free some space and run the same command again.") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _calm_collector() -> Iterator[None]:
    """Without the garbage collector until the end: looking for cycles, which patients do not hold, costs a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
            gc.collect()


def digest_file(path: Path) -> str:
    """sha256 of a file, read in pieces."""
    total = sha256()
    with open(path, "rb") as file:
        while piece := file.read(READ_BYTES):
            total.update(piece)
    return total.hexdigest()
