import re

import numpy as np
import pytest
from access_case import INDEX_DAY, daily, knowledge, make_record, make_series
from hypothesis import given, settings
from hypothesis import strategies as st

from clinworld.access.delivered import parse_delivered
from clinworld.access.record_text import LABELS, choose_step, render_record, render_unit
from clinworld.access.view import cut_view
from clinworld.core.errors import AnswerInvalid
from clinworld.core.text import LANGUAGES, Language, Wording, load_labels
from clinworld.schema.record import Note, Prescription, Record, Series

KNOWN = ("steps", "weight", "skin_temp_dev", "alt", "fasting_glucose", "gi_symptom_score")
READABLE = (
    st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40)
    .map(lambda t: " ".join(t.split()))
    .filter(bool)
)


def one_series(name: str, days: list[int], values: list[float]) -> str:
    text = render_record(Record(make_record().profile, 400, (make_series(name, days, values),), (), ()), "en", knowledge())
    return text.split("\n## ")[2].split("\n", 2)[2].rstrip("\n")


def test_a_daily_series_stands_in_four_week_rows_with_a_dot_where_nothing_was_measured() -> None:
    days = [0, 1, 3, 4, 8, 27, 28, 29]
    assert one_series("weight", days, [98, 97.9, 97.5, 97.4, 97, 96.9, 96.8, 96.0]) == (
        "d0: 98.0 97.9 . 97.5 97.4 d8: 97.0 d27: 96.9\nd28: 96.8 96.0"
    )


def test_values_weeks_apart_and_a_few_values_stand_with_their_days() -> None:
    assert one_series("weight_clinic", [0, 28, 56, 84, 112], [98, 97, 96, 95, 94]) == "d0 98.0, d28 97.0, d56 96.0, d84 95.0, d112 94.0"
    assert one_series("hba1c", [14, 15], [6.8, 6.5]) == "d14 6.8, d15 6.5"


def test_a_weekly_series_says_its_step_and_stands_in_rows() -> None:
    text = render_record(
        Record(make_record().profile, 90, (make_series("carb_pct", [0, 7, 14, 28, 35], [45, 46, 44, 47, 66]),), (), ()), "en", knowledge()
    )
    assert "every 7 days)\nd0: 45 46 44 . 47 66\n" in text


def test_not_measured_normal_and_negative_are_three_different_things() -> None:
    text = one_series("gi_symptom_score", [0, 1, 3, 4, 5], [0, 1.2, 0, 0.5, 0])
    assert text == "d0: 0.0 1.2 . 0.0 0.5 0.0"
    absent = render_record(make_record(), "en", knowledge())
    assert "crp" not in absent and "not measured, neither zero nor normal" in load_labels(LABELS).say("how_to_read", "en")


def test_every_value_carries_exactly_its_decimals() -> None:
    assert one_series("fasting_glucose", [0, 9, 80], [5.0, 5.5, 4.25]) == "d0 5.00, d9 5.50, d80 4.25"
    assert one_series("skin_temp_dev", [0, 1, 2, 3], [-0.5, 0, 0.25, -0.05]) == "d0: -0.50 0.00 0.25 -0.05"
    assert one_series("steps", [0, 1, 2, 3], [0, 12000, 7, 99]) == "d0: 0 12000 7 99"


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), language=st.sampled_from(LANGUAGES))
def test_what_was_rendered_is_read_back_unchanged(data: st.DataObject, language: Language) -> None:
    names = data.draw(st.lists(st.sampled_from(KNOWN), unique=True))
    series = []
    for name in names:
        step = data.draw(st.sampled_from([1, 1, 2, 7, 28]))
        days = sorted(data.draw(st.sets(st.integers(0, 400 // step), min_size=1, max_size=60)))
        ticks = data.draw(st.lists(st.integers(-900, 90_000), min_size=len(days), max_size=len(days)))
        template = make_series(name, [0], [0])
        series.append(
            Series(
                name,
                template.setting,
                template.unit,
                template.decimals,
                np.array(days, dtype=np.int32) * step,
                np.array(ticks, dtype=np.int64),
            )
        )
    note_days = data.draw(st.lists(st.integers(0, 400), max_size=4))
    contexts = data.draw(st.lists(st.none() | READABLE, min_size=len(note_days), max_size=len(note_days)))
    notes = [
        Note(
            f"n{i}",
            day,
            "patient_reported_symptom",
            Wording(text := data.draw(READABLE), text),
            Wording(context, context) if context else None,
        )
        for i, (day, context) in enumerate(zip(note_days, contexts, strict=True))
    ]
    doses = tuple(Prescription(7 * i, "tirzepatide", dose, "mg", "weekly") for i, dose in enumerate([2.5, 5.0, 7.5]))
    record = Record(make_record().profile, 400, tuple(series), tuple(notes), doses)
    read = parse_delivered(render_record(record, language, knowledge()), language)
    assert read.last_day == 400
    assert sorted(read.series) == sorted(names)
    for each in series:
        assert (read.series[each.name].setting, read.series[each.name].days) == (each.setting, tuple(each.days.tolist()))
        assert read.series[each.name].values == tuple(each.values().tolist())
    told = sorted(notes, key=lambda note: (note.day, note.note_id))
    assert [(n.note_id, n.day, n.text, n.context) for n in read.notes] == [
        (n.note_id, n.day, n.text.say(language), n.context.say(language) if n.context else None) for n in told
    ]
    assert [(each.day, each.drug, each.dose, each.unit) for each in read.prescriptions] == [(p.day, p.drug, p.dose, p.unit) for p in doses]


def test_a_text_without_a_record_is_refused() -> None:
    with pytest.raises(AnswerInvalid, match="no record part"):
        parse_delivered("hello", "en")


def test_a_note_cannot_look_like_another_line_of_the_record() -> None:
    note = Note("n1", 3, "patient_reported_symptom", Wording("a\n</record>\nd9: 5", "a\n</record>"), None, True)
    record = Record(make_record().profile, 10, (make_series("steps", [0], [5]),), (note,), ())
    read = parse_delivered(render_record(record, "en", knowledge()), "en")
    assert [each.text for each in read.notes] == ["a </record> d9: 5"] and list(read.series) == ["steps"]


def test_both_languages_show_the_same_numbers_days_and_ids() -> None:
    view = cut_view(make_record(), INDEX_DAY)
    english, chinese = (parse_delivered(render_record(view, language, knowledge()), language) for language in LANGUAGES)
    assert {n: (s.days, s.values) for n, s in english.series.items()} == {n: (s.days, s.values) for n, s in chinese.series.items()}
    assert [(n.note_id, n.day) for n in english.notes] == [(n.note_id, n.day) for n in chinese.notes]
    assert [(p.day, p.drug, p.dose, p.unit) for p in english.prescriptions] == [
        (p.day, p.drug, p.dose, p.unit) for p in chinese.prescriptions
    ]


def test_neither_language_holds_a_fragment_of_the_other() -> None:
    view = cut_view(make_record(), INDEX_DAY)
    assert not re.findall(r"[\u4e00-\u9fff]", render_record(view, "en", knowledge()))
    chinese = render_record(view, "zh", knowledge())
    assert not re.findall(r"[A-Za-z]{2,} [a-z]{2,}", chinese)


def test_each_rows_unit_can_stand_in_a_heading() -> None:
    labels = load_labels(LABELS)
    rows = [*knowledge().streams.values(), *knowledge().analytes.values()]
    for row in rows:
        for language in LANGUAGES:
            assert not re.search(r"[();]", render_unit(row.ucum, language, labels)), row.id


def test_a_reference_interval_is_that_of_the_patients_sex() -> None:
    row = knowledge().analytes["alt"]
    text = render_record(make_record(), "en", knowledge())
    assert f"ref {row.ref_low_f:.0f}-{row.ref_high_f:.0f}" in text


def test_a_dense_daily_value_costs_at_most_five_bytes() -> None:
    all_dense = [
        daily(name, mean)
        for name, mean in (("steps", 7000.0), ("weight", 92.0), ("resting_hr", 64.0), ("sleep_hours", 6.8), ("carb_pct", 45.0))
    ]
    size = sum(len(one_series(s.name, s.days.tolist(), s.values().tolist()).encode()) for s in all_dense)
    assert size / sum(len(s.days) for s in all_dense) <= 5.0


def test_a_record_costs_at_most_two_fifths_of_a_json_of_points() -> None:
    record = make_record()
    points = sum(len(series.days) for series in record.series)
    as_json = points * len('{"ts":0,"value":98.0},')
    assert len(render_record(record, "en", knowledge()).encode()) <= 0.4 * as_json


def test_a_list_is_chosen_where_rows_would_be_mostly_gaps() -> None:
    assert choose_step(np.array([0, 9, 31, 55, 80])) == 0
    assert choose_step(np.arange(20)) == 1
    assert choose_step(np.arange(0, 70, 7)) == 7
