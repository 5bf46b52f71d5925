from dataclasses import replace

import numpy as np
import pytest
from report_case import original

from clinworld.core.rng import Rng
from clinworld.core.text import LANGUAGES, Language
from clinworld.knowledge.load import load_knowledge
from clinworld.report.patients import tell_patients
from clinworld.report.settings import draw_settings, list_parts, make_hard
from clinworld.report.timelines import draw_compact, draw_timeline, drawn_from_gold, find_bounds
from clinworld.report.wording import say, text_width
from clinworld.run.batch_files import Batch
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import PARTS, ChartFault, Record
from clinworld.world.build import build_world

KNOWLEDGE = load_knowledge()


def pairs() -> list[tuple[Item, GoldRow]]:
    batch = Batch(original()[1])
    gold = batch.gold_rows()
    return [(item, gold[item.item_id]) for item in batch.items()]


def points(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_the_true_line_is_shown_up_to_t_and_hidden_after_it_without_a_gap() -> None:
    for item, gold in pairs():
        drawn = draw_timeline(drawn_from_gold(item, gold), KNOWLEDGE, "en", title="x")
        shown, hidden = points(drawn.truth), points(drawn.truth_hidden)
        assert shown[-1] == hidden[0] and shown[-1][0] == drawn.index_x
        assert hidden[-1][0] == drawn.right and drawn.last_day == len(gold.truth_weight_ticks) - 1


def test_everything_drawn_lies_inside_the_picture() -> None:
    for item, gold in pairs():
        drawn = draw_timeline(drawn_from_gold(item, gold), KNOWLEDGE, "zh", title="x")
        for x, y in [*points(drawn.truth), *points(drawn.truth_hidden), *((m.x, m.y) for m in (*drawn.faulty, *drawn.turns))]:
            assert drawn.left <= x <= drawn.right and drawn.top <= y <= drawn.bottom
        for lane in drawn.lanes:
            assert drawn.bottom < lane.y and lane.bottom < drawn.height
            assert all(drawn.left <= bar.x and bar.x + bar.width <= drawn.right + 5 for bar in lane.bars)
            assert all(lane.y <= mark.y <= lane.bottom for mark in lane.marks)


def test_a_weight_that_turns_has_a_mark_and_one_that_stays_has_none() -> None:
    for item, gold in pairs():
        drawn = draw_timeline(drawn_from_gold(item, gold), KNOWLEDGE, "en", title="x")
        assert bool(drawn.turns) == gold.gold.event_occurs


def with_fault(gold: GoldRow, fault: ChartFault, chart: Record | None = None) -> GoldRow:
    return replace(gold, faults=(fault,), chart=chart or gold.chart)


def test_a_reading_touched_by_a_fault_is_drawn_apart_and_named() -> None:
    item, gold = pairs()[0]
    day = int(gold.chart.find("weight").days[5])  # type: ignore[union-attr]
    faulty = with_fault(gold, ChartFault("transient_spike", "weight", (day,), 3.6))
    drawn = draw_timeline(drawn_from_gold(item, faulty), KNOWLEDGE, "en", title="x")
    assert len(drawn.faulty) == 1 and KNOWLEDGE.artifacts["transient_spike"].names.en in drawn.faulty[0].label
    assert drawn.lanes[0].kind == "faults" and len(drawn.lanes[0].bars) == 1
    assert not draw_timeline(drawn_from_gold(item, gold), KNOWLEDGE, "en", title="x").faulty


def test_readings_left_out_are_drawn_as_a_gap() -> None:
    item, gold = pairs()[0]
    missing = with_fault(gold, ChartFault("mnar_missing", "weight", (20, 21, 28), None))
    assert len(draw_timeline(drawn_from_gold(item, missing), KNOWLEDGE, "en", title="x").gaps) == 1


def test_fault_bars_that_would_overlap_stand_in_rows_of_their_own() -> None:
    item, gold = pairs()[0]
    faults = tuple(ChartFault(kind, "weight", (30, 31, 32), 1.0) for kind in ("context_confound", "unit_error", "transient_spike"))
    lane = draw_timeline(drawn_from_gold(item, replace(gold, faults=faults)), KNOWLEDGE, "en", title="x").lanes[0]
    assert len({bar.y for bar in lane.bars}) == 3


def test_pictures_with_given_bounds_share_one_scale() -> None:
    drawn = [drawn_from_gold(item, gold) for item, gold in pairs()]
    bounds = find_bounds(drawn)
    ticks = {draw_timeline(each, KNOWLEDGE, "en", title="x", bounds=bounds).y_ticks for each in drawn}
    assert len(ticks) == 1


def test_a_reading_in_pounds_stands_at_the_edge_and_flattens_nothing() -> None:
    item, gold = pairs()[0]
    weight = gold.chart.find("weight")
    assert weight is not None
    ticks = weight.ticks.copy()
    ticks[5] = round(2.2046 * ticks[5])
    in_pounds = replace(weight, ticks=ticks)
    chart = replace(gold.chart, series=tuple(in_pounds if each is weight else each for each in gold.chart.series))
    fault = ChartFault("unit_error", "weight", (int(weight.days[5]),), 2.2046)
    faulty = drawn_from_gold(item, replace(gold, chart=chart, faults=(fault,)))
    assert find_bounds([faulty]) == find_bounds([drawn_from_gold(item, replace(gold, faults=()))])
    (mark,) = draw_timeline(faulty, KNOWLEDGE, "en", title="x").faulty
    assert mark.y == draw_timeline(faulty, KNOWLEDGE, "en", title="x").top and f"{ticks[5] / 10:.1f} kg" in mark.label


def test_the_small_picture_shows_the_same_days() -> None:
    item, gold = pairs()[0]
    small = draw_compact(gold, item.index_day, title="x")
    assert points(small.truth)[-1] == points(small.truth_hidden)[0]


def test_one_patient_at_three_difficulties_keeps_the_truth_and_gains_faults_and_events() -> None:
    drawn = draw_settings(pairs(), KNOWLEDGE, "en")
    assert drawn.same_truth and not drawn.reason
    quiet, asked, hard = drawn.settings
    assert (quiet.name, asked.name, hard.name) == ("quiet", "as_asked", "hard")
    assert quiet.faults == 0 and hard.faults > asked.faults and hard.events > quiet.events
    assert quiet.timeline.truth == hard.timeline.truth and quiet.timeline.truth_hidden == hard.timeline.truth_hidden


def test_the_as_asked_setting_is_the_chart_of_the_item() -> None:
    found = draw_settings(pairs(), KNOWLEDGE, "en")
    item, gold = next(pair for pair in pairs() if pair[0].item_id == found.item_id)
    again = draw_timeline(drawn_from_gold(item, gold), KNOWLEDGE, "en", title="x", bounds=(0, 200))
    bounded = next(each for each in found.settings if each.name == "as_asked").timeline
    assert len(again.home[0]) > 0 and again.home[0].count("h0") == bounded.home[0].count("h0")


@pytest.mark.parametrize(
    ("devices", "absent"), [(("wearable",), {"transient_spike", "unit_error", "context_confound"}), (("smart_scale",), set())]
)
def test_the_hard_setting_holds_each_fault_the_devices_allow_and_no_other(devices: tuple[str, ...], absent: set[str]) -> None:
    premise = pairs()[0][1].premise
    hard = make_hard(replace(premise, patient=replace(premise.patient, devices=devices), adherence_low=0.6), KNOWLEDGE)
    kinds = {artifact.kind for artifact in hard.artifacts}
    assert not kinds & absent and ("adherence_gap" in kinds)
    assert absent or kinds == set(KNOWLEDGE.artifacts)
    assert hard.distractor_level == "high" and hard.density.symptom_rate > premise.density.symptom_rate


def test_without_an_item_the_settings_say_why() -> None:
    assert draw_settings([], KNOWLEDGE, "en").reason


def test_the_truth_drawn_is_the_truth_on_disk() -> None:
    item, gold = pairs()[0]
    assert np.array_equal(np.rint(drawn_from_gold(item, gold).truth_kg * 100).astype(int), np.array(gold.truth_weight_ticks))


def laboratory(*days: int, kind: str = "in_vitro_haemolysis", analyte: str = "potassium") -> ChartFault:
    return ChartFault(kind, analyte, days, 0.4)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_fault_of_the_laboratory_has_a_strip_of_its_own_and_touches_nothing_of_the_weight(language: Language) -> None:
    item, gold = pairs()[0]
    faults = (laboratory(30), laboratory(30, analyte="ldh"), replace(laboratory(30, analyte="egfr"), size=None))
    drawn = draw_timeline(drawn_from_gold(item, replace(gold, faults=faults)), KNOWLEDGE, language, title="x")
    plain = draw_timeline(drawn_from_gold(item, replace(gold, faults=())), KNOWLEDGE, language, title="x")
    assert (drawn.home, drawn.clinic, drawn.faulty, drawn.gaps) == (plain.home, plain.clinic, (), ())
    assert [lane.kind for lane in drawn.lanes] == [*(lane.kind for lane in plain.lanes), "lab_faults"]
    (bar,) = drawn.lanes[-1].bars
    assert bar.text == KNOWLEDGE.factors["in_vitro_haemolysis"].names.say(language)
    assert all(KNOWLEDGE.analytes[name].names.say(language) in bar.label for name in ("potassium", "ldh", "egfr"))


@pytest.mark.slow
def test_faults_of_the_laboratory_on_many_days_stand_one_bar_a_day_inside_the_picture() -> None:
    item, gold = pairs()[0]
    last = len(gold.truth_weight_ticks) - 1
    faults = (laboratory(0, 40, last), laboratory(last, kind="reagent_lot"), laboratory(2, kind="non_fasting", analyte="ldl_c"))
    for language in LANGUAGES:
        drawn = draw_timeline(drawn_from_gold(item, replace(gold, faults=faults)), KNOWLEDGE, language, title="x")
        lane = drawn.lanes[-1]
        assert [len([bar for bar in lane.bars if bar.text]), len(lane.bars)] == [3, 5]
        for bar in lane.bars:
            assert drawn.left <= bar.x and bar.x + bar.width <= drawn.right + 5 and lane.y <= bar.y and bar.y + bar.height <= lane.bottom
            assert not bar.text or (drawn.left < bar.text_x and bar.text_x + text_width(bar.text) <= drawn.right + 5)


def test_the_facts_of_a_patient_count_the_days_of_each_kind_of_fault_with_those_of_the_laboratory_apart() -> None:
    item, gold = pairs()[0]
    faults = (ChartFault("unit_error", "weight", (20, 21), 2.2), laboratory(30, 60), laboratory(60, analyte="ldh"))
    facts = dict(tell_patients([(item, replace(gold, faults=faults))], KNOWLEDGE, "en")[0].facts)
    assert facts[say("fact:faults", "en")] == say("fault_days", "en", name=KNOWLEDGE.artifacts["unit_error"].names.en, count=2)
    assert facts[say("fact:lab_faults", "en")] == say("fault_days", "en", name=KNOWLEDGE.factors["in_vitro_haemolysis"].names.en, count=2)
    assert say("fact:lab_faults", "en") not in dict(tell_patients([(item, replace(gold, faults=()))], KNOWLEDGE, "en")[0].facts)


def test_the_settings_of_a_patient_with_parts_are_made_with_them_and_count_planned_faults_alone() -> None:
    item, gold = pairs()[0]
    premise = replace(gold.premise, patient=replace(gold.premise.patient, devices=("smart_scale", "wearable", "lab_panel")))
    _, chart = build_world(premise, KNOWLEDGE, Rng(premise.seed), frozenset(PARTS))
    assert list_parts(chart.record) == frozenset(PARTS) and list_parts(gold.chart) == frozenset()
    assert any(fault.kind in KNOWLEDGE.factors for fault in chart.faults)
    with_parts = replace(gold, premise=premise, chart=chart.record, faults=chart.faults)
    quiet, asked, _ = draw_settings([(item, with_parts)], KNOWLEDGE, "en").settings
    assert quiet.faults == 0 and asked.faults == len(premise.artifacts)
    assert asked.timeline.lanes[-1].kind == "lab_faults"
