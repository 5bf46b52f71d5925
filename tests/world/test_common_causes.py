"""Levels and results that go together as the table of correlations says."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from observe_case import KNOWLEDGE, with_rows

from clinworld.core.rng import Rng
from clinworld.knowledge.rows import PanelCorrelation
from clinworld.world.common_causes import is_skewed, load_mixture, load_weights, squeeze


def weight_product(weights, a: str, b: str) -> float:
    return sum(weight * weights[b].get(name, 0.0) for name, weight in weights[a].items())


@pytest.mark.parametrize("level", ["between", "within"])
@pytest.mark.parametrize("sex", ["F", "M"])
def test_every_pair_of_the_table_goes_together_as_far_as_its_row_says(level: str, sex: str):
    weights = load_weights(KNOWLEDGE, level, sex)
    for row in KNOWLEDGE.correlations.values():
        if row.level == level and row.of == "levels":
            assert abs(weight_product(weights, row.a, row.b) - (row.r_m if sex == "M" else row.r_f)) < 1e-9, row.id
    assert all(abs(sum(weight**2 for weight in made.values()) - 1) < 1e-9 for made in weights.values())


def test_rows_are_named_by_their_items_and_status_and_level_are_known():
    for key, row in KNOWLEDGE.correlations.items():
        assert key == f"{row.a}__{row.b}" + {"between": "", "within": "__within", "daily": "__daily"}[row.level]
        assert row.a != row.b and (row.level == "between" or (row.of == "levels") == (row.level == "within"))


def test_what_is_new_on_a_day_goes_together_more_where_one_of_two_streams_is_slower():
    """A slow stream shows today's share of what it has in common only in part."""
    weights = load_weights(KNOWLEDGE, "daily", "F")
    for row in (row for row in KNOWLEDGE.correlations.values() if row.level == "daily"):
        a, b = (KNOWLEDGE.streams[name].lag1 for name in (row.a, row.b))
        # What two AR(1) series share of each day, summed over the days they remember, in units of their spread.
        shown = weight_product(weights, row.a, row.b) * math.sqrt((1 - a * a) * (1 - b * b)) / (1 - a * b)
        assert abs(shown - row.r_f) < 1e-9, row.id


def test_published_results_go_together_less_than_the_levels_behind_them():
    weights = load_weights(KNOWLEDGE, "between", "M")
    row = KNOWLEDGE.correlations["triglycerides__hdl_c"]
    assert row.of == "results"
    assert -0.65 < weight_product(weights, "triglycerides", "hdl_c") < row.r_m


def test_rows_that_contradict_each_other_shrink_and_stay_a_distribution():
    def pair(a: str, b: str, r: float) -> PanelCorrelation:
        return PanelCorrelation(f"{a}__{b}__test", a, b, "between", "levels", r, r, "authored", "authored")

    # What goes with both of two opposites nearly wholly cannot be.
    impossible = with_rows("correlations", pair("alt", "lipase", -0.6), pair("alt", "amylase", 0.95), pair("lipase", "amylase", 0.95))
    made = load_weights(impossible, "between", "F")["amylase"]
    assert abs(sum(weight**2 for weight in made.values()) - 1) < 1e-9
    assert 0.1 < made["amylase"] < 0.2


def test_a_pair_added_at_the_end_moves_no_item_that_was_there():
    before = load_weights(KNOWLEDGE, "between", "F")
    row = PanelCorrelation("sodium__lipase", "sodium", "lipase", "between", "levels", 0.4, 0.4, "authored", "authored")
    after = load_weights(with_rows("correlations", row), "between", "F")
    assert all(after[item] == made for item, made in before.items())
    assert "sodium" in after["lipase"]


def test_items_asked_for_alone_or_together_are_made_of_the_same_normals():
    drawn = {name: Rng("1").at("C", name).normal(1) for name in load_weights(KNOWLEDGE, "between", "F")}
    values = []
    for items in (("fasting_insulin",), ("fasting_insulin", "hdl_c"), tuple(drawn)):
        mixture = load_mixture(KNOWLEDGE, "between", items, "F")
        mixed = mixture.mix(np.array([drawn[name] for name in mixture.needed]))
        values.append(float(mixed[items.index("fasting_insulin"), 0]))
    assert max(values) - min(values) < 1e-12


def test_an_item_without_a_row_is_all_its_own():
    mixture = load_mixture(KNOWLEDGE, "within", ("lipase",), "F")
    assert mixture.needed == ("lipase",) and mixture.weights.tolist() == [[[1.0]]]


def test_mixed_normals_have_the_correlation_of_their_row():
    mixture = load_mixture(KNOWLEDGE, "within", ("alt", "ast"), "F")
    normals = np.array([Rng("1").at("C", name).normal(40_000) for name in mixture.needed])
    mixed = mixture.mix(normals)
    assert abs(np.corrcoef(mixed)[0, 1] - 0.75) < 0.01 and np.allclose(mixed.std(axis=1), 1, atol=0.02)


def test_squeezed_values_lie_between_their_limits_in_the_order_of_their_normals_and_are_a_cut_normal():
    n = 20_000
    normals = np.sort(Rng("1").at("C", "x").normal(n))
    mean, sd, low, high = (np.full(n, value) for value in (5.6, 0.28, 5.4, 6.2))
    found = squeeze(normals, mean, sd, low, high)
    assert found.min() >= 5.4 and found.max() <= 6.2 and (np.diff(found) >= 0).all()
    below = NormalDist(5.6, 0.28).cdf
    share = (below(5.7) - below(5.4)) / (below(6.2) - below(5.4))
    assert abs(np.mean(found < 5.7) - share) < 0.01
    assert len(set(found.round(6).tolist())) > 0.9 * n  # none piles up on a limit


def test_levels_that_differ_much_between_people_are_skewed():
    assert is_skewed(KNOWLEDGE.analytes["ferritin"], KNOWLEDGE) and not is_skewed(KNOWLEDGE.analytes["sodium"], KNOWLEDGE)
    assert not is_skewed(replace(KNOWLEDGE.analytes["ferritin"], cv_between_pct=None), KNOWLEDGE)
