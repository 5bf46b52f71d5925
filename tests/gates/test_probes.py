"""Appended questions: drawn from the record at T, answerable from it alone, and not from the question."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from gate_case import FEW, ROUNDS, SINGLE, built, drawn, knowledge

from clinworld.access.prompt import render_prompt
from clinworld.core.rng import Rng
from clinworld.gates.probes.question_side import CONTRADICTS, NO_DATA, draw_probes, false_tick, find_window, read_trend
from clinworld.schema.record import Series


def series(days, ticks, *, name="steps", decimals=0, setting="home"):
    row = knowledge().streams.get(name) or knowledge().analytes[name]
    return Series(name, setting, row.ucum, decimals, np.array(days, dtype=np.int32), np.array(ticks, dtype=np.int64))


def all_probes():
    for case in (*built(SINGLE), *built(ROUNDS, FEW)):
        for question, gold in zip(case.item.probes, case.gold.probes, strict=True):
            yield case, question, gold


def test_each_item_asks_all_three_kinds_about_three_series_a_clinician_reads():
    for case in (*built(SINGLE), *built(ROUNDS, FEW)):
        assert [probe.kind for probe in case.item.probes] == ["false_premise", "no_op", "quant"]
        names = [probe.about for probe in case.item.probes]
        assert len(set(names)) == 3
        assert all((knowledge().streams.get(name) or knowledge().analytes[name]).clinician_reads for name in names)


def test_no_question_reaches_past_the_index_day():
    assert all(question.days[1] <= case.item.index_day for case, question, _ in all_probes())


def test_a_question_and_its_reply_say_nothing_of_the_outcome():
    both = Counter((gold.kind, gold.variant, case.gold.gold.event_occurs) for case, _, gold in all_probes())
    for kind, variant in {(kind, variant) for kind, variant, _ in both}:
        assert both[kind, variant, True] and both[kind, variant, False], (kind, variant)


def test_questions_are_appended_and_change_nothing_of_the_base_prompt():
    case = built(SINGLE)[0]
    from gate_case import pack

    def prompt(with_probes: bool) -> str:
        return render_prompt(case.item, pack().pack, knowledge(), day=case.item.index_day, with_probes=with_probes, earlier=None)

    assert prompt(True).startswith(prompt(False)) and len(prompt(True)) > len(prompt(False))


def test_probes_depend_on_seed_case_and_record_only():
    case = built(SINGLE)[0]
    shown, day = case.item.record.until(case.item.index_day), case.item.index_day
    rng = Rng(case.gold.premise.seed)
    assert draw_probes(shown, day, knowledge(), rng, case.case_id) == (case.item.probes, case.gold.probes)
    assert draw_probes(shown, day, knowledge(), rng, "other") != (case.item.probes, case.gold.probes)


def test_a_series_nobody_asks_about_moves_no_question():
    case = built(SINGLE)[0]
    shown, day = case.item.record.until(case.item.index_day), case.item.index_day
    filler = series(range(0, day, 2), range(0, day, 2), name="stress_score")
    more = replace(shown, series=(*(s for s in shown.series if s.name != "stress_score"), filler))
    drawn_with = draw_probes(more, day, knowledge(), Rng(case.gold.premise.seed), case.case_id)
    assert drawn_with == (case.item.probes, case.gold.probes)


@pytest.mark.parametrize("days", [range(0, 84), range(0, 84, 3), [0, 40, 80]])
def test_a_gap_window_holds_no_reading_and_a_covered_one_does(days):
    each = series(days, range(len(list(days))))
    gap, covered = (find_window(each, 84, 14, 5, is_gap=is_gap) for is_gap in (True, False))
    inside = lambda window: int(((each.days >= window[0]) & (each.days <= window[1])).sum())  # noqa: E731 - used twice, here
    assert gap is None or inside(gap) == 0
    assert covered is not None and inside(covered) >= 1
    assert all(window is None or (window[0] >= 0 and window[1] == window[0] + 13 <= 84) for window in (gap, covered))


def test_a_daily_series_has_no_gap_and_a_record_shorter_than_a_window_has_no_window():
    assert find_window(series(range(84), range(84)), 84, 14, 5, is_gap=True) is None
    assert find_window(series([0, 1], [1, 2]), 10, 14, 5, is_gap=False) is None


@pytest.mark.parametrize(
    ("ticks", "trend"),
    [
        ([100, 100, 110, 120, 120], "rising"),
        ([120, 120, 110, 100, 100], "falling"),
        ([100, 100, 140, 101, 101], "flat"),
        ([100, 100, 140, 102, 102], "flat"),
        ([100, 100, 140, 104, 104], "rising"),
        ([100, 120, 110, 120, 100], None),
    ],
)
def test_a_trend_is_flat_inside_the_dead_zone_and_not_asked_when_one_reading_decides(ticks, trend):
    assert read_trend(series(range(len(ticks)), ticks), knowledge()) == trend


@pytest.mark.parametrize("name", ["hba1c", "ldl_c", "alt", "weight_clinic"])
@pytest.mark.parametrize("side", [0.1, 0.9])
def test_a_false_claim_is_off_by_more_than_noise_on_either_side_and_possible(name, side):
    row = knowledge().analytes.get(name) or knowledge().streams[name]
    tick = round({"hba1c": 6.4, "ldl_c": 3.1, "alt": 30, "weight_clinic": 92}[name] * 10**row.decimals)
    said = false_tick(series([0], [tick], name=name, decimals=row.decimals), tick, knowledge(), side)
    assert (said > tick) == (side < 0.5) and abs(said - tick) >= 2
    assert row.hard_low * 10**row.decimals < said < row.hard_high * 10**row.decimals


def test_a_claim_that_would_be_impossible_turns_round():
    row = knowledge().analytes["hba1c"]
    tick = round(row.hard_low * 10) + 1
    assert false_tick(series([0], [tick], name="hba1c", decimals=1), tick, knowledge(), 0.9) > tick


@pytest.mark.slow
def test_neither_the_series_nor_the_side_of_a_claim_tells_the_reply():
    by_setting, sides = defaultdict(Counter), Counter()
    for case in drawn(200):
        for question, gold in zip(case.item.probes, case.gold.probes, strict=True):
            charted = case.item.record.find(question.about)
            if gold.kind == "no_op":
                by_setting[charted.setting][gold.expected == (NO_DATA,)] += 1
            if gold.kind == "false_premise" and gold.expected == (CONTRADICTS,):
                said = float(question.claim.en.split(" was ")[1].split(" ")[0])
                sides[said > charted.values()[int(np.flatnonzero(charted.days == question.days[0])[0])]] += 1
    assert 0.35 < sides[True] / sides.total() < 0.65
    laboratory = by_setting["laboratory"]
    assert 0.3 < laboratory[True] / laboratory.total() < 0.7
