"""The ledger of `verify`: a row for each series, laboratory line, note and case, each check with a row that passes and one that fails."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from control_table import FAILS
from gate_case import (
    cases,
    change,
    find_case,
    from_day,
    is_kind,
    keep,
    move_notes,
    retell,
    series_of,
    with_gold,
    with_item,
    with_notes,
    with_premise,
    with_series,
)

from clinworld.core.text import Wording
from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.ledger import ledger_rows
from clinworld.gates.run_gates import find_gate, gate_names, read_outcome


def rows(case: CaseUnderCheck) -> list[dict]:
    return ledger_rows(case, ())


def failed(case: CaseUnderCheck) -> set[tuple[str, str]]:
    """(check, kind of row) of every failed check."""
    return {(name, row["kind"]) for row in rows(case) for name, (state, _) in row["checks"].items() if state == "failed"}


def step_at(case: CaseUnderCheck, name: str, day: int, size: int) -> CaseUnderCheck:
    series = series_of(case, name)
    return with_series(case, change(series, from_day(series, day), lambda ticks: ticks + size))


def quiet(case: CaseUnderCheck) -> bool:
    return case.gold.premise.driver in ("poor_medication_adherence", "unknown_or_multifactorial") and case.item.index_day > 60


def test_every_series_note_and_case_has_a_row_and_nothing_fails():
    for case in cases():
        found = rows(case)
        assert len(found) == len(case.gold.chart.series) + len(case.gold.chart.notes) + 1
        assert [row for row in found if not row["ok"]] == []


def test_laboratory_lines_are_checked_like_any_other():
    laboratory = [row for case in cases() for row in rows(case) if row["kind"] == "laboratory"]
    assert laboratory and all(
        {"values_possible", "view_equals_chart", "starts_where_its_row_says"} <= set(row["checks"]) for row in laboratory
    )


def test_every_check_says_passed_somewhere_and_never_anything_but_three_states():
    seen: dict[str, set[str]] = {}
    for case in cases():
        for row in rows(case):
            for name, (state, detail) in row["checks"].items():
                seen.setdefault(name, set()).add(state)
                assert state in ("passed", "failed", "not_applicable") and detail
    assert [name for name, states in seen.items() if "passed" not in states] == []


def base() -> CaseUnderCheck:
    return find_case("values_possible", quiet)


def events() -> CaseUnderCheck:
    return find_case("events_are_harmless", lambda case: any(is_kind(case, note, "benign") for note in case.shown_notes))


def second_of_a_topic() -> CaseUnderCheck:
    case = events()
    one, two = [note for note in case.shown_notes if is_kind(case, note, "benign")][:2]
    row = case.kinds[one.note_id].row
    origins = tuple(replace(origin, row=row) if origin.note_id == two.note_id else origin for origin in case.gold.origins)
    return with_gold(case, origins=origins)


def on_the_day_of_a_symptom() -> CaseUnderCheck:
    case = find_case("symptom_days_irregular")
    real = next(note for note in case.shown_notes if is_kind(case, note, "real"))
    other = next(note for note in case.shown_notes if is_kind(case, note, "benign"))
    return move_notes(case, {other.note_id: real.day})


def told_otherwise(kind: str, case: CaseUnderCheck) -> CaseUnderCheck:
    return retell(case, kind, "Something nobody wrote", "没有人写过的话")


def with_context(case: CaseUnderCheck) -> CaseUnderCheck:
    real = next(note for note in case.gold.chart.notes if is_kind(case, note, "real"))
    changed = replace(real, context=Wording("never said", "从未说过"))
    return with_notes(case, tuple(changed if note is real else note for note in case.gold.chart.notes))


def proxy() -> CaseUnderCheck:
    """A patient who has a condition that a charted event could be mistaken for."""
    case = events()
    rows = [case.knowledge.events.get(case.kinds[note.note_id].row) for note in case.gold.chart.notes if is_kind(case, note, "benign")]
    shadow = next(shadow for row in rows if row for shadow in row.shadows if shadow in case.knowledge.conditions)
    return with_premise(case, patient=replace(case.gold.premise.patient, comorbidities=(shadow,)))


def too_old_for_it() -> CaseUnderCheck:
    case = events()
    note = next(note for note in case.gold.chart.notes if is_kind(case, note, "benign"))
    row = next(event.id for event in case.knowledge.events.values() if event.is_exertional)
    origins = tuple(replace(origin, row=row) if origin.note_id == note.note_id else origin for origin in case.gold.origins)
    return with_premise(with_gold(case, origins=origins), patient=replace(case.gold.premise.patient, age_low=70, age_high=74))


def comb() -> CaseUnderCheck:
    case = base()
    steps = series_of(case, "steps")
    end = case.gold.premise.course_end_day
    days = np.array([day for day in range(end + 1) if day % 10], dtype=np.int32)
    return with_series(case, replace(steps, days=days, ticks=np.resize(steps.ticks, len(days))))


def diary_kept(days: Callable[[np.ndarray], np.ndarray]) -> CaseUnderCheck:
    """A case whose diary has entries on other days."""
    case = base()
    diary = series_of(case, "carb_pct")
    kept = days(diary.days)
    return with_series(case, replace(diary, days=kept.astype(np.int32), ticks=np.resize(diary.ticks, len(kept))))


@pytest.mark.parametrize("days", [lambda days: days[::2], lambda days: days // 7 * 7 + 2, lambda days: days[:1].repeat(len(days))])
def test_a_diary_with_half_its_entries_or_on_other_days_is_not_charted_as_often_as_said(days):
    assert ("charted_as_often_as_said", "stream") in failed(diary_kept(days))


MADE_TO_FAIL = {
    "row_known": (lambda: with_series_renamed(base()), "stream"),
    "values_possible": (FAILS["a_value_beyond_a_bound"], "stream"),
    "visible_by_index_day": (lambda: after_index_day(base()), "stream"),
    "view_equals_chart": (FAILS["a_view_with_a_changed_value"], "stream"),
    "device_backed": (lambda: without_device(base()), "stream"),
    "starts_where_its_row_says": (lambda: with_series(base(), change(series_of(base(), "resting_hr"), slice(0, 40), 112)), "stream"),
    "charted_as_often_as_said": (comb, "stream"),
    "neutral_when_not_the_answer": (FAILS["a_second_driver_with_moving_evidence"], "stream"),
    "level_across_index_day": (lambda: step_at(base(), "steps", base().item.index_day + 1, 20000), "stream"),
    "level_across_reversal": (lambda: step_at(turning(), "steps", turning().gold.premise.reversal_day + 1, 20000), "stream"),
    "follows_from_printed_values": (FAILS["a_calculated_result_that_does_not_follow"], "laboratory"),
    "day_in_course": (lambda: move_notes(events(), {events().gold.chart.notes[-1].note_id: 9999}), "benign"),
    "id_opaque": (FAILS["an_id_that_names_its_kind"], "unknown"),
    "has_text": (lambda: retell(events(), "benign", "Busy", ""), "benign"),
    "no_answer_words": (FAILS["a_note_that_says_the_answer_in_the_other_language"], "benign"),
    "origin_known": (FAILS["an_id_that_names_its_kind"], "unknown"),
    "traceable_to_the_author": (lambda: told_otherwise("real", find_case("symptom_days_irregular")), "real"),
    "context_declared": (lambda: with_context(find_case("symptom_days_irregular")), "real"),
    "no_red_flag": (FAILS["an_everyday_complaint_of_chest_pain"], "benign"),
    "no_collision_with_real": (on_the_day_of_a_symptom, "benign"),
    "traceable_to_a_row": (lambda: told_otherwise("benign", events()), "benign"),
    "no_proxy_of_the_answer": (proxy, "benign"),
    "plausible_for_the_patient": (too_old_for_it, "benign"),
    "topic_stands_once": (second_of_a_topic, "benign"),
}


def turning() -> CaseUnderCheck:
    return find_case("values_possible", lambda case: quiet(case) and case.gold.premise.reversal_day is not None)


def with_series_renamed(case: CaseUnderCheck) -> CaseUnderCheck:
    chart = case.gold.chart
    renamed = tuple(replace(series, name="moon_phase") if series.name == "steps" else series for series in chart.series)
    return with_gold(case, chart=replace(chart, series=renamed))


def after_index_day(case: CaseUnderCheck) -> CaseUnderCheck:
    steps = series_of(case, "steps")
    return with_series(case, keep(steps, steps.days > case.item.index_day))


def without_device(case: CaseUnderCheck) -> CaseUnderCheck:
    profile = case.item.record.profile
    return with_item(case, record=replace(case.item.record, profile=replace(profile, devices=("smart_scale",))))


@pytest.mark.parametrize("name", MADE_TO_FAIL)
def test_each_check_of_the_ledger_fails_the_row_that_must_fail(name):
    make, kind = MADE_TO_FAIL[name]
    assert (name, kind) in failed(make())


def test_every_check_there_is_has_a_row_that_must_fail():
    names = {name for case in cases() for row in rows(case) for name in row["checks"]}
    assert names == set(MADE_TO_FAIL)


def test_the_row_of_a_case_repeats_what_its_gates_said_and_unmeasured_is_not_passed():
    case = cases()[0]
    gates = [read_outcome(name, find_gate("item", name)(case)) for name in gate_names("item")]
    on_case = next(row for row in ledger_rows(case, gates) if row["kind"] == "case")
    assert set(on_case["checks"]) == set(gate_names("item"))
    for gate in gates:
        assert on_case["checks"][gate.gate][0] == {"unmeasured": "not_applicable"}.get(gate.state, gate.state)
