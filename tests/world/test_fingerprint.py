"""Nothing but medicine tells a condition from those that share a symptom with it; a planted constant is found at the same n."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from presenting_case import CONDITIONS, KNOWLEDGE

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.gates.fingerprint import (
    Marks,
    check_fingerprint,
    find_fingerprint,
    holm,
    plant_row,
    plant_weight_band,
    read_marks,
)
from clinworld.schema.record import Record, Series
from clinworld.world.build import build_world
from clinworld.world.draw_people import Person
from clinworld.world.plan_presenting import describe_told, list_diseases, list_peers, list_tellings, plan_pair, plan_presenting
from clinworld.world.presenting import tell_presenting

RNG, JOB = Rng("fingerprint test"), drawn_job("fingerprint test")
SOME = ("cap", "cushing", "hypothyroidism")
PAIRS, PERMUTATIONS, LIMIT = 40, 199, 0.01  # of each; the bench has 200 pairs of every condition and 999 permutations


@cache
def pairs_of(condition: str) -> tuple[list[Record], list[Record]]:
    one: list[Record] = []
    other: list[Record] = []
    for place in range(2 * PAIRS):
        if len(one) == PAIRS:
            break
        try:
            planned = plan_pair(f"{condition}.{place}", condition, JOB, KNOWLEDGE, RNG)
            if planned is None:
                continue
            built = [
                build_world(each, KNOWLEDGE, RNG, frozenset({"dispensing"}), has_daily=False)[1].record.until(each.index_day)
                for each in planned
            ]
        except PremiseConflict:
            continue
        one.append(built[0])
        other.append(built[1])
    return one, other


@pytest.mark.slow
@pytest.mark.parametrize("condition", SOME)
def test_bookkeeping_does_not_tell_a_condition_from_its_peers(condition: str) -> None:
    one, other = pairs_of(condition)
    found = find_fingerprint(read_marks([*one, *other], KNOWLEDGE), PERMUTATIONS)
    assert found.p > LIMIT, found


@pytest.mark.slow
def test_planted_constants_are_found_among_as_many_patients() -> None:
    one, other = ([record for condition in SOME for record in pairs_of(condition)[side]] for side in (0, 1))
    checked = check_fingerprint(one, other, KNOWLEDGE, PERMUTATIONS, LIMIT)
    assert checked.is_measured, [(name, found) for name, found in checked.planted]
    assert checked.found.p > LIMIT, checked.found


@pytest.mark.slow
def test_the_planted_constants_are_what_they_say() -> None:
    one, other = pairs_of("cap")
    first = [float(series.values()[0]) for record in plant_weight_band(one) if (series := record.find("weight_clinic"))]
    assert max(first) - min(first) <= 2.2
    further = [len(after.notes) - len(before.notes) for before, after in zip(one, plant_row(one, other, KNOWLEDGE), strict=True)]
    assert set(further) == {0, 1} and sum(further) == round(0.3 * len(further))


@pytest.mark.slow
def test_a_planted_row_is_said_by_few_on_either_side() -> None:
    """What one side never says may be what its condition keeps from being said, and usual on the other side."""
    one, other = pairs_of("cap")
    plain = [replace(record, notes=()) for record in one]
    (text,) = {note.text.en for record in plant_row(plain, other, KNOWLEDGE) for note in record.notes}
    told = Counter(said for record in other for said in {note.text.en for note in record.notes})
    assert told[text] == min(told[row.text.en] for row in KNOWLEDGE.events.values() if not row.sex and row.age_low is None)


def test_labels_that_tell_nothing_give_no_small_p_too_often() -> None:
    drawn = np.random.default_rng(3)
    small = [find_fingerprint(Marks(tuple("abcdefgh"), drawn.normal(size=(8, 60))), 99).p <= 0.05 for _ in range(60)]
    assert sum(small) <= 8


@pytest.mark.slow
def test_two_sides_with_the_same_patients_are_not_told_apart() -> None:
    one, _ = pairs_of("cap")
    assert find_fingerprint(read_marks([*one, *one], KNOWLEDGE), 99).p >= 0.5


@pytest.mark.rows
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_shares_a_symptom_with_others(condition: str) -> None:
    peers = list_peers(condition, KNOWLEDGE)
    assert peers and condition not in peers
    assert all(condition in list_peers(peer, KNOWLEDGE) for peer in peers[:3])


def test_the_two_of_a_pair_are_alike_in_what_is_clinical_but_the_condition() -> None:
    for place in range(8):
        planned = plan_pair(f"alike.{place}", "gout", JOB, KNOWLEDGE, RNG)
        if planned is None:
            continue
        a, b = (each.patient for each in planned)
        assert (a.sex, a.age_low, a.age_high, a.disease) == (b.sex, b.age_low, b.age_high, b.disease)
        tellings = []
        for each in planned:
            assert each.presenting is not None
            person = Person(each.patient.sex, each.patient.age_low, each.patient.age_high)
            fitting = list_tellings(each.presenting.condition, person, KNOWLEDGE)
            tellings.append(fitting[each.presenting.presentation])
        assert tellings[0] == tellings[1]
        assert planned[0].presenting != planned[1].presenting


def without(records: list[Record], name: str) -> list[Record]:
    return [replace(each, series=tuple(series for series in each.series if series.name != name)) for each in records]


@pytest.mark.slow
def test_a_calculated_result_that_is_missing_is_no_mark_and_a_measured_one_is() -> None:
    """LDL cholesterol cannot be calculated where triglycerides are very high; that is medicine, not bookkeeping."""
    one, _ = pairs_of("cap")
    for name, is_mark in (("ldl_c", False), ("triglycerides", True)):
        assert any(record.find(name) for record in one)
        marks = read_marks([*one, *without(one, name)], KNOWLEDGE)
        first, second = np.split(marks.values, 2, axis=1)
        assert bool((first != second).any()) is is_mark, name


def test_what_documented_conditions_bring_is_no_mark_in_who_has_these_and_is_one_in_others() -> None:
    one, _ = pairs_of("cap")
    known, devices = ("obesity", "hypothyroidism"), ("smart_scale", "lab_panel")
    named = [replace(each, profile=replace(each.profile, known_conditions=known, devices=devices)) for each in one]
    bare = [replace(each, profile=replace(each.profile, known_conditions=known[:1], devices=devices)) for each in one]
    tsh = Series("tsh", "laboratory", "mU/L", 2, np.array([0, 40], dtype=np.int32), np.array([210, 230]))
    for records, is_mark in ((named, False), (bare, True)):
        tested = [replace(each, series=(*(s for s in each.series if s.name != "tsh"), tsh)) for each in records]
        assert ("has_series:tsh" in read_marks([*records, *tested], KNOWLEDGE).names) is is_mark


def test_the_two_of_a_pair_tell_as_many_complaints_and_as_many_facts() -> None:
    """Facts take the place of everyday facts: where one side tells more of them, fewer of its everyday notes are, and these are longer."""
    found = 0
    for place in range(20):
        planned = plan_pair(f"kinds.{place}", "fhh", JOB, KNOWLEDGE, RNG)
        if planned is None:
            continue
        found += 1
        told = [tell_presenting(each, KNOWLEDGE, RNG) for each in planned]
        assert sum(each.is_complaint for each in told[0]) == sum(each.is_complaint for each in told[1])
        assert len(told[0]) == len(told[1]) > 0
    assert found


def test_the_two_of_a_pair_claim_the_same_of_weight() -> None:
    """A claim is told on days on which the scale agrees: beside one who makes none, the days would tell the condition."""
    claims = []
    for place in range(20):
        for condition in ("insulinoma", "pancreatic_cancer"):
            try:
                planned = plan_pair(f"claims.{place}", condition, JOB, KNOWLEDGE, RNG)
            except PremiseConflict:
                continue
            if planned is not None:
                one, other = (describe_told(each, KNOWLEDGE, RNG) for each in planned)
                assert one == other
                claims.append(one.claims)
    assert () in claims and any(claims)


def test_what_is_not_clinical_does_not_depend_on_the_hidden_condition() -> None:
    one, other = (plan_presenting("same", name, JOB, KNOWLEDGE, RNG, disease="type_2_diabetes") for name in ("gout", "cap"))
    for field in ("drug", "dose_steps", "index_day", "course_end_day", "driver", "density", "artifacts", "sampling_days"):
        assert getattr(one, field) == getattr(other, field), field
    assert (one.patient.bmi, one.patient.devices) == (other.patient.bmi, other.patient.devices)


def test_a_hidden_condition_goes_with_what_its_patient_is_treated_for() -> None:
    """Nobody with diabetes turns out to have prediabetes; damage of diabetes is found in diabetes."""
    person = Person("F", 55, 59)
    assert "type_2_diabetes" not in list_diseases("prediabetes", person, KNOWLEDGE)
    for condition in ("diabetic_kidney_disease", "peripheral_neuropathy_dm", "gastroparesis", "hhs", "dka"):
        assert list_diseases(condition, person, KNOWLEDGE) == ("type_2_diabetes",), condition
    assert len(list_diseases("gout", person, KNOWLEDGE)) > 2


def test_holm_steps_down() -> None:
    assert holm([0.01, 0.5, 0.02]) == [0.03, 0.5, 0.04]
