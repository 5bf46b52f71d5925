"""A record read back from a prompt, by what the prompt says and nothing else. What offline controls that read, read from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from clinworld.access.record_text import CLOSE, DOT, LABELS, OPEN, SETTINGS
from clinworld.core.errors import AnswerInvalid
from clinworld.core.text import Language, load_labels
from clinworld.schema.record import Setting


@dataclass(frozen=True, slots=True)
class DeliveredSeries:
    """One quantity as printed: ascending days and their values. `unit` is as a reader sees it."""

    name: str
    unit: str
    setting: Setting
    days: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DeliveredNote:
    """One note; `source` is as a reader sees it."""

    note_id: str
    day: int
    source: str
    text: str
    context: str | None


@dataclass(frozen=True, slots=True)
class DeliveredDose:
    """One dose ordered on a day."""

    day: int
    drug: str
    dose: float
    unit: str
    frequency: str


@dataclass(frozen=True, slots=True)
class DeliveredQuestion:
    """One appended question: the answer field it names, the series it is about and the days it spans, where it says so."""

    field: str
    about: str
    days: tuple[int, int] | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Delivered:
    """What a prompt says. `header` holds the lines above the prescriptions, whole. Compared by identity."""

    language: Language
    last_day: int
    header: tuple[str, ...]
    prescriptions: tuple[DeliveredDose, ...]
    series: Mapping[str, DeliveredSeries]
    notes: tuple[DeliveredNote, ...]
    questions: tuple[DeliveredQuestion, ...]


_HEAD = re.compile(r"^([^\s:]+)(?:: (.+))? \(([^()]*)\)$")
_NOTE = re.compile(r"^\[([^\]]+)\] d(\d+) ([^:]+): (.*)$")
_LABEL = re.compile(r"^d(\d+):(?: |$)")
_QUESTION = re.compile(r"^\((\d+)\) ")
_SPAN = re.compile(r"d(\d+)\D{1,4}d(\d+)")


def parse_delivered(text: str, language: Language) -> Delivered:
    """The record and the appended questions of a prompt. Raises AnswerInvalid when the text holds no record."""
    lines = text.split("\n")
    if OPEN not in lines or CLOSE not in lines:
        raise AnswerInvalid("prompt", "no record part", f"a record stands between {OPEN} and {CLOSE} lines")
    close = len(lines) - 1 - lines[::-1].index(CLOSE)
    asked = tuple(line for line in lines[close + 1 :] if _QUESTION.match(line))
    return _parse_parts("\n".join(lines[lines.index(OPEN) + 1 : close]), asked, language)


@lru_cache(maxsize=64)  # agents are shown the same records in turn, each under its own reminder
def _parse_parts(record: str, asked: tuple[str, ...], language: Language) -> Delivered:
    parts = _split_parts(record.split("\n"), language)
    header = parts.get("header", [])
    last = re.search(r"d(\d+)\D*$", header[0]) if header else None
    series: dict[str, DeliveredSeries] = {}
    for setting in SETTINGS:
        series |= _read_series(parts.get(f"setting:{setting}", []), setting, language)
    return Delivered(
        language=language,
        last_day=int(last[1]) if last else 0,
        header=tuple(header),
        prescriptions=_read_doses(parts.get("prescriptions", []), language),
        series=MappingProxyType(series),
        notes=_read_notes(parts.get("notes", [])),
        questions=tuple(_read_question(line) for line in asked),
    )


def _split_parts(lines: list[str], language: Language) -> dict[str, list[str]]:
    """The lines under each heading, by the heading's label; those above the first are the header."""
    labels = load_labels(LABELS)
    names = {labels.say(name, language): name for name in ("prescriptions", "notes", *(f"setting:{each}" for each in SETTINGS))}
    parts: dict[str, list[str]] = {}
    part = "header"
    for line in lines:
        if line in names:
            part = names[line]
        elif line:
            parts.setdefault(part, []).append(line)
    return parts


def _read_doses(lines: list[str], language: Language) -> tuple[DeliveredDose, ...]:
    doses: list[DeliveredDose] = []
    drug, unit, frequency = "", "", ""
    for line in lines:
        head = _HEAD.match(line) if line.endswith(")") else None
        if head:
            drug, (unit, frequency) = head[1], head[3].split(_fact_forms(language)[1])
        elif drug:
            doses += [DeliveredDose(int(day), drug, float(dose), unit, frequency) for day, dose in re.findall(r"d(\d+) ([0-9.e+-]+)", line)]
    return tuple(doses)


def _read_notes(lines: list[str]) -> tuple[DeliveredNote, ...]:
    notes: list[DeliveredNote] = []
    for line in lines:
        match = _NOTE.match(line)
        if match:
            notes.append(DeliveredNote(match[1], int(match[2]), match[3], match[4], None))
        elif line.startswith("  ") and notes:
            last = notes[-1]
            notes[-1] = DeliveredNote(last.note_id, last.day, last.source, last.text, line[2:])
    return tuple(notes)


def _read_series(lines: list[str], setting: Setting, language: Language) -> dict[str, DeliveredSeries]:
    found: dict[str, DeliveredSeries] = {}
    step_pattern, joiner = _fact_forms(language)
    name, facts, step = "", [""], 1
    days: list[int] = []
    values: list[float] = []

    def close() -> None:
        if name:
            found[name] = DeliveredSeries(name, facts[0], setting, tuple(days), tuple(values))

    for line in lines:
        head = _HEAD.match(line) if line.endswith(")") else None
        if head:
            close()
            name, facts, days, values = head[1], head[3].split(joiner), [], []
            every = [match for fact in facts if (match := step_pattern.match(fact))]
            step = int(every[0][1]) if every else 1
        else:
            _read_values(line, step, days, values)
    close()
    return found


def _read_values(line: str, step: int, days: list[int], values: list[float]) -> None:
    if not _LABEL.match(line):
        for entry in line.split(", "):
            day_text, _, value = entry.partition(" ")
            days.append(int(day_text[1:]))
            values.append(float(value))
        return
    for part in line[1:].split(" d"):
        label, _, cells = part.partition(": ")
        found = cells.split(" ")
        first = int(label)
        on = range(first, first + step * len(found), step)
        if DOT in found:
            days += [day for day, cell in zip(on, found, strict=True) if cell != DOT]
            found = [cell for cell in found if cell != DOT]
        else:
            days += on
        values += map(float, found)


@lru_cache
def _fact_forms(language: Language) -> tuple[re.Pattern[str], str]:
    labels = load_labels(LABELS)
    every = re.escape(labels.say("every", language)).replace(re.escape("{step}"), r"(\d+)")
    return re.compile(f"^{every}$"), labels.say("fact_joiner", language, space=" ")


def _read_question(line: str) -> DeliveredQuestion:
    names = re.findall(r"`([^`]+)`", line)
    field = next((name for name in names if name.startswith(("data_quality.", "quant_answer"))), "")
    about = next((name for name in names if name not in (field,) and not name.startswith("data_quality.")), "")
    span = _SPAN.search(line)
    return DeliveredQuestion(field, about, (int(span[1]), int(span[2])) if span else None, line)
