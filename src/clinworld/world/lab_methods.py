"""What specimens are measured on: a platform that changes on a day in a share of people, and reagent lots that shift results a little.

The size of a shift is the documented one of its lab factor. Decides nothing of specimens or true levels.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import MethodChange
from clinworld.world.observe_streams import reflect
from clinworld.world.specimens import Effect, Touched, load_effects

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]

LOT = "reagent_lot"


class Methods(NamedTuple):
    """What methods do to results, [analyte, visit]: a factor, then an addition. `changes` are charted.

    `usual` is the laboratory's main platform; `others` by visit are those that measured their own analytes of the draw.
    """

    times: Reals
    plus: Reals
    usual: str
    others: tuple[tuple[str, ...], ...]
    changes: tuple[MethodChange, ...]
    touched: tuple[Touched, ...]


class Platform(NamedTuple):
    """A platform that shifts results: its id, lab factor, share of people it changes in, places of what it measures, and effects."""

    id: str
    factor: str
    p: float
    measures: list[int]
    effects: tuple[Effect, ...]


@lru_cache(maxsize=64)
def load_platforms(knowledge: Knowledge, names: tuple[str, ...]) -> tuple[str, tuple[Platform, ...]]:
    """(the usual platform, those that shift one of these analytes and whose rate is known)."""
    usual = next(row.id for row in knowledge.platforms.values() if not row.factor)
    others = [row for row in knowledge.platforms.values() if row.factor and f"method_p_{row.factor}" in knowledge.parameters]
    platforms = [
        Platform(row.id, row.factor, knowledge.parameter(f"method_p_{row.factor}"), _place(row.measures, names), effects)
        for row in others
        if (effects := load_effects(knowledge, row.factor, names))
    ]
    return usual, tuple(platforms)


def _place(measures: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    return [names.index(name) for name in measures if name in names]


def draw_methods(premise: Premise, visits: Days, is_drawn: Flags, names: tuple[str, ...], knowledge: Knowledge, rng: Rng) -> Methods:
    """The methods of a course: `is_drawn` [analyte, visit] says which results there are of the analytes `names`."""
    times, plus = np.ones(is_drawn.shape), np.zeros(is_drawn.shape)
    usual, platforms = load_platforms(knowledge, names)
    others = [list[str]() for _ in visits]
    changes, touched = list[MethodChange](), list[Touched]()
    for platform in platforms:
        p, when, back, size = rng.at(premise.case_id, "method", platform.factor).uniform(4).tolist()
        if p >= platform.p or len(visits) < 2:
            continue
        day = int(visits[0]) + 1 + int(when * (visits[-1] - visits[0]))
        is_back = back < knowledge.parameter("method_from_other_p")
        is_after = visits >= day
        is_other = ~is_after if is_back else is_after
        before, after = (platform.id, usual) if is_back else (usual, platform.id)
        for visit in np.flatnonzero(is_other & is_drawn[platform.measures].any(axis=0)).tolist():
            others[visit].append(platform.id)
        for effect in platform.effects:
            drawn, shift = is_drawn[effect.place], effect.at(size)
            if not (drawn & is_after).any():
                continue
            changes.append(MethodChange(day, names[effect.place], before, after))
            (times if effect.is_percent else plus)[effect.place] += is_other * (shift / 100 if effect.is_percent else shift)
            touched += [Touched(platform.factor, names[effect.place], drawn & is_other, shift)] if (drawn & is_other).any() else []
    touched += _shift_lots(premise, visits, is_drawn, names, times, knowledge, rng)
    changes.sort(key=lambda change: (change.day, change.analyte))
    return Methods(times, plus, usual, tuple(map(tuple, others)), tuple(changes), tuple(touched))


def _shift_lots(
    premise: Premise, visits: Days, is_drawn: Flags, names: tuple[str, ...], times: Reals, knowledge: Knowledge, rng: Rng
) -> list[Touched]:
    """Shift results by their lots, the first of which is what later ones are compared with; a lot lasts for months."""
    touched = []
    length, share = knowledge.parameter("lot_days"), knowledge.parameter("lot_sd_share")
    for effect in load_effects(knowledge, LOT, names):
        drawn = rng.at(premise.case_id, "lot", names[effect.place])
        lots = ((visits - visits[0]) / length + drawn.chance()).astype(np.int64)
        shifts = reflect(share * effect.strong * drawn.normal(int(lots[-1]) + 1, start=1), -abs(effect.strong), abs(effect.strong))
        shifts[0] = 0
        times[effect.place] *= 1 + shifts[lots] / 100
        for lot in range(1, int(lots[-1]) + 1):
            at = (lots == lot) & is_drawn[effect.place]
            if at.any() and shifts[lot]:
                touched.append(Touched(LOT, names[effect.place], at, float(shifts[lot])))
    return touched
