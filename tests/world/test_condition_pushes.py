"""What a condition says of one item reaches the others that show the same, and no more than those."""

from dataclasses import replace

import numpy as np
import pytest
from make_premise import make_premise
from observe_case import with_rows
from presenting_case import CONDITIONS, KNOWLEDGE, RNG, present

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Stream
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import push_levels
from clinworld.world.condition_pushes import Push, find_pushes
from clinworld.world.condition_ramps import derive_ramps, tempo_of
from clinworld.world.condition_sizes import DOWN, UP

GLUCOSE = ("fasting_glucose", "random_glucose", "ogtt_2h_glucose", "smbg_fasting", "fructosamine", "cgm_mean")
RED_CELLS = ("haemoglobin", "rbc", "mcv")
# (what a condition's file says moves, in which direction; the stream of a device that measures the same).
MEASURED_TOO = (
    ("random_glucose", UP, "cgm_mean"),
    ("random_glucose", DOWN, "cgm_mean"),
    ("fasting_glucose", UP, "cgm_mean"),
    ("hba1c", UP, "cgm_mean"),
    ("body_temp", UP, "skin_temp_dev"),
    ("body_temp", UP, "resting_hr"),
    ("spo2_spot", DOWN, "spo2_night"),
    ("resp_rate_spot", UP, "resp_rate_sleep"),
    ("home_sbp", UP, "home_dbp"),
    ("af_ecg", UP, "resting_hr"),
)
UNSEEN = {"angioedema"}  # over in hours; nothing a device measures
SHOWN_TO_THE_NEAR = 0.5


def pushes_of(condition: str, knowledge: Knowledge = KNOWLEDGE) -> dict[str, Push]:
    sex = knowledge.conditions[condition].sex or "F"
    return {push.item: push for push in find_pushes(knowledge, condition, sex, 60.0) if push.sign}


def acts_on_the_assay(pushes: dict[str, Push]) -> bool:
    return "hba1c" in pushes and pushes["hba1c"].is_own and any(item in pushes and pushes[item].is_own for item in RED_CELLS[1:])


def unmoved(condition: str, knowledge: Knowledge = KNOWLEDGE) -> list[str]:
    """The streams that measure what a condition moves, and that it leaves as they were."""
    pushes, row = pushes_of(condition, knowledge), knowledge.conditions[condition]
    held = {finding.item for finding in row.findings if finding.moves == "normal"}
    apart = acts_on_the_assay(pushes)
    return [
        f"{condition}: {stream} with {item}"
        for item, sign, stream in MEASURED_TOO
        if item in pushes and pushes[item].is_own and pushes[item].sign == sign
        if stream not in pushes and stream not in held and not (apart and item == "hba1c")
    ]


def test_a_condition_that_raises_hba1c_through_the_red_cells_moves_no_glucose() -> None:
    found = [name for name in CONDITIONS if acts_on_the_assay(pushes_of(name))]
    assert found == ["iron_deficiency_anaemia"]
    assert not set(GLUCOSE) & pushes_of(found[0]).keys()
    other = with_rows("conditions", replace(KNOWLEDGE.conditions[found[0]], id="another_anaemia"))
    assert {"fasting_glucose", "cgm_mean"} <= pushes_of("another_anaemia", other).keys()


def test_iron_deficiency_leaves_glucose_by_day_as_it_was() -> None:
    rows = {"hba1c": (np.full(366, 5.6), False), "fasting_glucose": (np.full(366, 5.2), False), "cgm_mean": (np.full(366, 6.1), False)}
    moved = push_levels(rows, present("iron_deficiency_anaemia")[0], KNOWLEDGE, RNG)
    assert moved.keys() == {"hba1c"} and moved["hba1c"].max() > 5.75


@pytest.mark.rows
@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_a_device_measures_of_a_finding_moves_with_it(condition: str) -> None:
    assert unmoved(condition) == []


def test_a_finding_that_no_device_notices_is_seen() -> None:
    fever = replace(KNOWLEDGE.conditions["cap"].findings[0], item="af_ecg", moves="positive")
    row = replace(KNOWLEDGE.conditions["copd"], findings=(fever,))
    assert unmoved("copd", with_rows("conditions", row)) == ["copd: resting_hr with af_ecg"]


def test_a_condition_moves_every_item_that_diagnoses_it() -> None:
    rows = [*KNOWLEDGE.analytes.values(), *KNOWLEDGE.streams.values()]
    diagnosed = [(row.diagnostic_of, row.id) for row in rows if row.diagnostic_of]
    assert len(diagnosed) > 3
    for condition, item in diagnosed:
        assert item in pushes_of(condition) and pushes_of(condition)[item].sign == UP, (condition, item)


@pytest.mark.parametrize("condition", [name for name in CONDITIONS if KNOWLEDGE.conditions[name].urgency == "emergency"])
def test_an_emergency_moves_something_that_a_device_measures(condition: str) -> None:
    worn = {row.id for row in KNOWLEDGE.streams.values() if isinstance(row, Stream) and row.role == "wearable"}
    assert bool(worn & pushes_of(condition).keys()) is (condition not in UNSEEN)


@pytest.mark.parametrize("condition", ["dka", "hhs"])
def test_a_hyperglycaemic_crisis_shows_in_the_mean_of_the_sensor(condition: str) -> None:
    rises = []
    for number in range(8):
        ill = present(condition, number)[0]
        level = push_levels({"cgm_mean": (np.full(366, 8.0), False)}, ill, KNOWLEDGE, RNG)["cgm_mean"]
        rises.append(float(level[ill.index_day + 2] - 8.0))
    assert min(rises) > 5.0 and float(np.median(rises)) > 8.0


def ramp_after(premise: Premise, condition: str, days: int) -> float:
    ramp = derive_ramps([(condition, "episodic", False)], premise, KNOWLEDGE, RNG)[condition, "episodic", False]
    return float(ramp[premise.index_day + days])


@pytest.mark.parametrize("condition", ["cap", "dka", "pe", "acute_cholecystitis", "acs", "aki", "thyroiditis"])
def test_an_acute_illness_peaks_by_the_index_day_and_settles_within_three_weeks_or_as_slowly_as_it_came(condition: str) -> None:
    for number in range(6):
        ill = present(condition, number)[0]
        assert ill.presenting is not None
        came = tempo_of(KNOWLEDGE.conditions[condition], ill.presenting.presentation)
        if came in ("hours", "days", "weeks"):
            days = 50 if came == "weeks" else 21
            assert ramp_after(ill, condition, 1) > SHOWN_TO_THE_NEAR
            assert ramp_after(ill, condition, days) == 0.0


def mild_rise(condition: str, start: float, number: int) -> float:
    """Times that a condition raises the creatinine of a woman who starts at `start`, at most."""
    ill = replace(present(condition, number)[0], patient=make_premise(sex="F").patient)
    return float(push_levels({"creatinine": (np.full(366, start), False)}, ill, KNOWLEDGE, RNG)["creatinine"].max() / start)


def test_a_mild_rise_of_creatinine_doubles_nobodys_and_passes_the_limit_of_those_near_it() -> None:
    mild = [name for name in CONDITIONS if (push := pushes_of(name).get("creatinine")) and push.is_own and push.size == "mild"]
    assert len(mild) >= 4
    high = KNOWLEDGE.analytes["creatinine"].ref_high_f
    for name in mild:
        assert max(mild_rise(name, 47.0, number) for number in range(6)) < 2.0
        near = [65.0 * mild_rise(name, 65.0, number) for number in range(6)]
        assert high is not None and float(np.median(near)) > high
    assert mild_rise("aki", 47.0, 1) > 2.0  # the control: a moderate one does
