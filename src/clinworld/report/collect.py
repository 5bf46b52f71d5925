"""From batches on disk to what a report says. Reads saved rows; asks no agent, judges no answer, changes no file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from clinworld.core.errors import StampMismatch, StoreError
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.provenance.stamps import compute_stamps, describe_difference
from clinworld.report.asked import choose_asked
from clinworld.report.boards import Judgeable, build_boards, find_weak_baselines
from clinworld.report.content import (
    BatchPart,
    BoardPart,
    ItemGateCount,
    KnowledgeUse,
    ReportContent,
    ReportPart,
    Usage,
)
from clinworld.report.patients import tell_patients
from clinworld.report.rows_in_force import choose_rows, require_one_stamp, table_stamps
from clinworld.report.settings import draw_settings
from clinworld.run.batch_check import refuse_gated, require_intact
from clinworld.run.batch_files import Batch, BatchFacts, ItemEntry
from clinworld.schema.cell import Cell, Evaluation, Response
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CHECKED = "checked"
OPEN_STATES = ("undetermined", "unjudged")


@dataclass(frozen=True, slots=True, eq=False)
class ReportSource:
    """One batch to report, with the pack and knowledge it was built with."""

    batch: Batch
    pack: LoadedPack
    knowledge: Knowledge


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A batch, read once."""

    source: ReportSource
    facts: BatchFacts
    entries: tuple[ItemEntry, ...]
    gold: Mapping[str, GoldRow]
    gold_missing: str
    rows: tuple[Evaluation, ...]
    superseded: int
    responses: tuple[Response, ...]
    current: Mapping[str, str]


def collect_report(sources: Sequence[ReportSource], *, as_judged: str | None = None, language: Language | None = None) -> ReportContent:
    """The content of a report on these batches, whatever their order, grouped by pack.

    Raises NothingEmitted for a batch that its own gates refused, StampMismatch for one that is not as built and for rows under
    different stamps, UsageError for a stamp no row stands under.
    """
    reads = [_read(source, as_judged) for source in sources]
    reads.sort(key=lambda read: (read.facts.pack, read.source.batch.job_id, read.source.batch.stamp))
    chosen = language or _language(reads)
    groups = [list(each) for _, each in groupby(reads, key=lambda read: read.facts.pack)]
    parts = tuple(_part(group, chosen) for group in groups)
    return ReportContent(chosen, parts, tuple(line for part in parts for line in _incomplete(part)), as_judged or "")


def _read(source: ReportSource, as_judged: str | None) -> _Read:
    batch = source.batch
    refuse_gated(batch)
    require_intact(batch)
    facts = batch.facts()
    current = _current_stamps(facts, source.pack)
    try:
        gold, missing = batch.gold_rows(), ""
    except StoreError as problem:
        if problem.kind != "gold_missing":
            raise
        gold, missing = {}, problem.found
    rows = choose_rows(batch, current, as_judged=as_judged)
    entries = batch.entries()
    known = {entry.item.item_id for entry in entries}
    kept = tuple(row for row in rows.rows if row.cell.item_id in known)
    return _Read(source, facts, entries, gold, missing, kept, rows.superseded, tuple(batch.responses()), current)


def _current_stamps(facts: BatchFacts, pack: LoadedPack) -> dict[str, str]:
    """What a verdict made now would carry: the program's own stamps, and the world stamp the batch was built under."""
    stamps = compute_stamps(pack.pack.folder, knowledge=[Path(folder) for folder in facts.knowledge_folders]).to_row()
    return stamps | {"world": facts.stamps.get("world", stamps["world"])}


def _language(reads: Sequence[_Read]) -> Language:
    return "zh" if reads and reads[0].facts.language == "zh" else "en"


def _part(reads: Sequence[_Read], language: Language) -> ReportPart:
    first = reads[0]
    pack, knowledge = first.source.pack.pack, first.source.knowledge
    items = _join_items(reads)
    gold = {item_id: row for read in reads for item_id, row in read.gold.items()}
    rows = _join_rows(reads)
    stamps = require_one_stamp(rows, _where(reads))
    boards = build_boards(rows, Judgeable(pack, knowledge, items, gold), first.current)
    pairs = [(item, gold[item_id]) for item_id, item in items.items() if item_id in gold]
    responses = [response for read in reads for response in read.responses]
    digests = {response.cell: response.prompt_sha256 for response in responses if response.turn == 0}
    return ReportPart(
        pack=pack,
        batches=tuple(_batch(read) for read in reads),
        knowledge=_knowledge_use(list(items.values()), knowledge),
        patients=tell_patients(pairs, knowledge, language),
        settings=draw_settings(pairs, knowledge, language),
        boards=boards,
        weak_baselines=find_weak_baselines(boards, pack),
        asked=choose_asked(items, gold, rows, responses, digests, pack, knowledge),
        usage=_usage(responses),
        evaluations=rows,
        stamps=stamps or first.facts.stamps,
        drift=describe_difference(stamps, first.current) if stamps else describe_difference(first.facts.stamps, first.current),
        superseded=sum(read.superseded for read in reads),
        gold_missing="; ".join(read.gold_missing for read in reads if read.gold_missing),
    )


def _where(reads: Sequence[_Read]) -> str:
    return ", ".join(str(read.source.batch.folder) for read in reads)


def _join_items(reads: Sequence[_Read]) -> dict[str, Item]:
    """Items of all batches by id; the same id with another content is refused."""
    items: dict[str, Item] = {}
    digests: dict[str, str] = {}
    for read in reads:
        for entry in read.entries:
            name = entry.item.item_id
            if digests.setdefault(name, entry.digest) != entry.digest:
                found = f"item {name} has digest {entry.digest} here and {digests[name]} in another batch"
                raise StampMismatch(
                    str(read.source.batch.folder), found, "one item is the same in every batch of a report", do="Report them apart."
                )
            items.setdefault(name, entry.item)
    return items


def _join_rows(reads: Sequence[_Read]) -> tuple[Evaluation, ...]:
    """Rows of all batches by cell; a cell answered in two batches counts once, and must say the same."""
    joined: dict[Cell, Evaluation] = {}
    for read in reads:
        for row in read.rows:
            former = joined.setdefault(row.cell, row)
            if table_stamps(former) == table_stamps(row) and former != row:
                found = f"{row.cell.agent} on item {row.cell.item_id} has another verdict in another batch"
                raise StampMismatch(
                    str(read.source.batch.folder), found, "one cell has one verdict", do="Report them apart, or run with --repeats."
                )
    # Rows of one cell under two stamps are kept apart, so that the check of stamps sees and counts both.
    extra = [row for read in reads for row in read.rows if table_stamps(joined[row.cell]) != table_stamps(row)]
    return (*(joined[cell] for cell in sorted(joined)), *extra)


def _batch(read: _Read) -> BatchPart:
    audit = read.source.batch.audit_rows()
    seal = read.source.batch.seal()
    return BatchPart(
        job_id=read.source.batch.job_id,
        stamp=read.source.batch.stamp,
        facts=read.facts,
        gates=seal.gates if seal else (),
        item_gates=_count_item_gates(audit, read.source.pack.pack.gates),
        conflicts={row["case_id"]: _findings(row) for row in audit if not row["is_emitted"]},
        withheld=tuple((row["case_id"], *each) for row in audit for each in row.get("withheld_contexts", ())),
        digests=tuple((entry.item.item_id, entry.digest, entry.prompt_digests) for entry in read.entries),
    )


def _findings(row: Mapping[str, Any]) -> tuple[Finding, ...]:
    conflicts = [
        Finding(each["kind"], each["place"], each["found"], f"{each['limit']}. {each['do']}".strip(". ") + ".") for each in row["conflicts"]
    ]
    gates = [Finding(**finding) for gate in row["gates"] if gate["state"] == "failed" for finding in gate["findings"]]
    return (*conflicts, *gates)


def _count_item_gates(audit: Sequence[Mapping[str, Any]], declared: Sequence[str]) -> tuple[ItemGateCount, ...]:
    """Every declared item gate, also one that no case reached."""
    states: dict[str, Counter[str]] = {name: Counter() for name in declared}
    reasons: dict[str, Counter[str]] = {name: Counter() for name in declared}
    for row in audit:
        for gate in row["gates"]:
            states.setdefault(gate["gate"], Counter())[gate["state"]] += 1
            if gate["state"] in ("unmeasured", "not_run") and gate["reason"]:
                reasons.setdefault(gate["gate"], Counter())[gate["reason"]] += 1
    return tuple(
        ItemGateCount(
            name,
            count["passed"],
            count["failed"],
            count["unmeasured"] + count["not_run"],
            _commonest(reasons.get(name, Counter())),
        )
        for name, count in states.items()
    )


def _commonest(reasons: Counter[str]) -> str:
    return min(reasons, key=lambda reason: (-reasons[reason], reason), default="")


def _knowledge_use(items: Sequence[Item], knowledge: Knowledge) -> KnowledgeUse:
    status = {row: knowledge.status_of(row) for row in sorted({row for item in items for row in item.rows_used})}
    resting = sum(any(status[row] != CHECKED for row in item.rows_used) for item in items)
    counted = Counter(status.values())
    return KnowledgeUse(len(items), resting, len(status), tuple(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))))


def _usage(responses: Sequence[Response]) -> Usage:
    known: Counter[str] = Counter()
    for response in responses:
        known.update(response.usage or {})
    return Usage(
        turns=len(responses),
        failed=sum(bool(response.failure) for response in responses),
        by_source=tuple(sorted(Counter(response.source for response in responses).items())),
        known=tuple(sorted(known.items())),
        unknown=sum(response.usage is None for response in responses),
    )


def _incomplete(part: ReportPart) -> list[str]:
    name = part.pack.name
    lines = [f"{name}: gold missing"] if part.gold_missing else []
    if not part.evaluations:
        lines.append(f"{name}: nothing was run")
    lines += _open_cells(name, part.evaluations)
    return lines + [f"{name}: {line}" for each in part.boards for line in _of_board(each)]


def _open_cells(name: str, rows: Sequence[Evaluation]) -> list[str]:
    counted = Counter((row.state, row.cause) for row in rows if row.state in OPEN_STATES)
    return [f"{name}: {count} cells are {state} ({cause})" for (state, cause), count in sorted(counted.items())]


def _of_board(each: BoardPart) -> tuple[str, ...]:
    return each.board.incomplete
