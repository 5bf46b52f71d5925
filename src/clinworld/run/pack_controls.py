"""A pack's controls on drawn items, in memory: what each answers, what the judges say of it, and whether that is what it must get."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, GoldRow, TurningPoint
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind
from clinworld.scores.board import MIN_ITEMS, GateRoles, score_board
from clinworld.scores.rows import AgentScore

PROBE_SET = "all"
EXACT = 1e-9
WRITTEN_INDEX_DAY, WRITTEN_CADENCE = 84, 28  # rows of controls.jsonl are written for rounds on these days
ORACLE, RIGHT, WRONG, FLOOR, POSITIVE = "oracle", "oracle_probe_right", "oracle_probe_wrong", "floor", "positive control"


@dataclass(frozen=True)
class Exam:
    """Items with gold, what each turn delivers, and the pack; nothing in it changes."""

    pack: LoadedPack
    knowledge: Knowledge
    items: tuple[tuple[Item, GoldRow], ...]

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
        return Exam(self.pack, self.knowledge, tuple((item, change(gold)) for item, gold in self.items))

    def only(self, item_ids: Sequence[str]) -> "Exam":
        """Some of the items."""
        return Exam(self.pack, self.knowledge, tuple(pair for pair in self.items if pair[0].item_id in item_ids))

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
    for item, gold in exam.items:
        days = [day for day, _ in exam.turns[item.item_id]]
        read = [read_answer(reply, "stop", exam.pack.answer_model) for reply in answer(item, gold)]
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
    return Sitting(name, judged, board.unranked[0])


def sit_control(exam: Exam, name: str) -> Sitting:
    """The sitting of a control of the pack."""
    control = exam.pack.controls[name]

    def answer(item: Item, gold: GoldRow) -> list[str]:
        turns = exam.turns[item.item_id]
        if control.reads_gold:
            return [speak(control.function(item, gold, day, turns[-1][0])) for day, _ in turns]
        earlier: list[dict[str, Any]] = []
        for turn, (_, delivered) in enumerate(turns):
            earlier.append(control.function(delivered, item.language, turn, earlier))
        return [speak(each) for each in earlier]

    return sit(exam, name, answer)


def usable(exam: Exam, *, purpose: str = "") -> list[str]:
    """Controls that can answer the exam's episode and whose purpose begins so."""
    return [name for name, c in exam.pack.controls.items() if exam.episode in c.episodes and c.purpose.startswith(purpose)]


def check_ceiling(exam: Exam) -> Iterator[Finding]:
    """The gold answer: 1.0 on every scored dimension of every item, no hard gate, nothing unscored."""
    if ORACLE not in usable(exam):
        yield Finding("gold control", ORACLE, "no such control in this episode", "a control that answers with gold")
        return
    sitting = sit_control(exam, ORACLE)
    for dimension in exam.pack.pack.dimensions:
        values = [value for value in sitting.values(dimension.verdict) if value is not None]
        best = 0.0 if dimension.direction == "lower" else 1.0
        wrong = [value for value in values if abs(value - best) > EXACT]
        if wrong or not values:
            found = f"{len(wrong)} of {len(values)} items below full marks (worst {min(wrong):.3f})" if wrong else "measured on no item"
            yield Finding("gold control", f"{ORACLE}, {dimension.verdict}", found, f"{best:.1f} on every item")
    for gate in exam.pack.pack.hard_gates:
        hits = sitting.hit(gate)
        if hits:
            yield Finding("gold control", f"{ORACLE}, {gate}", f"hit on {len(hits)} items", "gold trips no gate")
    for judged in list(sitting.judged.values())[:1]:
        for verdict in judged.verdicts:
            if verdict.state == "unscored" or (verdict.state != "scored" and not verdict.reason):
                yield Finding(
                    "mounting", f"verdict {verdict.name}", f"{verdict.state} {verdict.reason}".strip(), "scored, or a reason why not"
                )


def check_floors(exam: Exam) -> Iterator[Finding]:
    """Constant controls above their stated floor, dimensions without a floor they declare, and a positive control that is not above it."""
    for dimension in exam.pack.pack.dimensions:
        if dimension.floor != "none" and exam.floors[dimension.verdict].value is None:
            yield Finding("floors", dimension.verdict, exam.floors[dimension.verdict].how, "a stated floor can be measured")
    for name in usable(exam, purpose=FLOOR):
        for score in sit_control(exam, name).line.dimensions:
            if score.floor is not None and score.value is not None and _is_above(score.value, score.floor, score.direction):
                yield Finding("floors", f"{name}, {score.verdict}", f"{score.value:.3f}", f"at most its floor, {score.floor:.3f}")
    readers = usable(exam, purpose=POSITIVE)
    if not readers:
        yield Finding("floors", "controls", "no positive control", "a reader that beats the floors")
    for name in readers:
        for score in sit_control(exam, name).line.dimensions:
            if score.role == "skill" and (
                score.value is None or score.floor is None or not _is_above(score.value, score.floor, score.direction)
            ):
                found = "unmeasured" if score.value is None else f"{score.value:.3f}"
                yield Finding("floors", f"{name}, {score.verdict}", found, f"above its floor, {score.floor}")


def _is_above(value: float, floor: float, direction: str) -> bool:
    return value < floor - EXACT if direction == "lower" else value > floor + EXACT


def check_silence(exam: Exam) -> Iterator[Finding]:
    """Scored dimensions on which saying nothing earns something."""
    sitting = sit(exam, "silence", lambda item, gold: [""] * len(exam.turns[item.item_id]))
    for dimension in exam.pack.pack.dimensions:
        worst = 1.0 if dimension.direction == "lower" else 0.0
        values = [value for value in sitting.values(dimension.verdict) if value is not None]
        paid = [value for value in values if abs(value - worst) > EXACT]
        if paid or not values:
            found = f"silence earns {max(paid):.3f} on {len(paid)} items" if paid else "silence is judged on no item"
            yield Finding("silence", dimension.verdict, found, f"{worst:.1f} on every item")


def check_hard_gates(exam: Exam) -> Iterator[Finding]:
    """Declared hard gates that no control trips, or whose control keeps a headline above 0 where it trips."""
    left = list(exam.pack.pack.hard_gates)
    for variant in (exam, exam.with_gold(with_red_flag)):
        for name in usable(variant):
            if left and not variant.pack.controls[name].reads_gold and not name.startswith(FLOOR):
                sitting = sit_control(variant, name)
                for gate in [gate for gate in left if len(sitting.hit(gate)) >= MIN_ITEMS]:
                    left.remove(gate)
                    headline = sit_control(variant.only(sitting.hit(gate)), name).line.headline
                    if headline is None or headline > 0:
                        found = "no headline" if headline is None else f"{headline:.3f}"
                        yield Finding("hard gates", f"{gate}, tripped by {name}", f"headline {found}", "exactly 0.000")
    for gate in left:
        yield Finding("hard gates", gate, f"no control trips it on {MIN_ITEMS} items", "each hard gate has a control that trips it")


def with_red_flag(gold: GoldRow) -> GoldRow:
    """Gold of the same patient with a red flag, for the gates that need one."""
    return replace(gold, gold=replace(gold.gold, has_red_flag=True, is_action_warranted=True))


def check_probes(exam: Exam) -> Iterator[Finding]:
    """Appended questions that the right oracle does not get right, or the wrong one not wrong."""
    appended = dict(exam.pack.pack.probes).get("appended") or ()
    judges = [use.name for use in exam.pack.pack.judges if use.judge.removeprefix("probe_") in appended]
    for kind in appended:
        if f"probe_{kind}" not in {use.judge for use in exam.pack.pack.judges}:
            yield Finding("probes", f"probes.appended, {kind}", "no judge is mounted for it", "every appended question is judged")
    for name, best in ((RIGHT, 1.0), (WRONG, 0.0)) if judges else ():
        if name not in usable(exam):
            yield Finding("probes", name, "no such control", "both ends of the appended questions are pinned")
            continue
        sitting = sit_control(exam, name)
        for judge in judges:
            values = [value for value in sitting.values(judge) if value is not None]
            wrong = sum(value != best for value in values)
            if wrong or not values:
                found = f"{wrong} of {len(values)} items otherwise" if values else "measured on no item"
                yield Finding("probes", f"{name}, {judge}", found, f"{best:.0f} on every item")


def check_written(exam: Exam) -> Iterator[Finding]:
    """Rows of controls.jsonl that do not get exactly the verdicts and gates they must."""
    for number, row in enumerate(exam.pack.control_answers, start=1):
        place = f"controls.jsonl, row {number} ({row.get('name', 'unnamed')})"
        try:
            judged = judge_written(exam, row)
        except (KeyError, TypeError, ValueError) as problem:
            yield Finding(
                "written controls", place, f"a row that cannot be judged ({problem!r})", "name, episode, gold, replies, expects, hard_gates"
            )
            continue
        said = {verdict.name: verdict.value for verdict in judged.verdicts}
        for verdict, wanted in row["expects"].items():
            value = said.get(verdict)
            if (value is None) != (wanted is None) or (value is not None and abs(value - wanted) > 1e-6):
                yield Finding("written controls", f"{place}, {verdict}", str(value), f"exactly {wanted}")
        hits = sorted(gate.name for gate in judged.gates if gate.hit and gate.name in exam.pack.pack.hard_gates)
        if hits != sorted(row["hard_gates"]):
            yield Finding("written controls", f"{place}, hard gates", ", ".join(hits) or "none", f"exactly {row['hard_gates'] or 'none'}")


def judge_written(exam: Exam, row: Mapping[str, Any]) -> Judged:
    """The verdicts on one written control: its replies on its own gold, round by round."""
    told, replies = row["gold"], row["replies"]
    points = tuple(TurningPoint(**point) for point in told["turning_points"])
    gold = ForecastGold(told["event_occurs"], tuple(told["drivers"]), points, told["has_red_flag"], told["is_action_warranted"])
    item, base = exam.items[0]
    window = WRITTEN_CADENCE * max(1, len(replies) - 1)
    item = replace(item, episodes=(row["episode"],), index_day=WRITTEN_INDEX_DAY, window_days=window, cadence_days=WRITTEN_CADENCE)
    read = [read_answer(reply, "stop", exam.pack.answer_model) for reply in replies]
    answers = tuple(RoundAnswer(WRITTEN_INDEX_DAY + turn * WRITTEN_CADENCE, each) for turn, each in enumerate(read))
    subject = Subject(
        item, replace(base, gold=gold), answers, read_delivered_ids(item.record, exam.knowledge), row["episode"], "none", exam.knowledge
    )
    return judge_cell(subject, exam.pack.pack)
