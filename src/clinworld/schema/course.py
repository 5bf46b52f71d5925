"""The truth by day, before anyone measured it. Arrays run from day 0 to the course's last day; index = day."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What really happened in one patient.

    `weight_kg`, `adherence` (0–1, share of doses taken), `dose` (mg, the step in force) and every entry of `levels` (analyte or
    stream id → value in the row's unit) have `last_day + 1` elements. So do those `unreported`: levels that no device of the patient
    reports, of the same person without any device, from which findings of visits follow.
    """

    last_day: int
    weight_kg: Reals
    adherence: Reals
    dose: Reals
    dose_changes: tuple[tuple[int, float], ...]  # (day, dose), the first is the start
    levels: Mapping[str, Reals]
    shape_notes: Mapping[str, str | float | int]  # how the weight course was drawn, for the audit
    unreported: Mapping[str, Reals] = field(default_factory=dict)
