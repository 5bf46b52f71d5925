"""A premise becomes a world: what happened by day, and what was charted of it."""

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import Chart, Profile, Record
from clinworld.world.course import build_course
from clinworld.world.notes import observe_notes
from clinworld.world.observe import observe_series


def build_world(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[Course, Chart]:
    """The truth of one patient and the chart made of it, to the end of the course. Pure: equal premises give equal bytes.

    Raises PremiseConflict when something declared cannot be placed (an artifact without a reading, more events than there are rows).
    """
    course = build_course(premise, knowledge, rng)
    observed = observe_series(premise, course, knowledge, rng)
    told = observe_notes(premise, knowledge, rng)
    patient = premise.patient
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
    )
    rows_used = sorted({f"conditions:{patient.disease}", f"drugs:{premise.drug}", *observed.rows_used, *told.rows_used})
    return course, Chart(record, observed.faults, told.origins, observed.acted + told.acted, tuple(rows_used))
