"""Contradictions about the patient: age and sex for the condition, words of the other sex or of the answer, more events than fit."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clinworld.core.lookalikes import fold_lookalikes
from clinworld.core.tables import load_csv
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import Conflict, Premise
from clinworld.world.notes import count_distractors, count_events

_KNOWLEDGE = Path(__file__).resolve().parents[1] / "knowledge"
_SEX_COLUMNS = ("id", "sex", "language", "word", "source", "status")
_ANSWER_COLUMNS = ("id", "language", "word", "unless", "what", "source", "status")
_OBESITY = "obesity"
_SEX_NAMES = {"F": "women", "M": "men"}


@dataclass(frozen=True, slots=True, eq=False)  # by identity: whole lists of words are keys, and a word's value is slow to hash
class Word:
    """A word that may not stand in a symptom, what it gives away, and longer words in which it is harmless."""

    word: str
    what: str
    unless: tuple[str, ...]


@lru_cache(maxsize=1)
def load_sex_words() -> tuple[Word, ...]:
    """Words that only one sex says of itself; `what` is F or M."""
    return tuple(Word(row["word"], row["sex"], ()) for row in load_csv(_KNOWLEDGE / "sex_words.csv", _SEX_COLUMNS))


@lru_cache(maxsize=1)
def load_answer_words() -> tuple[Word, ...]:
    """Words that name an outcome or a driver; `what` says which."""
    rows = load_csv(_KNOWLEDGE / "answer_words.csv", _ANSWER_COLUMNS)
    return tuple(Word(row["word"], row["what"], tuple(row["unless"].split("|")) if row["unless"] else ()) for row in rows)


def find_word(text: str, word: Word) -> bool:
    """Whether a text holds the word as a word, in whatever letters look like it; a longer word that contains it does not count.

    >>> find_word("I regained consciousness", Word("regain", "outcome", ()))
    False
    """
    folded, wanted = fold_lookalikes(text), fold_lookalikes(word.word)
    if wanted not in folded:
        return False
    for harmless in word.unless:
        folded = folded.replace(fold_lookalikes(harmless), "")
    if wanted.isascii():
        return re.search(rf"(?<![a-z0-9]){re.escape(wanted)}(?![a-z0-9])", folded) is not None
    return wanted in folded


def check_patient(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Age and sex that the condition or a comorbidity does not occur in, a comorbidity that is the disease itself, vitals out of range."""
    patient = premise.patient
    places: Mapping[str, str] = {name: "raw.comorbidities" for name in patient.comorbidities} | {patient.disease: "raw.disease"}
    for name, place in places.items():
        condition = knowledge.conditions.get(name)
        if condition is None:
            continue
        low, high = condition.age_low or 0, condition.age_high
        if patient.age_low < low or (high is not None and patient.age_high > high):
            limit = f"{name} is described from {low} to {high} years" if high is not None else f"{name} is described from {low} years"
            found = f"{patient.age_low}-{patient.age_high} years with {name}"
            yield Conflict("demographic_implausible", place, found, limit, "Change age_range.")
        if condition.sex and condition.sex != patient.sex:
            limit = f"{name} occurs in {_SEX_NAMES[condition.sex]}"
            yield Conflict("demographic_implausible", place, f"sex {patient.sex} with {name}", limit, "Change sex.")
    yield from _check_body(premise, knowledge)
    if patient.disease in patient.comorbidities:
        yield Conflict("comorbidity_is_disease", "raw.comorbidities", patient.disease, "it is the disease of the case", "Remove it.")
    for name, level in patient.baseline_vitals:
        row = knowledge.streams.get(name) or knowledge.analytes.get(name)
        if row is not None and not row.hard_low <= level <= row.hard_high:
            limit = f"{row.hard_low:g} to {row.hard_high:g} {row.ucum}"
            yield Conflict("range_out_of_domain", f"raw.baseline_vitals.{name}", f"{level:g}", limit, "Choose a level in this range.")


def _check_body(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """A body-mass index that with the weight means a height no adult has, or that is not obesity where obesity is treated."""
    bmi = premise.patient.bmi
    if bmi is None:
        return
    low, high = knowledge.parameter("premise_height_low_m"), knowledge.parameter("premise_height_high_m")
    height = math.sqrt(premise.start_weight_kg / bmi)
    if not low <= height <= high:
        found = f"{premise.start_weight_kg:g} kg with bmi {bmi:g}, which is a height of {height:.2f} m"
        yield Conflict("body_implausible", "raw.bmi", found, f"{low:g} to {high:g} m", "Change bmi or start_weight.")
    least = knowledge.parameter("premise_bmi_obesity_least")
    if premise.patient.disease == _OBESITY and bmi < least:
        found, limit = f"bmi {bmi:g} with disease {_OBESITY}", f"a drug for it is given from {least:g} on"
        yield Conflict("bmi_below_disease", "raw.bmi", found, limit, "Change bmi or the disease.")


def check_texts(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Symptoms after the course, in words of the other sex, or in words that name an outcome or a driver."""
    for n, symptom in enumerate(premise.symptoms):
        place = f"raw.symptoms[{n}]"
        if symptom.day > premise.course_end_day:
            limit = f"the course ends on day {premise.course_end_day}"
            yield Conflict("symptom_after_course", f"{place}.day", f"day {symptom.day}", limit, "Choose an earlier day.")
        texts = tuple(dict.fromkeys((symptom.text_en, symptom.text_zh)))
        for word in _find_words(texts, load_sex_words()):
            if word.what != premise.patient.sex:
                limit = f"the patient's sex is {premise.patient.sex}"
                yield Conflict("symptom_of_other_sex", f"{place}.text", repr(word.word), limit, "Change the text or the sex.")
        for word in _find_words(texts, _answers(knowledge)):
            found = f"the word {word.word!r} in {symptom.text_en!r}"
            yield Conflict("answer_in_text", f"{place}.text", found, f"it names an {word.what}", "Describe what the patient notices.")


def _find_words(texts: tuple[str, ...], words: tuple[Word, ...]) -> list[Word]:
    folded = fold_lookalikes(" ".join(texts))
    near = [word for word, form in zip(words, _fold(words), strict=True) if form in folded]
    return [word for word in near if any(find_word(text, word) for text in texts)]


@lru_cache
def _fold(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(fold_lookalikes(word.word) for word in words)


@lru_cache
def _answers(knowledge: Knowledge) -> tuple[Word, ...]:
    words = list(load_answer_words())
    for driver in knowledge.drivers.values():
        spoken = (driver.id, driver.id.replace("_", " "), driver.names.en, driver.names.zh)
        words += [Word(name, "answer (a driver)", ()) for name in dict.fromkeys(spoken)]
    return tuple(words)


def check_driver(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """A cause of regain that this record cannot show: it needs a told symptom, or a device the patient has not."""
    driver = knowledge.drivers.get(premise.driver)
    if driver is None or premise.outcome != "regain":
        return
    if driver.needs_symptom and not any(symptom.day <= premise.index_day for symptom in premise.symptoms):
        found = f"driver {driver.id} and no symptom up to day {premise.index_day}"
        limit = "it shows only in what the patient tells"
        yield Conflict("driver_not_visible", "latent.driver", found, limit, "Add a symptom on or before the index day.")
    stream = knowledge.streams.get(driver.evidence)
    if stream is not None and stream.devices and not set(stream.devices) & set(premise.patient.devices):
        found = f"driver {driver.id} with {', '.join(premise.patient.devices)}"
        limit = f"it shows in {stream.id}, which needs {' or '.join(stream.devices)}"
        yield Conflict("driver_not_visible", "latent.driver", found, limit, "Add the device or choose another driver.")


def check_density(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """A distractor level that needs more events than the symptom rate allows, and more events than there are free days."""
    rate = premise.density.symptom_rate
    allowed, needed = count_events(rate, premise.index_day), count_distractors(premise, knowledge)
    if needed > allowed:
        yield Conflict(
            "event_density_mismatch",
            "latent.distractor_level",
            f"level {premise.distractor_level}, which needs {needed} events up to day {premise.index_day}",
            f"symptom_rate {rate:g} a week over {premise.index_day} days allows {allowed}",
            "Raise event_density.symptom_rate or lower distractor_level.",
        )
    wanted = allowed + count_events(premise.density.life_event_rate, premise.index_day)
    first, beside = int(knowledge.parameter("events_first_day")), int(knowledge.parameter("premise_event_days_kept_free"))
    kept_free = {symptom.day + off for symptom in premise.symptoms for off in range(-beside, beside + 1)}
    days = premise.index_day + 1 - first - sum(first <= day <= premise.index_day for day in kept_free)
    if wanted > max(days, 0):
        found = f"{wanted} events up to day {premise.index_day}"
        limit = f"{max(days, 0)} days from day {first} on are free of told symptoms"
        yield Conflict("event_density_mismatch", "latent.event_density", found, limit, "Lower the rates.")
