"""Contradictions between a declared red flag and the symptoms told up to the index day."""

from collections.abc import Iterator

from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word
from clinworld.schema.job import Controls
from clinworld.schema.premise import Conflict, PlannedSymptom, Premise

_DIAGNOSIS = ("ddx_spec_id", "ddx_diagnosis")  # where a diagnosis is asked for, results may be the red flag


def check_red_flag(premise: Premise, controls: Controls) -> Iterator[Conflict]:
    """A red flag that no symptom up to the index day shows, or such a symptom without the declaration."""
    if any(name in _DIAGNOSIS for name, _ in controls.other):
        return
    told = [(n, symptom) for n, symptom in enumerate(premise.symptoms) if symptom.day <= premise.index_day]
    shown = [(n, word) for n, symptom in told if (word := _find_word(symptom))]
    if premise.has_red_flag and not shown:
        found = f"true, and no listed complaint in {len(told)} symptoms up to day {premise.index_day}"
        limit = "a symptom told up to the index day shows it, in a word of red_flag_words.csv"
        yield Conflict("red_flag_not_visible", "latent.ddx_red_flag", found, limit, "Add such a symptom or write false.")
    if shown and not premise.has_red_flag:
        n, word = shown[0]
        limit = "a complaint that needs prompt care is declared"
        yield Conflict("red_flag_not_declared", f"raw.symptoms[{n}]", repr(word), limit, "Write latent.ddx_red_flag: true.")


def _find_word(symptom: PlannedSymptom) -> str:
    texts = (symptom.text_en, symptom.text_zh, symptom.context_en, symptom.context_zh)
    return next((word for text in texts if (word := find_listed_word(text, RED_FLAGS))), "")
