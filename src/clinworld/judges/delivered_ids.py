"""What an answer may cite: the notes, series, single readings and prescriptions that had been delivered by a day.

Forms: a note id; a series or drug by id, alias or name in either language; one reading `weight@134` (`weight d134` and a stretch
`weight@120-134` mean the same); a short form of a note id that fits one note only.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from clinworld.knowledge.load import Knowledge
from clinworld.schema.record import Record, Series

Standing = Literal["delivered", "not_delivered", "ambiguous"]

_READING = re.compile(r"^(.+?)\s*(?:@|\s)\s*\(?(?:d|day\s*)?(\d{1,5})(?:\s*[-–~]\s*(?:d|day\s*)?(\d{1,5}))?\)?$", re.IGNORECASE)
_SEPARATOR = re.compile(r"[-_:#]")
_SHORT = 3  # a shorter form of an id is a guess, not a citation


@dataclass(frozen=True)
class DeliveredIds:
    """Everything an answer may cite, with the day it could first be seen. Names are folded.

    `notes` maps note ids to their days, `names` what a series or drug is called to its key in `days`; `days` the ascending days on
    which it has an entry.
    """

    notes: Mapping[str, int]
    names: Mapping[str, str]
    days: Mapping[str, tuple[int, ...]]

    def standing(self, cited: str, day: int) -> Standing:
        """Whether what is cited had been delivered by the end of a day; "ambiguous" when it fits two notes."""
        folded = cited.strip().strip("[]()`\"'").strip().casefold()
        if folded in self.notes:
            return "delivered" if self.notes[folded] <= day else "not_delivered"
        if folded in self.names:
            return "delivered" if self.entries(self.names[folded], 0, day) else "not_delivered"
        reading = self.reading(folded)
        if reading:
            key, first, last = reading
            return "delivered" if last <= day and self.entries(key, first, last) else "not_delivered"
        fitting = [note for note in self._short_forms.get(folded, ()) if self.notes[note] <= day]
        return "not_delivered" if not fitting else ("delivered" if len(fitting) == 1 else "ambiguous")

    def reading(self, cited: str) -> tuple[str, int, int] | None:
        """(key, first day, last day) of a cited reading or stretch, None when it has not that form or names no known series."""
        match = _READING.match(cited.strip().casefold())
        if not match or match[1].strip() not in self.names:
            return None
        first = int(match[2])
        return self.names[match[1].strip()], first, int(match[3] or first)

    def entries(self, key: str, first: int, last: int) -> bool:
        """Whether a series or drug has an entry between two days, both included."""
        days = self.days[key]
        place = bisect_left(days, first)
        return place < len(days) and days[place] <= last

    def is_new(self, cited: str, after: int, day: int) -> bool:
        """Whether what is cited was first delivered after one day and by another. A series named without a day is never new."""
        folded = cited.strip().strip("[]()`\"'").strip().casefold()
        if folded in self.notes:
            return after < self.notes[folded] <= day
        reading = self.reading(folded)
        return bool(reading) and self.standing(folded, day) == "delivered" and reading is not None and reading[2] > after

    @cached_property
    def _short_forms(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for note in self.notes:
            parts = _SEPARATOR.split(note)
            for start in range(1, len(parts)):
                short = "-".join(parts[start:])
                if len(short) >= _SHORT:
                    found.setdefault(short, []).append(note)
        return found


def read_delivered_ids(record: Record, knowledge: Knowledge) -> DeliveredIds:
    """What may be cited from a record that an episode shows in whole up to its day."""
    names: dict[str, str] = {}
    days: dict[str, tuple[int, ...]] = {}
    for series in record.series:
        _add(names, days, series.name, _series_names(series, knowledge), series.days.tolist())
    for drug in dict.fromkeys(prescription.drug for prescription in record.prescriptions):
        row = knowledge.drugs.get(drug)
        called = (row.names.en, row.names.zh, *row.aliases) if row else ()
        _add(names, days, drug, called, [each.day for each in record.prescriptions if each.drug == drug])
    return DeliveredIds({note.note_id.casefold(): note.day for note in record.notes}, names, days)


def _series_names(series: Series, knowledge: Knowledge) -> tuple[str, ...]:
    row = knowledge.streams.get(series.name) or knowledge.analytes.get(series.name)
    return (row.names.en, row.names.zh, *row.aliases) if row else ()


def _add(names: dict[str, str], days: dict[str, tuple[int, ...]], key: str, called: Iterable[str], on: list[int]) -> None:
    days[key] = tuple(sorted((*days.get(key, ()), *on)))
    for name in (key, *called):
        names.setdefault(name.casefold(), key)
