"""Drawn patients for the tests of what was charted before day 0, some with a condition that shows itself in the course."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import History, Profile, Record
from clinworld.world.course import build_course
from clinworld.world.draw import draw_cases
from clinworld.world.history import draw_history
from clinworld.world.job_file import read_job
from clinworld.world.premise import derive_premise
from clinworld.world.presenting import draw_presenting

KNOWLEDGE = load_knowledge()
SEED = "history"
RNG = Rng(SEED)


@lru_cache
def premises(n: int = 150) -> tuple[Premise, ...]:
    """Drawn patients who show nothing new."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.yaml"
        path.write_text(f"job_id: drawn\ntask: early_warning\nseed: {SEED}\nitems: {n}\n")
        job = read_job(path, KNOWLEDGE)
    return tuple(derive_premise(case, job, KNOWLEDGE, RNG) for case in draw_cases(job, KNOWLEDGE, RNG))


@lru_cache
def showing(n: int = 120, each: int = 2) -> tuple[Premise, ...]:
    """The same patients, `each` times with a condition that an old event can speak for, where one of its presentations fits them."""
    names = sorted({row.condition for row in KNOWLEDGE.past_events.values() if row.condition})
    return tuple(
        shown
        for i, premise in enumerate(premises(n))
        for j in range(each)
        if (shown := show(premise, names[(each * i + j) % len(names)], f"{premise.case_id}-{j}")) is not None
    )


def show(premise: Premise, condition: str, case_id: str) -> Premise | None:
    """A patient in whom a condition shows itself; None where it is known of already or none of its presentations fits."""
    if condition in (premise.patient.disease, *premise.patient.comorbidities):
        return None
    try:
        presenting = draw_presenting(case_id, condition, premise.patient, premise.index_day, KNOWLEDGE, RNG)
    except PremiseConflict:
        return None
    return replace(premise, case_id=case_id, presenting=presenting)


_COURSES: dict[str, Course] = {}
_HISTORIES: dict[str, History] = {}


def course_of(premise: Premise) -> Course:
    """The course of a drawn patient, built once."""
    if premise.case_id not in _COURSES:
        _COURSES[premise.case_id] = build_course(premise, KNOWLEDGE, RNG)
    return _COURSES[premise.case_id]


def history_of(premise: Premise) -> History:
    """The history of a drawn patient, made once."""
    if premise.case_id not in _HISTORIES:
        _HISTORIES[premise.case_id] = draw_history(premise, KNOWLEDGE, RNG, course=course_of(premise))
    return _HISTORIES[premise.case_id]


def record_of(premise: Premise, history: History | None) -> Record:
    """A record with nothing but the patient and the history."""
    who = premise.patient
    profile = Profile(who.age_low, who.age_high, who.sex, who.bmi, (who.disease, *who.comorbidities), who.goals, who.devices)
    return Record(profile, premise.course_end_day, (), (), (), history=history)
