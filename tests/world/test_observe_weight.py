"""How the scales are used."""

from dataclasses import replace

import numpy as np
import pytest
from observe_case import KNOWLEDGE, as_bytes, find, make_course, make_premise, observe

from clinworld.core.rng import Rng
from clinworld.world.observe import observe_streams
from clinworld.world.observe_weight import draw_weigh_in_days
from clinworld.world.visits import draw_weekdays


def test_a_daily_plan_starts_on_day_0_and_never_pauses_longer_than_six_days():
    for case in range(30):
        days = find(observe(make_premise(f"W-{case}")), "weight").days
        assert days[0] == 0 and np.diff(days).max() <= 6 and days[-1] <= 365


def test_weigh_ins_are_fewer_on_weekends_and_the_phase_differs_between_cases():
    weekday, weekend = [], []
    for case in range(40):
        premise = make_premise(f"W-{case}")
        weekdays = draw_weekdays(premise, Rng("7"))
        used = np.zeros(366, dtype=bool)
        used[find(observe(premise), "weight").days] = True
        weekday.append(used[weekdays < 5].mean())
        weekend.append(used[weekdays >= 5].mean())
    assert abs(np.mean(weekday) - 0.82) < 0.02 and abs(np.mean(weekend) - 0.45) < 0.03
    assert abs(1 - (5 * np.mean(weekday) + 2 * np.mean(weekend)) / 7 - 0.2857) < 0.03


@pytest.mark.parametrize("step", [2, 3, 7, 28])
def test_a_sparser_plan_is_kept_to_the_day(step: int):
    assert find(observe(make_premise(sampling_days=step)), "weight").days.tolist() == list(range(0, 366, step))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism, weekend_gap, value_gap", [("MCAR", False, False), ("MAR", True, False), ("MNAR", True, True)])
def test_readings_are_missing_by_the_declared_mechanism(mechanism: str, weekend_gap: bool, value_gap: bool):
    by_weekend, by_value, shares = [], [], []
    for case in range(60):
        premise = make_premise(f"X-{case}", missingness=mechanism)
        weekdays = draw_weekdays(premise, Rng("7"))
        daily = observe_streams(premise, make_course(premise), KNOWLEDGE, Rng("7"), weekdays)
        used = np.zeros(366, dtype=bool)
        used[draw_weigh_in_days(premise, weekdays, daily.weight_noise, daily.weigh_in, KNOWLEDGE, Rng("7"))] = True
        by_weekend.append(used[weekdays < 5].mean() - used[weekdays >= 5].mean())
        by_value.append(used[daily.weight_noise < 0].mean() - used[daily.weight_noise > 0].mean())
        shares.append(used.mean())
    assert (np.mean(by_weekend) > 0.2) == weekend_gap
    assert (np.mean(by_value) > 0.1) == value_gap
    assert abs(np.mean(shares) - 0.7143) < 0.03


def test_home_readings_scatter_by_half_a_percent_about_the_true_weight():
    errors = []
    for case in range(30):
        premise = make_premise(f"Y-{case}")
        course, series = make_course(premise), find(observe(premise), "weight")
        errors.append(series.values() / course.weight_kg[series.days] - 1)
    spread = np.std(np.concatenate(errors))
    assert 0.0045 < spread < 0.0060
    assert abs(np.mean(np.concatenate(errors))) < 0.0015


@pytest.mark.slow
def test_one_reading_in_seven_shows_the_reading_before_once_more():
    repeated = sum(dict(observe(make_premise(f"R-{case}")).acted)["carried_forward"] for case in range(30))
    readings = sum(len(find(observe(make_premise(f"R-{case}")), "weight").days) for case in range(30))
    assert abs(repeated / readings - 0.143) < 0.015


def test_a_repeat_equals_the_reading_before():
    premise = make_premise()
    series = find(observe(premise), "weight")
    equal = np.count_nonzero(np.diff(series.ticks) == 0)
    assert equal >= dict(observe(premise).acted)["carried_forward"]


def test_the_clinic_scale_reads_about_every_four_weeks_with_a_small_fixed_deviation():
    sides, gaps = set(), []
    for case in range(30):
        premise = make_premise(f"K-{case}")
        course, series = make_course(premise), find(observe(premise), "weight_clinic")
        off = series.days - 28 * np.arange(len(series.days))
        assert len(off) in (13, 14) and off[0] == 0 and np.abs(off).max() <= 5
        gaps += np.diff(series.days).tolist()
        off = series.values() - course.weight_kg[series.days]
        assert 0.03 < abs(off.mean()) < 0.27 and off.std() < 0.12
        sides.add(bool(off.mean() > 0))
    assert sides == {True, False}
    assert min(gaps) < 24 and max(gaps) > 32 and abs(np.mean(gaps) - 28) < 0.5


def test_the_clinic_scale_does_not_depend_on_how_the_home_scale_is_used():
    premise = make_premise()
    for change in ({"sampling_days": 7}, {"missingness": "MNAR"}, {"patient": {"devices": ()}}):
        other = make_premise(**change)
        assert as_bytes(find(observe(other), "weight_clinic")) == as_bytes(find(observe(premise), "weight_clinic"))


def test_a_turn_after_the_index_day_leaves_all_charted_weights_before_it():
    premise = make_premise()
    course = make_course(premise)
    stays = np.where(np.arange(366) > 154, course.weight_kg[154], course.weight_kg)
    kept = observe(replace(premise, outcome="maintain", reversal_day=None), course=replace(course, weight_kg=stays))
    regained = observe(premise, course=course)
    for name in ("weight", "weight_clinic"):
        assert as_bytes(find(kept, name).until(154)) == as_bytes(find(regained, name).until(154))
        assert as_bytes(find(kept, name)) != as_bytes(find(regained, name))
