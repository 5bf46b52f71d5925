"""Whether each control of a pack gets what it must get: gold full marks, constants their floor, silence nothing, a tripped gate 0."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clinworld.access.replies import read_answer
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.mount import Judged, judge_cell
from clinworld.judges.subject import Subject
from clinworld.run.pack_exam import EXACT, Exam, sit, sit_control, usable
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, GoldRow, TurningPoint

WRITTEN_INDEX_DAY, WRITTEN_CADENCE = 84, 28  # rows of controls.jsonl are written for rounds on these days
ORACLE, RIGHT, WRONG, POSITIVE = "oracle", "oracle_probe_right", "oracle_probe_wrong", "positive control"


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
    constants = [name for name in usable(exam) if not exam.pack.controls[name].reads_gold and sit_control(exam, name).is_constant]
    if not constants:
        yield Finding("floors", "controls", "no constant control", "an answer that looks at nothing")
    for name in constants:
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
    """Declared hard gates that no control trips wherever they can fire, or whose control keeps a headline above 0.

    Where gold gives a gate nothing to stop (no red flag, no action warranted), the items are judged under gold that does.
    """
    variants = (exam, exam.with_gold(with_action), exam.with_gold(with_red_flag))
    for gate in exam.pack.pack.hard_gates:
        meant = [name for name in usable(exam) if gate in exam.pack.controls[name].purpose]
        tripped = next(((v, name) for v in variants for name in meant if len(sit_control(v, name).hit(gate)) == len(v.items)), None)
        if tripped is None:
            found = f"{', '.join(meant)} does not trip it on every item" if meant else "no control says that it trips it"
            yield Finding("hard gates", gate, found, "each hard gate has a control that trips it")
            continue
        headline = sit_control(*tripped).line.headline
        if headline is None or headline > 0:
            found = "no headline" if headline is None else f"headline {headline:.3f}"
            yield Finding("hard gates", f"{gate}, tripped by {tripped[1]}", found, "headline exactly 0.000")


def with_action(gold: GoldRow) -> GoldRow:
    """Gold of the same patient in whom action is warranted."""
    return replace(gold, gold=replace(gold.gold, is_action_warranted=True))


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
