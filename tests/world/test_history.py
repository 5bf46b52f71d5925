from dataclasses import replace

import numpy as np
import orjson
import pytest
from history_cases import KNOWLEDGE, RNG, course_of, history_of, premises, record_of, show, showing
from observe_case import with_rows

from clinworld.gates.item.history_is_possible import check_history, find_diagnosis_day
from clinworld.schema.premise import Premise
from clinworld.schema.record import History
from clinworld.schema.record_rows import record_from_row, record_to_row
from clinworld.world.build import build_world
from clinworld.world.history import draw_history, list_history_rows
from clinworld.world.history_drugs import find_states
from clinworld.world.history_levels import load_past_frame
from clinworld.world.history_places import age_at

DIABETES = "type_2_diabetes"


def as_bytes(history: History) -> bytes:
    row = record_to_row(record_of(premises()[0], history))["history"]
    return orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)


def values_of(history: History, name: str) -> dict[int, float]:
    series = next((series for series in history.series if series.name == name), None)
    return dict(zip(series.days.tolist(), series.values().tolist(), strict=True)) if series is not None else {}


def with_parameters(**values: float):
    rows = [replace(KNOWLEDGE.parameters[name], value=value) for name, value in values.items()]
    return with_rows("parameters", *rows)


def test_no_drawn_history_contradicts_its_patient():
    patients = premises()
    findings = [finding for premise in patients for finding in check_history(record_of(premise, history_of(premise)), premise, KNOWLEDGE)]
    assert findings == []


@pytest.mark.slow
def test_no_history_contradicts_a_condition_that_shows_itself():
    shown = showing()
    assert len({premise.presenting.condition for premise in shown}) >= 30
    findings = [finding for premise in shown for finding in check_history(record_of(premise, history_of(premise)), premise, KNOWLEDGE)]
    assert findings == []


@pytest.mark.slow
def test_no_history_contradicts_any_of_the_described_conditions():
    names = [name for name in KNOWLEDGE.conditions if KNOWLEDGE.conditions[name].presentations]
    found, seen = [], set()
    for i, premise in enumerate(premises(1500)):
        shown = show(premise, names[i % len(names)], f"{premise.case_id}-all")
        if shown is not None:
            seen.add(names[i % len(names)])
            history = draw_history(shown, KNOWLEDGE, RNG)
            found += check_history(record_of(shown, history), shown, KNOWLEDGE)
    assert found == []
    assert len(seen) >= 90


def test_equal_premises_give_equal_histories_whether_the_course_is_at_hand_or_not():
    for premise in premises()[:6]:
        assert as_bytes(draw_history(premise, KNOWLEDGE, RNG)) == as_bytes(history_of(premise))


def test_a_history_follows_from_the_patient_and_not_from_what_will_happen():
    for premise in premises()[:6]:
        other = replace(
            premise,
            outcome="maintain" if premise.outcome == "regain" else "regain",
            reversal_day=None if premise.outcome == "regain" else premise.index_day + 60,
            drug_response=premise.drug_response * 0.5,
            course_end_day=premise.course_end_day + 30,
        )
        assert as_bytes(draw_history(other, KNOWLEDGE, RNG)) == as_bytes(history_of(premise))


def test_parts_add_to_a_record_and_move_nothing_else_in_it():
    for premise in premises()[:4]:
        _, plain = build_world(premise, KNOWLEDGE, RNG)
        _, full = build_world(premise, KNOWLEDGE, RNG, frozenset({"history", "dispensing"}))
        assert plain.record.history is None and plain.record.dispensing == ()
        assert full.record.history is not None and full.record.dispensing
        bare = replace(full.record, history=None, dispensing=())
        assert record_to_row(bare).keys() == record_to_row(plain.record).keys()
        options = orjson.OPT_SERIALIZE_NUMPY
        assert orjson.dumps(record_to_row(bare), option=options) == orjson.dumps(record_to_row(plain.record), option=options)
        assert (full.faults, full.origins, full.acted) == (plain.faults, plain.origins, plain.acted)


def test_a_history_survives_a_row():
    history = history_of(premises()[0])
    row = orjson.loads(orjson.dumps(record_to_row(record_of(premises()[0], history)), option=orjson.OPT_SERIALIZE_NUMPY))
    assert as_bytes(record_from_row(row).history) == as_bytes(history)


def test_a_longer_record_moves_no_visit_and_no_result_of_a_shorter_one():
    short = with_parameters(history_span_median_years=2, history_span_high_years=3)
    moved = 0
    for premise in premises()[:20]:
        full, part = history_of(premise), draw_history(premise, short, RNG, course=course_of(premise))
        assert full.visits[len(full.visits) - len(part.visits) :] == part.visits
        moved += len(full.visits) > len(part.visits)
        lab_visits = {day for series in full.series for day in series.days.tolist()}
        assert {day for series in part.series for day in series.days.tolist()} <= lab_visits | set(full.visits)
    assert moved > 5


def gaps_of(patients: list[Premise]) -> np.ndarray:
    return np.concatenate([np.diff((*history_of(premise).visits, 0)) for premise in patients])


def test_visits_are_irregular_and_closer_the_more_is_known_of_a_patient():
    few = [premise for premise in premises() if len(premise.patient.comorbidities) == 0]
    many = [premise for premise in premises() if len(premise.patient.comorbidities) >= 2]
    for patients in (few, many):
        assert gaps_of(patients).std() > 0.5 * gaps_of(patients).mean()
        assert gaps_of(patients).min() >= 5
    assert np.median(gaps_of(many)) < 0.9 * np.median(gaps_of(few))


def test_visits_are_closer_in_old_people_than_in_young_ones():
    young = [premise for premise in premises() if premise.patient.age_high < 40]
    old = [premise for premise in premises() if premise.patient.age_low >= 60]
    assert np.median(gaps_of(old)) < np.median(gaps_of(young))


@pytest.mark.slow
def test_nobody_has_a_record_from_before_coming_of_age():
    for premise in premises():
        history = history_of(premise)
        days = [*history.visits, *(event.day for event in history.events), *(order.first_day for order in history.prescriptions)]
        assert all(age_at(premise.patient, day) >= KNOWLEDGE.parameter("history_first_age_years") - 1 for day in days)


def changes_at_diagnosis(item: str, condition: str) -> list[float]:
    """Mean after a diagnosis less mean well before it, of those who have results on both sides."""
    found = []
    for premise in premises():
        if condition not in (premise.patient.disease, *premise.patient.comorbidities):
            continue
        history = history_of(premise)
        made = find_diagnosis_day(history, condition, KNOWLEDGE)
        values = values_of(history, item)
        before, after = ([v for day, v in values.items() if day < made - 300], [v for day, v in values.items() if day >= made])
        if len(before) > 1 and len(after) > 1:
            found.append(float(np.mean(after) - np.mean(before)))
    return found


def test_a_diagnosis_of_diabetes_moved_hba1c_from_then_on():
    changes = changes_at_diagnosis("hba1c", DIABETES)
    assert len(changes) >= 8
    assert np.mean(changes) > 0.8
    assert np.mean([change > 0.2 for change in changes]) > 0.85


def test_a_diagnosis_of_diabetes_moved_no_platelets():
    changes = changes_at_diagnosis("platelets", DIABETES)
    assert abs(np.mean(changes)) < 3 * np.std(changes) / np.sqrt(len(changes)) + 10


def test_nothing_was_diabetic_before_diabetes_was_diagnosed():
    looked_at = 0
    for premise in premises():
        history = history_of(premise)
        made = find_diagnosis_day(history, DIABETES, KNOWLEDGE)
        for item, limit in (("hba1c", 6.5), ("fasting_glucose", 7.0)):
            early = [value for day, value in values_of(history, item).items() if made is None or day < made]
            assert all(value < limit for value in early)
            looked_at += len(early)
    assert looked_at > 150


def test_results_lead_up_to_the_levels_the_course_starts_from():
    for item, most in (("hba1c", 0.06), ("ldl_c", 0.2), ("creatinine", 0.1), ("platelets", 0.15)):
        last = []
        for premise in premises():
            days = {day: value for day, value in values_of(history_of(premise), item).items() if day > -150}
            if days:
                last.append(np.log(days[max(days)] / course_of(premise).levels[item][0]))
        assert len(last) > 30
        assert abs(np.mean(last)) < 0.06, item
        assert np.std(last) < most, item


def changes_at_a_first_dose(item: str, drug_classes: set[str]) -> list[float]:
    """Mean of log results in the year after a drug less that in the year before it."""
    found = []
    for premise in premises():
        history = history_of(premise)
        for order in history.prescriptions:
            if KNOWLEDGE.drugs[order.drug].drug_class not in drug_classes:
                continue
            begun = min(each.first_day for each in history.prescriptions if each.drug == order.drug)
            ended = max(0 if each.last_day is None else each.last_day for each in history.prescriptions if each.drug == order.drug)
            values = values_of(history, item)
            before = [np.log(v) for day, v in values.items() if begun - 365 <= day <= begun]
            after = [np.log(v) for day, v in values.items() if begun + 60 < day <= min(begun + 500, ended)]
            if order.first_day == begun and before and after:
                found.append(float(np.mean(after) - np.mean(before)))
    return found


def test_a_statin_lowered_ldl_from_its_first_dose_on():
    changes = changes_at_a_first_dose("ldl_c", {"statin"})
    assert len(changes) >= 5
    assert np.mean(changes) < -0.25


def test_a_blood_pressure_drug_left_ldl_alone():
    changes = changes_at_a_first_dose("ldl_c", {"dihydropyridine CCB", "ARB", "ACE inhibitor"})
    assert len(changes) >= 6
    assert abs(np.mean(changes)) < 0.12


def test_some_drugs_were_stopped_and_some_are_still_taken():
    orders = [order for premise in premises() for order in history_of(premise).prescriptions]
    last = {(id(premise), order.drug): order.last_day for premise in premises() for order in history_of(premise).prescriptions}
    stopped = [day for day in last.values() if day is not None]
    assert len(orders) > 200
    assert 0.2 < len(stopped) / len(last) < 0.8


def test_without_a_laboratory_panel_there_are_visits_and_no_results():
    patients = [premise for premise in premises() if "lab_panel" not in premise.patient.devices]
    assert patients
    assert all(history_of(premise).series == () for premise in patients)
    assert any(history_of(premise).visits for premise in patients)


@pytest.mark.slow
def test_what_shows_itself_is_in_the_results_after_its_onset_only():
    """Presenting iron overload and the like act on levels; before their onset a patient is as without them."""
    checked = 0
    for premise in showing()[:24]:
        history, without = history_of(premise), draw_history(replace(premise, presenting=None), KNOWLEDGE, RNG)
        known = (premise.patient.disease, *premise.patient.comorbidities)
        if any(find_diagnosis_day(history, name, KNOWLEDGE) != find_diagnosis_day(without, name, KNOWLEDGE) for name in known):
            continue  # a record of a stopped drug moved it
        for series in history.series:
            before = [day for day in series.days.tolist() if day < premise.presenting.onset_day]
            other = values_of(without, series.name)
            if before and history.prescriptions == without.prescriptions and history.visits == without.visits:
                own = values_of(history, series.name)
                assert all(own[day] == pytest.approx(other[day], abs=2 * 10.0**-series.decimals) for day in before if day in other)
                checked += 1
    assert checked > 20


def test_levels_of_a_patient_without_a_moving_condition_only_drift():
    premise = next(p for p in premises() if "lab_panel" in p.patient.devices)
    frame = load_past_frame(KNOWLEDGE, (), premise.patient.devices, premise.patient.sex, age_at(premise.patient, 0))
    assert (frame.mover == -1).all()


def test_every_row_a_history_uses_is_listed_with_its_status():
    premise = next(premise for premise in premises() if history_of(premise).prescriptions)
    rows = list_history_rows(history_of(premise), KNOWLEDGE)
    assert {row.partition(":")[0] for row in rows} >= {"drugs", "past_events"}
    assert all(KNOWLEDGE.status_of(row) for row in rows)
    assert list_history_rows(None, KNOWLEDGE) == []


def test_what_a_condition_makes_true_of_a_patient_is_a_flag_that_rules_know():
    assert KNOWLEDGE.condition_states
    for key, row in KNOWLEDGE.condition_states.items():
        assert all(KNOWLEDGE.rule_facts[state].kind == "flag" for state in row.states)
        assert find_states(KNOWLEDGE, (key,)) == row.states
    assert find_states(KNOWLEDGE, ("obesity",)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("item", "condition", "drug"), [("vitamin_d_25oh", "vitamin_d_deficiency", "cholecalciferol")])
def test_results_before_a_treatment_are_not_heaped_above_what_is_possible(item: str, condition: str, drug: str):
    base = [premise for premise in premises() if condition not in premise.patient.comorbidities][:100]
    found = []
    for premise in base:
        known = replace(premise.patient, comorbidities=(*premise.patient.comorbidities, condition))
        history = draw_history(replace(premise, patient=known, case_id=f"{premise.case_id}-low"), KNOWLEDGE, RNG)
        starts = [each.first_day for each in history.prescriptions if each.drug == drug]
        found += [value for day, value in values_of(history, item).items() if starts and day <= min(starts)]
    row = KNOWLEDGE.analytes[item]
    assert len(found) > 30
    assert np.mean(np.array(found) < 2 * row.hard_low) < 0.1 and np.mean(np.array(found) < row.ref_low_f) > 0.5
