"""The statistics under boards, against worked values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.scores.statistics import draw_item_weights, exact_interval, holm, paired_p_value, percentile_interval


def test_holm_is_step_down_on_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    assert holm([0.9, 0.9]) == (1.0, 1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_falls_along_rising_p_and_lies_between_p_and_bonferroni(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    ordered = [adjusted[place] for place in sorted(range(len(p_values)), key=lambda place: p_values[place])]
    assert ordered == sorted(ordered)
    for p, after in zip(p_values, adjusted, strict=True):
        assert min(1, p) - 1e-9 <= after <= min(1, len(p_values) * p) + 1e-9


def test_item_draws_are_whole_resamples_and_the_same_for_a_seed() -> None:
    weights = draw_item_weights(30, 500, 7)
    assert weights.shape == (500, 30)
    assert (weights.sum(axis=1) == 30).all()
    assert weights.mean() == 1
    assert abs(float(weights.var()) - (1 - 1 / 30)) < 0.05
    assert (draw_item_weights(30, 500, 7) == weights).all()
    assert not (draw_item_weights(30, 500, 8) == weights).all()


def test_an_interval_over_nothing_is_none() -> None:
    assert percentile_interval(np.array([np.nan])) is None
    assert exact_interval(0, 0) is None
    interval = percentile_interval(np.arange(1000) / 1000)
    assert interval is not None
    assert interval.low == pytest.approx(0.025, abs=0.002)
    assert interval.high == pytest.approx(0.975, abs=0.002)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"), [(0, 10, 0, 0.308), (10, 10, 0.692, 1), (5, 10, 0.187, 0.813), (1, 20, 0.001, 0.249)]
)
def test_exact_intervals_match_the_published_ones(hits: int, of: int, low: float, high: float) -> None:
    assert exact_interval(hits, of) == pytest.approx((low, high), abs=0.001)


def test_equal_agents_are_never_told_apart_and_a_constant_gap_always_is() -> None:
    assert paired_p_value(np.zeros(2000), items=30) == 1
    assert paired_p_value(np.full(2000, 0.1), items=30) == paired_p_value(np.full(2000, -0.1), items=30) == 2 / 2**30


def test_a_difference_no_draw_turns_round_gets_the_normal_tail_and_one_that_some_do_is_counted() -> None:
    draws = np.random.default_rng(3).normal(0.0, 0.1, 2000)
    far, near = paired_p_value(draws + 0.6, items=100), paired_p_value(draws + 0.2, items=100)
    assert 1e-11 < far < 1e-7
    assert near == pytest.approx(2 * (1 + int((draws + 0.2 <= 0).sum())) / 2001)
    assert paired_p_value(draws + 0.6, items=20) == 2 / 2**20
    assert paired_p_value(np.abs(draws) + 1e-9, items=20) <= 2 / 2001
    assert paired_p_value(np.array([np.nan]), items=20) == 1
