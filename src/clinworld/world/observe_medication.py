"""What the chart says of the medicine: doses ordered, and readings of how much of it was taken."""

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import Prescription, Series
from clinworld.world.observe_streams import reflect

ADHERENCE = "med_adherence"


def derive_prescriptions(premise: Premise, course: Course, knowledge: Knowledge) -> tuple[Prescription, ...]:
    """An order for each change of dose, the first being the start."""
    drug = knowledge.drugs[premise.drug]
    return tuple(Prescription(day, drug.id, dose, drug.dose_unit, drug.frequency) for day, dose in course.dose_changes)


def observe_adherence(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng) -> tuple[Series, int]:
    """(readings of the share of doses taken in percent, number of passing dips among them).

    A few readings at irregular intervals up to the index day, the last shortly before it, and a few later. Where true adherence moved
    clearly between the first and the last visible reading, noise does not hide the change; where it did not, in a share of cases one
    inner reading dips and recovers.
    """
    row = knowledge.streams[ADHERENCE]
    uniforms = rng.at(premise.case_id, "adherence", "days").uniform(32).tolist()
    visible = draw_visible_days(premise.index_day, knowledge, uniforms[:16])
    days = np.array(visible + draw_later_days(premise, knowledge, uniforms[16:24]))
    noise = row.sd_within * rng.at(premise.case_id, "adherence", "noise").normal(32)[: len(days)]
    truth = 100 * course.adherence[days]
    last = len(visible) - 1
    moved = truth[0] - truth[last]
    has_moved = abs(moved) > 2 * row.sd_within
    if has_moved:
        noise[[0, last]] = np.abs(noise[[0, last]]) * np.array([1, -1]) * np.sign(moved)
    values = truth + noise
    is_dip, which, depth = uniforms[24:27]
    dips = 0
    # A dip in a falling series could not be told from the fall.
    if is_dip < knowledge.parameter("adherence_dip_p") and last > 1 and not has_moved:
        inner = 1 + int(which * (last - 1))
        low, high = knowledge.parameter("adherence_dip_low"), knowledge.parameter("adherence_dip_high")
        dip = 100 * (low + (high - low) * depth)
        dips = int(dip < values[inner])
        values[inner] = min(values[inner], dip)
    step = 10.0**-row.decimals
    values = reflect(values, row.hard_low + step, row.hard_high - step)
    return Series(row.id, row.setting, row.ucum, row.decimals, days.astype(np.int32), to_ticks(values, row.decimals)), dips


def draw_visible_days(index_day: int, knowledge: Knowledge, uniforms: list[float]) -> list[int]:
    """Reading days up to the index day, ascending; closer together where the index day is early."""
    last = index_day - int(uniforms[0] * (knowledge.parameter("adherence_last_before") + 1))
    fewest, most = int(knowledge.parameter("adherence_visible_least")), int(knowledge.parameter("adherence_visible_most"))
    gap = min(int(knowledge.parameter("adherence_least_gap")), last // (fewest + 1))
    earliest = min(int(knowledge.parameter("adherence_first_earliest")), gap)
    wanted = fewest + int(uniforms[1] * (most - fewest + 1))
    n = min(wanted, 1 + (last - earliest) // gap)
    latest = min(int(knowledge.parameter("adherence_first_latest")), last - (n - 1) * gap)
    first = earliest + int(uniforms[2] * (latest - earliest + 1))
    slack = last - first - (n - 1) * gap
    pushed = sorted(int(u * (slack + 1)) for u in uniforms[3 : 3 + n - 2])
    return [first, *(first + (i + 1) * gap + push for i, push in enumerate(pushed)), last]


def draw_later_days(premise: Premise, knowledge: Knowledge, uniforms: list[float]) -> list[int]:
    """Reading days after the index day, ascending, as far as the course goes."""
    fewest, most = int(knowledge.parameter("adherence_later_least")), int(knowledge.parameter("adherence_later_most"))
    low, high = knowledge.parameter("adherence_later_gap_low"), knowledge.parameter("adherence_later_gap_high")
    n = fewest + int(uniforms[0] * (most - fewest + 1))
    day, days = premise.index_day, []
    for u in uniforms[1 : 1 + n]:
        day += int(low + u * (high - low))
        days.append(day)
    return [day for day in days if day <= premise.course_end_day]
