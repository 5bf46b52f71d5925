"""No everyday event says what needs prompt care, in either language: an exam without a red flag shows none."""

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word, texts_of
from clinworld.schema.finding import Finding

CONTROLS = ("everyday_complaints", "an_everyday_complaint_of_chest_pain")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the everyday notes of the whole chart."""
    findings = tuple(
        Finding("events_are_harmless", f"note {note.note_id}, day {note.day}", repr(word), "everyday events carry no red flag")
        for note in case.everyday_notes
        for text in texts_of(note)
        if (word := find_listed_word(text, RED_FLAGS))
    )
    return Outcome(len(case.everyday_notes), findings, "no everyday event is charted")
