"""When notes are told and under which ids: neither may tell what kind of note it is, or anything of the answer."""

import re
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_premise import make_premise

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import PlannedSymptom
from clinworld.world.note_days import draw_note_days, draw_spread_days, load_day_rules
from clinworld.world.notes import observe_notes

RNG = Rng("timing")


@lru_cache
def knowledge():
    return load_knowledge()


def separation(one, other):
    """How well a number tells two groups apart: 0.5 not at all, 1 perfectly, whatever the direction."""
    one, other = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    below = np.mean((one[:, None] < other[None, :]) + 0.5 * (one[:, None] == other[None, :]))
    return max(below, 1 - below)


def edge_separation(one, other, middle):
    """The same for the distance from the middle, so that a group kept to both edges is seen as well."""
    return separation(np.abs(np.asarray(one) - middle), np.abs(np.asarray(other) - middle))


@lru_cache
def told_by_kind(cases=300, rate=0.5, life_rate=0.3, level="low", n_real=2):
    """(day, id as a number) of every note up to T by kind; real symptoms on days drawn evenly from the same window."""
    found = {}
    for n in range(cases):
        days = sorted({7 + int(u * 78) for u in RNG.at(f"kind-{n}", "real").uniform(n_real)})
        symptoms = tuple(PlannedSymptom(day, f"sore wrist {day}", f"手腕疼{day}", "", "", False) for day in days)
        premise = make_premise(
            case_id=f"kind-{n}", density=EventDensity(7.0, 1.0, rate, life_rate), symptoms=symptoms, distractor_level=level
        )
        observed = observe_notes(premise, knowledge(), RNG)
        kinds = {origin.note_id: origin.kind for origin in observed.origins}
        for note in observed.notes:
            if note.day <= 84:
                found.setdefault(kinds[note.note_id], []).append((note.day, int(note.note_id[1:], 16)))
    return {kind: np.array(rows) for kind, rows in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["benign", "life", "distractor", "real"])
def test_the_day_of_a_note_does_not_tell_its_kind(kind):
    # Few events a case, as jobs have by default. Look-alikes are apart: they end three days before T.
    found = told_by_kind(rate=0.1, life_rate=0.1, level="none") if kind == "real" else told_by_kind()
    days = found[kind][:, 0]
    rest = np.concatenate([rows[:, 0] for other, rows in found.items() if other not in (kind, "look_alike", "real")])
    assert separation(days, rest) < 0.56
    assert edge_separation(days, rest, 45) < 0.56


@pytest.mark.slow
def test_the_separation_measure_sees_events_that_are_kept_early_or_to_the_edges():
    benign = told_by_kind()["benign"][:, 0]
    assert separation(benign, benign - 10) > 0.58
    assert edge_separation(benign, np.where(benign > 45, benign + 10, benign - 10), 45) > 0.58


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["benign", "life", "distractor", "real", "look_alike"])
def test_an_id_tells_neither_kind_nor_day(kind):
    found = told_by_kind()
    rest = np.concatenate([rows[:, 1] for other, rows in found.items() if other != kind])
    assert separation(found[kind][:, 1], rest) < (0.56 if kind != "look_alike" else 0.62)
    everything = np.concatenate(list(found.values()))
    assert abs(np.corrcoef(everything[:, 0], everything[:, 1])[0, 1]) < 0.06


def test_ids_have_one_form_are_unique_and_differ_between_cases():
    ids = []
    for n in range(40):
        observed = observe_notes(make_premise(case_id=f"id-{n}", density=EventDensity(7.0, 1.0, 1.0, 0.5)), knowledge(), RNG)
        names = [note.note_id for note in observed.notes]
        assert len(set(names)) == len(names) and all(re.fullmatch("E[0-9a-f]{6}", name) for name in names)
        assert [origin.note_id for origin in observed.origins] == names
        assert [(note.day, note.note_id) for note in observed.notes] == sorted((note.day, note.note_id) for note in observed.notes)
        ids += names
    assert len(set(ids)) > 0.99 * len(ids)


def test_two_equal_symptoms_on_one_day_get_two_ids():
    twice = (PlannedSymptom(20, "dizzy", "dizzy", "", "", True),) * 2
    assert len({note.note_id for note in observe_notes(make_premise(symptoms=twice), knowledge(), RNG).notes if note.day == 20}) == 2


@pytest.mark.slow
def test_outcome_and_driver_move_no_day():
    density = EventDensity(7.0, 1.0, 0.6, 0.3)
    for n in range(10):
        days = {
            tuple(note.day for note in observe_notes(premise, knowledge(), RNG).notes)
            for premise in [
                make_premise(case_id=f"day-{n}", outcome=outcome, driver=driver, density=density)
                for outcome in ("regain", "maintain")
                for driver in knowledge().drivers
            ]
        }
        assert len(days) == 1


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 40), st.integers(0, 30), st.integers(7, 200), st.sets(st.integers(0, 240), max_size=20), st.integers())
def test_days_are_distinct_inside_the_window_and_never_those_of_a_real_symptom(n, first, width, taken, case):
    last, rules = first + width, load_day_rules(knowledge())
    free = set(range(first, last + 1)) - taken
    series = RNG.at(str(case), "days")
    if n > len(free):
        with pytest.raises(PremiseConflict, match=f"{n} events") as conflict:
            draw_note_days(n, first, last, taken, series, rules, "case x")
        assert conflict.value.kind == "event_density_mismatch" and f"{len(free)} days" in conflict.value.allowed
        return
    for draw in (draw_note_days, draw_spread_days):
        days = draw(n, first, last, taken, series, rules, "case x")
        assert len(days) == n and days == sorted(set(days)) and set(days) <= free


def test_a_taken_day_moves_only_the_event_that_wanted_it():
    rules = load_day_rules(knowledge())
    for n in range(40):
        series = RNG.at(f"taken-{n}", "days")
        days = draw_note_days(6, 7, 84, (), series, rules, "case x")
        moved = draw_note_days(6, 7, 84, (days[3],), series, rules, "case x")
        assert len(set(days) - set(moved)) <= 2


def test_events_cluster_and_seldom_crowd_into_the_last_third():
    rules = load_day_rules(knowledge())
    gaps, crowded, plain_crowded = [], 0, 0
    for n in range(300):
        days = draw_spread_days(6, 7, 84, (), RNG.at(f"cluster-{n}", "days"), rules, "case x")
        plain = draw_note_days(6, 7, 84, (), RNG.at(f"cluster-{n}", "days"), rules, "case x")
        gaps += np.diff(days).tolist()
        crowded += sum(day > 58 for day in days) > 3
        plain_crowded += sum(day > 58 for day in plain) > 3
    assert crowded == 0 < plain_crowded
    assert np.mean(np.array(gaps) <= 4) > 0.4 and max(gaps) > 40, "evenly spaced events would show no short and no long gaps"
