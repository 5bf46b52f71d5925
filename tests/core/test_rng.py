import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.core.rng import Rng, words_to_normal, words_to_uniform


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def test_streams_are_frozen_across_releases_and_numpy_versions():
    series = Rng(7).at("C-1", "labs", "hba1c")
    assert digest(series.words(400)) == "04df046958c38b83"
    assert digest(series.uniform(400)) == "56d4bcb00760f134"
    assert digest(series.normal(400)) == "7b779d66bf3f19bf"


@given(st.integers(0, 50), st.integers(1, 60))
def test_element_i_does_not_depend_on_how_many_are_drawn(start, n):
    series = Rng("s").at("case", "weight")
    assert (series.words(200)[start : start + n] == series.words(n, start=start)).all()


@given(st.lists(st.text(min_size=0, max_size=4), min_size=1, max_size=3), st.lists(st.text(min_size=0, max_size=4), min_size=1, max_size=3))
def test_different_paths_never_share_a_series(a, b):
    rng = Rng(0)
    same = rng.at("c", *a).words(2).tolist() == rng.at("c", *b).words(2).tolist()
    assert same == (a == b)


def test_case_and_seed_move_every_draw():
    assert Rng(0).at("a", "x").chance() != Rng(1).at("a", "x").chance()
    assert Rng(0).at("a", "x").chance() != Rng(0).at("b", "x").chance()


def test_interleaved_addresses_do_not_disturb_each_other():
    rng = Rng(0)
    alone = rng.at("c", "one").words(5).tolist()
    first, second = rng.at("c", "one"), rng.at("c", "two")
    assert [int(first.words(1, start=i)[0]) for i in range(5) if second.chance() >= 0] == alone


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_several_series_at_once_are_those_that_one_by_one_give(n):
    rng = Rng("s")
    paths = [("labs", "hba1c"), ("labs", "hba1c", 1), ("stream",)]
    assert rng.first_words("c", paths, n).tolist() == [rng.at("c", *path).words(n).tolist() for path in paths]
    assert rng.first_words("c", [], n).shape == (0, n)
    assert rng.first_words("d", paths, 2).tolist() != rng.first_words("c", paths, 2).tolist()


def test_normals_follow_the_normal_distribution_to_the_tails():
    words = Rng(3).at("c", "n").words(400_000)
    x = words_to_normal(words)
    from statistics import NormalDist

    for z in (-4.0, -3.0, -1.0, 0.0, 0.5, 2.0, 3.5):
        expected = NormalDist().cdf(z)
        assert (x < z).mean() == pytest.approx(expected, abs=4 * (expected * (1 - expected) / len(x)) ** 0.5 + 1e-5)
    assert abs(x.mean()) < 0.01 and abs(x.std() - 1) < 0.01
    assert np.isfinite(words_to_normal(np.array([0, 1, 2**64 - 1, 2**64 - 2], dtype=np.uint64))).all()


def test_a_normal_has_the_same_bits_alone_among_few_and_among_many():
    edges = [0, 1, 2047, 2048, 2**63, 2**64 - 1, *(1 << i for i in range(64))]
    words = np.concatenate([np.array(edges, dtype=np.uint64), Rng(3).at("c", "few").words(2000)])
    many = words_to_normal(words)
    for size in (1, 3, 8):
        few = np.concatenate([words_to_normal(words[i : i + size]) for i in range(0, len(words), size)])
        assert few.tobytes() == many.tobytes()
    series = Rng(3).at("c", "few")
    assert [series.gauss(i) for i in range(40)] == series.normal(40).tolist()


def test_uniform_stays_below_one():
    assert words_to_uniform(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0.0, 1 - 2.0**-53]


@given(st.integers(-5, 5), st.integers(0, 9))
def test_whole_numbers_reach_both_ends_and_no_further(low, width):
    drawn = {Rng(i).at("c", "w").whole(low, low + width) for i in range(60)}
    assert drawn <= set(range(low, low + width + 1))


def test_order_is_a_permutation():
    assert sorted(Rng(0).at("c", "o").order(9)) == list(range(9))
