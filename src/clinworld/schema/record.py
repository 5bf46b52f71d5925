"""What was charted: typed, dated facts. A prompt, a tool result and a FHIR bundle are renderings of it.

The same types hold the whole chart (world, gold side) and a view of it (what an agent may read up to a day); only `access` cuts.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clinworld.core.text import Wording

Setting = Literal["home", "clinic", "laboratory", "medication", "diary"]
NoteSource = Literal["patient_reported_symptom", "patient_reported_context", "lab_result"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One quantity as printed: `ticks` are whole multiples of the last printed digit, on ascending days.

    A day that is absent was not measured. `name` is a stream or analyte id.
    """

    name: str
    setting: Setting
    unit: str
    decimals: int
    days: NDArray[np.int32]
    ticks: NDArray[np.int64]

    def values(self) -> NDArray[np.float64]:
        """The printed values."""
        return self.ticks / 10.0**self.decimals

    def until(self, day: int) -> "Series":
        """The part charted on or before a day."""
        n = int(self.days.searchsorted(day, side="right"))
        return Series(self.name, self.setting, self.unit, self.decimals, self.days[:n], self.ticks[:n])


@dataclass(frozen=True, slots=True)
class Note:
    """A dated text fact. `note_id` is opaque. `is_as_written`: the author's own words, the same in both languages."""

    note_id: str
    day: int
    source: NoteSource
    text: Wording
    context: Wording | None
    is_as_written: bool = False


@dataclass(frozen=True, slots=True)
class Prescription:
    """A dose ordered on a day, in force until the next one."""

    day: int
    drug: str
    dose: float
    unit: str
    frequency: str  # row of frequencies, for example "weekly"


@dataclass(frozen=True, slots=True)
class Dispensing:
    """What a pharmacy handed out on a day, and for how many days it lasts if taken as ordered."""

    day: int
    drug: str
    dose: float
    unit: str
    days_supplied: int


@dataclass(frozen=True, slots=True)
class Specimen:
    """The circumstances of one laboratory draw. `comment` is an id of a lab factor the laboratory noticed, "" for none.

    `platform` is the laboratory's main one; `others` are those that measured their own analytes of this draw.
    """

    day: int
    minute_of_day: int
    is_fasting: bool
    site: str
    platform: str
    comment: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodChange:
    """The day from which an analyte is measured on another platform."""

    day: int
    analyte: str
    platform_before: str
    platform_after: str


@dataclass(frozen=True, slots=True)
class FindingResult:
    """The result of a test whose finding is no analyte: positive or negative, or a number as ticks of its last printed digit.

    `is_positive` is None where only a number is reported; `ticks` is None where only the word is.
    """

    day: int
    name: str
    is_positive: bool | None
    ticks: int | None
    decimals: int


@dataclass(frozen=True, slots=True)
class PastPrescription:
    """A drug taken before day 0; `last_day` is None when it was still in force on day 0."""

    first_day: int
    last_day: int | None
    drug: str
    dose: float
    unit: str


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A documented event before day 0, with the kind of place that documented it."""

    day: int
    text: Wording
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """What was charted before day 0. All days are negative, ascending."""

    visits: tuple[int, ...]
    series: tuple[Series, ...]
    prescriptions: tuple[PastPrescription, ...]
    events: tuple[PastEvent, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """The patient header. Ids are knowledge ids."""

    age_low: int
    age_high: int
    sex: str
    bmi: float | None
    known_conditions: tuple[str, ...]
    goals: tuple[str, ...]
    devices: tuple[str, ...]


ALWAYS_SHOWN = ("profile", "prescriptions", "streams", "labs", "notes")
PARTS = ("history", "specimens", "findings", "dispensing")  # made and shown only where they are asked for


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One patient's chart up to `last_day`. Series and notes stand in an order that tells nothing.

    The last five are charted where a pack or a cohort asks for them; empty or None otherwise.
    """

    profile: Profile
    last_day: int
    series: tuple[Series, ...]
    notes: tuple[Note, ...]
    prescriptions: tuple[Prescription, ...]
    dispensing: tuple[Dispensing, ...] = ()
    specimens: tuple[Specimen, ...] = ()
    method_changes: tuple[MethodChange, ...] = ()
    findings: tuple[FindingResult, ...] = ()
    history: History | None = None

    def find(self, name: str) -> Series | None:
        """The series of that name, or None when nothing of the kind was charted."""
        return next((series for series in self.series if series.name == name), None)

    def until(self, day: int) -> "Record":
        """The part of the chart that existed at the end of a day; itself when that is all. Series without a value yet are left out."""
        if day == self.last_day and all(len(series.days) and series.days[-1] <= day for series in self.series):
            return self
        cut = tuple(part for series in self.series if len((part := series.until(day)).days))
        return Record(
            profile=self.profile,
            last_day=min(day, self.last_day),
            series=cut,
            notes=tuple(note for note in self.notes if note.day <= day),
            prescriptions=tuple(p for p in self.prescriptions if p.day <= day),
            dispensing=tuple(each for each in self.dispensing if each.day <= day),
            specimens=tuple(each for each in self.specimens if each.day <= day),
            method_changes=tuple(each for each in self.method_changes if each.day <= day),
            findings=tuple(each for each in self.findings if each.day <= day),
            history=self.history,
        )


@dataclass(frozen=True, slots=True)
class ChartFault:
    """A fault in the charted values, known to the world and never delivered.

    `days` are the charted days it touched; `size` its size in the row's unit, None where it has none (missing readings).
    """

    kind: str
    series: str
    days: tuple[int, ...]
    size: float | None


@dataclass(frozen=True, slots=True)
class NoteOrigin:
    """Why a note stands in the chart: the hidden half of `Note`."""

    note_id: str
    kind: Literal["real", "benign", "life", "look_alike", "distractor", "panel"]
    row: str  # knowledge row it came from, "" for the author's own words


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A record with what only the world knows about it: faults, origins, mechanisms and how often they acted."""

    record: Record
    faults: tuple[ChartFault, ...]
    origins: tuple[NoteOrigin, ...]
    acted: tuple[tuple[str, int], ...]  # declared mechanism → times it acted
    rows_used: tuple[str, ...]  # knowledge rows, "analytes:hba1c" form, sorted
