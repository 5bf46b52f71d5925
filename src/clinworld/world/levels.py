"""True levels by day of what is measured in a patient: where the person starts, and what weight, drug and driver do to it.

One set of effects on one timeline: the same weight, dose and adherence move every level. Noise, visits and printing are decided in
`observe_*`; what a laboratory calculates is calculated there from printed results.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Level, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.effects import DIABETES, DrugTable, derive_direct_effects, load_drug_table
from clinworld.world.weight import smooth_step

NEGLIGIBLE = 1e-9
SENSOR_LIKE = {"cgm": "glycaemic"}  # levels of this device are drawn with that group


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """The items with a true level, and their numbers as columns [item, 1]; `first` bounds hold on day 0 only.

    `coupling` is the change per kg, `normal` and `trial` the levels between which a glucose-lowering effect is scaled (nan: not
    scaled), `floor` a level that is not passed downwards. An item that is `is_share` lies between 0 and 100 and moves on the logit.
    """

    names: tuple[str, ...]
    factors: tuple[str, ...]  # whose draws a first level shares
    is_shift: NDArray[np.bool_]  # only what is added to a level that is drawn elsewhere
    is_share: NDArray[np.bool_]
    mean: Reals
    sd: Reals
    first_low: Reals
    first_high: Reals
    loading: Reals
    coupling: Reals
    half_time_days: Reals
    normal: Reals
    trial: Reals
    floor: Reals
    low: Reals
    high: Reals
    tries: int


class Treatment(NamedTuple):
    """Weight (kg), dose and adherence (0–1) by day."""

    weight_kg: Reals
    dose: Reals
    adherence: Reals


def derive_levels(premise: Premise, treatment: Treatment, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """Level by day of every analyte and stream whose truth is decided here, in the row's unit and on a linear scale.

    `NAME` is a true level; `shift:NAME` is added, on the stream's scale, to a level drawn where the stream is observed;
    `evidence:NAME` is the level of a stream that shows a driver, in every case, whether the driver acts or not.
    """
    patient = premise.patient
    conditions = (patient.disease, *patient.comorbidities)
    age_years = (patient.age_low + patient.age_high) / 2.0
    followed = load_followed(knowledge, conditions, patient.devices, premise.drug, patient.sex, age_years)
    levels: dict[str, Reals] = {}
    if followed.names:
        table = load_drug_table(knowledge, premise.drug, followed.names, DIABETES in conditions)
        base = _state_vitals(draw_first_levels(premise.case_id, followed, rng), followed, premise)
        moved = _move(premise, followed, table, base, treatment, knowledge)
        for i, name in enumerate(followed.names):
            levels[f"shift:{name}" if followed.is_shift[i] else name] = moved[i]
    for name, level in derive_evidence(premise, knowledge, rng).items():
        levels[name] = levels[name] + level if name in levels else level
    return levels


@lru_cache(maxsize=512)
def load_followed(
    knowledge: Knowledge, conditions: tuple[str, ...], devices: tuple[str, ...], drug: str, sex: str, age_years: float
) -> Followed:
    """What is followed in a patient: what the devices report and weight, the drug or a known condition moves."""
    rows = _find_rows(knowledge, conditions, devices, drug)
    written = [_find_level(row.id, row, conditions, knowledge) for row in rows]
    is_shift = [isinstance(row, Stream) and row.role == "wearable" and level is None for row, level in zip(rows, written, strict=True)]
    firsts = np.array(
        [
            (level.mean, level.sd, level.low, level.high) if level else _usual_level(row, conditions, sex, age_years, knowledge)
            for row, level in zip(rows, written, strict=True)
        ]
    ).reshape(-1, 4, 1)
    share, usual = knowledge.parameter("levels_weight_share"), knowledge.parameter("levels_half_time_days")
    factors = [row.group if isinstance(row, Analyte) else next(iter(row.devices), "") for row in rows]

    def column(values: list[float]) -> Reals:
        return np.array(values, dtype=np.float64).reshape(-1, 1)

    def named(prefix: str, absent: float) -> Reals:
        return column(
            [knowledge.parameter(f"{prefix}_{row.id}") if f"{prefix}_{row.id}" in knowledge.parameters else absent for row in rows]
        )

    return Followed(
        names=tuple(row.id for row in rows),
        factors=tuple(SENSOR_LIKE.get(factor, factor) for factor in factors),
        is_shift=np.array(is_shift, dtype=np.bool_),
        is_share=np.array([isinstance(row, Stream) and row.ucum == "%" and (row.hard_low, row.hard_high) == (0, 100) for row in rows]),
        mean=firsts[:, 0],
        sd=firsts[:, 1],
        first_low=firsts[:, 2],
        first_high=firsts[:, 3],
        loading=named("levels_shared", 0.0),
        coupling=share * column([row.per_kg or 0.0 for row in rows]),
        half_time_days=column([row.half_time_days or usual for row in rows]),
        normal=named("levels_normal", np.nan),
        trial=named("levels_trial", np.nan),
        floor=named("levels_floor", -np.inf),
        low=column([row.hard_low for row in rows]),
        high=column([row.hard_high for row in rows]),
        tries=int(knowledge.parameter("levels_tries")),
    )


def _find_rows(knowledge: Knowledge, conditions: tuple[str, ...], devices: tuple[str, ...], drug: str) -> list[Analyte | Stream]:
    """Analytes and streams the devices report that have a level of their own or something that moves them, in table order."""
    reports = {name for device in devices for name in knowledge.devices[device].reports}
    written = {level.item for condition in conditions for level in _levels_of(condition, knowledge)}
    moved = {effect.item for effect in knowledge.drugs[drug].effects}
    rows: list[Analyte | Stream] = [
        row for row in knowledge.analytes.values() if row.group in reports and row.device in devices and not row.derived_by
    ]
    for stream in knowledge.streams.values():
        is_moved = stream.per_kg is not None or stream.id in moved or stream.id in written
        if stream.id in reports and is_moved and not stream.parent and stream.role in ("home", "wearable"):
            rows.append(stream)
    return rows


def _levels_of(condition: str, knowledge: Knowledge) -> tuple[Level, ...]:
    row = knowledge.conditions.get(condition)
    return row.levels if row is not None and row.has_physiology else ()


def _find_level(item: str, row: Analyte | Stream, conditions: tuple[str, ...], knowledge: Knowledge) -> Level | None:
    """The level row of the condition that moves an item farthest from the usual, the first on a tie."""
    rows = [level for condition in conditions for level in _levels_of(condition, knowledge) if level.item == item]
    if isinstance(row, Stream):
        usual = row.mean_f if row.mean_f is not None else (row.hard_low + row.hard_high) / 2.0
    else:
        usual = _middle(row.ref_low_f, row.ref_high_f, row)
    return max(rows, key=lambda level: abs(level.mean - usual), default=None)


def _middle(low: float | None, high: float | None, row: Analyte) -> float:
    return ((row.hard_low if low is None else low) + (2.0 * (low or 0.0) if high is None else high)) / 2.0


def _usual_level(
    row: Analyte | Stream, conditions: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge
) -> tuple[float, float, float, float]:
    """(mean, SD, low, high) of someone without a condition that moves the item: inside the reference interval, below any diagnosis."""
    if isinstance(row, Stream):
        mean = (row.mean_m if sex == "M" else row.mean_f) or 0.0
        mean += row.per_year_over_40 * max(age_years - 40.0, 0.0)
        cut = knowledge.parameter("levels_person_cut_sd") * row.sd_between
        sd, low, high = row.sd_between, max(mean - cut, row.hard_low), min(mean + cut, row.hard_high)
    else:
        ref_low, ref_high = (row.ref_low_m, row.ref_high_m) if sex == "M" else (row.ref_low_f, row.ref_high_f)
        mean = _middle(ref_low, ref_high, row)
        low, high = (row.hard_low if ref_low is None else ref_low), (2.0 * mean - row.hard_low if ref_high is None else ref_high)
        sd = (high - low) * knowledge.parameter("levels_unwritten_sd_share")
    if row.diagnostic_high is not None and row.diagnostic_of not in conditions:
        high = min(high, row.diagnostic_high * knowledge.parameter("levels_undiagnosed_share"))
    return min(mean, high), sd, low, high


def draw_first_levels(case_id: str, followed: Followed, rng: Rng) -> Reals:
    """True levels on day 0, [item, 1]; 0 for shifts. Levels of one group share a part, so that they go together between people."""
    shared = {factor: rng.at(case_id, "levels", "shared", factor).words(1) for factor in dict.fromkeys(followed.factors)}
    words = np.array([[*rng.at(case_id, "levels", name).words(followed.tries), shared[factor][0]] for name, factor in _pairs(followed)])
    normals = words_to_normal(words)
    own, common = normals[:, :-1], normals[:, -1:]
    loading = followed.loading
    drawn = followed.mean + followed.sd * (loading * common + np.sqrt(1.0 - loading * loading) * own)
    fits = (drawn > followed.first_low) & (drawn < followed.first_high)
    first = np.take_along_axis(drawn, np.argmax(fits, axis=1)[:, None], axis=1)
    first = np.where(fits.any(axis=1)[:, None], first, followed.mean)
    return np.where(followed.is_shift[:, None], 0.0, first)


def _pairs(followed: Followed) -> list[tuple[str, str]]:
    return list(zip(followed.names, followed.factors, strict=True))


def _state_vitals(base: Reals, followed: Followed, premise: Premise) -> Reals:
    for name, value in premise.patient.baseline_vitals:
        if name in followed.names and not followed.is_shift[followed.names.index(name)]:
            base[followed.names.index(name)] = value
    return base


def _move(premise: Premise, followed: Followed, table: DrugTable, base: Reals, treatment: Treatment, knowledge: Knowledge) -> Reals:
    """Levels by day [item, day] from first levels: what weight does with its lag, and the drug with its own, bent away from limits."""
    start, onset = premise.start_weight_kg, knowledge.drugs[premise.drug].onset_days
    direct, share = derive_direct_effects(table, base, followed.coupling, start, max(premise.dose_steps))
    # In diabetes the effect grows with what there is to lower; nan marks items without such a scale.
    excess = np.maximum((base - followed.normal) / (followed.trial - followed.normal), 0.0)
    direct = direct * np.where(np.isnan(excess) | (table.is_for_diabetes == 0.0), 1.0, excess) * premise.drug_response
    taken = direct[:, np.searchsorted(table.doses, treatment.dose)] * treatment.adherence
    taken[:, :onset] = 0.0
    moved = follow(taken, table.half_time_days) + followed.coupling * share * (treatment.weight_kg - start)
    return bend(base, follow(moved, followed.half_time_days), followed, knowledge.parameter("levels_room_share"))


def follow(target: Reals, half_time_days: Reals) -> Reals:
    """What approaches a target by half in each half-time, from 0 on day 0; time is the last axis, half-times are a column.

    The passes a row gets depend on its own half-time only, so no row changes another.
    """
    factor = np.exp2(-1.0 / half_time_days)
    level = target * (1.0 - factor)
    level[:, 0] = 0.0
    back, days = 1, target.shape[1]
    while back < days and (active := factor > NEGLIGIBLE).any():
        factor = np.where(active, factor, 0.0)
        level[:, back:] += factor * level[:, :-back]
        factor, back = factor * factor, 2 * back
    return level


def bend(base: Reals, change: Reals, followed: Followed, room_share: float) -> Reals:
    """Levels after a change, kept inside floor and hard limits without piling up on them; shares move on the logit."""
    level = base + change
    span = room_share * (base - np.maximum(followed.low, followed.floor))
    level = _bend_up(level, np.maximum(followed.low, followed.floor), np.abs(span))
    level = -_bend_up(-level, -followed.high, np.abs(room_share * (followed.high - base)))
    shares = followed.is_share
    if shares.any():
        part = base[shares] / 100.0
        odds = np.log(part / (1.0 - part)) + change[shares] / (100.0 * part * (1.0 - part))
        level[shares] = 100.0 / (1.0 + np.exp(-odds))
    level[followed.is_shift] = change[followed.is_shift]
    return level


def _bend_up(level: Reals, floor: Reals, span: Reals) -> Reals:
    # A level nearer to the floor than `span` is moved to span/(2 - x) above it: the same value and slope at the joint, never below.
    x = (level - floor) / span
    return np.where(x >= 1.0, level, floor + span / (2.0 - np.minimum(x, 1.0)))


def derive_evidence(premise: Premise, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """Levels of the streams that show drivers, in every case: each person's own normal, and the move of the driver that acts.

    It begins `lead_days` before the reversal or the index day, whichever is first.
    """
    days = np.arange(premise.course_end_day + 1.0)
    cut = knowledge.parameter("levels_person_cut_sd")
    levels: dict[str, Reals] = {}
    for driver in knowledge.drivers.values():
        if not driver.evidence or driver.normal is None or driver.abnormal is None:
            continue
        stream, normal, abnormal = knowledge.streams[driver.evidence], driver.normal, driver.abnormal
        ramp = np.zeros(len(days))
        if premise.driver == driver.id and premise.outcome == "regain":
            turn = premise.index_day if premise.reversal_day is None else min(premise.reversal_day, premise.index_day)
            ramp = smooth_step((days - (turn - (driver.lead_days or 0))) / knowledge.parameter("levels_evidence_ramp_days"))
        if stream.role == "wearable":
            size = np.log([abnormal / normal])[0] if stream.scale == "log" else abnormal - normal
            levels[f"shift:{stream.id}"] = size * ramp
        else:
            own = rng.at(premise.case_id, "levels", "evidence", stream.id).gauss()
            own = stream.sd_between * own / (1.0 + abs(own) / cut)
            levels[f"evidence:{stream.id}"] = normal + own + (abnormal - normal) * ramp
    return levels
