"""No note gives the answer away, in either language: no word of an answer, no withheld context, no hidden number in any printed form.

Notes are free text, so only an unusual number counts there: one with a decimal part or a percent sign and two significant digits.
"""

import re
from functools import lru_cache

from clinworld.access.leaks import check_words
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.hidden_values import hidden_numbers
from clinworld.gates.printed_numbers import read_line
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.word_tables import texts_of
from clinworld.schema.finding import Finding
from clinworld.schema.record import Note
from clinworld.world.event_pool import answer_words, find_answer_word

CONTROLS = ("notes_about_everyday_life", "a_note_that_says_the_answer_in_the_other_language")
GATE = "notes_give_nothing_away"
WITHHELD = ("attr", "interp", "join", "gold")
HAN = re.compile(r"[\u3400-\u9fff]")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the notes of the whole chart."""
    hidden = hidden_numbers(case)
    findings: list[Finding] = []
    for note in case.gold.chart.notes:
        place, texts = f"note {note.note_id}, day {note.day}", texts_of(note)
        if not all(text.strip() for text in texts):
            findings.append(Finding(GATE, place, "an empty text", "said in both languages"))
        findings += [Finding(GATE, place, repr(word), "notes give no answer away") for word in find_words(texts, case.knowledge)]
        findings += [Finding(GATE, place, repr(text), "one language a text") for text in mixed_languages(note)]
        told = "\n".join(texts)
        for number in read_line(told):
            if (each := hidden.name(number)) is not None and each.is_unusual:
                findings.append(Finding(GATE, place, f"{number.text!r}, which is {each.name}", "hidden values are not told"))
        for said, name in hidden.find_worded(told):
            findings.append(Finding(GATE, place, f"{said!r}, which is {name}", "hidden values are not told"))
    return Outcome(len(case.gold.chart.notes), tuple(findings), "no note is charted")


@lru_cache(maxsize=4096)
def find_words(texts: tuple[str, ...], knowledge: Knowledge) -> tuple[str, ...]:
    """Words of an answer and withheld contexts in some texts."""
    told = "\n".join(texts)
    found = [*check_words(told), find_answer_word(texts, answer_words(knowledge))]
    found += [phrase for phrase in withheld_phrases(knowledge) if phrase in told.casefold()]
    return tuple(dict.fromkeys(filter(None, found)))


@lru_cache(maxsize=4)
def withheld_phrases(knowledge: Knowledge) -> tuple[str, ...]:
    """The context phrases that explain instead of describing, in both languages."""
    rows = [row for row in knowledge.contexts.values() if row.facet in WITHHELD]
    return tuple(phrase for row in rows for phrase in (row.text.en.casefold(), row.text.zh))


def mixed_languages(note: Note) -> list[str]:
    """Texts in the other language than their column; the author's own words stand as they are."""
    if note.is_as_written:
        return []
    wordings = [note.text, *([note.context] if note.context else [])]
    return [each.en for each in wordings if HAN.search(each.en)] + [each.zh for each in wordings if not HAN.search(each.zh)]
