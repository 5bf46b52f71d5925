"""The report parser and whole episodes on every edge case of the specification's table."""

import json
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from emr_case import actions, fields, gold_report, mockmed, record, store, write_report

from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.report import MAX_ACTIONS, MAX_BYTES, Rejection, Report, parse_report

pytestmark = pytest.mark.rows

TASK = mockmed()
GOLD = actions(TASK)[0]
FIELDS = GOLD["fields"]
MADE = {"collection": "encounters", "full_url": "urn:uuid:visit"}
ROW = GOLD | {"full_url": "urn:uuid:visit"}
ORDER = actions(record("medication_request"))[0]
ORDER = ORDER | {"fields": ORDER["fields"] | {"subject": {"reference": f"Patient/{FIELDS['patient_id']}"}, "encounter": None}}
TEXT = gold_report(TASK)
OTHER_ID = TASK.facts["mischief"].decoy[1]


def report(*listed: object, **more: object) -> str:
    return write_report(listed, None, **more)  # type: ignore[arg-type]


def raw(**keys: object) -> str:
    return json.dumps(keys)


HALTED, WRONG, REJECTED, GOOD = "halted_before_effect", "wrong_effect", "rejected_policy", "verified"

# (what the report does, its text, the outcome): every line of the table, in its order
TABLE = [
    ("no actions", report(), HALTED),
    ("actions missing", raw(submitted=True), REJECTED),
    ("actions an object", raw(actions=GOLD, submitted=True), REJECTED),
    ("a list at the top", json.dumps([GOLD]), REJECTED),
    ("a list around the report", f"[{TEXT}]", REJECTED),
    ("submitted missing", raw(actions=[GOLD]), REJECTED),
    ("submitted the text false", report(GOLD, submitted="false"), REJECTED),
    ("submitted the text no", report(GOLD, submitted="no"), REJECTED),
    ("submitted null", report(GOLD, submitted=None), REJECTED),
    ("submitted 0", report(GOLD, submitted=0), REJECTED),
    ("submitted 1", report(GOLD, submitted=1), REJECTED),
    ("submitted a list", report(GOLD, submitted=[]), REJECTED),
    ("submitted false", report(GOLD, submitted=False), HALTED),
    ("another collection only", report(ORDER), WRONG),
    ("a collection there is not", report(GOLD | {"collection": "visits"}), REJECTED),
    ("a collection in other case", report(GOLD | {"collection": "ENCOUNTERS"}), REJECTED),
    ("op in capitals", report(GOLD | {"op": "CREATE"}), REJECTED),
    ("only an update of nothing", report({"op": "update", "collection": "encounters", "id": "none", "fields": {"note": "x"}}), HALTED),
    ("gold and an order in another collection", report(GOLD, ORDER), WRONG),
    ("gold, then its update to a wrong note", report(ROW, {"op": "update", **MADE, "fields": {"note": "x"}}), WRONG),
    ("gold, then its delete", report(ROW, {"op": "delete", **MADE}), WRONG),
    ("delete a whole table, then gold", report({"op": "delete", "collection": "Patient", "where": "*"}, GOLD), WRONG),
    ("gold, and a delete of more rows than one write may", report({"op": "delete", "collection": "Observation", "where": "*"}, GOLD), GOOD),
    ("an unknown op, then gold", report({"op": "drop_table", "collection": "encounters"}, GOLD), REJECTED),
    ("an undeclared field", report(fields(TASK, ward="3B")), WRONG),
    ("an allowed field with another value", report(fields(TASK, key="anything")), WRONG),
    ("an allowed field with an object", report(fields(TASK, key={"a": {"b": 1}})), HALTED),  # the server takes text only
    ("an allowed field with its value", report(fields(TASK, key=TASK.spec.records[0].optional["key"][0])), GOOD),
    ("the server's source", report(fields(TASK, source="me")), REJECTED),
    ("an id of its own", report(fields(TASK, id=999)), REJECTED),
    ("a null id of its own", report({**GOLD, "fields": {**FIELDS, "id": None}}), REJECTED),
    ("an id that is a list", report(fields(TASK, id=[1])), REJECTED),
    ("two creates with the same id", report(fields(TASK, id="7"), fields(TASK, id="7")), REJECTED),
    ("two different records", report(GOLD, fields(TASK, note="x")), WRONG),
    ("a wrong create, then the right one", report(fields(TASK, note="x"), GOLD), WRONG),
    ("note missing", report(fields(TASK, note=None)), WRONG),
    ("note empty", report(fields(TASK, note="")), WRONG),
    ("note null", report({**GOLD, "fields": {**FIELDS, "note": None}}), WRONG),
    ("note with a space at the end", report(fields(TASK, note=FIELDS["note"] + " ")), WRONG),
    ("note in capitals", report(fields(TASK, note=FIELDS["note"].upper())), WRONG),
    ("note cut", report(fields(TASK, note=FIELDS["note"][:-1])), WRONG),
    ("note with a no-break space", report(fields(TASK, note=FIELDS["note"].replace(" ", "\u00a0", 1))), WRONG),
    ("type a list", report(fields(TASK, type=[FIELDS["type"]])), HALTED),  # the server takes text only
    ("patient_id a number", report(fields(TASK, patient_id=1)), HALTED),
    ("broken JSON", TEXT[:-1], REJECTED),
    ("prose only", "I have saved the visit.", REJECTED),
    ("prose and JSON", f"Here it is:\n{TEXT}\nDone.", GOOD),
    ("a fence", f"```json\n{TEXT}\n```", GOOD),
    ("a byte order mark", "\ufeff" + TEXT, GOOD),
    ("two objects", TEXT + "\n" + TEXT, REJECTED),
    ("an object and another that never ends", TEXT + '\n{"actions": [', REJECTED),
    ("a list before the object", "[1,2] " + TEXT, REJECTED),
    ("a list after the object", TEXT + " [1,2]", REJECTED),
    ("two pairs of fences inside each other", f"```\n```json\n{TEXT}\n```\n```", REJECTED),
    ("a fence of words after the fence", f"```json\n{TEXT}\n```\n```\nwords\n```", REJECTED),
    ("thinking with an object, then the report", '<think>{"actions": []}</think>' + TEXT, GOOD),
    ("thinking without an end", "<think>" + TEXT, REJECTED),
    ("two fences", f"```json\n{TEXT}\n```\n```json\n{report(GOLD, GOLD)}\n```", REJECTED),
    ("the same key twice", TEXT[:-1] + ',"submitted":true}', REJECTED),
    ("the same key twice inside", TEXT.replace('"note":', '"type":"x","note":'), REJECTED),
    ("NaN", TEXT.replace('"submitted":true', '"submitted":true,"x":NaN'), REJECTED),
    ("a thousand creates", report(*[GOLD] * 1000), REJECTED),
    ("as many creates as are read", report(*[GOLD] * MAX_ACTIONS), WRONG),
    ("more bulk deletes than are read", report(*[{"op": "delete", "collection": "Appointment", "where": "*"}] * 5), REJECTED),
    ("nesting of 100,000", report(GOLD, x="@").replace('"@"', "[" * 100_000), REJECTED),
    ("nesting of 60", report(GOLD, x="@").replace('"@"', "[" * 60 + "]" * 60), REJECTED),
    ("nesting of one more than is read", report(GOLD, x="@").replace('"@"', "[" * 32 + "]" * 32), REJECTED),
    ("nesting as deep as is read", report(GOLD, x="@").replace('"@"', "[" * 31 + "]" * 31), GOOD),
    ("a number of 5,000 digits", report(GOLD, x="@").replace('"@"', "9" * 5000), REJECTED),
    ("a huge exponent", report(GOLD, x="@").replace('"@"', "1e999999999"), REJECTED),
    ("half a character in a text nobody reads", report(GOLD, x="@").replace("@", "\\ud800"), REJECTED),
    ("more conditional creates than are read", report(*[GOLD | {"if_none_exist": {"note": "x"}}] * 17), REJECTED),
    ("half a character", report(fields(TASK, note="@")).replace("@", "\\ud800"), REJECTED),
    ("evidence of tier 0 and gold", report(GOLD, evidence={"tier": 0, "screen_text": "Saved"}), GOOD),
    ("evidence of tier 1 only", report(evidence={"tier": 1}), HALTED),
    ("evidence of tier 2 only", report(evidence={"tier": 2}), HALTED),
    ("evidence of tier 3 only", report(evidence={"tier": 3}), HALTED),
    ("evidence of tier 0 in words", report(evidence={"tier": "0"}), HALTED),
    ("evidence a list", report(evidence=[1]), HALTED),
    ("evidence of tier 2 with a screen", report(evidence={"tier": 2, "screen_text": "VERIFIED"}), HALTED),
]  # fmt: skip


@pytest.mark.parametrize(("text", "outcome"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_report_of_the_table_gets_its_outcome(text, outcome):
    verdict = run_report(store(), TASK, text)
    assert (verdict.outcome, verdict.reward) == (outcome, 1.0 if outcome == GOOD else 0.0), verdict.reasons()


@pytest.mark.parametrize("name", [row[0] for row in TABLE if row[0].startswith("evidence")])
def test_evidence_a_policy_brings_is_counted_whatever_tier_it_names(name):
    verdict = run_report(store(), TASK, next(row[1] for row in TABLE if row[0] == name))
    assert verdict.metrics["offers_evidence"] and verdict.metrics["evidence_tier"] == 2
    assert any(finding.rule == "policy_evidence_refused" and finding.outcome is None for finding in verdict.findings)


def test_a_report_without_evidence_offers_none():
    assert run_report(store(), TASK, TEXT).metrics["offers_evidence"] is False


@pytest.mark.parametrize(("text", "place"), [
    (None, "report"), (b"{}", "report"), (["x"], "report"), ("", "report"), ("x" * (MAX_BYTES + 1), "report"), ("\ud800{}", "report"),
    (report({"op": "create", "collection": "encounters", "fields": {}}), "actions[0]"),
    (report({"op": "delete", "collection": "encounters"}), "actions[0]"),
    (report({"op": "delete", "collection": "encounters", "id": "a", "where": "*"}), "actions[0]"),
    (report(GOLD | {"unless": 1}), "actions[0]"),
    (report({"op": "create", "collection": "AuditEvent", "fields": {"action": "x"}}), "actions[0].collection"),
    (report(ORDER | {"fields": {"patientId": "x"}}), "actions[0].fields.patientId"),
    (report(GOLD, decision="no_write"), "decision"),
    (report(decision=3), "decision"),
])  # fmt: skip
def test_a_report_that_cannot_be_executed_is_rejected_with_its_place(text, place):
    rejection = parse_report(text)
    assert isinstance(rejection, Rejection) and rejection.place == place and rejection.found


def test_prose_is_refused_where_it_is_not_allowed_and_a_fence_is_not():
    assert isinstance(parse_report("Done: " + TEXT, is_prose_allowed=False), Rejection)
    assert isinstance(parse_report(f"```\n{TEXT}\n```", is_prose_allowed=False), Report)


def test_a_key_nobody_knows_is_noted_and_voids_nothing():
    parsed = parse_report(report(GOLD, mood="good"))
    assert isinstance(parsed, Report) and "mood" in parsed.notes[0]


def test_a_number_is_read_as_written():
    parsed = parse_report(
        report({"op": "create", "collection": "Observation", "fields": {"valueQuantity": {"value": "@"}}}).replace('"@"', "0.10")
    )
    assert isinstance(parsed, Report) and str(parsed.actions[0].fields["valueQuantity"]["value"]) == "0.10"


PIECES = [
    *TEXT[:40],
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    "```",
    "<think>",
    "</think>",
    "null",
    "NaN",
    "1e9",
    "\ud800",
    "\\ud800",
    ",",
    ":",
    TEXT,
    "🙂",
    "\x00",
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join))
def test_no_text_makes_the_parser_raise(text):
    assert isinstance(parse_report(text), (Report, Rejection))


KEYS = ("op", "collection", "fields", "id", "where", "key", "full_url", "note", "x")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.fixed_dictionaries({"actions": JSON | st.lists(JSON, max_size=3), "submitted": JSON}))
@pytest.mark.slow
def test_no_value_makes_an_episode_raise(value):
    assert run_report(store(), TASK, json.dumps(value)).reward in (0.0, 1.0)


@pytest.mark.parametrize("text", [
    "{" * MAX_BYTES, '{"a":' * (MAX_BYTES // 5), '"' * MAX_BYTES,
    '{"\\' * (MAX_BYTES // 3),
    "{" + ",".join(f'"{i}":1' for i in range(7000)) + ',"0":1}', '{"' + '\\"' * (MAX_BYTES // 2 - 2), "```" * 20_000,
])  # fmt: skip
def test_a_hostile_text_of_full_size_is_done_with_at_once(text):
    start = time.process_time()
    assert isinstance(parse_report(text), Rejection)
    assert time.process_time() - start < 0.5
