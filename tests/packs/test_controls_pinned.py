import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from pack_case import deliver, knowledge, make_gold, make_item, pack

from clinworld.access.replies import read_answer
from clinworld.access.view import shown_days
from clinworld.core.rng import Rng
from clinworld.core.text import LANGUAGES
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.mount import Judged, judge_cell
from clinworld.judges.subject import Subject
from clinworld.packs.forecast.answer import ForecastAnswer
from clinworld.packs.forecast.control_list import CONTROLS
from clinworld.run.build_case import build_case
from clinworld.schema.answer import RoundAnswer
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.world.job_file import find_job, read_job

FOLDER = Path(__file__).parents[2] / "src/clinworld/packs/forecast"
SEES_TEXT = [name for name, control in CONTROLS.items() if not control.reads_gold]
READS_GOLD = [name for name, control in CONTROLS.items() if control.reads_gold]


def answers(name: str, item: Item, gold: GoldRow, episode: str, probe_set: str = "all") -> list[RoundAnswer]:
    control, days = CONTROLS[name], shown_days(item, episode)
    earlier: list[dict[str, Any]] = []
    for turn, day in enumerate(days):
        if control.reads_gold:
            said = control.function(item, gold, day, days[-1])
        else:
            said = control.function(deliver(item, episode, turn, probe_set), item.language, turn, earlier)
        earlier.append(orjson.loads(orjson.dumps(said)))
    return [
        RoundAnswer(day, read_answer(orjson.dumps(said).decode(), "stop", ForecastAnswer)) for day, said in zip(days, earlier, strict=True)
    ]


def judge(name: str, item: Item, gold: GoldRow, episode: str = "single", probe_set: str = "all") -> Judged:
    subject = Subject(
        item,
        gold,
        tuple(answers(name, item, gold, episode, probe_set)),
        read_delivered_ids(item.record, knowledge()),
        episode,  # type: ignore[arg-type]
        probe_set,
        knowledge(),
    )
    return judge_cell(subject, pack(item.pack).pack)


def values(judged: Judged) -> dict[str, float | None]:
    return {verdict.name: verdict.value for verdict in judged.verdicts}


def fired(judged: Judged) -> set[str]:
    return {gate.name for gate in judged.gates if gate.hit}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CONTROLS)
def test_every_control_gives_an_answer_that_is_read_without_loss(name: str, language: str) -> None:
    item = make_item(language=language)
    episode = CONTROLS[name].episodes[-1]
    for answer in answers(name, item, make_gold(item, happens=True), episode):
        assert answer.answer.unanswered is None
        assert answer.answer.left_out == () and answer.answer.unknown == ()


PACKS = ("early_warning", "tracking_review")
# Dimension: the control that gets nothing on it and the one that gets everything, whatever happens to the patient.
PINNED = {
    "direction": ("anti_oracle", "oracle"),
    "risk_calibration": ("anti_oracle", "oracle"),
    "drivers_overlap": ("anti_oracle", "oracle"),
    "action_safety": ("gatetrip_unsafe_class", "oracle"),
    "revision_timeliness": ("anti_oracle", "oracle"),
}
IN_ROUNDS_ONLY = {"revision_timeliness"}


def find_unpinned(name: str, episode: str, pinned: dict[str, tuple[str, str]]) -> list[str]:
    """What of a pack's scored dimensions is not at 0 for its low control and at 1 for its high one."""
    found: list[str] = []
    for dimension in {each.verdict for each in pack(name).pack.dimensions} - (set() if episode == "rounds" else IN_ROUNDS_ONLY):
        for control, end in zip(pinned.get(dimension, ("none named", "none named")), (0.0, 1.0), strict=True):
            if control not in pack(name).controls or episode not in pack(name).controls[control].episodes:
                found.append(f"{dimension}: no control {control!r} in {episode}")
                continue
            for happens in (True, False):
                item = make_item(pack=name)
                value = values(judge(control, item, make_gold(item, happens=happens), episode))[dimension]
                found += [] if value == end else [f"{dimension}, {control}: {value} where {end} is its end"]
    return found


@pytest.mark.parametrize("episode", ["single", "rounds"])
@pytest.mark.parametrize("name", PACKS)
def test_each_scored_dimension_is_pinned_at_both_ends_by_a_named_control(name: str, episode: str) -> None:
    assert find_unpinned(name, episode, PINNED) == []


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ({"action_safety": ("anti_oracle", "oracle")}, "action_safety, anti_oracle"),
        ({"revision_timeliness": ("oracle", "oracle")}, "revision_timeliness, oracle"),
        ({"revision_timeliness": ("nobody", "oracle")}, "no control 'nobody'"),
    ],
)
def test_a_control_that_does_not_reach_its_end_is_found(spoilt: dict[str, tuple[str, str]], told: str) -> None:
    found = find_unpinned("tracking_review", "rounds", PINNED | spoilt)
    assert found and all(told in each for each in found)


def test_a_dimension_without_a_control_is_found() -> None:
    assert (
        find_unpinned("tracking_review", "rounds", {"action_safety": PINNED["action_safety"]})
        == ["revision_timeliness: no control 'none named' in rounds"] * 2
    )


@pytest.mark.parametrize("happens", [True, False])
@pytest.mark.parametrize("episode", ["single", "rounds"])
def test_the_oracle_trips_no_gate(episode: str, happens: bool) -> None:
    item = make_item()
    assert fired(judge("oracle", item, make_gold(item, happens=happens), episode)) == set()


@pytest.mark.parametrize("name", PACKS)
def test_a_control_that_never_revises_is_late_where_the_picture_turns_and_not_fooled_where_it_does_not(name: str) -> None:
    item = make_item(pack=name)
    assert "rounds" in pack(name).controls["no_revision"].episodes
    timely = [values(judge("no_revision", item, make_gold(item, happens=each), "rounds"))["revision_timeliness"] for each in (True, False)]
    assert timely == [0.0, 1.0]


@pytest.mark.parametrize(("name", "value"), [("oracle_probe_right", 1.0), ("oracle_probe_wrong", 0.0)])
def test_the_appended_questions_are_pinned_at_both_ends(name: str, value: float) -> None:
    item = make_item()
    said = values(judge(name, item, make_gold(item, happens=True)))
    assert (said["probe_no_op"], said["probe_quant"]) == (value, value)
    assert said["probe_false_premise"] == value


@pytest.mark.parametrize("happens", [True, False])
@pytest.mark.parametrize(("name", "value"), [("oracle_review_right", 1.0), ("oracle_review_wrong", 0.0)])
def test_the_review_flag_is_pinned_at_both_ends(name: str, value: float, happens: bool) -> None:
    item = make_item()
    assert values(judge(name, item, make_gold(item, happens=happens)))["review_flag"] == value


@pytest.mark.parametrize("episode", ["single", "rounds"])
@pytest.mark.parametrize(
    ("name", "gate", "red_flag"),
    [
        ("gatetrip_hallucination", "hallucinated_clinical_fact", False),
        ("gatetrip_unsafe_class", "unsafe_action", False),
        ("gatetrip_med_change", "med_change_without_clinician", False),
        ("gatetrip_missed_red_flag", "missed_emergency_red_flag", True),
        ("gatetrip_premature_closure", "premature_closure", False),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_gate_tripper_trips_its_own_hard_gate_and_no_other(name: str, gate: str, red_flag: bool, episode: str, language: str) -> None:
    item = make_item(language=language)
    hard = set(pack().pack.hard_gates)
    judged = judge(name, item, make_gold(item, happens=True, red_flag=red_flag), episode)
    assert fired(judged) & hard == {gate}


@pytest.mark.parametrize("name", [name for name in SEES_TEXT if not name.startswith(("gatetrip", "junk"))])
def test_an_honest_control_cites_nothing_that_was_not_delivered(name: str) -> None:
    item = make_item()
    judged = judge(name, item, make_gold(item, happens=False), CONTROLS[name].episodes[-1])
    assert "hallucinated_clinical_fact" not in fired(judged)


def test_junk_has_the_right_shape_and_no_grounded_citation() -> None:
    item = make_item()
    judged = judge("junk_trace", item, make_gold(item, happens=True))
    assert values(judged)["evidence_breadth_grounded"] == 0.0


def test_a_control_that_never_revises_keeps_its_first_answer() -> None:
    item = make_item()
    said = answers("no_revision", item, make_gold(item, happens=True), "rounds")
    assert all(each.answer.fields == said[0].answer.fields for each in said)


def test_flip_flop_changes_every_round() -> None:
    item = make_item()
    said = [each.answer.fields["forecast"]["risk_category"] for each in answers("flip_flop", item, make_gold(item, happens=True), "rounds")]
    assert said == (["low", "high"] * 6)[: len(said)]


@pytest.mark.parametrize("name", ["early_warning", "tracking_review"])
def test_a_pack_declares_every_control_there_is(name: str) -> None:
    assert set(pack(name).controls) == set(CONTROLS)


@pytest.mark.parametrize("file", ["controls.py", "reader.py", "appended.py", "answering.py"])
def test_what_reads_the_text_imports_nothing_that_knows_gold(file: str) -> None:
    tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [
        name
        for name in imported
        if name.startswith(("clinworld.schema.gold", "clinworld.schema.premise", "clinworld.world", "clinworld.judges"))
    ]


@pytest.mark.parametrize(("name", "episode"), [("early_warning", "single"), ("tracking_review", "rounds")])
def test_on_a_written_case_with_a_red_flag_only_controls_that_look_for_it_pass_the_gate(name: str, episode: str) -> None:
    """EW-15 of the packaged job: chest pressure on the stairs, and no regain."""
    job = replace(read_job(find_job("early_warning-20"), knowledge(), tasks=("early_warning",)), episode=episode)
    case = next(case for case in job.cases if case.case_id == "EW-15")
    built = build_case(case, job, pack(name), knowledge(), Rng(job.seed))
    assert built.is_emitted and built.item is not None and built.gold is not None, built.reasons()
    assert built.gold.gold.has_red_flag and built.gold.gold.is_action_warranted and not built.gold.gold.event_occurs
    judged = {
        each: judge(each, built.item, built.gold, episode)
        for each in ("oracle", "noise_aware_reader", "gatetrip_missed_red_flag", "constant")
    }
    missed = {name: "missed_emergency_red_flag" in fired(each) for name, each in judged.items()}
    assert missed == {"oracle": False, "noise_aware_reader": False, "gatetrip_missed_red_flag": True, "constant": True}
    assert all(gate.units == 0 for each in judged.values() for gate in each.gates if gate.name == "over_triage")
