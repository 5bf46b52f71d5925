"""Floors and ceilings on the very items: the best constant, the right answer, and nothing where nothing can be measured."""

from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from judge_case import PROBES, REVERSAL, TRAP, answered_by, rounds, subject
from test_mount import pack

from clinworld.judges.floors import compute_floors
from clinworld.judges.mount import find_judge
from clinworld.judges.subject import Subject
from clinworld.schema.gold import ProbeGold
from clinworld.schema.pack import Dimension

DRIVERS = ("sleep_decline", "acute_illness", "sleep_decline", "activity_decline", "sleep_decline")


def items(n_event: int, n_none: int) -> list[Subject]:
    made = [subject({}, occurs=True, item_id=f"e{i}", drivers=(DRIVERS[i % 5],)) for i in range(n_event)]
    return made + [subject({}, occurs=False, item_id=f"n{i}", drivers=(DRIVERS[i % 5],)) for i in range(n_none)]


def dimension(verdict: str, join: str = "mean", direction: str = "higher") -> Dimension:
    return Dimension(verdict, direction, join, "skill", None)


def floor_of(subjects: list[Subject], *made: Dimension) -> Any:
    return compute_floors(subjects, pack(dimensions=made))[made[0].verdict]


def test_the_best_constant_risk_equals_a_search_over_every_answer() -> None:
    subjects = items(3, 7)
    found = floor_of(subjects, dimension("risk_calibration"))
    best = 0.0
    for category, right_for in (("low", False), ("high", True), ("indeterminate", False)):
        for risk in np.linspace(0, 1, 1001):
            values = [(1 - (risk - y) ** 2) * (1.0 if y == right_for else 0.6) for y in [True] * 3 + [False] * 7]
            best = max(best, fmean(values))
        assert category
    assert found.value == pytest.approx(best, abs=1e-6)
    assert found.ceiling == 1
    assert "low" in found.how


def test_any_constant_direction_sits_at_one_half_whatever_the_mix() -> None:
    for mix in ((3, 7), (1, 9), (5, 5)):
        assert floor_of(items(*mix), dimension("direction", "mean_by_outcome")).value == 0.5


def test_one_outcome_class_leaves_the_direction_floor_unmeasured() -> None:
    found = floor_of(items(4, 0), dimension("direction", "mean_by_outcome"))
    assert (found.value, found.ceiling) == (None, None)
    assert "measured" in found.how


def test_the_best_pair_of_drivers_is_found_on_the_items_themselves() -> None:
    found = floor_of(items(5, 0), dimension("drivers_overlap"))
    assert found.value == pytest.approx(0.8)
    assert "sleep_decline" in found.how


def test_action_safety_has_no_room_over_its_floor() -> None:
    assert floor_of(items(2, 2), dimension("action_safety")).value == 1


def test_on_reversals_and_traps_no_constant_earns_both() -> None:
    real = [rounds(*[{}] * 6, item_id=f"r{i}", points=(REVERSAL,), occurs=True) for i in range(3)]
    traps = [rounds(*[{}] * 6, item_id=f"t{i}", points=(TRAP,), occurs=False) for i in range(3)]
    found = floor_of(real + traps, dimension("revision_timeliness"))
    assert (found.value, found.ceiling) == (0.5, 1)


@pytest.mark.parametrize("kind", ["no_op", "false_premise"])
def test_always_one_reply_to_a_question_sits_at_one_half(kind: str) -> None:
    other = {
        "no_op": ProbeGold("no_op", "covered", "weight", ("present", "unreliable")),
        "false_premise": ProbeGold("false_premise", "true", "hba1c", ("consistent",)),
    }
    subjects = [subject({}, item_id=f"a{i}") for i in range(3)] + [subject({}, item_id="b", probes=(other[kind],))]
    assert floor_of(subjects, dimension(f"probe_{kind}", f"mean_by_{kind}")).value == 0.5


def test_a_dimension_without_constants_or_off_its_episode_has_no_floor() -> None:
    assert floor_of(items(2, 2), dimension("what_not_to_do")).value is None
    assert floor_of(items(2, 2), dimension("revision_timeliness")).value is None


def test_the_floor_of_a_lower_is_better_dimension_is_the_lowest_value() -> None:
    assert floor_of(items(3, 7), dimension("top_driver", direction="lower")).value == 0
    assert floor_of(items(3, 7), dimension("top_driver")).value == pytest.approx(0.6)


def test_floors_do_not_depend_on_answers_nor_on_the_order_or_doubling_of_subjects() -> None:
    subjects = items(3, 4)
    made = [dimension("risk_calibration"), dimension("direction", "mean_by_outcome"), dimension("drivers_overlap")]
    plain = compute_floors(subjects, pack(dimensions=tuple(made)))
    answered = [answered_by(each, find_judge("risk_calibration").DECLARES.passes) for each in subjects]
    assert compute_floors([*answered[::-1], *subjects], pack(dimensions=tuple(made))) == plain


def test_a_constant_scored_as_an_agent_earns_exactly_its_floor() -> None:
    subjects = items(3, 7)
    found = floor_of(subjects, dimension("risk_calibration"))
    constant = next(each for each in find_judge("risk_calibration").DECLARES.constants(subjects[0]) if each.how == found.how)  # type: ignore[misc]
    values = [find_judge("risk_calibration").judge(answered_by(each, constant.answer), {})[0].value for each in subjects]
    assert fmean(value for value in values if value is not None) == pytest.approx(found.value, abs=1e-6)
    assert replace(subjects[0], probe_set="none").gold.probes == PROBES
