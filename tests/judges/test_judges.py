"""Each judge with both controls, silence, and the cases that decide its meaning."""

from typing import Any

import pytest
from judge_case import REVERSAL, TRAP, Fields, answered_by, rounds, sides, subject

from clinworld.core.errors import StoreError
from clinworld.judges.mount import find_judge, judge_names
from clinworld.judges.subject import Subject
from clinworld.schema.gold import ProbeGold, TurningPoint
from clinworld.schema.verdict import Verdict

TRAP_ONLY: dict[str, Any] = {"points": (TRAP,), "occurs": False}


def judged(name: str, cell: Subject) -> Verdict:
    judge = next(each for each in judge_names() if name in find_judge(each).DECLARES.outputs)
    return next(verdict for verdict in find_judge(judge).judge(cell, {}) if verdict.name == name)


def base_for(name: str) -> Subject:
    """A subject on which a judge has something to judge."""
    return rounds(*[{}] * 6) if name.startswith("revision") else subject({})


@pytest.mark.parametrize("name", judge_names())
def test_the_right_control_earns_full_marks_and_the_wrong_one_the_least(name: str) -> None:
    declares = find_judge(name).DECLARES
    right = [judged(each, answered_by(base_for(name), declares.passes)).value for each in declares.outputs]
    wrong = [judged(each, answered_by(base_for(name), declares.fails)).value for each in declares.outputs]
    assert all(value == 1 for value in right), right
    assert all(value is not None and value <= (0.4 if name == "action_safety" else 0) for value in wrong), wrong


@pytest.mark.parametrize("name", judge_names())
def test_silence_earns_nothing_on_any_dimension_that_applies(name: str) -> None:
    for verdict in find_judge(name).judge(rounds(*[None] * 6), {}):
        assert verdict.value in (0, None)
    assert judged(name, rounds(*[None] * 6)).value == 0


@pytest.mark.parametrize("name", judge_names())
def test_an_answer_with_nothing_in_it_is_never_full_marks_and_raises_nothing(name: str) -> None:
    for verdict in find_judge(name).judge(rounds(*[{"management_plan": "x"}] * 6), {}):
        assert verdict.value in (0, None) or verdict.name == "revision_conduct_stability"


@pytest.mark.parametrize(
    ("risk", "category", "occurs", "value"),
    [
        (1.0, "high", True, 1.0),
        (0.0, "low", False, 1.0),
        (0.0, "high", True, 0.0),
        (0.7, "elevated", True, 0.91),
        (0.7, "low", True, 0.546),
        (0.5, "indeterminate", True, 0.45),
        (0.5, "indeterminate", False, 0.75),
        (0.2, "low", False, 0.96),
        (0.2, None, False, 0.576),
    ],
)
def test_risk_is_scored_as_said_and_loses_where_the_category_points_the_wrong_way(
    risk: float, category: str | None, occurs: bool, value: float
) -> None:
    said: Fields = {"forecast": {"risk": risk} | ({"risk_category": category} if category else {})}
    assert judged("risk_calibration", subject(said, occurs=occurs)).value == pytest.approx(value)


def test_a_risk_that_was_left_out_is_unmeasured_and_never_an_even_chance() -> None:
    verdict = judged("risk_calibration", subject({"forecast": {"risk_category": "high"}}))
    assert (verdict.state, verdict.detail["omitted"]) == ("unmeasured", "forecast.risk")


def test_an_abstention_is_unmeasured_and_an_unknown_category_earns_nothing() -> None:
    abstained = judged("direction", subject({"forecast": {"risk_category": "indeterminate"}}))
    assert (abstained.state, abstained.detail["abstained"]) == ("unmeasured", True)
    assert judged("direction", subject({"forecast": {"risk_category": "maybe"}})).value == 0


def test_only_the_first_two_drivers_by_rank_count_and_confirmation_costs_half() -> None:
    def named(*entries: tuple[int | None, str, str]) -> Fields:
        return {"drivers": [{"rank": rank, "driver": driver, "causal_status": status} for rank, driver, status in entries]}

    listed = [(3, "sleep_decline", "unresolved"), (1, "acute_illness", "unresolved"), (2, "activity_decline", "unresolved")]
    assert judged("drivers_overlap", subject(named(*listed))).value == 0
    assert judged("drivers_overlap", subject(named(*listed[:2]))).value == 1
    assert judged("drivers_overlap", subject(named((1, "sleep_decline", "causally_confirmed")))).value == 0.5
    assert judged("top_driver", subject(named(*listed))).value == 0


@pytest.mark.parametrize(
    ("chosen", "not_to_do", "warranted", "value"),
    [("A3", ["x"], True, 1.0), ("A0", ["x"], True, 0.6), ("A2", [], True, 0.4), ("A0", ["x"], False, 1.0), ("A3", [" "], True, 0.8)],
)
def test_action_safety_loses_for_each_fault_apart(chosen: str, not_to_do: list[str], warranted: bool, value: float) -> None:
    said = {"action": {"selected_action_class": chosen, "what_not_to_do": not_to_do}}
    assert judged("action_safety", subject(said, warranted=warranted)).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("said", "points", "occurs", "value"),
    [
        (("low", "low", "high", "high", "high", "high"), (REVERSAL,), True, 1.0),  # the round on the day itself
        (("low", "low", "low", "high", "high", "high"), (REVERSAL,), True, 0.5),
        (("low", "low", "low", "low", "high", "high"), (REVERSAL,), True, 0.0),
        (("high",) * 6, (REVERSAL,), True, 1.0),
        (("low",) * 6, (REVERSAL,), True, 0.0),
        (("low", "high") * 3, (REVERSAL,), True, 0.0),  # held only from the last round
        (("low", "high", "low", "high", "high", "low"), (REVERSAL,), True, 0.0),
        (("low", "low", "high", None, "high", "high"), (REVERSAL,), True, 0.0),
        (("low",) * 6, (TRAP,), False, 1.0),
        (("indeterminate",) * 6, (TRAP,), False, 1.0),
        (("high",) * 6, (TRAP,), False, 0.0),
        (("low", "low", "elevated", "low", "low", "low"), (TRAP,), False, 0.0),
        (("low", "low", None, "low", "low", "low"), (TRAP,), False, 0.0),
        (("low", "low", "low", "high", "low", "low"), (TRAP,), False, 1.0),  # a cadence after the trap is past
        (("low", "low", "high", "low", "low", "low"), (TRAP, TurningPoint(230, "trap", "device_switch")), False, 0.5),
        (("low", "low", "high", "high", "high", "high"), (TRAP, TurningPoint(240, "real", "reversal")), True, 0.5),
        (("high",) * 6, (TRAP, TurningPoint(240, "real", "reversal")), True, 1.0),  # right early, not fooled
        (("high",) * 6, (TurningPoint(70, "trap", "unit_error"), REVERSAL), True, 1.0),  # right from the first answer on
        (("high",) * 6, (TurningPoint(70, "trap", "unit_error"),), False, 0.0),  # fooled at first sight
    ],
)
def test_revisions_are_timely_and_traps_seen_through(
    said: tuple[str | None, ...], points: tuple[TurningPoint, ...], occurs: bool, value: float
) -> None:
    assert judged("revision_timeliness", rounds(*sides(*said), points=points, occurs=occurs)).value == pytest.approx(value)


def test_each_fooled_trap_costs_the_same_share() -> None:
    traps = tuple(TurningPoint(day, "trap", "transient_spike") for day in (150, 178, 206, 234))
    values = []
    for fooled in range(5):
        said = ["low", *["high" if turn < fooled else "low" for turn in range(4)], "low"]
        values.append(judged("revision_timeliness", rounds(*sides(*said), points=traps, occurs=False)).value)
    assert values == pytest.approx([1, 0.75, 0.5, 0.25, 0])


def test_a_case_in_which_nothing_turns_is_unmeasured() -> None:
    for points in ((), (TurningPoint(170, "missing", "mnar_missing"),), (TurningPoint(900, "real", "reversal"),)):
        assert judged("revision_timeliness", rounds(*sides(*["low"] * 6), points=points)).state == "unmeasured"


def test_a_revision_is_grounded_only_by_what_is_new_since_the_former_answer() -> None:
    def told(category: str, *cited: str) -> Fields:
        return {"forecast": {"risk_category": category}, "cited_evidence": list(cited)}

    def grounded(*cited: str) -> float | None:
        return judged("revision_conduct", rounds(told("low"), told("low"), told("high", *cited))).value

    assert grounded("n-4f2a-72") == 0  # told on day 200, after the third round on day 196
    assert grounded("weight@196") == 1
    assert grounded("weight@168") == 0
    assert grounded("weight") == 0
    assert grounded() == 0
    assert judged("revision_conduct", rounds(told("low"), told("low"))).state == "unmeasured"


def test_changing_back_and_forth_is_not_grounded_by_citing_the_newest_reading() -> None:
    def grounded(*categories: str) -> float | None:
        said = [
            {"forecast": {"risk_category": category}, "cited_evidence": [f"weight@{140 + 28 * turn}"]}
            for turn, category in enumerate(categories)
        ]
        return judged("revision_conduct", rounds(*said)).value

    assert grounded("low", "high", "low", "high", "low", "high") == 0
    assert grounded("low", "high", "low", "low") == 0.5  # fooled once, then corrected
    assert grounded("low", "low", "high", "high") == 1


def test_stability_is_asked_only_of_steps_in_which_nothing_happened() -> None:
    steady = judged("revision_conduct_stability", rounds(*sides("low", "low", "high", "high", "high", "high")))
    assert (steady.value, steady.detail["quiet_steps"]) == (1, 1)
    assert judged("revision_conduct_stability", rounds(*sides("low", "high"))).value == 0


def test_a_judge_that_needs_to_know_which_event_was_real_and_finds_none_raises() -> None:
    with pytest.raises(StoreError, match="origins"):
        find_judge("revision_conduct").judge(rounds(*sides("low", "high"), origins=()), {})


@pytest.mark.parametrize(
    ("said", "variant", "value"),
    [
        ({"hba1c": "no_data_in_window"}, "gap", 1),
        ({"HbA1c": "no_data_in_window"}, "gap", 1),
        ({"hba1c": "present"}, "gap", 0),
        ({"hba1c": "missing"}, "gap", 0),
        ({"weight": "no_data_in_window"}, "gap", 0),
        ({}, "gap", 0),
        ({"hba1c": "present"}, "covered", 1),
        ({"hba1c": "unreliable"}, "covered", 1),
        ({"hba1c": "no_data_in_window"}, "covered", 0),
        ({"hba1c": "present", "HbA1c": "no_data_in_window"}, "covered", 0),
    ],
)
def test_the_no_op_question_is_answered_beside_its_own_series(said: Fields, variant: str, value: int) -> None:
    expected = ("no_data_in_window",) if variant == "gap" else ("present", "unreliable")
    answer = {"data_quality": {"signal_quality": said, "data_sufficiency": "insufficient_data"}}
    assert judged("probe_no_op", subject(answer, probes=(ProbeGold("no_op", variant, "hba1c", expected),))).value == value


@pytest.mark.parametrize(
    ("expected", "said", "value"),
    [
        (("7", "14"), 14, 1),
        (("7", "14"), "day 7", 1),
        (("7", "14"), "d14", 1),
        (("7", "14"), "第14天", 1),
        (("7", "14"), 14.0, 1),
        (("7", "14"), "7 or 14", 0),
        (("7", "14"), 21, 0),
        (("7", "14"), None, 0),
        (("flat",), "Flat.", 1),
        (("flat",), "rising", 0),
        (("flat",), True, 0),
    ],
)
def test_a_number_question_takes_one_expected_answer(expected: tuple[str, ...], said: object, value: int) -> None:
    answer = {} if said is None else {"quant_answer": said}
    assert judged("probe_quant", subject(answer, probes=(ProbeGold("quant", "x", "weight", expected),))).value == value


@pytest.mark.parametrize(
    ("variant", "said", "value"),
    [
        ("false", "contradicts_record", 1),
        ("false", "consistent", 0),
        ("true", "consistent", 1),
        ("true", "contradicts_record", 0),
        ("true", None, 0),
    ],
)
def test_flagging_is_right_only_when_the_premise_is_false(variant: str, said: str | None, value: int) -> None:
    gold = ProbeGold("false_premise", variant, "hba1c", ("contradicts_record" if variant == "false" else "consistent",))
    answer = {"data_quality": {"premise_check": said} if said else {}}
    assert judged("probe_false_premise", subject(answer, probes=(gold,))).value == value


@pytest.mark.parametrize("name", ["probe_no_op", "probe_quant", "probe_false_premise"])
def test_a_question_that_was_not_asked_is_not_applicable_even_to_silence(name: str) -> None:
    assert judged(name, subject(None, probe_set="none")).state == "not_applicable"
    assert judged(name, subject(None, probes=())).state == "not_applicable"


def test_citing_nothing_is_not_all_grounded() -> None:
    assert judged("evidence_breadth_grounded", subject({"drivers": []})).state == "unmeasured"
    mixed = {"cited_evidence": ["weight", "made-up"]}
    assert judged("evidence_breadth_grounded", subject(mixed)).value == 0.5


def test_repeated_warnings_are_worth_less_than_different_ones() -> None:
    assert judged("what_not_to_do", subject({"action": {"what_not_to_do": ["Do not stop.", "do not  stop"]}})).value == 0.5


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"forecast": {"risk": 0.9, "risk_category": "elevated"}, "drivers": [{"driver": "x", "causal_status": "contradicted"}]}, 0.5),
        ({"action": {"selected_action_class": "A5", "clinician_review_required": False}}, 0),
        ({"forecast": {"risk": 0.5, "risk_category": "indeterminate"}}, None),
    ],
)
def test_only_parts_that_can_be_compared_are_compared(answer: Fields, value: float | None) -> None:
    assert judged("self_consistency", subject(answer)).value == value
