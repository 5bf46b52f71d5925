"""The outcome rule on hand-made series."""

import doctest
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.core.text import Wording
from clinworld.knowledge.rows import OutcomeRule
from clinworld.world import label
from clinworld.world.label import event_occurs, read_rule, smooth_ticks, threshold_kg

RULE = OutcomeRule("weight_regain", Wording("x", "x"), 0.05, 0.75, 56, 7, "authored", "authored")
LOW = [90.0] * 60


def occurs(weight: list[float], *, start_kg: float = 100.0, rule: OutcomeRule = RULE, step: int = 1) -> bool:
    return event_occurs(np.arange(len(weight)) * step, weight, start_kg=start_kg, rule=rule)


@pytest.mark.parametrize(
    ("name", "weight", "start_kg", "expected"),
    [
        ("56 days from first to last reading", LOW + [91.0] * 57, 100.0, True),
        ("55 days", LOW + [91.0] * 56, 100.0, False),
        ("back below before the day", LOW + [91.0] * 40 + [90.0] * 10 + [91.0] * 40, 100.0, False),
        ("three-day spike", LOW + [95.0] * 3 + [90.0] * 60, 100.0, False),
        ("three-day gap in a long run", LOW + [91.0] * 30 + [90.0] * 3 + [91.0] * 30, 100.0, True),
        ("under 0.75 kg", LOW + [90.74] * 90, 100.0, False),
        ("0.75 kg", LOW + [90.75] * 90, 100.0, True),
        ("5 % of a large loss is needed", LOW + [90.95] * 90, 110.0, False),
        ("5 % of a large loss", LOW + [91.0] * 90, 110.0, True),
        ("nothing lost, a gain", LOW + [90.8] * 90, 90.0, True),
        ("nothing lost, none gained", LOW + [90.6] * 90, 90.0, False),
        ("high before the low point only", [95.0] * 90 + LOW, 95.0, False),
        ("steady gain from day 0", [60.0 + 0.02 * day for day in range(180)], 60.0, True),
    ],
)
def test_rule_reads_the_series_by_hand(name: str, weight: list[float], start_kg: float, expected: bool) -> None:
    assert occurs(weight, start_kg=start_kg) is expected, name


def test_gaps_between_readings_do_not_break_a_run() -> None:
    assert occurs([90.0] * 8 + [91.0] * 9, step=7)
    assert not occurs([90.0] * 8 + [91.0] * 8, step=7)


def test_lasting_offset_of_the_home_scale_is_read_on_the_clinic_scale_unsmoothed() -> None:
    clinic = replace(RULE, smoothing_readings=1)
    days = [0, 28, 56, 84, 112, 140]
    flat, regained = [98.0, 93.0, 88.0, 87.9, 88.1, 88.0], [98.0, 92.0, 88.0, 88.9, 89.8, 91.0]
    assert not event_occurs(days, flat, start_kg=98.0, rule=clinic)
    assert not event_occurs(days[:5], regained[:5], start_kg=98.0, rule=clinic)  # 28 days so far
    assert event_occurs(days, regained, start_kg=98.0, rule=clinic)


def test_no_reading_and_one_reading_hold_no_run() -> None:
    assert not occurs([])
    assert not occurs([90.0])


def test_threshold_is_the_larger_of_share_and_kilograms() -> None:
    assert threshold_kg(80.0, 100.0, RULE) == 81.0
    assert threshold_kg(86.0, 98.0, RULE) == 86.75
    assert threshold_kg(61.0, 61.0, RULE) == 61.75


def test_reading_tells_low_point_threshold_and_run() -> None:
    seen = read_rule(np.arange(150), [*np.linspace(98, 88, 60), *[88.0] * 20, *[89.0] * 70], start_kg=98.0, rule=RULE)
    assert (seen.low_kg, seen.threshold_kg, seen.longest_run_days) == (88.0, 88.75, 69)
    nearer = read_rule(np.arange(150), [*[90.0] * 80, *[90.5] * 70], start_kg=98.0, rule=RULE, shift_kg=-0.3)
    assert nearer.longest_run_days == 69


@given(st.lists(st.integers(5000, 15000), min_size=1, max_size=60), st.sampled_from([1, 3, 5, 7]))
def test_running_median_equals_the_plain_definition(ticks: list[int], readings: int) -> None:
    half = readings // 2
    plain = [2 * np.median(ticks[max(0, i - half) : i + half + 1]) for i in range(len(ticks))]
    assert smooth_ticks(np.array(ticks), readings).tolist() == plain


@pytest.mark.slow
@given(st.integers(40, 120), st.floats(0.0, 3.0), st.integers(1, 80))
def test_more_weight_held_longer_never_undoes_an_event(days: int, extra: float, more: int) -> None:
    weight = LOW + [90.9] * days
    if occurs(weight):
        assert occurs(LOW + [90.9 + extra] * (days + more))


def test_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(label).failed == 0
