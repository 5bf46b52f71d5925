from dataclasses import replace

import pytest
from pack_case import daily, deliver, knowledge, make_item, make_record, make_series

from clinworld.core.text import LANGUAGES, Wording
from clinworld.packs.forecast.reader import find_moves, has_risen, load_rules, read_forecast, scales_disagree
from clinworld.schema.item import ProbeQuestion
from clinworld.schema.record import Note

EVIDENCE = {
    "poor_medication_adherence": daily("med_adherence", 92.0, shift=-30.0, shift_from=55),
    "medication_intolerance": daily("gi_symptom_score", 1.2, step=7, keep=1.0, shift=5.0, shift_from=50),
    "calorie_intake_change": daily("carb_pct", 45.0, step=7, keep=1.0, shift=20.0, shift_from=50),
    "activity_decline": daily("steps", 7000.0, shift=-3000.0, shift_from=55),
    "sleep_decline": daily("sleep_hours", 6.8, shift=-1.7, shift_from=55),
    "measurement_noise": daily("scale_quality", 96.0, shift=-35.0, shift_from=55),
}


DAYS = list(range(0, 141, 7))
FALLING = {
    "weight": make_series("weight", DAYS, [98 - 10 * min(day, 84) / 84 for day in DAYS]),
    "weight_clinic": make_series("weight_clinic", [0, 28, 56, 84, 112, 140], [98, 94.7, 91.3, 88, 88, 88]),
}


def test_nothing_moved_reads_as_low_risk_and_no_cause() -> None:
    answer = read_forecast(deliver(make_item(record=make_record(**FALLING))))
    assert answer["forecast"]["risk_category"] == "low" and answer["forecast"]["risk"] < 0.2
    assert answer["drivers"][0]["driver"] == "unknown_or_multifactorial"
    assert answer["action"]["selected_action_class"] == "A0"


def test_little_weight_lost_raises_the_risk_and_asks_for_a_clinician() -> None:
    answer = read_forecast(deliver(make_item()))
    assert answer["forecast"]["risk_category"] == "low" and answer["forecast"]["risk"] > 0.2
    assert answer["drivers"][1]["driver"] == "biological_low_response"
    assert answer["action"]["clinician_review_required"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("driver", EVIDENCE)
def test_each_cause_is_read_from_its_own_series_in_both_languages(driver: str, language: str) -> None:
    series = EVIDENCE[driver]
    item = make_item(record=make_record(**{series.name: series}), language=language)
    answer = read_forecast(deliver(item))
    assert answer["drivers"][0]["driver"] == driver
    assert answer["forecast"]["risk_category"] == "high" and answer["action"]["clinician_review_required"]
    assert answer["drivers"][0]["evidence_for"][0].startswith(f"{series.name}@")


def test_the_reader_knows_every_cause_that_a_stream_shows() -> None:
    shown = {row.id for row in knowledge().drivers.values() if row.evidence} | {"poor_medication_adherence"}
    assert {rule.driver for rule in load_rules()} == shown
    assert {rule.series for rule in load_rules()} <= set(knowledge().streams)


def test_evidence_that_moves_after_the_day_shown_is_not_read() -> None:
    late = daily("med_adherence", 92.0, shift=-30.0, shift_from=120)
    item = make_item(record=make_record(med_adherence=late))
    assert find_moves(deliver(item)) == []
    assert [move.rule.driver for move in find_moves(deliver(item, "rounds", 4))] == ["poor_medication_adherence"]


def test_a_lasting_home_scale_offset_is_discounted_by_the_clinic_scale() -> None:
    moved = daily("weight", 92.0, keep=0.9, shift=3.2, shift_from=60)
    item = make_item(record=make_record(weight=moved))
    delivered = deliver(item)
    assert scales_disagree(delivered) and not has_risen(delivered)
    answer = read_forecast(delivered)
    assert answer["forecast"]["risk_category"] == "low" and answer["data_quality"]["signal_quality"] == {"weight": "unreliable"}


def test_a_rise_on_the_clinic_scale_is_read_as_elevated() -> None:
    weights = [98.0, 94.0, 90.0, 90.2, 92.5, 93.0]
    clinic = make_series("weight_clinic", [0, 28, 56, 84, 112, 140], weights)
    home = make_series("weight", list(range(0, 141, 7)), [98 - 8 * min(d, 56) / 56 + 3 * max(0, d - 84) / 56 for d in range(0, 141, 7)])
    item = make_item(record=make_record(weight=home, weight_clinic=clinic))
    assert read_forecast(deliver(item))["forecast"]["risk_category"] == "low"
    assert read_forecast(deliver(item, "rounds", 2))["forecast"]["risk_category"] == "elevated"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("said", "reply"), [("5.5", "consistent"), ("7.9", "contradicts_record")])
def test_a_claim_is_checked_against_the_record(said: str, reply: str, language: str) -> None:
    claim = Wording(f"I remember my HbA1c on day 45 was {said} %.", f"我记得第45天我的糖化血红蛋白是{said} %。")
    item = make_item(probes=(ProbeQuestion("false_premise", "claim", "hba1c", (45, 45), claim),), language=language)
    assert read_forecast(deliver(item, probe_set="all"))["data_quality"]["premise_check"] == reply


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("first", "last", "reply"), [(10, 23, "present"), (46, 80, "no_data_in_window")])
def test_an_empty_window_is_told_from_a_covered_one(first: int, last: int, reply: str, language: str) -> None:
    name = "steps" if reply == "present" else "hba1c"
    item = make_item(probes=(ProbeQuestion("no_op", "window", name, (first, last), None),), language=language)
    assert read_forecast(deliver(item, probe_set="all"))["data_quality"]["signal_quality"][name] == reply


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("values", "trend"), [([60, 61, 70], "rising"), ([70, 61, 60], "falling"), ([60, 70, 61], "flat")])
def test_a_trend_inside_the_dead_zone_is_flat(values: list[float], trend: str, language: str) -> None:
    series = make_series("resting_hr", [0, 40, 80], values)
    item = make_item(
        record=make_record(resting_hr=series), probes=(ProbeQuestion("quant", "trend", "resting_hr", (0, 80), None),), language=language
    )
    assert read_forecast(deliver(item, probe_set="all"))["quant_answer"] == trend


def test_a_peak_day_is_read() -> None:
    series = make_series("resting_hr", [0, 40, 80], [60, 71, 62])
    item = make_item(record=make_record(resting_hr=series), probes=(ProbeQuestion("quant", "peak_day", "resting_hr", (0, 80), None),))
    assert read_forecast(deliver(item, probe_set="all"))["quant_answer"] == 40


@pytest.mark.parametrize(("text", "chosen"), [("Chest pain on the stairs", "A4"), ("Sore knee on the stairs", "A0")])
def test_a_complaint_that_needs_prompt_care_is_answered_with_an_urgent_class_and_cited(text: str, chosen: str) -> None:
    told = Note("E0000f1", 70, "patient_reported_symptom", Wording(text, text), None, True)
    answer = read_forecast(deliver(make_item(record=replace(make_record(**FALLING), notes=(told,)))))
    assert answer["action"]["selected_action_class"] == chosen
    assert ("E0000f1" in answer["cited_evidence"]) is (chosen == "A4") is answer["action"]["clinician_review_required"]
