"""What the ledger checks of a note that tells a look-alike's complaint, each with what makes it fail."""

from dataclasses import replace

import pytest
from gate_case import cases, is_kind, retell, with_gold, with_premise

from clinworld.core.text import Wording
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.ledger import ledger_rows
from clinworld.knowledge.rows import Symptom
from clinworld.schema.record import Note

CHECKS = {"traceable_to_a_row", "no_proxy_of_the_answer", "plausible_for_the_patient"}


def told() -> tuple[CaseUnderCheck, Note]:
    """The first packaged case that tells a look-alike's complaint, and the note."""
    for case in cases():
        for note in case.gold.chart.notes:
            if is_kind(case, note, "look_alike"):
                return case, note
    raise AssertionError("no packaged case tells a look-alike")


def complaint() -> tuple[CaseUnderCheck, Note, str, Symptom]:
    """The case, the note, whose complaint it is and which."""
    case, note = told()
    name = case.kinds[note.note_id].row
    rows = (case.knowledge.symptoms[entry.symptom] for entry in case.knowledge.conditions[name].symptoms)
    return case, note, name, next(row for row in rows if note.text.en in row.wordings.en)


def failed(case: CaseUnderCheck) -> set[str]:
    """The checks that fail on look-alike notes."""
    found = [row for row in ledger_rows(case, ()) if row["kind"] == "look_alike"]
    assert found
    return {name for row in found for name, (state, _) in row["checks"].items() if state == "failed"}


def with_origin_row(case: CaseUnderCheck, note: Note, name: str) -> CaseUnderCheck:
    origins = tuple(replace(origin, row=name) if origin.note_id == note.note_id else origin for origin in case.gold.origins)
    return with_gold(case, origins=origins)


def with_patient(case: CaseUnderCheck, **changes: object) -> CaseUnderCheck:
    return with_premise(case, patient=replace(case.gold.premise.patient, **changes))


def test_a_complaint_told_as_the_rows_say_passes_every_check():
    case, _ = told()
    assert failed(case) == set()
    row = next(row for row in ledger_rows(case, ()) if row["kind"] == "look_alike")
    assert {name for name, (state, _) in row["checks"].items() if state == "passed"} >= CHECKS


def test_words_of_no_complaint_of_the_condition_are_not_traceable():
    case, _ = told()
    assert failed(retell(case, "look_alike", "Something nobody wrote", "没有人写过的话")) == {"traceable_to_a_row"}


def test_words_of_two_wordings_mixed_are_not_traceable():
    case, _, _, symptom = complaint()
    assert "traceable_to_a_row" in failed(retell(case, "look_alike", symptom.wordings.en[0], symptom.wordings.zh[1]))


@pytest.mark.parametrize("name", ["no_such_condition", "gout", ""])
def test_a_condition_that_does_not_have_the_complaint_is_not_traceable(name):
    case, note = told()
    assert failed(with_origin_row(case, note, name)) == {"traceable_to_a_row"}


def test_a_condition_that_resembles_nothing_the_patient_has_is_not_traceable():
    case, _ = told()
    assert "traceable_to_a_row" in failed(with_patient(case, disease="gout", comorbidities=()))


def test_a_complaint_of_what_the_patient_has_is_a_proxy_and_implausible():
    case, _, name, _ = complaint()
    assert {"no_proxy_of_the_answer", "plausible_for_the_patient"} <= failed(with_patient(case, comorbidities=(name,)))


def test_a_complaint_outside_the_ages_of_its_condition_is_implausible():
    case, _ = told()
    assert failed(with_patient(case, age_low=5, age_high=9)) == {"plausible_for_the_patient"}


def test_a_complaint_that_may_be_mistaken_for_a_cause_of_regain_is_a_proxy():
    case, _, name, _ = complaint()
    rows = [case.knowledge.symptoms[entry.symptom] for entry in case.knowledge.conditions[name].symptoms]
    shadowed = next((row for row in rows if row.kind == "complaint" and row.id in case.knowledge.symptom_shadows), None)
    if shadowed is None:
        pytest.skip(f"every complaint of {name} may be told")
    changed = retell(case, "look_alike", shadowed.wordings.en[0], shadowed.wordings.zh[0])
    assert "no_proxy_of_the_answer" in failed(changed)
    assert Wording(shadowed.wordings.en[0], shadowed.wordings.zh[0]) in {note.text for note in changed.gold.chart.notes}
