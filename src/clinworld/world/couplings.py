"""How true levels move each other: an item that changes from its start takes others with it, with a lag and up to a cap.

Rows stand in couplings.csv. What goes through body weight and what conditions or drugs move is decided elsewhere, before this; where a
condition of the patient moves or holds the effect itself, that stands.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.knowledge.check_effects import find_circles, sort_couplings
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of
from clinworld.knowledge.rows import Analyte, Coupling, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import group_acting
from clinworld.world.condition_ramps import derive_ramps

KINDS = ("", "shift:", "evidence:")
_TRAJECTORY = "stable"  # how a condition's coupling comes: as its lasting findings do


@lru_cache(maxsize=8)
def load_couplings(knowledge: Knowledge) -> tuple[Coupling, ...]:
    """The couplings, every cause moved before it moves something. Raises KnowledgeError naming file and row where they form a circle."""
    for circle in find_circles(knowledge.couplings.values()):
        path = " to ".join([*(row.cause for row in circle), circle[0].cause])
        place = place_of(knowledge, "couplings", circle[0].id)
        raise KnowledgeError(place, f"a circle, {path}", "couplings that lead nowhere back", do="Cut one of its rows.")
    return sort_couplings(knowledge.couplings.values())


def couple(levels: Mapping[str, Reals], premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """What couplings change among the levels by day (names as in `Course.levels`); {} when no cause has moved, or without physiology.

    A stream of the patient's devices that has no level yet gets a shift.
    """
    changed: dict[str, Reals] = {}
    if not premise.has_physiology:
        return changed
    decided = group_acting(premise, knowledge)
    now = dict(levels)
    for each in _list_followed(knowledge, premise.patient.devices):
        row = each.row
        if row.effect in decided or (row.effect not in levels and not each.is_of_stream):
            continue
        cause = _find_ramp(row.cause, premise, knowledge, rng) if each.is_condition else _find_change(each, now, knowledge)
        if cause is None:
            continue
        change = follow_daily(np.minimum(np.maximum(row.slope * cause, -row.cap), row.cap), row.lag_days)
        name = next((name for name in each.effects if name in levels), f"shift:{row.effect}")
        level = now[name] if name in now else np.zeros_like(change)
        changed[name] = now[name] = _add(level, change, name, row.effect, knowledge)
    return changed


class _Followed(NamedTuple):
    # A coupling; the names its cause and its effect may have among levels; whether its effect is a stream, and its cause a condition.
    row: Coupling
    causes: tuple[str, ...]
    effects: tuple[str, ...]
    is_of_stream: bool
    is_condition: bool


@lru_cache(maxsize=64)
def _list_followed(knowledge: Knowledge, devices: tuple[str, ...]) -> tuple[_Followed, ...]:
    """The couplings to what is no stream, and to the streams of these devices."""
    found, streams = [], knowledge.streams
    for row in load_couplings(knowledge):
        is_of_stream = row.effect in streams
        if not is_of_stream or not set(devices).isdisjoint(streams[row.effect].devices):
            causes, effects = (tuple(kind + item for kind in KINDS) for item in (row.cause, row.effect))
            found.append(_Followed(row, causes, effects, is_of_stream, row.cause in knowledge.conditions))
    return tuple(found)


def _find_ramp(cause: str, premise: Premise, knowledge: Knowledge, rng: Rng) -> Reals | None:
    """By day, the share of its full size that a condition has; None in someone without it."""
    patient, shown = premise.patient, premise.presenting
    is_known = cause in (patient.disease, *patient.comorbidities)
    if not is_known and (shown is None or shown.condition != cause):
        return None
    key = (cause, _TRAJECTORY, is_known)
    return derive_ramps([key], premise, knowledge, rng)[key]


def _find_change(coupling: _Followed, levels: Mapping[str, Reals], knowledge: Knowledge) -> Reals | None:
    """By day, how far the cause lies from where it started, on its scale; None when it has not moved."""
    name = next((name for name in coupling.causes if name in levels), None)
    if name is None:
        return None
    level = levels[name]
    if _is_log(coupling.row.cause, name, knowledge):
        level = np.log(level)
    change = level - level[0]
    return change if change.any() else None


def _is_log(item: str, name: str, knowledge: Knowledge) -> bool:
    stream = knowledge.streams.get(item)
    return stream is not None and stream.scale == "log" and name == item


def _add(level: Reals, change: Reals, name: str, item: str, knowledge: Knowledge) -> Reals:
    if name != item:
        return np.asarray(level + change)
    if _is_log(item, name, knowledge):
        return np.asarray(level * np.exp(change))
    row = knowledge.items[item]
    assert isinstance(row, Analyte | Stream), item
    step = 10.0**-row.decimals
    low, high = min(row.hard_low + step, float(level.min())), max(row.hard_high - step, float(level.max()))
    return np.minimum(np.maximum(level + change, low), high)


def follow_daily(target: Reals, half_time_days: float) -> Reals:
    """What approaches a target day by day, half the distance in `half_time_days`, from the target's own first value on."""
    if half_time_days == 0.0:
        return target
    left = float(np.exp2(-1.0 / half_time_days))
    level = np.zeros(len(target))
    level[1:] = target[1:] - target[:-1]
    # The distance still to go is a sum of past steps, each halved over and over.
    back = 1
    while back < len(level) and left > 0.0:
        level[back:] += left * level[:-back]
        left, back = left * left, 2 * back
    return np.asarray(target - level)
