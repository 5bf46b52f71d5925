"""The charted numbers as a whole: pure, in a fixed order, and each series independent of whatever else exists."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observe_case import ANALYTES, EVERYTHING, KNOWLEDGE, as_bytes, find, make_course, make_premise, observe, with_rows

from clinworld.knowledge.rows import Stream
from clinworld.schema.premise import PlannedSymptom
from clinworld.world.formulas import DAILY


def by_name(observed):
    return {series.name: as_bytes(series) for series in observed.series}


def test_the_same_premise_and_course_give_the_same_bytes():
    assert by_name(observe(make_premise())) == by_name(observe(make_premise()))


def test_two_patients_with_one_specification_have_different_readings_in_every_series():
    one, other = by_name(observe(make_premise("A"))), by_name(observe(make_premise("B")))
    assert all(one[name] != other[name] for name in one.keys() & other.keys())


def test_another_seed_is_another_chart():
    assert by_name(observe(make_premise())) != by_name(observe(make_premise(), seed="8"))


def test_series_stand_in_table_order_streams_first_whatever_the_case():
    order = [*KNOWLEDGE.streams, *KNOWLEDGE.analytes]
    for case in range(20):
        names = [series.name for series in observe(make_premise(f"O-{case}")).series]
        assert names == sorted(names, key=order.index)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(200, 360), st.integers(1, 400))
def test_a_longer_course_moves_no_earlier_reading(case: int, end: int, more: int):
    short = make_premise(f"H-{case}", course_end_day=end)
    long = replace(short, course_end_day=end + more)
    before, after = observe(short), observe(long)
    for series in before.series:
        until = find(after, series.name).until(end - 1)  # the last day of a course has a visit of its own
        cut = series.until(end - 1)
        assert as_bytes(cut) == as_bytes(until), series.name


@settings(max_examples=40, deadline=None)
@given(
    like=st.sampled_from([row.id for row in KNOWLEDGE.streams.values() if row.role in ("wearable", "home", "evidence", "quality")]),
    lag1=st.sampled_from([-0.5, 0.0, 0.3, 0.97]),
    present=st.sampled_from([0.0, 0.5, 1.0]),
    case=st.integers(0, 10_000),
)
def test_one_more_stream_moves_no_other_reading(like: str, lag1: float, present: float, case: int):
    row = replace(KNOWLEDGE.streams[like], id="one_more", lag1=lag1, p_present=present)
    premise = make_premise(f"M-{case}")
    usual, more = by_name(observe(premise)), by_name(observe(premise, knowledge=with_rows("streams", row)))
    assert more.keys() - usual.keys() <= {"one_more"}
    assert {name: more[name] for name in usual} == usual


def test_one_more_analyte_moves_no_other_reading():
    row = replace(KNOWLEDGE.analytes["alt"], id="one_more")
    premise = make_premise()
    course = make_course(premise)
    levels = {"one_more": course.levels["alt"], **course.levels}
    usual = by_name(observe(premise, course=course))
    more = by_name(observe(premise, course=replace(course, levels=levels), knowledge=with_rows("analytes", row)))
    assert more.keys() - usual.keys() == {"one_more"}
    assert {name: more[name] for name in usual} == usual


@pytest.mark.parametrize("level, most", [("low", 1), ("high", 8)])
def test_a_distractor_level_only_adds_wearable_streams(level: str, most: int):
    added = 0
    for case in range(30):
        premise = make_premise(f"D-{case}")
        usual, busy = observe(premise), observe(replace(premise, distractor_level=level))
        more = by_name(busy).keys() - by_name(usual).keys()
        assert len(more) == dict(busy.acted).get("distractor_stream", 0) <= most
        assert all(KNOWLEDGE.streams[name].role == "wearable" for name in more)
        assert {name: bits for name, bits in by_name(busy).items() if name not in more} == by_name(usual)
        added += len(more)
    assert added >= 25


@pytest.mark.parametrize(
    "change", [{"has_findings": True}, {"distractor_axes": ("season",)}, {"outcome": "maintain"}, {"driver": "acute_illness"}]
)
def test_what_only_notes_and_gold_know_moves_no_reading(change):
    premise = make_premise()
    assert by_name(observe(replace(premise, **change))) == by_name(observe(premise))


def test_only_the_adherence_record_follows_adherence():
    premise = make_premise()
    course = make_course(premise)
    usual, other = (
        by_name(observe(premise, course=course)),
        by_name(observe(premise, course=replace(course, adherence=course.adherence * 0.7))),
    )
    assert {name for name in usual if usual[name] != other[name]} == {"med_adherence"}


def test_a_shift_of_one_stream_moves_that_stream_and_what_is_derived_from_it():
    premise = make_premise(distractor_level="high")
    course = make_course(premise)
    levels = {**course.levels, "shift:steps": np.full(366, -0.5)}
    usual, other = observe(premise, course=course), observe(premise, course=replace(course, levels=levels))
    moved = {series.name for series in usual.series if as_bytes(series) != as_bytes(find(other, series.name))}
    assert "steps" in moved and moved == {"steps"} | {name for name in moved if KNOWLEDGE.streams[name].parent == "steps"}
    assert np.median(find(other, "steps").values()) < 0.7 * np.median(find(usual, "steps").values())


def test_without_physiology_a_stream_is_moved_by_a_driver_only():
    premise = make_premise()
    course = make_course(premise)
    moved = {"shift:resting_hr": np.full(366, 20.0), "shift:steps": np.full(366, -1.0)}
    usual = observe(premise, course=replace(course, levels={**course.levels, **{name: np.zeros(366) for name in moved}}))
    bare = observe(replace(premise, has_physiology=False), course=replace(course, levels={**course.levels, **moved}))
    assert {series.name for series in usual.series if as_bytes(series) != as_bytes(find(bare, series.name))} >= {"steps"}
    assert as_bytes(find(usual, "resting_hr")) == as_bytes(find(bare, "resting_hr"))


def test_values_carry_the_decimals_and_unit_of_their_row_whatever_is_switched_on():
    switches = [{}, {"distractor_level": "high"}, {"has_physiology": False}, {"has_findings": True}, {"sampling_days": 7}]
    for change in switches:
        for series in observe(make_premise(**change)).series:
            row = KNOWLEDGE.streams.get(series.name) or KNOWLEDGE.analytes[series.name]
            assert (series.decimals, series.unit) == (row.decimals, row.ucum)
            assert series.ticks.dtype == np.int64 and series.days.dtype == np.int32


def test_every_reading_lies_inside_the_hard_bounds_on_an_ascending_day_of_the_course():
    for case in range(20):
        for series in observe(make_premise(f"V-{case}", distractor_level="high")).series:
            row = KNOWLEDGE.streams.get(series.name) or KNOWLEDGE.analytes[series.name]
            values = series.values()
            if isinstance(row, Stream) and row.derived_by in DAILY:  # a share of a day may be all of it or nothing
                assert row.hard_low <= values.min() and values.max() <= row.hard_high, series.name
            else:
                assert row.hard_low < values.min() and values.max() < row.hard_high, series.name
            assert series.days[0] >= 0 and series.days[-1] <= 365 and (np.diff(series.days) > 0).all()


@pytest.mark.parametrize(
    "devices, present, absent",
    [
        ((), {"weight", "weight_clinic", "scale_quality", "gi_symptom_score", "carb_pct", "med_adherence"}, {"steps", "home_sbp", "hba1c"}),
        (("wearable",), {"steps", "resting_hr"}, {"home_sbp", "cgm_tir", "hba1c", "body_fat_pct"}),
        (("bp_cuff",), {"home_sbp", "home_dbp"}, {"steps", "cgm_tir", "hba1c"}),
        (("cgm",), {"cgm_tir"}, {"steps", "home_sbp", "hba1c"}),
        (("lab_panel",), {"hba1c", "fib4"}, {"steps", "home_sbp", "cgm_tir"}),
    ],
)
def test_a_quantity_without_its_device_is_absent(devices, present, absent):
    for case in range(10):
        names = by_name(observe(make_premise(f"N-{case}", patient={"devices": devices}))).keys()
        assert present <= names and not absent & names


def test_evidence_streams_exist_for_every_patient_whoever_the_driver_is():
    for case, driver in enumerate(KNOWLEDGE.drivers):
        names = by_name(observe(make_premise(f"E-{case}", driver=driver, patient={"devices": ("smart_scale",)}))).keys()
        assert {row.id for row in KNOWLEDGE.streams.values() if row.role in ("evidence", "quality", "adherence")} <= names


def test_orders_follow_the_dose_changes_in_the_units_of_the_drug():
    orders = observe(make_premise()).prescriptions
    assert [(order.day, order.dose) for order in orders] == [(0, 2.5), (30, 5.0), (65, 7.5)]
    assert {(order.drug, order.unit, order.frequency) for order in orders} == {("tirzepatide", "mg", "weekly")}


def test_stated_vitals_are_the_level_of_their_stream():
    premise = make_premise(patient={"baseline_vitals": (("resting_hr", 81.0), ("steps", 3000.0))})
    course = replace(make_course(premise), levels={})
    observed = observe(premise, course=course)
    assert abs(find(observed, "resting_hr").values().mean() - 81) < 1.0
    assert abs(np.log(np.median(find(observed, "steps").values()) / 3000)) < 0.15


def test_mechanisms_are_counted_and_rows_are_named():
    observed = observe(make_premise())
    acted = dict(observed.acted)
    assert acted["carried_forward"] > 0 and acted["non_wear"] > 0 and acted["missingness:MAR"] > 0
    assert acted["drug_effect"] >= 4
    assert "drug_effect" not in dict(observe(make_premise(has_physiology=False)).acted)
    assert list(observed.rows_used) == sorted(observed.rows_used)
    assert "streams:weight" in observed.rows_used and "analytes:hba1c" in observed.rows_used and "drugs:tirzepatide" in observed.rows_used
    assert not any(row.startswith("artifacts:") for row in observed.rows_used)


def test_a_patient_without_a_worn_device_has_no_count_of_days_not_worn():
    assert "non_wear" not in dict(observe(make_premise(patient={"devices": ("lab_panel",)})).acted)


def test_symptoms_and_dose_changes_add_visits_and_move_no_result_of_another():
    quiet = make_premise(patient={"comorbidities": ("type_2_diabetes",)})
    symptoms = tuple(PlannedSymptom(day, "a", "a", "", "", False) for day in range(3, 360, 5))
    few, many = observe(quiet), observe(replace(quiet, symptoms=symptoms))
    for name in ANALYTES:
        before, after = find(few, name), find(many, name)
        shared = np.intersect1d(before.days[before.days < 365], after.days)
        assert len(shared) >= 2
        values = [dict(zip(series.days.tolist(), series.ticks.tolist(), strict=True)) for series in (before, after)]
        assert all(values[0][day] == values[1][day] for day in shared.tolist())
    assert len(find(many, "hba1c").days) > len(find(few, "hba1c").days)


def test_a_case_with_every_device_charts_every_device():
    names = by_name(observe(make_premise(patient={"devices": EVERYTHING}))).keys()
    for device in EVERYTHING:
        reports = KNOWLEDGE.devices[device].reports
        groups = {KNOWLEDGE.analytes[name].group for name in names if name in KNOWLEDGE.analytes}
        assert names & set(reports) or groups & set(reports), device
