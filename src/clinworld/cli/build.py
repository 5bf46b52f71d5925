"""`clinworld build`."""

from pathlib import Path

from clinworld.cli.console import Console, progress
from clinworld.cli.target import OutFolder, Setting, WholeNumber, open_job
from clinworld.run.build import BuildSummary, build_batch
from clinworld.schema.job import Job

MOST_REFUSALS = 12


def build(
    job: str,
    /,
    *,
    out: OutFolder = Path("artifacts"),
    language: str | None = None,
    workers: WholeNumber = 1,
    pack: tuple[Path, ...] = (),
    knowledge: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Draw, render and gate the cases of a job into a new batch.

    Refused cases are listed with their reason and do not fail the build; exit code 4 when none is left or a batch gate refused.

    Parameters
    ----------
    job
        A job file, or the name of a packaged one (see `clinworld inputs jobs`).
    out
        The folder batches go under.
    language
        en or zh, instead of the job's own.
    workers
        Processes that build cases, 1 to 64; the batch is the same for any number.
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
    setting, opened = open_job(job, language=language, packs=pack, knowledge_dir=knowledge)
    summary = run_build(setting, opened, out, workers, console)
    console.finish(f"{summary.line()} {summary.folder}", summary.document())
    return summary.exit_code


def run_build(setting: Setting, job: Job, out: Path, workers: int, console: Console) -> BuildSummary:
    """Build a batch and say what became of it."""
    total = len(job.cases) + (job.items or 0)
    with progress("build", total, quiet=console.quiet or console.as_json) as shown:
        summary = build_batch(
            job,
            setting.pack,
            setting.knowledge,
            out,
            workers=workers,
            pack_dirs=setting.pack_dirs,
            knowledge_dir=setting.knowledge_dir,
            advance=shown.step,
        )
    if job.without_effect:
        console.say(f"Without effect here: {', '.join(job.without_effect)}.")
    refusals = summary.refusals()
    for case_id, reason in refusals[:MOST_REFUSALS]:
        console.tell(f"{case_id}  {reason}")
    if len(refusals) > MOST_REFUSALS:
        console.say(f"  and {len(refusals) - MOST_REFUSALS} more, in batch.json")
    for finding in summary.batch_findings():
        console.tell(f"batch gate: {finding}")
    return summary
