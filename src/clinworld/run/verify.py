"""Checks a batch again from what is on disk: every gate, both gold derivations, every text, the probes and each ledger row.

Nothing is repaired, and a batch that its own gates refused is checked like any other. The ledger goes to verify.jsonl.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clinworld.core.errors import StoreError
from clinworld.core.store import read_rows, write_lines
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.ledger import ledger_rows
from clinworld.gates.run_gates import check_batch, check_item
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.batch_check import check_batch as check_files
from clinworld.run.batch_files import ITEMS, REFUSED_ITEMS, VERIFY, Batch, ItemEntry, with_canary
from clinworld.run.build_case import render_prompts
from clinworld.run.verify_edits import name_edits
from clinworld.schema.finding import Finding, GateResult
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item, item_from_row

TEXT_GATES = ("texts_clean", "numbers_are_explained", "prompts_show_the_view")


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """What verification found; findings of batch gates are among them."""

    items: int
    ledger_rows: int
    failed_rows: int
    prompts: int
    leaking_prompts: int
    findings: tuple[str, ...]
    batch_gates: tuple[GateResult, ...]

    @property
    def exit_code(self) -> int:
        """0 when nothing failed, else 3."""
        return 3 if self.findings else 0

    def line(self) -> str:
        """One line saying what was checked."""
        return (
            f"Verified {self.items} items: {self.ledger_rows} ledger rows, {self.failed_rows} failed; "
            f"{self.prompts} prompts, {self.leaking_prompts} with leaked text;"
        )

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        return asdict(self)


@dataclass(slots=True)
class _Found:
    """What has been seen so far."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    pairs: list[tuple[Item, GoldRow]] = field(default_factory=list)
    prompts: int = 0
    leaking: int = 0


def items_file(batch: Batch) -> str:
    """The file that holds the items: a batch refused by a gate keeps them under another name, so that nothing runs on them."""
    return REFUSED_ITEMS if not batch.path(ITEMS).exists() and batch.path(REFUSED_ITEMS).exists() else ITEMS


def read_entries(batch: Batch) -> tuple[ItemEntry, ...]:
    """Every line of the items file, in order."""
    rows = read_rows(batch.path(items_file(batch)))
    return tuple(ItemEntry(item_from_row(row), row["digest"], row["prompt_digests"]) for row in rows)


def verify_batch(batch: Batch, pack: LoadedPack, knowledge: Knowledge, advance: Callable[[], None] = lambda: None) -> VerifySummary:
    """Check every item of a batch and write its ledger.

    Raises StoreError when a file is no batch file at all.
    """
    found = _Found(findings=[str(finding) for finding in check_files(batch)])
    entries, gold = _read(batch, found)
    seal = batch.seal()
    for entry in entries:
        item_id = entry.item.item_id
        answer = gold.get(item_id)
        if answer is None:
            found.findings.append(str(Finding("gold_present", f"item {item_id}", "no row in gold.jsonl", "one gold row an item")))
            continue
        if seal and item_id in seal.rows and not is_private(answer.premise.seed):
            edits = name_edits(entry.item, answer, seal.rows[item_id], items_file(batch), pack, knowledge)
            found.findings += [str(finding) for finding in edits]
        verify_item(entry, answer, pack, knowledge, found)
        advance()
    shown = {entry.item.item_id for entry in entries}
    found.findings += [
        str(Finding("gold_present", f"gold of {name}", "no item", "one item a gold row")) for name in gold if name not in shown
    ]
    gates = check_batch(found.pairs, knowledge) if found.pairs else ()
    found.findings += [str(finding) for gate in gates for finding in gate.findings]
    found.findings += _sealed_findings(seal.gates if seal else (), gates)
    found.rows.append(_batch_row(batch, gates))
    write_lines(batch.path(VERIFY), (with_canary(row) for row in found.rows))
    failed = sum(not row["ok"] for row in found.rows)
    findings = tuple(dict.fromkeys(found.findings))
    return VerifySummary(len(entries), len(found.rows), failed, found.prompts, found.leaking, findings, gates)


def _read(batch: Batch, found: _Found) -> tuple[tuple[ItemEntry, ...], dict[str, GoldRow]]:
    """Items and gold; what cannot be read is a finding, not the end of the check."""
    try:
        entries = read_entries(batch)
    except (KeyError, TypeError, ValueError) as problem:
        found.findings.append(str(Finding("rows_readable", items_file(batch), f"a row without its shape ({problem!r})", "as built")))
        entries = ()
    try:
        return entries, batch.gold_rows()
    except StoreError as problem:
        found.findings.append(str(Finding("gold_present", "gold.jsonl", problem.found, "readable")))
    except (KeyError, TypeError, ValueError) as problem:
        found.findings.append(str(Finding("rows_readable", "gold.jsonl", f"a row without its shape ({problem!r})", "as built")))
    return entries, {}


def verify_item(entry: ItemEntry, gold: GoldRow, pack: LoadedPack, knowledge: Knowledge, found: _Found) -> None:
    """Add the ledger and the findings of one item."""
    item = entry.item
    prompts, digests = render_prompts(item, pack, knowledge)
    case = CaseUnderCheck(item, gold, knowledge, pack, prompts)
    gates = check_item(item, gold, knowledge, pack.pack.gates, pack=pack, prompts=prompts)
    rows = ledger_rows(case, gates)
    findings = [str(finding) for gate in gates for finding in gate.findings]
    findings += [
        f"{row['kind']} {row['what']}: {name}: {detail}"
        for row in rows
        if row["kind"] != "case"
        for name, (state, detail) in row["checks"].items()
        if state == "failed"
    ]
    planned = pack.derive_gold(gold.premise, knowledge)
    if planned != gold.gold:
        findings.append(str(Finding("gold_as_planned", "gold", f"{gold.gold}", f"the premise says {planned}")))
    for name, digest in digests.items():
        if digest != entry.prompt_digests.get(name):
            was = entry.prompt_digests.get(name, "none")[:12]
            findings.append(
                str(Finding("prompts_as_built", name, f"digest {digest[:12]}, built with {was}", "the prompt built is the one asked"))
            )
    found.findings += [f"item {item.item_id}: {finding}" for finding in findings]
    found.rows += rows
    found.pairs.append((item, gold))
    found.prompts += len(prompts)
    found.leaking += _count_leaking(gates)


def is_private(shown_seed: str) -> bool:
    """True for the digest that stands in place of a private seed: the draws cannot be repeated without the seed."""
    return shown_seed.startswith("sha256:")


def _count_leaking(gates: Sequence[GateResult]) -> int:
    return len({finding.place.split(",")[0] for gate in gates if gate.gate in TEXT_GATES for finding in gate.findings})


def _sealed_findings(sealed: Sequence[GateResult], gates: Sequence[GateResult]) -> list[str]:
    """Why the batch was refused when it was built, where that cannot be seen again (a difference from another batch)."""
    again = {gate.gate for gate in gates}
    return [str(finding) for gate in sealed if gate.gate not in again for finding in gate.findings]


def _batch_row(batch: Batch, gates: Sequence[GateResult]) -> dict[str, Any]:
    return {
        "item_id": None,
        "kind": "batch",
        "what": batch.stamp,
        "day": None,
        "ok": not any(gate.state == "failed" for gate in gates),
        "checks": {gate.gate: [gate.state, "; ".join(map(str, gate.findings)) or gate.reason] for gate in gates},
    }
