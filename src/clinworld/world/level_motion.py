"""How true levels move by day: with weight behind a lag, with the dose of the drug behind its own, bent away from what they never reach.

Where a person starts stands in `levels.py`; conditions, harms and couplings come after this.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Drug, Stream
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.effects import DrugTable, derive_direct_effects

MOST_PASSES = 16
NO_ROOM = 1e-9
EDGE = 0.005
WEEK, HALVINGS = 7, 5  # a drug has its whole effect after so many half-times
STEP_DAYS = 4  # what moves a level is looked at this often; between, the level follows exactly


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """What moves levels, as columns [item, 1] over the moving items.

    `coupling` is the change per kg. Where an effect `is_scaled`, being one that lowers glucose, it goes with the excess over `normal` and
    is whole at an excess of `span`. `per_step` and `within` [day of a step] are how much of a distance is left after 1, 2, 4, 8, … steps
    and after 0, 1, … days of one: behind weight, and below that behind the dose for the items at `on_drug`, which the drug itself moves.
    Items at `shares` lie between 0 and 100 and move on the logit; those at `bounded` never reach `low` and `high` and are bent away.
    """

    table: DrugTable
    coupling: Reals
    per_step: tuple[Reals, ...]
    within: Reals
    on_drug: NDArray[np.int64]
    is_scaled: NDArray[np.bool_]
    normal: Reals
    span: Reals
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


def load_motion(rows: list[Analyte | Stream], is_shift: list[bool], table: DrugTable, drug: Drug, knowledge: Knowledge) -> Motion:
    """What moves some items in someone on a drug."""
    share, usual = knowledge.parameter("levels_weight_share"), knowledge.parameter("levels_half_time_days")
    half_times = column([row.half_time_days or usual for row in rows])
    on_drug = np.flatnonzero(np.any(table.own != 0.0, axis=-1) | np.any(table.percent != 0.0, axis=-1))
    # A drug's steady state is that of its slowest item: none builds up more slowly than it follows a lasting cause.
    steady = np.minimum(drug.steady_weeks * WEEK / HALVINGS, column([row.half_time_days or np.inf for row in rows]))
    steady = np.maximum(steady, _named(rows, "levels_least_half_time", 0.0, knowledge))
    of_drug = np.where(np.isnan(table.half_time_days), steady, table.half_time_days)[on_drug]
    behind = np.concatenate([half_times, of_drug])
    normal, trial = (_named(rows, f"levels_{name}", np.nan, knowledge) for name in ("normal", "trial"))
    is_scaled = ~np.isnan(trial - normal) & (table.shrinks != 0.0)
    is_share = [isinstance(row, Stream) and row.ucum == "%" and (row.hard_low, row.hard_high) == (0, 100) for row in rows]
    bounded = np.flatnonzero(~(np.array(is_share, dtype=np.bool_) | np.array(is_shift, dtype=np.bool_)))
    return Motion(
        table=table,
        coupling=share * column([row.per_kg or 0.0 for row in rows]),
        per_step=double_steps(np.exp2(-STEP_DAYS / behind)),
        within=np.exp2(-np.arange(STEP_DAYS) / behind),
        on_drug=on_drug,
        is_scaled=is_scaled,
        normal=np.where(is_scaled, normal, 0.0),
        span=np.where(is_scaled, trial - normal, 1.0),
        low=np.maximum(column([row.hard_low for row in rows]), _named(rows, "levels_floor", -np.inf, knowledge))[bounded],
        high=column([row.hard_high for row in rows])[bounded],
        shares=np.flatnonzero(is_share),
        bounded=bounded,
        room_share=knowledge.parameter("levels_room_share"),
    )


def _named(rows: list[Analyte | Stream], prefix: str, absent: float, knowledge: Knowledge) -> Reals:
    names = [f"{prefix}_{row.id}" for row in rows]
    return column([knowledge.parameter(name) if name in knowledge.parameters else absent for name in names])


def column(values: list[float]) -> Reals:
    """Numbers as a column [item, 1]."""
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def move(base: Reals, motion: Motion, treatment: Treatment, premise: Premise) -> Reals:
    """Levels by day [item, day] from first levels: what weight does with the item's lag, the drug with its own, bent away from limits."""
    start, table = premise.start_weight_kg, motion.table
    direct, share = derive_direct_effects(table, base, motion.coupling, start, max(premise.dose_steps))
    weight, dose, adherence = (values[::STEP_DAYS] for values in treatment)
    of_weight = motion.coupling * share * (weight - start)
    rows = motion.on_drug
    if len(rows):
        # What lowers glucose does so by what there is to lower.
        excess = np.where(motion.is_scaled, np.maximum((base - motion.normal) / motion.span, 0.0), 1.0)
        taken = (direct * (premise.drug_response * excess))[rows[:, None], table.doses.searchsorted(dose)] * adherence
        of_both = _lag(np.concatenate([of_weight, taken]), motion.per_step, motion.within)
        change = of_both[: len(base)]
        change[rows] += of_both[len(base) :]
    else:
        change = _lag(of_weight, motion.per_step, motion.within)
    return bend(base, change.reshape(len(base), -1)[:, : len(treatment.weight_kg)], motion)


def double_steps(left: Reals) -> tuple[Reals, ...]:
    """The share of a distance left after 1, 2, 4, … steps, for courses of up to 2**MOST_PASSES steps, from that after one."""
    shares = [left]
    for _ in range(MOST_PASSES):
        shares.append(shares[-1] * shares[-1])
    return tuple(shares)


def _lag(target: Reals, per_step: tuple[Reals, ...], within: Reals) -> Reals:
    """What approaches a target looked at every few days, on each of those days [item, step, day of the step]."""
    left = follow(target, per_step) - target
    return np.asarray(target[:, :, None] + left[:, :, None] * within[:, None, :])


def follow(target: Reals, left: tuple[Reals, ...]) -> Reals:
    """What approaches a target, from 0 on the first step; `left` [item, 1] is the share of the distance left after 1, 2, 4, … steps.

    Time is the last axis. The number of passes follows from the length alone, so no row changes another.
    """
    level = np.empty_like(target)
    level[:, 0] = 0.0
    np.multiply(target[:, :-1], 1.0 - left[0], out=level[:, 1:])
    for each in range((target.shape[1] - 1).bit_length()):
        back = 2**each
        level[:, back:] += left[each] * level[:, :-back]
    return level


def bend(base: Reals, change: Reals, motion: Motion) -> Reals:
    """Levels after a change, kept inside their limits without piling up on them; shares move on the logit."""
    level: Reals = base + change
    rows, room = motion.bounded, motion.room_share
    first, inside = base[rows], level[rows]
    # A stated first level may lie beyond the usual limit; then it is the limit itself.
    low, high = np.minimum(motion.low, first), np.maximum(motion.high, first)
    below, above = np.maximum(room * (first - low), NO_ROOM), np.maximum(room * (high - first), NO_ROOM)
    if np.count_nonzero(inside < low + below) or np.count_nonzero(inside > high - above):
        level[rows] = -bend_up(-bend_up(inside, low, below), -high, above)
    if len(motion.shares):
        part = np.clip(base[motion.shares] / 100.0, EDGE, 1.0 - EDGE)  # a share of nearly all or nothing moves without bound on the logit
        odds = np.log(part / (1.0 - part)) + change[motion.shares] / (100.0 * part * (1.0 - part))
        level[motion.shares] = 100.0 / (1.0 + np.exp(-odds))
    return level


def bend_up(level: Reals, floor: Reals, span: Reals) -> Reals:
    """Levels, those nearer to the floor than `span` moved to span/(2 - x) above it: the same value and slope at the joint, never below."""
    x = (level - floor) / span
    return np.where(x >= 1.0, level, floor + span / (2.0 - np.minimum(x, 1.0)))
