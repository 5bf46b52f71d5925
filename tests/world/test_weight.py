"""True weight: anchored, bounded in pace, silent about the future, and never against the declared outcome."""

import numpy as np
import pytest
from course_cases import draw_premise
from hypothesis import given, settings
from hypothesis import strategies as st
from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.premise import Premise
from clinworld.world.label import event_occurs, threshold_kg
from clinworld.world.weight import Reals, draw_rebound_paces, fill_to_limit, read_numbers
from clinworld.world.weight_guard import WeightCourse, derive_weight

KNOWLEDGE = load_knowledge()
RNG = Rng("weight tests")
RULE = KNOWLEDGE.outcomes["weight_regain"]
NUMBERS = read_numbers(KNOWLEDGE)


def derive(premise: Premise, *, guard: bool = True) -> WeightCourse:
    return derive_weight(premise, KNOWLEDGE, RNG, guard=guard)


def occurs(premise: Premise, weight: Reals) -> bool:
    return event_occurs(np.arange(len(weight)), weight, start_kg=premise.start_weight_kg, rule=RULE)


def count_wrong(numbers: range, *, guard: bool) -> list[int]:
    premises = [(number, draw_premise(number)) for number in numbers]
    return [n for n, premise in premises if occurs(premise, derive(premise, guard=guard).weight_kg) != (premise.outcome == "regain")]


def test_outcome_read_from_true_weight_is_the_declared_one_on_100_premises() -> None:
    assert count_wrong(range(100), guard=True) == []


def test_guard_switched_off_lets_some_outcomes_differ() -> None:
    assert len(count_wrong(range(100), guard=False)) >= 3


@pytest.mark.slow
def test_outcome_read_from_true_weight_is_the_declared_one_on_1000_premises() -> None:
    assert count_wrong(range(1000), guard=True) == []
    assert len(count_wrong(range(1000), guard=False)) >= 30


@pytest.mark.parametrize("number", range(60))
def test_weight_holds_its_anchors_and_its_weekly_limit(number: int) -> None:
    premise = draw_premise(number)
    weight, notes = derive(premise)
    assert len(weight) == premise.course_end_day + 1
    assert weight[0] == premise.start_weight_kg
    assert abs(weight.min() - premise.nadir_weight_kg) <= NUMBERS.guard_low_kg + 0.02
    assert np.abs(weight[7:] - weight[:-7]).max() <= NUMBERS.weekly_limit_kg
    assert np.abs(np.diff(weight)).max() <= NUMBERS.weekly_limit_kg / 7
    assert notes["descent_end_day"] <= max(premise.nadir_day, NUMBERS.descent_days_least)


def test_gain_pinned_above_the_weekly_limit_is_not_followed() -> None:
    premise = make_premise(outcome="regain", reversal_day=280, regain_kg_per_week=4.0)
    assert np.abs(np.diff(derive(premise).weight_kg)).max() <= NUMBERS.weekly_limit_kg / 7


@pytest.mark.parametrize("index_day", [56, 84, 112])
@pytest.mark.parametrize("case", range(8))
def test_weight_up_to_the_index_day_is_the_same_in_both_outcomes_and_whatever_the_future(case: int, index_day: int) -> None:
    common = {"case_id": f"arm-{case}", "index_day": index_day, "nadir_day": index_day + 7 * (case % 2), "nadir_weight_kg": 91.0}
    arms = [
        make_premise(**common),
        make_premise(**common, outcome="regain", reversal_day=index_day + 7),
        make_premise(**common, outcome="regain", reversal_day=210, regain_kg_per_week=0.6),
        make_premise(**common, outcome="regain", reversal_day=210, regain_end_kg=95.0),
        make_premise(**common, course_end_day=280),
        make_premise(**common, course_end_day=560, outcome="regain", reversal_day=400),
    ]
    curves = [derive(arm).weight_kg[: index_day + 1] for arm in arms]
    for other in curves[1:]:
        assert np.array_equal(curves[0], other)


def test_weight_is_the_same_in_both_outcomes_up_to_the_reversal() -> None:
    same = 0
    for case in range(40):
        kept = derive(make_premise(case_id=f"late-{case}")).weight_kg
        regained = derive(make_premise(case_id=f"late-{case}", outcome="regain", reversal_day=196)).weight_kg
        same += bool(np.array_equal(kept[:160], regained[:160]))
    assert same >= 36  # layers are calmed around a reversal that would not show


def test_no_feature_of_weight_before_the_index_day_separates_the_outcomes_over_200_cases() -> None:
    arms = np.arange(200) % 2
    rows = []
    for case, regains in enumerate(arms):
        changes = {"outcome": "regain", "reversal_day": 154} if regains else {}
        weight = derive(make_premise(case_id=f"person-{case}", **changes)).weight_kg[:85]
        rows.append([weight[84] - weight[56], weight[28] - weight[0], np.diff(weight).std(), weight[84], np.diff(weight).max()])
    features = np.array(rows)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    shuffles = np.random.default_rng(1)

    def gap(labels: np.ndarray) -> np.ndarray:
        return np.abs(features[labels == 1].mean(axis=0) - features[labels == 0].mean(axis=0))

    observed = gap(arms)
    as_large = np.mean([gap(shuffles.permutation(arms)) >= observed for _ in range(500)], axis=0)
    assert (as_large >= 0.01).all(), as_large


def test_reversal_by_the_index_day_moves_only_what_follows_it() -> None:
    for case in range(10):
        common = {"case_id": f"early-{case}", "nadir_day": 56, "nadir_weight_kg": 92.0}
        kept = derive(make_premise(**common)).weight_kg
        turned = derive(make_premise(**common, outcome="regain", reversal_day=63)).weight_kg
        assert np.abs(kept[:57] - turned[:57]).max() < 0.5
        assert turned[84] > turned[63] + 0.3


def test_50_case_ids_give_50_courses_between_the_same_anchors() -> None:
    curves = [derive(make_premise(case_id=f"id-{i}")).weight_kg for i in range(50)]
    assert len({curve.tobytes() for curve in curves}) == 50
    assert {float(curve[0]) for curve in curves} == {98.0}
    assert all(abs(curve.min() - 86.0) < 0.4 for curve in curves)
    assert np.std([curve[42] for curve in curves]) > 0.4


def test_same_case_has_the_same_bytes_alone_and_after_others() -> None:
    alone = derive(make_premise(case_id="x", outcome="regain")).weight_kg
    for other in range(5):
        derive(draw_premise(other))
    assert np.array_equal(
        alone, derive_weight(make_premise(case_id="x", outcome="regain"), load_knowledge(), Rng("weight tests")).weight_kg
    )
    assert not np.array_equal(alone, derive_weight(make_premise(case_id="x", outcome="regain"), KNOWLEDGE, Rng("another")).weight_kg)


@pytest.mark.parametrize("case", range(12))
def test_declared_gain_and_end_weight_are_reached(case: int) -> None:
    by_slope = derive(make_premise(case_id=f"gain-{case}", outcome="regain", reversal_day=154, regain_kg_per_week=0.3)).weight_kg
    assert by_slope[-1] - 86.0 == pytest.approx(0.3 * (365 - 154) / 7, abs=1.6)
    by_end = derive(make_premise(case_id=f"gain-{case}", outcome="regain", reversal_day=154, regain_end_kg=92.5)).weight_kg
    assert by_end[-1] == pytest.approx(92.5, abs=0.05)


def test_all_three_rebound_shapes_occur_and_differ() -> None:
    shapes = {derive(make_premise(case_id=f"shape-{i}", outcome="regain")).notes["shape"] for i in range(60)}
    assert {"gradual", "accelerating", "steps"} <= shapes


def test_late_reversal_climbs_at_once_so_that_the_regain_counts() -> None:
    premise = make_premise(outcome="regain", reversal_day=365 - 63, nadir_day=150, index_day=168, regain_kg_per_week=0.3)
    weight, notes = derive(premise)
    assert notes["shape"] == "early" and occurs(premise, weight)


def test_gain_too_small_or_too_late_for_the_rule_is_left_as_declared_and_noted() -> None:
    small = make_premise(outcome="regain", reversal_day=280, regain_kg_per_week=0.04)
    weight, notes = derive(small)
    assert notes["declared_below_rule"] == pytest.approx(0.486, abs=0.001)
    assert not occurs(small, weight)
    late = make_premise(outcome="regain", index_day=365 - 58, nadir_day=300, reversal_day=365 - 57)
    weight, notes = derive(late)
    assert notes["declared_too_late"] == 57 and not occurs(late, weight)
    assert not {"declared_below_rule", "declared_too_late"} & set(derive(make_premise(outcome="regain")).notes)


def test_nothing_lost_is_a_weight_that_wanders_around_its_start() -> None:
    premise = make_premise(start_weight_kg=61.0, nadir_weight_kg=61.0)
    weight = derive(premise).weight_kg
    assert abs(weight.min() - 61.0) < 0.4 and weight.max() < 62.6 and weight.std() > 0.02
    regained = make_premise(start_weight_kg=61.0, nadir_weight_kg=61.0, outcome="regain", regain_kg_per_week=0.1)
    assert occurs(regained, derive(regained).weight_kg)
    assert threshold_kg(61.0, 61.0, RULE) == 61.75


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=40), st.floats(-6.0, 6.0), st.floats(0.05, 1.0))
def test_filled_steps_keep_sum_limit_and_order(paces: list[float], total: float, most: float) -> None:
    steps = fill_to_limit(np.array(paces), total, most)
    reachable = min(abs(total), most * len(paces))
    assert abs(abs(steps.sum()) - reachable) < 1e-9
    assert np.abs(steps).max() <= most + 1e-12
    assert (np.diff(np.abs(steps)[np.argsort(paces, kind="stable")]) >= -1e-12).all()


@settings(max_examples=30)
@given(st.integers(0, 999), st.sampled_from(["gradual", "accelerating", "steps"]), st.integers(20, 300))
def test_paces_of_a_rebound_do_not_depend_on_how_long_it_lasts(case: int, shape: str, days: int) -> None:
    short = draw_rebound_paces(f"p{case}", shape, days, RNG, NUMBERS)  # type: ignore[arg-type]
    long = draw_rebound_paces(f"p{case}", shape, days + 120, RNG, NUMBERS)  # type: ignore[arg-type]
    assert np.allclose(short, long[:days], rtol=0, atol=1e-12)
