"""What a laboratory would print of an analyte on a day on which nobody planned to draw it.

The person is the same as in the routine draws: the same true level, the same make of cells. The specimen varies and is measured as those
are, with what results of one specimen have in common; only its noise is its own.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from clinworld.core.rng import Rng, words_to_normal
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.formulas import FOLLOWS, PARTS
from clinworld.world.lab_assays import Assays, load_assays
from clinworld.world.observe_labs import derive_specimens, draw_cell_haemoglobin, measure

AREA = "findings"


@lru_cache(maxsize=512)
def _load_ordered(knowledge: Knowledge, name: str, is_followed: bool, sex: str) -> Assays:
    """The assays of one analyte with those it is measured beside: what it follows from, or the whole it is a part of."""
    known = FOLLOWS[name].inputs if is_followed else (name,)
    beside = tuple(whole for part, whole in PARTS.items() if part in known)
    return load_assays(knowledge, tuple(knowledge.devices), tuple(dict.fromkeys((*known, *beside))), sex)


def measure_ordered(name: str, day: int, find_level: Callable[[str], Reals], premise: Premise, knowledge: Knowledge, rng: Rng) -> int:
    """The printed ticks of a measured analyte on a day. `find_level` gives a true level by day.

    One draw per (analyte, day), so what else is ordered moves no result.
    """
    sex = premise.patient.sex
    assays = _load_ordered(knowledge, name, name in FOLLOWS, sex)
    levels = np.array([find_level(each)[day : day + 1] for each in assays.varied])
    by_day = np.array([rng.at(premise.case_id, AREA, each, "specimen").words(1, start=day) for each in assays.within.needed])
    errors = np.array([rng.at(premise.case_id, AREA, row.id).words(1, start=day) for row in assays.measured])
    cells = draw_cell_haemoglobin(premise.case_id, knowledge, rng) if "haemoglobin" in assays.varied else 0.0
    truth = derive_specimens(assays, levels, words_to_normal(by_day), cells, sex, knowledge)
    ticks = measure(assays, truth, words_to_normal(errors), knowledge)
    return int(ticks[[row.id for row in assays.measured].index(name), 0])
