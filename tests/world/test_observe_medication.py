"""The adherence record."""

from dataclasses import replace

import numpy as np
import pytest
from observe_case import KNOWLEDGE, find, make_course, make_premise, observe

from clinworld.core.rng import Rng
from clinworld.schema.record import Series
from clinworld.world.observe_medication import observe_adherence


def steady(premise, level: float = 0.95):
    return replace(make_course(premise), adherence=np.full(premise.course_end_day + 1, level))


def read(premise, course=None) -> tuple[Series, int]:
    return observe_adherence(premise, course or make_course(premise), KNOWLEDGE, Rng("7"))


@pytest.mark.parametrize("index_day", [14, 21, 30, 56, 84, 112, 168, 336])
def test_three_to_six_irregular_readings_are_visible_and_the_last_is_recent(index_day: int):
    spacings = set()
    for case in range(40):
        days = read(make_premise(f"A-{case}", index_day=index_day))[0].days
        visible = days[days <= index_day]
        assert 3 <= len(visible) <= 6 and index_day - 3 <= visible[-1] and visible[0] >= 1
        if index_day >= 56:
            assert 7 <= visible[0] <= 42 and np.diff(visible).min() >= 7
        spacings.add(tuple(np.diff(visible).tolist()))
    assert len(spacings) > 10


def test_one_to_four_readings_follow_later():
    counts = []
    for case in range(60):
        days = read(make_premise(f"B-{case}", course_end_day=600))[0].days
        counts.append(int(np.count_nonzero(days > 112)))
    assert set(counts) == {1, 2, 3, 4}


def test_readings_scatter_little_about_the_true_share():
    errors = []
    for case in range(80):
        premise = make_premise(f"S-{case}")
        series, _ = read(premise, steady(premise, 0.6))
        errors += (series.values() - 60).tolist()
    assert 2.0 < np.std(errors) < 3.0 and abs(np.mean(errors)) < 0.4


def test_under_a_third_of_steady_records_show_one_passing_dip():
    dips = 0
    for case in range(150):
        premise = make_premise(f"D-{case}")
        series, found = read(premise, steady(premise))
        dips += found
        if found:
            assert (series.until(112).values()[1:-1] < 90.4).any()
    assert 0.2 < dips / 150 < 0.4


def test_a_clear_fall_is_never_hidden_by_noise_or_dips():
    for case in range(60):
        premise = make_premise(f"F-{case}")
        record, dips = read(premise)
        series = record.until(112)
        assert dips == 0
        course = make_course(premise)
        fall = 100 * (course.adherence[series.days[0]] - course.adherence[series.days[-1]])
        assert series.values()[0] - series.values()[-1] >= fall - 1


def test_a_reading_is_never_above_one_hundred_percent():
    for case in range(40):
        premise = make_premise(f"H-{case}")
        values = read(premise, steady(premise, 1.0))[0].values()
        assert values.max() < 100 and values.min() > 75


def test_the_chart_holds_the_record_and_counts_its_dip():
    for case in range(20):
        premise = make_premise(f"C-{case}")
        course = steady(premise)
        series, dips = read(premise, course)
        observed = observe(premise, course=course)
        assert find(observed, "med_adherence").ticks.tolist() == series.ticks.tolist()
        assert dict(observed.acted).get("adherence_dip", 0) == dips
