"""The record system in PostgreSQL: verdicts as in SQLite, and who may do what. Not run where PostgreSQL or its driver is absent."""

from dataclasses import replace

import emr_case as case
import pytest

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.search.cases import observe_case
from clinworld.packs.emr_write.search.corpus import read_corpus
from clinworld.packs.emr_write.store import postgres
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.postgres import PostgresStore
from clinworld.packs.emr_write.store.postgres_cluster import find_postgres, start_postgres

TASK = case.record("service_request")


@pytest.fixture(scope="module")
def conninfo():
    pytest.importorskip("psycopg", reason="not run: psycopg is not installed")
    binaries = find_postgres()
    if binaries is None:
        pytest.skip("not run: no PostgreSQL binaries")
    with start_postgres(binaries) as made:
        yield made


@pytest.fixture(scope="module")
def system(conninfo):
    made = PostgresStore(draw_bulk(seed=1, rows=300), conninfo=conninfo)
    yield made
    made.close()


def show(verdict):
    return verdict.outcome, verdict.reward, sorted((each.rule, each.label) for each in verdict.findings), verdict.witnesses, verdict.metrics


@pytest.mark.slow
def test_every_case_of_the_corpus_gets_the_same_verdict_as_in_sqlite(system):
    for line in read_corpus():
        verdict = observe_case(system, line.case).judge()
        assert verdict.outcome == line.outcome, line.case.case_id
        assert show(verdict) == show(observe_case(case.store(), line.case).judge()), line.case.case_id


@pytest.mark.slow
def test_the_key_of_a_write_that_changed_nothing_is_used_and_another_payload_under_it_is_422(system):
    action = Action("create", TASK.spec.records[0].collection, case.fields(TASK)["fields"])
    system.begin(TASK.setup, now=TASK.now)
    try:
        made = system.execute([action])[0]
        idle = Action("update", action.collection, action.fields, row_id=made.row_id, key="k")
        assert [each.status for each in system.execute([idle, idle, replace(action, key="k")])] == [200, 200, 422]
    finally:
        system.restore()


@pytest.mark.slow
def test_episodes_leave_the_chart_as_it_was(system):
    for text in (case.gold_report(TASK), '{"actions":[{"op":"delete","collection":"Patient","where":"*"}],"submitted":true}'):
        run_report(system, TASK, text)
    system.begin((), now=TASK.now)
    system.restore()
    assert system._oracle.digest_rows() == system._digests
    assert run_report(system, TASK, case.gold_report(TASK)).reward == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO \"Journal\" VALUES (1000000, 'Patient', 'x', 'insert', NULL, NULL)",
        'DELETE FROM "Journal"',
        'TRUNCATE "Journal"',
        'UPDATE "Recording" SET "isOn" = 0',
        "INSERT INTO \"AuditEvent\" VALUES ('x', 'x', 'create', 'x', 'x', 'x')",
        'ALTER TABLE "Patient" ADD COLUMN "x" TEXT',
        'ALTER TABLE "Patient" DISABLE TRIGGER ALL',
        "SET session_replication_role = replica",
        'DROP TABLE "Patient"',
    ],
)
@pytest.mark.parametrize("line", ["_writer", "_reader"])
def test_neither_the_servers_role_nor_the_oracles_can_do_it(system, sql, line):
    with pytest.raises(system._driver.Error):
        getattr(system, line).query(sql)


@pytest.mark.slow
def test_the_oracles_role_cannot_write_a_row_even_in_a_transaction_that_may(system):
    system._reader.query("SET default_transaction_read_only = off")
    try:
        with pytest.raises(system._driver.Error, match="permission denied"):
            system._reader.query('DELETE FROM "Patient"')
    finally:
        system._reader.query("SET default_transaction_read_only = on")


@pytest.mark.slow
def test_the_owner_cannot_change_the_journal_while_it_records(system):
    for sql in ('DELETE FROM "Journal"', 'UPDATE "Journal" SET "after" = NULL', 'TRUNCATE "Journal"'):
        system.begin(TASK.setup, now=TASK.now)
        try:
            with pytest.raises(system._driver.Error, match="append-only"):
                system.tamper(sql)
        finally:
            system.restore()


@pytest.mark.slow
def test_a_write_with_the_triggers_off_is_seen_by_the_engines_own_count(system):
    system.begin(TASK.setup, now=TASK.now)
    try:
        system._owner.query("SET session_replication_role = replica")
        system.tamper('UPDATE "Patient" SET "family" = \'1\' WHERE "id" = (SELECT min("id") FROM "Patient")')
        system._owner.query("SET session_replication_role = origin")
        assert [label for label, _ in system.read().frame_faults] == ["changes_unexplained"]
        assert "row_unexplained" in [label for label, _ in system.read(is_full=True).frame_faults]
    finally:
        system.restore()
    assert run_report(system, TASK, case.gold_report(TASK), is_full=True).reward == 1.0


def test_without_its_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"clinworld\[postgres\]"):
        postgres._load_driver()


@pytest.mark.slow
def test_a_write_of_half_a_character_or_nul_is_refused_and_the_system_reads_on(system):
    gold = Action("create", TASK.spec.records[0].collection, case.fields(TASK)["fields"])
    for text in ("\ud800", "a\x00b"):
        broken = [
            replace(gold, fields={**gold.fields, "priority": text}),
            replace(gold, key=text),
            replace(gold, if_none_exist={"priority": text}),
        ]
        system.begin(TASK.setup, now=TASK.now)
        try:
            assert [each.status for each in system.execute([*broken, gold])] == [400, 400, 400, 201]
            assert system.read(is_full=True).frame_faults == ()
        finally:
            system.restore()
