"""What befalls specimens, and what of it stands in the chart."""

from dataclasses import replace

import numpy as np
import pytest
from lab_case import VISITS, observe, person, still, usual_levels
from observe_case import KNOWLEDGE, make_course, make_premise, readings, with_rows

from clinworld.core.rng import Rng
from clinworld.world.build import build_world
from clinworld.world.observe import observe_series
from clinworld.world.observe_labs import ObservedLabs
from clinworld.world.specimens import load_effects, load_faults

LEVELS = usual_levels()
MEASURED = ("potassium", "calcium", "magnesium", "alp", "iron", "ldh", "ast", "sodium", "albumin", "triglycerides")


def with_rate(factor: str, value: float):
    """The package's knowledge with nothing befalling specimens but one factor."""
    rates = [row for name, row in KNOWLEDGE.parameters.items() if name.startswith(("fault_p_", "fault_person_p_", "method_p_"))]
    quiet = [replace(row, value=0.0) for row in rates]
    others = [
        replace(KNOWLEDGE.parameters[name], value=number)
        for name, number in (("specimen_afternoon_p", 0.0), ("specimen_fasting_morning_p", 1.0), ("lot_sd_share", 0.0))
    ]
    chosen = [replace(row, value=value) for row in rates if row.id.endswith(f"_p_{factor}")]
    return with_rows("parameters", *quiet, *others, *chosen)


def both(knowledge, n: int = 12, **changes) -> list[tuple[ObservedLabs, ObservedLabs]]:
    """(without specimens, with them) of some people."""
    people = [person(i, **changes) for i in range(n)]
    return [tuple(observe(each, LEVELS, knowledge=knowledge, has_specimens=has) for has in (False, True)) for each in people]


def moved(pair: tuple[ObservedLabs, ObservedLabs], name: str) -> dict[int, float]:
    """Change of each printed result by its specimen, in the analyte's unit, where there is any."""
    plain, touched = (readings(next(s for s in each.series if s.name == name)) for each in pair)
    scale = 10.0 ** -KNOWLEDGE.analytes[name].decimals
    return {day: (touched[day] - plain[day]) * scale for day in plain if touched[day] != plain[day]}


def test_without_specimens_nothing_of_them_is_charted_and_with_none_befalling_results_are_the_same():
    for plain, with_specimens in both(with_rate("", 0.0), 4):
        assert plain.specimens == () and plain.method_changes == () and plain.faults == ()
        for one, other in zip(plain.series, with_specimens.series, strict=True):
            assert one.name == other.name and one.ticks.tolist() == other.ticks.tolist()
        assert with_specimens.specimens and with_specimens.faults == ()


def test_a_specimen_stands_for_every_day_with_a_result_and_for_no_other():
    for i in range(10):
        observed = observe(person(i), LEVELS, has_specimens=True)
        days = sorted({int(day) for series in observed.series for day in series.days})
        assert [specimen.day for specimen in observed.specimens] == days


def test_the_first_specimen_is_planned_in_the_morning_fasting_and_untouched():
    for i in range(25):
        observed = observe(person(i), LEVELS, has_specimens=True)
        first = observed.specimens[0]
        assert first.day == 0 and first.is_fasting and first.minute_of_day < 12 * 60 and first.comment == ""
        lasting = {"season_vitamin_d", *(row.factor for row in KNOWLEDGE.platforms.values())}
        assert not [fault for fault in observed.faults if 0 in fault.days and fault.kind not in lasting]


def test_haemolysis_raises_potassium_and_ldh_together_by_the_documented_size_and_leaves_sodium():
    for pair in both(with_rate("in_vitro_haemolysis", 1.0)):
        potassium, ldh = moved(pair, "potassium"), moved(pair, "ldh")
        assert potassium and set(potassium) <= set(VISITS[1:].tolist()) and all(change > 0 for change in potassium.values())
        assert all(change > 0 for change in ldh.values()) and not moved(pair, "sodium")
        both_days = sorted(potassium.keys() & ldh.keys())
        ranks = np.argsort(np.argsort([[potassium[day] for day in both_days], [ldh[day] for day in both_days]]))
        assert len(both_days) < 5 or np.corrcoef(ranks)[0, 1] > 0.5
        sizes = {day: fault.size for fault in pair[1].faults if fault.series == "potassium" for day in fault.days}
        assert all(0.23 * 0.5 <= size <= 0.39 * 5 for size in sizes.values())
        assert all(abs(potassium.get(day, 0) - size) < 0.06 * (4.4 + size) for day, size in sizes.items())


def test_edta_makes_the_impossible_set_of_high_potassium_with_low_calcium_magnesium_and_alp():
    for pair in both(with_rate("edta_contamination", 1.0)):
        assert all(change > 0 for change in moved(pair, "potassium").values())
        for name in ("calcium", "magnesium", "alp", "iron"):
            assert all(change < 0 for change in moved(pair, name).values()) and moved(pair, name)


def test_a_fault_of_nobody_touches_nothing():
    for pair in both(with_rate("in_vitro_haemolysis", 0.0), 4):
        assert not moved(pair, "potassium") and pair[1].faults == ()


@pytest.mark.slow
def test_every_moved_result_has_its_fault_and_every_fault_its_result():
    for i in range(25):
        pair = tuple(observe(person(i), LEVELS, has_specimens=has) for has in (False, True))
        touched = {(fault.series, day) for fault in pair[1].faults for day in fault.days}
        charted = {(series.name, int(day)) for series in pair[1].series for day in series.days}
        assert touched <= charted
        for series in pair[0].series:
            if series.name in ("potassium", "tsh", "creatinine", "albumin", "tsat", "fib4", "ldl_c"):
                assert {(series.name, day) for day in moved_days(pair, series.name)} <= touched


def moved_days(pair: tuple[ObservedLabs, ObservedLabs], name: str) -> list[int]:
    plain, touched = (readings(next(s for s in each.series if s.name == name)) for each in pair)
    return [day for day in plain.keys() & touched.keys() if plain[day] != touched[day]]


def test_a_calculated_result_is_told_as_touched_without_a_size_of_its_own():
    faults = [fault for _, touched in both(with_rate("cooked_meat_before", 1.0), 3) for fault in touched.faults]
    assert {fault.series for fault in faults if fault.kind == "cooked_meat_before"} >= {"creatinine", "egfr"}
    assert all((fault.size is None) == (fault.series == "egfr") for fault in faults if fault.series in ("egfr", "creatinine"))


@pytest.mark.slow
def test_a_fault_on_its_way_to_the_chart_is_noticed_in_its_share_and_only_where_a_laboratory_would():
    comments = []
    for i in range(35):
        observed = observe(person(i), LEVELS, has_specimens=True)
        days = {(fault.kind, day) for fault in observed.faults for day in fault.days}
        for specimen in observed.specimens:
            assert not specimen.comment or (specimen.comment, specimen.day) in days
            comments.append(specimen.comment)
    noticed = {name for name in comments if name}
    assert noticed <= {name.removeprefix("fault_noticed_") for name in KNOWLEDGE.parameters if name.startswith("fault_noticed_")}
    assert "in_vitro_haemolysis" in noticed and "strenuous_exercise" not in noticed


def test_a_draw_that_is_not_fasting_shows_it_raises_triglycerides_and_gives_no_homa():
    for i in range(25):
        observed = observe(person(i), LEVELS, has_specimens=True)
        fed = {specimen.day for specimen in observed.specimens if not specimen.is_fasting}
        faults = {day for fault in observed.faults if fault.kind == "non_fasting" and fault.series == "triglycerides" for day in fault.days}
        triglycerides = next(series for series in observed.series if series.name == "triglycerides")
        assert faults == fed & set(triglycerides.days.tolist())
        homa = next((series for series in observed.series if series.name == "homa_ir"), None)
        assert homa is None or not fed & set(homa.days.tolist())


def test_a_draw_that_is_not_fasting_reports_nothing_that_is_measured_fasting_only():
    """The control: the same visits without specimens have it on some of those days."""
    fasting_only, kept = ("fasting_glucose", "fasting_insulin", "c_peptide", "iron"), 0
    for pair in both(KNOWLEDGE, 25):
        fed = {specimen.day for specimen in pair[1].specimens if not specimen.is_fasting}
        plain, charted = ({series.name: set(series.days.tolist()) for series in each.series} for each in pair)
        assert not any(fed & charted.get(name, set()) for name in fasting_only)
        kept += sum(len(fed & plain[name]) for name in fasting_only)
    assert kept > 20


@pytest.mark.slow
def test_ldl_of_a_draw_that_is_not_fasting_falls_by_what_its_row_says():
    """Printed LDL follows from cholesterol and triglycerides, whose rows must therefore agree with its own."""
    low, high = (getattr(KNOWLEDGE.factor_effects["non_fasting__ldl_c"], end) for end in ("low", "high"))
    fed_in_the_morning = [replace(KNOWLEDGE.parameters["specimen_fasting_morning_p"], value=0.0)]
    fed_in_the_morning.append(replace(KNOWLEDGE.parameters["lot_sd_share"], value=0.0))
    quiet = with_rate("", 0.0)
    knowledge = with_rows("parameters", *[row for row in quiet.parameters.values() if row.value == 0], *fed_in_the_morning)
    changes = [change for pair in both(knowledge, 25) for change in moved(pair, "ldl_c").values()]
    assert len(changes) > 50 and all(low - 0.03 <= change <= high + 0.03 for change in changes)
    assert low / 2 - 0.05 < np.mean(changes) < low / 2 + 0.05


def test_afternoon_draws_show_their_time_and_lower_what_falls_over_the_day():
    early, late = [], []
    for i in range(25):
        observed = observe(person(i), LEVELS, has_specimens=True)
        afternoon = {specimen.day for specimen in observed.specimens if specimen.minute_of_day >= 12 * 60}
        cortisol = readings(next(series for series in observed.series if series.name == "cortisol_am"))
        for day, tick in cortisol.items():
            (late if day in afternoon else early).append(tick)
    assert 0.35 < np.mean(late) / np.mean(early) < 0.65


@pytest.mark.parametrize(("drug", "falls"), [("levothyroxine", True), ("tirzepatide", False)])
def test_a_tablet_before_the_draw_befalls_only_those_who_take_it(drug: str, falls: bool):
    factors = {fault.factor for fault in load_faults(KNOWLEDGE, ("ft4", "tsh"), drug)}
    assert ("levothyroxine_before_blood" in factors) == falls


def test_a_habit_lasts_with_one_size():
    for _, touched in both(with_rate("biotin", 1.0), 8):
        sizes = [fault.size for fault in touched.faults if fault.kind == "biotin" and fault.series == "tsh"]
        assert len(sizes) <= 1 and all(-90 <= size <= -20 for size in sizes)


def test_a_visit_more_moves_no_circumstance_of_another():
    from clinworld.world.observe_labs import observe_laboratory

    days = VISITS[::2]
    for i in range(10):
        fewer = observe_laboratory(person(i), still(LEVELS), days, KNOWLEDGE, Rng("7"), has_specimens=True)
        every = observe(person(i), LEVELS, has_specimens=True)
        known = {specimen.day: (specimen.minute_of_day, specimen.is_fasting, specimen.site) for specimen in every.specimens}
        assert all(known[s.day] == (s.minute_of_day, s.is_fasting, s.site) for s in fewer.specimens if s.day in known)


def test_an_effect_without_a_known_size_is_not_made_up():
    assert load_effects(KNOWLEDGE, "in_vitro_haemolysis", ("potassium",))[0].per_amount
    unsized = with_rows("parameters")
    unsized.__dict__["parameters"] = {name: row for name, row in KNOWLEDGE.parameters.items() if not name.startswith("fault_low_")}
    assert not load_effects(unsized, "in_vitro_haemolysis", ("ldh",))
    assert load_effects(KNOWLEDGE, "in_vitro_haemolysis", ("ldh",))


def test_every_size_of_a_parameter_goes_the_way_its_row_moves():
    for row in KNOWLEDGE.factor_effects.values():
        name = f"{row.factor}__{row.item}"
        if f"fault_low_{name}" in KNOWLEDGE.parameters:
            sizes = KNOWLEDGE.parameter(f"fault_low_{name}"), KNOWLEDGE.parameter(f"fault_high_{name}")
            assert row.low is None and all((size > 0) == (row.moves == "up") for size in sizes), name
            assert abs(sizes[0]) < abs(sizes[1]) and min(sizes) > -100, name
    sized = {name.removeprefix("fault_low_") for name in KNOWLEDGE.parameters if name.startswith("fault_low_")}
    assert sized <= set(KNOWLEDGE.factor_effects)


def test_a_whole_patient_has_specimens_only_where_they_are_asked_for():
    premise = make_premise()
    plain = observe_series(premise, make_course(premise), KNOWLEDGE, Rng("7"))
    asked = observe_series(premise, make_course(premise), KNOWLEDGE, Rng("7"), has_specimens=True)
    assert plain.specimens == () and plain.faults == () and asked.specimens
    kinds = {row.id for row in KNOWLEDGE.factors.values()}
    assert {fault.kind for fault in asked.faults} <= kinds
    assert [series.name for series in plain.series] == [series.name for series in asked.series]


def test_a_world_charts_specimens_as_a_part_that_moves_no_note_order_or_stream():
    premise = make_premise("W-1")
    (_, plain), (_, asked) = (build_world(premise, KNOWLEDGE, Rng("7"), parts) for parts in (frozenset(), frozenset({"specimens"})))
    assert plain.record.specimens == () and asked.record.specimens
    assert plain.record.notes == asked.record.notes and plain.record.prescriptions == asked.record.prescriptions
    fed = {specimen.day for specimen in asked.record.specimens if not specimen.is_fasting}
    for one, other in zip(plain.record.series, asked.record.series, strict=True):
        left_out = fed if one.name == "fasting_glucose" else set()
        assert [day for day in one.days.tolist() if day not in left_out] == other.days.tolist()
        assert one.setting == "laboratory" or one.ticks.tobytes() == other.ticks.tobytes()
