"""How the two scales are used: weigh-in days and carried-forward readings at home, and the clinic scale about every four weeks.

The printed home values come from `observe_streams.py`; faults are laid over them afterwards by `artifacts.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, Words, words_to_uniform
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.visits import draw_clinic_days
from clinworld.world.wear import LEVELS, draw_use, load_share

CLINIC_SCALE, HOME_DEVICE = "weight_clinic", "smart_scale"


class HomeScale(NamedTuple):
    """The home scale's readings before any fault. `repeats` are the days that show the reading before, `copied` whose reading that is."""

    series: Series
    repeats: NDArray[np.int64]
    copied: NDArray[np.int64]


def draw_weigh_in_days(
    premise: Premise, weekdays: NDArray[np.int64], noise: Reals, words: Words, knowledge: Knowledge, rng: Rng
) -> NDArray[np.int64]:
    """Days on which the home scale is used; day 0 always.

    A daily plan is kept more often on weekdays, by some people more than by others, and never pauses longer than its longest gap.
    MCAR: every day alike; MAR: by weekday; MNAR: besides less often when the reading would be high, and as much more often when it
    would be low.
    """
    days = np.arange(len(weekdays))
    if premise.sampling_days > 1:
        return days[:: premise.sampling_days]
    # Shares of use, not of missing days: the other way round by level.
    use = LEVELS - 1 - draw_use(premise.case_id, HOME_DEVICE, rng)
    weekday, weekend = (load_share(knowledge, f"weigh_in_p_{day}")[use] for day in ("weekday", "weekend"))
    chance: float | Reals = (5 * weekday + 2 * weekend) / 7
    if premise.missingness != "MCAR":
        chance = np.where(weekdays < 5, weekday, weekend)
    if premise.missingness == "MNAR":
        chance *= 1 - knowledge.parameter("weigh_in_mnar_share") * np.sign(noise)
    used = words_to_uniform(words) < chance
    used[0] = True
    since = days - np.maximum.accumulate(used * days)
    used |= (since > 0) & (since % int(knowledge.parameter("weigh_in_most_gap")) == 0)
    return days[used]


def observe_home_scale(premise: Premise, days: NDArray[np.int64], ticks: NDArray[np.int64], knowledge: Knowledge, rng: Rng) -> HomeScale:
    """Home readings on the weigh-in days; `ticks` are the printed values of every day.

    In a small share of readings the scale shows the reading before once more.
    """
    row = knowledge.streams["weight"]
    drawn = rng.at(premise.case_id, "weight", "carried").uniform(len(ticks))[days]
    fresh = drawn >= knowledge.parameter("weight_carried_p")
    fresh[0] = True
    source = np.maximum.accumulate(np.where(fresh, np.arange(len(days)), 0))
    series = Series(row.id, row.setting, row.ucum, row.decimals, days.astype(np.int32), ticks[days[source]])
    return HomeScale(series, days[~fresh], days[source[~fresh]])


def observe_clinic_scale(premise: Premise, course: Course, knowledge: Knowledge, rng: Rng) -> Series:
    """Clinic readings about every four weeks: the true weight, a small fixed deviation of the scale, and little noise.

    They depend on nothing but truth and case, so they are the same whatever happens to the home scale.
    """
    row = knowledge.streams[CLINIC_SCALE]
    days = draw_clinic_days(premise, course.last_day, knowledge, rng)
    scale = rng.at(premise.case_id, "weight", "clinic_scale")
    low, high = knowledge.parameter("weight_clinic_bias_low"), knowledge.parameter("weight_clinic_bias_high")
    side, size = scale.uniform(2).tolist()
    bias = (low + (high - low) * size) * (1 if side < 0.5 else -1)
    jitter = row.sd_within * rng.at(premise.case_id, "weight", "clinic_reading").normal(len(days))
    ticks = to_ticks(course.weight_kg[days] + bias + jitter, row.decimals)
    return Series(row.id, row.setting, row.ucum, row.decimals, days.astype(np.int32), ticks)
