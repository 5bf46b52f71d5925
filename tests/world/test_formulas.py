"""Every calculated result by hand, inside its domain and outside."""

import numpy as np
import pytest
from observe_case import KNOWLEDGE

from clinworld.world.formulas import FOLLOWS, FORMULAS, calculate_ldl, derive_total_cholesterol, has_own_level

# formula, inputs, age, sex, result worked by hand (None: outside the domain)
WORKED = [
    ("fib4", {"ast": 40, "alt": 36, "platelets": 200}, 50, "F", 50 * 40 / (200 * 6)),
    ("fib4", {"ast": 40, "alt": 36, "platelets": 200}, 34, "F", None),
    ("apri", {"ast": 80, "platelets": 160}, 50, "M", 100 * 2 / 160),
    ("friedewald_sampson", {"total_cholesterol": 5.0, "hdl_c": 1.2, "triglycerides": 1.1}, 50, "F", 5.0 - 1.2 - 0.5),
    ("friedewald_sampson", {"total_cholesterol": 7.0, "hdl_c": 1.0, "triglycerides": 9.1}, 50, "F", None),
    ("non_hdl", {"total_cholesterol": 5.0, "hdl_c": 1.2}, 50, "F", 3.8),
    ("ckd_epi_2021", {"creatinine": 74.0}, 47, "F", 142 * 1.19557**-1.2 * 0.9938**47 * 1.012),
    ("ckd_epi_2012_cys", {"cystatin_c": 1.6}, 60, "M", 133 * 2**-1.328 * 0.996**60),
    ("corrected_calcium", {"calcium": 2.2, "albumin": 30.0}, 50, "F", 2.4),
    ("corrected_calcium", {"calcium": 2.2, "albumin": 19.0}, 50, "F", None),
    ("corrected_calcium", {"calcium": 2.2, "albumin": 51.0}, 50, "F", None),
    ("anion_gap", {"sodium": 140, "chloride": 104, "bicarbonate": 25}, 50, "F", 11),
    ("effective_osmolality", {"sodium": 140, "random_glucose": 30}, 50, "F", 310),
    ("total_osmolality", {"sodium": 140, "random_glucose": 30, "urea": 8}, 50, "F", 318),
    ("corrected_sodium", {"sodium": 130, "random_glucose": 28.0}, 50, "F", 130 + 2.4 * 4),
    ("corrected_sodium", {"sodium": 130, "random_glucose": 9.9}, 50, "F", None),
    ("homa_ir", {"fasting_glucose": 5.0, "fasting_insulin": 9.0}, 50, "F", 2.0),
    ("homa_b", {"fasting_glucose": 5.5, "fasting_insulin": 10.0}, 50, "F", 100),
    ("homa_b", {"fasting_glucose": 3.5, "fasting_insulin": 10.0}, 50, "F", None),
    ("tyg_index", {"triglycerides": 1.5, "fasting_glucose": 5.5}, 50, "F", np.log(1.5 * 88.57 * 5.5 * 18.016 / 2)),
    ("nathan_eag", {"hba1c": 7.0}, 50, "F", 1.59 * 7 - 2.59),
    ("nathan_eag", {"hba1c": 4.9}, 50, "F", None),
    ("ifcc_ngsp", {"hba1c": 7.0}, 50, "F", 10.93 * 7 - 23.5),
    ("transferrin_sat", {"iron": 15.0, "tibc": 60.0}, 50, "F", 25),
    ("haematocrit", {"rbc": 5.0, "mcv": 90.0}, 50, "F", 45),
    ("mch", {"haemoglobin": 150.0, "rbc": 5.0}, 50, "F", 30),
]


@pytest.mark.parametrize(("name", "inputs", "age", "sex", "wanted"), WORKED)
def test_a_formula_gives_the_result_worked_by_hand_and_none_outside_its_domain(name, inputs, age, sex, wanted):
    values = {key: np.array([float(value)]) for key, value in inputs.items()}
    assert set(values) == set(FORMULAS[name].inputs)
    found = float(FORMULAS[name].calculate(values, age, sex, KNOWLEDGE)[0])
    assert np.isnan(found) if wanted is None else abs(found - wanted) < 1e-3 * max(1, abs(wanted))


def test_every_formula_is_worked_by_hand_and_used_by_an_analyte():
    assert {name for name, *_ in WORKED} == set(FORMULAS)
    assert {row.derived_by for row in KNOWLEDGE.analytes.values() if row.derived_by} == set(FORMULAS)


def test_ldl_above_friedewalds_domain_is_sampsons():
    # Sampson 2020 by hand in mg/dL: total 280, HDL 40, triglycerides 500.
    by_hand = 280 / 0.948 - 40 / 0.971 - (500 / 8.56 + 500 * 240 / 2140 - 500**2 / 16100) - 9.44
    values = {"total_cholesterol": 280 / 38.67, "hdl_c": 40 / 38.67, "triglycerides": 500 / 88.57}
    found = calculate_ldl({key: np.array([value]) for key, value in values.items()}, 50, "F", KNOWLEDGE)
    assert abs(float(found[0]) * 38.67 - by_hand) < 0.1


@pytest.mark.parametrize("triglycerides", [0.8, 2.0, 4.4, 4.6, 7.0, 9.0])
def test_ldl_calculated_from_the_total_that_follows_from_it_is_the_same(triglycerides: float):
    values = {"ldl_c": np.array([3.1]), "hdl_c": np.array([1.2]), "triglycerides": np.array([triglycerides])}
    values["total_cholesterol"] = derive_total_cholesterol(values, 50, "F", KNOWLEDGE)
    assert abs(float(calculate_ldl(values, 50, "F", KNOWLEDGE)[0]) - 3.1) < 1e-9


def test_total_cholesterol_rises_with_triglycerides_beyond_every_formula():
    triglycerides = np.array([9.1, 12.0, 20.0, 40.0])
    values = {"ldl_c": np.full(4, 2.0), "hdl_c": np.full(4, 0.8), "triglycerides": triglycerides}
    total = derive_total_cholesterol(values, 50, "F", KNOWLEDGE)
    assert (np.diff(total) > 0).all() and total[-1] < 25
    assert np.isnan(calculate_ldl({**values, "total_cholesterol": total}, 50, "F", KNOWLEDGE)).all()


def test_only_what_no_other_level_gives_has_a_level_of_its_own():
    assert has_own_level(KNOWLEDGE.analytes["ldl_c"]) and has_own_level(KNOWLEDGE.analytes["iron"])
    for name in (*FOLLOWS, "egfr", "tsat", "haematocrit", "anion_gap"):
        assert not has_own_level(KNOWLEDGE.analytes[name])
