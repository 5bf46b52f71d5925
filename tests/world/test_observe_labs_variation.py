"""What varies in laboratory results: the person's day, the specimen's common causes, the assay."""

from dataclasses import replace

import numpy as np
import pytest
from lab_case import VISITS, every_group, observe, person, still, usual_levels
from observe_case import ANALYTES, KNOWLEDGE, readings, with_rows

from clinworld.core.rng import Rng
from clinworld.world.formulas import FOLLOWS, FORMULAS, PARTS, has_own_level
from clinworld.world.lab_assays import load_assays
from clinworld.world.observe_labs import observe_laboratory

PEOPLE = 45


@pytest.fixture(scope="module")
def twice():
    """Two measurements of the same specimens in many people: (series by name, series by name)."""
    levels = usual_levels()
    return [
        tuple({series.name: series for series in observe(person(i), levels, repeat=repeat).series} for repeat in (0, 1))
        for i in range(PEOPLE)
    ]


def recover(twice, name: str) -> tuple[float, float]:
    """(within-person, analytical) CV in percent by nested analysis of variance of the printed values' logarithms."""
    apart, means = [], []
    for one, two in twice:
        first, again = np.log(one[name].values()), np.log(two[name].values())
        apart.append(first - again)
        means.append((first + again) / 2)
    error = float(np.mean(np.concatenate(apart) ** 2)) / 2
    visits = sum(float(((mean - mean.mean()) ** 2).sum()) for mean in means) / sum(len(mean) - 1 for mean in means)
    return 100 * np.sqrt(np.expm1(max(visits - error / 2, 0))), 100 * np.sqrt(np.expm1(error))


@pytest.mark.parametrize(
    "name", ["potassium", "tsh", "ferritin", "haemoglobin", "fasting_glucose", "urea", "wbc", "triglycerides", "hdl_c"]
)
def test_both_variations_of_a_row_are_recovered_from_printed_values(twice, name: str):
    row = KNOWLEDGE.analytes[name]
    within, analytic = recover(twice, name)
    assert abs(within / row.cv_within_pct - 1) < 0.15
    assert abs(analytic / row.cv_analytic_pct - 1) < 0.15


def test_a_row_with_another_variation_is_told_apart():
    changed = with_rows(
        "analytes", replace(KNOWLEDGE.analytes["potassium"], cv_within_pct=2 * KNOWLEDGE.analytes["potassium"].cv_within_pct)
    )
    pairs = []
    for i in range(PEOPLE):
        pairs.append(
            tuple(
                {series.name: series for series in observe(person(i), {"potassium": 4.4}, knowledge=changed, repeat=repeat).series}
                for repeat in (0, 1)
            )
        )
    within, analytic = recover(pairs, "potassium")
    assert within > 1.7 * KNOWLEDGE.analytes["potassium"].cv_within_pct
    assert abs(analytic / KNOWLEDGE.analytes["potassium"].cv_analytic_pct - 1) < 0.15


def test_a_specimen_measured_again_differs_by_the_assay_alone_and_is_charted_on_the_same_days(twice):
    for one, two in twice[:10]:
        for name in ("potassium", "tsh"):
            assert (one[name].days == two[name].days).all()
            assert np.mean(one[name].ticks != two[name].ticks) > 0.5


def test_results_of_one_specimen_go_together_as_the_table_says_and_others_do_not(twice):
    def r(a: str, b: str) -> float:
        pairs = []
        for one, _ in twice:
            x, y = readings(one[a]), readings(one[b])
            pairs += [(np.log(x[day]), np.log(y[day])) for day in x if day in y and x[day] and y[day]]
        return float(np.corrcoef(np.array(pairs).T)[0, 1])

    assert 0.55 < r("alt", "ast") < 0.80
    assert 0.15 < r("sodium", "chloride") < 0.50  # the assays of both are as noisy as the person
    assert abs(r("potassium", "tsh")) < 0.15
    assert abs(r("hba1c", "platelets")) < 0.15


def test_an_analyte_more_moves_no_result_of_another():
    levels = usual_levels()
    for i in range(5):
        every = {series.name: series for series in observe(person(i), levels).series}
        for left_out in ("fasting_insulin", "ast", "albumin", "ferritin"):
            fewer = {series.name: series for series in observe(person(i), {k: v for k, v in levels.items() if k != left_out}).series}
            for name in ("potassium", "hdl_c", "alt", "tsh", "haemoglobin", "calcium"):
                assert (fewer[name].ticks == every[name].ticks).all() and (fewer[name].days == every[name].days).all()


@pytest.mark.parametrize("sex", ["F", "M"])
def test_a_part_never_passes_its_whole(sex: str):
    levels = usual_levels(sex)
    for part, whole in PARTS.items():
        levels[part] = 0.97 * levels[whole]
    for i in range(20):
        found = {series.name: series for series in observe(person(i, patient={"sex": sex}), levels).series}
        for part, whole in (("neutrophils", "wbc"), ("bilirubin_direct", "bilirubin_total")):
            lesser, greater = readings(found[part]), readings(found[whole])
            assert all(lesser[day] <= greater[day] for day in lesser)
        assert all(tick <= 100 for tick in found["tsat"].ticks)


def test_a_part_varies_as_its_own_row_says(twice):
    for part in ("neutrophils", "bilirubin_direct", "iron"):
        within, _ = recover(twice, part)
        assert abs(within / KNOWLEDGE.analytes[part].cv_within_pct - 1) < 0.2


def test_red_cells_hold_the_haemoglobin_that_is_measured_in_them(twice):
    for one, _ in twice[:20]:
        haemoglobin, rbc, mcv = (readings(one[name]) for name in ("haemoglobin", "rbc", "mcv"))
        concentration = [haemoglobin[day] / (rbc[day] / 100 * mcv[day] / 10 / 1000) for day in haemoglobin]
        assert 310 < np.mean(concentration) < 356 and np.std(concentration) / np.mean(concentration) < 0.03


def test_what_follows_from_other_levels_is_assayed_and_what_is_calculated_is_not():
    assays = load_assays(KNOWLEDGE, ("lab_panel",), tuple(usual_levels()), "F")
    measured = {row.id for row in assays.measured}
    assert set(FOLLOWS) <= measured
    assert "ldl_c" in assays.varied and "ldl_c" not in measured
    assert not measured & {row.id for row in assays.calculated}
    assert {row.derived_by for row in assays.calculated} == set(FORMULAS)


def test_one_that_follows_varies_by_itself_where_what_it_follows_is_not_known():
    assays = load_assays(KNOWLEDGE, ("lab_panel",), ("rbc",), "F")
    assert assays.varied == ("rbc",) and [row.id for row in assays.measured] == ["rbc"] and assays.follows == ()


def test_a_calculated_result_is_not_reported_in_a_group_of_which_nothing_is_measured():
    names = {series.name for series in observe(person(1), ANALYTES).series}
    assert "fib4" in names and "ldl_c" in names
    assert not names & {"apri", "tyg_index", "estimated_glucose", "hba1c_ifcc"}


def test_every_group_of_the_tables_can_be_reported():
    reported = {row.id for row in KNOWLEDGE.analytes.values() if has_own_level(row)}
    assert reported <= set(usual_levels())
    observed = observe_laboratory(person(2), still(usual_levels()), VISITS, every_group(), Rng("7"))
    assert len(observed.series) > 95
    for series in observed.series:
        row = KNOWLEDGE.analytes[series.name]
        assert row.hard_low <= series.values().min() and series.values().max() <= row.hard_high
