"""Appended questions: drawn from the record at T, answerable from it alone, and not from the question."""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from gate_case import FEW, ROUNDS, SINGLE, built, drawn, knowledge

from clinworld.access.prompt import render_prompt
from clinworld.core.rng import Rng
from clinworld.gates.probes.question_side import CONTRADICTS, NO_DATA, draw_probes, false_tick, list_windows, load_levels, read_trend
from clinworld.knowledge.reference_change import reference_change_pct
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


def inside(each: Series, start: int) -> int:
    return int(((each.days >= start) & (each.days <= start + 13)).sum())


@pytest.mark.parametrize("days", [[0, 30, 61], [20, 45], [3, 50, 52, 55], [*range(0, 30), *range(50, 85)]])
def test_a_gap_window_holds_no_reading_a_covered_one_does_and_a_pair_lies_close(days):
    each = series(days, range(len(days)))
    windows = list_windows(each, 84, knowledge())
    assert windows.is_paired and len(windows.covered) == len(windows.empty) > 0
    assert all(inside(each, int(start)) >= 1 for start in windows.covered)
    assert all(inside(each, int(start)) == 0 for start in windows.empty)
    assert np.abs(windows.covered - windows.empty).max() <= 14
    assert min(windows.covered.min(), windows.empty.min()) >= 0 and max(windows.covered.max(), windows.empty.max()) <= 71


def test_windows_with_empty_ones_on_either_side_are_preferred():
    assert list_windows(series([40], [1]), 84, knowledge()).is_balanced
    only_after = list_windows(series([0], [1]), 84, knowledge())
    assert only_after.is_paired and not only_after.is_balanced


def test_a_series_read_at_planned_visits_or_every_day_has_no_pairs_and_a_short_record_no_window():
    assert not list_windows(series([0, 31, 55, 84], [1, 2, 3, 4], name="weight_clinic", setting="clinic"), 84, knowledge()).is_paired
    daily = list_windows(series(range(84), range(84)), 84, knowledge())
    assert not daily.is_paired and len(daily.empty) == 0 and len(daily.covered) > 0
    short = list_windows(series([0, 1], [1, 2]), 10, knowledge())
    assert len(short.covered) == len(short.empty) == 0


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
@pytest.mark.parametrize("side", [0.01, 0.99])
def test_a_false_claim_is_off_by_more_than_noise_on_either_side_and_possible(name, side):
    row = knowledge().analytes.get(name) or knowledge().streams[name]
    tick = round({"hba1c": 6.4, "ldl_c": 3.1, "alt": 30, "weight_clinic": 92}[name] * 10**row.decimals)
    said = false_tick(series([0], [tick], name=name, decimals=row.decimals), tick, knowledge(), side)
    least = (
        reference_change_pct(row, knowledge()) / 100
        if name in knowledge().analytes
        else knowledge().parameter("probe.false_share_of_value")
    )
    assert (said > tick) == (side < 0.5) and abs(said - tick) >= 2
    assert least * tick < abs(said - tick) <= least * tick + 2
    assert row.hard_low * 10**row.decimals < said < row.hard_high * 10**row.decimals


def test_a_false_claim_goes_towards_the_usual_level_more_often_the_further_away_the_value_is():
    high, usual, low = (
        np.mean(
            [false_tick(series([0], [tick], name="hba1c", decimals=1), tick, knowledge(), side) > tick for side in np.linspace(0, 1, 101)]
        )
        for tick in (100, round(10 * load_levels()["hba1c"][0]), 45)
    )
    assert high < 0.4 < usual < 0.6 < low
    assert set(load_levels()) <= set(knowledge().analytes) | set(knowledge().streams)


def test_a_claim_that_would_be_impossible_turns_round():
    row = knowledge().analytes["hba1c"]
    tick = round(row.hard_low * 10) + 1
    assert false_tick(series([0], [tick], name="hba1c", decimals=1), tick, knowledge(), 0.9) > tick


def question_features(case, question):
    """What a question says without the record: the series, its days, T and the value claimed."""
    said = float(question.claim.en.split(" was ")[1].split(" ")[0]) if question.claim else 0.0
    names = sorted([*knowledge().analytes, *knowledge().streams])
    level, spread = load_levels().get(question.about, (1.0, 1.0))
    away = np.log(max(said, 1e-6) / level) / spread if question.claim else 0.0
    day, index_day = question.days[0], case.item.index_day
    return [names.index(question.about), day, index_day, day / index_day, index_day - day, day % 7, day % 28, said, away, abs(away)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no_op", "false_premise"])
def test_a_learner_that_sees_the_question_alone_cannot_tell_its_reply(kind):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    pairs = [(case, q, g) for case in drawn(500) for q, g in zip(case.item.probes, case.gold.probes, strict=True) if q.kind == kind]
    features = np.array([question_features(case, question) for case, question, _ in pairs])
    is_odd = np.array([gold.expected in ((NO_DATA,), (CONTRADICTS,)) for _, _, gold in pairs])
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    guessed = cross_val_predict(forest, features, is_odd, cv=folds, method="predict_proba")[:, 1]
    assert 0.5 < is_odd.mean() < 0.7
    assert roc_auc_score(is_odd, guessed) < 0.6


@pytest.mark.slow
def test_neither_the_series_nor_the_side_of_a_claim_tells_the_reply():
    by_setting, sides = defaultdict(Counter), Counter()
    for case in drawn(500):
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
