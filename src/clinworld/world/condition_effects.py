"""What the conditions of a patient do to levels by day: the one that shows itself, and every documented one.

They act on the same truth as weight and drugs. Sizes and directions stand in `condition_pushes.py`, how they come and go in
`condition_ramps.py`; noise, visits and printing elsewhere.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Patient, Premise
from clinworld.world.condition_pushes import Push, find_pushes, list_documented
from clinworld.world.condition_ramps import derive_ramps
from clinworld.world.condition_sizes import SIZES, UP, Scale, bend_move, load_scale

WEIGHT = "weight"
AREA = "conditions"


class Acting(NamedTuple):
    """A push in a patient; `is_documented`: of a condition that stands in the record."""

    push: Push
    is_documented: bool


def list_acting(premise: Premise, knowledge: Knowledge) -> tuple[Acting, ...]:
    """Everything the conditions of a patient move or hold, documented conditions first."""
    patient, presenting = premise.patient, premise.presenting
    known, age = (patient.disease, *patient.comorbidities), age_of(patient)
    return _list_acting(knowledge, known, presenting.condition if presenting else "", patient.sex, age)


@lru_cache(maxsize=4096)
def _list_acting(knowledge: Knowledge, known: tuple[str, ...], presenting: str, sex: str, age_years: float) -> tuple[Acting, ...]:
    acting = [Acting(push, True) for push in list_documented(knowledge, known, sex, age_years)]
    acting += [Acting(push, False) for push in find_pushes(knowledge, presenting, sex, age_years)]
    return tuple(acting)


def group_acting(premise: Premise, knowledge: Knowledge) -> Mapping[str, tuple[Acting, ...]]:
    """The same by item."""
    patient, presenting = premise.patient, premise.presenting
    known, age = (patient.disease, *patient.comorbidities), age_of(patient)
    return _group_acting(knowledge, known, presenting.condition if presenting else "", patient.sex, age)


@lru_cache(maxsize=4096)
def _group_acting(
    knowledge: Knowledge, known: tuple[str, ...], presenting: str, sex: str, age_years: float
) -> Mapping[str, tuple[Acting, ...]]:
    by_item: dict[str, list[Acting]] = {}
    for each in _list_acting(knowledge, known, presenting, sex, age_years):
        by_item.setdefault(each.push.item, []).append(each)
    return {item: tuple(acting) for item, acting in by_item.items()}


def age_of(patient: Patient) -> float:
    """The middle of a patient's age band, in years."""
    return (patient.age_low + patient.age_high) / 2.0


def list_moved_streams(
    knowledge: Knowledge, known: tuple[str, ...], presenting: str, devices: tuple[str, ...], sex: str, age_years: float
) -> tuple[str, ...]:
    """The streams of these devices that a condition moves, so that they need a true level."""
    moved = {each.push.item for each in _list_acting(knowledge, known, presenting, sex, age_years) if each.push.sign}
    return tuple(name for name in _list_measured(knowledge, devices) if name in moved)


@lru_cache(maxsize=64)
def _list_measured(knowledge: Knowledge, devices: tuple[str, ...]) -> tuple[str, ...]:
    """The streams that devices measure by themselves, in table order."""
    reports = {name for device in devices for name in knowledge.devices[device].reports}
    rows = knowledge.streams.values()
    return tuple(row.id for row in rows if row.id in reports and row.role in ("home", "wearable") and not row.parent)


def push_levels(rows: Mapping[str, tuple[Reals, bool]], premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """Levels by day with what conditions do to them; those that nothing moves or holds are left out.

    `rows`: item → (level by day, whether it is only what is added to a level on the item's scale).
    """
    acting = [each for item, pushes in group_acting(premise, knowledge).items() if item in rows for each in pushes]
    if not acting:
        return {}
    sizes = _draw_sizes(acting, premise, knowledge, rng)
    ramps = derive_ramps(acting_conditions(acting), premise, knowledge, rng)
    by_item: dict[str, list[tuple[Acting, float]]] = {}
    for each, size in zip(acting, sizes, strict=True):
        by_item.setdefault(each.push.item, []).append((each, size))
    pushed = {}
    for item, pushes in by_item.items():
        level, is_shift = rows[item]
        scale = load_scale(knowledge, item, premise.patient.sex)
        assert scale is not None, item
        moving = [(each, size) for each, size in pushes if each.push.sign]
        if moving:
            pushed[item] = _push(level, is_shift, moving, scale, ramps, premise, knowledge)
        elif not is_shift and not _is_written(item, premise, knowledge):
            pushed[item] = _hold(level, scale, knowledge)
    return pushed


def acting_conditions(acting: Sequence[Acting]) -> tuple[tuple[str, str, bool], ...]:
    """(condition, trajectory, whether documented) of some pushes, each once."""
    return tuple(dict.fromkeys((each.push.condition, each.push.trajectory, each.is_documented) for each in acting if each.push.sign))


def push_weight(weight_kg: Reals, premise: Premise, knowledge: Knowledge, rng: Rng) -> Reals:
    """Body weight with what the presenting condition does to it after day 0.

    What it did before stands in the start weight, and what documented conditions do in the planned course.
    """
    acting = [each for each in group_acting(premise, knowledge).get(WEIGHT, ()) if each.push.sign and not each.is_documented]
    if not acting:
        return weight_kg
    sizes = _draw_sizes(acting, premise, knowledge, rng)
    ramps = derive_ramps(acting_conditions(acting), premise, knowledge, rng)
    scale = load_scale(knowledge, WEIGHT, premise.patient.sex)
    assert scale is not None, WEIGHT
    share = _push(weight_kg, False, list(zip(acting, sizes, strict=True)), scale, ramps, premise, knowledge) / weight_kg
    moved: Reals = weight_kg * (share / share[0])
    return moved


def _draw_sizes(acting: Sequence[Acting], premise: Premise, knowledge: Knowledge, rng: Rng) -> list[float]:
    """How far each push goes in this person, as a multiple of the usual size; each at its own address."""
    number = knowledge.parameter
    words = rng.first_words(premise.case_id, [(AREA, each.push.condition, each.push.item) for each in acting], 1)[:, 0]
    cut = number("effect.spread_cut_sd")
    spread = np.exp(number("effect.spread") * words_to_normal(words).clip(-cut, cut)).tolist()
    low, high = number("effect.severity_low"), number("effect.severity_high")
    severity = low + (high - low) * premise.presenting.severity if premise.presenting else 1.0
    return [size * (1.0 if each.is_documented else severity) for each, size in zip(acting, spread, strict=True)]


def _push(
    level: Reals,
    is_shift: bool,
    pushes: list[tuple[Acting, float]],
    scale: Scale,
    ramps: Mapping[tuple[str, str, bool], Reals],
    premise: Premise,
    knowledge: Knowledge,
) -> Reals:
    """A level by day with the moves of conditions: those in one direction add up to at most a multiple of the largest."""
    on_scale = np.log(level) if scale.is_log and not is_shift else level
    start = float(on_scale[0])
    total = np.zeros(1)
    for sign in (UP, -UP):
        moves = [
            (_find_move(each, size, start, is_shift, scale, premise, knowledge), ramps[acting_conditions([each])[0]])
            for each, size in pushes
            if each.push.sign == sign
        ]
        most = knowledge.parameter("effect.saturation") * max((move for move, _ in moves), default=0.0)
        if most > 0.0:
            left = np.ones(1)
            for move, ramp in moves:
                left = left * (1.0 - move / most * ramp)
            total = total + sign * most * (1.0 - left)
    if is_shift:
        return on_scale + total
    moved = np.minimum(np.maximum(on_scale + total, min(scale.floor, start)), max(scale.ceiling, start))
    return np.exp(moved) if scale.is_log else moved


def _find_move(each: Acting, size: float, start: float, is_shift: bool, scale: Scale, premise: Premise, knowledge: Knowledge) -> float:
    """The distance, on the scale and at least 0, that a push moves a person who starts at `start`."""
    push, number = each.push, knowledge.parameter
    limit = scale.limit(push.sign)
    if is_shift or limit is None or (each.is_documented and push.is_slight and push.target is None):
        # What only supports a diagnosis is not abnormal in everybody who has had it for long.
        move = min(push.beyond * size, push.most)
    else:
        aim = push.target if push.target is not None else limit + push.sign * push.beyond * size
        move = max(push.sign * (aim - start), number("effect.least_share") * push.beyond * size, 0.0)
        move = min(move, push.most * min(size, 1.0))
    if is_shift:
        return move
    bound = scale.ceiling if push.sign == UP else scale.floor
    move = bend_move(move, max(0.0, push.sign * (bound - start)), number("effect.reach"))
    row = knowledge.items[push.item]
    if push.sign == UP and isinstance(row, Analyte | Stream) and row.diagnostic_high is not None:
        patient = premise.patient
        shown = (premise.presenting.condition,) if premise.presenting else ()
        # A documented condition, or a mild rise, does not make another diagnosis that nobody has made.
        if row.diagnostic_of not in (patient.disease, *patient.comorbidities, *shown) and (each.is_documented or push.size == SIZES[0]):
            most = scale.read(row.diagnostic_high * number("levels_undiagnosed_share"))
            move = min(move, max(0.0, most - start))
    return move


def _hold(level: Reals, scale: Scale, knowledge: Knowledge) -> Reals:
    """A level kept inside its reference limits."""
    if scale.low is None and scale.high is None:
        return level
    low = scale.floor if scale.low is None else scale.low
    high = scale.ceiling if scale.high is None else scale.high
    is_closed = scale.low is not None and scale.high is not None
    width = high - low if is_closed else 1.0 if scale.is_log else abs(high if scale.low is None else low)
    margin = knowledge.parameter("effect.hold_margin") * width
    on_scale = np.log(level) if scale.is_log else level
    held = np.minimum(np.maximum(on_scale, low + margin * (scale.low is not None)), high - margin * (scale.high is not None))
    return np.exp(held) if scale.is_log else held


def _is_written(item: str, premise: Premise, knowledge: Knowledge) -> bool:
    """Whether a documented condition has a level of its own for the item, which then stands."""
    rows = [knowledge.conditions.get(name) for name in (premise.patient.disease, *premise.patient.comorbidities)]
    return any(row is not None and row.has_physiology and any(level.item == item for level in row.levels) for row in rows)


def widen_span(
    span: tuple[float, float, float] | None, row: Analyte | Stream, premise: Premise, knowledge: Knowledge
) -> tuple[float, float, float] | None:
    """(lowest, highest first level, noise) of a person, widened by what conditions may do; on a stream's scale, in an analyte's unit."""
    acting = [each for each in group_acting(premise, knowledge).get(row.id, ()) if each.push.sign]
    scale = load_scale(knowledge, row.id, premise.patient.sex) if acting else None
    if span is None or scale is None:
        return span
    low, high, noise = span
    number = knowledge.parameter
    most = float(np.exp(np.array([number("effect.spread") * number("effect.spread_cut_sd")]))[0]) * number("effect.severity_high")
    for each in acting:
        push = each.push
        move = push.beyond * most * number("effect.saturation")
        limit = scale.limit(push.sign)
        if isinstance(row, Stream):
            low, high = (low, high + move) if push.sign == UP else (low - move, high)
        else:
            edge = limit if limit is not None and push.target is None else push.target if push.target is not None else scale.read(high)
            reached = scale.write(min(max(edge + push.sign * move, scale.floor), scale.ceiling))
            low, high = min(low, reached), max(high, reached)
    return low, high, noise * max(1.0, high / span[1]) if isinstance(row, Analyte) else noise
