"""The bounds of a certificate are exact, never below the truth, and say what dependence leaves of them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinworld.packs.emr_write.certificate.bounds import (
    bound_dependent,
    correlate_clusters,
    lower_bound,
    print_down,
    print_up,
    trials_needed,
    upper_bound,
)

PUBLISHED = [
    (0, 1, 0.05, 0.95),
    (0, 12, 0.05, 0.220922192),
    (0, 100, 0.05, 0.029513050),
    (0, 598, 0.05, 0.004997059),
    (0, 597, 0.05, 0.005005408),
    (0, 600, 0.05, 0.004980443),
    (0, 700, 0.05, 0.004270473),
    (1, 600, 0.05, 0.007881816),
    (2, 600, 0.05, 0.010455489),
    (5, 600, 0.05, 0.017441325),
    (1, 700, 0.05, 0.006758853),
    (3, 3000, 0.05, 0.002582505),
    (600, 20000, 0.05, 0.032060393),
    (29, 30, 0.05, 0.998291684),
    (10, 1000, 0.01, 0.020042606),
]
NEEDED = [(0.05, 59), (0.01, 299), (0.005, 598), (0.002, 1497), (0.001, 2995), (0.0005, 5990), (1e-4, 29956), (1e-5, 299572)]


@pytest.mark.parametrize(("hits", "trials", "alpha", "published"), PUBLISHED)
def test_a_published_bound_is_met_to_nine_decimals(hits, trials, alpha, published):
    assert abs(upper_bound(hits, trials, alpha) - published) < 1e-9


def test_six_hundred_without_a_hit_print_as_a_half_percent_and_not_below():
    assert upper_bound(0, 600, 0.05) >= 1 - 0.05 ** (1 / 600)
    assert print_up(upper_bound(0, 600, 0.05)) == "0.0050"
    assert print_up(0.00500001) == "0.0051" and print_up(0.005) == "0.0050" and print_down(0.99909999) == "0.9990"


def exact_tail(hits: int, trials: int, p: Fraction) -> Fraction:
    """The chance of at most `hits`, in whole numbers."""
    top, bottom = p.numerator, p.denominator
    ways = sum(math.comb(trials, i) * top**i * (bottom - top) ** (trials - i) for i in range(hits + 1))
    return Fraction(ways, bottom**trials)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 120).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))), st.sampled_from([0.05, 0.01, 0.05 / 12]))
def test_a_bound_is_never_below_the_exact_one_and_hardly_above_it(counts, alpha):
    hits, trials = counts
    bound, step = Fraction(repr(upper_bound(hits, trials, alpha))), Fraction(2, 10**10)
    assert exact_tail(hits, trials, bound) <= Fraction(alpha) or bound == 1
    assert exact_tail(hits, trials, bound - step) > Fraction(alpha)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10**6), (7, 10**6), (5000, 10**5), (123456, 10**6), (10**6 - 1, 10**6)])
def test_large_counts_agree_with_the_incomplete_beta_function(hits, trials):
    from scipy.special import betaincinv

    for alpha in (0.05, 1e-6):
        assert 0 <= upper_bound(hits, trials, alpha) - betaincinv(hits + 1, trials - hits, 1 - alpha) < 2e-10


@pytest.mark.parametrize(("hits", "trials", "alpha"), [(1, 0, 0.05), (-1, 5, 0.05), (6, 5, 0.05), (0, 5, 0.0), (0, 5, 1.0)])
def test_counts_that_are_none_have_no_bound(hits, trials, alpha):
    with pytest.raises(ValueError):
        upper_bound(hits, trials, alpha)


@pytest.mark.parametrize(("epsilon", "trials"), NEEDED)
def test_the_number_of_trials_needed_is_the_least_that_suffices(epsilon, trials):
    assert trials_needed(epsilon, 0.05) == trials
    assert 1 - 0.05 ** (1 / trials) <= epsilon < 1 - 0.05 ** (1 / (trials - 1))


def test_simultaneous_claims_need_more_trials():
    assert [trials_needed(0.005, 0.05 / m) for m in (12, 20, 30)] == [1094, 1196, 1277]


def test_the_share_of_right_writes_paid_is_bounded_from_below():
    assert print_down(lower_bound(3000, 3000, 0.05)) == "0.9990" and print_down(lower_bound(100, 100, 0.05)) == "0.9704"
    assert lower_bound(0, 10, 0.05) == 0.0


@pytest.mark.parametrize(("rho", "effective"), [("0", 600), ("0.01", 402), ("0.1", 101), ("0.5", 23), ("1", 12)])
def test_relabelled_copies_count_for_less_the_more_they_correlate(rho, effective):
    left = bound_dependent(0, [(50, 12)], rho, 0.05)
    assert left.effective == effective and left.bound == upper_bound(0, effective, 0.05)


def test_a_hit_is_not_lost_when_trials_are_discounted():
    assert bound_dependent(1, [(50, 12)], "1", 0.05).bound == upper_bound(1, 12, 0.05)


def test_correlation_is_one_where_templates_decide_none_where_nothing_varies_and_about_zero_by_chance():
    assert correlate_clusters([(0, 50)] * 6 + [(50, 50)] * 6) == 1.0
    assert correlate_clusters([(0, 50)] * 12) is None and correlate_clusters([(1, 1), (0, 1)]) is None
    by_chance = correlate_clusters([(5, 50), (6, 50), (4, 50), (5, 50)])
    assert by_chance is not None and abs(by_chance) < 0.03
