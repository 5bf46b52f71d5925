"""A weight nobody declared follows the doses: what a trial measured, on its timescale, and back when they stop."""

import numpy as np
import pytest

from clinworld.knowledge.load import load_knowledge
from clinworld.world.natural_course import NaturalPeople, derive_natural_weight, find_own_share, mean_habits_pct

KNOWLEDGE = load_knowledge()
DAYS = 7 * 140 + 1


def people(n=3, start=100.0, habits=-2.4, response=1.0):
    return NaturalPeople(np.full((n, 1), start), np.full((n, 1), habits), np.full((n, 1), response))


def weight(dose, *, who=None, drug="semaglutide_2_4", has_diabetes=False):
    who = who or people()
    taken = np.ones((len(who.start_kg), len(dose)))
    return derive_natural_weight(who, drug, dose, taken, has_diabetes=has_diabetes, knowledge=KNOWLEDGE)


def test_weight_reaches_what_the_trial_measured_once_not_the_habits_and_the_drug_on_top_of_each_other():
    reached = weight(np.full(DAYS, 2.4))[0, -1]
    effect = next(e for e in KNOWLEDGE.drugs["semaglutide_2_4"].effects if e.item == "weight" and e.population == "obesity")
    assert reached == pytest.approx(100 + effect.mean, abs=0.1)


def test_no_dose_leaves_only_the_change_through_habits():
    assert weight(np.zeros(DAYS))[0, -1] == pytest.approx(100 + mean_habits_pct(False, KNOWLEDGE), abs=0.01)


def test_the_first_day_is_the_start_weight_and_loss_never_jumps():
    course = weight(np.full(DAYS, 2.4))[0]
    assert course[0] == 100.0
    assert np.abs(np.diff(course)).max() < 0.3


def test_weight_comes_back_after_a_stop_and_more_slowly_than_it_went():
    dose = np.full(DAYS, 2.4)
    dose[700:] = 0
    course = weight(dose, who=people(habits=0.0))[0]
    assert np.all(np.diff(course[708:]) > 0)
    lost, back = course[0] - course[140], course[840] - course[700]
    assert 0 < back < lost


def test_half_of_the_loss_through_the_drug_is_back_after_the_time_the_row_names():
    half = int(KNOWLEDGE.parameter("natural_return_half_time_days"))
    dose = np.full(DAYS, 2.4)
    dose[476:] = 0
    course = weight(dose, who=people(habits=0.0))[0]
    assert (course[483 + half] - course[483]) / (100 - course[483]) == pytest.approx(0.5, abs=0.02)


def test_a_person_beside_others_has_the_weight_they_have_alone():
    who = NaturalPeople(np.array([[80.0], [120.0]]), np.array([[-1.0], [-5.0]]), np.array([[0.5], [1.5]]))
    both = weight(np.full(DAYS, 1.0), who=who)
    for i in range(2):
        alone = weight(np.full(DAYS, 1.0), who=NaturalPeople(*(column[i : i + 1] for column in who)))
        assert np.array_equal(both[i], alone[0])


def test_a_drug_that_raises_weight_keeps_its_whole_effect():
    rising = [drug.id for drug in KNOWLEDGE.drugs.values() if any(e.item == "weight" and e.mean > 0 for e in drug.effects)]
    assert rising
    for drug in rising:
        assert find_own_share(drug, KNOWLEDGE.drugs[drug].ladder[-1], 80.0, True, KNOWLEDGE) > 0


def test_what_habits_changed_goes_back_only_once_their_support_ends():
    who, dose, taken = people(), np.zeros(DAYS), np.ones((3, DAYS))
    half = int(KNOWLEDGE.parameter("natural_return_half_time_days"))
    ended = derive_natural_weight(who, "metformin", dose, taken, has_diabetes=False, knowledge=KNOWLEDGE, habits_until=476)[0]
    kept = weight(dose, who=who, drug="metformin")[0]
    assert np.array_equal(ended[:477], kept[:477])
    assert (ended[476 + half] - ended[476]) / (100 - ended[476]) == pytest.approx(0.5, abs=1e-9)
    assert kept[-1] < kept[476]
