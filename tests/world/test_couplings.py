"""How true levels move each other: slope, lag and cap, order, what stands beside a condition's own row, and rows that do not load."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from make_premise import make_premise
from observe_case import KNOWLEDGE, with_rows

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.knowledge.check_effects import sort_couplings
from clinworld.knowledge.load import HERE, Knowledge, load_knowledge
from clinworld.knowledge.rows import Coupling
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.couplings import couple, follow_daily, load_couplings
from clinworld.world.course import build_course

RNG = Rng("couplings")
DEVICES = ("smart_scale", "wearable", "bp_cuff", "lab_panel")
STEP = 100  # the day the cause moves


def premise(**changes: object) -> Premise:
    return make_premise(**{"devices": DEVICES, **changes})  # type: ignore[arg-type]


def step(size: float, start: float = 0.0) -> Reals:
    level = np.full(premise().course_end_day + 1, start)
    level[STEP:] += size
    return level


def run(levels: Mapping[str, Reals], knowledge: Knowledge = KNOWLEDGE, **changes: object) -> dict[str, Reals]:
    return couple(levels, premise(**changes), knowledge, RNG)


def test_an_effect_follows_its_cause_with_the_rows_slope_and_lag() -> None:
    row = KNOWLEDGE.couplings["sleep_hours__resting_hr"]
    moved = run({"shift:sleep_hours": step(-2.0)})["shift:resting_hr"]
    assert (moved[:STEP] == 0.0).all()
    assert moved[STEP + int(row.lag_days) - 1] == pytest.approx(row.slope * -2.0 * (1 - 0.5 ** ((row.lag_days - 1) / row.lag_days)))
    assert moved[-1] == pytest.approx(row.slope * -2.0)
    assert (np.diff(moved) >= 0.0).all()


def test_an_effect_is_never_beyond_its_cap() -> None:
    cap = KNOWLEDGE.couplings["sleep_hours__resting_hr"].cap
    for size in (-3.0, -30.0, 30.0):
        moved = run({"shift:sleep_hours": step(size)})["shift:resting_hr"]
        assert np.abs(moved).max() <= cap
    assert np.abs(run({"shift:sleep_hours": step(-30.0)})["shift:resting_hr"]).max() == pytest.approx(cap)


def test_a_cause_that_has_not_moved_moves_nothing() -> None:
    assert run({"shift:sleep_hours": step(0.0, 0.4), "shift:steps": step(0.0), "haemoglobin": step(0.0, 140.0)}) == {}
    assert run({"shift:sleep_hours": step(-2.0)}, has_physiology=False) == {}


def test_an_effect_is_itself_a_cause_of_what_stands_behind_it() -> None:
    moved = run({"shift:sleep_hours": step(-2.0)})
    assert set(moved) == {"shift:resting_hr", "shift:hrv_rmssd", "shift:pulse_bp_cuff", "shift:stress_score"}
    slope = KNOWLEDGE.couplings["resting_hr__hrv_rmssd"].slope
    assert moved["shift:hrv_rmssd"][-1] == pytest.approx(slope * moved["shift:resting_hr"][-1])
    assert moved["shift:pulse_bp_cuff"][-1] == pytest.approx(moved["shift:resting_hr"][-1])


def test_two_causes_of_one_effect_add_up() -> None:
    one, other = run({"shift:sleep_hours": step(-1.0)}), run({"shift:steps": step(-0.5)})
    both = run({"shift:sleep_hours": step(-1.0), "shift:steps": step(-0.5)})
    assert np.allclose(both["shift:resting_hr"], one["shift:resting_hr"] + other["shift:resting_hr"])


def test_what_no_device_of_the_patient_reports_is_not_followed() -> None:
    assert run({"shift:sleep_hours": step(-2.0)}, devices=("smart_scale",)) == {}
    assert "shift:pulse_bp_cuff" not in run({"shift:sleep_hours": step(-2.0)}, devices=("smart_scale", "wearable"))


def test_a_laboratory_level_moves_only_where_it_is_followed_and_stays_inside_its_bounds() -> None:
    moved = run({"albumin": step(-12.0, 42.0), "calcium": step(0.0, 2.3)})
    assert moved["calcium"][-1] == pytest.approx(2.3 - 0.02 * 12.0)
    assert run({"albumin": step(-12.0, 42.0)}) == {}
    low = with_rows("couplings", replace(KNOWLEDGE.couplings["albumin__calcium"], slope=1.0, cap=9.0))
    assert run({"albumin": step(-12.0, 42.0), "calcium": step(0.0, 2.3)}, low)["calcium"].min() > KNOWLEDGE.analytes["calcium"].hard_low


def test_where_a_condition_of_the_patient_moves_the_effect_that_stands() -> None:
    cause = {"haemoglobin": step(-30.0, 140.0)}
    assert run(cause)["shift:resting_hr"][-1] == pytest.approx(6.0, rel=0.01)
    assert "shift:resting_hr" not in run(cause, comorbidities=("af",))


def test_a_condition_as_a_cause_acts_in_those_who_have_it() -> None:
    row = KNOWLEDGE.couplings["alcohol_liver__hrv_rmssd"]
    moved = run({}, comorbidities=(row.cause,))
    assert set(moved) == {"shift:hrv_rmssd"} and np.allclose(moved["shift:hrv_rmssd"], row.slope)
    assert run({}) == {}


def test_sleep_that_declines_raises_the_resting_pulse_of_a_whole_course() -> None:
    ill = premise(driver="sleep_decline", outcome="regain")
    well = replace(ill, driver="unknown_or_multifactorial")
    one, other = (build_course(each, KNOWLEDGE, RNG).levels["shift:resting_hr"] for each in (ill, well))
    assert one[-1] > other[-1] + 1.0 and np.array_equal(one[:20], other[:20])


@pytest.mark.parametrize("half_time", [0.0, 1.0, 7.0, 30.0])
def test_following_day_by_day_equals_the_recursion(half_time: float) -> None:
    target = np.cumsum(RNG.at("follow").normal(300))
    left, level = 0.5 ** (1 / half_time) if half_time else 0.0, [target[0]]
    for before, now in pairwise(target):
        level.append(now - left * (before - level[-1]) - ((now - before) if half_time else 0.0))
    assert np.allclose(follow_daily(target, half_time), level)


def test_every_cause_is_moved_before_it_moves_something() -> None:
    rows = load_couplings(KNOWLEDGE)
    assert set(rows) == set(KNOWLEDGE.couplings.values())
    for place, row in enumerate(rows):
        assert row.cause not in [later.effect for later in rows[place:]]
    assert sort_couplings(reversed(rows)) != rows or len(rows) < 2


CIRCLE = Coupling("hrv_rmssd__resting_hr", "hrv_rmssd", "resting_hr", -5.0, 1.0, 4.0, "authored", "authored")


def test_couplings_in_a_circle_are_an_error_that_names_file_and_row(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"couplings.csv \(hrv_rmssd__resting_hr\).*circle"):
        load_couplings(with_rows("couplings", CIRCLE))
    columns = tuple(Coupling.__dataclass_fields__)
    line = ",".join(str(getattr(CIRCLE, name)) for name in columns)
    (tmp_path / "couplings.csv").write_text(",".join(columns) + "\n" + line + "\n")
    with pytest.raises(KnowledgeError, match=r"\(hrv_rmssd__resting_hr\)"):
        load_knowledge(tmp_path)


def test_an_item_coupled_to_itself_is_a_circle() -> None:
    with pytest.raises(KnowledgeError, match="alt to alt"):
        load_couplings(with_rows("couplings", replace(CIRCLE, id="alt__alt", cause="alt", effect="alt")))


@pytest.mark.parametrize("cell", ["cap", "source", "status"])
def test_a_coupling_without_cap_source_or_status_does_not_load(cell: str, tmp_path: Path) -> None:
    columns = tuple(Coupling.__dataclass_fields__)
    sound = {**{name: str(getattr(CIRCLE, name)) for name in columns}, "id": "alt__ggt", "cause": "alt", "effect": "ggt"}
    (tmp_path / "couplings.csv").write_text(",".join(columns) + "\n" + ",".join(sound.values()) + "\n")
    assert "alt__ggt" in Knowledge((HERE, tmp_path)).couplings
    (tmp_path / "couplings.csv").write_text(",".join(columns) + "\n" + ",".join({**sound, cell: ""}.values()) + "\n")
    with pytest.raises(KnowledgeError, match=f"couplings.csv, line 2.*{cell}"):
        list(Knowledge((HERE, tmp_path)).couplings)


def test_the_table_header_is_that_of_the_row_class() -> None:
    header = next(line for line in (HERE / "couplings.csv").read_text().splitlines() if not line.startswith("#"))
    assert tuple(header.split(",")) == tuple(Coupling.__dataclass_fields__)
