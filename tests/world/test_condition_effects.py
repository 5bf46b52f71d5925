"""Conditions act on the true levels: in the direction they say, from their onset on, together, and within limits."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from make_premise import make_premise
from presenting_case import CONDITIONS, KNOWLEDGE, RNG, SAMPLE, examine, present

from clinworld.schema.premise import Premise, Presenting
from clinworld.schema.record import FindingResult
from clinworld.world.condition_effects import _hold, list_acting, push_levels, push_weight, widen_span
from clinworld.world.condition_findings import find_result, follow
from clinworld.world.condition_pushes import find_pushes, list_documented, load_kin
from clinworld.world.condition_ramps import derive_ramps
from clinworld.world.condition_sizes import DOWN, SIZES, UP, bend_move, load_scale
from clinworld.world.course import build_course
from clinworld.world.draw_people import contradicts
from clinworld.world.formulas import formula_of, has_own_level
from clinworld.world.observe import observe_series

DAY = 84


def level_of(item: str, premise: Premise) -> Any:
    return follow(examine(premise), [item]).course.levels[item]


def share_in_direction(condition: str, people: int, *, is_swapped: bool = False) -> dict[str, float]:
    """Item → share of people in whom a moderate or marked finding lies on its side of what the same person has without it."""
    moved: dict[str, list[bool]] = {}
    for number in range(people):
        ill, well = (examine(premise) for premise in present(condition, number))
        ill, well = (well, ill) if is_swapped else (ill, well)
        for finding in KNOWLEDGE.conditions[condition].findings:
            if finding.size in SIZES[1:] and finding.moves in ("up", "down") and finding.sex in ("", ill.premise.patient.sex):
                if finding.item in ("weight", "bmi"):  # a move of years hardly shows in printed weights of months
                    moved.setdefault(finding.item, []).append(
                        is_moved(ill.course.weight_kg[DAY], well.course.weight_kg[DAY], finding.moves)
                    )
                    continue
                results = [find_result(finding.item, DAY, each) for each in (ill, well)]
                ticks = [each.ticks for each in results if isinstance(each, FindingResult)]
                if None not in ticks and len(ticks) == 2:
                    moved.setdefault(finding.item, []).append(is_moved(ticks[0], ticks[1], finding.moves))
    return {item: sum(each) / len(each) for item, each in moved.items()}


def is_moved(ill: Any, well: Any, moves: str) -> bool:
    return bool(ill > well if moves == "up" else ill < well)


@pytest.mark.parametrize("condition", SAMPLE)
def test_moderate_and_marked_findings_act_in_their_direction(condition: str) -> None:
    shares = share_in_direction(condition, 6)
    assert shares and min(shares.values()) >= 5 / 6, shares


@pytest.mark.slow
@pytest.mark.parametrize("condition", CONDITIONS)
def test_moderate_and_marked_findings_of_every_condition_act_in_their_direction(condition: str) -> None:
    shares = share_in_direction(condition, 30)
    assert min(shares.values(), default=1.0) >= 0.9, shares


def test_a_finding_that_acts_the_wrong_way_is_seen() -> None:
    assert max(share_in_direction("hypothyroidism", 4, is_swapped=True).values()) <= 0.25


def test_series_that_no_finding_touches_stay_the_same_bytes() -> None:
    ill, well = present("graves", 1)
    charted = [{s.name: s for s in observe_series(p, build_course(p, KNOWLEDGE, RNG), KNOWLEDGE, RNG).series} for p in (ill, well)]
    touched = {each.push.item for each in list_acting(ill, KNOWLEDGE)}
    touched |= {name for name, row in KNOWLEDGE.streams.items() if row.parent in touched}
    touched |= {name for name, row in KNOWLEDGE.analytes.items() if formula_of(row) is not None or row.derived_by}
    assert charted[0].keys() == charted[1].keys()
    for name in charted[0].keys() - touched:
        assert charted[0][name].days.tobytes() == charted[1][name].days.tobytes(), name
        assert charted[0][name].ticks.tobytes() == charted[1][name].ticks.tobytes(), name
    assert any(charted[0][name].ticks.tobytes() != charted[1][name].ticks.tobytes() for name in charted[0].keys() & touched)


def test_a_condition_whose_findings_are_normal_moves_no_level() -> None:
    ill, well = present("angioedema", 2)
    levels = [build_course(premise, KNOWLEDGE, RNG).levels for premise in (ill, well)]
    assert levels[0].keys() == levels[1].keys()
    assert all(levels[0][name].tobytes() == levels[1][name].tobytes() for name in levels[0])


def test_levels_written_for_a_documented_condition_are_not_moved_twice() -> None:
    pushed = {push.item for push in list_documented(KNOWLEDGE, ("type_2_diabetes",), "F", 52.0)}
    assert not pushed & {level.item for level in KNOWLEDGE.conditions["type_2_diabetes"].levels}
    assert "urine_acr" in pushed  # no level of its own, so the finding acts
    both = {push.item for push in list_documented(KNOWLEDGE, ("type_2_diabetes", "haemochromatosis"), "F", 52.0)}
    assert "hba1c" not in both and "ferritin" in both


def test_a_documented_comorbidity_acts_in_the_body() -> None:
    plain = make_premise(devices=("smart_scale", "wearable"))
    with_osa = make_premise(devices=("smart_scale", "wearable"), comorbidities=("copd",))
    items = ["spo2_spot", "haemoglobin"]
    before, after = (follow(examine(premise), items).course.levels for premise in (plain, with_osa))
    assert after["spo2_spot"][0] < before["spo2_spot"][0] and after["haemoglobin"][0] > before["haemoglobin"][0]


def test_two_conditions_on_one_item_add_up_to_less_than_their_sum() -> None:
    names = ("anaemia_inflammation", "b12_deficiency")
    base, one, other, both = (level_of("haemoglobin", make_premise(comorbidities=known))[0] for known in ((), names[:1], names[1:], names))
    assert both < min(one, other)
    assert base - both < (base - one) + (base - other)


def test_a_held_item_stays_inside_its_reference_interval() -> None:
    scale = load_scale(KNOWLEDGE, "tsh", "F")
    assert scale is not None
    outside = np.array([0.05, 2.0, 9.0])
    held = _hold(outside, scale, KNOWLEDGE)
    assert held[1] == pytest.approx(2.0) and held.min() > 0.27 and held.max() < 4.2


@pytest.mark.parametrize(("condition", "item", "below"), [("ckd", "egfr", 60), ("ckd", "haemoglobin", 130), ("pbc", "albumin", None)])
def test_a_calculated_result_comes_out_as_the_finding_says(condition: str, item: str, below: float | None) -> None:
    results = [find_result(item, DAY, examine(present(condition, number)[0])) for number in range(5)]
    values = [each.ticks / 10.0**each.decimals for each in results if isinstance(each, FindingResult) and each.ticks is not None]
    assert len(values) == 5
    if below is not None:
        assert float(np.median(values)) < below
    else:
        assert 38 < float(np.median(values)) < 55  # the control: no finding of it, and nothing moves it


def test_what_goes_along_with_an_item_moves_with_it_and_nothing_else_does() -> None:
    ill, well = (follow(examine(premise), ["tibc", "calcium"]).course.levels for premise in present("iron_deficiency_anaemia", 3))
    assert ill["tibc"][DAY] > well["tibc"][DAY]
    assert ill["calcium"].tobytes() == well["calcium"].tobytes()


@pytest.mark.parametrize(("size", "is_diagnosed"), [("mild", False), ("moderate", True)])
def test_only_more_than_a_mild_rise_makes_a_diagnosis_nobody_has_made(size: str, is_diagnosed: bool) -> None:
    condition = {"mild": "prediabetes", "moderate": "lada"}[size]
    highest = [float(level_of("hba1c", present(condition, number)[0])[: DAY + 1].max()) for number in range(8)]
    assert (float(np.median(highest)) >= 6.5) == is_diagnosed
    assert is_diagnosed or max(highest) < 6.5


def test_a_documented_condition_makes_no_other_diagnosis() -> None:
    assert level_of("hba1c", make_premise(disease="cushing"))[0] < 6.5


def test_nothing_moves_before_the_onset_and_everything_after_it_is_smooth() -> None:
    ill, well = present("hypothyroidism", 4)
    assert ill.presenting is not None
    ill = replace(ill, presenting=replace(ill.presenting, onset_day=30))
    moved = level_of("tsh", ill) / level_of("tsh", well)
    assert np.all(moved[:30] == 1.0) and moved[DAY] > 2.0
    assert np.abs(np.diff(np.log(moved))).max() < 0.12


def test_severity_scales_what_a_condition_does() -> None:
    ill, _ = present("hypothyroidism", 5)
    assert ill.presenting is not None
    low, high = (level_of("tsh", replace(ill, presenting=replace(ill.presenting, severity=s)))[DAY] for s in (0.0, 1.0))
    assert high > low > 4.2


@pytest.mark.parametrize("trajectory", ["stable", "progressive", "episodic", "fluctuating", "treatment_responsive"])
@pytest.mark.parametrize("condition", ["pe", "gerd", "hypothyroidism"])
def test_a_trajectory_is_a_share_of_the_full_size_and_stands_high_on_the_index_day(trajectory: str, condition: str) -> None:
    ill, _ = present(condition, 6)
    ramp = derive_ramps([(condition, trajectory, False)], ill, KNOWLEDGE, RNG)[condition, trajectory, False]
    assert len(ramp) == ill.course_end_day + 1 and ramp.min() >= 0.0 and ramp.max() <= 1.0
    assert ramp[ill.index_day] >= 0.5


def test_a_cold_is_over_within_a_week_of_its_telling_as_no_other_acute_illness_is() -> None:
    for condition, is_brief in (("viral_urti", True), ("cap", False)):
        ill, _ = present(condition)
        ramp = derive_ramps([(condition, "episodic", False)], ill, KNOWLEDGE, RNG)[(condition, "episodic", False)]
        after = ramp[ill.index_day : ill.index_day + 60]
        assert (np.count_nonzero(after > 0.1) <= 7) == is_brief and after.max() > 0.9


def test_an_acute_episode_fades_and_a_lasting_one_comes_back() -> None:
    (acute, _), (lasting, _) = present("pe", 7), present("hypothyroidism", 7)
    fading = derive_ramps([("pe", "episodic", False)], acute, KNOWLEDGE, RNG)["pe", "episodic", False]
    back = derive_ramps([("hypothyroidism", "episodic", False)], lasting, KNOWLEDGE, RNG)["hypothyroidism", "episodic", False]
    assert fading[-1] == 0.0
    assert back[DAY:].min() < 0.6 and back[200:].max() > 0.99


@pytest.mark.parametrize("severity", [0.0, 1.0])
@pytest.mark.parametrize("condition", ["nephrotic", "rhabdomyolysis", "hhs", "adrenal_insufficiency", "haemochromatosis"])
def test_no_level_reaches_a_hard_bound(condition: str, severity: float) -> None:
    ill, _ = present(condition, 8)
    assert ill.presenting is not None
    ill = replace(ill, presenting=replace(ill.presenting, severity=severity))
    moved = [each.push.item for each in list_acting(ill, KNOWLEDGE) if each.push.item in KNOWLEDGE.analytes]
    levels = follow(examine(ill), moved).course.levels
    for name in moved:
        row = KNOWLEDGE.analytes[name]
        if has_own_level(row):
            assert row.hard_low < levels[name].min() and levels[name].max() < row.hard_high, name


def test_weight_moves_with_the_presenting_condition_and_not_with_a_documented_one() -> None:
    ill, well = present("pancreatic_cancer", 9)
    assert ill.presenting is not None
    course = build_course(well, KNOWLEDGE, RNG)
    late, long_ago = (replace(ill, presenting=replace(ill.presenting, onset_day=day)) for day in (20, -400))
    assert build_course(late, KNOWLEDGE, RNG).weight_kg[DAY] < 0.97 * course.weight_kg[DAY]
    for premise in (late, long_ago):  # the stated start weight stands
        assert build_course(premise, KNOWLEDGE, RNG).weight_kg[0] == pytest.approx(course.weight_kg[0])
    documented = replace(well, patient=replace(well.patient, comorbidities=("pancreatic_cancer",)))
    assert push_weight(course.weight_kg, documented, KNOWLEDGE, RNG) is course.weight_kg


def test_the_draws_of_one_condition_do_not_depend_on_the_others() -> None:
    alone, together = make_premise(comorbidities=("copd",)), make_premise(comorbidities=("hepatitis_b", "copd"))
    rows = {"spo2_spot": (np.full(366, 97.0), False)}
    one, two = (push_levels(rows, premise, KNOWLEDGE, RNG)["spo2_spot"] for premise in (alone, together))
    assert one.tobytes() == two.tobytes()


def test_every_push_has_a_size_on_a_scale_and_every_size_is_larger_than_the_one_before() -> None:
    for name in KNOWLEDGE.items:
        for sex in ("F", "M"):
            scale = load_scale(KNOWLEDGE, name, sex)
            if scale is not None:
                for sign in (UP, DOWN):
                    sizes = [scale.beyond(sign, size) for size in SIZES]
                    assert 0 < sizes[0] < sizes[1] < sizes[2], (name, sex, sign)


def test_every_finding_of_every_condition_becomes_a_push() -> None:
    for name in CONDITIONS:
        row = KNOWLEDGE.conditions[name]
        sex = row.sex or "F"
        own = {push.item for push in find_pushes(KNOWLEDGE, name, sex, 40.0) if push.is_own}
        assert own >= {f.item for f in row.findings if f.sex in ("", sex)} - {push.item for push in find_pushes(KNOWLEDGE, name, sex, 40.0)}
        assert own <= {f.item for f in row.findings}


def test_the_gate_of_first_values_knows_what_a_documented_condition_may_do() -> None:
    premise, row = make_premise(comorbidities=("anaemia_ckd",)), KNOWLEDGE.analytes["creatinine"]
    span = (47.0, 88.0, 4.0)
    widened = widen_span(span, row, premise, KNOWLEDGE)
    assert widened is not None and widened[0] == 47.0 and widened[1] > 88.0
    assert widen_span(span, row, make_premise(), KNOWLEDGE) == span


def test_a_presenting_condition_that_is_name_only_moves_nothing() -> None:
    premise = make_premise(presenting=Presenting("asthma", "", 10, 0.5))
    assert list_acting(premise, KNOWLEDGE) == list_acting(make_premise(), KNOWLEDGE)


def test_levels_of_followed_items_are_those_of_one_followed_alone() -> None:
    patient = examine(present("ckd", 10)[0])
    together, alone = follow(patient, ["potassium", "tsh", "calcium"]), follow(patient, ["calcium"])
    assert isinstance(together.course.levels, MappingProxyType)
    assert together.course.levels["calcium"].tobytes() == alone.course.levels["calcium"].tobytes()


def test_an_item_that_goes_along_has_a_level_or_rules_out_a_background() -> None:
    """A calculated item follows its inputs by itself: a row for it is there only to keep apart what would contradict it."""
    rows = KNOWLEDGE.analytes
    calculated = {child for child in load_kin(KNOWLEDGE) if child in rows and formula_of(rows[child]) is not None}
    assert calculated == {"haematocrit", "rbc"}
    assert contradicts("anaemia_ckd", "secondary_polycythaemia", "M", 52.5, KNOWLEDGE)
    assert contradicts("anaemia_ckd", "thalassaemia_trait", "F", 52.5, KNOWLEDGE)
    assert not contradicts("gout", "secondary_polycythaemia", "M", 52.5, KNOWLEDGE)


@pytest.mark.rows
@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_tells_a_condition_apart_as_normal_is_not_carried_along(condition: str) -> None:
    """Ferritin may rise in a fatty liver; the saturation that tells it from iron overload does not, nor the iron behind it."""
    marks = [each.told_apart_by for each in KNOWLEDGE.conditions[condition].look_alikes]
    normal = {name for mark in marks if mark.here == "normal" for name in (mark.item, *inputs_of(mark.item))}
    for sex in "FM":
        own = {push.item for push in find_pushes(KNOWLEDGE, condition, sex, 50.0) if push.is_own}
        driven = {name for item in own for name in inputs_of(item)}
        along = {push.item for push in find_pushes(KNOWLEDGE, condition, sex, 50.0) if push.sign and not push.is_own} - driven
        assert not along & normal, along & normal


def inputs_of(item: str) -> tuple[str, ...]:
    formula = formula_of(KNOWLEDGE.analytes[item]) if item in KNOWLEDGE.analytes else None
    return tuple(name for each in formula.inputs for name in (each, *inputs_of(each))) if formula else ()


def test_a_rise_of_ferritin_moves_no_iron_and_a_fall_does() -> None:
    """Ferritin also rises with a fatty liver, alcohol and inflammation; it falls with the stores alone."""
    risen = {push.item: push.sign for push in find_pushes(KNOWLEDGE, "masld", "F", 50.0)}
    fallen = {push.item: push.sign for push in find_pushes(KNOWLEDGE, "coeliac", "F", 50.0)}
    assert risen["ferritin"] == UP and not {"iron", "tibc"} & risen.keys()
    assert fallen["ferritin"] == DOWN and (fallen["iron"], fallen["tibc"]) == (DOWN, UP)


def test_chloride_follows_sodium_and_makes_room_for_bicarbonate() -> None:
    low = {push.item: push.sign for push in find_pushes(KNOWLEDGE, "siadh", "F", 50.0)}
    alkalosis = {push.item: push.sign for push in find_pushes(KNOWLEDGE, "diuretic_hypokalaemia", "F", 50.0)}
    acidosis = {push.item: push.sign for push in find_pushes(KNOWLEDGE, "euglycaemic_dka", "F", 50.0)}
    assert low["chloride"] == DOWN and alkalosis["chloride"] == DOWN and "chloride" not in acidosis


def test_what_only_supports_a_known_diagnosis_is_beyond_the_limit_in_some_and_of_a_hidden_one_in_all() -> None:
    known = [examine(make_premise(case_id=f"K-{number}", comorbidities=("osa",))) for number in range(40)]
    hidden = [examine(present("osa", number)[0]) for number in range(40)]
    beyond = []
    for patients in (known, hidden):
        levels = [(follow(each, ["haemoglobin"]).course.levels["haemoglobin"][DAY], each.premise.patient.sex) for each in patients]
        limits = {sex: load_scale(KNOWLEDGE, "haemoglobin", sex) for sex in "FM"}
        beyond.append(np.mean([level > limits[sex].high for level, sex in levels]))  # type: ignore[union-attr]
    assert beyond[0] < 0.5 < 0.9 < beyond[1], beyond


def test_large_moves_towards_a_bound_stay_apart_and_short_of_it() -> None:
    way, reach = 3.0, KNOWLEDGE.parameter("effect.reach")
    moves = np.linspace(0.0, 3.0 * way, 200)
    bent = np.array([bend_move(float(move), way, reach) for move in moves])
    assert np.array_equal(bent[moves <= reach * way], moves[moves <= reach * way])
    assert (np.diff(bent) > 0.0).all() and bent.max() < way
    assert bend_move(1.0, 0.0, reach) == 0.0


def test_a_level_that_a_disease_moves_very_far_is_not_the_same_in_all_it_moves() -> None:
    urine = [level_of("urine_acr", present("nephrotic", number)[0])[DAY] for number in range(40)]
    place = np.sort(np.log(urine))
    assert max(np.count_nonzero(np.abs(place - each) < 0.05) for each in place) < 10
