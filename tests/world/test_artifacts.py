"""Faults act where they were declared, exactly there, and nowhere else."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observe_case import KNOWLEDGE, as_bytes, find, make_course, make_premise, observe, plan, readings

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.schema.job import ArtifactClass
from clinworld.schema.premise import PlannedArtifact
from clinworld.world.artifact_sizes import draw_artifact
from clinworld.world.artifacts import APPLY

CLASSES = list(get_args(ArtifactClass))


def changed_days(clean, faulty, name: str) -> set[int]:
    before, after = readings(find(clean, name)), readings(find(faulty, name))
    return {day for day in before.keys() | after.keys() if before.get(day) != after.get(day)}


def test_every_class_has_a_row_and_a_way_to_act():
    assert set(CLASSES) == set(APPLY) == set(KNOWLEDGE.artifacts)


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(CLASSES),
    week=st.integers(0, 50),
    span=st.integers(5, 40),
    case=st.integers(0, 10_000),
    step=st.sampled_from([1, 1, 3]),
    others=st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from([60, 70])), max_size=2, unique_by=lambda other: other[1]),
)
def test_an_artifact_changes_the_readings_gold_names_and_no_other_byte(kind, week: int, span: int, case: int, step: int, others):
    # The other faults stand after day 400, out of reach.
    standing = tuple(plan(other, at, 10) for other, at in others)
    premise = make_premise(f"A-{case}", sampling_days=step, course_end_day=560, artifacts=standing)
    declared = draw_artifact(kind, 7 * week, 7 * week + span, premise, KNOWLEDGE, Rng("7"))
    course = make_course(premise)
    clean = observe(premise, course=course)
    faulty = observe(replace(premise, artifacts=(declared, *standing)), course=course)
    name = KNOWLEDGE.artifacts[kind].series
    assert [series.name for series in faulty.series] == [series.name for series in clean.series]
    assert all(as_bytes(series) == as_bytes(find(clean, series.name)) for series in faulty.series if series.name != name)
    reach = {
        "device_switch": (declared.first_day, 560),
        "transient_spike": (declared.first_day - 10, declared.first_day + 10),
    }.get(kind, (declared.first_day, declared.last_day))
    changed = changed_days(clean, faulty, name)
    assert changed and all(reach[0] <= day <= reach[1] for day in changed)
    named = {day for fault in faulty.faults if fault.kind == kind and fault.series == name for day in fault.days}
    assert changed <= named
    sizes = [fault.size for fault in faulty.faults if fault.kind == kind]
    assert (None if kind == "mnar_missing" else declared.size) in sizes


@pytest.mark.parametrize("kind", CLASSES)
def test_gold_lists_class_days_and_size_of_each_fault(kind: ArtifactClass):
    premise = make_premise(artifacts=(plan(kind),))
    clean, faulty = observe(replace(premise, artifacts=())), observe(premise)
    (fault,) = faulty.faults
    assert (fault.kind, fault.series) == (kind, KNOWLEDGE.artifacts[kind].series)
    assert set(fault.days) == changed_days(clean, faulty, fault.series)
    assert list(fault.days) == sorted(fault.days)
    assert dict(faulty.acted)[f"artifact:{kind}"] == len(fault.days)
    assert not clean.faults


@pytest.mark.parametrize("kind", CLASSES)
def test_names_order_and_the_clinic_scale_do_not_say_whether_there_is_a_fault(kind: ArtifactClass):
    for case in range(5):
        premise = make_premise(f"N-{case}")
        clean, faulty = observe(premise), observe(replace(premise, artifacts=(plan(kind, 10),)))
        assert [series.name for series in clean.series] == [series.name for series in faulty.series]
        assert as_bytes(find(clean, "weight_clinic")) == as_bytes(find(faulty, "weight_clinic"))
        assert clean.rows_used == faulty.rows_used


@pytest.mark.parametrize(
    "kind, expected",
    [("device_switch", 32), ("device_switch", -27), ("transient_spike", 36), ("transient_spike", -41), ("context_confound", 22)],
)
def test_jumps_have_exactly_their_size(kind: ArtifactClass, expected: int):
    premise = make_premise(artifacts=(replace(plan(kind), size=expected / 10),))
    before, after = readings(find(observe(replace(premise, artifacts=())), "weight")), readings(find(observe(premise), "weight"))
    jumps = {after[day] - before[day] for day in before if after[day] != before[day]}
    assert jumps == {expected}


def test_another_scale_stays_to_the_end_of_the_home_scale():
    premise = make_premise(artifacts=(plan("device_switch", 20),))
    observed = observe(premise)
    (fault,) = observed.faults
    days = find(observed, "weight").days
    assert list(fault.days) == days[days >= 140].tolist()


def test_a_spike_on_a_day_without_a_reading_lands_on_the_nearest_one():
    premise = make_premise(sampling_days=9)
    day = 7 * 8  # readings on days 54 and 63
    observed = observe(replace(premise, artifacts=(PlannedArtifact("transient_spike", day, day + 10, 3.6),)))
    assert observed.faults[0].days == (54,)


def test_a_spike_before_the_index_day_does_not_slip_behind_it():
    premise = make_premise(sampling_days=14, index_day=110)
    observed = observe(replace(premise, artifacts=(PlannedArtifact("transient_spike", 107, 112, 3.6),)))
    assert observed.faults[0].days == (98,)  # day 112 is nearer, and not shown


@pytest.mark.parametrize("first", [46, 56, 66])
def test_a_spike_ten_days_from_the_nearest_reading_still_lands_on_it(first: int):
    premise = make_premise(sampling_days=28, artifacts=(PlannedArtifact("transient_spike", first, first + 10, 3.6),))
    assert observe(premise).faults[0].days == (56,)


@pytest.mark.parametrize("first, away", [(67, 11), (45, 11), (70, 14)])
def test_a_spike_with_no_reading_in_reach_is_refused_with_the_numbers(first: int, away: int):
    premise = make_premise(sampling_days=28, artifacts=(PlannedArtifact("transient_spike", first, first + 10, 3.6),))
    with pytest.raises(PremiseConflict, match=rf"nearest reading {away} days away; at most 10 days") as caught:
        observe(premise)
    assert caught.value.kind == "artifact_not_placed"


@pytest.mark.parametrize("kind", ["context_confound", "unit_error", "mnar_missing"])
def test_a_window_without_a_reading_is_refused(kind: ArtifactClass):
    premise = make_premise(sampling_days=28, artifacts=(PlannedArtifact(kind, 60, 70, 1.15),))
    with pytest.raises(PremiseConflict, match="no weight reading from day 60 to 70") as caught:
        observe(premise)
    assert caught.value.kind == "artifact_not_placed"
    assert observe(replace(premise, artifacts=(PlannedArtifact(kind, 50, 60, 1.15),))).faults[0].days == (56,)


@pytest.mark.parametrize("kind, first", [("device_switch", 366), ("adherence_gap", 365)])
def test_a_fault_after_the_course_is_refused(kind: ArtifactClass, first: int):
    premise = make_premise(artifacts=(PlannedArtifact(kind, first, first + 10, 0.45),))
    with pytest.raises(PremiseConflict):
        observe(premise)


@pytest.mark.parametrize("touched", [1, 2])
@pytest.mark.parametrize("factor", KNOWLEDGE.artifacts["unit_error"].factors)
def test_a_unit_error_multiplies_the_first_readings_and_records_their_days(factor: float, touched: int):
    premise = make_premise(artifacts=(replace(plan("unit_error"), size=factor, most_readings=touched),))
    clean, faulty = observe(replace(premise, artifacts=())), observe(premise)
    (fault,) = faulty.faults
    before, after = readings(find(clean, "weight")), readings(find(faulty, "weight"))
    inside = [day for day in before if 56 <= day <= 66]
    assert list(fault.days) == inside[:touched] and fault.size == factor
    assert all(abs(after[day] - factor * before[day]) <= 0.5 for day in fault.days)


def test_missing_readings_leave_none_in_the_window_and_all_others():
    premise = make_premise(artifacts=(plan("mnar_missing", 20, 14),))
    clean, faulty = find(observe(replace(premise, artifacts=())), "weight"), find(observe(premise), "weight")
    kept = (clean.days < 140) | (clean.days > 154)
    assert faulty.days.tolist() == clean.days[kept].tolist() and faulty.ticks.tolist() == clean.ticks[kept].tolist()


def test_an_adherence_gap_is_one_low_reading_in_the_middle_of_its_window():
    premise = make_premise(artifacts=(plan("adherence_gap"),))
    observed = observe(premise)
    assert observed.faults[0].days == (61,)
    assert readings(find(observed, "med_adherence"))[61] == 45


def test_an_adherence_gap_on_a_charted_day_takes_the_place_of_its_reading():
    day = int(find(observe(make_premise()), "med_adherence").days[1])
    observed = observe(make_premise(artifacts=(PlannedArtifact("adherence_gap", day, day, 0.45),)))
    days = find(observed, "med_adherence").days
    assert days.tolist() == find(observe(make_premise()), "med_adherence").days.tolist()
    assert readings(find(observed, "med_adherence"))[day] == 45


def test_a_spike_finds_a_reading_that_missing_readings_left():
    premise = make_premise(artifacts=(plan("transient_spike", 8), plan("mnar_missing", 8, 3)))
    observed = observe(premise)
    by_kind = {fault.kind: fault.days for fault in observed.faults}
    assert not set(by_kind["transient_spike"]) & set(by_kind["mnar_missing"])
    assert set(by_kind["transient_spike"]) <= set(find(observed, "weight").days.tolist())


@pytest.mark.slow
def test_a_repeat_neither_overwrites_nor_copies_a_faulty_reading():
    seen = 0
    for case in range(40):
        premise = make_premise(f"R-{case}", artifacts=(plan("transient_spike", 10),))
        clean, faulty = observe(replace(premise, artifacts=())), observe(premise)
        (day,) = faulty.faults[0].days
        before, after = readings(find(clean, "weight")), readings(find(faulty, "weight"))
        assert after[day] == before[day] + 36
        following = next(other for other in after if other > day)
        assert after[following] == before[following] != after[day]
        seen += dict(faulty.acted)["carried_forward"] < dict(clean.acted)["carried_forward"]
    assert seen > 0  # somewhere the fault did meet a repeat


def test_truth_is_not_touched():
    premise = make_premise(artifacts=tuple(plan(kind, 5 + 6 * i) for i, kind in enumerate(CLASSES)))
    course = make_course(premise)
    weight, adherence = course.weight_kg.copy(), course.adherence.copy()
    observe(premise, course=course)
    assert np.array_equal(course.weight_kg, weight) and np.array_equal(course.adherence, adherence)
