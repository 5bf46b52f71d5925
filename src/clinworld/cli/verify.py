"""`clinworld verify`."""

from pathlib import Path

from clinworld.cli.build import run_build
from clinworld.cli.console import Console, progress
from clinworld.cli.target import OutFolder, Setting, choose_batch, is_batch, is_pack, open_batch_target, open_job
from clinworld.core.errors import UsageError
from clinworld.packs.load import list_cards
from clinworld.run.batch_files import Batch
from clinworld.run.verify import VerifySummary, verify_batch
from clinworld.run.verify_pack import verify_pack

MOST_FINDINGS = 20


def verify(
    target: str,
    /,
    *,
    out: OutFolder = Path("artifacts"),
    batch: str | None = None,
    language: str | None = None,
    pack: tuple[Path, ...] = (),
    knowledge: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Check every item of a job or batch again from what is on disk, or a pack folder.

    A batch: every gate, both gold derivations, every prompt, the ledger (verify.jsonl). A pack: shape, languages, controls,
    determinism and floors, or its own proof where it asks no questions. Exit code 3 when something failed. A job without a batch is
    built first.

    Parameters
    ----------
    target
        A job file or packaged name, a batch folder, or a pack by folder or name.
    out
        The folder batches go under.
    batch
        The time stamp of the job's batch to check, instead of the newest.
    language
        en or zh, instead of the job's own.
    pack
        A pack folder from outside the package; may be given several times.
    knowledge
        A folder of further knowledge rows.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    if is_pack(target, pack):
        for option, value in (("--batch", batch), ("--language", language)):
            if value is not None:
                raise UsageError(option, f"{value!r} with the pack {target}", "that is for jobs and batches", do="Leave it out.")
        folder = Path(target) if Path(target).exists() else list_cards(pack)[target].folder
        checked = verify_pack(folder, extra_dirs=pack, knowledge_dir=knowledge)
        for finding in checked.findings[:MOST_FINDINGS]:
            console.tell(finding)
        console.finish(checked.line(), checked.document())
        return checked.exit_code
    if is_batch(target):
        setting, chosen = open_batch_target(target, packs=pack, knowledge_dir=knowledge)
    else:
        setting, job = open_job(target, language=language, packs=pack, knowledge_dir=knowledge)
        chosen = choose_batch(setting, job, out, batch) or run_build(setting, job, out, 1, console).batch
    summary = run_verify(chosen, setting, console)
    console.finish(f"{summary.line()} {chosen.folder / 'verify.jsonl'}", summary.document())
    return summary.exit_code


def run_verify(batch: Batch, setting: Setting, console: Console) -> VerifySummary:
    """Verify a batch and say what failed."""
    seal = batch.seal()
    with progress("verify", len(seal.rows) if seal else 0, quiet=console.quiet or console.as_json) as shown:
        summary = verify_batch(batch, setting.pack, setting.knowledge, shown.step)
    for finding in summary.findings[:MOST_FINDINGS]:
        console.tell(finding)
    if len(summary.findings) > MOST_FINDINGS:
        console.say(f"  and {len(summary.findings) - MOST_FINDINGS} more, in verify.jsonl")
    return summary
