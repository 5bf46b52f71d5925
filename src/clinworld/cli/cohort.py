"""`clinworld cohort`."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clinworld.cli.console import Console, progress
from clinworld.cli.target import OutFolder, WholeNumber, check_language
from clinworld.cohort.build import Plan, build_cohort
from clinworld.cohort.patient import TASK, Wanted
from clinworld.packs.load import load_pack
from clinworld.provenance.stamps import compute_stamps


def cohort(
    *,
    patients: WholeNumber,
    seed: str,
    out: OutFolder,
    first: WholeNumber = 0,
    shard_size: WholeNumber = 1000,
    workers: WholeNumber = 1,
    daily: Annotated[bool, Parameter(negative="--without-daily")] = True,
    notes: bool = False,
    specimens: bool = False,
    language: str = "en",
    knowledge: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Make many patients at once, as Parquet tables of everything charted of them.

    Patient i is the drawn case i of an early warning job with the same seed, the same for any number of patients, shard size and number
    of workers. Running the same command again goes on where it stopped.

    Parameters
    ----------
    patients
        How many, 1 to 10,000,000.
    seed
        A whole number or a word that decides every patient; never that of an exam whose answers are to stay hidden.
    out
        The folder of the cohort.
    first
        The place of the first patient.
    shard_size
        Patients in each Parquet file.
    workers
        Processes that build patients, 1 to 64; the files are the same for any number.
    daily
        What is charted by day: home scale, wearables, home devices, diaries. Leaving it out makes a cohort many times smaller.
    notes
        Also what is told in words: notes, and documented events.
    specimens
        Also the circumstances of laboratory draws and changes of method, with results as these move them. Other rows stay as they are.
    language
        en or zh, for what is told in words.
    knowledge
        A folder of further knowledge rows.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    stamps = compute_stamps(load_pack(TASK).pack.folder, knowledge=(knowledge,) if knowledge else ())
    plan = Plan(
        patients=patients,
        seed=plain_seed(seed),
        first=first,
        shard_size=shard_size,
        language=check_language(language),
        wanted=Wanted(has_daily=daily, has_notes=notes, has_specimens=specimens),
        knowledge_dir=knowledge,
        stamps={"world": stamps.world},
        workers=workers,
    )
    with ExitStack() as stack:

        def begin(total: int) -> Callable[[int], None]:
            return stack.enter_context(progress("cohort", total, quiet=quiet or json)).step

        summary = build_cohort(out, plan, begin=begin)
    console.finish(f"{summary.line()} {out}", summary.document())
    return 0


def plain_seed(seed: str) -> str:
    """A seed as a job file would read it: a whole number in its plain form, anything else as it is.

    >>> plain_seed("007"), plain_seed("spring")
    ('7', 'spring')
    """
    return str(int(seed)) if seed.strip().lstrip("+-").isdecimal() and seed.isascii() and len(seed) <= 18 else seed
