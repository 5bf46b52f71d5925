"""The record system: what it refuses, what it writes by itself, who may write what, and that every episode leaves it as it was."""

import re
import sqlite3
import sys
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from emr_case import fields, gold_report, knowledge, mockmed, record, run, store, write_report

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.store import layout as layout_module
from clinworld.packs.emr_write.store.chart import draw_bulk, draw_chart
from clinworld.packs.emr_write.store.facade_store import FacadeStore
from clinworld.packs.emr_write.store.layout import PENDING, load_layout
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.packs.emr_write.store.sqlite import SqliteStore

NOW = "2025-03-10T09:00:00Z"
PEOPLE = [SeedRow("Patient", f"p{i}", {"identifier": f"MRN-{i}", "family": "Abbott", "active": True}) for i in range(3)]
SEEDS = [*PEOPLE, SeedRow("encounters", "e1", {"patient_id": "p1", "type": "Triage", "note": "n"})]
SUBJECT = {"reference": "Patient/p1"}
ORDER = Action("create", "MedicationRequest", {"subject": SUBJECT, "status": "active", "intent": "order"})
VISIT = Action("create", "encounters", {"patient_id": "p1", "type": "Triage", "note": "n"})


@pytest.fixture
def system():
    made = SqliteStore(SEEDS)
    made.begin(now=NOW)
    yield made
    made.close()


def rows(system, collection="encounters"):
    return [change for change in system.read(is_full=True).changes if change.collection == collection]


def test_the_column_table_is_the_schema():
    tables = (Path(layout_module.__file__).parent / "tables.sql").read_text(encoding="utf-8")
    connection = sqlite3.connect(":memory:")
    connection.executescript(tables)
    named = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in named if name != PENDING}
    listed = load_layout().fields
    assert {name: set(found) for name, found in columns.items()} == {name: set(found) for name, found in listed.items()}
    assert not re.search(r"\b(INTEGER|REAL|BLOB|NUMERIC|AUTOINCREMENT)\b", tables)
    connection.close()


def test_a_create_leaves_the_row_its_journal_line_and_its_audit_row(system):
    (reply,) = system.execute([ORDER])
    reading = system.read(is_full=True)
    assert reply.status == 201 and reading.frame_faults == ()
    assert [(each.collection, each.before) for each in reading.changes] == [("MedicationRequest", None), ("AuditEvent", None)]
    assert reading.changes[0].after["patientId"] == "p1" and reading.changes[1].after["entityId"] == reply.row_id
    assert [entry.change for entry in reading.journal] == ["insert", "insert"]


@pytest.mark.parametrize(("action", "status"), [
    (Action("create", "encounters", {"patient_id": "nobody", "type": "T"}), 409),
    (Action("create", "encounters", {"type": "T"}), 409),
    (Action("create", "encounters", {"patient_id": 1}), 422),
    (Action("create", "MedicationRequest", {"status": "active"}), 422),
    (Action("create", "MedicationRequest", {"subject": {"reference": "Patient/nobody"}}), 422),
    (Action("create", "MedicationRequest", {"subject": {"reference": "Patient/p1"}, "encounter": {"reference": "Encounter/none"}}), 422),
    (Action("create", "MedicationRequest", {"subject": SUBJECT, "colour": "red"}), 422),
    (Action("create", "Appointment", {"participant": [{"actor": SUBJECT}, {"actor": {"reference": "Patient/p2"}}]}), 422),
    (Action("update", "encounters", {"note": "x"}, row_id="none"), 404),
    (Action("update", "encounters", {"note": "x"}, full_url="urn:uuid:none"), 404),
    (Action("update", "encounters", {"note": "x"}, row_id="e1", if_version="7"), 412),
    (Action("update", "encounters", {"note": ["x"]}, row_id="e1"), 422),
    (Action("update", "encounters", {"note": "x"}, where={"note": ["x"]}), 422),
    (Action("update", "encounters", {"note": "x"}, where={"colour": "x"}), 422),
    (Action("delete", "encounters", {}, row_id="none"), 404),
    (Action("delete", "encounters", {}, where={"note": "other"}), 404),
])  # fmt: skip
def test_what_the_server_cannot_take_is_refused_and_changes_nothing(system, action, status):
    (reply,) = system.execute([action])
    reading = system.read(is_full=True)
    assert (reply.status, reply.is_refused) == (status, True) and reply.said
    assert (reading.changes, reading.journal, reading.frame_faults) == ((), (), ())


def test_a_refused_attempt_before_the_right_write_is_counted_and_forgiven():
    task = mockmed()
    verdict = run(task, fields(task, patient_id="nobody"), fields(task))
    assert verdict.reward == 1.0 and verdict.metrics["refused_attempts"] == 1


def test_the_same_key_and_payload_is_one_write_and_another_payload_none(system):
    keyed = Action("create", "encounters", VISIT.fields, key="k1")
    other = Action("create", "encounters", {**VISIT.fields, "note": "other"}, key="k1")
    first, second, third = system.execute([keyed, keyed, other])
    assert (first.status, second.status, third.status) == (201, 200, 422) and first.row_id == second.row_id
    assert len(rows(system)) == 1


# A keyed write that changes nothing: what is there already, or a conditional create that finds its row.
IDLE = [
    Action("update", "encounters", {"note": "n"}, row_id="e1", key="k"),
    Action("create", "encounters", {**VISIT.fields, "note": "m"}, if_none_exist={"note": "n"}, key="k"),
]


@pytest.mark.parametrize("idle", IDLE, ids=lambda action: action.op)
@pytest.mark.parametrize("open_store", [SqliteStore, FacadeStore])
def test_the_key_of_a_write_that_changed_nothing_is_used_and_another_payload_under_it_is_422(open_store, idle):
    system = open_store(SEEDS)
    system.begin(now=NOW)
    replies = system.execute([idle, idle, replace(VISIT, key="k")])
    assert [reply.status for reply in replies] == [200, 200, 422] and [reply.row_id for reply in replies] == ["e1", "e1", None]
    reading = system.read(is_full=True)
    assert (reading.changes, reading.journal, reading.frame_faults) == ((), (), ())
    assert system.execute([replace(VISIT, key="other")])[0].status == 201
    system.restore()
    system.begin(now=NOW)
    assert system.execute([replace(VISIT, key="k")])[0].status == 201  # another episode
    system.close()


def test_a_write_that_changed_nothing_has_no_effect_later_under_its_key(system):
    change = Action("update", "encounters", {"note": "x"}, row_id="e1")
    assert [reply.status for reply in system.execute([IDLE[0], change, IDLE[0]])] == [200, 200, 200]
    assert [each.after["note"] for each in rows(system)] == ["x"]


def test_the_key_of_a_refused_write_or_of_a_bundle_that_was_undone_is_free(system):
    refused = Action("update", "encounters", {"note": "x"}, row_id="none", key="k")
    assert [reply.status for reply in system.execute([refused, replace(VISIT, key="k")])] == [404, 201]
    free = replace(IDLE[0], key="f")
    assert {reply.status for reply in system.execute([free, refused], is_atomic=True)} == {422}
    assert system.execute([replace(VISIT, key="f")])[0].status == 201


def test_a_keyed_write_that_changed_nothing_before_the_right_one_is_paid_once():
    task = mockmed()
    first = fields(task) | {"full_url": "urn:uuid:a"}
    idle = {"op": "update", "collection": "encounters", "full_url": "urn:uuid:a", "fields": fields(task)["fields"], "key": "a"}
    assert run(task, first, idle, fields(task) | {"key": "a"}).reward == 1.0
    assert run(task, first, idle, fields(task) | {"key": "b"}).outcome == "wrong_effect"


@pytest.mark.parametrize("again", [{"key": "a"}, {"if_none_exist": {"status": "planned"}}], ids=["key", "condition"])
def test_a_row_made_before_is_known_by_the_name_of_the_create_that_is_sent_again(system, again):
    visit = Action("create", "Encounter", {"subject": SUBJECT, "status": "planned"}, full_url="urn:uuid:v", **again)
    vital = Action("create", "Observation", {"subject": SUBJECT, "status": "final", "encounter": {"reference": "urn:uuid:v"}})
    (made,) = system.execute([visit])  # the connection breaks before the second one
    assert [reply.status for reply in system.execute([visit, vital])] == [200, 201]
    (change,) = rows(system, "Observation")
    assert change.after["encounterId"] == made.row_id and len(rows(system, "Encounter")) == 1
    assert [reply.status for reply in system.execute([vital])] == [422]  # a name is one report's


def test_a_keyed_write_sent_twice_is_paid_and_an_unkeyed_one_is_not():
    task = mockmed()
    assert run(task, fields(task) | {"key": "a"}, fields(task) | {"key": "a"}).reward == 1.0
    assert run(task, fields(task) | {"key": "a"}, fields(task) | {"key": "b"}).reward == 0.0
    assert run(task, fields(task) | {"key": "a"}, fields(task, note="x") | {"key": "a"}).reward == 1.0
    deaf = SqliteStore(draw_bulk(seed=1, rows=10), honours_keys=False)
    assert run_report(deaf, task, write_report([fields(task) | {"key": "a"}] * 2)).outcome == "wrong_effect"
    deaf.close()


def test_a_conditional_create_makes_one_row_and_an_ambiguous_one_none(system):
    once = Action("create", "encounters", VISIT.fields, if_none_exist={"patient_id": "p1", "note": "n"})
    assert [reply.status for reply in system.execute([once])] == [200] and rows(system) == []
    fresh = Action("create", "encounters", {**VISIT.fields, "note": "m"}, if_none_exist={"note": "m"})
    assert [reply.status for reply in system.execute([fresh, fresh])] == [201, 200]
    system.execute([VISIT])
    assert [reply.status for reply in system.execute([once])] == [412] and len(rows(system)) == 2


def test_an_atomic_bundle_is_written_whole_or_not_at_all(system):
    bad = Action("update", "encounters", {"note": "x"}, row_id="none")
    assert all(reply.is_refused for reply in system.execute([VISIT, bad], is_atomic=True)) and rows(system) == []
    assert [reply.status for reply in system.execute([VISIT, ORDER], is_atomic=True)] == [201, 201]
    assert system.read(is_full=True).frame_faults == ()


def test_a_name_given_to_a_create_can_be_referred_to_in_the_same_report(system):
    visit = Action("create", "Encounter", {"subject": SUBJECT, "status": "planned"}, full_url="urn:uuid:a")
    vital = Action("create", "Observation", {"subject": SUBJECT, "encounter": {"reference": "urn:uuid:a"}, "status": "final"})
    first, second = system.execute([visit, vital])
    (found,) = rows(system, "Observation")
    assert found.after["encounterId"] == first.row_id and found.after["encounter"] == {"reference": f"Encounter/{first.row_id}"}
    assert not second.is_refused
    assert system.execute([vital])[0].is_refused


def test_a_deleted_row_stays_with_its_mark_and_an_update_brings_it_back(system):
    system.execute([Action("delete", "encounters", {}, row_id="e1")])
    (change,) = rows(system)
    assert change.after["deleted"] == "1" and change.after["version"] == "2"
    assert system.execute([Action("delete", "encounters", {}, row_id="e1")])[0].status == 404
    system.execute([Action("update", "encounters", {"note": "n"}, row_id="e1")])
    (change,) = rows(system)
    assert (change.after["deleted"], change.after["version"]) == ("0", "3")


def test_a_nested_number_comes_back_as_it_was_written(system):
    system.execute([Action("create", "Observation", {"subject": SUBJECT, "valueQuantity": {"value": Decimal("1.50"), "unit": "g"}})])
    assert str(rows(system, "Observation")[0].after["valueQuantity"]["value"]) == "1.50"


@pytest.mark.parametrize("sql", [
    'INSERT INTO "Journal" VALUES (99, \'x\', \'x\', \'x\', NULL, NULL)', 'DELETE FROM "Journal"', 'UPDATE "Recording" SET "isOn" = 0',
    'INSERT INTO "AuditEvent" VALUES (\'a\', \'b\', \'c\', \'d\', \'e\', \'f\')', 'DROP TRIGGER "encounters_inserted"',
    'CREATE TABLE "x" ("y")', "ATTACH ':memory:' AS z", "PRAGMA writable_schema = 1", "VACUUM",
])  # fmt: skip
def test_the_servers_connection_can_write_neither_the_journal_nor_the_schema(system, sql):
    with pytest.raises(sqlite3.DatabaseError, match="authoriz"):
        system._writer.query(sql)


@pytest.mark.parametrize(
    "sql", ['DELETE FROM "Patient"', "INSERT INTO \"Journal\" VALUES (99, 'x', 'x', 'x', NULL, NULL)", 'DROP TABLE "Patient"']
)
def test_the_oracles_connection_cannot_write(system, sql):
    with pytest.raises(sqlite3.OperationalError, match="readonly|read-only|query_only"):
        system._reader.query(sql)


def test_not_even_the_owner_changes_a_journal_line(system):
    system.execute([VISIT])
    for sql in ('DELETE FROM "Journal"', 'UPDATE "Journal" SET "after" = NULL'):
        with pytest.raises(Exception, match="append-only"):
            system.tamper(sql)
        system._owner.rollback()


def test_one_hidden_change_is_gone_after_the_chart_was_copied_back(system):
    system.tamper('UPDATE "encounters" SET "note" = \'hidden\' WHERE "id" = \'e1\'', is_recorded=False)
    assert system._reader.query('SELECT "note" FROM "encounters"') == [("hidden",)]
    system.restore()
    assert system._reader.query('SELECT "note" FROM "encounters"') == [("n",)]
    system.begin(now=NOW)
    assert system.read(is_full=True).frame_faults == ()


def test_a_write_out_of_the_journals_sight_is_found_without_reading_the_chart(system):
    system.tamper('UPDATE "encounters" SET "note" = \'hidden\' WHERE "id" = \'e1\'', is_recorded=False)
    assert [label for label, _ in system.read().frame_faults] == ["changes_unexplained"]
    assert [label for label, _ in system.read(is_full=True).frame_faults] == ["changes_unexplained", "row_unexplained"]


def test_a_write_by_another_program_is_found_in_a_full_reading(tmp_path):
    system = SqliteStore(SEEDS, path=tmp_path / "emr.db")
    system.begin(now=NOW)
    other = sqlite3.connect(tmp_path / "emr.db")
    other.execute('UPDATE "Recording" SET "isOn" = 0')
    other.execute("UPDATE encounters SET note = 'x' WHERE id = 'e1'")
    other.execute('UPDATE "Recording" SET "isOn" = 1')
    other.commit()
    other.close()
    assert [label for label, _ in system.read(is_full=True).frame_faults] == ["row_unexplained"]
    system.close()


OPS = st.one_of(
    st.just(VISIT), st.just(ORDER), st.just(Action("create", "encounters", VISIT.fields, key="k")),
    st.builds(lambda note: Action("update", "encounters", {"note": note}, row_id="e1"), st.sampled_from("abn")),
    st.builds(lambda row: Action("delete", "encounters", {}, row_id=row), st.sampled_from(["e1"])),
    st.just(Action("update", "Patient", {"family": "x"}, where="*")),
    st.just(Action("delete", "Patient", {}, where={"identifier": "MRN-2"})),
    st.just("postpone"), st.just("hard"), st.just("hidden"), st.just("table"),
)  # fmt: skip
SHARED = SqliteStore(SEEDS)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(OPS, max_size=6))
def test_whatever_an_episode_does_the_next_finds_the_chart_as_it_was(steps):
    SHARED.begin([SeedRow("encounters", "e2", {"patient_id": "p2", "note": "s"})], now=NOW)
    for step in steps:
        if step == "postpone":
            SHARED.postpone(VISIT)
        elif step == "hard":
            SHARED.tamper('DELETE FROM "encounters"')
        elif step == "hidden":
            SHARED.tamper('UPDATE "Patient" SET "given" = \'x\' WHERE "id" = \'p1\'', is_recorded=False)
        elif step == "table":
            SHARED.tamper('CREATE TABLE IF NOT EXISTS "extra" ("id" TEXT)')
        else:
            SHARED.execute([step])
    SHARED.restore()
    SHARED.begin(now=NOW)
    reading = SHARED.read(is_full=True)
    assert (reading.changes, reading.journal, reading.pending, reading.frame_faults) == ((), (), 0, ())
    assert SHARED.execute([VISIT])[0].status == 201 and SHARED.read(is_full=True).frame_faults == ()
    SHARED.restore()


def test_equal_episodes_give_equal_rows():
    task = record("medication_request")
    readings = []
    for _ in range(2):
        store().begin(task.setup, now=task.now)
        store().execute([ORDER])
        readings.append(store().read())
        store().restore()
    assert readings[0] == readings[1]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_charts_are_made_of_the_packages_own_patients(language):
    people, chart = draw_chart(knowledge(), seed=4, patients=3, language=language)
    kinds = {row.collection for row in chart}
    assert len(people) == 3 and {"Patient", "Encounter", "MedicationRequest", "encounters", "patient_data", "Appointment"} <= kinds
    again = draw_chart(knowledge(), seed=4, patients=3, language=language)
    assert (people, chart) == again
    has_chinese = any(re.search("[一-鿿]", str(row.fields)) for row in chart)
    assert has_chinese == (language == "zh")
    SqliteStore(chart).close()


def test_charts_in_two_languages_hold_the_same_rows_and_numbers():
    english, chinese = (draw_chart(knowledge(), seed=4, patients=2, language=language)[1] for language in ("en", "zh"))
    assert [(row.collection, row.row_id) for row in english] == [(row.collection, row.row_id) for row in chinese]
    values = [[row.fields.get("valueQuantity") for row in chart] for chart in (english, chinese)]
    assert values[0] == values[1]


@pytest.mark.slow
def test_a_verdict_on_a_chart_of_twenty_thousand_rows_costs_hardly_more_than_on_a_small_one():
    # How many a second is measured by bench/certify.py; here only that the size of the chart does not decide.
    small, large = SqliteStore(draw_bulk(seed=1, rows=200)), SqliteStore(draw_bulk(seed=1, rows=20_000))
    for task in (mockmed(), record("medication_request")):
        text = gold_report(task)
        best = {}
        for _ in range(5):
            for system in (small, large):
                start = time.process_time()
                for _ in range(200):
                    assert run_report(system, task, text).reward == 1.0
                best[system] = min(best.get(system, 60.0), time.process_time() - start)
        assert best[large] < 3 * best[small], best
    small.close()
    large.close()
