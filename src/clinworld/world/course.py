"""The truth of one patient by day: weight, the medicine taken, and every level they move. Noise and gaps come later."""

from types import MappingProxyType

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import push_weight
from clinworld.world.level_course import derive_all_levels
from clinworld.world.level_motion import Treatment
from clinworld.world.medication import derive_doses, draw_adherence, draw_dose_changes
from clinworld.world.monitoring import known_conditions, list_watched
from clinworld.world.weight_guard import derive_weight

HOME_PRESSURE = "home_sbp"  # pressures taken at visits follow that at home, which not everybody takes


def build_course(premise: Premise, knowledge: Knowledge, rng: Rng, *, guard: bool = True) -> Course:
    """What really happens in a patient from day 0 to the course's last day. Pure: equal premises give equal arrays.

    Nothing up to the index day depends on the outcome, on a later reversal or on the course's end, but for adherence, a dose kept low
    and the evidence of the driver, which are there to be read. `guard` off leaves the outcome of the weight curve to chance, for tests.
    """
    weight_kg, notes = derive_weight(premise, knowledge, rng, guard=guard)
    weight_kg = push_weight(weight_kg, premise, knowledge, rng)
    changes = draw_dose_changes(premise, knowledge, rng)
    dose = derive_doses(changes, premise.course_end_day)
    adherence = draw_adherence(premise, knowledge, rng)
    watched = list_watched(knowledge, known_conditions(premise), premise.drug, premise.patient.devices)
    treatment = Treatment(weight_kg, dose, adherence)
    levels = derive_all_levels(premise, treatment, knowledge, rng, items=watched, beside=(HOME_PRESSURE,))
    return Course(
        last_day=premise.course_end_day,
        weight_kg=weight_kg,
        adherence=adherence,
        dose=dose,
        dose_changes=changes,
        levels=MappingProxyType(levels.reported),
        shape_notes=MappingProxyType(dict(notes)),
        unreported=MappingProxyType(levels.unreported),
    )
