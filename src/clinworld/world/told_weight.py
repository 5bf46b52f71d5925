"""Whether what a patient says of weight or build agrees with the scale. Decides nothing; `presenting.py` leaves out what does not agree.

What a symptom claims stands in its row: the change of weight over the days before it is told, or the body mass index it goes with.
"""

from functools import lru_cache

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Symptom
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.condition_effects import WEIGHT, push_weight
from clinworld.world.weight_guard import derive_weight


def name_claim(symptom: Symptom) -> str:
    """What a symptom claims of weight or build: "gaining" (or not losing), "losing", "heavy", "slim", or "" for nothing."""
    if symptom.weight_days is not None:
        return "gaining" if symptom.weight_low_kg is not None else "losing"
    return "heavy" if symptom.bmi_low is not None else "slim" if symptom.bmi_high is not None else ""


def derive_true_weight(premise: Premise, knowledge: Knowledge, rng: Rng) -> Reals:
    """True weight by day in kg, what the presenting condition does to it included."""
    return push_weight(derive_weight(premise, knowledge, rng).weight_kg, premise, knowledge, rng)


def agrees_with_scale(symptom: Symptom, day: int, weight_kg: Reals, bmi: float | None, knowledge: Knowledge) -> bool:
    """Whether a symptom told on a day agrees with the weight of the days before it and with the body mass index.

    In the first days there is nothing yet that the scale could say.
    """
    if bmi is not None and not (symptom.bmi_low or 0.0) <= bmi <= (symptom.bmi_high or bmi):
        return False
    if symptom.weight_days is None or day < knowledge.parameter("told_weight_least_days"):
        return True
    change = float(weight_kg[day] - weight_kg[max(0, day - symptom.weight_days)])
    is_low = symptom.weight_low_kg is not None and change < symptom.weight_low_kg
    return not is_low and (symptom.weight_high_kg is None or change <= symptom.weight_high_kg)


@lru_cache(maxsize=512)
def is_wasting(knowledge: Knowledge, condition: str) -> bool:
    """Whether a condition makes people lose weight: a finding of it, or a complaint of weight going down."""
    row = knowledge.conditions[condition]
    complaints = (knowledge.symptoms[entry.symptom] for entry in row.symptoms)
    losing = any(each.kind == "complaint" and each.weight_high_kg is not None and each.weight_high_kg < 0 for each in complaints)
    return losing or any(finding.item == WEIGHT and finding.moves == "down" for finding in row.findings)
