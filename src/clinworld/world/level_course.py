"""True levels by day of what is measured in a patient: where the person starts, and everything that acts on it, one after the other.

One set of effects on one timeline: the same weight, dose and adherence move every level, then conditions, harms of the drug and
couplings. Noise, visits and printing are decided in `observe_*`; what a laboratory calculates is calculated there from printed results.
"""

from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.adverse_effects import push_harms
from clinworld.world.condition_effects import age_of, list_moved_streams, push_levels
from clinworld.world.couplings import couple
from clinworld.world.evidence import derive_evidence
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.held import find_held
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
    return derive_all_levels(premise, treatment, knowledge, rng, items=items).reported


class AllLevels(NamedTuple):
    """Levels by day of what `derive_levels` follows, and of what no device of the patient reports."""

    reported: dict[str, Reals]
    unreported: dict[str, Reals]


def derive_all_levels(
    premise: Premise, treatment: Treatment, knowledge: Knowledge, rng: Rng, *, items: tuple[str, ...] = (), beside: tuple[str, ...] = ()
) -> AllLevels:
    """What `derive_levels` gives, and of the home streams `beside` those that no device reports, to which nothing is coupled."""
    patient, conditions = premise.patient, (premise.patient.disease, *premise.patient.comorbidities)
    shown = premise.presenting.condition if premise.presenting else ""
    items = items + list_moved_streams(knowledge, conditions, shown, patient.devices, patient.sex, age_of(patient))
    beside = tuple(name for name in beside if name not in items and set(patient.devices).isdisjoint(knowledge.streams[name].devices))
    levels = _start_and_move(premise, treatment, items + beside, knowledge, rng)
    for name, level in derive_evidence(premise, knowledge, rng).items():
        levels[name] = levels[name] + level if name in levels else level
    _act(levels, premise, treatment, knowledge, rng)
    unreported = {name: levels.pop(name) for name in beside}
    levels |= couple(levels, premise, knowledge, rng)
    return AllLevels(levels, unreported)


def _start_and_move(premise: Premise, treatment: Treatment, items: tuple[str, ...], knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """First levels by name, as weight and the drug move them by day."""
    patient = premise.patient
    held = find_held(premise, knowledge, rng)
    conditions = tuple(name for name in (patient.disease, *patient.comorbidities) if name not in held)
    first, moving, motion = load_followed(knowledge, conditions, patient.devices, premise.drug, patient.sex, age_of(patient), items)
    if not first.names:
        return {}
    bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
    base = _state_vitals(draw_first_levels(premise.case_id, first, bmi, rng), first, premise)
    rows = np.empty((len(base), premise.course_end_day + 1))
    rows[:] = base
    if len(moving):
        rows[moving] = move(base[moving], motion, treatment, premise)
    return {
        f"shift:{name}" if is_shift else name: row for name, is_shift, row in zip(first.names, first.is_shift.tolist(), rows, strict=True)
    }


def _act(levels: dict[str, Reals], premise: Premise, treatment: Treatment, knowledge: Knowledge, rng: Rng) -> None:
    """Put what conditions and then harms of the drug do into levels."""
    names = {name.rpartition(":")[2]: name for name in levels}
    acted_on = {item: (levels[name], name.startswith("shift:")) for item, name in names.items()}
    pushed = push_levels(acted_on, premise, knowledge, rng)
    acted_on |= {item: (level, acted_on[item][1]) for item, level in pushed.items()}
    for item, level in (pushed | push_harms(acted_on, premise, treatment.dose, knowledge, rng)).items():
        levels[names[item]] = level


def _state_vitals(base: Reals, first: FirstLevels, premise: Premise) -> Reals:
    for name, value in premise.patient.baseline_vitals:
        if name in first.names and not first.is_shift[first.names.index(name)]:
            base[first.names.index(name)] = value
    return base
