"""The batch folder: where each file stands, how it is read, and how it comes to be. `batch_check` says whether it is as built.

A build writes into a hidden folder and renames it at the end, so a killed build leaves nothing that looks like a batch.
"""

import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from clinworld.core.canary import CANARY
from clinworld.core.digest import digest_bytes
from clinworld.core.errors import StampMismatch, StoreError, UsageError, allowed_values, nearest_match
from clinworld.core.store import encode_row, hold_lock, read_json, read_rows, write_json
from clinworld.schema.cell import Evaluation, Response, evaluation_from_row, response_from_row
from clinworld.schema.finding import Finding, GateResult
from clinworld.schema.gold import GoldRow, gold_from_row, gold_to_row
from clinworld.schema.item import Item, item_from_row, item_to_row

BATCH, ITEMS, GOLD, AUDIT = "batch.json", "items.jsonl", "gold.jsonl", "audit.jsonl"
VERIFY, RESPONSES, EVAL = "verify.jsonl", "responses.jsonl", "eval.jsonl"
REFUSED_ITEMS = "items.refused.jsonl"
GOLD_MISSING = "gold missing"

Outcome = Literal["passed", "refused", "empty"]

_STAMP = re.compile(r"^(\d{8}-\d{6})(?:-(\d+))?$")
_DRAFT = re.compile(r"^\.building-.*-(\d+)$")
_DIGEST_KEYS = ("digest", "prompt_digests")
_SEALED = ("job_id", "pack", "language", "seed_digest", "counts", "refusals", "without_effect")  # same bytes on any machine
_MAKING = ("world", "exam")  # the stamps of what makes a batch; how it is judged may change under it
_SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY


@dataclass(frozen=True, slots=True)
class Refusal:
    """A case that is not in the batch: a stable kind and one readable line."""

    case_id: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """batch.json. Only `created_at`, `duration_s` and `host` differ between two builds of the same job.

    `stamps` is a row of `provenance.stamps`; `pack_folder` and `knowledge_folders` are set for outside folders only;
    `seed_digest` never shows the seed. `files` are sha256 of the files as built, filled in by the draft.
    """

    job_id: str
    job_digest: str
    pack: str
    language: str
    seed_digest: str
    stamps: dict[str, str]
    pack_folder: str = ""
    knowledge_folders: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    refusals: tuple[Refusal, ...] = ()
    without_effect: tuple[str, ...] = ()
    usage: dict[str, int] | None = None
    more: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome = "passed"
    files: dict[str, str] = field(default_factory=dict)
    created_at: str = ""
    duration_s: float = 0.0
    host: str = ""


class ItemEntry(NamedTuple):
    """A line of items.jsonl: the item, the digest of its row and the digest of its prompt in each episode, as built."""

    item: Item
    digest: str
    prompt_digests: dict[str, str]


class BatchSeal(NamedTuple):
    """The last row of audit.jsonl: outcome, batch gates, (item row, gold row) digests by item id, and what batch.json has to say again.

    `facts` are values of batch.json that depend on the job alone.
    """

    outcome: Outcome
    job_digest: str
    gates: tuple[GateResult, ...]
    files: dict[str, str]
    rows: dict[str, tuple[str, str]]
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """An existing batch folder. Reading is lazy; nothing is checked until asked."""

    folder: Path

    @property
    def job_id(self) -> str:
        """The job it was built from."""
        return self.folder.parent.name

    @property
    def stamp(self) -> str:
        """When it was built, as its folder says."""
        return self.folder.name

    def path(self, name: str) -> Path:
        """Where a file of the batch stands."""
        return self.folder / name

    @property
    def description(self) -> dict[str, Any]:
        """batch.json as it stands; a missing or broken file is a StoreError."""
        row: dict[str, Any] = read_json(self.path(BATCH))
        return row

    def facts(self) -> BatchFacts:
        """batch.json, read; keys it does not know are left out."""
        row = self.description
        known = {f.name for f in fields(BatchFacts)}
        kept = {name: value for name, value in row.items() if name in known}
        kept["refusals"] = tuple(Refusal(**refusal) for refusal in kept.get("refusals", ()))
        for name in ("without_effect", "knowledge_folders"):
            kept[name] = tuple(kept.get(name, ()))
        return BatchFacts(**kept)

    def sealed_facts(self) -> BatchFacts:
        """batch.json, or where it is missing what the seal keeps of it. Raises StoreError when neither can be read."""
        try:
            return self.facts()
        except StoreError:
            seal = self.seal()
            if seal is None or not seal.facts:
                raise
        refusals = tuple(Refusal(**refusal) for refusal in seal.facts["refusals"])
        return BatchFacts(**{**seal.facts, "refusals": refusals, "job_digest": seal.job_digest, "outcome": seal.outcome})

    def entries(self) -> tuple[ItemEntry, ...]:
        """Every line of items.jsonl, in order."""
        return tuple(ItemEntry(item_from_row(row), row["digest"], row["prompt_digests"]) for row in read_rows(self.path(ITEMS)))

    def items(self) -> tuple[Item, ...]:
        """The items, in order."""
        return tuple(entry.item for entry in self.entries())

    def gold_rows(self) -> dict[str, GoldRow]:
        """Gold by item id. A missing or unreadable file is a StoreError of kind `gold_missing`."""
        try:
            rows = list(read_rows(self.path(GOLD)))
        except StoreError as problem:
            if problem.where != str(self.path(GOLD)):
                raise
            do = "Restore the file, or build the batch again."
            raise StoreError(problem.where, f"{GOLD_MISSING} ({problem.found})", do=do, kind="gold_missing") from None
        return {row["item_id"]: gold_from_row(row) for row in rows}

    def audit_rows(self) -> list[dict[str, Any]]:
        """One row for each case of the job; the seal at the end is left out."""
        return [row for row in read_rows(self.path(AUDIT)) if row.get("row") != "batch"]

    def seal(self) -> BatchSeal | None:
        """The last row of audit.jsonl, or None when it is not there."""
        path = self.path(AUDIT)
        if not path.is_file():
            return None
        last = path.read_bytes().rstrip(b"\n").rsplit(b"\n", 1)[-1]
        try:
            row = orjson.loads(last)
            return _seal_from_row(row) if row["row"] == "batch" else None
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None

    def responses(self) -> list[Response]:
        """Every row of responses.jsonl in order, failures and repeats of failed turns included; none when there is no file."""
        path = self.path(RESPONSES)
        return [response_from_row(row) for row in read_rows(path)] if path.exists() else []

    def evaluations(self, name: str = EVAL) -> list[Evaluation]:
        """What the judges said, one row per cell, exam stamp and judge stamp (the last one written); none when there is no file."""
        path = self.path(name)
        if not path.exists():
            return []
        found = (evaluation_from_row(row) for row in read_rows(path))
        last = {(row.cell, row.stamps["exam"], row.stamps["judge"]): row for row in found}
        return list(last.values())

    def former_evaluations(self) -> tuple[str, ...]:
        """Names of kept eval files, `eval-STAMP.jsonl`, in name order."""
        return tuple(sorted(path.name for path in self.folder.glob("eval-*.jsonl")))


def with_canary(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an answer-bearing file."""
    return {"canary": CANARY, **row}


def digest_row(row: Mapping[str, Any]) -> str:
    """Digest of a JSON row without its digest and canary keys; NumPy arrays count as lists."""
    kept = {name: value for name, value in row.items() if name not in _DIGEST_KEYS and name != "canary"}
    return digest_bytes(orjson.dumps(kept, option=_SORTED))


class Draft:
    """A batch being written. `add` each item with its gold, `add_audit` each case, then `finish`."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self._target = folder, target
        self._files = {name: open(folder / name, "wb") for name in (ITEMS, GOLD, AUDIT)}  # noqa: SIM115 - closed by finish or close
        self._sums = {name: sha256() for name in (ITEMS, GOLD, AUDIT)}
        self._rows: dict[str, tuple[str, str]] = {}

    def add(self, item: Item, gold: GoldRow, prompt_digests: Mapping[str, str]) -> str:
        """Write an item and its gold; the digest of the item's row."""
        item_row, gold_row = item_to_row(item), gold_to_row(gold)
        digests = digest_row(item_row), digest_row(gold_row)
        self._rows[item.item_id] = digests
        self._write(ITEMS, {**item_row, "digest": digests[0], "prompt_digests": dict(prompt_digests)})
        self._write(GOLD, with_canary(gold_row))
        return digests[0]

    def add_audit(self, row: Mapping[str, Any]) -> None:
        """Write what happened to one case, emitted or not."""
        self._write(AUDIT, with_canary(row))

    def finish(self, facts: BatchFacts, gates: Sequence[GateResult] = (), *, drift: GateResult | None = None) -> Batch:
        """Seal the batch and put it where it is found. A failed batch gate, or no item, makes it a refused batch.

        `drift` says how the batch differs from an earlier one. It depends on what else is on disk, so it goes to batch.json, and to the
        audit only where it refuses the batch.
        """
        gates = (*gates, drift) if drift and drift.state == "failed" else gates
        outcome: Outcome = "refused" if any(gate.state == "failed" for gate in gates) else "passed" if self._rows else "empty"
        row = asdict(facts)
        seal = {
            "row": "batch",
            "outcome": outcome,
            "job_digest": facts.job_digest,
            "gates": [asdict(gate) for gate in gates],
            "files": {name: self._sums[name].hexdigest() for name in (ITEMS, GOLD)},
            "rows": self._rows,
            "facts": {name: row[name] for name in _SEALED} | {"stamps": {name: facts.stamps[name] for name in _MAKING}},
        }
        self._write(AUDIT, with_canary(seal))
        try:
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
                file.close()
        except OSError as problem:
            raise self._unwritable(problem) from None
        if outcome != "passed":
            os.rename(self.folder / ITEMS, self.folder / REFUSED_ITEMS)
        row |= {"outcome": outcome, "files": {name: total.hexdigest() for name, total in self._sums.items()}}
        row["more"] = facts.more | ({"drift": asdict(drift)} if drift else {})
        write_json(self.folder / BATCH, row)
        return Batch(_rename_free(self.folder, self._target))

    def row_digests(self) -> dict[str, tuple[str, str]]:
        """(item row, gold row) digests by item id, of what has been added."""
        return dict(self._rows)

    def close(self) -> None:
        """Close the files and remove what was written, unless it was finished."""
        for file in self._files.values():
            with suppress(OSError):  # a full disk fails again here, and was told already
                file.close()
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _write(self, name: str, row: Mapping[str, Any]) -> None:
        line = encode_row(row)
        self._sums[name].update(line)
        try:
            self._files[name].write(line)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _unwritable(self, problem: OSError) -> StoreError:
        return StoreError(str(self._target), f"cannot be written ({problem.strerror})", do="Free some space and build again.")


@contextmanager
def new_batch_folder(out: Path, job_id: str) -> Iterator[Draft]:
    """A draft beside the job's other batches, under `out/job_id/`. An error inside leaves nothing behind.

    What a killed build left is removed first; a draft another process is writing is left alone.
    """
    parent = out / job_id
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder = parent / f".building-{stamp}-{os.getpid()}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _remove_dead_drafts(parent)
        folder.mkdir()
    except OSError as problem:
        raise StoreError(str(parent), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None
    with hold_lock(folder):
        draft = Draft(folder, parent / stamp)
        try:
            yield draft
        finally:
            draft.close()


def _remove_dead_drafts(parent: Path) -> None:
    for folder in parent.glob(".building-*"):
        found = _DRAFT.match(folder.name)
        if not found or Path(f"/proc/{found[1]}").exists():
            continue
        try:
            with hold_lock(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except StoreError:
            continue


def _rename_free(folder: Path, target: Path) -> Path:
    """Renames to `target`, or to `target-2`, `-3`, … when that is taken; renaming onto a batch fails in one step, so none is lost."""
    number = 1
    while True:
        place = target if number == 1 else target.with_name(f"{target.name}-{number}")
        try:
            if not place.exists():
                os.rename(folder, place)
                return place
        except FileExistsError:
            pass
        except OSError as problem:
            if not place.exists():
                raise StoreError(str(place), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None
        number += 1


def list_batches(out: Path, job_id: str) -> tuple[Batch, ...]:
    """The batches of a job, oldest first."""
    parent = out / job_id
    found = [(match[1], int(match[2] or 1), path) for path in parent.glob("*") if (match := _STAMP.match(path.name)) and path.is_dir()]
    return tuple(Batch(path) for _, _, path in sorted(found))


def newest_batch(out: Path, job_id: str, job_digests: Collection[str], *, kin: Collection[str] = ()) -> Batch | None:
    """The newest batch built from this very job, or None when the job has no batch at all or only such of its `kin`.

    Raises StampMismatch when there is a batch of another job under its name and none of its own.
    """
    batches = list_batches(out, job_id)
    digests = [_job_digest(batch) for batch in batches]
    for batch, digest in zip(reversed(batches), reversed(digests), strict=True):
        if digest in job_digests:
            return batch
    if set(digests) <= set(kin):
        return None
    raise StampMismatch(
        str(out / job_id),
        f"the job file has digest {' or '.join(job_digests)}, "
        f"its newest batch {batches[-1].stamp} was built from {digests[-1] or 'an unknown job'}",
        "a batch stands for the job it was built from",
        do="Build again with `clinworld build JOB`, or name the batch with --batch.",
        kind="job_changed",
    )


def find_batch(out: Path, job_id: str, stamp: str) -> Batch:
    """The batch of a job with that stamp; an unknown one is a UsageError naming the nearest."""
    batches = list_batches(out, job_id)
    for batch in batches:
        if batch.stamp == stamp:
            return batch
    names = [batch.stamp for batch in batches]
    allowed = allowed_values(names) if names else "it has none; build one first"
    raise UsageError(f"--batch {stamp}", f"no such batch under {out / job_id}", allowed, nearest=nearest_match(stamp, names))


def open_batch(folder: Path) -> Batch:
    """The batch in a folder; a folder that holds none is a UsageError."""
    if any((folder / name).exists() for name in (BATCH, AUDIT, ITEMS, REFUSED_ITEMS)):
        return Batch(folder.resolve())
    raise UsageError(str(folder), "no batch", "a batch folder holds batch.json and items.jsonl", do="Name a job file or a batch folder.")


def _job_digest(batch: Batch) -> str:
    seal = batch.seal()
    if seal:
        return seal.job_digest
    try:
        return batch.facts().job_digest
    except (StoreError, TypeError):
        return ""


def _seal_from_row(row: dict[str, Any]) -> BatchSeal:
    gates = tuple(
        GateResult(gate["gate"], gate["state"], tuple(Finding(**finding) for finding in gate["findings"]), gate["reason"], gate["checked"])
        for gate in row["gates"]
    )
    rows = {item_id: (pair[0], pair[1]) for item_id, pair in row["rows"].items()}
    return BatchSeal(row["outcome"], row["job_digest"], gates, row["files"], rows, row.get("facts", {}))
