"""`clinworld run`."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clinworld.cli.build import run_build
from clinworld.cli.console import Console, progress
from clinworld.cli.target import OutFolder, Setting, WholeNumber, choose_batch, is_batch, open_batch_target, open_job
from clinworld.core.errors import UsageError
from clinworld.run.batch_files import Batch
from clinworld.run.run_batch import RunSummary, rejudge_batch, run_batch

MOST_REMARKS = 8
STDOUT, STDERR = 1, 2


def run(
    target: str,
    /,
    *,
    agent: tuple[str, ...] = (),
    offline: bool = False,
    episode: str | None = None,
    probes: Annotated[bool, Parameter(negative="--no-probes")] = True,
    repeats: WholeNumber = 1,
    limit: WholeNumber | None = None,
    rejudge: bool = False,
    out: OutFolder = Path("artifacts"),
    batch: str | None = None,
    language: str | None = None,
    pack: tuple[Path, ...] = (),
    knowledge: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Answer the items of a job or batch with agents, then judge the answers.

    Running again resumes: finished cells are kept, only what is missing is asked. Exit code 6 when cells were not answered or not judged,
    or with --limit.

    Parameters
    ----------
    target
        A job file or packaged name, or a batch folder. A job without a batch is built first.
    agent
        module:function, control:NAME or replay:FILE; may be given several times.
    offline
        Ask every offline control the pack's episode can use.
    episode
        An episode the items can carry, instead of the job's.
    probes
        Append the probe questions to the prompts.
    repeats
        How often each agent is asked each item.
    limit
        Only the first N items: a sample, never a board.
    rejudge
        Recompute all verdicts from stored replies; no agent is asked.
    out
        The folder batches go under.
    batch
        The time stamp of the job's batch to use, instead of the newest.
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
    for name, value in (("--repeats", repeats), ("--limit", limit)):
        if value is not None and value < 1:
            raise UsageError(name, str(value), "at least 1")
    if rejudge:
        asked = {"--agent": agent, "--offline": offline, "--episode": episode, "--no-probes": not probes, "--limit": limit is not None}
        refuse_with_rejudge(asked | {"--repeats": repeats != 1})
    if is_batch(target):
        setting, chosen = open_batch_target(target, packs=pack, knowledge_dir=knowledge)
    else:
        setting, job = open_job(target, language=language, packs=pack, knowledge_dir=knowledge)
        chosen = choose_batch(setting, job, out, batch) or run_build(setting, job, out, 1, console).batch
    if rejudge:
        summary = rejudge_batch(chosen, setting.pack, setting.knowledge)
    else:
        probe_set = "all" if probes else "none"
        summary = run_answers(
            chosen, setting, agent, console, offline=offline, episode=episode, probe_set=probe_set, repeats=repeats, limit=limit
        )
    for remark in summary.remarks[:MOST_REMARKS]:
        console.say(f"  {remark}")
    console.finish(f"{summary.line()} {chosen.folder / 'eval.jsonl'}", summary.document())
    return summary.exit_code


def refuse_with_rejudge(asked: Mapping[str, object]) -> None:
    """Raises UsageError when something else is asked together with --rejudge."""
    given = [name for name, value in asked.items() if value]
    if given:
        allowed = "stored replies are judged again, all of them, and nobody is asked"
        raise UsageError("--rejudge", f"together with {', '.join(given)}", allowed, do="Leave out one or the other.")


def run_answers(
    batch: Batch,
    setting: Setting,
    agents: Sequence[str],
    console: Console,
    *,
    offline: bool,
    episode: str | None = None,
    probe_set: str = "all",
    repeats: int = 1,
    limit: int | None = None,
) -> RunSummary:
    """Answer and judge, with a progress line for each half."""
    with progress("answer and judge", 2, quiet=console.quiet or console.as_json) as shown, stdout_for_us():
        return run_batch(
            batch,
            agents,
            setting.pack,
            setting.knowledge,
            offline=offline,
            episode=episode,
            probe_set=probe_set,
            repeats=repeats,
            limit=limit,
            progress=shown.reach,
        )


@contextmanager
def stdout_for_us() -> Iterator[None]:
    """While agents work, what they print, or a program they start prints, goes to standard error: standard output is for our results."""
    sys.stdout.flush()
    kept = os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, STDOUT)
        os.close(kept)
