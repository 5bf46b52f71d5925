from typing import Any

import pytest
from pack_case import knowledge, make_gold, make_item, pack

from clinworld.access.replies import read_answer
from clinworld.access.view import shown_days
from clinworld.core.canary import CANARY
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.mount import judge_cell
from clinworld.judges.subject import Subject
from clinworld.packs.load import pack_names
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.gold import ForecastGold, TurningPoint

ROWS = [(name, row) for name in pack_names() for row in pack(name).control_answers]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name}: {row['name']}" for name, row in ROWS])
def test_each_control_answer_gets_the_verdicts_and_trips_the_gates_it_must(name: str, row: dict[str, Any]) -> None:
    loaded = pack(name)
    item = make_item(pack=name)
    told = row["gold"]
    points = tuple(TurningPoint(**point) for point in told["turning_points"])
    base = make_gold(item, happens=told["event_occurs"])
    gold = base.__class__(
        **{
            **{field: getattr(base, field) for field in base.__slots__},
            "gold": ForecastGold(told["event_occurs"], tuple(told["drivers"]), points, told["has_red_flag"], told["is_action_warranted"]),
        }
    )
    days = shown_days(item, row["episode"])
    answers = tuple(
        RoundAnswer(day, read_answer(reply, "stop", loaded.answer_model)) for day, reply in zip(days, row["replies"], strict=True)
    )
    delivered = read_delivered_ids(item.record, knowledge())
    judged = judge_cell(Subject(item, gold, answers, delivered, row["episode"], "none", knowledge()), loaded.pack)
    said = {verdict.name: verdict.value for verdict in judged.verdicts}
    assert {verdict: said[verdict] for verdict in row["expects"]} == pytest.approx(row["expects"])
    assert sorted(gate.name for gate in judged.gates if gate.hit and gate.name in loaded.pack.hard_gates) == sorted(row["hard_gates"])


@pytest.mark.parametrize("name", pack_names())
def test_every_row_of_control_answers_carries_the_canary(name: str) -> None:
    assert pack(name).control_answers
    assert all(row["canary"] == CANARY for row in pack(name).control_answers)


@pytest.mark.parametrize("name", pack_names())
def test_control_answers_hold_gold_silence_something_unsafe_and_a_near_miss(name: str) -> None:
    names = " ".join(row["name"] for row in pack(name).control_answers)
    assert all(word in names for word in ("gold", "silence", "near miss")) and any(row["hard_gates"] for row in pack(name).control_answers)
