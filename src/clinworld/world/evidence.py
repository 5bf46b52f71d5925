"""What the streams that show a driver truly did: in every case, whether the driver acts or not, so that their presence tells nothing."""

import math
from functools import lru_cache

import numpy as np

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Driver, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.weight import smooth_step


def derive_evidence(premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """Levels of the streams that show drivers, in every case: each person's own normal, and the move of the driver that acts.

    It begins `lead_days` before the reversal or the index day, whichever is first.
    """
    drivers = _list_evidence(knowledge)
    paths = [("levels", "evidence", row.evidence) for row, _, _, _ in drivers]
    own = words_to_normal(rng.first_words(premise.case_id, paths, 1)[:, 0])
    own /= 1.0 + np.abs(own) / knowledge.parameter("levels_person_cut_sd")
    levels: dict[str, Reals] = {}
    for (driver, stream, usual, size), person in zip(drivers, own.tolist(), strict=True):
        name = f"shift:{stream.id}" if stream.role == "wearable" else f"evidence:{stream.id}"
        level = np.full(premise.course_end_day + 1, usual + (0.0 if stream.role == "wearable" else stream.sd_between * person))
        if premise.driver == driver.id and premise.outcome == "regain":
            turn = premise.index_day if premise.reversal_day is None else min(premise.reversal_day, premise.index_day)
            since = np.arange(len(level)) - (turn - (driver.lead_days or 0))
            level += size * smooth_step(since / knowledge.parameter("levels_evidence_ramp_days"))
        levels[name] = level
    return levels


@lru_cache(maxsize=8)
def _list_evidence(knowledge: Knowledge) -> tuple[tuple[Driver, Stream, float, float], ...]:
    """(driver, its stream, the usual level, the size of its move), on the stream's scale; the usual level of a shift is 0."""
    listed = []
    for driver in knowledge.drivers.values():
        if driver.evidence and driver.normal is not None and driver.abnormal is not None:
            stream = knowledge.streams[driver.evidence]
            is_log = stream.role == "wearable" and stream.scale == "log"
            size = math.log(driver.abnormal / driver.normal) if is_log else driver.abnormal - driver.normal
            listed.append((driver, stream, 0.0 if stream.role == "wearable" else driver.normal, size))
    return tuple(listed)
