"""True levels by day of what is measured in a patient: where the person starts, and what weight, drug and driver do to it.

One set of effects on one timeline: the same weight, dose and adherence move every level. Noise, visits and printing are decided in
`observe_*`; what a laboratory calculates is calculated there from printed results.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Drug, Level, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.adverse_effects import push_harms
from clinworld.world.common_causes import Mixture, is_skewed, load_mixture, squeeze
from clinworld.world.condition_effects import list_moved_streams, push_levels
from clinworld.world.couplings import couple
from clinworld.world.effects import DIABETES, DrugTable, derive_direct_effects, load_drug_table
from clinworld.world.evidence import derive_evidence
from clinworld.world.formulas import find_body_mass_index, has_own_level

BODY_MASS_INDEX = "bmi"  # what the premise gives, and levels go together with
NO_ROOM = 1e-9
EDGE = 0.005
WEEK, HALVINGS = 7, 5  # a drug has its whole effect after so many half-times
STEP_DAYS = 4  # what moves a level is looked at this often; between, the level follows exactly


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """The items with a true level: where they start [item, 1], and what moves those that move.

    `first_low` and `first_high` hold on day 0 only, `mean` at the typical body mass index, from which it changes by `per_bmi`; where a
    first level `is_log`, these are of its logarithm. An item that `is_shift` is only what is added to a level that is drawn where the
    stream is observed. `mixture` makes first levels go together, with the body mass index as one of its normals; `moving` are places of
    `names`.
    """

    names: tuple[str, ...]
    mixture: Mixture
    is_shift: NDArray[np.bool_]
    is_log: NDArray[np.bool_]
    mean: Reals
    per_bmi: Reals
    typical_bmi: float
    sd: Reals
    first_low: Reals
    first_high: Reals
    bmi_sd: float
    bmi_most_sd: float
    moving: NDArray[np.int64]
    motion: "Motion"


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """What moves levels, as columns [item, 1] over the moving items.

    `coupling` is the change per kg, `normal` and `trial` the levels between which a glucose-lowering effect is scaled (nan: it is
    not), `low` and `high` what a level never reaches. `per_step` and `within` [day of a step] are how much of a distance is left after
    a step and after 0, 1, … days of it: behind weight, and behind the dose for the items at `on_drug`, which the drug itself moves. Items
    at `shares` lie between 0 and 100 and move on the logit; those at `bounded` are bent away from their limits.
    """

    table: DrugTable
    coupling: Reals
    per_step: Reals
    within: Reals
    on_drug: NDArray[np.int64]
    drug_per_step: Reals
    drug_within: Reals
    normal: Reals
    trial: Reals
    low: Reals
    high: Reals
    shares: NDArray[np.int64]
    bounded: NDArray[np.int64]
    room_share: float


class Treatment(NamedTuple):
    """Weight (kg), dose and adherence (0–1) by day."""

    weight_kg: Reals
    dose: Reals
    adherence: Reals


def derive_levels(
    premise: Premise, treatment: Treatment, knowledge: Knowledge, rng: Rng, *, items: tuple[str, ...] = ()
) -> dict[str, Reals]:
    """Level by day of every analyte and stream whose truth is decided here, in the row's unit and on a linear scale.

    `items` are followed besides what the devices report. `NAME` is a true level; `shift:NAME` is added, on the stream's scale, to a
    level drawn where the stream is observed; `evidence:NAME` is the level of a stream that shows a driver, in every case, whether the
    driver acts or not.
    """
    patient, days = premise.patient, premise.course_end_day + 1
    conditions = (patient.disease, *patient.comorbidities)
    age_years = (patient.age_low + patient.age_high) / 2.0
    shown = premise.presenting.condition if premise.presenting else ""
    items = items + list_moved_streams(knowledge, conditions, shown, patient.devices, patient.sex, age_years)
    followed = load_followed(knowledge, conditions, patient.devices, premise.drug, patient.sex, age_years, items)
    levels: dict[str, Reals] = {}
    if followed.names:
        bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
        base = _state_vitals(draw_first_levels(premise.case_id, followed, bmi, rng), followed, premise)
        rows = np.repeat(base, days, axis=1)
        if len(followed.moving):
            rows[followed.moving] = move(base[followed.moving], followed.motion, treatment, premise, knowledge)
        for i, name in enumerate(followed.names):
            levels[f"shift:{name}" if followed.is_shift[i] else name] = rows[i]
    for name, level in derive_evidence(premise, knowledge, rng).items():
        levels[name] = levels[name] + level if name in levels else level
    by_item = {name.rpartition(":")[2]: (name, level) for name, level in levels.items()}
    acted_on = {item: (level, name.startswith("shift:")) for item, (name, level) in by_item.items()}
    for item, level in push_levels(acted_on, premise, knowledge, rng).items():
        levels[by_item[item][0]] = level
    acted_on = {item: (levels[name], is_shift) for item, (_, is_shift) in acted_on.items() for name in [by_item[item][0]]}
    for item, level in push_harms(acted_on, premise, treatment.dose, knowledge, rng).items():
        levels[by_item[item][0]] = level
    levels |= couple(levels, premise, knowledge, rng)
    return levels


@lru_cache(maxsize=512)
def load_followed(
    knowledge: Knowledge,
    conditions: tuple[str, ...],
    devices: tuple[str, ...],
    drug: str,
    sex: str,
    age_years: float,
    items: tuple[str, ...] = (),
) -> Followed:
    """What is followed in a patient: what the devices report and weight, the drug or a known condition moves, and `items`."""
    frame = _load_frame(knowledge, conditions, devices, drug, items)
    # Only a stream's level depends on age.
    firsts = [_find_first(knowledge, row.id, conditions, sex, age_years if isinstance(row, Stream) else 0.0) for row in frame.rows]
    columns = np.array(firsts, dtype=np.float64).reshape(-1, 4, 1)
    return Followed(
        names=frame.names,
        mixture=load_mixture(knowledge, "between", frame.names, sex),
        is_shift=frame.is_shift,
        is_log=frame.is_log,
        mean=columns[:, 0],
        per_bmi=frame.per_bmi,
        typical_bmi=knowledge.parameter("levels_typical_bmi"),
        sd=columns[:, 1],
        first_low=columns[:, 2],
        first_high=columns[:, 3],
        bmi_sd=knowledge.parameter("levels_bmi_sd"),
        bmi_most_sd=knowledge.parameter("levels_bmi_most_sd"),
        moving=frame.moving,
        motion=frame.motion,
    )


class _Frame(NamedTuple):
    # What of `Followed` is the same at every age and in both sexes.
    rows: tuple[Analyte | Stream, ...]
    names: tuple[str, ...]
    is_shift: NDArray[np.bool_]
    is_log: NDArray[np.bool_]
    per_bmi: Reals
    moving: NDArray[np.int64]
    motion: Motion


@lru_cache(maxsize=2048)
def _load_frame(knowledge: Knowledge, conditions: tuple[str, ...], devices: tuple[str, ...], drug: str, items: tuple[str, ...]) -> _Frame:
    rows = _find_rows(knowledge, conditions, devices, drug, items)
    written = {level.item for condition in conditions for level in _levels_of(condition, knowledge)}
    is_shift = [isinstance(row, Stream) and row.role == "wearable" and row.id not in written for row in rows]
    is_log = [isinstance(row, Analyte) and row.id not in written and is_skewed(row, knowledge) for row in rows]
    table = load_drug_table(knowledge, drug, tuple(row.id for row in rows), DIABETES in conditions)
    responds = np.any(table.own != 0.0, axis=1) | np.any(table.percent != 0.0, axis=1) if rows else np.zeros(0, dtype=np.bool_)
    moving = np.array([i for i, row in enumerate(rows) if responds[i] or row.per_kg], dtype=np.int64)
    return _Frame(
        rows=tuple(rows),
        names=tuple(row.id for row in rows),
        is_shift=np.array(is_shift, dtype=np.bool_),
        is_log=np.array(is_log, dtype=np.bool_),
        per_bmi=_column([row.per_bmi_over_25 if isinstance(row, Stream) else 0.0 for row in rows]),
        moving=moving,
        motion=_load_motion([rows[i] for i in moving], [is_shift[i] for i in moving], table.pick(moving), knowledge.drugs[drug], knowledge),
    )


@lru_cache(maxsize=16384)
def _find_first(knowledge: Knowledge, item: str, conditions: tuple[str, ...], sex: str, age_years: float) -> tuple[float, ...]:
    """(mean, SD, low, high) of an item's level on day 0; of its logarithm for a skewed analyte that no condition writes."""
    row: Analyte | Stream = knowledge.analytes[item] if item in knowledge.analytes else knowledge.streams[item]
    level = _find_level(row, conditions, sex, age_years, knowledge)
    return (level.mean, level.sd, level.low, level.high) if level else _usual_level(row, conditions, sex, age_years, knowledge)


def _load_motion(rows: list[Analyte | Stream], is_shift: list[bool], table: DrugTable, drug: Drug, knowledge: Knowledge) -> Motion:
    share, usual = knowledge.parameter("levels_weight_share"), knowledge.parameter("levels_half_time_days")
    half_times = _column([row.half_time_days or usual for row in rows])
    on_drug = np.flatnonzero(np.any(table.own != 0.0, axis=-1) | np.any(table.percent != 0.0, axis=-1))
    # A drug's steady state is that of its slowest item: none builds up more slowly than it follows a lasting cause.
    steady = np.minimum(drug.steady_weeks * WEEK / HALVINGS, _column([row.half_time_days or np.inf for row in rows]))
    steady = np.maximum(steady, _named(rows, "levels_least_half_time", 0.0, knowledge))
    of_drug = np.where(np.isnan(table.half_time_days), steady, table.half_time_days)[on_drug]
    is_share = [isinstance(row, Stream) and row.ucum == "%" and (row.hard_low, row.hard_high) == (0, 100) for row in rows]
    return Motion(
        table=table,
        coupling=share * _column([row.per_kg or 0.0 for row in rows]),
        per_step=np.exp2(-STEP_DAYS / half_times),
        within=np.exp2(-np.arange(STEP_DAYS) / half_times),
        on_drug=on_drug,
        drug_per_step=np.exp2(-STEP_DAYS / of_drug),
        drug_within=np.exp2(-np.arange(STEP_DAYS) / of_drug),
        normal=_named(rows, "levels_normal", np.nan, knowledge),
        trial=_named(rows, "levels_trial", np.nan, knowledge),
        low=np.maximum(_column([row.hard_low for row in rows]), _named(rows, "levels_floor", -np.inf, knowledge)),
        high=_column([row.hard_high for row in rows]),
        shares=np.flatnonzero(is_share),
        bounded=np.flatnonzero(~(np.array(is_share, dtype=np.bool_) | np.array(is_shift, dtype=np.bool_))),
        room_share=knowledge.parameter("levels_room_share"),
    )


def _column(values: list[float]) -> Reals:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _named(rows: list[Analyte | Stream], prefix: str, absent: float, knowledge: Knowledge) -> Reals:
    names = [f"{prefix}_{row.id}" for row in rows]
    return _column([knowledge.parameter(name) if name in knowledge.parameters else absent for name in names])


def _find_rows(
    knowledge: Knowledge, conditions: tuple[str, ...], devices: tuple[str, ...], drug: str, items: tuple[str, ...]
) -> list[Analyte | Stream]:
    """Analytes and streams the devices report that have a level of their own or something that moves them, and `items`, in table order."""
    reports = {name for device in devices for name in knowledge.devices[device].reports}
    written = {level.item for condition in conditions for level in _levels_of(condition, knowledge)}
    moved = {effect.item for effect in knowledge.drugs[drug].effects}
    rows: list[Analyte | Stream] = [
        row
        for row in knowledge.analytes.values()
        if has_own_level(row) and (row.id in items or (row.group in reports and row.device in devices))
    ]
    for stream in knowledge.streams.values():
        is_moved = stream.per_kg is not None or stream.id in moved or stream.id in written
        if stream.id in items or (stream.id in reports and is_moved and not stream.parent and stream.role in ("home", "wearable")):
            rows.append(stream)
    return rows


def _levels_of(condition: str, knowledge: Knowledge) -> tuple[Level, ...]:
    row = knowledge.conditions.get(condition)
    return row.levels if row is not None and row.has_physiology else ()


def _find_level(row: Analyte | Stream, conditions: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge) -> Level | None:
    """The level row of the condition that moves an item farthest from the usual, the first on a tie; at this sex and age."""
    rows = [level for condition in conditions for level in _levels_of(condition, knowledge) if level.item == row.id]
    if isinstance(row, Stream):
        usual = row.mean_f if row.mean_f is not None else (row.hard_low + row.hard_high) / 2.0
    else:
        usual = _middle(row.ref_low_f, row.ref_high_f, row)
    level = max(rows, key=lambda level: abs(level.mean - usual), default=None)
    if level is None:
        return None
    level = fit_level_to_sex(level, row, sex)
    if isinstance(row, Stream):
        typical = knowledge.parameter("levels_typical_age_years")
        mean = level.mean + row.per_year_over_40 * (max(age_years - 40.0, 0.0) - max(typical - 40.0, 0.0))
        level = replace(level, mean=min(max(mean, level.low), level.high))
    return level


def fit_level_to_sex(level: Level, row: Analyte | Stream, sex: str) -> Level:
    """A condition's level in one sex: with the mean the row gives for it, else moved as the reference interval is from both sexes' mean."""
    own = level.mean_m if sex == "M" else level.mean_f
    if own is not None:
        return replace(level, mean=own)
    if isinstance(row, Stream) or None in (limits := (row.ref_low_m, row.ref_high_m, row.ref_low_f, row.ref_high_f)):
        return level
    low_m, high_m, low_f, high_f = (float(limit or 0.0) for limit in limits)
    low, high = (low_m, high_m) if sex == "M" else (low_f, high_f)
    middle = (low_m + low_f) / 2.0
    share = (high - low) / ((high_m + high_f) / 2.0 - middle)
    moved = {name: low + (getattr(level, name) - middle) * share for name in ("mean", "low", "high")}
    return replace(level, **moved, sd=level.sd * share)


def _middle(low: float | None, high: float | None, row: Analyte) -> float:
    return ((row.hard_low if low is None else low) + (2.0 * (low or 0.0) if high is None else high)) / 2.0


def _usual_level(
    row: Analyte | Stream, conditions: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge
) -> tuple[float, float, float, float]:
    """(mean, SD, low, high) of someone without a condition that moves the item: inside the reference interval, below any diagnosis.

    They are of the logarithm for a skewed analyte.
    """
    if isinstance(row, Stream):
        mean = (row.mean_m if sex == "M" else row.mean_f) or 0.0
        mean += row.per_year_over_40 * max(age_years - 40.0, 0.0) + row.per_bmi_over_25 * (knowledge.parameter("levels_typical_bmi") - 25.0)
        cut = knowledge.parameter("levels_person_cut_sd") * row.sd_between
        sd, low, high = row.sd_between, max(mean - cut, row.hard_low), min(mean + cut, row.hard_high)
    else:
        ref_low, ref_high = (row.ref_low_m, row.ref_high_m) if sex == "M" else (row.ref_low_f, row.ref_high_f)
        mean = _middle(ref_low, ref_high, row)
        low, high = (row.hard_low if ref_low is None else ref_low), (2.0 * mean - row.hard_low if ref_high is None else ref_high)
        sd = (high - low) * knowledge.parameter("levels_unwritten_sd_share")
        if is_skewed(row, knowledge):
            return _usual_log_level(row, ref_low, high, knowledge)
    if row.diagnostic_high is not None and row.diagnostic_of not in conditions:
        high = min(high, row.diagnostic_high * knowledge.parameter("levels_undiagnosed_share"))
    return min(mean, high), sd, low, high


def _usual_log_level(row: Analyte, ref_low: float | None, high: float, knowledge: Knowledge) -> tuple[float, float, float, float]:
    low = math.log(max(row.hard_low, 10.0**-row.decimals) if ref_low is None else ref_low)
    top = math.log(high)
    if ref_low is not None:
        return (low + top) / 2.0, (top - low) / knowledge.parameter("levels_reference_width_sd"), low, top
    sd = math.sqrt(math.log1p(((row.cv_between_pct or 0.0) / 100.0) ** 2))
    return max(top - knowledge.parameter("levels_reference_upper_sd") * sd, low), sd, low, top


def draw_first_levels(case_id: str, followed: Followed, bmi: float, rng: Rng) -> Reals:
    """True levels on day 0, [item, 1]; 0 for shifts. Levels go together between people as the table of correlations says."""
    needed = followed.mixture.needed
    normals = words_to_normal(np.concatenate([rng.at(case_id, "levels", name).words(1) for name in needed]))[:, None]
    if BODY_MASS_INDEX in needed:
        given = (bmi - followed.typical_bmi) / followed.bmi_sd
        normals[needed.index(BODY_MASS_INDEX)] = min(max(given, -followed.bmi_most_sd), followed.bmi_most_sd)
    mean = np.clip(followed.mean + followed.per_bmi * (max(bmi, 25.0) - followed.typical_bmi), followed.first_low, followed.first_high)
    first = squeeze(followed.mixture.mix(normals), mean, followed.sd, followed.first_low, followed.first_high)
    first[followed.is_log] = np.exp(first[followed.is_log])
    first[followed.is_shift] = 0.0
    return first


def _state_vitals(base: Reals, followed: Followed, premise: Premise) -> Reals:
    for name, value in premise.patient.baseline_vitals:
        if name in followed.names and not followed.is_shift[followed.names.index(name)]:
            base[followed.names.index(name)] = value
    return base


def move(base: Reals, motion: Motion, treatment: Treatment, premise: Premise, knowledge: Knowledge) -> Reals:
    """Levels by day [item, day] from first levels: what weight does with the item's lag, the drug with its own, bent away from limits."""
    start, table = premise.start_weight_kg, motion.table
    direct, share = derive_direct_effects(table, base, motion.coupling, start, max(premise.dose_steps))
    # In diabetes the effect grows with what there is to lower; nan marks items without such a scale.
    excess = np.maximum((base - motion.normal) / (motion.trial - motion.normal), 0.0)
    direct *= np.where(np.isnan(excess) | (table.is_for_diabetes == 0.0), premise.drug_response, premise.drug_response * excess)
    weight, dose, adherence = (values[::STEP_DAYS] for values in treatment)
    rows = motion.on_drug
    taken = direct[rows][:, np.searchsorted(table.doses, dose)] * adherence
    change = _lag(motion.coupling * share * (weight - start), motion.per_step, motion.within)
    if len(rows):
        change[rows] += _lag(taken, motion.drug_per_step, motion.drug_within)
    change = change.reshape(len(base), -1)
    return bend(base, change[:, : len(treatment.weight_kg)], motion)


def _lag(target: Reals, per_step: Reals, within: Reals) -> Reals:
    """What approaches a target looked at every few days, on each of those days [item, step, day of the step]."""
    left = follow(target, per_step) - target
    return np.asarray(target[:, :, None] + left[:, :, None] * within[:, None, :])


def follow(target: Reals, left: Reals) -> Reals:
    """What approaches a target, from 0 on the first step; `left` [item, 1] is the share of the distance left after a step.

    Time is the last axis. The number of passes follows from the length alone, so no row changes another.
    """
    level = np.zeros_like(target)
    level[:, 1:] = target[:, :-1] * (1.0 - left)
    back = 1
    while back < target.shape[1]:
        level[:, back:] += left * level[:, :-back]
        left, back = left * left, 2 * back
    return level


def bend(base: Reals, change: Reals, motion: Motion) -> Reals:
    """Levels after a change, kept inside their limits without piling up on them; shares move on the logit."""
    level: Reals = base + change
    rows, room = motion.bounded, motion.room_share
    first, inside = base[rows], level[rows]
    # A stated first level may lie beyond the usual limit; then it is the limit itself.
    low, high = np.minimum(motion.low[rows], first), np.maximum(motion.high[rows], first)
    below, above = np.maximum(room * (first - low), NO_ROOM), np.maximum(room * (high - first), NO_ROOM)
    if (inside < low + below).any() or (inside > high - above).any():
        level[rows] = -_bend_up(-_bend_up(inside, low, below), -high, above)
    if len(motion.shares):
        part = np.clip(base[motion.shares] / 100.0, EDGE, 1.0 - EDGE)  # a share of nearly all or nothing moves without bound on the logit
        odds = np.log(part / (1.0 - part)) + change[motion.shares] / (100.0 * part * (1.0 - part))
        level[motion.shares] = 100.0 / (1.0 + np.exp(-odds))
    return level


def _bend_up(level: Reals, floor: Reals, span: Reals) -> Reals:
    # A level nearer to the floor than `span` is moved to span/(2 - x) above it: the same value and slope at the joint, never below.
    x = (level - floor) / span
    return np.where(x >= 1.0, level, floor + span / (2.0 - np.minimum(x, 1.0)))
