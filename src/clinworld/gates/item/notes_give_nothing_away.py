"""No note gives the answer away, in either language: no word of an answer, no withheld context, no hidden number in any printed form.

Notes are free text, so only an unusual number counts there: one with a decimal part or a percent sign and two significant digits.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from clinworld.access.leaks import check_words
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.gates.hidden_values import hidden_numbers
from clinworld.gates.printed_numbers import PrintedNumber, read_line
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.word_tables import texts_of
from clinworld.schema.finding import Finding
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
        place, said = f"note {note.note_id}, day {note.day}", texts_of(note)
        told = read_note(said, note.is_as_written, case.knowledge)
        findings += [Finding(GATE, place, found, allowed) for found, allowed in told.faults]
        for number in told.numbers:
            if (each := hidden.name(number)) is not None and each.is_unusual:
                findings.append(Finding(GATE, place, f"{number.text!r}, which is {each.name}", "hidden values are not told"))
        for words, name in hidden.find_worded(told.text):
            findings.append(Finding(GATE, place, f"{words!r}, which is {name}", "hidden values are not told"))
    return Outcome(len(case.gold.chart.notes), tuple(findings), "no note is charted")


class ToldNote(NamedTuple):
    """Everything a note says: its text in both languages, its numbers, and (what is wrong, what is allowed) whoever the patient is."""

    text: str
    numbers: tuple[PrintedNumber, ...]
    faults: tuple[tuple[str, str], ...]


@lru_cache(maxsize=4096)  # most notes are rows of the event table
def read_note(texts: tuple[str, ...], is_as_written: bool, knowledge: Knowledge) -> ToldNote:
    """What the texts of a note say (`texts_of`)."""
    faults = [] if all(text.strip() for text in texts) else [("an empty text", "said in both languages")]
    faults += [(repr(word), "notes give no answer away") for word in find_words(texts, knowledge)]
    faults += [(repr(text), "one language a text") for text in ([] if is_as_written else mixed_languages(texts))]
    told = "\n".join(texts)
    return ToldNote(told, read_line(told), tuple(faults))


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


def mixed_languages(texts: tuple[str, ...]) -> list[str]:
    """Texts in the other language than their place, which is English and Chinese in turn."""
    return [text for text in texts[::2] if HAN.search(text)] + [text for text in texts[1::2] if not HAN.search(text)]
