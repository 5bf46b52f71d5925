"""The gates of notes, first values and counts hold where a condition shows itself, and see what is wrong there."""

from dataclasses import replace

import pytest
from gate_case import cases, knowledge, run, with_chart, with_premise

from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.note_checks import check_note
from clinworld.schema.record import Chart
from clinworld.world.build import build_world
from clinworld.world.presenting import draw_presenting

GATES = (
    "events_are_counted",
    "symptom_days_irregular",
    "ids_tell_nothing",
    "notes_give_nothing_away",
    "baseline_is_undiagnosed",
    "values_possible",
)


def with_presenting(condition: str, number: int = 0) -> tuple[CaseUnderCheck, Chart]:
    """A packaged case in whose patient the condition shows itself, charted anew."""
    case = cases()[number]
    premise = case.gold.premise
    shown = replace(
        premise, presenting=draw_presenting(premise.case_id, condition, premise.patient, premise.index_day, knowledge(), Rng(premise.seed))
    )
    _, chart = build_world(shown, knowledge(), Rng(premise.seed))
    changed = with_chart(with_premise(case, presenting=shown.presenting), series=chart.record.series, notes=chart.record.notes)
    return replace_origins(changed, chart), chart


def replace_origins(case: CaseUnderCheck, chart: Chart) -> CaseUnderCheck:
    return CaseUnderCheck(
        case.item, replace(case.gold, origins=chart.origins, faults=chart.faults), case.knowledge, case.reader, case.prompts
    )


@pytest.mark.parametrize("condition", ["hypothyroidism", "pe", "cushing", "iron_deficiency_anaemia"])
def test_a_patient_with_a_presenting_condition_passes_the_gates_of_notes_and_first_values(condition: str) -> None:
    case, chart = with_presenting(condition)
    for gate in GATES:
        assert not run(gate, case).findings, (gate, run(gate, case).findings)
    origins = {origin.note_id: origin for origin in chart.origins}
    shown = [note for note in chart.record.notes if origins[note.note_id].kind == "real" and origins[note.note_id].row]
    assert shown
    for note in shown:
        failed = [check for check in check_note(note, origins[note.note_id], case) if check.state == "failed"]
        assert not failed, failed


def test_a_complaint_in_words_of_nobody_is_seen() -> None:
    case, chart = with_presenting("hypothyroidism")
    origins = {origin.note_id: origin for origin in chart.origins}
    note = next(note for note in chart.record.notes if origins[note.note_id].kind == "real" and origins[note.note_id].row)
    for wrong in (replace(note, text=Wording("I feel odd", "?")), replace(note, day=case.gold.premise.index_day + 5)):
        failed = {check.name for check in check_note(wrong, origins[note.note_id], case) if check.state == "failed"}
        assert "traceable_to_the_presentation" in failed
