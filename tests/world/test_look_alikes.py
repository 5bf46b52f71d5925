"""Complaints of conditions the patient does not have: whose, which, in what words, and what keeps one out."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest
from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.gates.item.notes_give_nothing_away import read_note
from clinworld.gates.item.text_fits_the_patient import find_sex_words
from clinworld.knowledge.load import load_knowledge
from clinworld.knowledge.rows import SymptomShadow
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import PlannedSymptom
from clinworld.world.look_alikes import choose_look_alikes, explained_symptoms
from clinworld.world.notes import observe_notes

pytestmark = pytest.mark.rows

RNG = Rng("look-alikes")
BUSY = EventDensity(7.0, 1.0, 0.5, 0.2)
PRIMARY = [key for key, row in load_knowledge().conditions.items() if row.is_primary]


@lru_cache
def knowledge():
    return load_knowledge()


class Changed:
    """A knowledge in which every look-alike is told and nothing of the drug, with some tables replaced."""

    def __init__(self, **tables):
        self._tables = tables
        self.parameters = {
            **knowledge().parameters,
            "events_p_look_alike": replace(knowledge().parameters["events_p_look_alike"], value=1.0),
            "adverse.after_step_p": replace(knowledge().parameters["adverse.after_step_p"], value=0.0),
        }

    def parameter(self, name):
        return self.parameters[name].value

    def __getattr__(self, name):
        return self._tables[name] if name in self._tables else getattr(knowledge(), name)


ALL = Changed()


def chosen(knowledge=ALL, taken=(), **changes):
    """What twenty patients are told, by case."""
    premises = [make_premise(case_id=f"alike-{n}", density=BUSY, **changes) for n in range(20)]
    return [choose_look_alikes(premise, knowledge, RNG, set(taken)) for premise in premises]


@pytest.mark.parametrize("disease", PRIMARY)
def test_what_is_told_is_a_calm_complaint_of_a_look_alike_that_nothing_known_explains(disease):
    premise = make_premise(disease=disease, comorbidities=("osa",) if disease != "osa" else ())
    names = {row.condition for key in (disease, "osa") for row in knowledge().conditions[key].look_alikes}
    explained = explained_symptoms(premise, knowledge())
    told = [each for case in chosen(disease=disease, comorbidities=("osa",)) for each in case]
    assert len(told) > 10
    for each in told:
        condition, symptom = knowledge().conditions[each.condition], knowledge().symptoms[each.symptom]
        assert each.condition in names and each.condition not in (disease, "osa")
        assert condition.urgency in ("routine", "soon")
        assert condition.has_symptom(symptom.id) and symptom.kind == "complaint"
        assert symptom.id not in explained and symptom.id not in knowledge().symptom_shadows
        assert (each.text.en, each.text.zh) in zip(symptom.wordings.en, symptom.wordings.zh, strict=True)


@pytest.mark.parametrize("sex", ["F", "M"])
def test_nobody_tells_a_complaint_of_the_other_sex(sex):
    told = [each for disease in PRIMARY for case in chosen(disease=disease, sex=sex) for each in case]
    assert {knowledge().symptoms[each.symptom].sex for each in told} <= {"", sex}
    assert {knowledge().conditions[each.condition].sex for each in told} <= {"", sex}


def test_at_most_two_are_told_and_each_of_another_condition():
    for case in chosen(disease="type_2_diabetes"):
        assert len(case) == len({each.condition for each in case}) <= 2
    assert max(map(len, chosen(disease="type_2_diabetes"))) == 2


def test_a_symptom_of_the_patients_own_condition_or_drug_is_told_of_no_look_alike():
    plain = {each.symptom for case in chosen() for each in case}
    known = {each.symptom for case in chosen(comorbidities=("hypothyroidism",)) for each in case}
    assert plain & {entry.symptom for entry in knowledge().conditions["hypothyroidism"].symptoms}
    assert not known & {entry.symptom for entry in knowledge().conditions["hypothyroidism"].symptoms}
    premise = make_premise()
    harms = {harm.symptom for harm in knowledge().drugs[premise.drug].adverse_effects if harm.symptom}
    assert harms <= explained_symptoms(premise, knowledge())


def test_a_symptom_that_could_be_mistaken_for_a_cause_of_regain_is_not_told():
    before = Counter(each.symptom for case in chosen() for each in case)
    often = before.most_common(1)[0][0]
    shadows = {**knowledge().symptom_shadows, often: SymptomShadow(often, ("sleep_decline",), "authored", "authored")}
    assert often not in {each.symptom for case in chosen(Changed(symptom_shadows=shadows)) for each in case}


def test_words_that_a_real_symptom_said_are_not_said_again():
    before = [each.text for case in chosen() for each in case]
    taken = {text for wording in before for text in (wording.en, wording.zh)}
    assert not taken & {each.text.en for case in chosen(taken=taken) for each in case}


def test_a_wording_that_says_the_answer_or_a_red_flag_is_never_drawn():
    planted = {"en": "Worried about my weight regain", "zh": "胸痛了一整晚"}
    symptoms = {
        key: replace(row, wordings=replace(row.wordings, en=(planted["en"], *row.wordings.en), zh=(planted["zh"], *row.wordings.zh)))
        for key, row in knowledge().symptoms.items()
    }
    told = [each for case in chosen(Changed(symptoms=symptoms)) for each in case]
    assert told and not [each for each in told if planted["en"] in each.text.en or planted["zh"] in each.text.zh]


def test_a_symptom_added_to_a_condition_moves_only_the_notes_it_wins():
    condition = knowledge().conditions["cushing"]
    grown = replace(condition, symptoms=(*condition.symptoms, replace(condition.symptoms[0], symptom="brittle_nails")))
    rows = {key: knowledge().conditions[key] for key in knowledge().conditions}
    before, after = chosen(), chosen(Changed(conditions={**rows, "cushing": grown}))
    moved = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert moved
    for one, other in moved:
        assert {each for each in other if each not in one} == {each for each in other if each.symptom == "brittle_nails"}


@pytest.mark.parametrize("key", [key for key, row in load_knowledge().symptoms.items() if row.kind == "complaint"])
def test_no_complaint_that_may_be_told_says_what_notes_may_not_say(key):
    row = knowledge().symptoms[key]
    if key in knowledge().symptom_shadows:
        return
    for texts in zip(row.wordings.en, row.wordings.zh, strict=True):
        if any(find_listed_word(text, RED_FLAGS) for text in texts):
            continue
        assert not read_note(texts, False, knowledge()).faults
        assert {sex for _, sex in find_sex_words(texts)} <= {row.sex}


def test_look_alikes_are_few_early_and_count_as_complaints():
    seen = 0
    for n in range(80):
        symptom = PlannedSymptom(40, "felt sick after the injection", "打针后恶心", "", "", False)
        premise = make_premise(case_id=f"early-{n}", comorbidities=("hypothyroidism",), density=BUSY, symptoms=(symptom,))
        observed = observe_notes(premise, ALL, RNG)
        kinds = {origin.note_id: origin for origin in observed.origins}
        alike = [note for note in observed.notes if kinds[note.note_id].kind == "look_alike"]
        assert len(alike) <= 2 and all(7 <= note.day <= 81 for note in alike)
        assert all(kinds[note.note_id].row in ALL.conditions for note in alike)
        assert all(isinstance(note.text, Wording) and note.context is None for note in alike)
        benign = [note for note in observed.notes if note.day <= 84 and kinds[note.note_id].kind == "benign"]
        assert len(benign) + len(alike) == 6
        symptoms = [name for name in observed.rows_used if name.startswith("symptoms:")]
        assert len(symptoms) <= len(alike) and bool(symptoms) == bool(alike)
        seen += len(alike)
    assert seen > 40


RARE = ("rounder_face", "skin_turned_bronze", "lumps_on_heels", "shoe_size_up", "milk_from_breasts", "purple_stretch_marks")


def told_of_everyone(knowledge):
    return {each.symptom for disease in PRIMARY for case in chosen(knowledge, disease=disease) for each in case}


def test_a_sign_that_few_people_have_is_told_of_no_look_alike():
    assert not told_of_everyone(ALL) & set(RARE)
    told = {name: row for name, row in knowledge().symptom_shadows.items() if name not in RARE}
    assert told_of_everyone(Changed(symptom_shadows=told)) & set(RARE)


def test_what_is_told_of_look_alikes_is_ordinary_and_varied():
    assert len(told_of_everyone(ALL)) >= 15
