"""Whether a batch may be used: refused by its own gates, or no longer as it was built.

The last row of audit.jsonl says what the batch gates found and the digest of every row, so both show without batch.json.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import orjson

from clinworld.core.errors import ClinworldError, NothingEmitted, StampMismatch, StoreError
from clinworld.core.store import read_rows
from clinworld.run.batch_files import AUDIT, BATCH, GOLD, ITEMS, REFUSED_ITEMS, Batch, BatchSeal, digest_row
from clinworld.schema.finding import Finding

CHECK = "batch_is_as_built"
MOST_SHOWN = 60


def refuse_gated(batch: Batch) -> None:
    """Raises NothingEmitted when a batch gate refused the batch or no item is in it, whatever batch.json says."""
    seal = batch.seal()
    outcome = seal.outcome if seal else None
    if outcome in (None, "passed") and batch.path(REFUSED_ITEMS).exists():
        outcome = "refused"
    if outcome in (None, "passed"):
        try:
            outcome = batch.facts().outcome
        except ClinworldError:
            return  # check_batch names the missing file
    if outcome == "passed":
        return
    gates = [gate for gate in (seal.gates if seal else ()) if gate.state == "failed"]
    why = "; ".join(f"{gate.gate}: {gate.findings[0].found if gate.findings else gate.reason}" for gate in gates)
    found = f"refused by a batch gate ({why or 'see audit.jsonl'})" if outcome == "refused" else "no item was emitted"
    raise NothingEmitted(str(batch.folder), found, do="Read audit.jsonl, change the job and build again.", kind=f"batch_{outcome}")


def check_batch(batch: Batch) -> list[Finding]:
    """What in items, gold and audit no longer is as it was built, row by row. A missing gold.jsonl is no finding here."""
    seal = batch.seal()
    if seal is None:
        return [Finding(CHECK, AUDIT, "no last row with the batch gates", "audit.jsonl ends with the row of its batch")]
    findings = [*_check_rows(batch, ITEMS, seal, 0), *_check_rows(batch, GOLD, seal, 1)]
    try:
        described = batch.description
        recorded = str(described["files"][AUDIT])
    except StoreError as problem:
        return [*findings, Finding(CHECK, BATCH, problem.found, "batch.json names the digest of audit.jsonl")]
    except (KeyError, TypeError) as problem:
        return [*findings, Finding(CHECK, BATCH, f"no {problem}", "batch.json names the digest of audit.jsonl")]
    findings += _check_description(described, seal)
    digest = sha256(batch.path(AUDIT).read_bytes()).hexdigest()
    if digest != recorded:
        findings.append(Finding(CHECK, AUDIT, f"digest {digest[:16]}", f"built with {recorded[:16]}"))
    return findings


def _check_description(described: dict[str, Any], seal: BatchSeal) -> Iterator[Finding]:
    """What batch.json says otherwise than the seal."""
    files = described["files"]
    sealed = {**seal.facts, "job_digest": seal.job_digest, "outcome": seal.outcome, "files": {**seal.files, AUDIT: files[AUDIT]}}
    for name, value in sealed.items():
        found = described.get(name)
        if isinstance(value, dict) and isinstance(found, dict):
            pairs = {f"{name}.{key}": (found.get(key), value[key]) for key in value}
        else:
            pairs = {name: (found, value)}
        for place, (now, then) in pairs.items():
            if now != then:
                yield Finding(CHECK, f"{BATCH}, {place}", _shorten(now), f"built with {_shorten(then)}")


def _shorten(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"


def require_intact(batch: Batch) -> None:
    """Raises StampMismatch naming the first file, row and digest that are not as built."""
    findings = check_batch(batch)
    if findings:
        first = findings[0]
        more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
        raise StampMismatch(
            f"{batch.folder}, {first.place}", f"{first.found}{more}", first.allowed, do="Build the batch again; it is never repaired."
        )


def _check_rows(batch: Batch, name: str, seal: BatchSeal, side: int) -> Iterator[Finding]:
    path = batch.path(name if name != ITEMS or seal.outcome == "passed" else REFUSED_ITEMS)
    try:
        raw = path.read_bytes()
    except OSError as problem:
        if name != GOLD:
            yield Finding(CHECK, path.name, f"cannot be read ({problem.strerror})", "it was built with the batch")
        return
    if sha256(raw).hexdigest() == seal.files[name]:
        return
    seen: list[str] = []
    found_any = False
    for row in read_rows(path):
        item_id = str(row.get("item_id"))
        seen.append(item_id)
        recorded = seal.rows.get(item_id, ("", ""))[side]
        digest = digest_row(row)
        if digest != recorded or row.get("digest", digest) != digest:
            found_any = True
            known = f"built with {recorded or 'no such item'}"
            yield Finding(CHECK, f"{path.name}, item {item_id}", f"row digest {digest}", known)
    missing = [item_id for item_id in seal.rows if item_id not in seen]
    for item_id in missing:
        yield Finding(CHECK, f"{path.name}, item {item_id}", "no row", "it was built with one")
    if not found_any and not missing:
        allowed = f"built with {seal.files[name][:16]}"
        yield Finding(CHECK, path.name, f"digest {sha256(raw).hexdigest()[:16]} (order, digests or layout)", allowed)
