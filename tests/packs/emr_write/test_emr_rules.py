"""Every rule of the checker by a case that only it decides: right with all rules, wrong without that one."""

import random
import sys
import time
import unicodedata
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emr_case import ALL_RULES, actions, decision, fields, gold_report, judge, mockmed, openemr, record, run, store, with_spec, write_report

from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.verdict import Rule
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.report import parse_report
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, SeedRow

pytestmark = pytest.mark.rows

VISIT, VITAL = mockmed(), record("observation")
PATIENT, OTHER = VISIT.facts["person"].patient_id, VISIT.facts["mischief"].decoy[1]


def instruct(task):
    """The first dosage instruction of an order."""
    return actions(task)[0]["fields"]["dosageInstruction"][0]


ORDERS = (record("medication_request", f"case{n}") for n in range(50))
ORDER = next(order for order in ORDERS if instruct(order)["doseAndRate"][0]["doseQuantity"]["unit"] == "mg")
INSTRUCTION = instruct(ORDER)
AMOUNT = INSTRUCTION["doseAndRate"][0]["doseQuantity"]
ACCENT = with_spec(VISIT, fields={"type": "Visite", "note": unicodedata.normalize("NFC", "à revoir")})
LOOSE = with_spec(VISIT, is_self_correction_allowed=True)
CHOICE = with_spec(VITAL, optional={"valueString": ("about right",)})


def dose(**changed):
    """The order with another amount."""
    return fields(ORDER, dosageInstruction=[{**INSTRUCTION, "doseAndRate": [{"doseQuantity": {**AMOUNT, **changed}}]}])


def edit_other():
    return {"op": "update", "collection": "patient_data", "id": OTHER, "fields": {"occupation": "x"}}


def same(url="urn:uuid:a"):
    return actions(VISIT)[0] | {"full_url": url}


def undo(url="urn:uuid:a"):
    return {"op": "delete", "collection": "encounters", "full_url": url}


NOTE = actions(VISIT)[0]["fields"]["note"]
NEIGHBOUR = {"collection": "patient_data", "id": OTHER}


def rewrite(note):
    return {"op": "update", "collection": "encounters", "full_url": "urn:uuid:a", "fields": {"note": note}}


MICRO = with_spec(
    ORDER, fields={**ORDER.spec.records[0].fields, "dosageInstruction": [{"doseAndRate": [{"doseQuantity": {"value": 2, "unit": "g"}}]}]}
)


def grams(value, unit):
    return fields(ORDER, dosageInstruction=[{"doseAndRate": [{"doseQuantity": {"value": value, "unit": unit}}]}])


TRUTH = with_spec(VITAL, fields={**VITAL.spec.records[0].fields, "valueQuantity": {"value": 1, "unit": "L"}})
ABSOLUTE = {"reference": f"https://emr.example.org/fhir/Patient/{ORDER.facts['person'].patient_id}"}
STAMP = ORDER.now.replace("-05:00", "+00:00").replace("T09", "T14")


def shift(hours, minutes, sign):
    """The right moment by arithmetic, with this offset."""
    away = timedelta(hours=hours, minutes=minutes) * (1 if sign == "+" else -1)
    return f"{(datetime.fromisoformat(STAMP).replace(tzinfo=None) + away).isoformat()}{sign}{hours:02}:{minutes:02}"


def foreign(text):
    """The text with its digits in another script."""
    return text.translate({ord(str(digit)): chr(0x660 + digit) for digit in range(10)})


# rule → (task, actions, is it right)
CASES = {
    "whole_frame": [(VISIT, [same(), edit_other()], False)],
    "live_rows_only": [(LOOSE, [same(), undo()], False), (LOOSE, [same(), undo(), same("urn:uuid:b")], True)],
    "declared_cascades": [(ORDER, actions(ORDER), True)],
    "one_to_one_rows": [(VISIT, [same(), same("urn:uuid:b")], False)],
    "identity_by_key": [(VISIT, [fields(VISIT, patient_id=OTHER)], False)],
    "typed_values": [
        (ACCENT, [fields(ACCENT, note=unicodedata.normalize("NFD", "à revoir"))], True),
        (TRUTH, [fields(TRUTH, valueQuantity={"value": True, "unit": "L"})], False),
    ],
    "instants_with_offset": [(ORDER, [fields(ORDER, authoredOn=STAMP)], True)],
    "unit_equivalence": [(MICRO, [grams(2000, "mg")], True), (MICRO, [grams(Decimal("0.0020"), "kg")], True)],
    "no_extra_elements": [(VISIT, [fields(VISIT, priority="stat")], False), (ORDER, [fields(ORDER, note=[{"text": "CANCEL"}])], False)],
    "modifier_elements": [(ORDER, [fields(ORDER, doNotPerform=True)], False), (ORDER, [fields(ORDER, implicitRules="x")], False)],
    "whole_lists": [(ORDER, [fields(ORDER, dosageInstruction=[INSTRUCTION, {"text": "and as needed"}])], False)],
    "same_choice": [(CHOICE, [fields(CHOICE, valueString="about right")], False)],
    "resolved_references": [(ORDER, [fields(ORDER, subject=ABSOLUTE)], True)],
    "clean_history": [(VISIT, [fields(VISIT, note="wrong") | {"full_url": "urn:uuid:a"}, undo(), same("urn:uuid:b")], False)],
}  # fmt: skip
ROWS = [(rule, *case) for rule, cases in CASES.items() for case in cases]
ELSEWHERE = {"readable_oracle", "quiescence", "explicit_decision", "policy_evidence_refused", "outcome_precedence"}


@pytest.mark.parametrize(("rule", "task", "listed", "is_right"), ROWS, ids=[f"{row[0]}-{i}" for i, row in enumerate(ROWS)])
def test_a_rule_decides_its_case_and_no_other_rule_does(rule, task, listed, is_right):
    verdict = run(task, *listed)
    assert (verdict.reward == 1.0) == is_right, verdict.reasons()
    without = run(task, *listed, rules=ALL_RULES - {rule})
    assert (without.reward == 1.0) != is_right, without.reasons()


def test_every_rule_has_a_case():
    assert set(CASES) | ELSEWHERE == set(get_args(Rule)) and not set(CASES) & ELSEWHERE


# whole_frame ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [
    [edit_other()],
    [{"op": "delete", "collection": "Patient", "id": OTHER}],
    [{"op": "create", "collection": "patient_data", "fields": {"pubpid": "MRN-1"}}],
    [{"op": "update", "collection": "Patient", "where": "*", "fields": {"gender": "other"}}],
])  # fmt: skip
def test_a_right_write_beside_any_other_change_is_not_paid_and_says_which(listed):
    verdict = run(VISIT, same(), *listed)
    assert verdict.outcome == "wrong_effect" and any(line[0] in "+-~" for line in verdict.reasons())


@pytest.mark.parametrize("sql", [
    'UPDATE "Observation" SET "status" = \'amended\' WHERE "id" = (SELECT min("id") FROM "Observation")',
    'DELETE FROM "Observation" WHERE "id" = (SELECT min("id") FROM "Observation")',
    'UPDATE "Patient" SET "version" = \'2\' WHERE "id" = (SELECT min("id") FROM "Patient")',
    'INSERT INTO "AuditEvent" VALUES (\'forged\', \'2025-03-10T09:00:00-05:00\', \'create\', \'encounters\', \'x\', \'p\')',
    'INSERT INTO "WriteKey" VALUES (\'forged\', \'d\', \'encounters\', \'x\')',
    'DELETE FROM "AuditEvent"',
])  # fmt: skip
@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_change_behind_the_api_is_found_whether_the_journal_says_so_or_not(sql, is_recorded):
    task = record("medication_request")
    verdict = judge(task, gold_report(task), [(sql,)], is_recorded=is_recorded)
    assert verdict.outcome == "wrong_effect", verdict.reasons()
    assert run_report(store(), task, gold_report(task), is_full=True).reward == 1.0


def test_a_row_that_was_there_counts_for_nothing_and_only_a_naive_check_is_fooled():
    twin = SeedRow("encounters", "twin", actions(VISIT)[0]["fields"])
    task = replace(VISIT, setup=(*VISIT.setup, twin))
    verdict = run(task)
    assert verdict.outcome == "halted_before_effect" and verdict.witnesses["field_inclusion"] and not verdict.witnesses["identity"]
    assert run(task, same()).reward == 1.0


def test_an_update_leaves_the_rest_of_its_row_and_its_neighbour_alone():
    task = record("stop_order")
    (edit,) = actions(task)
    assert run(task, edit).reward == 1.0
    assert run(task, edit | {"fields": {"status": "revoked", "priority": "stat"}}).outcome == "wrong_effect"
    assert run(task, edit | {"fields": {"status": "completed"}}).outcome == "wrong_effect"
    assert run(task, edit, edit | {"id": task.setup[-1].row_id}).outcome == "wrong_effect"
    assert run(task).outcome == "halted_before_effect"


# pairing -------------------------------------------------------------------------------------------------------------------------


def test_two_records_that_refer_to_each_other_are_paired_whole():
    task = record("visit_with_observation")
    visit, vital = actions(task)
    assert run(task, visit, vital).reward == 1.0
    assert run(task, visit).outcome == "wrong_effect"
    elsewhere = {"reference": f"Encounter/{task.facts['person'].encounter_id}"}
    assert run(task, visit, vital | {"fields": vital["fields"] | {"encounter": elsewhere}}).outcome == "wrong_effect"


def test_values_of_two_records_that_are_crossed_are_not_paid():
    task = record("order_with_follow_up")
    first, second = actions(task)
    assert run(task, second, first).reward == 1.0
    crossed = [first | {"fields": first["fields"] | {"authoredOn": second["fields"]["occurrenceDateTime"]}}, second]
    assert run(task, *crossed).outcome == "wrong_effect"


# values --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changed", "is_right"), [
    ({"value": AMOUNT["value"] * 1000, "unit": "ug"}, True),
    ({"value": AMOUNT["value"] * 1000, "unit": "mcg"}, True),
    ({"value": AMOUNT["value"] * 10}, False),
    ({"unit": "g"}, False),
    ({"value": str(AMOUNT["value"])}, False),
    ({"unit": "mL"}, False),
    ({"unit": "MG"}, False),
    ({"code": "g"}, False),
    ({"code": AMOUNT["unit"]}, False),
    ({"value": AMOUNT["value"] * 1000, "unit": "ug", "code": "ug"}, False),
    ({"unit": None, "code": AMOUNT["unit"]}, False),
    ({"comparator": "<"}, False),
])  # fmt: skip
def test_an_amount_is_right_in_another_unit_only_when_it_is_the_same_amount(changed, is_right):
    assert (run(ORDER, dose(**changed)).reward == 1.0) == is_right


def test_an_amount_in_a_unit_nobody_knows_is_right_as_written_only():
    amount = {"value": 800, "unit": "[IU]"}
    task = with_spec(ORDER, fields={**ORDER.spec.records[0].fields, "dosageInstruction": [{"doseAndRate": [{"doseQuantity": amount}]}]})
    assert run(task, fields(task)).reward == 1.0
    assert run(task, fields(task, dosageInstruction=[{"doseAndRate": [{"doseQuantity": amount | {"unit": "IU"}}]}])).reward == 0.0


def test_an_amount_in_another_unit_is_wrong_where_the_spec_does_not_allow_it():
    value = actions(VITAL)[0]["fields"]["valueQuantity"]
    strict = with_spec(VITAL, fields={**VITAL.spec.records[0].fields, "valueQuantity": {"value": 2, "unit": "g"}})
    assert run(strict, fields(strict, valueQuantity={"value": Decimal("2.00"), "unit": "g"})).reward == 1.0
    assert run(strict, fields(strict, valueQuantity={"value": 2000, "unit": "mg"})).reward == 0.0
    assert value != {"value": 2, "unit": "g"}


@pytest.mark.parametrize(("stamp", "is_right"), [
    (ORDER.now, True), (STAMP, True), (STAMP.replace("+00:00", "Z"), True), (STAMP.replace("+00:00", ".000Z"), True),
    (STAMP.replace("+00:00", ""), False), (ORDER.now[:-6], False), (ORDER.now.replace("-05:00", "-06:00"), False), (ORDER.now[:10], False),
    ("2025-10-03T09:00:00-05:00", False),
    (ORDER.now.replace("-05:00", ".000000-05:00"), True), (STAMP.replace("+00:00", "-00:00"), True),
    (shift(14, 0, "+"), True), (shift(12, 30, "-"), True), (shift(14, 0, "-"), True),
    (shift(14, 1, "+"), False), (shift(15, 0, "+"), False), (shift(23, 59, "+"), False), (shift(24, 0, "-"), False),
    (shift(99, 99, "+"), False), (shift(5, 60, "-"), False),
    (ORDER.now[:19] + foreign(ORDER.now[19:]), False), (STAMP[:19] + foreign("+00:00"), False),
    (STAMP.replace("+00:00", f".{foreign('0')}Z"), False), (STAMP.replace("+00:00", ".\uff10Z"), False), (foreign(STAMP), False),
    (STAMP.replace("+00:00", "z"), False), (STAMP.replace("T", "t"), False), (STAMP.replace("T", " "), False), (STAMP + " ", False),
    (STAMP + "\n", False), (STAMP.replace("+00:00", "+0000"), False), (STAMP.replace("+00:00", "+00"), False),
    (STAMP.replace("+00:00", ",0Z"), False), (STAMP.replace("+00:00", ".Z"), False), (STAMP.replace("+00:00", "\u2212" + "00:00"), False),
])  # fmt: skip
def test_an_instant_is_right_as_the_same_moment_with_an_offset(stamp, is_right):
    assert (run(ORDER, fields(ORDER, authoredOn=stamp)).reward == 1.0) == is_right


@pytest.mark.parametrize(("changed", "is_right"), [
    ({"doNotPerform": False}, True), ({"doNotPerform": True}, False), ({"doNotPerform": "false"}, False), ({"status": "draft"}, False),
    ({"intent": "plan"}, False), ({"status": None}, False), ({"implicitRules": "x"}, False), ({"priority": "stat"}, False),
    ({"extension": [{"url": "x"}]}, False), ({"medicationReference": {"reference": "Medication/1"}}, False),
])  # fmt: skip
def test_what_changes_the_meaning_of_an_order_is_compared_with_its_default(changed, is_right):
    assert (run(ORDER, fields(ORDER, **changed)).reward == 1.0) == is_right


@pytest.mark.parametrize(("coding", "is_right"), [
    (lambda coding, name: [coding | {"display": name}], True),
    (lambda coding, name: [coding | {"display": "Morphine"}], False),
    (lambda coding, name: [coding, {"system": "http://loinc.org", "code": "1"}], False),
    (lambda coding, name: [coding, coding], False),
    (lambda coding, name: [], False),
    (lambda coding, name: [{"code": coding["code"]}], False),
    (lambda coding, name: coding, False),
])  # fmt: skip
def test_a_code_may_carry_its_name_and_nothing_else(coding, is_right):
    concept = actions(ORDER)[0]["fields"]["medicationCodeableConcept"]
    listed = coding(concept["coding"][0], concept["text"])
    assert (run(ORDER, fields(ORDER, medicationCodeableConcept={**concept, "coding": listed})).reward == 1.0) == is_right


def test_a_list_may_hold_more_only_where_the_spec_says_so():
    concept = actions(ORDER)[0]["fields"]["medicationCodeableConcept"]
    more = {**concept, "coding": [{"system": "urn:x", "code": "1"}, *concept["coding"]]}
    task = with_spec(ORDER, containing=("medicationCodeableConcept.coding",))
    assert run(task, fields(ORDER, medicationCodeableConcept=more)).reward == 1.0
    assert run(ORDER, fields(ORDER, medicationCodeableConcept=more)).reward == 0.0


@pytest.mark.parametrize(("reference", "is_right"), [
    ("Patient/{id}", True), ("https://emr.example.org/fhir/Patient/{id}", True), ("https://elsewhere.org/fhir/Patient/{id}", False),
    ("Patient/{id}/_history/1", False), ("patient/{id}", False), ("Patient/{other}", False), ("{id}", False), ("urn:uuid:{id}", False),
])  # fmt: skip
def test_a_reference_is_right_when_it_names_the_same_row(reference, is_right):
    place = reference.format(id=ORDER.facts["person"].patient_id, other=ORDER.facts["other"].patient_id)
    assert (run(ORDER, fields(ORDER, subject={"reference": place})).reward == 1.0) == is_right


def test_a_record_of_the_right_patient_in_the_wrong_visit_is_not_paid():
    place = {"reference": f"Encounter/{ORDER.facts['other'].encounter_id}"}
    verdict = run(ORDER, fields(ORDER, encounter=place))
    assert verdict.outcome == "wrong_effect" and any(finding.rule == "identity_by_key" for finding in verdict.findings)


@pytest.mark.parametrize("number", ["MRN-１", " {id}", "{id} ", "{id}\u200b", "0{id}"])
def test_a_record_number_that_only_looks_right_is_another_patient(number):
    task = openemr()
    assert run(task, fields(task, pubpid=number.format(id=task.spec.records[0].identity["pubpid"]))).reward == 0.0


# history -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("listed", "net"), [
    ([same(), undo(), same("urn:uuid:b")], True),
    ([same(), undo(), rewrite(NOTE)], True),
    ([fields(VISIT, note="wrong") | {"full_url": "urn:uuid:a"}, rewrite(NOTE)], True),
    ([same(), rewrite("x")], False),
    # A neighbour that was deleted and put back carries another version, so its row is not as it was.
    ([{"op": "delete", **NEIGHBOUR}, {"op": "update", **NEIGHBOUR, "fields": {"sex": VISIT.setup[5].fields["sex"]}}, same()], False),
])  # fmt: skip
def test_a_write_that_was_put_right_is_paid_only_where_self_correction_is_allowed(listed, net):
    assert run(VISIT, *listed).outcome == "wrong_effect"
    assert (run(LOOSE, *listed).reward == 1.0) == net


def test_writing_what_is_there_already_is_no_change():
    assert run(VISIT, same(), rewrite(NOTE), rewrite(NOTE)).reward == 1.0


def written_twice(task, first, then):
    """A right or wrong create that is changed afterwards; both are elements of its first record."""
    create = fields(task, **first) | {"full_url": "urn:uuid:a"}
    return [create, {"op": "update", "collection": create["collection"], "full_url": "urn:uuid:a", "fields": then}]


TEXT = "Visite à revoir"
COMPOSED, APART = (unicodedata.normalize(form, TEXT) for form in ("NFC", "NFD"))
NOTED = with_spec(ORDER, fields={**ORDER.spec.records[0].fields, "note": [{"text": COMPOSED}]})


@pytest.mark.parametrize(("task", "first", "then", "is_right"), [
    (with_spec(VISIT, fields={"type": "T", "note": COMPOSED}), {"type": "T", "note": APART}, {"note": COMPOSED}, True),
    (with_spec(VISIT, fields={"type": "T", "note": COMPOSED}), {"type": "T", "note": COMPOSED}, {"note": APART}, True),
    (with_spec(VISIT, fields={"type": "T", "note": COMPOSED}), {"type": "T", "note": "Visite a revoir"}, {"note": COMPOSED}, False),
    (NOTED, {"note": [{"text": APART}]}, {"note": [{"text": COMPOSED}]}, True),
    (NOTED, {"note": [{"text": COMPOSED + " "}]}, {"note": [{"text": COMPOSED}]}, False),
    (ORDER, {"authoredOn": STAMP}, {"authoredOn": ORDER.now}, True),
    (ORDER, {"authoredOn": ORDER.now.replace("-05:00", "-06:00")}, {"authoredOn": ORDER.now}, False),
    (ORDER, {"doNotPerform": False}, {"doNotPerform": None}, True),
    (ORDER, {"doNotPerform": True}, {"doNotPerform": None}, False),
    (ORDER, {"doNotPerform": 0}, {"doNotPerform": None}, False),
])  # fmt: skip
def test_a_right_value_in_another_of_its_forms_on_the_way_is_paid_and_another_value_is_not(task, first, then, is_right):
    verdict = run(task, *written_twice(task, first, then))
    assert (verdict.reward == 1.0) == is_right, verdict.reasons()
    assert is_right or [finding.label for finding in verdict.findings] == ["history_dirty"]


# decisions, platform, precedence -------------------------------------------------------------------------------------------------


def test_silence_earns_nothing_where_nothing_is_to_be_written():
    task = decision("magnesium", "at_1.9")
    assert run_report(store(), task, gold_report(task)).reward == 1.0
    assert run(task).outcome == "halted_before_effect" and run(task, rules=ALL_RULES - {"explicit_decision"}).reward == 1.0
    assert run(task, decision="no_write", reason="no_recent_result").reward == 0.0
    assert run(task, decision="wait", reason="within_range").reward == 0.0
    assert run(task, decision="no_write", reason="within_range", submitted=False).reward == 0.0


def test_a_write_earns_nothing_where_nothing_is_to_be_written():
    calm, low = decision("magnesium", "at_1.9"), decision("magnesium", "below_1.9")
    order = actions(low)[0]
    person = calm.facts["person"]
    whose = {"subject": person.subject, "encounter": {"reference": f"Encounter/{person.encounter_id}"}}
    assert run(calm, order | {"fields": order["fields"] | whose}).outcome == "wrong_effect"
    assert run(low, decision="no_write", reason="within_range").outcome == "halted_before_effect"


@pytest.mark.parametrize(
    "sql", ['DROP TABLE "Observation"', 'ALTER TABLE "encounters" RENAME COLUMN "note" TO "remark"', 'DROP TABLE "Journal"']
)
def test_a_system_that_cannot_be_read_leaves_the_episode_unscored(sql):
    verdict = judge(VISIT, gold_report(VISIT), [(sql,)])
    assert (verdict.outcome, verdict.reward) == ("failed_platform", None) and verdict.reasons()
    assert judge(VISIT, gold_report(VISIT), [(sql,)], rules=ALL_RULES - {"readable_oracle"}).outcome != "failed_platform"
    assert run(VISIT, same()).reward == 1.0


def test_rows_stamped_by_another_clock_leave_the_episode_unscored():
    sql = "INSERT INTO \"encounters\" VALUES ('late', '1', '2031-01-01T00:00:00Z', '0', 'x', ?, NULL, NULL, NULL, NULL, NULL)"
    assert judge(VISIT, gold_report(VISIT), [(sql, PATIENT)]).outcome == "failed_platform"


def wait(*, most, rules=ALL_RULES, text=None):
    """The verdict when the gold write waits and at most so many waiting writes are applied by the deadline."""
    report = parse_report(text or gold_report(VISIT))
    try:
        store().begin(VISIT.setup, now=VISIT.now)
        for action in parse_report(gold_report(VISIT)).actions:
            store().postpone(action)
        store().drain(most=most)
        return check_write(VISIT.spec, store().read(VISIT.spec.near()), report, rules=rules)
    finally:
        store().restore()


def test_a_write_still_waiting_at_the_deadline_is_unscored_and_a_late_one_is_judged():
    assert (wait(most=0).outcome, wait(most=0).reward) == ("reconciliation_required", None)
    assert wait(most=0, rules=ALL_RULES - {"quiescence"}).outcome == "halted_before_effect"
    assert wait(most=5).outcome == "verified"


def test_the_gravest_outcome_wins():
    assert wait(most=0, text="nonsense").outcome == "reconciliation_required"
    assert judge(VISIT, "nonsense", [('DROP TABLE "Journal"',)]).outcome == "failed_platform"
    edit = ('UPDATE "Patient" SET "family" = \'x\' WHERE "id" = (SELECT min("id") FROM "Patient")',)
    assert judge(VISIT, "nonsense", [edit]).outcome == "rejected_policy"
    silent = write_report([])
    assert judge(VISIT, silent, [edit], is_recorded=False).outcome == "wrong_effect"
    assert judge(VISIT, silent, [edit], is_recorded=False, rules=ALL_RULES - {"outcome_precedence"}).outcome == "halted_before_effect"


@pytest.mark.parametrize("kind", ["mockmed", "openemr"])
def test_reasons_are_written_in_both_languages(kind):
    verdict = run(VISIT if kind == "mockmed" else openemr(), rules=ALL_RULES)
    assert verdict.reasons("en") != verdict.reasons("zh") and all("{" not in line for line in verdict.reasons("zh"))


def test_a_system_that_breaks_before_the_write_is_unscored_and_mended_after():
    store().begin(VISIT.setup, now=VISIT.now)
    store().tamper('DROP TABLE "encounters"')
    with pytest.raises(OracleUnreadable, match="no such table"):
        store().execute(parse_report(gold_report(VISIT)).actions)
    store().restore()
    assert run(VISIT, same()).reward == 1.0


@pytest.mark.slow
def test_ten_thousand_spoilt_reports_end_quickly_and_none_raises():
    text, rng, longest = gold_report(ORDER), random.Random(1), 0.0
    for _ in range(10_000):
        spoilt = list(text)
        for _ in range(rng.randint(0, 4)):
            place = rng.randrange(len(spoilt))
            spoilt[place : place + rng.choice((0, 1, 1, 5))] = rng.choice(
                ('"', "{", "}", "[", ",", ":", "\\", "1", "e9", "null", "true", "\u0301", "")
            )
        start = time.process_time()
        verdict = run_report(store(), ORDER, "".join(spoilt))
        longest = max(longest, time.process_time() - start)
        assert verdict.reward in (0.0, 1.0)
    assert longest < 1.0
