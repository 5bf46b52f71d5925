"""No note says something only the other sex or another age could say, in either language."""

from functools import lru_cache

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.word_tables import texts_of
from clinworld.schema.finding import Finding
from clinworld.schema.record import Note, Profile
from clinworld.world.conflicts_patient import find_word, load_sex_words

CONTROLS = ("a_complaint_anyone_has", "a_complaint_of_the_other_sex")
GATE = "text_fits_the_patient"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all notes: their words, and the rows they were drawn from."""
    profile = case.item.record.profile
    findings: list[Finding] = []
    for note in case.gold.chart.notes:
        findings += check_words(note, profile)
        origin = case.kinds.get(note.note_id)
        row = case.knowledge.events.get(origin.row) if origin else None
        if row is None:
            continue
        if row.sex and row.sex != profile.sex:
            findings.append(Finding(GATE, f"note {note.note_id}", f"{row.id} for sex {profile.sex}", f"only sex {row.sex}"))
        low, high = row.age_low or 0, row.age_high
        if profile.age_low < low or (high is not None and profile.age_high > high):
            allowed = f"ages {low} to {high}" if high is not None else f"from age {low}"
            findings.append(Finding(GATE, f"note {note.note_id}", f"{row.id} at age {profile.age_low}-{profile.age_high}", allowed))
    return Outcome(len(case.gold.chart.notes), tuple(findings), "no note is charted")


def check_words(note: Note, profile: Profile) -> list[Finding]:
    """Words of the other sex in a note."""
    return [
        Finding(GATE, f"note {note.note_id}, day {note.day}", repr(word), f"the patient's sex is {profile.sex}")
        for word, sex in find_sex_words(texts_of(note))
        if sex != profile.sex
    ]


@lru_cache(maxsize=4096)
def find_sex_words(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(word, the sex that says it) for every such word in some texts."""
    told = "\n".join(texts).casefold()
    return tuple((word.word, word.what) for word in load_sex_words() if word.word.casefold() in told and find_word(told, word))
