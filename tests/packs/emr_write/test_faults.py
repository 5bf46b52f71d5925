"""Every fault on every task it applies to, alone and with another one, against the outcome its row says."""

from functools import lru_cache
from itertools import combinations

import pytest

from clinworld.core.errors import KnowledgeError, UsageError
from clinworld.packs.emr_write.checker.verdict import UNSCORED
from clinworld.packs.emr_write.faults import registry
from clinworld.packs.emr_write.faults.draft import draft_gold
from clinworld.packs.emr_write.faults.registry import (
    CLASSES,
    SERVER_FAULTS,
    draft_report,
    expected_outcome,
    find_fault,
    list_applying,
    load_faults,
    run_faults,
)
from clinworld.packs.emr_write.faults.server import FaultyStore
from clinworld.packs.emr_write.faults.traits import TRAITS, list_traits
from clinworld.packs.emr_write.search.cases import build_task, list_tasks
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.decisions import DECISIONS
from clinworld.packs.emr_write.tasks.records import KINDS as RECORD_KINDS
from clinworld.packs.emr_write.tasks.single_create import STORE_KINDS

pytestmark = pytest.mark.rows

# Every kind of task, languages and sides of the decisions in turn; the slow tier has all of them in both languages.
ACTS_OR_RESTS = [f"{kind}_{'rests' if i % 2 else 'acts'}" for i, kind in enumerate(DECISIONS)]
KINDS = [*STORE_KINDS, *RECORD_KINDS, *ACTS_OR_RESTS, "mockmed"]
TASKS = [*((name, "zh" if i % 2 else "en") for i, name in enumerate(KINDS)), ("accented", "en")]
ALL_TASKS = [(name, language) for name in list_tasks() for language in ("en", "zh")]
FAULTS = load_faults()


@lru_cache(maxsize=1)
def store():
    return SqliteStore(draw_bulk(seed=1, rows=2))


@lru_cache(maxsize=1)
def applying():
    return {key: [fault.fault_id for fault in list_applying(build_task(*key))] for key in dict.fromkeys(TASKS)}


@pytest.mark.parametrize("key", dict.fromkeys(TASKS), ids="-".join)
def test_the_control_without_a_fault_is_paid(key):
    assert run_faults(store(), build_task(*key), (), is_full=True).reward == 1.0


@pytest.mark.parametrize("fault_id", FAULTS)
def test_a_fault_comes_to_its_outcome_on_every_task_it_applies_to_and_leaves_nothing_behind(fault_id):
    fault, tasks = FAULTS[fault_id], [build_task(*key) for key, ids in applying().items() if fault_id in ids]
    assert tasks, "no task has what the fault works on"
    assert fault.expected == expected_outcome([fault_id])
    for task in tasks:
        verdict = run_faults(store(), task, [fault_id])
        assert verdict.outcome == fault.expected, (task.kind, task.scenario, task.language, verdict.reasons())
        assert (verdict.reward is None) == (fault.expected in UNSCORED)
    assert run_faults(store(), tasks[-1], (), is_full=True).reward == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("key", ALL_TASKS, ids="-".join)
def test_every_fault_comes_to_its_outcome_on_any_task(key):
    task = build_task(*key)
    for fault in list_applying(task):
        assert run_faults(store(), task, [fault.fault_id]).outcome == fault.expected, fault.fault_id
        assert run_faults(store(), task, ()).reward == 1.0, fault.fault_id


def test_there_are_at_least_36_faults_in_nine_classes_on_both_sides():
    assert len(FAULTS) >= 36 and len(CLASSES) == 9
    assert {fault.fault_class for fault in FAULTS.values()} == set(CLASSES)
    assert min(sum(fault.side == side for fault in FAULTS.values()) for side in ("policy", "server")) >= 30
    assert {fault.expected for fault in FAULTS.values() if fault.side == "server"} >= {"verified", "wrong_effect", *UNSCORED}


def test_every_row_says_what_it_does_in_both_languages_and_every_trait_is_met():
    assert all(fault.what.en.isascii() and not fault.what.zh.isascii() for fault in FAULTS.values())
    assert len({fault.what.en for fault in FAULTS.values()}) == len(FAULTS)
    met = {trait for key in applying() for trait in list_traits(build_task(*key))}
    assert met == set(TRAITS)


def test_a_repeated_write_is_paid_with_a_key_and_not_without():
    task = build_task("mockmed")
    assert run_faults(store(), task, ["lost_answer_keyed"]).reward == 1.0
    assert run_faults(store(), task, ["lost_answer_unkeyed"]).outcome == "wrong_effect"
    assert run_faults(store(), task, ["keys_ignored"]).outcome == "wrong_effect"


class Recorded(FaultyStore):
    """Keeps what reached the record system and what was read from it."""

    def __init__(self, inner):
        super().__init__(inner, registry.ServerFault())
        self.log = []

    def begin(self, setup=(), *, now):
        self.log.append(now)
        super().begin(setup, now=now)

    def execute(self, actions, *, is_atomic=False):
        replies = super().execute(actions, is_atomic=is_atomic)
        self.log.append((actions, replies))
        return replies

    def tamper(self, sql, values=(), *, is_recorded=True):
        self.log.append(sql)
        super().tamper(sql, values, is_recorded=is_recorded)


@pytest.mark.parametrize("fault_id", FAULTS)
def test_no_fault_does_nothing(fault_id):
    task = next(build_task(*key) for key, ids in applying().items() if fault_id in ids)
    if FAULTS[fault_id].side == "policy":
        assert draft_report(task, [fault_id]).text() != draft_gold(task).text()
        return
    recorded, plain = Recorded(store()), Recorded(store())
    faulty, right = run_faults(recorded, task, [fault_id]), run_faults(plain, task, ())
    is_told = SERVER_FAULTS[fault_id].sends is not None  # a fault of delivery may show in nothing but the answers
    assert repr(recorded.log) != repr(plain.log) or faulty != right or is_told


PAIRED = ("mockmed", "visit_with_observation", "stop_order", "magnesium_rests")


def pairs(name):
    found = []
    for both in combinations([fault.fault_id for fault in list_applying(build_task(name))], 2):
        if expected_outcome(both) is not None:
            found.append(both)
    return found


def check_pairs(name, listed):
    task = build_task(name)
    for both in listed:
        verdict = run_faults(store(), task, both)
        assert verdict.outcome == expected_outcome(both), (both, verdict.reasons())
    assert run_faults(store(), task, (), is_full=True).reward == 1.0


@pytest.mark.parametrize("name", PAIRED)
def test_two_faults_at_once_come_to_the_graver_outcome(name):
    listed = pairs(name)
    check_pairs(name, listed[:: max(1, len(listed) // 60)])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PAIRED, "openemr", "accented", "medication_request", "order_with_follow_up", "appointment"])
def test_any_two_faults_at_once_come_to_the_graver_outcome(name):
    check_pairs(name, pairs(name))


def test_faults_of_one_part_have_no_outcome_together_and_a_stopped_write_hides_a_wrong_one():
    assert expected_outcome(["duplicate", "triplicate"]) is None
    assert expected_outcome(["duplicate", "unsubmitted"]) == "halted_before_effect"
    assert expected_outcome(["duplicate", "read_outage"]) == "failed_platform"
    assert expected_outcome(["duplicate", "unsubmitted", "neighbour_changed"]) == "wrong_effect"
    assert expected_outcome(["fenced", "lost_answer_keyed"]) == "verified"
    assert run_faults(store(), build_task("mockmed"), ["duplicate", "unsubmitted", "neighbour_changed"]).outcome == "wrong_effect"


def test_a_fault_there_is_not_is_named_with_its_nearest():
    with pytest.raises(UsageError, match="duplicate"):
        find_fault("duplicat")


class Sealed:
    """A store that lets nobody behind its API."""

    def __init__(self, inner):
        self.begin, self.execute, self.drain, self.read, self.restore, self.close = (
            inner.begin, inner.execute, inner.drain, inner.read, inner.restore, inner.close,
        )  # fmt: skip


def test_a_store_nobody_can_tamper_with_refuses_the_faults_behind_the_api_and_takes_the_others():
    task = build_task("mockmed")
    with pytest.raises(UsageError, match="tamper"):
        run_faults(Sealed(store()), task, ["neighbour_changed"])
    assert run_faults(Sealed(store()), task, ["answered_not_done"]).outcome == "halted_before_effect"
    assert run_faults(store(), task, ()).reward == 1.0


@pytest.mark.parametrize(
    ("column", "value"),
    [("class", "other"), ("parts", "nowhere"), ("applies_to", "all"), ("is_stopping", "1"), ("expected", "paid"), ("side", "x")],
)
def test_a_row_with_a_value_there_is_not_is_an_error_that_names_its_column(column, value):
    row = {"id": "x", "class": "value", "side": "policy", "parts": "element", "applies_to": "any", "is_stopping": "no", "is_written": "yes"}
    row |= {"expected": "verified", "en": "a", "zh": "b", column: value}
    with pytest.raises(KnowledgeError, match=column):
        registry._read_fault(row)
