"""One run on one batch: answer what is open, then judge what is answered. The verb's own work; what it prints is the command line's."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinworld.core.errors import Incomplete
from clinworld.core.printing import show_line
from clinworld.core.store import Appender, hold_lock
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.provenance.stamps import compute_stamps, describe_difference
from clinworld.run.agents import resolve_agents
from clinworld.run.answer import AnsweredCell, answer_cells
from clinworld.run.batch_check import refuse_gated, require_intact
from clinworld.run.batch_files import RESPONSES, Batch, BatchFacts, with_canary
from clinworld.run.cells import CellPlan, plan_cells
from clinworld.run.exam import Exam, Prompts, choose_episode, choose_probe_set
from clinworld.run.judging import Judging, answer_from_gold, judge_again, judge_new, load_gold, stored_cells
from clinworld.schema.cell import Evaluation, Response, response_to_row

INTERRUPTED, INCOMPLETE = 130, 6

Progress = Callable[[str, int, int], None]  # ("answer" | "judge", done, total)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run left behind, counted over the cells it was asked for.

    `asked` counts the turns answered now, the rest were kept. `unanswered`, `undetermined` and `unjudged` count cells by cause;
    `unscored` cells in which a judge failed. `partial` says why this was not the whole exam, "" when it was.
    """

    folder: Path
    episode: str
    probe_set: str
    agents: tuple[str, ...]
    cells: int
    asked: int
    judged: int
    unanswered: dict[str, int]
    undetermined: dict[str, int]
    unjudged: dict[str, int]
    unscored: int
    partial: str
    remarks: tuple[str, ...]
    stopped: bool

    @property
    def exit_code(self) -> int:
        """0, 6 when cells are undetermined, unjudged, unscored or only a sample, 130 after Ctrl-C."""
        if self.stopped:
            return INTERRUPTED
        return INCOMPLETE if self.undetermined or self.unjudged or self.unscored or self.partial else 0

    def line(self) -> str:
        """One line saying what was done."""
        if self.stopped:
            return f"Stopped after {self.asked} replies; what is there is kept. Run again to go on:"
        parts = [f"{self.judged} of {self.cells} cells judged"]
        for what, counts in (("unanswered", self.unanswered), ("undetermined", self.undetermined), ("unjudged", self.unjudged)):
            parts += [f"{number} {what} ({show_line(cause)})" for cause, number in counts.items()]
        parts += [f"{self.unscored} with a judge that failed"] if self.unscored else []
        parts += [f"a sample, {self.partial}"] if self.partial else []
        return ", ".join(parts) + ":"

    def document(self) -> dict[str, Any]:
        """The summary as JSON."""
        return {
            "batch": str(self.folder),
            "episode": self.episode,
            "probe_set": self.probe_set,
            "agents": self.agents,
            "cells": self.cells,
            "asked": self.asked,
            "judged": self.judged,
            "unanswered": self.unanswered,
            "undetermined": self.undetermined,
            "unjudged": self.unjudged,
            "unscored": self.unscored,
            "partial": self.partial,
            "remarks": self.remarks,
            "stopped": self.stopped,
            "exit_code": self.exit_code,
        }


@dataclass(slots=True)
class _Writer:
    """responses.jsonl, and how many turns were answered now."""

    file: Appender
    replies: int = field(default=0)

    def add(self, response: Response) -> None:
        self.file.add(with_canary(response_to_row(response)))
        self.replies += not response.failure


def run_batch(
    batch: Batch,
    agents: Sequence[str],
    pack: LoadedPack,
    knowledge: Knowledge,
    *,
    offline: bool = False,
    episode: str | None = None,
    probe_set: str = "all",
    repeats: int = 1,
    limit: int | None = None,
    deadline_s: float = 120.0,
    progress: Progress = lambda what, done, total: None,
) -> RunSummary:
    """Answer every open cell of these agents, then judge every cell not judged under the current stamps. Running again resumes.

    `agents` are specs as written after --agent. The first Ctrl-C ends the run with a summary that says so. Raises NothingEmitted for a
    refused batch, StampMismatch for one that is not as built or whose prompts changed, StoreError while another process writes to it.
    """
    refuse_gated(batch)
    require_intact(batch)
    with hold_lock(batch.folder):
        exam = _exam(batch, pack, knowledge, episode, choose_probe_set(probe_set), deadline_s)
        resolved = resolve_agents(agents, pack, episode=exam.episode, offline=offline)
        plan = plan_cells(batch.items(), resolved, batch.responses(), exam, repeats=repeats, limit=limit)
        prompts = Prompts(exam)
        with Appender(batch.path(RESPONSES)) as file:
            writer = _Writer(file)
            done = answer_cells(plan.cells, exam, writer.add, prompts=prompts, progress=lambda n, total: progress("answer", n, total))
            if done.stopped:
                return _summary(batch, exam, plan, [], writer.replies, stopped=True)
            gold = load_gold(batch)
            readers = [planned for planned in plan.cells if planned.agent.backend is None]
            answered = _in_order(plan, [*done.cells, *answer_from_gold(readers, gold, exam, writer.add, prompts=prompts)])
        judging = Judging(pack, knowledge, exam.stamps, gold)
        found = judge_new(answered, judging, batch, exam.stamps, progress=lambda n, total: progress("judge", n, total))
    return _summary(batch, exam, plan, found, writer.replies, stopped=False)


def rejudge_batch(
    batch: Batch, pack: LoadedPack, knowledge: Knowledge, *, progress: Progress = lambda what, done, total: None
) -> RunSummary:
    """Recompute every verdict from stored replies, without asking anyone; the former eval.jsonl is kept beside the new one."""
    refuse_gated(batch)
    require_intact(batch)
    facts = batch.facts()
    stamps = current_stamps(facts, pack)
    stamps["world"] = facts.stamps.get("world", stamps["world"])
    with hold_lock(batch.folder):
        items = batch.items()
        cells = stored_cells(items, batch.responses(), stamps["exam"])
        gold = load_gold(batch)
        if gold.missing:
            do = "eval.jsonl stands as it was. Restore gold.jsonl and run this again."
            raise Incomplete(str(batch.folder), f"{gold.missing}, so nothing can be judged again", do=do)
        judging = Judging(pack, knowledge, stamps, gold)
        found = judge_again(cells, judging, batch, stamps, progress=lambda n, total: progress("judge", n, total))
    exam = Exam(pack, knowledge, choose_episode(None, pack, items), "", stamps)
    agents = tuple(dict.fromkeys(answered.cell.agent for answered in cells))
    return _count(batch, exam, agents, found, len(cells), 0, "", _other_stamps(batch, stamps), stopped=False)


def current_stamps(facts: BatchFacts, pack: LoadedPack) -> dict[str, str]:
    """The stamps of the program as it stands, with the outside rows the batch was built with."""
    return compute_stamps(pack.pack.folder, knowledge=[Path(folder) for folder in facts.knowledge_folders]).to_row()


def _exam(batch: Batch, pack: LoadedPack, knowledge: Knowledge, episode: str | None, probe_set: str, deadline_s: float) -> Exam:
    """The convention of a run on this batch, with the prompts the batch was built with where they are this exam's."""
    facts, entries = batch.facts(), batch.entries()
    chosen = choose_episode(episode, pack, [entry.item for entry in entries])
    stamps = current_stamps(facts, pack)
    key = f"{chosen}/{probe_set}"
    built = {entry.item.item_id: entry.prompt_digests[key] for entry in entries if key in entry.prompt_digests}
    return Exam(
        pack=pack,
        knowledge=knowledge,
        episode=chosen,
        probe_set=probe_set,
        stamps=stamps | {"world": facts.stamps.get("world", stamps["world"])},
        built_prompts=built if facts.stamps.get("exam") == stamps["exam"] else {},
        drift=describe_difference(facts.stamps, stamps),
        deadline_s=deadline_s,
    )


def _in_order(plan: CellPlan, answered: Sequence[AnsweredCell]) -> list[AnsweredCell]:
    by_cell = {each.cell: each for each in answered}
    return [by_cell[planned.cell] for planned in plan.cells if planned.cell in by_cell]


def _summary(batch: Batch, exam: Exam, plan: CellPlan, found: Sequence[Evaluation], asked: int, *, stopped: bool) -> RunSummary:
    remarks = [f"{plan.left_out} items cannot carry the episode {exam.episode}"] if plan.left_out else []
    remarks += [
        f"{number} replies stand under exam stamp {stamp}, not {exam.stamp}" for stamp, number in plan.other_stamps.items() if number
    ]
    agents = tuple(dict.fromkeys(planned.agent.name for planned in plan.cells))
    return _count(batch, exam, agents, found, len(plan.cells), asked, plan.partial, remarks, stopped=stopped)


def _has_failed_judge(row: Evaluation) -> bool:
    return any(verdict.state == "unscored" for verdict in row.verdicts) or any(
        gate.hit is None and gate.detail.startswith(f"gate {gate.name} failed") for gate in row.gates
    )


def _other_stamps(batch: Batch, stamps: dict[str, str]) -> list[str]:
    other = Counter(row.exam_stamp for row in batch.responses() if row.exam_stamp != stamps["exam"])
    return [f"{number} replies under exam stamp {stamp} were not judged again" for stamp, number in other.items()]


def _count(
    batch: Batch,
    exam: Exam,
    agents: tuple[str, ...],
    found: Sequence[Evaluation],
    cells: int,
    asked: int,
    partial: str,
    remarks: Sequence[str],
    *,
    stopped: bool,
) -> RunSummary:
    def by_cause(state: str) -> dict[str, int]:
        return dict(Counter(row.cause for row in found if row.state == state).most_common())

    return RunSummary(
        folder=batch.folder,
        episode=exam.episode,
        probe_set=exam.probe_set,
        agents=agents,
        cells=cells,
        asked=asked,
        judged=sum(row.state in ("judged", "unanswered") for row in found),
        unanswered=by_cause("unanswered"),
        undetermined=by_cause("undetermined"),
        unjudged=by_cause("unjudged"),
        unscored=sum(_has_failed_judge(row) for row in found),
        partial=partial,
        remarks=tuple(remarks),
        stopped=stopped,
    )
