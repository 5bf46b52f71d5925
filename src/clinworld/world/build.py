"""A premise becomes a world: what happened by day, and what was charted of it."""

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import Chart, Profile, Record
from clinworld.world.condition_findings import derive_findings
from clinworld.world.course import build_course
from clinworld.world.dispensing import derive_dispensing
from clinworld.world.event_effects import add_event_effects, list_told, needs_events
from clinworld.world.history import draw_history, list_history_rows
from clinworld.world.notes import ObservedNotes, draw_told_events, observe_notes
from clinworld.world.observe import follow_series
from clinworld.world.steps import Steps, run_alone
from clinworld.world.visits import draw_visits


def build_world(
    premise: Premise,
    knowledge: Knowledge,
    rng: Rng,
    parts: frozenset[str] = frozenset(),
    *,
    has_daily: bool = True,
    has_notes: bool = True,
) -> tuple[Course, Chart]:
    """The truth of one patient and the chart made of it, to the end of the course. Pure: equal premises give equal bytes.

    `parts` of PARTS adds what not every pack needs, and moves nothing else. A cohort may leave out what is charted by day (`has_daily`)
    or what is told in words (`has_notes`); the rest stays as it is.
    Raises PremiseConflict when something declared cannot be placed (an artifact without a reading, more events than there are rows).
    """
    return run_alone(follow_world(premise, knowledge, rng, parts, has_daily=has_daily, has_notes=has_notes))


def follow_world(
    premise: Premise, knowledge: Knowledge, rng: Rng, parts: frozenset[str], *, has_daily: bool, has_notes: bool
) -> Steps[tuple[Course, Chart]]:
    """`build_world` in steps."""
    course = build_course(premise, knowledge, rng)
    yield
    history = draw_history(premise, knowledge, rng, course=course) if "history" in parts else None
    yield
    told = ObservedNotes((), (), (), ())
    if has_notes:
        told = observe_notes(premise, knowledge, rng)
        course = add_event_effects(course, premise, list_told(told.notes, told.origins), knowledge)
    elif has_daily or needs_events(course, knowledge):
        course = add_event_effects(course, premise, draw_told_events(premise, knowledge, rng), knowledge)
    yield
    visits = draw_visits(premise, course, knowledge, rng)
    findings = derive_findings(premise, course, knowledge, rng, visits=visits) if "findings" in parts else ()
    yield
    has_specimens = "specimens" in parts
    observed = yield from follow_series(premise, course, visits, knowledge, rng, has_daily=has_daily, has_specimens=has_specimens)
    yield
    patient = premise.patient
    earlier = history.prescriptions if history is not None else ()
    record = Record(
        profile=Profile(
            age_low=patient.age_low,
            age_high=patient.age_high,
            sex=patient.sex,
            bmi=patient.bmi,
            known_conditions=(patient.disease, *patient.comorbidities),
            goals=patient.goals,
            devices=patient.devices,
        ),
        last_day=premise.course_end_day,
        series=observed.series,
        notes=told.notes,
        prescriptions=observed.prescriptions,
        specimens=observed.specimens,
        method_changes=observed.method_changes,
        findings=findings,
        dispensing=derive_dispensing(premise, course, knowledge, rng, earlier=earlier) if "dispensing" in parts else (),
        history=history,
    )
    rows_used = sorted(
        {
            f"conditions:{patient.disease}",
            f"drugs:{premise.drug}",
            *observed.rows_used,
            *told.rows_used,
            *list_history_rows(history, knowledge),
        }
    )
    return course, Chart(record, observed.faults, told.origins, observed.acted + told.acted, tuple(rows_used))
