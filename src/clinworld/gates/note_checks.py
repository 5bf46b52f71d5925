"""The ledger's checks of one note: when, what it says, and where it came from."""

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.item.ids_tell_nothing import FORM
from clinworld.gates.item.notes_give_nothing_away import find_words
from clinworld.gates.ledger_check import LedgerCheck, does_not_apply, passes
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import BenignEvent, Condition, Symptom
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word, texts_of
from clinworld.schema.record import Note, NoteOrigin
from clinworld.world.adverse_effects import INTOLERANCE
from clinworld.world.look_alikes import CALM, explained_symptoms, fits_patient


def check_note(note: Note, origin: NoteOrigin | None, case: CaseUnderCheck) -> list[LedgerCheck]:
    """All checks of one note; a note without an origin gets those that need none."""
    texts = texts_of(note)
    words = find_words(texts, case.knowledge)
    checks = [
        passes("day_in_course", 0 <= note.day <= case.gold.premise.course_end_day, f"day {note.day}"),
        passes("id_opaque", bool(FORM.match(note.note_id)), note.note_id),
        passes("has_text", all(text.strip() for text in texts), "both languages"),
        passes("no_answer_words", not words, ", ".join(words) or "clean in both languages"),
        passes("origin_known", origin is not None, origin.kind if origin else "no origin on the gold side"),
        passes("view_equals_chart", _is_viewed(note, case), f"shown up to day {case.item.record.last_day}"),
    ]
    if origin is None:
        return checks
    if origin.kind == "real":
        return [*checks, *_check_real(note, origin, case)]
    if origin.kind == "panel":
        known = origin.row in case.knowledge.analytes
        return [*checks, passes("traceable_to_a_row", known, origin.row or "no row")]
    return [*checks, *_check_everyday(note, origin, case)]


def _is_viewed(note: Note, case: CaseUnderCheck) -> bool:
    shown = case.viewed_notes.get(note.note_id)
    return shown == note if note.day <= case.item.record.last_day else shown is None


def _check_presented(note: Note, origin: NoteOrigin, case: CaseUnderCheck) -> LedgerCheck:
    """A symptom of the presenting condition, told in one of its wordings between onset and T."""
    presenting, symptom = case.gold.premise.presenting, case.knowledge.symptoms.get(origin.row)
    condition = case.knowledge.conditions.get(presenting.condition) if presenting else None
    shapes = [each for each in condition.presentations if presenting and each.id == presenting.presentation] if condition else []
    is_of_shape = any(origin.row in each.course for each in shapes)
    said = (note.text.en, note.text.zh)
    is_worded = symptom is not None and said in zip(symptom.wordings.en, symptom.wordings.zh, strict=False)
    in_time = presenting is not None and presenting.onset_day <= note.day <= case.gold.premise.index_day
    return passes("traceable_to_the_presentation", is_of_shape and is_worded and in_time, f"{origin.row}, day {note.day}")


def _check_real(note: Note, origin: NoteOrigin, case: CaseUnderCheck) -> list[LedgerCheck]:
    if origin.row:
        return [_check_presented(note, origin, case)]
    told = [(s.day, s.text_en, s.text_zh) for s in case.gold.premise.symptoms]
    contexts = [(s.day, s.context_en, s.context_zh) for s in case.gold.premise.symptoms]
    context = (note.day, note.context.en, note.context.zh) if note.context else (note.day, "", "")
    return [
        passes("traceable_to_the_author", (note.day, note.text.en, note.text.zh) in told, "a declared symptom of that day and text"),
        passes("context_declared", context in contexts, note.context.en if note.context else "none"),
    ]


def _check_everyday(note: Note, origin: NoteOrigin, case: CaseUnderCheck) -> list[LedgerCheck]:
    red_flag = next((word for text in texts_of(note) if (word := find_listed_word(text, RED_FLAGS))), "")
    checks = [
        passes("no_red_flag", not red_flag, red_flag or "harmless in both languages"),
        passes("no_collision_with_real", note.day not in case.real_days, f"day {note.day}"),
    ]
    if origin.kind == "look_alike":
        return [*checks, *_check_look_alike(note, case.knowledge.conditions.get(origin.row), case)]
    drug, _, symptom = origin.row.partition(":")
    if origin.kind == "benign" and symptom:
        return [*checks, *_check_harm(note, drug, symptom, case)]
    event = case.knowledge.events.get(origin.row)
    if event is None:
        return [*checks, passes("traceable_to_a_row", False, origin.row or "no row")]
    is_told = event.text == note.text and event.context == note.context
    checks.append(passes("traceable_to_a_row", is_told, event.id if is_told else f"not the text of {event.id}"))
    return [*checks, *_check_event(note, event, case)]


def _check_look_alike(note: Note, condition: Condition | None, case: CaseUnderCheck) -> list[LedgerCheck]:
    symptom = _find_told(note, condition, case.knowledge) if condition is not None else None
    if condition is None or symptom is None:
        return [passes("traceable_to_a_row", False, f"no complaint of {condition.id}" if condition else "no condition")]
    premise, patient = case.gold.premise, case.gold.premise.patient
    known = [case.knowledge.conditions[name] for name in (patient.disease, *patient.comorbidities) if name in case.knowledge.conditions]
    resembles = [row.id for row in known if condition.id in [alike.condition for alike in row.look_alikes]]
    shadows = case.knowledge.symptom_shadows.get(symptom.id)
    meant = [*(shadows.shadows if shadows else ()), *([symptom.id] if symptom.id in explained_symptoms(premise, case.knowledge) else [])]
    fits = condition not in known and fits_patient(symptom, patient) and fits_patient(condition, patient)
    return [
        passes(
            "traceable_to_a_row", bool(resembles), f"{symptom.id} of {condition.id}, a look-alike of {', '.join(resembles) or 'nothing'}"
        ),
        passes("no_proxy_of_the_answer", not meant, ", ".join(meant) or "shadows nothing known"),
        passes("plausible_for_the_patient", fits and condition.urgency in CALM, "age, sex, urgency, and not what the patient has"),
    ]


def _check_harm(note: Note, drug: str, symptom: str, case: CaseUnderCheck) -> list[LedgerCheck]:
    """A complaint that the patient's drug causes, told as an everyday one: in the symptom's words, and a sign of nothing else."""
    row, premise = case.knowledge.symptoms.get(symptom), case.gold.premise
    is_harm = drug == premise.drug and symptom in [harm.symptom for harm in case.knowledge.drugs[drug].adverse_effects]
    is_worded = row is not None and (note.text.en, note.text.zh) in zip(row.wordings.en, row.wordings.zh, strict=False)
    shadows = case.knowledge.symptom_shadows.get(symptom)
    # That a drug is borne badly is told by those in whom it is the answer, and by others whose answer it could not be mistaken for.
    is_proxy = shadows is not None and (
        INTOLERANCE not in shadows.shadows or (premise.driver in shadows.shadows and premise.driver != INTOLERANCE)
    )
    return [
        passes("traceable_to_a_row", is_harm and is_worded, f"{symptom}, a harm of {drug}"),
        passes("no_proxy_of_the_answer", not is_proxy, ", ".join(shadows.shadows) if shadows else "shadows nothing known"),
        passes("plausible_for_the_patient", row is not None and fits_patient(row, premise.patient), "age and sex"),
    ]


def _find_told(note: Note, condition: Condition, knowledge: Knowledge) -> Symptom | None:
    """The complaint of a condition that a note tells in one of its wordings."""
    rows = (knowledge.symptoms[entry.symptom] for entry in condition.symptoms)
    said = (note.text.en, note.text.zh)
    return next((row for row in rows if row.kind == "complaint" and said in zip(row.wordings.en, row.wordings.zh, strict=False)), None)


def _check_event(note: Note, event: BenignEvent, case: CaseUnderCheck) -> list[LedgerCheck]:
    premise, patient = case.gold.premise, case.gold.premise.patient
    shadowed = sorted({patient.disease, *patient.comorbidities, premise.driver} & set(event.shadows))
    is_heavy = patient.bmi is not None and patient.bmi >= case.knowledge.parameter("events_heavy_bmi")
    is_frail = is_heavy or patient.age_high >= case.knowledge.parameter("events_elderly_years")
    in_ages = (event.age_low or 0) <= patient.age_low and (event.age_high is None or patient.age_high <= event.age_high)
    fits = in_ages and event.sex in ("", patient.sex) and not (event.is_exertional and is_frail)
    checks = [
        passes("no_proxy_of_the_answer", not shadowed, ", ".join(shadowed) or "shadows nothing known"),
        passes("plausible_for_the_patient", fits, "age, sex and exertion"),
    ]
    if note.day > case.item.index_day:
        return [*checks, does_not_apply("topic_stands_once", "told after the index day")]
    times = case.shown_topics[event.topic]
    return [*checks, passes("topic_stands_once", times == 1, f"{event.topic}, {times} times by day {case.item.index_day}")]
