"""Builds a batch: every case of a job in order, the batch gates on what was emitted, all of it on disk in one step."""

import platform
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from clinworld import __version__
from clinworld.core.digest import digest_value
from clinworld.core.errors import JobError, UsageError, allowed_values, nearest_match
from clinworld.core.plain import as_row
from clinworld.core.rng import Rng
from clinworld.gates.run_gates import check_batch
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.load import HERE as PACKS
from clinworld.packs.load import LoadedPack, load_pack
from clinworld.provenance.stamps import compute_stamps
from clinworld.run.batch_files import Batch, BatchFacts, Draft, Refusal, list_batches, new_batch_folder
from clinworld.run.build_case import BuiltCase, build_case, choose_episode
from clinworld.run.build_drawn import Draws, build_with_redraws
from clinworld.run.compare import describe_rebuild
from clinworld.schema.finding import GateResult
from clinworld.schema.job import Case, Job

SEED_DIGEST_LENGTH = 32
MOST_WORKERS = 64
EPISODE_SWITCHES = {"purchase": "gated", "slices": "slices", "rounds": "multiround", "single": "multiround"}


@dataclass(frozen=True, slots=True, eq=False)
class BuildSummary:
    """What a build made."""

    batch: Batch
    facts: BatchFacts
    gates: tuple[GateResult, ...]
    rebuild: str  # how it differs from the last batch of the job, "" when there is none or nothing differs

    @property
    def folder(self) -> Path:
        """Where the batch is."""
        return self.batch.folder

    @property
    def emitted(self) -> int:
        """Items in the batch."""
        return self.facts.counts["emitted"]

    @property
    def exit_code(self) -> int:
        """0 with at least one item and no failed batch gate, else 4."""
        return 0 if self.emitted and not self.batch_findings() else 4

    def refusals(self) -> list[tuple[str, str]]:
        """(case id, reason) of each refused case."""
        return [(refusal.case_id, refusal.reason) for refusal in self.facts.refusals]

    def batch_findings(self) -> list[str]:
        """What the batch gates found, one line each."""
        return [str(finding) for gate in self.gates for finding in gate.findings]

    def line(self) -> str:
        """One line saying what was made."""
        counts = self.facts.counts
        refused = f", {counts['refused']} refused" if counts["refused"] else ""
        refused += f", {counts['drawn_again']} drawn again" if counts["drawn_again"] else ""
        gates = "; a batch gate refused the batch" if self.batch_findings() else ""
        return f"Built {counts['emitted']} of {counts['cases']} cases{refused}{gates}:"

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        return {
            "batch": str(self.folder),
            "counts": self.facts.counts,
            "refusals": [asdict(refusal) for refusal in self.facts.refusals],
            "batch_gates": [asdict(gate) for gate in self.gates],
            "rebuild": self.rebuild,
            "stamps": self.facts.stamps,
        }


def build_batch(
    job: Job,
    pack: LoadedPack,
    knowledge: Knowledge,
    out: Path,
    *,
    workers: int = 1,
    pack_dirs: Sequence[Path] = (),
    knowledge_dir: Path | None = None,
    advance: Callable[[], None] = lambda: None,
) -> BuildSummary:
    """Build every case and write a new batch under `out`; the same bytes for any number of workers.

    `advance` is called once a finished case. Raises JobError for an episode or language the pack does not declare, UsageError for a
    number of workers that is not 1 to 64.
    """
    check_workers(workers)
    check_declared(job, pack)
    began = time.monotonic()
    outside = (knowledge_dir,) if knowledge_dir else ()
    stamps = compute_stamps(pack.pack.folder, knowledge=outside).to_row()
    cases = list_cases(job, pack, knowledge)
    build = partial(build_cases, job=job, pack=pack, knowledge=knowledge, workers=workers, pack_dirs=pack_dirs, knowledge_dir=knowledge_dir)
    with new_batch_folder(out, job.job_id) as draft:
        places = build_with_redraws(cases, job, pack, knowledge, build, advance)
        for draws in places:
            write_draws(draft, draws)
        built = [draws[-1] for draws in places]
        emitted = [case for case in built if case.is_emitted]
        gates = check_batch([(case.item, case.gold) for case in emitted if case.item and case.gold], knowledge) if emitted else ()
        former = list_batches(out, job.job_id)
        drift, rebuild = describe_rebuild(
            draft.row_digests(), {c.item.item_id: c.prompt_digests for c in emitted if c.item}, job.digest, stamps, former
        )
        counts = {"cases": len(cases), "emitted": len(emitted), "refused": len(cases) - len(emitted)}
        facts = BatchFacts(
            job_id=job.job_id,
            job_digest=job.digest,
            pack=pack.pack.name,
            language=job.language,
            seed_digest=digest_value(["seed", job.seed], length=SEED_DIGEST_LENGTH),
            stamps=stamps,
            pack_folder="" if pack.pack.folder.parent == PACKS else str(pack.pack.folder),
            knowledge_folders=tuple(str(folder) for folder in outside),
            versions={"clinworld": __version__, "python": platform.python_version(), "numpy": np.__version__},
            counts=counts | {"drawn_again": sum(len(draws) - 1 for draws in places)},
            refusals=tuple(refusal(draws) for draws in places if not draws[-1].is_emitted),
            without_effect=job.without_effect,
            more={"job": Path(job.path).name, "episode": choose_episode(job, pack), "mechanisms": total_mechanisms(built)},
            created_at=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            duration_s=round(time.monotonic() - began, 3),
            host=socket.gethostname(),
        )
        batch = draft.finish(facts, gates, drift=drift)
    return BuildSummary(batch, facts, (*gates, drift), rebuild)


def check_workers(workers: int) -> None:
    """Raises UsageError for a number of workers that is not 1 to 64."""
    if not 1 <= workers <= MOST_WORKERS:
        raise UsageError("--workers", str(workers), f"allowed: 1 to {MOST_WORKERS}", do="Give the number of processor cores to use.")


def check_declared(job: Job, pack: LoadedPack) -> None:
    """Raises JobError when the job asks for an episode or language the pack does not declare."""
    for what, place, wanted, declared in (
        ("episode", find_episode_key(job), choose_episode(job, pack), pack.pack.episodes),
        ("language", "language", job.language, pack.pack.languages),
    ):
        if wanted not in declared:
            raise JobError(
                f"{job.path}, {place}",
                f"{what} {wanted!r} for pack {pack.pack.name}",
                allowed_values(declared),
                nearest=nearest_match(wanted, declared),
                do=f"Ask for one the pack declares in its `{what}s`.",
            )


def find_episode_key(job: Job) -> str:
    """The key of the job file that asked for its episode."""
    switch = EPISODE_SWITCHES.get(job.episode or "", "episode")
    path = Path(job.path)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return switch if re.search(rf"^[\s{{,\"']*{switch}[\"']?\s*:", text, re.MULTILINE) else "episode"


def list_cases(job: Job, pack: LoadedPack, knowledge: Knowledge) -> tuple[Case, ...]:
    """The job's written cases, then those it draws."""
    return (*job.cases, *pack.draw_cases(job, knowledge, Rng(job.seed))) if job.items else job.cases


def build_cases(
    cases: Sequence[Case],
    *,
    job: Job,
    pack: LoadedPack,
    knowledge: Knowledge,
    workers: int,
    pack_dirs: Sequence[Path] = (),
    knowledge_dir: Path | None = None,
) -> Iterator[BuiltCase]:
    """The built cases, in the order of `cases`."""
    if workers <= 1 or len(cases) < 2:
        rng = Rng(job.seed)
        yield from (build_case(case, job, pack, knowledge, rng) for case in cases)
        return
    setting = (job, tuple(pack_dirs), knowledge_dir)
    chunk = max(1, len(cases) // (4 * workers))
    with ProcessPoolExecutor(min(workers, len(cases)), mp_context=get_context("spawn")) as pool:
        chunks = [cases[i : i + chunk] for i in range(0, len(cases), chunk)]
        for done in pool.map(partial(_build_chunk, setting), chunks):
            yield from done


def _build_chunk(setting: tuple[Job, tuple[Path, ...], Path | None], cases: Sequence[Case]) -> list[BuiltCase]:
    job, pack_dirs, knowledge_dir = setting
    knowledge, pack, rng = load_knowledge(knowledge_dir), load_pack(job.task, extra_dirs=pack_dirs), Rng(job.seed)
    return [build_case(case, job, pack, knowledge, rng) for case in cases]


def write_draws(draft: Draft, draws: Draws) -> None:
    """Write a case's rows: item and gold when it was emitted, the audit of every draw always."""
    case = draws[-1]
    if case.is_emitted and case.item is not None and case.gold is not None:
        draft.add(case.item, case.gold, case.prompt_digests)
    for number, drawn in enumerate(draws):
        again = {"draw": number + 1, "of": draws[0].case_id} if len(draws) > 1 else {}
        draft.add_audit(
            {
                "case_id": drawn.case_id,
                "item_id": drawn.item.item_id if drawn.item else None,
                "is_emitted": drawn.is_emitted,
                "conflicts": [as_row(conflict) for conflict in drawn.conflicts],
                "gates": [as_row(gate) for gate in drawn.gates],
                "acted": drawn.gold.acted if drawn.gold else [],
                **drawn.notes,
                **again,
            }
        )


def refusal(draws: Draws) -> Refusal:
    """Why a case is not in the batch, in one line; of a case drawn several times the first draw."""
    case = draws[0]
    reasons = case.reasons()
    more = f" (and {len(reasons) - 1} more, see audit.jsonl)" if len(reasons) > 1 else ""
    more += f" (drawn {len(draws)} times, each refused)" if len(draws) > 1 else ""
    return Refusal(case.case_id, case.kinds()[0], reasons[0] + more)


def total_mechanisms(built: Sequence[BuiltCase]) -> dict[str, int]:
    """How often each declared mechanism acted in the whole batch."""
    totals: dict[str, int] = {}
    for case in built:
        for mechanism, times in case.gold.acted if case.gold else ():
            totals[mechanism] = totals.get(mechanism, 0) + times
    return dict(sorted(totals.items()))
