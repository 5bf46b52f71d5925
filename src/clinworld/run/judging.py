"""Judges what was replied and appends it to eval.jsonl. The only part of a run that opens gold; it also answers for controls that read it.

A cell is judged again only when its exam or judge stamp is not the current one, or when it was not judged for want of gold or a reply.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from clinworld.access.replies import read_answer
from clinworld.access.view import shown_days
from clinworld.core.errors import StoreError
from clinworld.core.store import Appender, encode_row, write_atomic
from clinworld.judges.delivered_ids import DeliveredIds, read_delivered_ids
from clinworld.judges.mount import judge_cell
from clinworld.judges.subject import Subject
from clinworld.knowledge.load import Knowledge
from clinworld.models.backend import Request
from clinworld.models.control import ControlBackend
from clinworld.packs.load import LoadedPack
from clinworld.run.agents import speak
from clinworld.run.answer import DEADLINE, Add, AnsweredCell, Progress, answer_cell, finish_now
from clinworld.run.batch_files import EVAL, GOLD_MISSING, Batch, with_canary
from clinworld.run.cells import PlannedCell, sort_responses
from clinworld.run.exam import Exam, Prompts
from clinworld.schema.answer import Answer, RoundAnswer, UnansweredCause
from clinworld.schema.cell import Cell, Evaluation, Response, evaluation_to_row
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind

_AGENTS_OWN: Mapping[str, UnansweredCause] = {DEADLINE: "deadline", "budget": "budget"}


@dataclass(frozen=True, slots=True, eq=False)
class Gold:
    """Gold by item id, and why there is none ("" when it could be read)."""

    rows: Mapping[str, GoldRow]
    missing: str


def load_gold(batch: Batch) -> Gold:
    """The gold of a batch; a missing file is a state of the run, any other damage is an error."""
    try:
        return Gold(batch.gold_rows(), "")
    except StoreError as problem:
        if problem.kind != "gold_missing":
            raise
        return Gold({}, GOLD_MISSING)


def answer_from_gold(cells: Iterable[PlannedCell], gold: Gold, exam: Exam, add: Add, *, prompts: Prompts) -> list[AnsweredCell]:
    """What controls that read gold reply; where gold is missing they stay unanswered."""
    done = []
    for planned in cells:
        row = gold.rows.get(planned.item.item_id)
        if row is None and len(planned.kept) < len(shown_days(planned.item, exam.episode)):
            done.append(AnsweredCell(planned.cell, planned.item, planned.agent.source, planned.kept, gold.missing or GOLD_MISSING))
            continue
        backend = ControlBackend(planned.agent.name, _from_gold(planned, row))
        done.append(finish_now(answer_cell(planned, backend, exam, prompts, add)))
    return done


def _from_gold(planned: PlannedCell, row: GoldRow | None) -> Callable[[Request], str]:
    last_day = shown_days(planned.item, planned.cell.episode)[-1]

    def answer(request: Request) -> str:
        assert row is not None and planned.agent.from_gold is not None, "a finished cell asks nothing"
        return speak(planned.agent.from_gold(planned.item, row, request.day, last_day))

    return answer


class Judging:
    """Judges cells of one pack under given stamps. What an item lets be cited is worked out once an item."""

    def __init__(self, pack: LoadedPack, knowledge: Knowledge, stamps: Mapping[str, str], gold: Gold) -> None:
        self._pack, self._knowledge, self._stamps, self._gold = pack, knowledge, dict(stamps), gold
        self._delivered: tuple[str, DeliveredIds] | None = None

    def evaluate(self, answered: AnsweredCell) -> Evaluation:
        """All verdicts on one cell, or why there are none."""
        gold = self._gold.rows.get(answered.item.item_id)
        if answered.failure:
            return self._without_verdicts(answered, "undetermined", answered.failure)
        if gold is None:
            return self._without_verdicts(answered, "unjudged", self._gold.missing or GOLD_MISSING)
        answers = tuple(RoundAnswer(response.day, self._read(response)) for response in answered.responses)
        subject = Subject(
            item=answered.item,
            gold=gold,
            answers=answers,
            delivered=self._delivered_ids(answered.item),
            episode=cast(EpisodeKind, answered.cell.episode),
            probe_set=answered.cell.probe_set,
            knowledge=self._knowledge,
        )
        judged = judge_cell(subject, self._pack.pack)
        causes = Counter(each.answer.unanswered for each in answers if each.answer.unanswered)
        unanswered = causes.total() == len(answers)
        return Evaluation(
            cell=answered.cell,
            state="unanswered" if unanswered else "judged",
            cause=causes.most_common(1)[0][0] if unanswered else "",
            verdicts=tuple(judged.verdicts),
            gates=tuple(judged.gates),
            strata=dict(judged.strata),
            source=answered.source,
            stamps=self._stamps,
        )

    def _read(self, response: Response) -> Answer:
        if response.finish_reason in _AGENTS_OWN:
            return Answer({}, (), (), _AGENTS_OWN[response.finish_reason], response.reply)
        return read_answer(response.reply, response.finish_reason, self._pack.answer_model, reasoning=response.reasoning)

    def _delivered_ids(self, item: Item) -> DeliveredIds:
        if self._delivered is None or self._delivered[0] != item.item_id:
            self._delivered = (item.item_id, read_delivered_ids(item.record, self._knowledge))
        return self._delivered[1]

    def _without_verdicts(self, answered: AnsweredCell, state: Literal["undetermined", "unjudged"], cause: str) -> Evaluation:
        return Evaluation(answered.cell, state, cause, (), (), {}, answered.source, self._stamps)


def judge_new(
    cells: Sequence[AnsweredCell], judging: Judging, batch: Batch, stamps: Mapping[str, str], *, progress: Progress
) -> list[Evaluation]:
    """The current evaluation of every cell; those not yet judged under the current stamps are judged and appended."""
    known = {
        row.cell: row for row in batch.evaluations() if row.stamps["exam"] == stamps["exam"] and row.stamps["judge"] == stamps["judge"]
    }
    found = []
    with Appender(batch.path(EVAL)) as file:
        for number, answered in enumerate(cells, start=1):
            former = known.get(answered.cell)
            if former is None or former.state in ("undetermined", "unjudged"):
                evaluation = judging.evaluate(answered)
                if former is None or evaluation != former:
                    file.add(with_canary(evaluation_to_row(evaluation)))
                former = evaluation
            found.append(former)
            progress(number, len(cells))
    return found


def judge_again(
    cells: Sequence[AnsweredCell], judging: Judging, batch: Batch, stamps: Mapping[str, str], *, progress: Progress
) -> list[Evaluation]:
    """Verdicts recomputed from stored replies, written as a new eval.jsonl; the former file is kept as eval-STAMP.jsonl if it differs.

    Rows under another exam stamp, and rows that say why a cell is undetermined, stand as they were.
    """
    found: dict[Cell, Evaluation] = {}
    for number, answered in enumerate(cells, start=1):
        found[answered.cell] = judging.evaluate(answered)
        progress(number, len(cells))
    former, waiting = batch.evaluations(), dict(found)
    kept: list[Evaluation] = []
    for row in former:
        if row.stamps["exam"] != stamps["exam"] or (row.cell not in found and row.state == "undetermined"):
            kept.append(row)
        elif row.cell in waiting:
            kept.append(waiting.pop(row.cell))
    raw = b"".join(encode_row(with_canary(evaluation_to_row(row))) for row in [*kept, *waiting.values()])
    path = batch.path(EVAL)
    if path.exists() and path.read_bytes() != raw:
        write_atomic(_free_name(batch, former), path.read_bytes())
    write_atomic(path, raw)
    return list(found.values())


def stored_cells(items: Sequence[Item], responses: Iterable[Response], exam_stamp: str) -> list[AnsweredCell]:
    """Every cell that has all its replies on disk under an exam stamp, by item; a cell without a stored reply is not among them."""
    by_id = {item.item_id: (place, item) for place, item in enumerate(items)}
    replies, _ = sort_responses(responses, exam_stamp)
    found = []
    for cell, turns in replies.items():
        if cell.item_id not in by_id:
            continue
        item = by_id[cell.item_id][1]
        whole = [turns[turn] for turn in range(len(shown_days(item, cell.episode))) if turn in turns and not turns[turn].failure]
        if len(whole) == len(shown_days(item, cell.episode)):
            found.append(AnsweredCell(cell, item, whole[0].source, tuple(whole), ""))
    return sorted(found, key=lambda answered: by_id[answered.cell.item_id][0])


def _free_name(batch: Batch, former: Sequence[Evaluation]) -> Path:
    stamp = former[-1].stamps["judge"] if former else "empty"
    number = 1
    while (path := batch.path(f"eval-{stamp}{'' if number == 1 else f'-{number}'}.jsonl")).exists():
        number += 1
    return path
