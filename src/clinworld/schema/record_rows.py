"""Records as JSON rows and back."""

from typing import Any

import numpy as np

from clinworld.core.text import Wording
from clinworld.schema.record import (
    Dispensing,
    FindingResult,
    History,
    MethodChange,
    Note,
    PastEvent,
    PastPrescription,
    Prescription,
    Profile,
    Record,
    Series,
    Specimen,
)

_LISTS = ("dispensing", "specimens", "method_changes", "findings")  # lists of flat facts that may be empty


def record_to_row(record: Record) -> dict[str, Any]:
    """The JSON form of a record: columnar, printed values as ticks. Parts that are not charted have no key."""
    row: dict[str, Any] = {
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
        "series": list(map(_series_to_row, record.series)),
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
        "prescriptions": list(map(_cells, record.prescriptions)),
    }
    for name in _LISTS:
        if facts := getattr(record, name):
            row[name] = list(map(_cells, facts))
    if (past := record.history) is not None:
        row["history"] = {
            "visits": past.visits,
            "series": list(map(_series_to_row, past.series)),
            "prescriptions": list(map(_cells, past.prescriptions)),
            "events": [[event.day, event.text.en, event.text.zh, event.source] for event in past.events],
        }
    return row


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
        series=tuple(map(_series_from_row, row["series"])),
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
        dispensing=tuple(Dispensing(*each) for each in row.get("dispensing", ())),
        specimens=tuple(map(_specimen_from_row, row.get("specimens", ()))),
        method_changes=tuple(MethodChange(*each) for each in row.get("method_changes", ())),
        findings=tuple(FindingResult(*each) for each in row.get("findings", ())),
        history=_history_from_row(row["history"]) if "history" in row else None,
    )


def _specimen_from_row(row: list[Any]) -> Specimen:
    day, minute_of_day, is_fasting, site, platform, comment, others = row
    return Specimen(day, minute_of_day, is_fasting, site, platform, comment, tuple(others))


def _history_from_row(row: dict[str, Any]) -> History:
    return History(
        visits=tuple(row["visits"]),
        series=tuple(map(_series_from_row, row["series"])),
        prescriptions=tuple(PastPrescription(*each) for each in row["prescriptions"]),
        events=tuple(PastEvent(day, Wording(en, zh), source) for day, en, zh, source in row["events"]),
    )


def _series_to_row(series: Series) -> dict[str, Any]:
    return {name: getattr(series, name) for name in ("name", "setting", "unit", "decimals", "days", "ticks")}


def _series_from_row(row: dict[str, Any]) -> Series:
    days, ticks = np.array(row["days"], dtype=np.int32), np.array(row["ticks"], dtype=np.int64)
    return Series(row["name"], row["setting"], row["unit"], row["decimals"], days, ticks)


def _cells(fact: Any) -> list[Any]:
    return [getattr(fact, name) for name in fact.__slots__]
