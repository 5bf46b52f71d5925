"""Nothing a policy sends ends unscored, and no report of a few hundred bytes holds a record system up."""

import json
import time
from dataclasses import replace

import emr_case as case
import pytest
from hostile_case import REPORTS
from hypothesis import HealthCheck, given, settings

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.checker.verdict import UNSCORED
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.facade import Unacceptable, read_body
from clinworld.packs.emr_write.store.facade_store import FacadeStore
from clinworld.packs.emr_write.store.server import MOST_MATCHED
from clinworld.packs.emr_write.store.sqlite import SqliteStore

pytestmark = pytest.mark.rows

TASK = case.record("medication_request")
GOLD = Action("create", TASK.spec.records[0].collection, case.fields(TASK)["fields"])
HALF, NUL = "\ud800", "a\x00b"
UNHEALTHY = list(HealthCheck)


@pytest.fixture(scope="module")
def facade():
    made = FacadeStore(draw_bulk(seed=1, rows=100))
    yield made
    made.close()


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=UNHEALTHY)
@given(text=REPORTS)
def test_no_report_of_hostile_values_ends_unscored(text):
    assert run_report(case.store(), TASK, text).outcome not in UNSCORED


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None, suppress_health_check=UNHEALTHY)
@given(text=REPORTS)
def test_no_report_of_very_many_ends_unscored(text):
    assert run_report(case.store(), TASK, text).outcome not in UNSCORED


@settings(max_examples=40, deadline=None, suppress_health_check=UNHEALTHY)
@given(text=REPORTS)
def test_no_report_of_hostile_values_ends_unscored_over_http_or_otherwise_than_without(facade, text):
    assert run_report(facade, TASK, text).outcome == run_report(case.store(), TASK, text).outcome


BROKEN = [
    {"key": HALF},
    {"key": NUL},
    {"full_url": HALF},
    {"fields": {**GOLD.fields, "priority": HALF}},
    {"fields": {**GOLD.fields, "note": [{HALF: 1}]}},
    {"fields": {**GOLD.fields, "note": [{"text": NUL}]}},
    {"if_none_exist": {"priority": NUL}},
    {"if_none_exist": {"priority": HALF}},
    {"op": "update", "row_id": HALF},
    {"op": "update", "row_id": NUL},
    {"op": "update", "where": {"priority": NUL}},
    {"op": "update", "row_id": "x", "if_version": NUL},
]


@pytest.mark.parametrize("changed", BROKEN, ids=repr)
def test_a_write_of_what_no_database_holds_is_refused_and_the_system_reads_on(changed):
    system = case.store()
    system.begin(TASK.setup, now=TASK.now)
    try:
        assert [reply.status for reply in system.execute([replace(GOLD, **changed), GOLD])] == [400, 201]
        assert len(system.read(is_full=True).changes) == 2  # the order and its line in the audit trail
    finally:
        system.restore()


@pytest.mark.parametrize("key", ["\u4e2d", "a\nb", " a ", "\u00e9", "a\tb"])
def test_a_key_that_no_header_can_carry_works_over_http_as_without(facade, key):
    keyed = [case.actions(TASK)[0] | {"key": key}]
    assert run_report(facade, TASK, case.write_report(keyed)).reward == 1.0
    assert run_report(facade, TASK, case.write_report(keyed * 2)).reward == 1.0


@pytest.mark.parametrize(("version", "status"), [("1", 200), ('"1"', 412), ('W/"1"', 412), ("1 ", 412), ("\u00b9", 412)])
def test_a_version_is_compared_as_it_was_sent_over_http_as_without(facade, version, status):
    change = Action("update", GOLD.collection, {"priority": "stat"}, full_url="urn:uuid:a", if_version=version)
    for system in (case.store(), facade):
        system.begin(TASK.setup, now=TASK.now)
        try:
            made, *_ = system.execute([GOLD])
            assert system.execute([replace(change, full_url=None, row_id=made.row_id)])[0].status == status
        finally:
            system.restore()


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"\\ud800"}',
        b'{"a":1,"a":2}',
        b"[" * 100_000,
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":1e999999999}',
        b'{"a":NaN}',
        b'"\xff"',
        b"\xed\xa0\x80",
    ],
)
def test_a_body_that_is_not_strict_json_is_unacceptable(body):
    with pytest.raises(Unacceptable):
        read_body(body)
    assert read_body(b'{"a":[1.50]}') == {"a": [case.Decimal("1.50")]}


# time ----------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    made = SqliteStore(draw_bulk(seed=1, rows=20_000))
    yield made
    made.close()


def bulk(op, where, collection="Observation"):
    more = {} if op == "delete" else {"fields": {"status": "amended"}}
    return {"op": op, "collection": collection, "where": where, **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    "listed",
    [
        [bulk("update", "*")] * 4,
        [bulk("delete", "*")] * 4,
        [bulk("update", {"status": "final"})] * 4,
        [bulk("update", "*", "Patient")] * 4,
        [case.actions(TASK)[0] | {"if_none_exist": {"priority": "none"}}] * 16 + [case.actions(TASK)[0]] * 48,
    ],
    ids=["updates", "deletes", "by value", "patients", "conditional creates"],
)
def test_no_report_on_a_chart_of_20_000_rows_takes_a_second(large, listed):
    text = case.write_report(listed)
    run_report(large, TASK, case.gold_report(TASK))
    start = time.process_time()
    assert run_report(large, TASK, text).reward == 0.0
    assert time.process_time() - start < 1.0


def test_a_bulk_write_of_as_many_rows_as_one_may_is_taken_and_of_one_more_refused_whole():
    system = SqliteStore(draw_bulk(seed=1, rows=MOST_MATCHED))
    try:
        system.begin((), now=TASK.now)
        every = Action("update", "Observation", {"issued": TASK.now}, where="*")
        assert [reply.status for reply in system.execute([every])] == [200]
        person = json.loads(json.dumps({"reference": "Patient/" + system.read([("Patient", {"active": "true"})]).near[0][1]["id"]}))
        one_more = Action("create", "Observation", {"subject": person})
        assert [reply.status for reply in system.execute([one_more, every])] == [201, 413]
        assert len(system.read().changes) == MOST_MATCHED + 1
    finally:
        system.close()
