"""People whose true levels stand still, with every group of analytes reported, for the tests of the laboratory."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from observe_case import KNOWLEDGE, make_premise, with_rows

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.world.formulas import has_own_level
from clinworld.world.observe_labs import ObservedLabs, observe_laboratory

VISITS = np.arange(0, 700, 28)
GROUPS = tuple(dict.fromkeys(row.group for row in KNOWLEDGE.analytes.values()))
USUAL = {"lp_a": 30.0, "hdl_c": 1.4, "ldl_c": 2.9, "triglycerides": 1.4, "bilirubin_direct": 3.0, "bilirubin_total": 11.0}


@lru_cache
def every_group() -> Knowledge:
    return with_rows("devices", replace(KNOWLEDGE.devices["lab_panel"], reports=GROUPS))


def usual_levels(sex: str = "F") -> dict[str, float]:
    levels = {}
    for row in KNOWLEDGE.analytes.values():
        low, high = (row.ref_low_m, row.ref_high_m) if sex == "M" else (row.ref_low_f, row.ref_high_f)
        if has_own_level(row):
            levels[row.id] = USUAL.get(
                row.id, (low + high) / 2 if low is not None and high is not None else 0.65 * (high or 2 * (low or 1))
            )
    return levels


def still(levels: dict[str, float], days: int = 701) -> Course:
    flat = {name: np.full(days, value) for name, value in levels.items()}
    return Course(days - 1, np.full(days, 90.0), np.ones(days), np.ones(days), ((0, 1.0),), flat, {})


def person(number: int, **changes: object) -> Premise:
    patient = {"comorbidities": ("type_2_diabetes",), **changes.pop("patient", {})}  # type: ignore[dict-item]
    return make_premise(f"L-{number}", course_end_day=700, index_day=700, reversal_day=None, patient=patient, **changes)


def observe(premise: Premise, levels: dict[str, float], *, knowledge: Knowledge = KNOWLEDGE, **how: object) -> ObservedLabs:
    return observe_laboratory(premise, still(levels), VISITS, knowledge, Rng("7"), **how)  # type: ignore[arg-type]
