"""The item-by-item ledger of `verify`: one row for each stream, laboratory series, note and case, with the state of each check.

A check says passed, failed or not_applicable with the reason; a laboratory line is checked like any other.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from clinworld.access.leaks import check_words
from clinworld.gates.item.ids_tell_nothing import FORM
from clinworld.gates.item.values_possible import check_series, find_row
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import BenignEvent, Stream
from clinworld.schema.finding import GateResult
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Note, NoteOrigin, Series

State = Literal["passed", "failed", "not_applicable"]


class Check(NamedTuple):
    """One check of one ledger row."""

    name: str
    state: State
    detail: str


def passes(name: str, holds: bool, detail: str) -> Check:
    """A check that passes when `holds`."""
    return Check(name, "passed" if holds else "failed", detail)


def ledger_rows(item: Item, gold: GoldRow, gates: Sequence[GateResult], knowledge: Knowledge) -> list[dict[str, Any]]:
    """All rows of one item, ready to be written."""
    rows = [_row(item, "laboratory" if s.setting == "laboratory" else "stream", s.name, None, check_stream(s, item, gold, knowledge))
            for s in gold.chart.series]  # fmt: skip
    origins = {origin.note_id: origin for origin in gold.origins}
    topics = Counter(
        row.topic for note in gold.chart.notes if note.day <= item.index_day and (row := knowledge.events.get(_row_id(origins, note)))
    )
    real_days = {note.day for note in gold.chart.notes if (o := origins.get(note.note_id)) and o.kind == "real"}
    for note in gold.chart.notes:
        origin = origins.get(note.note_id)
        kind = origin.kind if origin else "unknown"
        rows.append(_row(item, kind, note.note_id, note.day, check_note(note, origin, item, gold, knowledge, topics, real_days)))
    case_checks = [
        Check(g.gate, {"passed": "passed", "failed": "failed"}.get(g.state, "not_applicable"), "; ".join(map(str, g.findings)) or g.reason)  # type: ignore[arg-type]  # values are States
        for g in gates
    ]
    rows.append(_row(item, "case", item.item_id, None, case_checks))
    return rows


def _row_id(origins: dict[str, NoteOrigin], note: Note) -> str:
    origin = origins.get(note.note_id)
    return origin.row if origin else ""


def _row(item: Item, kind: str, what: str, day: int | None, checks: list[Check]) -> dict[str, Any]:
    return {
        "item_id": item.item_id,
        "kind": kind,
        "what": what,
        "day": day,
        "ok": all(check.state != "failed" for check in checks),
        "checks": {check.name: [check.state, check.detail] for check in checks},
    }


def check_stream(series: Series, item: Item, gold: GoldRow, knowledge: Knowledge) -> list[Check]:
    """The checks of one stream or laboratory series over its whole chart."""
    premise = gold.premise
    row = find_row(series.name, knowledge)
    findings = check_series(series, premise.course_end_day, knowledge)
    n_shown = int(np.searchsorted(series.days, item.index_day, side="right"))
    viewed = item.record.find(series.name)
    checks = [
        passes("row_known", row is not None, "a knowledge row of that name"),
        passes("values_possible", not findings, "; ".join(map(str, findings)) or f"{len(series.ticks)} values"),
        passes("has_values", len(series.ticks) > 0, f"{len(series.ticks)} values, {n_shown} by T"),
        passes("view_equals_chart", _same_until(series, viewed, item.record.last_day), "the item shows what was charted, no more"),
    ]
    if isinstance(row, Stream):
        owned = set(premise.patient.devices)
        backed = not row.devices or bool(owned & set(row.devices))
        shown = "distractor" if premise.distractor_level != "none" else ""
        checks.append(passes("device_backed", backed or bool(shown), "needs one of " + (", ".join(row.devices) or "no device")))
        checks.append(_neutral(series, row, gold, knowledge))
    elif row is not None:
        checks.append(passes("device_backed", row.device in premise.patient.devices or row.device == "", f"needs {row.device}"))
    return checks


def _same_until(series: Series, viewed: Series | None, last_day: int) -> bool:
    part = series.until(last_day)
    if viewed is None:
        return len(part.days) == 0
    return bool(np.array_equal(part.days, viewed.days) and np.array_equal(part.ticks, viewed.ticks))


def _neutral(series: Series, row: Stream, gold: GoldRow, knowledge: Knowledge) -> Check:
    # An evidence stream of another driver must not move, else it names a second answer.
    drivers = [driver for driver in knowledge.drivers.values() if driver.evidence == series.name]
    if row.role != "evidence" or not drivers or any(driver.id in gold.gold.drivers for driver in drivers):
        return Check("neutral_when_not_the_answer", "not_applicable", "not the evidence of another driver")
    third = max(1, len(series.ticks) // 3)
    first, last = float(series.ticks[:third].mean()), float(series.ticks[-third:].mean())
    spread = float(series.ticks.std()) + 1.0
    detail = f"first third {first / 10**series.decimals:.2f}, last third {last / 10**series.decimals:.2f}"
    return passes("neutral_when_not_the_answer", abs(last - first) <= 1.5 * spread, detail)


def check_note(
    note: Note, origin: NoteOrigin | None, item: Item, gold: GoldRow, knowledge: Knowledge, topics: Counter[str], real_days: set[int]
) -> list[Check]:
    """The checks of one note: when, what it says, and where it came from."""
    premise = gold.premise
    words = check_words(note.text.say(item.language) + " " + (note.context.say(item.language) if note.context else ""))
    checks = [
        passes("day_in_course", 0 <= note.day <= premise.course_end_day, f"day {note.day}"),
        passes("id_opaque", bool(FORM.match(note.note_id)), note.note_id),
        passes("no_answer_words", not words, "; ".join(map(str, words)) or "clean"),
        passes("origin_known", origin is not None, origin.kind if origin else "no origin on the gold side"),
        passes("has_text", bool(note.text.en.strip() and note.text.zh.strip()), "both languages"),
    ]
    if origin is None:
        return checks
    if origin.kind == "real":
        declared = any(s.day == note.day and note.text.say(item.language) in (s.text_en, s.text_zh) for s in premise.symptoms)
        checks.append(passes("traceable_to_the_author", declared, "a declared symptom of that day and text"))
        return checks
    event: BenignEvent | None = knowledge.events.get(origin.row)
    checks.append(passes("traceable_to_a_row", event is not None or origin.kind in ("look_alike", "panel"), origin.row or "no row"))
    if origin.kind != "panel":
        checks.append(passes("no_collision_with_real", note.day not in real_days, f"day {note.day}"))
    if event is not None:
        known = {premise.patient.disease, *premise.patient.comorbidities, premise.driver}
        shadowed = sorted(known & set(event.shadows))
        checks.append(passes("no_proxy_of_the_answer", not shadowed, ", ".join(shadowed) or "shadows nothing known"))
        repeated = topics[event.topic] > 1 and note.day <= item.index_day
        checks.append(passes("topic_stands_once", not repeated, event.topic))
        exertional = event.is_exertional and ((premise.patient.bmi or 0) >= 35 or premise.patient.age_low >= 65)
        checks.append(passes("plausible_for_the_patient", not exertional, "exertion" if exertional else "plausible"))
    return checks
