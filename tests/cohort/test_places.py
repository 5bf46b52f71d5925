"""Claims about which case stands at which place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.cohort.patient import drawn_job
from clinworld.cohort.places import list_case_ids, name_case, settle_ids
from clinworld.core.digest import digest_value
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.world.draw import draw_cases


def one_by_one(draw, count):
    """The rule in so many words: the first attempt whose id no earlier place holds."""
    held, ids = set(), []
    for place in range(count):
        attempt = 0
        while draw(place, attempt) in held:
            attempt += 1
        held.add(draw(place, attempt))
        ids.append(draw(place, attempt))
    return ids


@given(st.integers(0, 10**9), st.integers(1, 60), st.integers(60, 300))
def test_no_two_places_share_an_id_however_crowded_the_ids_are(salt, count, room):
    def draw(place, attempt):
        return int(digest_value([salt, place, attempt], length=8), 16) % room

    ids = settle_ids(draw, count).tolist()
    assert len(set(ids)) == count
    assert ids == one_by_one(draw, count)


def test_a_later_place_gives_way_to_one_that_had_to_move_onto_its_id():
    drawn = {(0, 0): 5, (1, 0): 5, (1, 1): 7, (2, 0): 7, (2, 1): 5, (2, 2): 9}
    assert settle_ids(lambda place, attempt: drawn[place, attempt], 3).tolist() == [5, 7, 9]


@pytest.mark.parametrize(("first", "count"), [(0, 7), (3, 4), (6, 1)])
def test_an_id_depends_on_neither_the_number_of_patients_nor_the_first(first, count):
    whole = list_case_ids("11", 0, 7).tolist()
    assert list_case_ids("11", first, count).tolist() == whole[first : first + count]


def test_places_hold_the_cases_that_a_job_without_a_mix_draws():
    from dataclasses import replace

    job = replace(drawn_job("11"), items=5)
    cases = draw_cases(job, load_knowledge(), Rng("11"))
    assert [case.case_id for case in cases] == [name_case(number) for number in list_case_ids("11", 0, 5).tolist()]


def test_a_drawn_case_is_the_same_whatever_the_number_of_items():
    from dataclasses import replace

    job, known = drawn_job("11"), load_knowledge()
    few, many = (draw_cases(replace(job, items=n), known, Rng("11")) for n in (3, 9))
    assert many[:3] == few
