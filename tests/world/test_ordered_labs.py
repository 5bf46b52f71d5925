"""A test ordered on a day measures the person whom the routine draws measure, in a specimen that varies as theirs do."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from make_premise import make_premise
from presenting_case import KNOWLEDGE, RNG, examine

from clinworld.schema.record import FindingResult
from clinworld.world.condition_findings import Examined, find_result, follow
from clinworld.world.observe_labs import observe_laboratory
from clinworld.world.panel import render_panel

ITEMS = ("haemoglobin", "mcv", "rbc", "mch", "haematocrit", "wbc", "neutrophils", "iron", "tibc", "transferrin", "sodium", "tsh")
PANEL, NUMBER = ("haemoglobin", "albumin"), re.compile(r"\d+(?:\.\d+)?")
PEOPLE, DAYS = 12, range(0, 80, 2)


@cache
def person(number: int) -> Examined:
    """Somebody in whom nothing moves a blood count: no drug effect on it, no condition."""
    premise = make_premise(case_id=f"ORDERED-{number}", disease="", drug="amlodipine", dose_steps=(5.0,))
    return follow(examine(premise), ITEMS)


@cache
def results(number: int, item: str) -> tuple[float, ...]:
    values = []
    for day in DAYS:
        found = find_result(item, day, person(number))
        assert isinstance(found, FindingResult) and found.ticks is not None
        values.append(found.ticks / 10.0**found.decimals)
    return tuple(values)


def logs(item: str) -> np.ndarray:
    """Logarithms of results, [person, day]."""
    return np.log(np.array([results(number, item) for number in range(PEOPLE)]))


@pytest.mark.parametrize("item", ["haemoglobin", "wbc", "sodium", "tsh"])
def test_repeats_in_one_person_lie_about_that_persons_level(item: str) -> None:
    row, measured = KNOWLEDGE.analytes[item], logs(item)
    levels = np.log(np.array([person(number).course.levels[item][0] for number in range(PEOPLE)]))
    spread = np.hypot(row.cv_within_pct or 0.0, row.cv_analytic_pct or 0.0) / 100
    assert np.abs(measured.mean(axis=1) - levels).max() < 4 * spread / np.sqrt(len(DAYS)) + 0.002
    assert measured.std(axis=1).mean() == pytest.approx(spread, rel=0.15)


def cell_haemoglobin(haemoglobin: np.ndarray, red_cells: np.ndarray, volume: np.ndarray) -> np.ndarray:
    return 1000 * haemoglobin / (red_cells * volume)


def test_the_cells_of_a_person_are_the_same_in_an_ordered_count_as_in_a_routine_one() -> None:
    ordered, routine = [], []
    for number in range(PEOPLE):
        ordered.append(cell_haemoglobin(*(np.array(results(number, name)) for name in ("haemoglobin", "rbc", "mcv"))).mean())
        patient = person(number)
        visits = np.arange(0, patient.course.last_day, 7)
        charted = observe_laboratory(patient.premise, patient.course, visits, KNOWLEDGE, RNG).series
        by_name = {each.name: dict(zip(each.days.tolist(), each.values().tolist(), strict=True)) for each in charted}
        days = sorted(set.intersection(*(set(by_name[name]) for name in ("haemoglobin", "rbc", "mcv"))))
        columns = (np.array([by_name[name][day] for day in days]) for name in ("haemoglobin", "rbc", "mcv"))
        routine.append(cell_haemoglobin(*columns).mean())
    off = np.array(ordered) - np.array(routine)
    sd = KNOWLEDGE.parameter("cell_haemoglobin_sd")
    assert np.abs(off).max() < 0.6 * sd and np.std(routine) > 0.6 * sd
    assert np.corrcoef(ordered, routine)[0, 1] > 0.9
    assert np.corrcoef(np.roll(ordered, 1), routine)[0, 1] < 0.6


@pytest.mark.slow
def test_results_of_one_ordered_specimen_go_together() -> None:
    """The haemoglobin of a cell is a ratio: with noise of its own in each count it would vary several times as much as its row says."""
    row = KNOWLEDGE.analytes["mch"]
    published = np.hypot(row.cv_within_pct or 0.0, row.cv_analytic_pct or 0.0) / 100
    own = [np.hypot(KNOWLEDGE.analytes[name].cv_within_pct or 0.0, 0.0) / 100 for name in ("haemoglobin", "rbc")]
    spread = logs("mch").std(axis=1).mean()
    assert spread < 2.2 * published and spread < 0.75 * float(np.hypot(*own))


@pytest.mark.slow
def test_an_ordered_part_stays_below_its_whole() -> None:
    assert (logs("neutrophils") < logs("wbc")).all() and (logs("iron") < logs("tibc")).all()


def test_what_else_is_ordered_moves_no_result() -> None:
    alone = examine(person(0).premise)
    assert [find_result("iron", day, alone) for day in (3, 50)] == [find_result("iron", day, person(0)) for day in (3, 50)]
    without_kit = replace(alone.premise, patient=replace(alone.premise.patient, devices=("smart_scale",)))
    assert find_result("wbc", 9, examine(without_kit)) == find_result("wbc", 9, person(0))


@pytest.mark.slow
def test_the_panel_of_the_first_visit_is_of_the_same_person() -> None:
    printed, ordered = [], []
    for number in range(PEOPLE * 3):
        premise = make_premise(case_id=f"PANEL-{number}", has_findings=True)
        texts = {line.analyte: line.text.en for line in render_panel(premise, KNOWLEDGE, RNG)}
        patient = follow(examine(premise), tuple(texts))
        printed.append([float(NUMBER.findall(texts[name])[0]) for name in PANEL])
        ordered.append([patient.course.levels[name][0] for name in PANEL])
    for one, other in zip(np.array(printed).T, np.array(ordered).T, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.7
        assert abs(np.corrcoef(np.roll(one, 1), other)[0, 1]) < 0.5
