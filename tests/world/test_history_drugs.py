"""Drugs before day 0 come in their order and dose, show in the level they are for, and complications come after their cause."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from history_cases import KNOWLEDGE, RNG, history_of, premises

from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import Premise
from clinworld.world.effects import load_drug_table
from clinworld.world.history import draw_diagnoses, find_control, list_caused
from clinworld.world.history_doses import climb_doses
from clinworld.world.history_drugs import (
    Ended,
    Patient,
    draw_past_lines,
    find_launch,
    find_order,
    find_treated,
    has_indication,
    tilt_chance,
)
from clinworld.world.history_places import find_old_event

STATINS = {row.id for row in KNOWLEDGE.drugs.values() if row.drug_class == "statin"}
ANTIPLATELETS = {row.id for row in KNOWLEDGE.drugs.values() if row.drug_class == "antiplatelet"}
PATIENTS = 500
VISITS = list(range(-2000, 0, 120))


def known(premise: Premise) -> tuple[str, ...]:
    return (premise.patient.disease, *premise.patient.comorbidities)


def patients_with(condition: str) -> list[Premise]:
    return [premise for premise in premises(PATIENTS) if condition in known(premise)]


def begins_of(premise: Premise) -> dict[str, int]:
    begins: dict[str, int] = {}
    for order in history_of(premise).prescriptions:
        begins[order.drug] = min(begins.get(order.drug, 0), order.first_day)
    return begins


def in_force(premise: Premise) -> set[str]:
    return {order.drug for order in history_of(premise).prescriptions if order.last_day is None}


def ended_by_record(premise: Premise) -> set[str]:
    rows = (find_old_event(event.text, KNOWLEDGE) for event in history_of(premise).events)
    return {row.taken for row in rows if row is not None and row.taken}


@pytest.mark.parametrize(("name", "cause"), list_caused(KNOWLEDGE))
def test_a_complication_is_never_diagnosed_before_the_condition_it_comes_with(name, cause):
    early = 0
    for premise in premises():
        made = draw_diagnoses(premise, (name, cause), (), KNOWLEDGE, RNG)
        other = draw_diagnoses(premise, (name, "gerd"), (), KNOWLEDGE, RNG)
        assert made[cause].day <= made[name].day
        early += other[name].day < other["gerd"].day
    assert early > 30, "nothing orders it after anything else"


def share_after(drugs: Iterable[str], before: set[str]) -> tuple[float, int]:
    """(share of those given one of some drugs by no record who had one of the others by then, how many)."""
    found = []
    for premise in premises(PATIENTS):
        begins = begins_of(premise)
        for drug in set(drugs) & begins.keys() - ended_by_record(premise):
            found.append(any(begins.get(other, 1) <= begins[drug] for other in before))
    return float(np.mean(found)), len(found)


@pytest.mark.slow
def test_what_comes_after_a_statin_is_seldom_given_before_one():
    share, n = share_after(("ezetimibe", "evolocumab"), STATINS)
    assert n >= 20
    assert share > 0.85


@pytest.mark.slow
def test_a_statin_itself_comes_before_most_of_these():
    share, n = share_after(STATINS, {"ezetimibe", "evolocumab"})
    assert n >= 20
    assert share < 0.3


@pytest.mark.slow
def test_metformin_is_the_first_drug_of_most_people_with_diabetes():
    first = []
    for premise in patients_with("type_2_diabetes"):
        others = {name for name in known(premise) if name != "type_2_diabetes"}
        rows = {drug: day for drug, day in begins_of(premise).items() if has_indication(KNOWLEDGE.drugs[drug], ("type_2_diabetes",))}
        rows = {drug: day for drug, day in rows.items() if drug == "metformin" or not has_indication(KNOWLEDGE.drugs[drug], others)}
        if rows and premise.drug != "metformin":
            first.append(rows.get("metformin", 1) <= min(rows.values()))
    assert len(first) >= 60
    assert np.mean(first) > 0.75


def test_most_people_with_coronary_disease_were_given_an_antiplatelet_drug():
    given = [bool(ANTIPLATELETS & begins_of(premise).keys()) for premise in patients_with("cad")]
    assert len(given) >= 5
    assert np.mean(given) > 0.7


def test_the_place_of_a_drug_is_that_of_its_row():
    assert find_order(KNOWLEDGE, "type_2_diabetes", "metformin") < find_order(KNOWLEDGE, "type_2_diabetes", "sitagliptin")
    assert find_order(KNOWLEDGE, "type_2_diabetes", "sitagliptin") < find_order(KNOWLEDGE, "type_2_diabetes", "insulin_glargine")
    assert find_order(KNOWLEDGE, "gout", "allopurinol") == 1


def last_dose(drug: str, u: float, visits: Sequence[int] = VISITS, weight_kg: float = 90.0, knowledge: Knowledge = KNOWLEDGE) -> float:
    row = knowledge.drugs[drug]
    return climb_doses(row, row.ladder[-1], visits, None, u, weight_kg, knowledge)[-1][1]


@pytest.mark.rows
@pytest.mark.parametrize("drug", [name for name, row in KNOWLEDGE.drugs.items() if f"history_dose.{name}" in KNOWLEDGE.parameters])
def test_after_enough_visits_most_people_are_on_the_usual_dose_and_few_below_it(drug):
    usual = KNOWLEDGE.parameter(f"history_dose.{drug}")
    doses = np.array([last_dose(drug, u) for u in np.linspace(0.005, 0.995, 100)])
    assert usual in KNOWLEDGE.drugs[drug].ladder
    assert np.median(doses) == usual
    assert np.mean(doses < usual) <= 0.25 and np.max(doses) <= 2 * usual


def test_one_seen_once_is_still_on_the_first_dose():
    assert last_dose("tirzepatide", 0.5, VISITS[:1]) == KNOWLEDGE.drugs["tirzepatide"].ladder[0]


def test_insulin_grows_with_weight_and_years():
    light, heavy, short = (last_dose("insulin_glargine", 0.5, VISITS[-n:], kg) for n, kg in ((10, 60.0), (10, 110.0), (3, 110.0)))
    assert KNOWLEDGE.drugs["insulin_glargine"].ladder[0] < light < heavy
    assert short <= heavy


def control_of(condition: str, drugs: set[str]) -> tuple[list[float], list[float]]:
    """How well controlled people are, those with one of some drugs in force on day 0 and the others."""
    sides: tuple[list[float], list[float]] = ([], [])
    for premise in patients_with(condition):
        place = find_control(premise, known(premise), KNOWLEDGE, RNG)[condition]
        sides[not in_force(premise) & drugs].append(place)
    return sides


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["hypertension", "type_2_diabetes", "dyslipidemia"])
def test_a_drug_in_force_on_day_0_shows_in_the_level_it_is_for(condition):
    drugs = {row.id for row in KNOWLEDGE.drugs.values() if has_indication(row, (condition,))}
    treated, untreated = control_of(condition, drugs)
    assert len(treated) >= 10 and len(untreated) >= 10
    assert np.mean(treated) > np.mean(untreated) + 0.4


@pytest.mark.slow
def test_a_drug_for_something_else_does_not_show_there():
    treated, untreated = control_of("hypertension", {"metformin", "cholecalciferol", "orlistat", "omeprazole"})
    assert abs(np.mean(treated) - np.mean(untreated)) < 0.4


def test_a_condition_is_treated_by_the_level_its_drugs_move():
    assert find_treated(KNOWLEDGE, "hypertension") == ("home_sbp", -1)
    assert find_treated(KNOWLEDGE, "type_2_diabetes") == ("hba1c", -1)
    assert find_treated(KNOWLEDGE, "gerd") is None


@pytest.mark.parametrize("drug", ["sitagliptin", "gliclazide", "empagliflozin", "pioglitazone", "acarbose", "metformin", "semaglutide"])
def test_what_lowers_hba1c_lowers_fasting_glucose_with_it(drug):
    table = load_drug_table(KNOWLEDGE, drug, ("hba1c", "fasting_glucose", "platelets"), True)
    assert (table.own[:2, 1:] < 0).all() and (table.own[2] == 0).all()
    assert 0.8 < table.own[1, -1] / table.own[0, -1] < 2.2


def test_a_chance_of_none_or_all_stays_that_and_any_other_goes_with_how_well_controlled_someone_is() -> None:
    assert [tilt_chance(p, 2.0, KNOWLEDGE) for p in (0.0, 1.0)] == [0.0, 1.0]
    assert tilt_chance(0.6, -1.0, KNOWLEDGE) < tilt_chance(0.6, 0.0, KNOWLEDGE) < tilt_chance(0.6, 1.0, KNOWLEDGE)


def test_nobody_was_given_a_drug_before_it_existed() -> None:
    early = []
    for premise in premises(PATIENTS):
        early += [(premise.case_id, drug, day) for drug, day in begins_of(premise).items() if day < find_launch(KNOWLEDGE, drug)]
    assert not early, early[:3]
    assert any(find_launch(KNOWLEDGE, drug) > -6 * 365 for premise in premises(PATIENTS) for drug in begins_of(premise))


def test_most_drugs_begun_before_day_0_go_on() -> None:
    begun = [(drug, premise) for premise in premises(PATIENTS) for drug in begins_of(premise)]
    assert np.mean([drug in in_force(premise) for drug, premise in begun]) > 0.5


def test_a_recorded_end_of_a_drug_before_it_existed_begins_no_line() -> None:
    premise = patients_with("type_2_diabetes")[0]
    moments = {"type_2_diabetes": [-9000, -4000, -1200, -900, -600, -300]}
    patient = Patient({}, {}, frozenset(), (), frozenset(KNOWLEDGE.drugs), lambda line, others: True)
    launch = find_launch(KNOWLEDGE, "empagliflozin")
    for end, begins in ((int(launch) + 1, False), (-500, True)):
        lines = draw_past_lines(premise, moments, [Ended("empagliflozin", end)], patient, KNOWLEDGE, RNG)
        assert [line.drug.id for line in lines] == ["empagliflozin"] * begins
        assert all(line.steps[0][0] >= launch for line in lines)
