"""How large a declared fault is in one case, drawn from what its row allows and what this patient's readings leave possible.

Where the fault stands is decided elsewhere; `artifacts.py` lays it over the readings. Called by `premise.py` and for pictures of a case
with other faults.
"""

import numpy as np

from clinworld.core.rng import Rng, Series
from clinworld.core.units import to_tick
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import ArtifactRow
from clinworld.schema.job import ArtifactClass
from clinworld.schema.premise import PlannedArtifact, Premise

SHARE_DECIMALS = 2  # a share of doses taken is charted in whole percent
_SIZE, _SIGN, _READINGS = 0, 1, 2  # elements of a fault's own series


def draw_artifact(kind: ArtifactClass, first_day: int, last_day: int, premise: Premise, knowledge: Knowledge, rng: Rng) -> PlannedArtifact:
    """The fault with its size and how many readings it touches; a size of 0 is that of a fault without one (missing readings).

    Its draws depend on the case, the kind and the first day alone; of the premise only what no fault moves is read.
    """
    row, drawn = knowledge.artifacts[kind], rng.at(premise.case_id, "artifact", kind, first_day)
    if row.factors:
        fewest, most = int(knowledge.parameter("unit_error_readings_least")), int(knowledge.parameter("unit_error_readings_most"))
        factor = drawn.pick(find_possible_factors(row, premise, knowledge), index=_SIZE)
        return PlannedArtifact(kind, first_day, last_day, factor, drawn.whole(fewest, most, index=_READINGS))
    if row.size_low is None or row.size_high is None:
        return PlannedArtifact(kind, first_day, last_day, 0.0)
    if row.direction:
        size = _draw_between(row.size_low, row.size_high, knowledge.streams[row.series].decimals, drawn)
        is_down = row.direction == "either" and drawn.chance(_SIGN) < 1 / 2
        return PlannedArtifact(kind, first_day, last_day, -size if is_down else size)
    below = find_taken(premise, (first_day + last_day) // 2) - knowledge.parameter("adherence_gap_least_drop")
    high = max(row.size_low, min(row.size_high, below))
    return PlannedArtifact(kind, first_day, last_day, _draw_between(row.size_low, high, SHARE_DECIMALS, drawn))


def find_possible_factors(row: ArtifactRow, premise: Premise, knowledge: Knowledge) -> tuple[float, ...]:
    """The factors that keep this patient's readings inside the hard bounds of their stream; all where none does."""
    stream, room = knowledge.streams[row.series], 1 + knowledge.parameter("unit_error_room")
    regained = premise.nadir_weight_kg
    if premise.reversal_day is not None:
        regained += premise.regain_kg_per_week * (premise.course_end_day - premise.reversal_day) / 7
    planned = (premise.start_weight_kg, premise.nadir_weight_kg, regained)
    low, high = min(planned) / room, max(planned) * room
    possible = tuple(factor for factor in row.factors if stream.hard_low <= factor * low and factor * high <= stream.hard_high)
    return possible or row.factors


def find_taken(premise: Premise, day: int) -> float:
    """The planned share of doses taken on a day, 0-1."""
    days, levels = zip(*premise.adherence_course, strict=True)
    return float(np.interp(day, days, levels))


def _draw_between(low: float, high: float, decimals: int, drawn: Series) -> float:
    # On the printed grid: readings are moved by exactly what gold says.
    return float(drawn.whole(to_tick(low, decimals), to_tick(high, decimals), index=_SIZE) / 10**decimals)
