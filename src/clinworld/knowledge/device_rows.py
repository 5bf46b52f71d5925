"""Streams, what they are measured with, and the faults of measurement."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording


@dataclass(frozen=True, slots=True)
class Stream:
    """A daily wearable, home or diary quantity.

    `scale` linear or log: person level and day-to-day noise are added on that scale (`sd_between`, `sd_within` are on it too).
    `lag1` is the day-to-day autocorrelation of the noise. `saturday`, `sunday`, `monday` are added on the scale. `p_present` is the
    share of people who have the stream at all, `p_off_worn` and `p_off_off` the chance of a missing day after a worn and after a missing
    one. `role`: wearable (any wearable), evidence (shows a driver, exists for everyone), quality (says how sure a reading is), home (a
    home device), diary (few people keep it; shown only where a pack asks). `mean_m`, `mean_f` are in `ucum` whatever the scale.
    A derived stream is `intercept_m` or `intercept_f` + slope * parent on the parent's days, or the line that `derived_by` names in
    `world/formulas.py`, plus its own noise; its scale is linear. `per_bmi_over_25`: change of a person's level per kg/m2 over 25.
    `per_kg`: change of the true level per kg of body-weight change, with lag `half_time_days` (None: weight does not move it).
    `diagnostic_high` with `diagnostic_of`: at or above it the named condition would be diagnosed.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    loinc: str
    ucum: str
    decimals: int
    setting: Literal["home", "clinic", "diary", "medication"]
    devices: tuple[str, ...]
    role: Literal["weight", "wearable", "evidence", "quality", "home", "adherence", "diary"]
    scale: Literal["linear", "log"]
    mean_m: float | None
    mean_f: float | None
    per_year_over_40: float
    per_bmi_over_25: float
    sd_between: float
    sd_within: float
    lag1: float
    saturday: float
    sunday: float
    monday: float
    p_present: float
    p_off_worn: float
    p_off_off: float
    hard_low: float
    hard_high: float
    parent: str
    derived_by: str
    intercept_m: float | None
    intercept_f: float | None
    slope: float | None
    clinician_reads: bool
    source: str
    status: str
    per_kg: float | None = None
    half_time_days: float | None = None
    diagnostic_high: float | None = None
    diagnostic_of: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """What a patient measures with. `reports` are the streams and analyte groups that exist because of it.

    Of what is worn: no stream has a value on a day without one of `worn_days`; `worn_nights` are the streams of the night, and none has
    one on a night without the first of them.
    """

    id: str
    names: Wording
    reports: tuple[str, ...]
    source: str
    status: str
    worn_days: str = ""
    worn_nights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A class of measurement fault: how large it may be (kg, factor or adherence fraction), what it needs and what it does.

    Each case draws its own size, from `size_low` to `size_high` or one of `factors`; a class without either has none.
    """

    id: str
    names: Wording
    explains: Wording
    size_low: float | None
    size_high: float | None
    direction: Literal["", "up", "either"]  # which way readings are moved, "" where they are not moved by a size
    factors: tuple[float, ...]
    unit: str
    needs: tuple[str, ...]  # any of these devices
    series: str  # the series it touches
    turning_kind: Literal["trap", "missing", "confound"]
    source: str
    status: str
