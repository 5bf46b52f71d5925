"""What told events do to the streams and analytes of a patient: nothing before, a rise, a plateau, a fade.

Which events are told, and when, is decided in `notes.py`; how large they are stands in event_effects.csv. Called by `world/build.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import Note, NoteOrigin
from clinworld.world.weight import smooth_step

TOLD = ("benign", "life", "distractor")  # kinds of notes that are rows of the event table


class ToldEvent(NamedTuple):
    """An event of the event table on the day it is told of."""

    day: int
    event: str


@dataclass(frozen=True, slots=True, eq=False)
class EffectTable:
    """Every effect row at one sex, as columns [row, 1]; `size` and `cap` on the item's scale (logarithm of an analyte or a log stream)."""

    by_event: Mapping[str, tuple[int, ...]]
    items: tuple[str, ...]
    devices: Mapping[str, frozenset[str] | None]  # by item: those that can chart a stream; None for an analyte
    size: Reals
    rise_days: Reals
    lasts_days: Reals
    fade_days: Reals
    cap: Reals
    share_of_cap: Reals  # the size without its sign
    signs: tuple[int, ...]


def list_told(notes: Iterable[Note], origins: Iterable[NoteOrigin]) -> tuple[ToldEvent, ...]:
    """The events that notes tell of, in order of their days and ids."""
    row_by_note = {origin.note_id: origin.row for origin in origins if origin.kind in TOLD}
    return tuple(sorted(ToldEvent(note.day, row_by_note[note.note_id]) for note in notes if note.note_id in row_by_note))


def add_event_effects(course: Course, premise: Premise, told: Sequence[ToldEvent], knowledge: Knowledge) -> Course:
    """The course with what told events do to it; the same course when they do nothing, or without physiology."""
    if not premise.has_physiology:
        return course
    devices = load_effects(knowledge, premise.patient.sex).devices
    followed = frozenset(item for item, by in devices.items() if _is_followed(item, by, course, premise))
    changes = derive_event_effects(told, course.last_day + 1, premise.patient.sex, knowledge, followed)
    if not changes:
        return course
    levels = dict(course.levels)
    for item, change in changes.items():
        name, level = shift_level(levels, item, change, knowledge)
        levels[name] = level
    return replace(course, levels=MappingProxyType(levels))


def shift_level(levels: Mapping[str, Reals], item: str, change: Reals, knowledge: Knowledge) -> tuple[str, Reals]:
    """(name among the levels, level by day) of an item after a change by day on its scale; a stream without a level gets a shift.

    An analyte moves on the logarithm.
    """
    row = knowledge.items[item]
    if item in levels:
        is_log = isinstance(row, Analyte) or (isinstance(row, Stream) and row.scale == "log")
        return item, levels[item] * np.exp(change) if is_log else levels[item] + change
    name = f"shift:{item}"
    return name, levels[name] + change if name in levels else change


def derive_event_effects(
    told: Sequence[ToldEvent], days: int, sex: str, knowledge: Knowledge, followed: frozenset[str] | None = None
) -> dict[str, Reals]:
    """Item → change by day on its scale, over `days` days; items that nothing moves are left out, and those not `followed` where given.

    Effects in one direction approach the row's cap and never pass it: one alone is as large as its row says.
    """
    table = load_effects(knowledge, sex)
    acting = [(row, event.day) for event in told for row in table.by_event.get(event.event, ())]
    if followed is not None:
        acting = [(row, day) for row, day in acting if table.items[row] in followed]
    if not acting:
        return {}
    rows = np.array([row for row, _ in acting], dtype=np.int64)
    left = derive_kernels(np.array([[day] for _, day in acting], dtype=np.float64), table, rows, days)
    left *= table.share_of_cap[rows]
    np.subtract(1.0, left, out=left)
    alike: dict[tuple[str, int], list[int]] = {}
    for i, (row, _) in enumerate(acting):
        alike.setdefault((table.items[row], table.signs[row]), []).append(i)
    changes = {item: np.zeros(days) for item in sorted({item for item, _ in alike})}
    for (item, sign), places in sorted(alike.items(), key=lambda pair: -pair[0][1]):  # rises first
        if sign:
            most = sign * float(table.cap[rows[places[0]], 0])
            changes[item] += most * (1.0 - np.multiply.reduce(left[places], axis=0))
    return changes


def derive_kernels(first_days: Reals, table: EffectTable, rows: NDArray[np.int64], days: int) -> Reals:
    """Share (0–1) of the full size on each day [event, day] of effects that begin on `first_days` [event, 1].

    An event that is over before its effect has built up fades from where it is then.
    """
    since = np.arange(1.0, days + 1.0) - first_days  # 1 on the day itself
    lasts = table.lasts_days[rows]
    risen = smooth_step(np.minimum(since, lasts) / table.rise_days[rows])
    return np.asarray(risen * (1.0 - smooth_step((since - lasts) / (table.fade_days[rows] + 1.0))))


@lru_cache(maxsize=8)
def load_effects(knowledge: Knowledge, sex: str) -> EffectTable:
    """The effect rows of a knowledge at one sex."""
    rows = tuple(knowledge.event_effects.values())
    by_event: dict[str, tuple[int, ...]] = {}
    for place, row in enumerate(rows):
        by_event[row.event] = (*by_event.get(row.event, ()), place)
    sizes = [_on_scale(row.item, row.peak, row.unit, sex, knowledge) for row in rows]
    caps = [abs(_on_scale(row.item, float(np.copysign(row.cap, row.peak)), row.unit, sex, knowledge)) for row in rows]
    columns = np.array(
        [[*sized, row.rise_days, row.lasts_days, row.fade_days] for sized, row in zip(zip(sizes, caps, strict=True), rows, strict=True)]
    ).reshape(-1, 5, 1)
    return EffectTable(
        by_event=by_event,
        items=tuple(row.item for row in rows),
        devices={row.item: frozenset(knowledge.streams[row.item].devices) if row.item in knowledge.streams else None for row in rows},
        size=columns[:, 0],
        cap=columns[:, 1],
        rise_days=columns[:, 2],
        lasts_days=columns[:, 3],
        fade_days=columns[:, 4],
        share_of_cap=np.abs(columns[:, 0]) / columns[:, 1],
        signs=tuple(np.sign(columns[:, 0, 0]).astype(np.int64).tolist()),
    )


def _on_scale(item: str, size: float, unit: str, sex: str, knowledge: Knowledge) -> float:
    """A size on the item's scale; % of a linear stream is of the mean in its row."""
    row = knowledge.items[item]
    if unit == "own":
        return size
    if isinstance(row, Stream) and row.scale == "linear":
        mean = row.mean_m if sex == "M" else row.mean_f
        return size / 100.0 * (mean if mean is not None else (row.hard_low + row.hard_high) / 2.0)
    return float(np.log1p(np.array([size / 100.0]))[0])


def _is_followed(item: str, devices: frozenset[str] | None, course: Course, premise: Premise) -> bool:
    """Whether an item can be charted of this patient: an analyte with a level, a stream of a device, or a diary."""
    return item in course.levels if devices is None else not devices or not devices.isdisjoint(premise.patient.devices)


def needs_events(course: Course, knowledge: Knowledge) -> bool:
    """Whether told events could move a laboratory result of this course."""
    return any(item in knowledge.analytes and item in course.levels for item in load_effects(knowledge, "").devices)
