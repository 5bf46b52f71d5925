import time
from typing import Any, get_args

import orjson
import pytest
from access_case import knowledge
from hypothesis import given, settings
from hypothesis import strategies as st

from clinworld.access.replies import extract_json, read_answer, strip_reasoning
from clinworld.packs.forecast.answer import (
    CausalStatus,
    DriverName,
    ForecastAnswer,
    PremiseCheck,
    RiskCategory,
    SignalQuality,
    Sufficiency,
)
from clinworld.schema.answer import Answer

pytestmark = pytest.mark.rows

GOOD = '{"forecast": {"risk": 0.25, "risk_category": "low"}}'


def read(value: Any, finish_reason: str = "stop") -> Answer:
    return read_answer(value if isinstance(value, str) else orjson.dumps(value).decode(), finish_reason, ForecastAnswer)


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Here is my answer:\n{GOOD}\nI hope it helps.",
        f"```json\n{GOOD}\n```",
        f"Some prose.\n```\n{GOOD}\n```\nAnd {{more}} prose.",
        f"<think>maybe {{'risk': 1}} or</think>{GOOD}",
        f"reasoning without an opening tag {{}}</think>\n{GOOD}",
        f'```json\n{{"forecast": {{"risk": 0.9}}}}\n```\nOn reflection:\n```json\n{GOOD}\n```',
        f"A draft {{not json}}.\n{GOOD}\nDone {{really}}.",
        '{\n  "forecast": {\n    "risk": 0.25,\n    "risk_category": "low"\n  }\n}',
        f"\ufeff{GOOD}",
    ],
)
def test_an_answer_is_read_through_prose_fences_and_closed_thinking(reply: str) -> None:
    answer = read(reply)
    assert answer.fields == {"forecast": {"risk": 0.25, "risk_category": "low"}} and answer.unanswered is None
    assert answer.raw == reply


@pytest.mark.parametrize(
    ("reply", "finish_reason", "reasoning", "cause"),
    [
        ("", "stop", "", "empty"),
        (" \n", "stop", "", "empty"),
        ("{}", "stop", "", "empty"),
        ("", "stop", "let me think", "reasoning_only"),
        (f"<think>{GOOD}</think>", "stop", "", "reasoning_only"),
        (f"<think>{GOOD}", "stop", "", "reasoning_only"),
        (f"<think>{GOOD}", "length", "", "cut_off"),
        ('{"forecast": {"risk": 0.2', "length", "", "cut_off"),
        ("", "length", "", "cut_off"),
        ('{"forecast": {"risk": 0.2', "stop", "", "unparsable"),
        ("I cannot answer.", "stop", "", "unparsable"),
        ("[1, 2]", "stop", "", "unparsable"),
        ('{"forecast": {"risk": NaN}}', "stop", "", "unparsable"),
        ('{"forecast": {"risk": Infinity}}', "stop", "", "unparsable"),
        ('{"forecast": {"risk": 1e999}}', "stop", "", "unparsable"),
        ('{"wrong": 1}', "stop", "", "unparsable"),
    ],
)
def test_no_usable_answer_has_its_cause_and_keeps_the_raw_text(reply: str, finish_reason: str, reasoning: str, cause: str) -> None:
    answer = read_answer(reply, finish_reason, ForecastAnswer, reasoning=reasoning)
    assert answer.unanswered == cause and answer.fields == {} and answer.raw == reply


def test_a_whole_answer_that_ended_at_the_limit_is_still_an_answer() -> None:
    assert read(GOOD, "length").unanswered is None


@pytest.mark.parametrize(("risk", "kept"), [(0.0, 0.0), (1.0, 1.0), (0, 0.0), (1, 1.0), (0.5, 0.5)])
def test_risk_zero_and_one_are_kept_as_said(risk: float, kept: float) -> None:
    assert read({"forecast": {"risk": risk}}).fields == {"forecast": {"risk": kept}}


@pytest.mark.parametrize("risk", [-0.01, 1.01, "0.5", True, [0.5], {"value": 0.5}])
def test_a_risk_out_of_range_or_of_the_wrong_type_is_left_out_with_what_was_found(risk: object) -> None:
    answer = read({"forecast": {"risk": risk, "risk_category": "low"}})
    assert answer.fields == {"forecast": {"risk_category": "low"}}
    assert [place for place, _ in answer.left_out] == ["forecast.risk"] and answer.left_out[0][1]


def test_a_field_of_the_wrong_type_or_an_unknown_one_voids_nothing_else() -> None:
    answer = read(
        {
            "forecast": {"risk": "high", "risk_category": "banana", "confidence": 0.4, "mood": 3},
            "drivers": [{"rank": 1, "driver": "gravity"}, "x", {"rank": "first", "driver": "acute_illness", "evidence_for": ["n1", 2]}],
            "action": "A3",
            "data_quality": {"signal_quality": {"steps": "present", "weight": "fine"}, "note": None},
            "extra": {"a": 1},
            "cited_evidence": "n1",
        }
    )
    assert answer.fields == {
        "forecast": {"confidence": 0.4},
        "drivers": [{"rank": 1}, {"driver": "acute_illness", "evidence_for": ["n1"]}],
        "data_quality": {"signal_quality": {"steps": "present"}},
    }
    assert answer.unknown == ("forecast.mood", "extra")
    assert dict(answer.left_out) == {
        "forecast.risk": "'high' (text)",
        "forecast.risk_category": "'banana' (text)",
        "drivers[0].driver": "'gravity' (text)",
        "drivers[1]": "'x' (text)",
        "drivers[2].rank": "'first' (text)",
        "drivers[2].evidence_for[1]": "2 (number)",
        "action": "'A3' (text)",
        "data_quality.signal_quality.weight": "'fine' (text)",
        "cited_evidence": "'n1' (text)",
    }


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("NaN", "NaN (number)"),
        ("-Infinity", "-Infinity (number)"),
        ("1e400", "1e400 (number)"),
        ("9" * 5000, "9" * 80 + "… (number)"),
    ],
)
def test_a_number_that_is_none_leaves_out_its_field_and_keeps_the_others(written: str, shown: str) -> None:
    said = '{"forecast": {"risk": X, "risk_category": "low"}, "drivers": [{"rank": X, "driver": "acute_illness"}]}'
    answer = read(said.replace("X", written))
    assert answer.fields == {"forecast": {"risk_category": "low"}, "drivers": [{"driver": "acute_illness"}]}
    assert answer.left_out == (("forecast.risk", shown), ("drivers[0].rank", shown)) and answer.unanswered is None


@pytest.mark.parametrize("written", [r'"\ud800"', '"a\nb"', '"a\tb"'])
def test_a_text_that_strict_json_refuses_costs_no_other_field(written: str) -> None:
    answer = read('{"forecast": {"risk": 0.25, "risk_category": "low"}, "extra": X}'.replace("X", written))
    assert answer.fields == {"forecast": {"risk": 0.25, "risk_category": "low"}}


ENUMS = {
    ("forecast", "risk_category"): get_args(get_args(RiskCategory)[0]),
    ("data_quality", "data_sufficiency"): get_args(get_args(Sufficiency)[0]),
    ("data_quality", "premise_check"): get_args(get_args(PremiseCheck)[0]),
}


@pytest.mark.parametrize(("path", "word"), [(path, word) for path, words in ENUMS.items() for word in words])
def test_each_value_of_each_closed_set_round_trips_whatever_its_case(path: tuple[str, str], word: str) -> None:
    for written in (word, word.upper(), f" {word}\n"):
        assert read({path[0]: {path[1]: written}}).fields == {path[0]: {path[1]: word}}
    assert read({path[0]: {path[1]: word + "x"}}).left_out


def test_drivers_and_statuses_and_signal_words_round_trip() -> None:
    for word in get_args(DriverName):
        assert read({"drivers": [{"driver": word.upper()}]}).fields == {"drivers": [{"driver": word}]}
    for word in get_args(get_args(CausalStatus)[0]):
        assert read({"drivers": [{"causal_status": f" {word.title()} "}]}).fields == {"drivers": [{"causal_status": word}]}
    for word in get_args(get_args(SignalQuality)[0]):
        assert read({"data_quality": {"signal_quality": {"steps": word}}}).fields == {"data_quality": {"signal_quality": {"steps": word}}}


def test_the_answer_knows_exactly_the_drivers_of_the_knowledge() -> None:
    assert tuple(get_args(DriverName)) == tuple(knowledge().drivers)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("A3", "A3"),
        ("a3", "A3"),
        ("A3 routine_clinician_discussion", "A3"),
        ("A5: now", "A5"),
        ("A9", "A9"),
        ("A35", "A35"),
        ("call", "call"),
    ],
)
def test_an_action_class_is_its_leading_token_and_an_unknown_one_is_kept(written: str, kept: str) -> None:
    assert read({"action": {"selected_action_class": written}}).fields == {"action": {"selected_action_class": kept}}


@pytest.mark.parametrize(("written", "kept"), [("Rising", "rising"), (77, 77), ("77", 77), ("d77", 77), ("day 77", 77)])
def test_a_number_question_takes_a_trend_or_a_day(written: object, kept: object) -> None:
    assert read({"quant_answer": written}).fields == {"quant_answer": kept}


@pytest.mark.parametrize("written", ["up", 7.5, True, ["rising"]])
def test_a_number_question_takes_nothing_else(written: object) -> None:
    assert read({"quant_answer": written}).left_out


HOSTILE = {
    "open brackets": "{" * 3_000_000,
    "deep nesting": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "thinking tags": "<think>" * 300_000,
    "closing tags": "</think>" * 300_000,
    "fences": "```" * 700_000,
    "fenced braces": "```{" * 500_000,
    "lines of braces": "{\n}\n" * 500_000,
    "long strings": '{"forecast": {"risk_category": "' + "x" * 1_900_000 + '"}}',
    "many drivers": '{"drivers": [' + ",".join(['{"driver": "x", "rank": "y"}'] * 60_000) + "]}",
    "many fields": "{" + ",".join(f'"k{i}": 1' for i in range(150_000)) + "}",
    "long numbers": '{"forecast": {"risk": ' + "7" * 1_900_000 + "}}",
    "many numbers": '{"drivers": [NaN' + ",1e999" * 100_000 + "]}",
    "long fractions": '{"a": [' + ",".join(["0." + "3" * 999] * 1900) + ', NaN], "forecast": {"risk": 0.2}}',
    "nested and not finite": '{"a":' * 900 + "NaN" + "}" * 900,
    "fenced and not finite": ('```{"a": NaN' + ",1" * 100_000 + "```") * 9,
    "lone surrogate": '{"forecast": {"risk": 0.5, "risk_category": "\ud800"}}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_replies_are_read_in_bounded_time_and_never_raise(name: str) -> None:
    started = time.process_time()
    answer = read(HOSTILE[name])
    assert time.process_time() - started < 2.0
    assert sum(len(found) for _, found in answer.left_out) < 100_000 and len(answer.unknown) <= 200


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from('{}[]",:`\n <>/thinkjson0.1eNa')))
def test_no_text_makes_reading_raise(text: str) -> None:
    answer = read(text)
    assert (answer.unanswered is None) == bool(answer.fields)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*ForecastAnswer.model_fields, "risk", "driver", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*ForecastAnswer.model_fields, "x"]), JSON, max_size=5))
def test_whatever_is_kept_is_a_valid_answer(value: dict[str, Any]) -> None:
    ForecastAnswer.model_validate(read(value).fields)


def test_reasoning_is_never_part_of_the_answer() -> None:
    assert strip_reasoning("a<think>b</think>c<thinking>d</thinking>e<THINK>f") == "ace"
    assert extract_json("<think>" + GOOD + "</think>nothing") is None
