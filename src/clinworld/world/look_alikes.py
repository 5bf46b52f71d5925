"""Which complaints of conditions that the patient does not have are told beside the real ones. Decides no day and no id.

A complaint is taken from the look-alike's own symptoms: one that is urgent in no way, that the patient's conditions and drugs do not
cause, and that could be mistaken neither for a cause of regain nor for what the record measures.
"""

from functools import lru_cache
from typing import NamedTuple

from clinworld.core.rng import Rng, words_to_uniform
from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Condition, Symptom
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word
from clinworld.schema.premise import Patient, Premise
from clinworld.world.event_pool import answer_words, find_answer_word

CALM = ("routine", "soon")  # the urgencies of conditions whose complaints may be told


class ToldLookAlike(NamedTuple):
    """A complaint told: whose symptom, which, and in what words."""

    condition: str
    symptom: str
    text: Wording


class _Tellable(NamedTuple):
    # A symptom with those of its wordings that a note may say.
    symptom: Symptom
    wordings: tuple[Wording, ...]


def choose_look_alikes(premise: Premise, knowledge: Knowledge, rng: Rng, taken_texts: set[str]) -> list[ToldLookAlike]:
    """The look-alikes of one patient, each told by chance, the likeliest first; at most as many as the parameter says.

    One series a condition decides whether it is told, and one a symptom which and how, so that a row more moves only what it wins.
    """
    case, patient = premise.case_id, premise.patient
    most, p_told = int(knowledge.parameter("events_most_look_alikes")), knowledge.parameter("events_p_look_alike")
    known = [name for name in (patient.disease, *patient.comorbidities) if name in knowledge.conditions]
    names = dict.fromkeys(row.condition for name in known for row in knowledge.conditions[name].look_alikes if row.condition not in known)
    words = rng.first_words(case, [("notes", "look_alike", name) for name in names], 1)[:, 0]
    chances = zip(words_to_uniform(words).tolist(), names, strict=True)
    ranked = sorted((chance, name) for chance, name in chances if chance < p_told)
    told: list[ToldLookAlike] = []
    explained = explained_symptoms(premise, knowledge) if ranked else frozenset()
    for _, name in ranked:
        if len(told) == most:
            break
        options = []
        for symptom, wordings in _tellable(knowledge, name):
            free = [text for text in wordings if not taken_texts.intersection((text.en, text.zh))]
            if (
                free
                and symptom.id not in explained
                and fits_patient(symptom, patient)
                and fits_patient(knowledge.conditions[name], patient)
            ):
                series = rng.at(case, "notes", "look_alike", name, symptom.id)
                options.append((series.chance(), symptom.id, series.pick(free, index=1)))
        if options:
            _, symptom_id, text = min(options, key=lambda option: option[:2])
            told.append(ToldLookAlike(name, symptom_id, text))
            taken_texts = taken_texts | {text.en, text.zh}
    return told


def explained_symptoms(premise: Premise, knowledge: Knowledge) -> frozenset[str]:
    """The symptoms that what the patient has or takes would explain."""
    patient = premise.patient
    shown = (premise.presenting.condition,) if premise.presenting else ()
    conditions = [knowledge.conditions[name] for name in (patient.disease, *patient.comorbidities, *shown) if name in knowledge.conditions]
    symptoms = [entry.symptom for condition in conditions for entry in condition.symptoms]
    harms = knowledge.drugs[premise.drug].adverse_effects if premise.drug in knowledge.drugs else ()
    return frozenset([*symptoms, *(harm.symptom for harm in harms)])


def fits_patient(row: Symptom | Condition, patient: Patient) -> bool:
    """Whether the whole age group and the sex of a patient are within a row's limits."""
    in_ages = (row.age_low or 0) <= patient.age_low and (row.age_high is None or patient.age_high <= row.age_high)
    return in_ages and row.sex in ("", patient.sex)


@lru_cache(maxsize=512)
def _tellable(knowledge: Knowledge, name: str) -> tuple[_Tellable, ...]:
    condition = knowledge.conditions.get(name)
    if condition is None or condition.urgency not in CALM:
        return ()
    found = []
    for entry in condition.symptoms:
        symptom = knowledge.symptoms[entry.symptom]
        if symptom.kind == "complaint" and symptom.id not in knowledge.symptom_shadows:
            wordings = tuple(Wording(*pair) for pair in zip(symptom.wordings.en, symptom.wordings.zh, strict=False))
            found.append(_Tellable(symptom, tuple(text for text in wordings if _is_harmless(text, knowledge))))
    return tuple(found)


def _is_harmless(text: Wording, knowledge: Knowledge) -> bool:
    said = (text.en, text.zh)
    return not find_answer_word(said, answer_words(knowledge)) and not any(find_listed_word(each, RED_FLAGS) for each in said)
