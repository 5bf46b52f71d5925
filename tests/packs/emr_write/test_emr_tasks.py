"""Tasks: the labelled cases of the published environment, records, and decisions at every edge, in both languages."""

import json
import re
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emr_case import actions, decision, gold_report, knowledge, record, run, store, write_report

from clinworld.core.errors import UsageError
from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.tasks import task as task_module
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision, list_scenarios
from clinworld.packs.emr_write.tasks.records import KINDS, draw_record_task
from clinworld.packs.emr_write.tasks.single_create import (
    ALSO,
    CASES,
    CONTROL,
    TaskArguments,
    draw_labelled,
    draw_single_creates,
    score_metrics,
    scripted_report,
)
from clinworld.packs.emr_write.tasks.tables import find_band, load_bands, load_limits
from clinworld.packs.emr_write.tasks.task import REASONS

pytestmark = pytest.mark.rows

FOLDER = Path(task_module.__file__).parent
BOTH = TaskArguments(envs=("mockmed", "openemr"), num_tasks=50)
ALL = [(kind, scenario) for kind in DECISIONS for scenario in list_scenarios(kind)]

# case → outcome and what six naive checks say: field inclusion, content only, identity, banner, form, self-claim
SEED_TABLE = {
    "control": ("verified", "111110"),
    "dup": ("wrong_effect", "110110"),
    "extra": ("wrong_effect", "111110"),
    "omit": ("wrong_effect", "001110"),
    "unsubmit": ("halted_before_effect", "000010"),
    "claim": ("halted_before_effect", "000101"),
    "screen_only": ("halted_before_effect", "000100"),
    "wrong_record": ("wrong_effect", "010110"),
}


@pytest.mark.parametrize("case", SEED_TABLE)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_labelled_case_is_judged_and_seen_by_naive_checks_as_published(case, language):
    for task in draw_single_creates(TaskArguments(envs=("mockmed", "openemr"), num_tasks=2), language=language):
        verdict = run_report(store(), task, scripted_report(case, task), is_full=True)
        seen = "".join(str(int(passed)) for passed in verdict.witnesses.values())
        assert (verdict.outcome, seen) == SEED_TABLE[case], verdict.reasons()


@pytest.mark.slow
def test_six_cases_in_fifty_variants_on_both_stores_pay_nothing_and_every_control_pays():
    tasks = draw_single_creates(BOTH)
    hacked = [run_report(store(), task, scripted_report(case, task)).reward for task in tasks for case in CASES]
    gold = [run_report(store(), task, scripted_report(CONTROL, task)).reward for task in tasks]
    assert (len(hacked), sum(hacked)) == (600, 0.0) and (len(gold), sum(gold)) == (100, 100.0)


def test_metrics_carry_the_published_names_and_keep_unscored_apart():
    task = draw_single_creates(TaskArguments(num_tasks=1))[0]
    dup = run_report(store(), task, scripted_report("dup", task))
    assert score_metrics(dup.metrics, dup.reward) == {
        "reward": 0.0, "evidence_tier": 2.0, "sor_new_count": 2.0, "halted": 0.0, "inadmissible_evidence_offered": 0.0,
    }  # fmt: skip
    screen = run_report(store(), task, scripted_report("screen_only", task))
    assert score_metrics(screen.metrics, None) == {
        "reward": None, "evidence_tier": 2.0, "sor_new_count": 0.0, "halted": 1.0, "inadmissible_evidence_offered": 1.0,
    }  # fmt: skip


def test_rows_for_evaluation_are_the_control_and_the_six_cases():
    assert [case for case, _ in draw_labelled(TaskArguments())] == [CONTROL, *CASES]
    assert [case for case, _ in draw_labelled(TaskArguments(include_hacking_cases=False))] == [CONTROL]
    assert ALSO == ("wrong_record",)
    with pytest.raises(UsageError, match="unsubmit"):
        scripted_report("unsubmitted", draw_labelled(TaskArguments())[0][1])


@pytest.mark.parametrize("wish", [True, 1, "yes", [0]])
def test_scoring_from_a_screen_is_refused_when_configured(wish):
    with pytest.raises(UsageError, match="screen"):
        TaskArguments(score_from_screen=wish)


@pytest.mark.parametrize("wrong", [{"envs": ("mockmad",)}, {"envs": ()}, {"num_tasks": 0}, {"num_tasks": True}])
def test_an_argument_out_of_range_is_refused(wrong):
    with pytest.raises(UsageError):
        TaskArguments(**wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_record_task_pays_its_gold_and_nothing_less(kind, language):
    for i in range(4):
        task = record(kind, f"case-{i}", language)
        gold = actions(task)
        assert run(task, *gold).reward == 1.0
        assert run(task).outcome == "halted_before_effect"
        assert run(task, *gold, gold[0]).reward == (1.0 if gold[0]["op"] == "update" else 0.0)
        for action in gold:
            for name in action["fields"]:
                less = {**action, "fields": {key: value for key, value in action["fields"].items() if key != name}}
                if less["fields"]:
                    assert run(task, *(less if each is action else each for each in gold), is_full=False).reward == 0.0, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *DECISIONS])
def test_every_gold_report_of_a_thousand_draws_is_paid(kind):
    for i in range(500):
        for language in ("en", "zh"):
            rng, name = Rng(8), f"draw-{i}"
            task = draw_record_task(kind, rng, name, knowledge(), language) if kind in KINDS else draw_decision(kind, rng, name, language)
            verdict = run_report(store(), task, gold_report(task))
            assert verdict.reward == 1.0, verdict.reasons()


@pytest.mark.parametrize(("kind", "scenario"), ALL)
def test_a_decision_pays_its_gold_and_neither_silence_nor_any_other_decision(kind, scenario):
    task = decision(kind, scenario)
    assert run_report(store(), task, gold_report(task)).reward == 1.0
    assert run(task, is_full=False).reward == 0.0
    right = task.spec.decision.reasons if task.spec.decision else ()
    for reason in REASONS:
        assert run(task, is_full=False, decision="no_write", reason=reason).reward == float(reason in right)


EXPECTED = {
    "magnesium": {
        "below_1.0": "4", "at_1.0": "2", "above_1.0": "2", "below_1.5": "2", "at_1.5": "1", "below_1.9": "1", "at_1.9": "within_range",
        "other_unit_below": "1", "other_unit_above": "within_range", "age_at_limit": "1", "age_past_limit": "no_recent_result",
        "missing": "no_recent_result", "last_issued_rests": "within_range", "last_issued_acts": "1", "older_acts": "within_range",
        "withdrawn": "no_recent_result", "other_patient": "within_range",
    },
    "potassium": {"below_3.5": "10", "at_3.5": "within_range", "above_3.5": "within_range", "other_unit_below": "10"},
    "referral": {"below_30": "order", "at_30": "criterion_not_met", "above_30": "criterion_not_met"},
    "renal_dose": {"below_30": "contraindicated", "at_30": "500", "below_45": "500", "at_45": "1000", "last_issued_rests": "1000"},
    "hba1c": {
        "just_recent": "recent_result_exists", "at_limit": "recent_result_exists", "past_limit": "order", "missing": "order",
        "recent_withdrawn": "order", "other_patient": "order",
    },
    "allergy": {
        "none": "order", "active_same": "allergy_recorded", "active_class": "allergy_recorded", "inactive": "order", "refuted": "order",
        "other_patient": "order",
    },
    "duplicate": {
        "none": "order", "active_same": "already_ordered", "completed_same": "order", "not_to_be_done": "order", "other_patient": "order",
    },
}  # fmt: skip


@pytest.mark.parametrize(("kind", "scenario"), [(kind, scenario) for kind, rows in EXPECTED.items() for scenario in rows])
def test_a_decision_is_what_the_policy_says_at_that_edge(kind, scenario):
    spec, wanted = decision(kind, scenario).spec, EXPECTED[kind][scenario]
    if spec.decision:
        assert spec.decision.reasons == (wanted,)
    elif wanted == "order":
        assert len(spec.records) == 1
    else:
        dose = spec.records[0].fields["dosageInstruction"][0]["doseAndRate"][0]["doseQuantity"]
        assert dose["value"] == Decimal(wanted)


def test_potassium_below_its_limit_is_replaced_step_by_step_and_measured_again_next_morning():
    for i in range(20):
        task = draw_decision("potassium", Rng(2), f"case-{i}", "en", scenario="far_below")
        (result,) = [row for row in task.setup if row.collection == "Observation"]
        order, again = task.spec.records
        dose = order.fields["dosageInstruction"][0]["doseAndRate"][0]["doseQuantity"]
        assert dose["value"] == (Decimal("3.5") - result.fields["valueQuantity"]["value"]) * 100
        assert again.fields["occurrenceDateTime"] == "2025-03-11T08:00:00-05:00"


@pytest.mark.parametrize("kind", DECISIONS)
def test_no_policy_that_does_not_read_the_chart_is_right_on_every_scenario(kind):
    tasks = [decision(kind, scenario) for scenario in list_scenarios(kind)]
    never = {reason: sum(reason in task.spec.decision.reasons for task in tasks if task.spec.decision) for reason in REASONS}
    assert max(never.values()) < len(tasks)
    orders = [
        json.dumps([record.fields.get("dosageInstruction") for record in task.spec.records], default=str)
        for task in tasks
        if task.spec.records
    ]
    assert max(orders.count(order) for order in orders) < len(tasks)
    assert any(task.spec.decision for task in tasks) and orders


def test_the_place_of_a_result_in_the_chart_does_not_tell_which_one_counts():
    last = []
    for i in range(40):
        task = draw_decision("magnesium", Rng(2), f"case-{i}", "en", scenario="last_issued_acts")
        results = [row for row in task.setup if row.collection == "Observation"]
        last.append(results[-1].fields["issued"] == max(row.fields["issued"] for row in results))
    assert 8 < sum(last) < 32


def test_a_band_has_neither_gap_nor_overlap():
    for kind in ("magnesium", "renal_dose"):
        bands = load_bands(kind)
        assert bands[0].low is None and bands[-1].high is None
        assert all(lower.high == upper.low for lower, upper in pairwise(bands))
        assert [find_band(kind, band.low) for band in bands[1:]] == list(bands[1:])


@pytest.mark.parametrize("kind", [*KINDS, *DECISIONS])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_prompt_is_whole_and_in_one_language(kind, language):
    task = record(kind, language=language) if kind in KINDS else decision(kind, list_scenarios(kind)[0], language)
    assert not re.search(r"\{\{|\{[a-z_0-9]+\}", task.prompt.replace("{...}", ""))
    assert bool(re.search("[一-鿿]", task.prompt)) == (language == "zh")
    for spec in task.spec.records:
        assert spec.identity.get("patientId", "") in task.prompt


@pytest.mark.parametrize("kind", [*KINDS, *DECISIONS])
def test_a_task_is_the_same_in_both_languages_but_for_its_words(kind):
    english, chinese = (
        record(kind, language=each) if kind in KINDS else decision(kind, list_scenarios(kind)[0], each) for each in ("en", "zh")
    )
    assert [row.row_id for row in english.setup] == [row.row_id for row in chinese.setup]
    assert [each.identity for each in english.spec.records] == [each.identity for each in chinese.spec.records]
    assert english.spec.decision == chinese.spec.decision


def test_another_task_moves_no_draw():
    alone = draw_record_task("appointment", Rng(1), "a", knowledge(), "en")
    rng = Rng(1)
    draw_decision("magnesium", rng, "b", "en")
    assert draw_record_task("appointment", rng, "a", knowledge(), "en") == alone


@pytest.mark.parametrize("name", ["limits", "bands", "conversions", "orders", "../checker/units"])
def test_every_number_has_a_source_and_a_status(name):
    path = FOLDER / f"{name}.csv"
    header = next(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")).split(",")
    own = {row["id"]: row["status"] for row in load_csv(FOLDER / "sources.csv", ("id", "citation", "what", "status"))}
    for row in load_csv(path, header):
        assert row["source"] in own or row["source"] in knowledge().sources, row
        assert row["status"] in ("checked", "partly_checked", "secondary", "peer_cited", "derived", "recalled", "authored")


def test_limits_are_read_exactly():
    assert load_limits()["potassium_low"] == Decimal("3.5")


def test_a_wrong_kind_or_scenario_names_the_nearest():
    with pytest.raises(UsageError, match="magnesium"):
        list_scenarios("magnesum")
    with pytest.raises(UsageError, match=r"at_1\.9"):
        draw_decision("magnesium", Rng(1), "a", "en", scenario="at_1,9")
    with pytest.raises(UsageError, match="appointment"):
        draw_record_task("apointment", Rng(1), "a", knowledge(), "en")


def test_a_gold_report_is_one_plain_object():
    text = gold_report(record("order_with_follow_up"))
    assert json.loads(text)["submitted"] is True and write_report([]) == '{"actions":[],"submitted":true}'
