import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.core import days, units
from clinworld.core.errors import JobError, allowed_values, nearest_match
from clinworld.core.text import Labels, Wording


@given(st.integers(-(10**9), 10**9), st.integers(0, 4))
def test_a_printed_tick_reads_back_as_the_same_value(tick, decimals):
    assert float(units.print_tick(tick, decimals)) == pytest.approx(tick / 10**decimals)
    assert int(units.to_ticks([float(units.print_tick(tick, decimals))], decimals)[0]) == tick


def test_ties_round_to_even_in_one_place():
    assert units.to_ticks(np.array([0.5, 1.5, 2.5]), 0).tolist() == [0, 2, 2]


@pytest.mark.parametrize(("text", "expected"), [("45-49", (45, 49)), ("49-45", None), ("young", None), ("45", None), ("45-49 ", None)])
def test_age_ranges(text, expected):
    assert days.parse_age_range(text) == expected


def test_an_error_has_its_five_parts():
    error = JobError(
        "jobs/a.yaml, line 3", "no stream 'restng_hr'", allowed_values(["resting_hr", "steps"]), nearest="resting_hr", do="See inputs."
    )
    assert str(error) == ("jobs/a.yaml, line 3: no stream 'restng_hr'; allowed: resting_hr, steps. Did you mean 'resting_hr'? See inputs.")


def test_the_nearest_match_ignores_case_and_is_none_when_nothing_is_close():
    assert nearest_match("hba1C", ["HbA1c", "LDL"]) == "HbA1c"
    assert nearest_match("qqqq", ["HbA1c"]) is None


def test_an_unknown_label_is_an_error_and_never_empty(tmp_path):
    (tmp_path / "labels.csv").write_text("id,en,zh\nday,Day {n},第{n}天\n")
    labels = Labels(tmp_path / "labels.csv")
    assert labels.say("day", "en", n=3) == "Day 3"
    assert Wording("a", "b").say("zh") == "b"
    with pytest.raises(Exception, match="no label 'dya'.*Did you mean 'day'"):
        labels.say("dya", "en")
