"""Each check of a history passes the history of a patient and fails the same with one thing wrong in it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from history_cases import KNOWLEDGE, history_of, premises, record_of, showing

from clinworld.core.text import Wording
from clinworld.gates.item.history_is_possible import check_history
from clinworld.schema.premise import Premise
from clinworld.schema.record import History, PastEvent, PastPrescription, Series
from clinworld.world.history import tell_diagnosis
from clinworld.world.history_places import render_old_event

Case = tuple[Premise, History]


def find(wanted: Callable[[Premise, History], bool]) -> Case:
    """The first drawn patient that is as wanted."""
    return next((premise, history_of(premise)) for premise in (*premises(), *showing()) if wanted(premise, history_of(premise)))


def with_orders(premise: Premise, history: History) -> bool:
    return bool(history.prescriptions and history.series and len(history.visits) > 3)


def a_patient() -> Case:
    return find(with_orders)


def a_man() -> Case:
    return find(lambda premise, history: with_orders(premise, history) and premise.patient.sex == "M")


def one_who_shows_something() -> Case:
    return find(lambda premise, history: premise.presenting is not None)


def without_diabetes() -> Case:
    return find(
        lambda premise, history: (
            any(series.name == "hba1c" for series in history.series)
            and "type_2_diabetes" not in (premise.patient.disease, *premise.patient.comorbidities)
        )
    )


def with_diabetes_diagnosed_late() -> Case:
    text = tell_diagnosis("type_2_diabetes", KNOWLEDGE)
    return find(
        lambda premise, history: any(
            event.text == text and any(s.name == "hba1c" and s.days[0] < event.day for s in history.series) for event in history.events
        )
    )


def old_event(row: str, day: int = -700) -> PastEvent:
    return PastEvent(day, render_old_event(KNOWLEDGE.past_events[row], 0.5, 0.5, KNOWLEDGE), "hospital_record")


def add_order(history: History, order: PastPrescription) -> History:
    return replace(history, prescriptions=(*history.prescriptions, order))


def add_event(history: History, event: PastEvent) -> History:
    return replace(history, events=(*history.events, event))


def change_first(history: History, **changes: object) -> History:
    first, *rest = history.prescriptions
    return replace(history, prescriptions=(replace(first, **changes), *rest))


def change_series(history: History, name: str, change: Callable[[Series], Series]) -> History:
    chosen = name or history.series[0].name
    return replace(history, series=tuple(change(series) if series.name == chosen else series for series in history.series))


def with_a_drug_of_one_action_in_two_classes() -> Case:
    return find(
        lambda premise, history: "obesity" in (premise.patient.disease, *premise.patient.comorbidities) and premise.drug == "tirzepatide"
    )


def set_value(series: Series, value: float, at: int = 0) -> Series:
    ticks = series.ticks.copy()
    ticks[at] = round(value * 10**series.decimals)
    return replace(series, ticks=ticks)


def move_days(series: Series, by: int) -> Series:
    return replace(series, days=(series.days + by).astype(np.int32))


def order_of(drug: str, dose: float | None = None, first: int = -300, last: int | None = -200) -> PastPrescription:
    row = KNOWLEDGE.drugs[drug]
    return PastPrescription(first, last, drug, dose or row.ladder[0], row.dose_unit)


def name_what_shows(premise: Premise, history: History) -> History:
    names = KNOWLEDGE.conditions[premise.presenting.condition].names
    return add_event(history, PastEvent(-400, Wording(f"Seen for {names.en}.", f"{names.zh}"), "hospital_record"))


def diagnose_what_shows(premise: Premise, history: History) -> History:
    return add_event(history, PastEvent(-400, tell_diagnosis(premise.presenting.condition, KNOWLEDGE), "hospital_record"))


FAULTS: list[tuple[str, Callable[[], Case], Callable[[Premise, History], History], str]] = [
    ("a visit after day -1", a_patient, lambda p, h: replace(h, visits=(*h.visits, 0)), "visits"),
    ("visits out of order", a_patient, lambda p, h: replace(h, visits=h.visits[::-1]), "visits"),
    ("a result before its visit", a_patient, lambda p, h: change_series(h, "", lambda s: move_days(s, -3)), "without a visit"),
    ("a result on day 0", a_patient, lambda p, h: change_series(h, "", lambda s: move_days(s, 5000)), "before day 0"),
    ("an order that ends before it begins", a_patient, lambda p, h: change_first(h, first_day=-5, last_day=-9), "before day 0"),
    ("an order after day -1", a_patient, lambda p, h: change_first(h, last_day=3), "before day 0"),
    ("an event after day -1", a_patient, lambda p, h: add_event(h, old_event("appendix_removed", 0)), "before day 0"),
    ("a result of nothing known", a_patient, lambda p, h: change_series(h, "", lambda s: replace(s, name="goodness")), "an analyte"),
    ("a result in another unit", a_patient, lambda p, h: change_series(h, "", lambda s: replace(s, unit="mg/dL")), "decimals"),
    ("a result beyond its bounds", a_patient, lambda p, h: change_series(h, "", lambda s: set_value(s, 9e6)), " to "),
    ("diabetes nobody diagnosed", without_diabetes, lambda p, h: change_series(h, "hba1c", lambda s: set_value(s, 6.5)), "not diagnosed"),
    (
        "diabetes before it was diagnosed",
        with_diabetes_diagnosed_late,
        lambda p, h: change_series(h, "hba1c", lambda s: set_value(s, 6.5)),
        "not diagnosed yet",
    ),
    ("an unknown drug", a_patient, lambda p, h: change_first(h, drug="snake_oil"), "a drug"),
    ("a dose off the ladder", a_patient, lambda p, h: change_first(h, dose=h.prescriptions[0].dose * 1.07), "a step of"),
    ("a drug nobody has a reason for", a_patient, lambda p, h: add_order(h, order_of("lithium")), "licensed for"),
    ("a drug before its diagnosis", a_patient, lambda p, h: change_first(h, first_day=-9000), "after the diagnosis"),
    ("the drug of the course", a_patient, lambda p, h: add_order(h, order_of(p.drug, p.dose_steps[0])), "begins with this drug"),
    (
        "a drug of the same action as the course's, still in force",
        with_a_drug_of_one_action_in_two_classes,
        lambda p, h: add_order(h, order_of("semaglutide_2_4", last=None)),
        "when tirzepatide is begun",
    ),
    ("one drug twice at a time", a_patient, lambda p, h: replace(h, prescriptions=(*h.prescriptions, *h.prescriptions)), "not both"),
    ("an event of the other sex", a_man, lambda p, h: add_event(h, old_event("normal_birth")), "occurs in sex F"),
    ("an event at another age", a_patient, lambda p, h: add_event(h, old_event("cataract_done", -9000)), "60 to"),
    ("an event without Chinese", a_patient, lambda p, h: add_event(h, PastEvent(-300, Wording("Seen.", ""), "hospital_record")), "both"),
    (
        "an event from nowhere",
        a_patient,
        lambda p, h: add_event(h, replace(old_event("appendix_removed"), source="rumour")),
        "hospital_record",
    ),
    ("a stop without the drug", a_patient, lambda p, h: add_event(h, old_event("acarbose_wind", -31)), "ordered until"),
    ("a diagnosis of what shows itself", one_who_shows_something, diagnose_what_shows, "only documented"),
    ("the name of what shows itself", one_who_shows_something, name_what_shows, "stands in no record"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "make", "plant", "said"), FAULTS, ids=[fault for fault, *_ in FAULTS])
def test_a_history_with_one_thing_wrong_is_found_out(fault, make, plant, said):
    premise, history = make()
    assert check_history(record_of(premise, history), premise, KNOWLEDGE) == []
    findings = check_history(record_of(premise, plant(premise, history)), premise, KNOWLEDGE)
    assert any(said in str(finding) for finding in findings), findings
    assert all(finding.place and finding.found and finding.allowed for finding in findings)


def make_contraindicated(kind: str) -> tuple[Premise, History]:
    """A patient with hypertension and a drug for it that something forbids: by condition, by state, by an event, by a result."""
    premise, history = find(lambda p, h: with_orders(p, h) and "hypertension" in (p.patient.disease, *p.patient.comorbidities))
    made = next(event.day for event in history.events if event.text == tell_diagnosis("hypertension", KNOWLEDGE))
    history = replace(history, prescriptions=(), events=tuple(event for event in history.events if event.day == made))
    patient = premise.patient
    first = max(made, -90)
    match kind:
        case "pregnancy":
            patient = replace(patient, sex="F", comorbidities=(*patient.comorbidities, "pregnancy"))
            return replace(premise, patient=patient), add_order(history, order_of("lisinopril", first=first, last=None))
        case "angioedema on record":
            order = add_order(history, order_of("enalapril", first=first, last=None))
            return premise, add_event(order, old_event("lisinopril_swelling", made - 60))
        case "kidneys that have failed":
            egfr = KNOWLEDGE.analytes["egfr"]
            day = history.visits[-1]
            series = Series("egfr", "laboratory", egfr.ucum, 0, np.array([day], dtype=np.int32), np.array([18]))
            return premise, add_order(replace(history, series=(series,)), order_of("spironolactone", first=first, last=None))
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["pregnancy", "angioedema on record", "kidneys that have failed"])
def test_a_drug_that_the_record_forbids_is_found_out(kind):
    premise, history = make_contraindicated(kind)
    findings = check_history(record_of(premise, history), premise, KNOWLEDGE)
    assert any("contraindicated" in finding.allowed for finding in findings), findings


def test_the_same_drug_without_what_forbids_it_is_none_of_these_findings():
    premise, history = make_contraindicated("kidneys that have failed")
    findings = check_history(record_of(premise, replace(history, series=())), premise, KNOWLEDGE)
    assert not any("contraindicated" in finding.allowed for finding in findings)


def test_an_event_against_the_drug_of_the_course_is_found_out():
    premise, history = find(lambda p, h: KNOWLEDGE.drugs[p.drug].drug_class == "GLP-1 receptor agonist")
    findings = check_history(record_of(premise, add_event(history, old_event("aunt_thyroid_tumour"))), premise, KNOWLEDGE)
    assert any("which the course gives" in finding.allowed for finding in findings)


def test_a_record_without_a_history_has_nothing_wrong_with_it():
    premise = premises()[0]
    assert check_history(record_of(premise, None), premise, KNOWLEDGE) == []
