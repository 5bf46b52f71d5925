"""A pack's controls on drawn items, in memory: what each answers, and what the judges say of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clinworld.access.delivered import Delivered, parse_delivered
from clinworld.access.episodes import next_turn
from clinworld.access.replies import read_answer
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.floors import Floor, compute_floors
from clinworld.judges.mount import Judged, judge_cell
from clinworld.judges.subject import Subject
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.agents import speak
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.cell import Cell, Evaluation
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind
from clinworld.scores.board import GateRoles, score_board
from clinworld.scores.rows import AgentScore

PROBE_SET = "all"
EXACT = 1e-9


@dataclass(frozen=True)
class Exam:
    """Items with gold, what each turn delivers, and the pack; nothing in it changes but what is remembered."""

    pack: LoadedPack
    knowledge: Knowledge
    items: tuple[tuple[Item, GoldRow], ...]
    sat: dict[str, "Sitting"] = field(default_factory=dict)  # sittings already held, by control

    @property
    def episode(self) -> EpisodeKind:
        """The pack's own episode."""
        return self.pack.pack.episodes[0]

    @cached_property
    def turns(self) -> dict[str, tuple[tuple[int, Delivered], ...]]:
        """What each turn delivers by item: (day, the record and questions read back). A reminder of earlier answers is no part of it."""
        return {item.item_id: tuple(self._list_turns(item)) for item, _ in self.items}

    def _list_turns(self, item: Item) -> Iterator[tuple[int, Delivered]]:
        replies: list[str] = []
        while (turn := next_turn(item, self.pack.pack, self.knowledge, self.episode, PROBE_SET, replies)) is not None:
            yield turn.day, parse_delivered(turn.prompt, item.language)
            replies.append("")

    def with_gold(self, change: Callable[[GoldRow], GoldRow]) -> "Exam":
        """The same items under other gold."""
        other = Exam(self.pack, self.knowledge, tuple((item, change(gold)) for item, gold in self.items))
        other.__dict__["turns"] = self.turns  # what is delivered does not depend on gold
        return other

    def subject(self, item: Item, gold: GoldRow, answers: tuple[RoundAnswer, ...]) -> Subject:
        """What judges look at."""
        delivered = read_delivered_ids(item.record, self.knowledge)
        return Subject(item, gold, answers, delivered, self.episode, PROBE_SET, self.knowledge)

    @cached_property
    def floors(self) -> dict[str, Floor]:
        """Floor and ceiling of each scored dimension on these items."""
        empty = read_answer("{}", "stop", self.pack.answer_model)
        subjects = [
            self.subject(item, gold, tuple(RoundAnswer(day, empty) for day, _ in self.turns[item.item_id])) for item, gold in self.items
        ]
        return compute_floors(subjects, self.pack.pack)


@dataclass(frozen=True)
class Sitting:
    """One control on every item of an exam: verdicts by item, and its line of the board."""

    control: str
    judged: Mapping[str, Judged]
    line: AgentScore
    is_constant: bool  # the same answer to every item, citations apart

    def values(self, verdict: str) -> list[float | None]:
        """A verdict on every item; None where it is not scored."""
        return [next((each.value for each in judged.verdicts if each.name == verdict), None) for judged in self.judged.values()]

    def hit(self, gate: str) -> list[str]:
        """Items on which a gate fired in every unit it could."""
        return [
            name
            for name, judged in self.judged.items()
            if any(each.name == gate and each.hit and each.failed == each.units for each in judged.gates)
        ]


def sit(exam: Exam, name: str, answer: Callable[[Item, GoldRow], list[str]]) -> Sitting:
    """The sitting of whatever answers the turns of an item."""
    judged: dict[str, Judged] = {}
    rows: list[Evaluation] = []
    said: dict[int, list[object]] = {}
    for item, gold in exam.items:
        days = [day for day, _ in exam.turns[item.item_id]]
        read = [read_answer(reply, "stop", exam.pack.answer_model) for reply in answer(item, gold)]
        for turn, each in enumerate(read):
            said.setdefault(turn, []).append(without_citations(each.fields))
        found = judge_cell(exam.subject(item, gold, tuple(map(RoundAnswer, days, read))), exam.pack.pack)
        judged[item.item_id] = found
        cell = Cell(item.item_id, name, exam.episode, PROBE_SET, 0)
        state = "unanswered" if all(each.unanswered for each in read) else "judged"
        cause = next((each.unanswered for each in read if each.unanswered), "") if state == "unanswered" else ""
        stamps = {"exam": "", "judge": ""}
        rows.append(Evaluation(cell, state, cause or "", found.verdicts, found.gates, dict(found.strata), "control", stamps))  # type: ignore[arg-type]  # one of the states
    declared = exam.pack.pack
    roles = GateRoles(declared.hard_gates, declared.propensity_gates, declared.reported_gates)
    board = score_board(rows, declared.dimensions, exam.floors, seed=0, gates=roles, draws=0)
    return Sitting(name, judged, board.unranked[0], all(each == answers[0] for answers in said.values() for each in answers))


def without_citations(value: object) -> object:
    """An answer's fields without those that name evidence."""
    if isinstance(value, dict):
        return {key: without_citations(each) for key, each in value.items() if "evidence" not in key}
    return [without_citations(each) for each in value] if isinstance(value, list) else value


def sit_control(exam: Exam, name: str) -> Sitting:
    """The sitting of a control of the pack; held once."""
    if name in exam.sat:
        return exam.sat[name]
    control = exam.pack.controls[name]

    def answer(item: Item, gold: GoldRow) -> list[str]:
        turns = exam.turns[item.item_id]
        if control.reads_gold:
            return [speak(control.function(item, gold, day, turns[-1][0])) for day, _ in turns]
        earlier: list[dict[str, Any]] = []
        for turn, (_, delivered) in enumerate(turns):
            earlier.append(control.function(delivered, item.language, turn, earlier))
        return [speak(each) for each in earlier]

    exam.sat[name] = sit(exam, name, answer)
    return exam.sat[name]


def usable(exam: Exam, *, purpose: str = "") -> list[str]:
    """Controls that can answer the exam's episode and whose purpose begins so."""
    return [name for name, c in exam.pack.controls.items() if exam.episode in c.episodes and c.purpose.startswith(purpose)]
