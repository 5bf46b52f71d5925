"""Platforms that change and lots that shift."""

from dataclasses import replace

import numpy as np
import pytest
from lab_case import VISITS, observe, person, usual_levels
from observe_case import KNOWLEDGE, readings
from test_specimens import with_rate

from clinworld.world.lab_methods import load_platforms

LEVELS = usual_levels()
RATES = [name.removeprefix("method_p_") for name in KNOWLEDGE.parameters if name.startswith("method_p_")]


def ratio(pair, name: str) -> dict[int, float]:
    plain, shifted = (readings(next(series for series in each.series if series.name == name)) for each in pair)
    return {day: shifted[day] / plain[day] for day in plain}


def pairs(knowledge, n: int = 16):
    return [tuple(observe(person(i), LEVELS, knowledge=knowledge, has_specimens=has) for has in (False, True)) for i in range(n)]


def test_a_changed_thyroid_platform_shifts_tsh_and_ft4_by_the_documented_bias_on_one_side_of_its_day():
    for pair in pairs(with_rate("thyroid_platform", 1.0)):
        changes = {change.analyte: change for change in pair[1].method_changes}
        assert set(changes) == {"tsh", "ft4"}
        faults = {fault.series: fault for fault in pair[1].faults if fault.kind == "thyroid_platform"}
        change, fault, found = changes["tsh"], faults["tsh"], ratio(pair, "tsh")
        is_forward = change.platform_before == "usual_analyser"
        assert {change.platform_before, change.platform_after} == {"usual_analyser", "other_thyroid_immunoassay"}
        for day, times in found.items():
            is_shifted = (day >= change.day) == is_forward
            assert (day in fault.days) == is_shifted
            assert 1.2 < times < 1.6 if is_shifted else times == 1
        assert 25 <= fault.size <= 55 and 9 <= faults["ft4"].size <= 23


def test_changes_lead_to_another_platform_and_back():
    directions = {
        change.platform_before == "usual_analyser"
        for pair in pairs(with_rate("thyroid_platform", 1.0), 30)
        for change in pair[1].method_changes
    }
    assert directions == {True, False}


def test_no_platform_changes_where_the_rate_is_nothing():
    for _, touched in pairs(with_rate("", 0.0), 6):
        assert touched.method_changes == () and {(each.platform, each.others) for each in touched.specimens} == {("usual_analyser", ())}


def test_a_specimen_names_the_platform_in_force_beside_the_main_one():
    for pair in pairs(with_rate("creatinine_method", 1.0), 6):
        change = next(change for change in pair[1].method_changes if change.analyte == "creatinine")
        days = {day for series in pair[1].series if series.name == "creatinine" for day in series.days.tolist()}
        for specimen in pair[1].specimens:
            in_force = change.platform_after if specimen.day >= change.day else change.platform_before
            is_other = in_force == "jaffe_creatinine" and specimen.day in days
            assert (specimen.platform, specimen.others) == ("usual_analyser", (in_force,) if is_other else ())


@pytest.mark.parametrize("platform", [row.id for row in KNOWLEDGE.platforms.values() if row.factor in RATES])
def test_a_platform_measures_its_own_analytes_alone(platform: str):
    """Everything else of a draw is the main platform's, and a draw without one of its analytes does not name it."""
    row = KNOWLEDGE.platforms[platform]
    for pair in pairs(with_rate(row.factor, 1.0), 6):
        drawn = {series.name: set(series.days.tolist()) for series in pair[1].series}
        assert {change.analyte for change in pair[1].method_changes} <= set(row.measures)
        assert all(fault.size is None or fault.series in row.measures for fault in pair[1].faults if fault.kind == row.factor)
        for specimen in pair[1].specimens:
            assert specimen.platform == "usual_analyser"
            assert not specimen.others or any(specimen.day in drawn.get(name, ()) for name in row.measures)


@pytest.mark.slow
def test_a_share_of_people_as_the_rate_says_has_a_change():
    found = [observe(person(i), LEVELS, has_specimens=True) for i in range(90)]
    share = np.mean([any(change.analyte == "tsh" for change in each.method_changes) for each in found])
    assert abs(share - KNOWLEDGE.parameter("method_p_thyroid_platform")) < 0.08


def test_a_lot_shifts_results_a_little_for_months_and_its_fault_has_the_size():
    share = replace(KNOWLEDGE.parameters["lot_sd_share"])
    knowledge = with_rate("", 0.0)
    knowledge.__dict__["parameters"] = {**knowledge.parameters, "lot_sd_share": share}
    shifts = []
    for pair in pairs(knowledge, 12):
        found = ratio(pair, "tsh")
        for fault in pair[1].faults:
            if fault.kind == "reagent_lot" and fault.series == "tsh":
                assert abs(fault.size) <= 6
                shifts.append(fault.size)
                assert np.ptp(fault.days) <= KNOWLEDGE.parameter("lot_days")
                for day in fault.days:
                    assert abs(found[day] - 1 - fault.size / 100) < 0.01
        assert found[int(VISITS[0])] == 1
    assert 0.5 < np.std(shifts) < 3


@pytest.mark.parametrize("factor", RATES)
def test_every_rate_belongs_to_a_platform_with_an_effect_of_known_size(factor: str):
    usual, platforms = load_platforms(KNOWLEDGE, tuple(KNOWLEDGE.analytes))
    assert usual == "usual_analyser"
    assert factor in {platform.factor for platform in platforms}
    assert KNOWLEDGE.factors[factor].kind == "method"
