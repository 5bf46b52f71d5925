"""True levels on day 0 of what is measured in a person: which items are followed, and where each starts.

By the usual of the sex and age, the levels that known conditions write, and what goes together between people. What moves a level from
there is decided in `level_motion.py` and put together in `level_course.py`.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Level, Stream
from clinworld.schema.course import Reals
from clinworld.world.common_causes import Mixture, is_skewed, load_mixture, squeeze
from clinworld.world.effects import DIABETES, load_drug_table
from clinworld.world.formulas import has_own_level
from clinworld.world.level_motion import Motion, column, load_motion

BODY_MASS_INDEX = "bmi"  # what the premise gives, and levels go together with


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
    motion: Motion


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
        per_bmi=column([row.per_bmi_over_25 if isinstance(row, Stream) else 0.0 for row in rows]),
        moving=moving,
        motion=load_motion([rows[i] for i in moving], [is_shift[i] for i in moving], table.pick(moving), knowledge.drugs[drug], knowledge),
    )


@lru_cache(maxsize=16384)
def _find_first(knowledge: Knowledge, item: str, conditions: tuple[str, ...], sex: str, age_years: float) -> tuple[float, ...]:
    """(mean, SD, low, high) of an item's level on day 0; of its logarithm for a skewed analyte that no condition writes."""
    row: Analyte | Stream = knowledge.analytes[item] if item in knowledge.analytes else knowledge.streams[item]
    level = _find_level(row, conditions, sex, age_years, knowledge)
    return (level.mean, level.sd, level.low, level.high) if level else _usual_level(row, conditions, sex, age_years, knowledge)


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
