"""Checks a batch again from what is on disk: every gate, both gold derivations, every text, the probes and each ledger row.

Nothing is rebuilt and nothing is repaired. The ledger goes to verify.jsonl.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from clinworld.core.rng import Rng
from clinworld.core.store import write_lines
from clinworld.gates.ledger import ledger_rows
from clinworld.gates.probes.question_side import draw_probes
from clinworld.gates.run_gates import check_batch, check_item
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.batch_check import check_batch as check_files
from clinworld.run.batch_files import VERIFY, Batch, ItemEntry, with_canary
from clinworld.run.build_case import render_prompts
from clinworld.schema.finding import Finding, GateResult
from clinworld.schema.gold import GoldRow

LEAK_GATE = "texts_clean"


@dataclass(frozen=True, slots=True)
class VerifySummary:
    """What verification found."""

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


def verify_batch(batch: Batch, pack: LoadedPack, knowledge: Knowledge, advance: Callable[[], None] = lambda: None) -> VerifySummary:
    """Check every item of a batch and write its ledger. Raises StoreError when a file cannot be read."""
    findings: list[str] = [str(finding) for finding in check_files(batch)]
    rows: list[dict[str, Any]] = []
    prompts = leaking = 0
    gold = batch.gold_rows()
    entries = batch.entries()
    pairs = []
    for entry in entries:
        answer = gold.get(entry.item.item_id)
        if answer is None:
            findings.append(str(Finding("gold_present", f"item {entry.item.item_id}", "no row in gold.jsonl", "one gold row an item")))
            continue
        pairs.append((entry.item, answer))
        checked = verify_item(entry, answer, pack, knowledge)
        rows += checked.rows
        prompts += checked.prompts
        leaking += checked.leaking
        findings += checked.findings
        advance()
    gates = check_batch(pairs, knowledge) if pairs else ()
    findings += [str(finding) for gate in gates for finding in gate.findings]
    rows.append({"item_id": None, "kind": "batch", "what": batch.stamp, "day": None, "ok": not any(g.state == "failed" for g in gates),
                 "checks": {g.gate: [g.state, "; ".join(map(str, g.findings)) or g.reason] for g in gates}})  # fmt: skip
    write_lines(batch.path(VERIFY), (with_canary(row) for row in rows))
    return VerifySummary(len(entries), len(rows), sum(not row["ok"] for row in rows), prompts, leaking, tuple(findings), gates)


@dataclass(frozen=True, slots=True)
class _Checked:
    rows: list[dict[str, Any]]
    prompts: int
    leaking: int
    findings: list[str]


def verify_item(entry: ItemEntry, gold: GoldRow, pack: LoadedPack, knowledge: Knowledge) -> _Checked:
    """The ledger and findings of one item."""
    item = entry.item
    prompts, digests = render_prompts(item, pack, knowledge)
    gates = check_item(item, gold, knowledge, pack.pack.gates, pack=pack, prompts=prompts)
    rows = ledger_rows(item, gold, gates, knowledge)
    findings = [str(finding) for gate in gates for finding in gate.findings]
    findings += [
        f"{item.item_id}, {row['kind']} {row['what']}: {name}: {detail}"
        for row in rows
        if row["kind"] != "case"
        for name, (state, detail) in row["checks"].items()
        if state == "failed"
    ]
    for name, digest in digests.items():
        if digest != entry.prompt_digests.get(name):
            found = f"digest {digest[:12]}, built with {entry.prompt_digests.get(name, 'none')[:12]}"
            findings.append(
                str(Finding("prompts_as_built", f"item {item.item_id}, {name}", found, "the prompt on disk is the prompt asked"))
            )
    if is_private(gold.premise.seed):
        return _Checked(rows, len(prompts), _leaking(gates), findings)  # the draws cannot be repeated without the seed
    shown = item.record.until(item.index_day)
    probes, answers = draw_probes(shown, item.index_day, knowledge, Rng(gold.premise.seed), gold.case_id)
    if probes != item.probes or answers != gold.probes:
        findings.append(
            str(Finding("probes_rederive", f"item {item.item_id}", "other probe questions or replies", "they follow from the record"))
        )
    return _Checked(rows, len(prompts), _leaking(gates), findings)


def is_private(shown_seed: str) -> bool:
    """True for the digest that stands in place of a private seed."""
    return shown_seed.startswith("sha256:")


def _leaking(gates: tuple[GateResult, ...]) -> int:
    return len({finding.place for gate in gates if gate.gate == LEAK_GATE for finding in gate.findings})
