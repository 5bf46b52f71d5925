"""What the streams that show a driver truly did: in every case, whether the driver acts or not, so that their presence tells nothing."""

import math
from functools import lru_cache
from typing import NamedTuple

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
    shown = _load_evidence(knowledge)
    own = words_to_normal(rng.first_words(premise.case_id, shown.paths, 1)[:, 0])
    own /= 1.0 + np.abs(own) / knowledge.parameter("levels_person_cut_sd")
    rows = np.empty((len(shown.names), premise.course_end_day + 1))
    rows[:] = (shown.usual + shown.sd * own)[:, None]
    if premise.outcome == "regain" and premise.driver in shown.drivers:
        at = shown.drivers.index(premise.driver)
        turn = premise.index_day if premise.reversal_day is None else min(premise.reversal_day, premise.index_day)
        since = np.arange(rows.shape[1]) - (turn - shown.lead_days[at])
        rows[at] += shown.size[at] * smooth_step(since / knowledge.parameter("levels_evidence_ramp_days"))
    return dict(zip(shown.names, rows, strict=True))


class _Evidence(NamedTuple):
    # The drivers with a stream that shows them: its level's name and address, and on its scale the usual level (0 for a shift), the SD
    # between people, and how long before the turn and how far the driver moves it.
    drivers: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]
    usual: Reals
    sd: Reals
    lead_days: tuple[int, ...]
    size: tuple[float, ...]


@lru_cache(maxsize=8)
def _load_evidence(knowledge: Knowledge) -> _Evidence:
    listed = _list_evidence(knowledge)
    shifts = [stream.role == "wearable" for _, stream, _, _ in listed]
    return _Evidence(
        drivers=tuple(driver.id for driver, _, _, _ in listed),
        names=tuple(f"{'shift' if is_shift else 'evidence'}:{row.id}" for is_shift, (_, row, _, _) in zip(shifts, listed, strict=True)),
        paths=tuple(("levels", "evidence", driver.evidence) for driver, _, _, _ in listed),
        usual=np.array([usual for _, _, usual, _ in listed]),
        sd=np.array([0.0 if is_shift else row.sd_between for is_shift, (_, row, _, _) in zip(shifts, listed, strict=True)]),
        lead_days=tuple(driver.lead_days or 0 for driver, _, _, _ in listed),
        size=tuple(size for _, _, _, size in listed),
    )


def _list_evidence(knowledge: Knowledge) -> list[tuple[Driver, Stream, float, float]]:
    """(driver, its stream, the usual level, the size of its move), on the stream's scale; the usual level of a shift is 0."""
    listed: list[tuple[Driver, Stream, float, float]] = []
    for driver in knowledge.drivers.values():
        if driver.evidence and driver.normal is not None and driver.abnormal is not None:
            stream = knowledge.streams[driver.evidence]
            is_log = stream.role == "wearable" and stream.scale == "log"
            size = math.log(driver.abnormal / driver.normal) if is_log else driver.abnormal - driver.normal
            listed.append((driver, stream, 0.0 if stream.role == "wearable" else driver.normal, size))
    return listed
