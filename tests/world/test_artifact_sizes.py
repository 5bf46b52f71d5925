"""Each case draws how large its faults are; knowing the rows, nobody can tell a faulty reading by its value or take its size off."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import get_args

import numpy as np
import pytest
from observe_case import KNOWLEDGE, find, make_course, make_premise, observe, readings

from clinworld.core.rng import Rng
from clinworld.schema.job import ArtifactClass, Case, DeclaredArtifact, Job
from clinworld.schema.premise import PlannedArtifact, Premise
from clinworld.world.artifact_sizes import draw_artifact, find_possible_factors, find_taken
from clinworld.world.artifacts import apply_artifacts
from clinworld.world.draw import draw_cases
from clinworld.world.medication import draw_adherence
from clinworld.world.observe_medication import ADHERENCE, observe_adherence
from clinworld.world.premise import derive_premise

JOB = Job("j", "early_warning", "en", "7", (), None, 28, False, True, 300, (("outcome", "balanced"),), (), "", "job.yaml")
RNG = Rng(JOB.seed)
WEEK = 8
RANGED = [kind for kind, row in KNOWLEDGE.artifacts.items() if row.size_low is not None]


@lru_cache(maxsize=1)
def drawn() -> tuple[Case, ...]:
    return draw_cases(JOB, KNOWLEDGE, RNG)


def with_faults(case: Case, *kinds: ArtifactClass) -> Premise:
    """The drawn case with these faults alone, from week 8 on."""
    noise = tuple(DeclaredArtifact(kind, WEEK, 10) for kind in kinds)
    return derive_premise(replace(case, controls=replace(case.controls, noise=noise)), JOB, KNOWLEDGE, RNG)


def draw(kind: ArtifactClass, premise: Premise) -> PlannedArtifact:
    return draw_artifact(kind, 7 * WEEK, 7 * WEEK + 9, premise, KNOWLEDGE, RNG)


@lru_cache(maxsize=len(RANGED) + 1)
def sizes(kind: ArtifactClass) -> tuple[float, ...]:
    return tuple(with_faults(case, kind).artifacts[0].size for case in drawn())


@pytest.mark.parametrize("kind", RANGED)
def test_sizes_differ_between_cases_cover_the_range_of_their_row_and_none_is_usual(kind: ArtifactClass):
    row = KNOWLEDGE.artifacts[kind]
    low, high = row.size_low or 0.0, row.size_high or 0.0
    found = np.abs(sizes(kind))
    assert found.min() >= low and found.max() <= high
    assert found.min() < low + 0.1 * (high - low) and found.max() > high - 0.1 * (high - low)
    assert np.histogram(found, 5, (low, high))[0].min() > 30
    assert max(Counter(sizes(kind)).values()) < 0.15 * len(found)


@pytest.mark.parametrize("kind", RANGED)
def test_a_fault_goes_both_ways_where_its_row_says_so_and_only_up_elsewhere(kind: ArtifactClass):
    down = sum(size < 0 for size in sizes(kind))
    assert 120 < down < 180 if KNOWLEDGE.artifacts[kind].direction == "either" else down == 0


def test_every_unit_that_is_mixed_up_in_life_occurs_for_one_reading_or_two():
    faults = [with_faults(case, "unit_error").artifacts[0] for case in drawn()]
    counted = Counter(fault.size for fault in faults)
    assert set(counted) == set(KNOWLEDGE.artifacts["unit_error"].factors) and min(counted.values()) > 30
    assert {fault.most_readings for fault in faults} == {1, 2}


@pytest.mark.parametrize("start_kg", [40, 62, 70, 98, 130, 150, 200, 260])
def test_a_mixed_up_unit_leaves_every_reading_possible(start_kg: float):
    row, stream = KNOWLEDGE.artifacts["unit_error"], KNOWLEDGE.streams["weight"]
    premise = make_premise(start_weight_kg=start_kg, nadir_weight_kg=0.95 * start_kg, regain_kg_per_week=0.1)
    factors = find_possible_factors(row, premise, KNOWLEDGE)
    assert factors and (len(factors) == len(row.factors)) == (start_kg == 98)
    for factor in factors:
        fault = PlannedArtifact("unit_error", 56, 66, factor, 2)
        values = find(observe(replace(premise, artifacts=(fault,))), "weight").values()
        assert stream.hard_low <= values.min() and values.max() <= stream.hard_high


def test_where_no_unit_leaves_the_readings_possible_all_are_kept_for_the_gate_to_refuse():
    row = KNOWLEDGE.artifacts["unit_error"]
    assert find_possible_factors(row, make_premise(start_weight_kg=200, nadir_weight_kg=50), KNOWLEDGE) == row.factors


def test_the_low_reading_of_a_gap_lies_well_below_what_was_taken_then():
    sparing = make_premise(adherence_course=((0, 0.6), (112, 0.5), (365, 0.4)))
    for premise in (sparing, make_premise()):
        found = {draw("adherence_gap", replace(premise, case_id=f"G-{n}")).size for n in range(100)}
        assert len(found) > 10 and max(found) <= find_taken(premise, 7 * WEEK + 4) - 0.1 + 0.005


@pytest.mark.parametrize("kind", get_args(ArtifactClass))
def test_a_size_is_the_same_alone_beside_other_faults_and_after_other_cases(kind: ArtifactClass):
    others: list[ArtifactClass] = [other for other in get_args(ArtifactClass) if other != kind]
    case = drawn()[7]
    (alone,) = with_faults(case, kind).artifacts
    for beside in others:
        assert alone in with_faults(case, beside, kind).artifacts
    assert alone == draw_artifact(kind, alone.first_day, alone.last_day, with_faults(case), KNOWLEDGE, Rng(JOB.seed))


def test_a_declared_fault_changes_nothing_else_of_the_premise():
    for case in drawn()[:40]:
        plain = with_faults(case)
        for kind in get_args(ArtifactClass):
            assert replace(with_faults(case, kind), artifacts=()) == plain


def test_drawn_faults_last_differently_long():
    lasting = Counter(fault.span_days for case in drawn() for fault in case.controls.noise)
    low, high = KNOWLEDGE.parameter("draw_fault_days_low"), KNOWLEDGE.parameter("draw_fault_days_high")
    assert min(lasting) == low and max(lasting) == high and len(lasting) == high - low + 1
    assert max(lasting.values()) < 0.3 * sum(lasting.values())


def test_drawn_faults_begin_on_any_day_of_a_week():
    begins = Counter(fault.day for case in drawn() for fault in case.controls.noise)
    assert sorted(begins) == list(range(7)) and max(begins.values()) < 0.25 * sum(begins.values())


def find_marks(faulty: list[set[int]], honest: list[set[int]]) -> set[int]:
    """Values that stand in a tenth of the items with the fault or more, and in no item without."""
    counted = Counter(value for values in faulty for value in values)
    return {value for value, times in counted.items() if times >= 0.1 * len(faulty)} - set().union(*honest)


@lru_cache(maxsize=2)
def read_gaps(constant: float | None) -> tuple[list[set[int]], list[set[int]], list[int]]:
    """Readings of doses taken in 300 drawn items: of the 150 with a gap, of the others, and the gaps' own; `constant` is a size for all."""
    faulty: list[set[int]] = []
    honest: list[set[int]] = []
    gaps: list[int] = []
    for n, case in enumerate(drawn()):
        premise = with_faults(case, *(("adherence_gap",) if n % 2 else ()))
        if constant and premise.artifacts:
            premise = replace(premise, artifacts=(replace(premise.artifacts[0], size=constant),))
        course = replace(make_course(premise), adherence=draw_adherence(premise, KNOWLEDGE, RNG))
        series, faults = apply_artifacts({ADHERENCE: observe_adherence(premise, course, KNOWLEDGE, RNG)[0]}, premise, KNOWLEDGE)
        (faulty if faults else honest).append(set(series[ADHERENCE].ticks.tolist()))
        gaps += [readings(series[ADHERENCE])[day] for fault in faults for day in fault.days]
    return faulty, honest, gaps


def test_no_reading_of_doses_taken_marks_a_gap_in_three_hundred_drawn_items():
    faulty, honest, gaps = read_gaps(None)
    assert len(faulty) == len(honest) == len(gaps) == 150
    assert find_marks(faulty, honest) == set()
    assert sum(tick in set().union(*honest) for tick in gaps) > 0.2 * len(gaps)


def test_one_size_for_all_would_mark_a_gap():
    faulty, honest, _ = read_gaps(0.45)
    assert find_marks(faulty, honest) == {45}
