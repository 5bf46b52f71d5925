"""How a rebuilt batch differs from the last one: not at all, in prompts, in gold only; and whether it was allowed to."""

from collections.abc import Mapping, Sequence

from clinworld.core.errors import ClinworldError
from clinworld.provenance.stamps import describe_difference
from clinworld.run.batch_files import Batch
from clinworld.schema.finding import Finding, GateResult

GATE = "idempotency_drift"


def describe_rebuild(
    rows: Mapping[str, tuple[str, str]],
    prompts: Mapping[str, Mapping[str, str]],
    job_digest: str,
    stamps: Mapping[str, str],
    former: Sequence[Batch],
) -> tuple[GateResult, str]:
    """The drift gate, and one line for the reader ("" when there is nothing to say).

    `rows` are (item, gold) row digests by item id. Under the same job and stamps the last batch must be equal; a changed job or stamp
    is only described.
    """
    batch = former[-1] if former else None
    seal = batch.seal() if batch else None
    if batch is None or seal is None:
        return GateResult(GATE, "unmeasured", reason="no earlier batch of this job"), ""
    try:
        facts = batch.facts()
    except ClinworldError as problem:
        return GateResult(GATE, "unmeasured", reason=f"the earlier batch cannot be read ({problem.found})"), ""
    same_rules = facts.job_digest == job_digest and all(facts.stamps.get(name) == stamps.get(name) for name in ("world", "exam"))
    changed = sorted(item_id for item_id in {*rows, *seal.rows} if rows.get(item_id) != seal.rows.get(item_id))
    if not changed:
        return GateResult(GATE, "passed", checked=len(rows)), ""
    what = _what_changed(batch, rows, seal.rows, prompts)
    if same_rules:
        finding = Finding(
            GATE, f"item {changed[0]}", f"{len(changed)} rows differ from batch {batch.stamp} ({what})", "the same job gives the same bytes"
        )
        return GateResult(GATE, "failed", (finding,), checked=len(rows)), what
    why = "the job was edited" if facts.job_digest != job_digest else describe_difference(facts.stamps, stamps)
    return GateResult(GATE, "unmeasured", reason=f"not comparable: {why}"), f"Differs from batch {batch.stamp}: {what}; {why}."


def _what_changed(
    batch: Batch, rows: Mapping[str, tuple[str, str]], former: Mapping[str, tuple[str, str]], prompts: Mapping[str, Mapping[str, str]]
) -> str:
    if set(rows) != set(former):
        return "other items; answers must be given again"
    try:
        before = {entry.item.item_id: entry.prompt_digests for entry in batch.entries()}
    except ClinworldError:
        return "cannot tell what changed"
    if any(before.get(item_id) != dict(digests) for item_id, digests in prompts.items()):
        return "prompts changed; answers must be given again"
    return "only gold changed; judge again with --rejudge"
