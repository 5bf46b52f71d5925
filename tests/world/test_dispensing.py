from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from history_cases import KNOWLEDGE, RNG, course_of, history_of, premises
from hypothesis import given, settings
from hypothesis import strategies as st

from clinworld.core.errors import UsageError
from clinworld.gates.item.dispensing_follows_orders import check_dispensing
from clinworld.schema.premise import Premise
from clinworld.schema.record import Dispensing, PastPrescription
from clinworld.world.dispensing import WEEKLY, days_covered_pct, derive_dispensing
from clinworld.world.observe_medication import derive_prescriptions


def packs_of(premise: Premise) -> tuple[Dispensing, ...]:
    return derive_dispensing(premise, course_of(premise), KNOWLEDGE, RNG)


def with_adherence(level: float, n: int = 120) -> list[tuple[float, float]]:
    """(true adherence, days covered) in percent, of drawn patients who all take one share of their doses."""
    pairs = []
    for premise in premises()[:n]:
        course = course_of(premise)
        course = replace(course, adherence=np.full_like(course.adherence, level))
        covered = days_covered_pct(derive_dispensing(premise, course, KNOWLEDGE, RNG), 0, course.last_day)
        pairs.append((100 * level, covered))
    return pairs


@pytest.mark.slow
def test_days_covered_agree_with_true_adherence_over_five_hundred_patients():
    check_agreement(premises(500))


@pytest.mark.slow
def test_days_covered_agree_with_true_adherence():
    check_agreement(premises())


def check_agreement(patients: Sequence[Premise]) -> None:
    true = np.array([100 * course_of(premise).adherence.mean() for premise in patients])
    covered = np.array([days_covered_pct(packs_of(premise), 0, premise.course_end_day) for premise in patients])
    assert np.corrcoef(true, covered)[0, 1] > 0.9
    assert abs(np.mean(covered - true)) < 3
    assert np.std(covered - true) < 3.5


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.65, 0.8, 0.95])
def test_packs_of_those_who_take_a_share_of_their_doses_cover_that_share_of_the_days(level):
    """Never less, but for what is fetched early; more by what is left of the last pack and of those of earlier doses."""
    gaps = [covered - true for true, covered in with_adherence(level)]
    assert -1 < np.mean(gaps) < 1 + 22 * (1 - level)


def test_packs_given_out_by_the_calendar_would_not_agree():
    """The control that fails: a pack every 28 days whatever is taken."""
    patients = premises()
    true = np.array([100 * course_of(premise).adherence.mean() for premise in patients])
    blind = np.array(
        [
            days_covered_pct([Dispensing(day, premise.drug, 1.0, "mg", 28) for day in range(0, premise.course_end_day, 28)], 0, 179)
            for premise in patients
        ]
    )
    assert np.mean(blind - true) > 5


def test_nothing_is_taken_that_was_not_handed_out():
    for premise in premises()[:60]:
        course = course_of(premise)
        packs = packs_of(premise)
        ends = [*(day for day, _ in course.dose_changes[1:]), course.last_day + 1]
        for (begin, _), end in zip(course.dose_changes, ends, strict=True):
            days = np.arange(begin, end)
            taken = np.cumsum(course.adherence[begin:end])
            given_out = np.array([sum(pack.days_supplied for pack in packs if begin <= pack.day <= day) for day in days])
            assert (taken <= given_out + 1).all()


def test_a_change_of_dose_starts_a_pack_of_that_dose_on_its_day():
    for premise in premises()[:60]:
        packs = packs_of(premise)
        for day, dose in course_of(premise).dose_changes:
            assert any((pack.day, pack.dose) == (day, dose) for pack in packs)


def test_every_pack_is_of_the_order_in_force_and_of_a_usual_size():
    sizes = set()
    for premise in premises():
        orders = derive_prescriptions(premise, course_of(premise), KNOWLEDGE)
        assert check_dispensing(packs_of(premise), orders, KNOWLEDGE) == []
        sizes |= {pack.days_supplied for pack in packs_of(premise)}
        if KNOWLEDGE.drugs[premise.drug].frequency in WEEKLY:
            assert all(pack.days_supplied % 28 == 0 for pack in packs_of(premise))
    assert sizes <= {28, 30, 56, 84, 90} and len(sizes) >= 4


def test_gaps_are_longer_where_less_is_taken():
    def longest_gap(level: float) -> float:
        gaps = []
        for premise in premises()[:60]:
            course = course_of(premise)
            packs = derive_dispensing(premise, replace(course, adherence=np.full_like(course.adherence, level)), KNOWLEDGE, RNG)
            gaps.append(max(b.day - a.day - a.days_supplied for a, b in pairwise(packs)) if len(packs) > 1 else 0)
        return float(np.mean(gaps))

    assert longest_gap(0.5) > longest_gap(0.8) + 10 > longest_gap(0.97) + 10


def test_one_who_takes_nothing_fetches_the_first_pack_of_each_dose_only():
    premise = premises()[0]
    course = replace(course_of(premise), adherence=np.zeros(premise.course_end_day + 1))
    assert len(derive_dispensing(premise, course, KNOWLEDGE, RNG)) == len(course.dose_changes)


def test_a_longer_course_moves_no_earlier_pack():
    for premise in premises()[:20]:
        longer = replace(premise, course_end_day=premise.course_end_day + 60)
        course = course_of(premise)
        further = replace(course, last_day=course.last_day + 60, adherence=np.append(course.adherence, np.full(60, 0.9)))
        packs = derive_dispensing(longer, further, KNOWLEDGE, RNG)
        assert [pack for pack in packs if pack.day <= course.last_day] == list(packs_of(premise))


def test_a_drug_still_taken_from_before_day_0_is_dispensed_on_and_moves_no_pack_of_the_course():
    dispensed = 0
    for premise in premises()[:80]:
        past = history_of(premise).prescriptions
        packs = derive_dispensing(premise, course_of(premise), KNOWLEDGE, RNG, earlier=past)
        still = {order.drug: order for order in past if order.last_day is None and order.drug != premise.drug}
        assert {pack.drug for pack in packs} <= {premise.drug, *still}
        assert [pack for pack in packs if pack.drug == premise.drug] == [pack for pack in packs_of(premise) if pack.drug == premise.drug]
        orders = derive_prescriptions(premise, course_of(premise), KNOWLEDGE)
        assert check_dispensing(packs, orders, KNOWLEDGE, past) == []
        assert not still or check_dispensing(packs, orders, KNOWLEDGE) or set(still).isdisjoint(pack.drug for pack in packs)
        for drug in still:
            days = [pack.day for pack in packs if pack.drug == drug]
            assert days and days[0] <= 200
            dispensed += len(days)
    assert dispensed > 60


def test_a_drug_stopped_before_day_0_is_not_dispensed():
    premise = premises()[0]
    stopped = PastPrescription(-400, -20, "amlodipine", 5.0, "mg")
    course = course_of(premise)
    assert derive_dispensing(premise, course, KNOWLEDGE, RNG, earlier=(stopped,)) == packs_of(premise)
    still = replace(stopped, last_day=None)
    assert {pack.drug for pack in derive_dispensing(premise, course, KNOWLEDGE, RNG, earlier=(still,))} == {premise.drug, "amlodipine"}


def pack(day: int, days: int = 28, dose: float = 1.0, drug: str = "metformin") -> Dispensing:
    return Dispensing(day, drug, dose, "mg", days)


@pytest.mark.parametrize(
    ("packs", "first", "last", "covered"),
    [
        ([pack(0)], 0, 27, 100.0),
        ([pack(0)], 0, 55, 50.0),
        ([pack(0), pack(20)], 0, 55, 100.0),  # fetched early: the rest is kept
        ([pack(0), pack(20, dose=2.0)], 0, 55, 100 * 48 / 56),  # another dose: the rest is left
        ([pack(-20)], 0, 13, 100 * 8 / 14),  # a pack from before the days looked at
        ([pack(40)], 0, 27, 0.0),
        ([pack(0, 90), pack(5, 28, dose=2.0), pack(33, 28, dose=2.0)], 0, 89, 100 * 61 / 90),
        ([], 0, 27, None),
    ],
)
def test_days_covered(packs, first, last, covered):
    found = days_covered_pct(packs, first, last)
    assert found is None if covered is None else found == pytest.approx(covered)


@given(
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from([28, 30, 84])), min_size=1, max_size=9),
    st.integers(0, 100),
    st.integers(1, 250),
)
@settings(max_examples=60, deadline=None)
def test_days_covered_lie_between_nothing_and_everything_and_one_pack_more_covers_no_less(drawn, first, length):
    packs = [pack(day, days) for day, days in drawn]
    covered = days_covered_pct(packs, first, first + length)
    assert 0 <= days_covered_pct(packs[:-1] or packs, first, first + length) <= covered <= 100


@pytest.mark.parametrize(("packs", "first", "last"), [([pack(0), pack(1, drug="amlodipine")], 0, 9), ([pack(0)], 9, 0)])
def test_packs_of_two_drugs_and_days_that_go_back_are_refused(packs, first, last):
    with pytest.raises(UsageError):
        days_covered_pct(packs, first, last)


FAULTS = {
    "a pack before its order": lambda packs: [replace(packs[0], day=-1), *packs[1:]],
    "a pack of another dose": lambda packs: [replace(packs[0], dose=packs[0].dose * 1.3), *packs[1:]],
    "a pack of another drug": lambda packs: [replace(packs[0], drug="lithium"), *packs[1:]],
    "a pack of another unit": lambda packs: [replace(packs[0], unit="g"), *packs[1:]],
    "an empty pack": lambda packs: [replace(packs[0], days_supplied=0), *packs[1:]],
    "packs out of order": lambda packs: packs[::-1],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_packs_with_one_thing_wrong_are_found_out(fault):
    premise = next(premise for premise in premises() if len(packs_of(premise)) > 4)
    orders = derive_prescriptions(premise, course_of(premise), KNOWLEDGE)
    assert check_dispensing(packs_of(premise), orders, KNOWLEDGE) == []
    findings = check_dispensing(FAULTS[fault](list(packs_of(premise))), orders, KNOWLEDGE)
    assert findings and all(finding.place and finding.found and finding.allowed for finding in findings)
