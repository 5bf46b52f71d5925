"""Daily streams look like their rows say: memory, weekdays, gaps, bounds; and the pieces they are made of."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observe_case import KNOWLEDGE, as_bytes, find, make_course, make_premise, observe, with_rows

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.knowledge.rows import PanelCorrelation, Stream
from clinworld.schema.record import Series
from clinworld.world.formulas import DAILY, normal_share
from clinworld.world.observe_plan import list_passes, load_plan, load_stack
from clinworld.world.observe_streams import reflect, scan_ar1
from clinworld.world.visits import draw_weekdays

DAYS = 180
PEOPLE = 45
WEARABLE = [row.id for row in KNOWLEDGE.streams.values() if row.role == "wearable"]
BASE = [name for name in WEARABLE if not KNOWLEDGE.streams[name].parent]


def lag(series: Series, row: Stream, back: int) -> float | None:
    """Autocorrelation over pairs of days exactly `back` apart; None for a constant series or under 20 pairs."""
    values = np.log(series.values()) if row.scale == "log" else series.values()
    by_day = np.full(DAYS, np.nan)
    by_day[series.days] = values
    first, second = by_day[:-back], by_day[back:]
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 20 or (series.ticks == series.ticks[0]).all():
        return None
    spread = float(np.var(values))
    centre = values.mean()
    return float(np.mean((first[both] - centre) * (second[both] - centre)) / spread)


def is_like_its_row(lags: list[float], expected: float) -> bool:
    """Whether the mean autocorrelation of several people agrees with the row's, within 4 standard errors and 0.05."""
    return abs(float(np.mean(lags)) - expected) < 0.05 + 4 * float(np.std(lags)) / np.sqrt(len(lags))


@pytest.fixture(scope="module")
def people() -> list[dict[str, Series]]:
    charts = []
    for i in range(PEOPLE):
        premise = make_premise(f"L-{i}", course_end_day=DAYS - 1, distractor_level="high", reversal_day=None)
        course = replace(make_course(premise), levels={})
        charts.append({series.name: series for series in observe(premise, course=course).series})
    return charts


def series_of(people: list[dict[str, Series]], name: str) -> list[Series]:
    return [chart[name] for chart in people if name in chart]


@pytest.mark.parametrize("name", BASE)
@pytest.mark.parametrize("back", [1, 7])
def test_a_stream_remembers_yesterday_as_its_row_says(people, name: str, back: int):
    row = KNOWLEDGE.streams[name]
    lags = [found for series in series_of(people, name) if (found := lag(series, row, back)) is not None]
    assert len(lags) >= 10
    # Rounding and a short series pull the estimate down a little; a weekday effect adds some.
    assert is_like_its_row(lags, row.lag1**back), (float(np.mean(lags)), row.lag1**back)


def test_a_weekly_sine_is_not_like_any_row():
    day = np.arange(DAYS)
    sine = Series("steps", "home", "", 0, day.astype(np.int32), np.rint(7000 + 1500 * np.sin(2 * np.pi * day / 7)).astype(np.int64))
    found = lag(sine, KNOWLEDGE.streams["steps"], 7)
    assert found is not None and not is_like_its_row([found], KNOWLEDGE.streams["steps"].lag1 ** 7)


def test_a_constant_series_is_unmeasured():
    flat = Series("steps", "home", "", 0, np.arange(DAYS, dtype=np.int32), np.full(DAYS, 7000))
    assert lag(flat, KNOWLEDGE.streams["steps"], 1) is None


@pytest.mark.parametrize("name", BASE)
def test_days_are_missing_as_often_and_in_such_runs_as_the_row_says(people, name: str):
    row = KNOWLEDGE.streams[name]
    after_worn, after_off = [], []
    for series in series_of(people, name):
        worn = np.zeros(DAYS, dtype=bool)
        worn[series.days] = True
        after_worn += (~worn[1:])[worn[:-1]].tolist()
        after_off += (~worn[1:])[~worn[:-1]].tolist()
    for found, expected in ((after_worn, row.p_off_worn), (after_off, row.p_off_off)):
        assert abs(np.mean(found) - expected) < 0.01 + 4 * np.sqrt(expected * (1 - expected) / len(found))


@pytest.mark.parametrize("name", ["sleep_hours", "steps", "stress_score", "hrv_rmssd"])
def test_weekdays_differ_as_the_row_says(people, name: str):
    row = KNOWLEDGE.streams[name]
    effect = np.array([row.monday, 0, 0, 0, 0, row.saturday, row.sunday])
    by_weekday: list[list[float]] = [[] for _ in range(7)]
    for i, chart in enumerate(people):
        if name in chart:
            weekday = draw_weekdays(make_premise(f"L-{i}", course_end_day=DAYS - 1), Rng("7"))
            values = np.log(chart[name].values()) if row.scale == "log" else chart[name].values()
            values = values - values.mean()
            for day in range(7):
                by_weekday[day] += values[weekday[chart[name].days] == day].tolist()
    found = np.array([np.mean(values) for values in by_weekday])
    error = 4 * row.sd_within / np.sqrt(min(map(len, by_weekday)))
    assert np.abs(found - (effect - effect.mean())).max() < error
    assert len({int(draw_weekdays(make_premise(f"L-{i}"), Rng("7"))[0]) for i in range(PEOPLE)}) == 5


@pytest.mark.parametrize("name", WEARABLE)
def test_nothing_stands_on_a_bound_and_people_differ(people, name: str):
    row = KNOWLEDGE.streams[name]
    charts = series_of(people, name)
    assert len(charts) >= 10
    ticks = np.concatenate([series.ticks for series in charts])
    scale = 10**row.decimals
    assert row.hard_low * scale < ticks.min() and ticks.max() < row.hard_high * scale
    for end, inward in ((row.hard_low * scale + 1, 1), (row.hard_high * scale - 1, -1)):
        # Values cut off would pile up on the outermost step; folded ones at most double what stands there.
        assert np.mean(ticks == end) < 3 * np.mean(ticks == end + inward) + 0.01
    assert len({series.ticks.tobytes() for series in charts}) == len(charts)


@pytest.mark.parametrize("name", BASE)
def test_people_and_days_spread_as_the_row_says(people, name: str):
    row = KNOWLEDGE.streams[name]
    values = [np.log(series.values()) if row.scale == "log" else series.values() for series in series_of(people, name)]
    within = np.sqrt(np.mean([np.var(one, ddof=1) for one in values]))
    between = np.std([one.mean() for one in values], ddof=1)
    assert abs(within / row.sd_within - 1) < 0.15
    if row.sd_between:
        assert 0.6 * row.sd_between < between < 1.4 * row.sd_between + row.sd_within / 5


def test_streams_of_one_wearable_are_missing_together_more_often_than_chance_has_it(people):
    together, by_chance = [], []
    for chart in people:
        off = [~np.isin(np.arange(DAYS), chart[name].days) for name in ("sleep_hours", "skin_temp_dev") if name in chart]
        if len(off) == 2:
            together.append(np.mean(off[0] & off[1]))
            by_chance.append(np.mean(off[0]) * np.mean(off[1]))
    assert np.mean(together) > 1.25 * np.mean(by_chance)


def test_the_first_day_is_missing_as_often_as_any_other():
    row = replace(KNOWLEDGE.streams["steps"], p_off_worn=0.1, p_off_off=0.9)
    knowledge = with_rows("streams", row)
    n = 60
    charts = [find(observe(make_premise(f"Z-{i}", course_end_day=120), knowledge=knowledge), "steps") for i in range(n)]
    assert abs(np.mean([series.days[0] > 0 for series in charts]) - 0.5) < 4 * np.sqrt(0.25 / n)


def test_a_person_at_a_bound_is_eased_inside_and_not_folded_into_another_person():
    row = replace(KNOWLEDGE.streams["stress_score"], mean_f=2.0, sd_between=0.0, p_present=1.0)
    series = find(observe(make_premise(), knowledge=with_rows("streams", row)), row.id)
    assert row.sd_within < series.values().mean() < 2 * row.sd_within + 1


@pytest.mark.slow
def test_p_present_is_the_share_of_people_who_have_a_stream():
    n = 150
    names = [{series.name for series in observe(make_premise(f"S-{i}", course_end_day=120)).series} for i in range(n)]
    for name in BASE:
        p = KNOWLEDGE.streams[name].p_present
        share = sum(name in one for one in names) / n
        assert abs(share - p) <= 4 * np.sqrt(p * (1 - p) / n), name


def test_derived_streams_follow_the_printed_parent_on_its_days():
    checked = 0
    for i in range(12):
        observed = observe(make_premise(f"P-{i}", distractor_level="high"))
        for series in observed.series:
            row = KNOWLEDGE.streams.get(series.name)
            if row is not None and row.parent and not row.derived_by:
                parent = find(observed, row.parent)
                assert parent.days.tolist() == series.days.tolist()
                fit = np.polyfit(parent.values(), series.values(), 1)
                spread = row.sd_within / (parent.values().std() * np.sqrt(len(parent.days)))
                assert abs(fit[0] - row.slope) < 6 * spread + 0.1 * abs(row.slope), series.name
                checked += 1
    assert checked > 20


def days_together(people: list[dict[str, Series]], a: str, b: str) -> list[float]:
    """The correlation of two streams of each person who has both, on a weekday in the scale of their rows, over the days of both."""
    found = []
    for chart in people:
        days, *at = np.intersect1d(chart[a].days, chart[b].days, return_indices=True) if a in chart and b in chart else ((),)
        if len(days) >= 40:
            values = np.array([chart[name].values()[place] for name, place in zip((a, b), at, strict=True)])
            values = np.array([np.log(v) if KNOWLEDGE.streams[name].scale == "log" else v for name, v in zip((a, b), values, strict=True)])
            for weekday in range(7):
                values[:, days % 7 == weekday] -= values[:, days % 7 == weekday].mean(axis=1, keepdims=True)
            found.append(float(np.corrcoef(values)[0, 1]))
    return found


def agree(found: list[float], expected: float) -> bool:
    """Whether the mean correlation of several people agrees with an expected one, within 4 standard errors and 0.03."""
    return abs(float(np.mean(found)) - expected) < 0.03 + 4 * float(np.std(found)) / np.sqrt(len(found))


DAILY_ROWS = [row for row in KNOWLEDGE.correlations.values() if row.level == "daily"]


@pytest.mark.parametrize("row", DAILY_ROWS, ids=lambda row: row.id)
def test_readings_of_a_day_go_together_as_their_row_says(people, row: PanelCorrelation):
    found = days_together(people, row.a, row.b)
    assert len(found) >= 5 and agree(found, row.r_m), (float(np.mean(found)), row.r_m)


def test_readings_of_different_people_do_not_go_together_and_streams_without_a_row_do_not(people):
    (row,) = (row for row in DAILY_ROWS if row.id == "resting_hr__hrv_rmssd__daily")
    others = [{row.a: one[row.a], row.b: other[row.b]} for one, other in pairwise(chart for chart in people if row.b in chart)]
    found = days_together(others, row.a, row.b)
    assert agree(found, 0.0) and not agree(found, row.r_m)
    assert agree(days_together(people, "steps", "resting_hr"), 0.0)


def test_a_stream_is_the_same_where_those_it_goes_with_are_charted_and_where_not():
    """Whether the heart rate variability of a person is printed decides nothing of the stress score."""
    seen = 0
    for i in range(30):
        fewer, more = ({s.name: s for s in observe(make_premise(f"T-{i}", distractor_level=level)).series} for level in ("none", "high"))
        if "stress_score" in fewer and "hrv_rmssd" in more.keys() - fewer.keys():
            seen += 1
            assert as_bytes(fewer["stress_score"]) == as_bytes(more["stress_score"])
    assert seen


def test_readings_of_one_cuff_are_taken_together_and_go_together():
    correlations = []
    for i in range(15):
        premise = make_premise(f"B-{i}")
        observed = observe(premise, course=replace(make_course(premise), levels={}))
        high, low = find(observed, "home_sbp"), find(observed, "home_dbp")
        assert high.days.tolist() == low.days.tolist()
        assert (high.ticks > low.ticks).all()
        correlations.append(np.corrcoef(high.values(), low.values())[0, 1])
    assert 0.6 < np.mean(correlations) < 0.8


def test_a_first_pressure_does_not_diagnose_hypertension_in_a_patient_without_it():
    limits = {name: KNOWLEDGE.streams[name].diagnostic_high for name in ("home_sbp", "home_dbp")}
    at_or_over = {"unknown": 0, "known": 0}
    for i in range(40):
        for key, comorbidities in (("unknown", ()), ("known", ("hypertension",))):
            premise = make_premise(f"F-{i}", patient={"comorbidities": comorbidities})
            course = make_course(premise)
            course = replace(course, levels={**course.levels, "home_sbp": np.full(366, 136.0), "home_dbp": np.full(366, 87.0)})
            observed = observe(premise, course=course)
            at_or_over[key] += sum(find(observed, name).values()[0] >= limit for name, limit in limits.items())
    assert at_or_over["unknown"] == 0 < at_or_over["known"]


def test_noise_shrinks_towards_a_bound_instead_of_piling_up_on_it():
    premise = make_premise()
    course = make_course(premise)
    near = observe(premise, course=replace(course, levels={**course.levels, "cgm_cv": np.full(366, 7.0)}))
    values = find(near, "cgm_cv").values()
    assert values.min() > 5 and 0.5 < values.std() < 1.5 and abs(values.mean() - 7) < 0.3


@pytest.mark.parametrize(
    ("mean", "cv", "in_range", "below"),
    [
        (8.3, 24, (70, 82), (0, 1)),  # diabetes on tablets: about 72 % in range and 0.5 % below it
        (9.2, 33, (55, 70), (0, 3)),  # on insulin: about 60 % and 2.5 %
        (5.5, 17, (97, 99), (0.5, 2)),  # without diabetes: about 99 %, and 1 % below it
        (10.2, 28, (45, 60), (0, 1)),  # HbA1c 8 %: about half the day
        (12.5, 27, (20, 35), (0, 0.5)),
    ],
)
def test_time_in_range_is_what_mean_and_spread_of_the_day_make_of_it(mean, cv, in_range, below):
    day = {"cgm_mean": np.array([mean]), "cgm_cv": np.array([float(cv)])}
    day["cgm_tbr"] = DAILY["time_below_range"].calculate(day, 50, "F", KNOWLEDGE)
    share = DAILY["time_in_range"].calculate(day, 50, "F", KNOWLEDGE)
    assert in_range[0] <= share[0] <= in_range[1] and below[0] <= day["cgm_tbr"][0] <= below[1]


def test_times_in_and_below_range_are_parts_of_one_day():
    for i in range(8):
        observed = observe(make_premise(f"C-{i}"))
        within, below, mean = (find(observed, name) for name in ("cgm_tir", "cgm_tbr", "cgm_mean"))
        assert within.days.tolist() == below.days.tolist() == mean.days.tolist()
        assert (within.values() + below.values() <= 100).all()


def days_of(level: float, case: str) -> dict[str, np.ndarray]:
    premise = make_premise(case)
    course = make_course(premise)
    observed = observe(premise, course=replace(course, levels={**course.levels, "cgm_mean": np.full(366, level)}))
    return {name: find(observed, name).values() for name in ("cgm_mean", "cgm_tir", "cgm_tbr")}


def test_without_diabetes_glucose_is_in_range_nearly_all_day_and_now_and_then_wholly():
    people = [days_of(5.5, f"G-{i}") for i in range(40)]
    below, within = (np.array([one[name].mean() for one in people]) for name in ("cgm_tbr", "cgm_tir"))
    assert 0.5 < np.median(below) < 2 and below.max() < 8 and np.median(within) > 97
    days = {name: np.concatenate([one[name] for one in people]) for name in people[0]}
    assert min(np.mean(days["cgm_tbr"] == 0), np.mean(days["cgm_tir"] == 100)) > 0.05
    # Nothing is heaped next to the bound: the shares fall from none on.
    counts = [int(np.count_nonzero(days["cgm_tbr"] == each / 10)) for each in range(6)]
    assert max(counts) == max(counts[:2])


def test_mean_glucose_of_a_day_stays_above_its_floor_where_the_level_does():
    near = np.concatenate([days_of(4.6, f"G-{i}")["cgm_mean"] for i in range(20)])
    floor = KNOWLEDGE.parameter("days_floor_cgm_mean")
    assert near.min() >= floor and abs(near.mean() - 4.6) < 0.05 and np.mean(near <= floor) < 0.05
    assert days_of(4.0, "G-0")["cgm_mean"].min() < 4.0


def test_days_of_sensor_glucose_differ_more_where_it_is_higher():
    spreads = [np.median([days_of(level, f"G-{i}")["cgm_mean"].std() for i in range(20)]) for level in (5.6, 11.2)]
    assert 0.2 < spreads[0] < 0.4 and 1.7 < spreads[1] / spreads[0] < 2.3


def test_the_share_of_a_normal_below_a_value_is_that_of_the_error_function():
    values = np.linspace(-6, 6, 241)
    assert np.abs(normal_share(values) - [0.5 * math.erfc(-z / math.sqrt(2)) for z in values]).max() < 2e-7


def test_evidence_is_charted_about_weekly_at_the_level_of_the_course():
    premise = make_premise()
    course = make_course(premise)
    ramp = np.interp(np.arange(366), [90, 118], [1.2, 6.4])
    observed = observe(premise, course=replace(course, levels={**course.levels, "evidence:gi_symptom_score": ramp}))
    series = find(observed, "gi_symptom_score")
    assert np.isin(series.days % 7, (0, 1)).all() and (np.diff(series.days // 7) >= 1).all()
    assert abs(series.values()[:12].mean() - 1.2) < 0.5 and abs(series.values()[-20:].mean() - 6.4) < 0.5


@given(st.lists(st.floats(-0.95, 0.95), min_size=1, max_size=6), st.integers(2, 90), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_the_scan_is_the_plain_recurrence_and_no_row_changes_another(lags: list[float], days: int, seed: int):
    lag1 = np.array(sorted(lags, key=lambda phi: -abs(phi)))[:, None]
    innovations = np.random.default_rng(seed).standard_normal((len(lags), days))
    found = scan_ar1(innovations, lag1, list_passes(lag1))
    plain = innovations.copy()
    for day in range(1, days):
        plain[:, day] = lag1[:, 0] * plain[:, day - 1] + np.sqrt(1 - lag1[:, 0] ** 2) * innovations[:, day]
    assert np.abs(found - plain).max() < 1e-4
    for i in range(len(lags)):
        alone = scan_ar1(innovations[i : i + 1], lag1[i : i + 1], list_passes(lag1[i : i + 1]))
        assert alone.tobytes() == found[i : i + 1].tobytes()


@given(st.lists(st.floats(-1e4, 1e4), min_size=1), st.floats(-50, 50), st.floats(0.5, 100))
def test_reflection_keeps_inside_values_and_brings_others_inside(values: list[float], low: float, width: float):
    given_values = np.array(values)
    found = reflect(given_values.copy(), low, low + width)
    inside = (given_values >= low) & (given_values <= low + width)
    assert (found[inside] == given_values[inside]).all()
    assert (found >= low - 1e-9).all() and (found <= low + width + 1e-9).all()


def test_streams_derived_from_each_other_are_refused():
    ring = [replace(KNOWLEDGE.streams["sleep_efficiency"], id=one, parent=other) for one, other in (("a", "b"), ("b", "a"))]
    knowledge = with_rows("streams", *ring)
    with pytest.raises(KnowledgeError, match="derived from each other"):
        load_plan(knowledge, ("wearable",))


def test_a_row_whose_missing_days_do_not_come_in_runs_is_refused():
    knowledge = with_rows("streams", replace(KNOWLEDGE.streams["steps"], p_off_worn=0.5, p_off_off=0.1))
    with pytest.raises(KnowledgeError, match="runs"):
        load_stack(knowledge, ("wearable",))
