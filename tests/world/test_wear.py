"""People use their devices more or less, miss nights and days as a whole, and their days differ more or less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observe_case import KNOWLEDGE, make_course, make_premise, observe

from clinworld.schema.record import Series
from clinworld.world.wear import LEVELS, Use, derive_use, derive_within, find_missing_days, spread_share, to_thresholds

DAYS = 280
PEOPLE = 80
NIGHTS = KNOWLEDGE.devices["wearable"].worn_nights
WEEKLY = [row.id for row in KNOWLEDGE.streams.values() if row.role in ("evidence", "quality")]
BASE = [row for row in KNOWLEDGE.streams.values() if row.role == "wearable" and not row.parent]


@pytest.fixture(scope="module")
def people() -> list[dict[str, Series]]:
    charts = []
    for i in range(PEOPLE):
        premise = make_premise(f"U-{i}", course_end_day=DAYS - 1, distractor_level="high", reversal_day=None, missingness="MCAR")
        course = replace(make_course(premise), levels={})
        charts.append({series.name: series for series in observe(premise, course=course).series})
    return charts


def is_charted(chart: dict[str, Series], name: str) -> np.ndarray:
    return np.isin(np.arange(DAYS), chart[name].days)


def shares(people: list[dict[str, Series]], name: str) -> np.ndarray:
    return np.array([len(chart[name].days) / DAYS for chart in people if name in chart])


@pytest.mark.parametrize("name", ["weight", "steps", "sleep_hours", "hrv_rmssd", "home_sbp", "cgm_mean"])
def test_people_differ_in_how_much_they_use_a_device(people, name: str):
    found = shares(people, name)
    row, p = KNOWLEDGE.streams[name], found.mean()
    runs = (1 + row.p_off_off - row.p_off_worn) / (1 - row.p_off_off + row.p_off_worn) if name != "weight" else 1.0
    by_chance = np.sqrt(p * (1 - p) * runs / DAYS)
    # As much beyond chance as half a unit of log-odds makes, and no more.
    beyond = np.sqrt(max(found.var(ddof=1) - by_chance**2, 0)) / (p * (1 - p))
    assert 0.5 * 0.6 < beyond < 0.5 * 1.5


def test_who_uses_one_stream_of_a_device_much_uses_the_others_much_and_another_device_as_anyone(people):
    sleep, steps, cuff = (shares(people, name) for name in ("sleep_hours", "steps", "home_sbp"))
    assert np.corrcoef(sleep, steps)[0, 1] > 0.4
    assert abs(np.corrcoef(sleep, cuff)[0, 1]) < 4 / np.sqrt(PEOPLE)


def test_nothing_of_a_night_is_recorded_on_a_night_without_sleep_and_nothing_on_a_day_without_steps(people):
    missing_nights = 0
    for chart in people:
        asleep, worn = is_charted(chart, "sleep_hours"), is_charted(chart, "steps")
        missing_nights += np.count_nonzero(~asleep)
        for name in chart:
            row = KNOWLEDGE.streams[name]
            if row.role == "wearable":
                assert not (is_charted(chart, name) & ~worn).any(), name
            if name in NIGHTS or row.parent in NIGHTS:
                assert not (is_charted(chart, name) & ~asleep).any(), name
    assert missing_nights > 0.2 * DAYS * PEOPLE


def test_streams_of_a_worn_night_are_missing_by_themselves(people):
    both = [chart for chart in people if {"hrv_rmssd", "spo2_night"} <= chart.keys()]
    only = [np.count_nonzero(is_charted(chart, "spo2_night") & ~is_charted(chart, "hrv_rmssd")) for chart in both]
    assert len(both) > 20 and np.mean(only) > 0.03 * DAYS


def test_weekly_entries_are_sometimes_missed_or_a_day_late_and_never_end(people):
    due = (DAYS - 1) // 7 + 1
    missed, late, by_person = [], [], []
    for chart in people:
        for name in WEEKLY:
            days = chart[name].days
            assert np.isin(days % 7, (0, 1)).all() and len(np.unique(days // 7)) == len(days)
            assert all(np.count_nonzero((days >= third) & (days < third + DAYS / 3)) > 3 for third in (0, DAYS / 3, 2 * DAYS / 3))
            missed.append(1 - len(days) / due)
            late.append(np.mean(days % 7 == 1))
        by_person.append(np.mean(missed[-len(WEEKLY) :]))
    p_missed, p_late = (KNOWLEDGE.parameter(f"weekly_p_{name}") for name in ("missed", "late"))
    assert abs(np.mean(missed) - p_missed) < 0.02 and abs(np.mean(late) - p_late / (1 - p_missed)) < 0.03
    assert np.std(by_person) > 1.1 * np.sqrt(p_missed * (1 - p_missed) / due / len(WEEKLY))


@pytest.mark.parametrize("name", ["sleep_hours", "steps", "resting_hr", "home_sbp", "weight"])
def test_the_days_of_some_people_differ_more_than_those_of_others(people, name: str):
    is_log = KNOWLEDGE.streams[name].scale == "log"
    spreads = []
    for chart in people:
        values = np.log(chart[name].values() / 90) if is_log else chart[name].values()
        spreads.append(np.diff(values)[np.diff(chart[name].days) == 1].std())
    assert 0.15 < np.std(spreads) / np.mean(spreads) < 0.4


@pytest.mark.parametrize("change", [{"driver": "calorie_intake_change"}, {"outcome": "maintain", "reversal_day": None}])
def test_use_and_spread_do_not_depend_on_what_will_happen(change):
    premise = make_premise()
    course = make_course(premise)
    one, other = observe(premise, course=course), observe(replace(premise, **change), course=course)
    for here, there in zip(one.series, other.series, strict=True):
        assert here.days.tolist() == there.days.tolist() and here.ticks.tolist() == there.ticks.tolist(), here.name


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_a_share_spread_over_people_has_itself_as_its_mean(given_shares: list[float]):
    share = np.array(given_shares)
    by_level = spread_share(share, KNOWLEDGE)
    assert np.abs(by_level.mean(axis=0) - share).max() < 1e-6
    assert (np.diff(by_level, axis=0) >= 0).all()


def test_over_all_people_missing_days_are_as_likely_as_the_rows_say():
    worn, off = np.array([row.p_off_worn for row in BASE]), np.array([row.p_off_off for row in BASE])
    use = derive_use(worn, off, KNOWLEDGE)
    assert np.allclose((use.share * use.after_off).mean(axis=0) / use.share.mean(axis=0), off, atol=0.01)
    assert np.allclose(((1 - use.share) * use.after_worn).mean(axis=0) / (1 - use.share).mean(axis=0), worn, atol=0.01)


@pytest.mark.parametrize(("name", "around"), [("sleep_hours", "steps"), ("hrv_rmssd", "sleep_hours"), ("spo2_night", "sleep_hours")])
def test_a_row_inside_another_is_missing_as_often_and_in_such_runs_as_by_itself(name: str, around: str):
    rows = [KNOWLEDGE.streams[each] for each in (name, around)]
    inner, outer = (derive_use(np.array([row.p_off_worn]), np.array([row.p_off_off]), KNOWLEDGE) for row in rows)
    within, level, n = derive_within(inner, outer), LEVELS // 2, 200_000
    words = np.random.default_rng(3).integers(0, 2**64, (2, n), dtype=np.uint64)
    off_outer = find_missing_days(words[:1], at_level(outer, level), None)
    off = find_missing_days(words[1:], at_level(within, level), off_outer)[0]
    assert not (off_outer[0] & ~off).any()
    assert abs(off.mean() - inner.share[level, 0]) < 0.01
    assert abs(off[1:][off[:-1]].mean() - inner.after_off[level, 0]) < 0.02
    assert abs(off[1:][~off[:-1]].mean() - inner.after_worn[level, 0]) < 0.02


def at_level(use: Use, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, after_worn, after_off = (to_thresholds(chance[level])[:, None] for chance in use)
    return first, after_worn, after_off


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=4), st.integers(1, 60), st.booleans(), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_missing_days_are_those_of_the_plain_recurrence(chances, days: int, has_outer: bool, seed: int):
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**64, (len(chances), days), dtype=np.uint64)
    outer = random.random(words.shape) < 0.3 if has_outer else None
    first, after_worn, after_off = (to_thresholds(np.array(each))[:, None] for each in zip(*chances, strict=True))
    found = find_missing_days(words, (first, after_worn, after_off), outer)
    for row in range(len(chances)):
        for day in range(days):
            limit = first[row, 0] if day == 0 else after_off[row, 0] if found[row, day - 1] else after_worn[row, 0]
            assert found[row, day] == (words[row, day] < limit or (outer is not None and outer[row, day]))
