"""What was charted: typed, dated facts. A prompt, a tool result and a FHIR bundle are renderings of it.

The same types hold the whole chart (world, gold side) and a view of it (what an agent may read up to a day); only `access` cuts.
"""

from dataclasses import dataclass
from typing import Any, Literal

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
class Profile:
    """The patient header. Ids are knowledge ids."""

    age_low: int
    age_high: int
    sex: str
    bmi: float | None
    known_conditions: tuple[str, ...]
    goals: tuple[str, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One patient's chart up to `last_day`. Series and notes stand in an order that tells nothing."""

    profile: Profile
    last_day: int
    series: tuple[Series, ...]
    notes: tuple[Note, ...]
    prescriptions: tuple[Prescription, ...]

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


def record_to_row(record: Record) -> dict[str, Any]:
    """The JSON form of a record: columnar, printed values as ticks."""
    return {
        "profile": {
            "age_low": record.profile.age_low,
            "age_high": record.profile.age_high,
            "sex": record.profile.sex,
            "bmi": record.profile.bmi,
            "known_conditions": record.profile.known_conditions,
            "goals": record.profile.goals,
            "devices": record.profile.devices,
        },
        "last_day": record.last_day,
        "series": [
            {"name": s.name, "setting": s.setting, "unit": s.unit, "decimals": s.decimals, "days": s.days, "ticks": s.ticks}
            for s in record.series
        ],
        "notes": [
            {
                "note_id": n.note_id,
                "day": n.day,
                "source": n.source,
                "text": [n.text.en, n.text.zh],
                "context": [n.context.en, n.context.zh] if n.context else None,
                "is_as_written": n.is_as_written,
            }
            for n in record.notes
        ],
        "prescriptions": [[p.day, p.drug, p.dose, p.unit, p.frequency] for p in record.prescriptions],
    }


def record_from_row(row: dict[str, Any]) -> Record:
    """The record in a JSON row written by `record_to_row`."""
    profile = row["profile"]
    return Record(
        profile=Profile(
            age_low=profile["age_low"],
            age_high=profile["age_high"],
            sex=profile["sex"],
            bmi=profile["bmi"],
            known_conditions=tuple(profile["known_conditions"]),
            goals=tuple(profile["goals"]),
            devices=tuple(profile["devices"]),
        ),
        last_day=row["last_day"],
        series=tuple(
            Series(
                name=s["name"],
                setting=s["setting"],
                unit=s["unit"],
                decimals=s["decimals"],
                days=np.array(s["days"], dtype=np.int32),
                ticks=np.array(s["ticks"], dtype=np.int64),
            )
            for s in row["series"]
        ),
        notes=tuple(
            Note(
                note_id=n["note_id"],
                day=n["day"],
                source=n["source"],
                text=Wording(*n["text"]),
                context=Wording(*n["context"]) if n["context"] else None,
                is_as_written=n["is_as_written"],
            )
            for n in row["notes"]
        ),
        prescriptions=tuple(Prescription(*p) for p in row["prescriptions"]),
    )
