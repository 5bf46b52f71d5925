"""How a condition comes to light: who, since when, what is told first, in which words, and what stays as it was."""

from dataclasses import replace

import pytest
from make_premise import PATIENT, make_premise
from presenting_case import CONDITIONS, KNOWLEDGE, RNG, SAMPLE, present

from clinworld.core.errors import PremiseConflict
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import Presenting
from clinworld.world.condition_ramps import tempo_of
from clinworld.world.event_pool import admit_events, load_pool
from clinworld.world.look_alikes import explained_symptoms
from clinworld.world.notes import count_events, observe_notes
from clinworld.world.presenting import _draw_days, _is_regular, draw_presenting, fits, list_presentations, tell_presenting

pytestmark = pytest.mark.rows

SPANS = {"hours": (1, 1), "days": (2, 9), "weeks": (14, 49), "months": (60, 300), "years": (400, 1600)}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_presentation_fits_the_patient_and_the_onset_its_tempo(condition: str) -> None:
    ill, _ = present(condition)
    assert ill.presenting is not None and 0.0 <= ill.presenting.severity < 1.0
    shape = next(each for each in KNOWLEDGE.conditions[condition].presentations if each.id == ill.presenting.presentation)
    assert fits(shape.sex, shape.age_low, shape.age_high, ill.patient.sex, ill.patient.age_low, ill.patient.age_high)
    low, high = SPANS[shape.tempo]
    if f"presenting.lifelong.{condition}" in KNOWLEDGE.parameters:
        low = high = ill.index_day + 365 * ill.patient.age_low  # from birth
    assert low <= ill.index_day - ill.presenting.onset_day <= high


def test_a_patient_whom_no_presentation_fits_is_refused() -> None:
    man = replace(PATIENT, sex="M")
    with pytest.raises(PremiseConflict, match="pcos") as refused:
        draw_presenting("X", "pcos", man, 84, KNOWLEDGE, RNG)
    assert refused.value.kind == "no_presentation"
    assert draw_presenting("X", "pcos", replace(PATIENT, age_low=25, age_high=29), 84, KNOWLEDGE, RNG).condition == "pcos"


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_opening_complaint_is_told_first_and_the_rest_in_order_by_the_index_day(condition: str) -> None:
    for number in range(3):
        ill, _ = present(condition, number)
        told = tell_presenting(ill, KNOWLEDGE, RNG)
        assert ill.presenting is not None
        shape = next(each for each in KNOWLEDGE.conditions[condition].presentations if each.id == ill.presenting.presentation)
        assert told[0].symptom == shape.opens_with
        assert [each.symptom for each in told] == [name for name in shape.course if name in {each.symptom for each in told}]
        days = [each.day for each in told]
        assert days == sorted(days) and days[0] >= max(0, ill.presenting.onset_day) and days[-1] <= ill.index_day
        if shape.tempo not in ("hours", "days"):
            assert len(set(days)) == len(days) and not _is_regular(days)


def test_both_languages_use_the_wording_of_the_same_place() -> None:
    for number in range(20):
        for each in tell_presenting(present("cushing", number)[0], KNOWLEDGE, RNG):
            wordings = KNOWLEDGE.symptoms[each.symptom].wordings
            assert wordings.en.index(each.text.en) == wordings.zh.index(each.text.zh)


def test_wordings_differ_between_patients() -> None:
    texts = {tell_presenting(present("siadh", number)[0], KNOWLEDGE, RNG)[0].text.en for number in range(20)}
    assert len(texts) > 3


def test_a_symptom_of_the_other_sex_is_not_told() -> None:
    told = {each.symptom for number in range(40) for each in tell_presenting(present("cushing", number)[0], KNOWLEDGE, RNG)}
    assert "periods_stopped" in told
    men = [ill for ill, _ in (present("cushing", number) for number in range(60)) if ill.patient.sex == "M"]
    assert men and not any(each.symptom == "periods_stopped" for ill in men for each in tell_presenting(ill, KNOWLEDGE, RNG))


@pytest.mark.parametrize(("days", "is_so"), [([3, 10, 17], True), ([3, 10, 18], False), ([3, 10], False), ([5, 5, 5], False)])
def test_a_regular_pattern_of_days_is_known(days: list[int], is_so: bool) -> None:
    assert _is_regular(days) == is_so


def test_without_a_presenting_condition_nothing_of_it_is_told() -> None:
    premise = make_premise()
    assert tell_presenting(premise, KNOWLEDGE, RNG) == ()
    assert "presenting" not in dict(observe_notes(premise, KNOWLEDGE, RNG).acted)


@pytest.mark.parametrize("condition", SAMPLE)
def test_its_complaints_stand_in_the_place_of_everyday_events_so_that_their_number_tells_nothing(condition: str) -> None:
    ill, well = (replace(premise, density=EventDensity(7.0, 1.0, 0.4, 0.1)) for premise in present(condition, 1))
    told, plain = observe_notes(ill, KNOWLEDGE, RNG), observe_notes(well, KNOWLEDGE, RNG)
    notes = {note.note_id: note for note in told.notes}
    real = [(notes[o.note_id].day, o.row) for o in told.origins if o.kind == "real"]
    assert sorted(real) == sorted((each.day, each.symptom) for each in tell_presenting(ill, KNOWLEDGE, RNG))
    assert dict(told.acted)["presenting"] == len(real)
    for observed in (told, plain):
        kinds = {o.note_id: o.kind for o in observed.origins}
        by_t = [kinds[note.note_id] for note in observed.notes if note.day <= ill.index_day]
        assert len(by_t) == count_events(0.4, ill.index_day) + count_events(0.1, ill.index_day)
    assert not {note.day for note in told.notes if kinds_of(told)[note.note_id] != "real"} & {day for day, _ in real}


def kinds_of(observed: object) -> dict[str, str]:
    return {origin.note_id: origin.kind for origin in observed.origins}  # type: ignore[attr-defined]


def test_no_everyday_event_is_told_that_the_presenting_condition_explains() -> None:
    premise = make_premise()
    shadowed = next(name.removeprefix("shadows:") for name in load_pool(KNOWLEDGE).barred_by if name.removeprefix("shadows:") in CONDITIONS)
    shown = replace(premise, presenting=Presenting(shadowed, KNOWLEDGE.conditions[shadowed].presentations[0].id, 60, 0.5))
    pool = load_pool(KNOWLEDGE)
    assert admit_events(pool, shown).sum() < admit_events(pool, premise).sum()
    first = KNOWLEDGE.conditions[shadowed].symptoms[0].symptom
    assert first in explained_symptoms(shown, KNOWLEDGE)


def test_one_condition_more_moves_no_draw_of_another() -> None:
    drawn = [draw_presenting("A", name, PATIENT, 84, KNOWLEDGE, RNG) for name in ("gerd", "hypothyroidism", "gerd")]
    assert drawn[0] == drawn[2] and drawn[0] != drawn[1]


def test_every_condition_has_a_presentation_for_somebody_it_occurs_in() -> None:
    for name in CONDITIONS:
        row = KNOWLEDGE.conditions[name]
        ages = [(low, low + 4) for low in range(20, 95, 5)]
        assert any(list_presentations(row, sex, *band, KNOWLEDGE) for sex in "FM" for band in ages), name


def test_days_are_those_of_as_many_complaints_as_are_told_whatever_the_scale_left_out() -> None:
    """A gap left by a complaint that is not told would put the first one earlier than in others, and so say that there was one."""
    left_out = 0
    for condition in ("prediabetes", "insulinoma", "cushing", "hypothyroidism"):
        row = KNOWLEDGE.conditions[condition]
        for number in range(12):
            premise, _ = present(condition, number)
            shown = premise.presenting
            assert shown is not None
            told = tell_presenting(premise, KNOWLEDGE, RNG)
            planned = next(each for each in row.presentations if each.id == shown.presentation).course
            left_out += len(planned) - len(told)
            days = _draw_days(len(told), premise, shown, tempo_of(row, shown.presentation), KNOWLEDGE, RNG)
            assert [each.day for each in told] == days
    assert left_out > 5
