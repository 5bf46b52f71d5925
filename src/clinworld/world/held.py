"""Which background conditions show nothing in levels, because drugs taken since before day 0 hold these where they would be anyway."""

from functools import lru_cache

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import Premise

_HELD = "levels_held."


def find_held(premise: Premise, knowledge: Knowledge, rng: Rng) -> frozenset[str]:
    """The held conditions of a patient: never the disease that is followed, nor one the drug followed is for."""
    chances, followed = _list_chances(knowledge), {premise.patient.disease, *dict(knowledge.drugs[premise.drug].indications)}
    may_be = [name for name in premise.patient.comorbidities if name in chances and name not in followed]
    return frozenset(name for name in may_be if rng.at(premise.case_id, "levels", "held", name).chance() < chances[name])


@lru_cache(maxsize=8)
def _list_chances(knowledge: Knowledge) -> dict[str, float]:
    return {row.id.removeprefix(_HELD): row.value for row in knowledge.parameters.values() if row.id.startswith(_HELD)}
