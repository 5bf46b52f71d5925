"""Notes of a chart: how many, which, in whose words. When they are told and what ids they bear is tested in test_notes_timing.py."""

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_premise import make_premise

from clinworld.core.errors import KnowledgeError, PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.knowledge.load import load_knowledge
from clinworld.knowledge.rows import BenignEvent
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import PlannedSymptom
from clinworld.world.event_pool import answer_words, count_denied, find_answer_word, load_pool
from clinworld.world.notes import count_distractors, count_events, observe_notes
from clinworld.world.panel import panel_analytes, render_panel

RNG = Rng("notes")
BUSY = EventDensity(7.0, 1.0, 0.5, 0.2)


@lru_cache
def knowledge():
    return load_knowledge()


class Changed:
    """A knowledge with some tables or parameters replaced."""

    def __init__(self, parameters=None, **tables):
        self._base, self._changes = knowledge(), tables
        self.parameters = {**self._base.parameters, **(parameters or {})}

    def parameter(self, name):
        return self.parameters[name].value

    def __getattr__(self, name):
        return self._changes[name] if name in self._changes else getattr(self._base, name)


def event(name, kind="benign", text="Hummed a tune all day", **changes):
    row = BenignEvent(
        name, kind, name, Wording(text, "哼了一天歌"), None, 1.0, "", None, None, False, "", None, None, (), "authored", "authored"
    )
    return replace(row, **changes)


def notes_by_kind(observed, until=10_000):
    kinds = {origin.note_id: origin for origin in observed.origins}
    return [(note, kinds[note.note_id]) for note in observed.notes if note.day <= until]


def count_kinds(observed, until):
    return Counter(origin.kind for _, origin in notes_by_kind(observed, until))


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 1.2), st.floats(0, 0.8), st.integers(14, 336), st.sampled_from(["none", "low", "high"]), st.integers(0, 3), st.integers()
)
def test_the_number_of_events_up_to_the_index_day_is_exactly_what_the_rates_say(rate, life_rate, index_day, level, n_real, case):
    symptoms = tuple(PlannedSymptom(8 + 2 * n, f"pins and needles {n}", f"pins and needles {n}", "", "", True) for n in range(n_real))
    premise = make_premise(
        case_id=str(case),
        index_day=index_day,
        course_end_day=index_day + 60,
        density=EventDensity(7.0, 1.0, rate, life_rate),
        distractor_level=level,
        symptoms=symptoms,
    )
    due, life_due = round(rate * max(1, index_day / 7)), round(life_rate * max(1, index_day / 7))
    needed = {"none": 0, "low": 1, "high": min(10, max(6, due))}[level]
    try:
        found = count_kinds(observe_notes(premise, knowledge(), RNG), index_day)
    except PremiseConflict as refused:
        assert refused.kind == "event_density_mismatch"
        assert needed > due or due > 20 or life_due > 20 or index_day < 30, str(refused)
        return
    assert found["benign"] + found["distractor"] + found["look_alike"] == due
    assert found["life"] == life_due
    assert found["distractor"] == needed
    assert found["real"] == n_real


def test_a_distractor_level_that_needs_more_than_the_rate_allows_is_refused_with_both_counts():
    refused = make_premise(distractor_level="high", density=EventDensity(7.0, 1.0, 0.1, 0.05))
    with pytest.raises(PremiseConflict) as conflict:
        observe_notes(refused, knowledge(), RNG)
    assert conflict.value.kind == "event_density_mismatch"
    assert "needs 6 " in conflict.value.found and conflict.value.allowed.endswith("allows 1")
    allowed = make_premise(distractor_level="high", density=EventDensity(7.0, 1.0, 0.5, 0.05))
    assert count_kinds(observe_notes(allowed, knowledge(), RNG), 84)["distractor"] == 6
    assert count_distractors(allowed, knowledge()) == count_events(0.5, 84) == 6


def test_a_density_the_event_rows_cannot_hold_is_refused_with_both_counts():
    few = Changed(events={name: event(name) for name in ("one", "two", "three")})
    with pytest.raises(PremiseConflict) as conflict:
        observe_notes(make_premise(density=EventDensity(7.0, 1.0, 0.5, 0.0)), few, RNG)
    assert conflict.value.kind == "event_density_mismatch"
    assert "6 events" in conflict.value.found and "3 topics in 3 event rows" in conflict.value.allowed


def test_an_event_row_added_to_the_table_moves_no_other_draw():
    added = Changed(events={**knowledge().events, "humming": event("humming"), "whistling": event("whistling", "life")})
    won, changed = 0, 0
    for n in range(60):
        # Without harms of the drug, which are told in the place of events.
        premise = make_premise(case_id=f"add-{n}", density=BUSY, has_physiology=False)
        before, after = observe_notes(premise, knowledge(), RNG), observe_notes(premise, added, RNG)
        assert [note.day for note in before.notes] == [note.day for note in after.notes]
        fresh = [origin for origin in after.origins if origin.row in ("humming", "whistling")]
        won += len(fresh)
        changed += len(set(before.notes) - set(after.notes))
        assert fresh or before == after
    assert 5 < won < 60
    assert changed < 1.6 * won, "a row that lost its place may win a later one, but seldom does"


def test_a_longer_course_and_a_written_symptom_after_the_index_day_move_nothing_before_it():
    short, long = (observe_notes(make_premise(density=BUSY, course_end_day=end), knowledge(), RNG) for end in (224, 560))
    assert notes_by_kind(short, 84) == notes_by_kind(long, 84)
    assert short.notes[-1].day <= 224 < long.notes[-1].day <= 560
    late = PlannedSymptom(200, "a sore thumb", "a sore thumb", "", "", True)
    assert notes_by_kind(observe_notes(make_premise(density=BUSY, symptoms=(late,)), knowledge(), RNG), 84) == notes_by_kind(long, 84)


def test_events_go_on_at_the_same_rate_after_the_index_day():
    told = count_kinds(observe_notes(make_premise(density=BUSY), knowledge(), RNG), 365)
    assert told["benign"] + told["look_alike"] == round(0.5 * 12) + round(0.5 * 281 / 7)
    assert told["life"] == round(0.2 * 12) + round(0.2 * 281 / 7)


def test_a_rate_beyond_the_rows_repeats_rows_after_the_index_day_only():
    few = Changed(events={name: event(name) for name in ("one", "two", "three")})
    observed = observe_notes(make_premise(density=EventDensity(7.0, 1.0, 0.1, 0.0)), few, RNG)
    assert len([note for note in observed.notes if note.day > 84]) == round(0.1 * 281 / 7) == 4


@pytest.mark.parametrize("level", ["low", "high"])
def test_switching_a_distractor_level_on_changes_no_note_but_the_distractors(level):
    for n in range(30):
        plain = make_premise(case_id=f"level-{n}", density=BUSY)
        before, after = (observe_notes(p, knowledge(), RNG) for p in (plain, replace(plain, distractor_level=level)))
        distractors = {note for note, origin in notes_by_kind(after) if origin.kind == "distractor"}
        assert set(after.notes) - distractors <= set(before.notes)
        assert [note.day for note in before.notes] == [note.day for note in after.notes]
        assert len(before.notes) == len(after.notes)
        assert all(knowledge().events[origin.row].shadows for _, origin in notes_by_kind(after) if origin.kind == "distractor")


def test_no_event_could_be_mistaken_for_the_driver_or_anything_known():
    drawn = set()
    for driver in knowledge().drivers:
        for n in range(8):
            premise = make_premise(
                case_id=f"shadow-{n}", driver=driver, disease="type_2_diabetes", comorbidities=("hypertension",), density=BUSY
            )
            for _, origin in notes_by_kind(observe_notes(premise, knowledge(), RNG)):
                row = knowledge().events.get(origin.row)
                if row is not None:
                    drawn.add(row.id)
                    assert not {driver, "type_2_diabetes", "hypertension"} & set(row.shadows), row.id
    assert any(knowledge().events[name].shadows for name in drawn), "the control: rows that shadow something else are drawn"


@pytest.mark.parametrize(
    ("changes", "is_barred"),
    [
        ({"sex": "M"}, lambda row: row.sex == "F"),
        ({"age_low": 65, "age_high": 69}, lambda row: row.is_exertional or row.age_high == 50),
        ({"bmi": 36.0}, lambda row: row.is_exertional),
        ({"distractor_axes": ("season",)}, lambda row: row.axis == "season"),
    ],
)
def test_an_event_that_does_not_fit_the_patient_is_never_drawn(changes, is_barred):
    barred = {row.id for row in knowledge().events.values() if is_barred(row)}
    plain = {"bmi": 30.0, "density": BUSY}
    fit, unfit = set(), set()
    for n in range(40):
        fit |= {origin.row for origin in observe_notes(make_premise(case_id=f"fit-{n}", **plain), knowledge(), RNG).origins}
        other = make_premise(case_id=f"fit-{n}", **{**plain, **changes})
        unfit |= {origin.row for origin in observe_notes(other, knowledge(), RNG).origins}
    assert barred & fit, "the control: these rows are drawn for another patient"
    assert not barred & unfit


def test_no_topic_stands_twice_up_to_the_index_day():
    for n in range(60):
        observed = observe_notes(make_premise(case_id=f"topic-{n}", density=EventDensity(7.0, 1.0, 1.0, 0.5)), knowledge(), RNG)
        rows = [knowledge().events[o.row] for _, o in notes_by_kind(observed, 84) if o.row in knowledge().events]
        assert max(Counter(row.topic for row in rows).values()) == 1


def test_no_event_text_says_a_driver_or_the_outcome():
    words = answer_words(knowledge())
    assert not any(load_pool(knowledge()).faults)
    for planted in ("Worried about weight regain", "体重反弹了", "the sleep decline began", "poor medication adherence, they said"):
        assert find_answer_word((planted,), words)
    assert not find_answer_word(("Rebounded on a trampoline, relapses of hiccups",), words), "a longer word that holds one is harmless"


def test_an_event_whose_text_fails_is_drawn_again_and_refuses_the_case_when_it_keeps_failing():
    leaking = event("leaking", text="Dreading the weight regain", weight=100.0)
    observed = observe_notes(make_premise(density=BUSY), Changed(events={**knowledge().events, "leaking": leaking}), RNG)
    assert "leaking" not in {origin.row for origin in observed.origins}
    assert count_kinds(observed, 84)["benign"] + count_kinds(observed, 84)["look_alike"] == 6
    only = Changed(events={f"leak_{n}": replace(leaking, id=f"leak_{n}", topic=f"leak_{n}") for n in range(30)})
    with pytest.raises(PremiseConflict) as conflict:
        observe_notes(make_premise(density=EventDensity(7.0, 1.0, 0.1, 0.0)), only, RNG)
    assert conflict.value.kind == "event_redraws_exhausted" and "weight regain" in str(conflict.value)


def test_an_event_never_repeats_the_words_of_a_real_symptom():
    words = "Stiff neck after a new pillow"
    symptom = PlannedSymptom(20, words, words, "", "", True)
    heavy = replace(knowledge().events["stiff_neck_pillow"], weight=100.0)
    changed = Changed(events={**knowledge().events, heavy.id: heavy})
    plain, told = set(), set()
    for n in range(10):
        plain |= {o.row for o in observe_notes(make_premise(case_id=f"words-{n}", density=BUSY), changed, RNG).origins}
        told |= {o.row for o in observe_notes(make_premise(case_id=f"words-{n}", density=BUSY, symptoms=(symptom,)), changed, RNG).origins}
    assert heavy.id in plain and heavy.id not in told


def test_real_symptoms_keep_the_authors_words_in_both_languages_and_their_context():
    written = PlannedSymptom(30, "elle a mal au dos", "elle a mal au dos", "three days", "三天", True)
    drawn = PlannedSymptom(40, "felt sick after the injection", "打针后恶心", "", "", False)
    observed = observe_notes(make_premise(symptoms=(written, drawn)), knowledge(), RNG)
    first, second = (note for note, origin in notes_by_kind(observed) if origin.kind == "real")
    assert (first.day, first.text, first.context, first.is_as_written) == (
        30, Wording("elle a mal au dos", "elle a mal au dos"), Wording("three days", "三天"), True,
    )  # fmt: skip
    assert (second.text, second.context, second.is_as_written) == (Wording("felt sick after the injection", "打针后恶心"), None, False)
    assert all(note.source == "patient_reported_symptom" for note in (first, second))


def test_each_drawn_note_is_said_natively_in_both_languages():
    for n in range(20):
        for note in observe_notes(make_premise(case_id=f"say-{n}", density=BUSY, has_findings=True), knowledge(), RNG).notes:
            assert not re.search(r"[\u3400-\u9fff]", note.text.en), note.text
            assert re.search(r"[\u3400-\u9fff]", note.text.zh), note.text


def test_switching_findings_on_adds_the_panel_and_changes_no_other_note():
    for n, sex in enumerate("FM" * 10):
        premise = make_premise(case_id=f"panel-{n}", sex=sex, density=BUSY)
        off, on = observe_notes(premise, knowledge(), RNG), observe_notes(replace(premise, has_findings=True), knowledge(), RNG)
        panel = [note for note, origin in notes_by_kind(on) if origin.kind == "panel"]
        assert tuple(note for note in on.notes if note not in panel) == off.notes
        assert len(panel) == len(panel_analytes(knowledge())) >= 5
        for note in panel:
            value, low, high = map(float, re.search(r" (\S+) \S+ \(reference (\S+) to (\S+)\)", note.text.en).groups())
            assert note.source == "lab_result" and note.day == 0
            assert low <= value <= high, note.text
            assert re.findall(r"\d+\.?\d*", note.text.en) == re.findall(r"\d+\.?\d*", note.text.zh)


def test_panel_limits_are_those_of_the_patients_sex_and_values_vary_between_people():
    lines = {sex: render_panel(make_premise(sex=sex), knowledge(), RNG)[0].text.en for sex in "FM"}
    assert "115 to 150" in lines["F"] and "130 to 175" in lines["M"]
    assert len({render_panel(make_premise(case_id=f"vary-{n}"), knowledge(), RNG)[0].text.en for n in range(30)}) > 8


def test_an_analyte_that_a_condition_follows_is_refused_in_the_panel():
    row = replace(knowledge().parameters["panel_place_sodium"], id="panel_place_ldl_c")
    with pytest.raises(KnowledgeError, match="panel_place_ldl_c"):
        panel_analytes(Changed(parameters={row.id: row}))


def test_mechanisms_are_counted_where_declared_and_left_out_where_not():
    plain = dict(observe_notes(make_premise(), knowledge(), RNG).acted)
    assert plain == {"symptom_rate": 1, "life_event_rate": 1}
    full = make_premise(
        density=BUSY,
        distractor_level="high",
        distractor_axes=("season",),
        has_findings=True,
        symptoms=(PlannedSymptom(20, "a", "a", "", "", True),),
    )
    acted = dict(observe_notes(full, knowledge(), RNG).acted)
    assert acted == {
        "symptoms": 1,
        "symptom_rate": 6,
        "life_event_rate": 2,
        "distractor_events": 6,
        "distractor_cond_axes": count_denied(load_pool(knowledge()), ("season",)),
        "findings": 6,
    }


def test_rows_used_are_the_rows_of_the_notes():
    observed = observe_notes(make_premise(density=BUSY, has_findings=True), knowledge(), RNG)
    rows = {part for origin in observed.origins if origin.row for part in origin.row.split(":")}  # a harm is of a drug and a symptom
    assert {name.partition(":")[2] for name in observed.rows_used} == rows
    assert list(observed.rows_used) == sorted(observed.rows_used)
    assert all(knowledge().status_of(name) for name in observed.rows_used)
