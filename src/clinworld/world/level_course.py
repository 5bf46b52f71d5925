"""True levels by day of what is measured in a patient: where the person starts, and everything that acts on it, one after the other.

One set of effects on one timeline: the same weight, dose and adherence move every level, then conditions, harms of the drug and
couplings. Noise, visits and printing are decided in `observe_*`; what a laboratory calculates is calculated there from printed results.
"""

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.adverse_effects import push_harms
from clinworld.world.condition_effects import list_moved_streams, push_levels
from clinworld.world.couplings import couple
from clinworld.world.evidence import derive_evidence
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.level_motion import Treatment, move
from clinworld.world.levels import FirstLevels, draw_first_levels, load_followed


def derive_levels(
    premise: Premise, treatment: Treatment, knowledge: Knowledge, rng: Rng, *, items: tuple[str, ...] = ()
) -> dict[str, Reals]:
    """Level by day of every analyte and stream whose truth is decided here, in the row's unit and on a linear scale.

    `items` are followed besides what the devices report. `NAME` is a true level; `shift:NAME` is added, on the stream's scale, to a
    level drawn where the stream is observed; `evidence:NAME` is the level of a stream that shows a driver, in every case, whether the
    driver acts or not.
    """
    patient, days = premise.patient, premise.course_end_day + 1
    conditions = (patient.disease, *patient.comorbidities)
    age_years = (patient.age_low + patient.age_high) / 2.0
    shown = premise.presenting.condition if premise.presenting else ""
    items = items + list_moved_streams(knowledge, conditions, shown, patient.devices, patient.sex, age_years)
    first, moving, motion = load_followed(knowledge, conditions, patient.devices, premise.drug, patient.sex, age_years, items)
    levels: dict[str, Reals] = {}
    if first.names:
        bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
        base = _state_vitals(draw_first_levels(premise.case_id, first, bmi, rng), first, premise)
        rows = np.repeat(base, days, axis=1)
        if len(moving):
            rows[moving] = move(base[moving], motion, treatment, premise, knowledge)
        for i, name in enumerate(first.names):
            levels[f"shift:{name}" if first.is_shift[i] else name] = rows[i]
    for name, level in derive_evidence(premise, knowledge, rng).items():
        levels[name] = levels[name] + level if name in levels else level
    by_item = {name.rpartition(":")[2]: (name, level) for name, level in levels.items()}
    acted_on = {item: (level, name.startswith("shift:")) for item, (name, level) in by_item.items()}
    for item, level in push_levels(acted_on, premise, knowledge, rng).items():
        levels[by_item[item][0]] = level
    acted_on = {item: (levels[name], is_shift) for item, (_, is_shift) in acted_on.items() for name in [by_item[item][0]]}
    for item, level in push_harms(acted_on, premise, treatment.dose, knowledge, rng).items():
        levels[by_item[item][0]] = level
    levels |= couple(levels, premise, knowledge, rng)
    return levels


def _state_vitals(base: Reals, first: FirstLevels, premise: Premise) -> Reals:
    for name, value in premise.patient.baseline_vitals:
        if name in first.names and not first.is_shift[first.names.index(name)]:
            base[first.names.index(name)] = value
    return base
