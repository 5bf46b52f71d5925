"""How carefully people use what they measure with: chances of a missing day by person, and the days that follow from them.

A row's chances are those over all people; a person's lie at one of equally likely levels of use, the same for all streams of a device.
Called by the plan of streams, by the home scale and by the gates that count missing days.
"""

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, Words
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals

Flags = NDArray[np.bool_]

LEVELS = 64  # from the person who misses least to the one who misses most
_STEPS = 12  # of Newton's method, which is at rest long before


class Use(NamedTuple):
    """Chances of a missing day [level, row]: of any day, of one after a day with a value, and of one after a missing day."""

    share: Reals
    after_worn: Reals
    after_off: Reals


def spread_share(share: Reals, knowledge: Knowledge) -> Reals:
    """A share [row] by level of use [level, row]: log-odds normal over people, their mean the share itself."""
    z = np.array([NormalDist().inv_cdf((level + 0.5) / LEVELS) for level in range(LEVELS)])[:, None]
    open_share = np.clip(share, 1e-9, 1 - 1e-9)
    middle = np.log(open_share / (1 - open_share))
    away = knowledge.parameter("device_use_logit_sd") * z
    for _ in range(_STEPS):
        by_level = 1 / (1 + np.exp(-middle - away))
        middle = middle - (by_level.mean(axis=0) - open_share) / (by_level * (1 - by_level)).mean(axis=0)
    return np.where((share > 0) & (share < 1), by_level, share)


def derive_use(p_off_worn: Reals, p_off_off: Reals, knowledge: Knowledge) -> Use:
    """Chances of a missing day by level of use, which over all people give the chances [row] after a worn and after a missing day.

    Part of the runs of missing days is that people differ, so that one person's own memory is shorter than the rows'.
    """
    share = np.where(p_off_worn > 0, p_off_worn / np.maximum(1 - p_off_off + p_off_worn, 1e-9), 0)
    by_level = spread_share(share, knowledge)
    by_people = np.where(share > 0, (by_level * by_level).mean(axis=0) / np.where(share > 0, share, 1), 0)
    memory = np.maximum((p_off_off - by_people) / np.maximum(1 - by_people, 1e-9), 0)
    after_worn = by_level * (1 - memory)
    return Use(by_level, after_worn, after_worn + memory)


def derive_within(use: Use, outer: Use) -> Use:
    """The chances on days when the outer row has a value, so that with its missing days, which are all missing here too, `use` results."""
    share = np.where(use.share > 0, use.share, 1)
    # The chance that the outer row is missing after a day that was missing here.
    goes_on = (outer.share * outer.after_off + (use.share - outer.share) * outer.after_worn) / share
    chances = (
        (use.share - outer.share) / (1 - outer.share),
        (use.after_worn - outer.after_worn) / (1 - outer.after_worn),
        (use.after_off - goes_on) / (1 - goes_on),
    )
    return Use(*(np.clip(chance, 0, 1) for chance in chances))


@lru_cache(maxsize=64)
def load_share(knowledge: Knowledge, parameter: str) -> Reals:
    """The share that a parameter names, by level of use."""
    return spread_share(np.array([knowledge.parameter(parameter)]), knowledge)[:, 0]


def draw_use(case_id: str, device: str, rng: Rng) -> int:
    """The level at which a person uses a device."""
    return int(rng.at(case_id, "device", device, "use").chance() * LEVELS)


def to_thresholds(chances: Reals) -> Words:
    """The words below which something of these chances happens."""
    # The next float below 2**64 is the largest that is a word.
    return np.minimum(chances * 2.0**64, np.nextafter(2.0**64, 0)).astype(np.uint64)


def find_missing_days(words: Words, off: tuple[Words, Words, Words], outer: Flags | None) -> Flags:
    """Missing days [row, day] by words [row, day] and thresholds [row, 1]: on the first day, after a worn and after a missing day.

    A day missing in `outer` is missing.
    """
    first, after_worn, after_off = off
    is_off = words < np.minimum(after_worn, after_off)
    is_known = is_off | (words >= np.maximum(after_worn, after_off))
    is_off[:, :1], is_known[:, 0] = words[:, :1] < first, True
    if outer is not None:
        is_off |= outer
        is_known |= outer
    # Between the thresholds a day is as the day before, or, where a day is less likely missing after a missing one, the other way round.
    is_turning = after_off < after_worn
    turned = np.logical_xor.accumulate(~is_known & is_turning, axis=1) if is_turning.any() else is_turning
    is_off ^= turned
    last = np.maximum.accumulate(is_known.ravel() * np.arange(is_known.size, dtype=np.int32))
    missing: Flags = is_off.ravel().take(last).reshape(is_off.shape) ^ turned
    return missing
