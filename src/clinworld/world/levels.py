"""True levels on day 0 of what is measured in a person: which items are followed, and where each starts.

By the usual of the sex and age, the levels that known conditions write, and what goes together between people. What moves a level from
there is decided in `level_motion.py` and put together in `level_course.py`.
"""

import math
from collections.abc import Collection
from dataclasses import replace
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
from clinworld.world.formulas import FORMULAS, has_own_level
from clinworld.world.level_motion import Motion, column, load_motion

BODY_MASS_INDEX = "bmi"  # what the premise gives, and levels go together with
_GRID = 4097
_USUAL_MEAN = "levels_usual_mean."
_AFTER_MENOPAUSE = "levels_after_menopause_"


class FirstLevels(NamedTuple):
    """Where some items start, as columns [item, 1].

    `low` and `high` hold on day 0 only, `mean` at the typical body mass index, from which it changes by `per_bmi`; where a first level
    `is_log`, these are of its logarithm. An item that `is_shift` is only what is added to a level that is drawn where the stream is
    observed. `mixture` makes first levels go together, with the body mass index as one of its normals.
    """

    names: tuple[str, ...]
    mixture: Mixture
    addresses: tuple[tuple[str, str], ...]  # of the normals the mixture needs
    is_shift: NDArray[np.bool_]
    is_log: NDArray[np.bool_]
    mean: Reals
    per_bmi: Reals
    typical_bmi: float
    sd: Reals
    low: Reals
    high: Reals
    bmi_sd: float
    bmi_most_sd: float


class Followed(NamedTuple):
    """The items with a true level: where they start, and what moves those at `moving`."""

    first: FirstLevels
    moving: NDArray[np.int64]
    motion: Motion


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
    telling = list_telling(knowledge, conditions)
    written = _list_written(knowledge, telling)
    names = _list_followed(knowledge, written, devices, _list_moved(knowledge, drug), items)
    first = load_first_levels(knowledge, telling, names, sex, age_years)
    has_diabetes = DIABETES in conditions
    moves = _list_moving(knowledge, drug, has_diabetes)
    moving = [i for i, name in enumerate(names) if name in moves]
    motion = _load_motion(knowledge, tuple(names[i] for i in moving), written, drug, has_diabetes)
    return Followed(first, np.array(moving, dtype=np.int64), motion)


def load_first_levels(knowledge: Knowledge, conditions: tuple[str, ...], names: tuple[str, ...], sex: str, age_years: float) -> FirstLevels:
    """Where analytes and streams start in someone with these conditions."""
    kind = _load_kind(knowledge, list_telling(knowledge, conditions), names, sex)
    if not kind.ageing:
        return kind.young
    columns = kind.columns.copy()
    columns[kind.ageing, :, 0] = [_find_first(knowledge, names[i], kind.told_by[i], sex, age_years) for i in kind.ageing]
    mean, sd, low, high = columns.transpose(1, 0, 2)
    return kind.young._replace(mean=mean, sd=sd, low=low, high=high)


class _Kind(NamedTuple):
    # First levels of the young, with the conditions that tell of each item and the places of the items that go with age.
    young: FirstLevels
    columns: Reals  # [item, (mean, SD, low, high), 1]
    told_by: list[tuple[str, ...]]
    ageing: list[int]


@lru_cache(maxsize=8192)
def _load_kind(knowledge: Knowledge, telling: tuple[str, ...], names: tuple[str, ...], sex: str) -> _Kind:
    rows, written = [_row_of(name, knowledge) for name in names], frozenset(_list_written(knowledge, telling))
    is_log = [isinstance(row, Analyte) and row.id not in written and is_skewed(row, knowledge) for row in rows]
    told = {each: _list_told(knowledge, each) for each in telling}
    told_by = [tuple(each for each in telling if name in told[each]) for name in names]
    firsts = [_find_first(knowledge, name, told, sex, 0.0) for name, told in zip(names, told_by, strict=True)]
    columns = np.array(firsts, dtype=np.float64).reshape(-1, 4, 1)
    mixture = load_mixture(knowledge, "between", names, sex)
    young = FirstLevels(
        names=names,
        mixture=mixture,
        addresses=tuple(("levels", name) for name in mixture.needed),
        is_shift=np.array([_is_shift(row, written) for row in rows], dtype=np.bool_),
        is_log=np.array(is_log, dtype=np.bool_),
        mean=columns[:, 0],
        per_bmi=column([row.per_bmi_over_25 if isinstance(row, Stream) else 0.0 for row in rows]),
        typical_bmi=knowledge.parameter("levels_typical_bmi"),
        sd=columns[:, 1],
        low=columns[:, 2],
        high=columns[:, 3],
        bmi_sd=knowledge.parameter("levels_bmi_sd"),
        bmi_most_sd=knowledge.parameter("levels_bmi_most_sd"),
    )
    ageing = [i for i, row in enumerate(rows) if (row.per_year_over_40 if isinstance(row, Stream) else _changes_with_age(row, knowledge))]
    return _Kind(young, columns, told_by, ageing)


def _is_shift(row: Analyte | Stream, written: Collection[str]) -> bool:
    drawn_there = isinstance(row, Stream) and (row.role == "wearable" or (row.role == "home" and row.per_kg is None))
    return drawn_there and row.id not in written


def _is_home(name: str, knowledge: Knowledge) -> bool:
    return name in knowledge.streams and knowledge.streams[name].role == "home"


def _row_of(item: str, knowledge: Knowledge) -> Analyte | Stream:
    return knowledge.analytes[item] if item in knowledge.analytes else knowledge.streams[item]


@lru_cache(maxsize=1024)
def _list_moving(knowledge: Knowledge, drug: str, has_diabetes: bool) -> frozenset[str]:
    """The items that move in someone on a drug: with weight, or because the drug moves them itself."""
    names = (*knowledge.analytes, *knowledge.streams)
    table = load_drug_table(knowledge, drug, names, has_diabetes)
    responds = (np.any(table.own != 0.0, axis=1) | np.any(table.percent != 0.0, axis=1)).tolist()
    return frozenset(name for name, is_so in zip(names, responds, strict=True) if is_so or _row_of(name, knowledge).per_kg)


@lru_cache(maxsize=2048)
def _load_motion(knowledge: Knowledge, moved: tuple[str, ...], written: tuple[str, ...], drug: str, has_diabetes: bool) -> Motion:
    """What moves some moving items in someone on a drug."""
    rows = [_row_of(name, knowledge) for name in moved]
    is_shift = [_is_shift(row, written) for row in rows]
    return load_motion(rows, is_shift, load_drug_table(knowledge, drug, moved, has_diabetes), knowledge.drugs[drug], knowledge)


@lru_cache(maxsize=16384)
def _find_first(knowledge: Knowledge, item: str, conditions: tuple[str, ...], sex: str, age_years: float) -> tuple[float, ...]:
    """(mean, SD, low, high) of an item's level on day 0; of its logarithm for a skewed analyte that no condition writes."""
    row = _row_of(item, knowledge)
    level = _find_level(row, conditions, sex, age_years, knowledge)
    first = (level.mean, level.sd, level.low, level.high) if level else _usual_level(row, conditions, sex, age_years, knowledge)
    return let_age(first, row, sex, age_years, knowledge) if isinstance(row, Analyte) else first


@lru_cache(maxsize=2048)
def _list_followed(
    knowledge: Knowledge, written: tuple[str, ...], devices: tuple[str, ...], moved: tuple[str, ...], items: tuple[str, ...]
) -> tuple[str, ...]:
    """Analytes and streams the devices report that have a level of their own or something that moves them, and `items`, in table order."""
    reported = list_reported_analytes(knowledge, devices)
    names = [name for name, row in knowledge.analytes.items() if name in reported or (name in items and has_own_level(row))]
    reports = {name for device in devices for name in knowledge.devices[device].reports}
    # A pulse taken with a cuff follows the heart of someone without a wearable too.
    reports |= {row.cause for row in knowledge.couplings.values() if row.effect in reports and _is_home(row.effect, knowledge)}
    for stream in knowledge.streams.values():
        is_moved = stream.per_kg is not None or stream.id in moved or stream.id in written
        if stream.id in items or (stream.id in reports and is_moved and not stream.parent and stream.role in ("home", "wearable")):
            names.append(stream.id)
    return tuple(names)


@lru_cache(maxsize=64)
def list_reported_analytes(knowledge: Knowledge, devices: tuple[str, ...]) -> tuple[str, ...]:
    """The analytes with a level of their own that the devices report, in table order."""
    reports = {name for device in devices for name in knowledge.devices[device].reports}
    rows = knowledge.analytes.values()
    return tuple(row.id for row in rows if row.group in reports and row.device in devices and has_own_level(row))


@lru_cache(maxsize=4096)
def list_telling(knowledge: Knowledge, conditions: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some conditions that any first level depends on."""
    return tuple(name for name in conditions if _list_told(knowledge, name))


@lru_cache(maxsize=512)
def _list_told(knowledge: Knowledge, condition: str) -> frozenset[str]:
    """The items whose first level depends on whether someone is known to have a condition: what it writes, and what diagnoses it."""
    rows: list[Analyte | Stream] = [*knowledge.analytes.values(), *knowledge.streams.values()]
    return frozenset((*_list_written(knowledge, (condition,)), *(row.id for row in rows if row.diagnostic_of == condition)))


@lru_cache(maxsize=2048)
def _list_written(knowledge: Knowledge, conditions: tuple[str, ...]) -> tuple[str, ...]:
    """The items whose level some condition writes, by name."""
    return tuple(sorted({level.item for condition in conditions for level in levels_of(condition, knowledge)}))


@lru_cache(maxsize=512)
def _list_moved(knowledge: Knowledge, drug: str) -> tuple[str, ...]:
    """The streams that a drug moves, by name."""
    return tuple(sorted({effect.item for effect in knowledge.drugs[drug].effects if effect.item in knowledge.streams}))


def levels_of(condition: str, knowledge: Knowledge) -> tuple[Level, ...]:
    """The levels that a condition writes."""
    row = knowledge.conditions.get(condition)
    return row.levels if row is not None and row.has_physiology else ()


def _find_level(row: Analyte | Stream, conditions: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge) -> Level | None:
    """The level row of the condition that moves an item farthest from the usual, the first on a tie; at this sex and age."""
    rows = [level for condition in conditions for level in levels_of(condition, knowledge) if level.item == row.id]
    if isinstance(row, Stream):
        usual = row.mean_f if row.mean_f is not None else (row.hard_low + row.hard_high) / 2.0
    else:
        usual = _usual_mean(row, row.ref_low_f, row.ref_high_f, knowledge)
    level = max(rows, key=lambda level: abs(level.mean - usual), default=None)
    if level is None:
        return None
    level = fit_level_to_sex(level, row, sex)
    if isinstance(row, Stream):
        typical = knowledge.parameter("levels_typical_age_years")
        mean = level.mean + add_age(row, age_years, knowledge) - add_age(row, typical, knowledge)
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


def _changes_with_age(row: Analyte, knowledge: Knowledge) -> bool:
    return f"levels_per_year_{row.id}" in knowledge.parameters or f"{_AFTER_MENOPAUSE}high.{row.id}" in knowledge.parameters


def let_age(
    first: tuple[float, float, float, float], row: Analyte, sex: str, age_years: float, knowledge: Knowledge
) -> tuple[float, float, float, float]:
    """(mean, SD, low, high) of an analyte that rises with age, at an age; a disease that lifts its mean beyond normal sets it at every age.

    What is calculated from it stays on the undiagnosed side of `levels_undiagnosed_least_...`. After the menopause sex hormones have an
    interval of their own.
    """
    high = row.ref_high_m if sex == "M" else row.ref_high_f
    if not _changes_with_age(row, knowledge) or (high is not None and first[0] > high):
        return first
    if f"{_AFTER_MENOPAUSE}high.{row.id}" in knowledge.parameters:
        if sex == "M" or age_years < knowledge.parameter("levels_menopause_years"):
            return first
        low, high = (knowledge.parameter(f"{_AFTER_MENOPAUSE}{end}.{row.id}") for end in ("low", "high"))
        return (low + high) / 2.0, (high - low) * knowledge.parameter("levels_unwritten_sd_share"), low, high
    typical = knowledge.parameter("levels_typical_age_years")
    factor = 1.0 + knowledge.parameter(f"levels_per_year_{row.id}") / 100.0 * max(age_years - typical, 0.0)
    mean, sd, least, most = first
    most = min(factor * most, _find_most_undiagnosed(knowledge, row.id, sex, age_years))
    return min(factor * mean, most), sd, min(factor * least, most), most


@lru_cache(maxsize=256)
def _find_most_undiagnosed(knowledge: Knowledge, item: str, sex: str, age_years: float) -> float:
    """The level at which a result that is calculated from an analyte alone falls to its least without a diagnosis; inf where none is."""
    most, row = np.inf, knowledge.analytes[item]
    for other in knowledge.analytes.values():
        least = knowledge.parameters.get(f"levels_undiagnosed_least_{other.id}")
        if least is not None and FORMULAS[other.derived_by].inputs == (item,):
            grid = np.linspace(row.hard_low, row.hard_high, _GRID)
            fallen = FORMULAS[other.derived_by].calculate({item: grid}, age_years, sex, knowledge)[::-1]
            most = min(most, float(np.interp(least.value, fallen, grid[::-1])))
    return most


def add_age(row: Stream, age_years: float, knowledge: Knowledge) -> float:
    """What age adds to the usual level of a stream on its scale; one that has a turn goes the other way from there on."""
    added = row.per_year_over_40 * max(age_years - 40.0, 0.0)
    if (turn := f"levels_turn_years_{row.id}") in knowledge.parameters:
        added += knowledge.parameter(f"levels_per_year_after_turn_{row.id}") * max(age_years - knowledge.parameter(turn), 0.0)
    return added


def _usual_mean(row: Analyte, low: float | None, high: float | None, knowledge: Knowledge) -> float:
    """What a parameter row says, where people do not lie about the middle of their reference interval; else that middle."""
    written = f"{_USUAL_MEAN}{row.id}"
    if written in knowledge.parameters:
        return knowledge.parameter(written)
    return ((row.hard_low if low is None else low) + (2.0 * (low or 0.0) if high is None else high)) / 2.0


def _usual_level(
    row: Analyte | Stream, conditions: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge
) -> tuple[float, float, float, float]:
    """(mean, SD, low, high) of someone without a condition that moves the item: inside the reference interval, below any diagnosis.

    They are of the logarithm for a skewed analyte.
    """
    if isinstance(row, Stream):
        mean = (row.mean_m if sex == "M" else row.mean_f) or 0.0
        mean += add_age(row, age_years, knowledge) + row.per_bmi_over_25 * (knowledge.parameter("levels_typical_bmi") - 25.0)
        cut = knowledge.parameter("levels_person_cut_sd") * row.sd_between
        sd, low, high = row.sd_between, max(mean - cut, row.hard_low), min(mean + cut, row.hard_high)
    else:
        ref_low, ref_high = (row.ref_low_m, row.ref_high_m) if sex == "M" else (row.ref_low_f, row.ref_high_f)
        mean = _usual_mean(row, ref_low, ref_high, knowledge)
        low, high = (row.hard_low if ref_low is None else ref_low), (2.0 * mean - row.hard_low if ref_high is None else ref_high)
        sd = (high - low) * knowledge.parameter("levels_unwritten_sd_share")
        if row.cv_between_pct is not None and row.diagnostic_high is None:  # where one is diagnosed by it, people without are a mixture
            sd = min(sd, mean * row.cv_between_pct / 100.0)
        if is_skewed(row, knowledge):
            return _usual_log_level(row, ref_low, high, knowledge)
    if row.diagnostic_high is not None and row.diagnostic_of not in conditions:
        high = min(high, row.diagnostic_high * knowledge.parameter("levels_undiagnosed_share"))
    return min(mean, high), sd, low, high


def _usual_log_level(row: Analyte, ref_low: float | None, high: float, knowledge: Knowledge) -> tuple[float, float, float, float]:
    low = math.log(max(row.hard_low, 10.0**-row.decimals) if ref_low is None else ref_low)
    top = math.log(high)
    if ref_low is not None:
        usual = knowledge.parameters.get(f"{_USUAL_MEAN}{row.id}")
        mean = (low + top) / 2.0 if usual is None else math.log(usual.value)
        return mean, (top - low) / knowledge.parameter("levels_reference_width_sd"), low, top
    sd = math.sqrt(math.log1p(((row.cv_between_pct or 0.0) / 100.0) ** 2))
    return max(top - knowledge.parameter("levels_reference_upper_sd") * sd, low), sd, low, top


def draw_first_levels(case_id: str, first: FirstLevels, bmi: float, rng: Rng) -> Reals:
    """True levels on day 0, [item, 1]; 0 for shifts. Levels go together between people as the table of correlations says."""
    needed = first.mixture.needed
    normals = words_to_normal(rng.first_words(case_id, first.addresses, 1))
    if BODY_MASS_INDEX in needed:
        given = (bmi - first.typical_bmi) / first.bmi_sd
        normals[needed.index(BODY_MASS_INDEX)] = min(max(given, -first.bmi_most_sd), first.bmi_most_sd)
    mean = first.mean + first.per_bmi * (max(bmi, 25.0) - first.typical_bmi)
    np.minimum(np.maximum(mean, first.low, out=mean), first.high, out=mean)
    level = squeeze(first.mixture.mix(normals), mean, first.sd, first.low, first.high)
    if first.is_log.any():
        level[first.is_log] = np.exp(level[first.is_log])
    level[first.is_shift] = 0.0
    return level
