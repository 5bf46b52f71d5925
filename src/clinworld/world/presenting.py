"""How a condition comes to light in a patient: which presentation, since when, how severe, and what the patient tells of it on which day.

Decides neither what it does to measurements (`condition_effects.py`) nor what tests find (`condition_findings.py`).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clinworld.core.days import DAYS_A_YEAR
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Condition, Presentation, Symptom
from clinworld.schema.premise import Patient, Premise, Presenting
from clinworld.world.condition_ramps import tempo_of
from clinworld.world.told_weight import agrees_with_scale, derive_true_weight, name_claim

AREA = "presenting"


class Complaint(NamedTuple):
    """What the patient tells on a day: a symptom in one of its wordings. `is_complaint` is False for a fact about the past."""

    day: int
    symptom: str
    text: Wording
    is_complaint: bool


def draw_presenting(case_id: str, condition: str, patient: Patient, index_day: int, knowledge: Knowledge, rng: Rng) -> Presenting:
    """A condition as it shows itself in a patient by the index day.

    The presentation is one that fits the patient's sex and whole age band, all such being equally likely. The onset lies before the
    index day by the presentation's tempo, perhaps before day 0; of what is inborn it is birth. Raises PremiseConflict `no_presentation`
    when none fits.
    """
    row = knowledge.conditions[condition]
    fitting = list_presentations(row, patient.sex, patient.age_low, patient.age_high, knowledge)
    if not fitting:
        raise PremiseConflict(
            f"case {case_id}, presenting",
            f"{condition} in a patient of sex {patient.sex} and {patient.age_low}-{patient.age_high} years",
            f"its presentations fit {_describe_limits(row)}",
            do="Draw the patient with draw_person, or choose another condition.",
            kind="no_presentation",
        )
    drawn = rng.at(case_id, AREA, condition)
    chosen = drawn.pick(fitting, index=0)
    low, high = (knowledge.parameter(f"presenting.onset_days_{end}.{chosen.tempo}") for end in ("low", "high"))
    edges = np.log(np.array([low, high]))
    before = float(np.exp(edges[:1] + (edges[1:] - edges[:1]) * drawn.chance(1))[0])
    onset = (
        -round(DAYS_A_YEAR * patient.age_low) if f"presenting.lifelong.{condition}" in knowledge.parameters else index_day - round(before)
    )
    return Presenting(condition, chosen.id, onset, round(drawn.chance(2), 4))


def list_presentations(row: Condition, sex: str, age_low: int, age_high: int, knowledge: Knowledge) -> list[Presentation]:
    """The presentations of a condition that fit a sex and a whole age band, with an opening complaint that fits too."""
    if not fits(row.sex, row.age_low, row.age_high, sex, age_low, age_high):
        return []
    listed = []
    for each in row.presentations:
        opening = knowledge.symptoms[each.opens_with]
        if all(fits(limits.sex, limits.age_low, limits.age_high, sex, age_low, age_high) for limits in (each, opening)):
            listed.append(each)
    return listed


def fits(of_sex: str, from_age: int | None, to_age: int | None, sex: str, age_low: int, age_high: int) -> bool:
    """Whether a sex and a whole age band lie within limits; None and "" limit nothing."""
    return of_sex in ("", sex) and (from_age or 0) <= age_low and (to_age is None or age_high <= to_age)


def _describe_limits(row: Condition) -> str:
    spans = [f"{each.sex or 'F or M'} from {each.age_low or 0} to {each.age_high or 'any'} years" for each in row.presentations]
    return "; ".join(dict.fromkeys(spans)) or "nobody"


def tell_presenting(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[Complaint, ...]:
    """What the patient tells of the presenting condition up to the index day, the opening complaint first; () without one.

    The others follow in the presentation's order, apart by its tempo, on days that form no regular pattern; what does not occur at the
    patient's sex and age or what the scale contradicts is left out (that the opening agrees with the scale is seen to at the plan). Both
    languages use the wording of the same place.
    """
    presenting, patient = premise.presenting, premise.patient
    if presenting is None:
        return ()
    row = knowledge.conditions[presenting.condition]
    shape = next(each for each in row.presentations if each.id == presenting.presentation)
    symptoms = [symptom for name in shape.course if _is_told(symptom := knowledge.symptoms[name], patient)]
    told = []
    for symptom in symptoms:
        place = rng.at(premise.case_id, AREA, presenting.condition, "wording", symptom.id).whole(0, len(symptom.wordings.en) - 1)
        text = Wording(symptom.wordings.en[place], symptom.wordings.zh[place])
        told.append(Complaint(0, symptom.id, text, symptom.kind == "complaint"))
    while True:
        # Days are laid out for those that are told alone, or a gap left by another would say that there was one.
        days = _draw_days(len(told), premise, presenting, tempo_of(row, shape.id), knowledge, rng)
        told = [each._replace(day=day) for each, day in zip(told, days, strict=True)]
        against = find_contradicted(told[1:], premise, knowledge, rng)
        if not against:
            return tuple(told)
        told = [each for each in told if each not in against]


def find_contradicted(told: Sequence[Complaint], premise: Premise, knowledge: Knowledge, rng: Rng) -> list[Complaint]:
    """Those of some complaints that the scale or the build contradicts."""
    speaking = [each for each in told if name_claim(knowledge.symptoms[each.symptom])]
    if not speaking:
        return []
    weight_kg, bmi = derive_true_weight(premise, knowledge, rng), premise.patient.bmi
    return [each for each in speaking if not agrees_with_scale(knowledge.symptoms[each.symptom], each.day, weight_kg, bmi, knowledge)]


def _is_told(symptom: Symptom, patient: Patient) -> bool:
    return fits(symptom.sex, symptom.age_low, symptom.age_high, patient.sex, patient.age_low, patient.age_high)


def _draw_days(n: int, premise: Premise, presenting: Presenting, tempo: str, knowledge: Knowledge, rng: Rng) -> list[int]:
    """`n` days from the onset (or day 0) to the index day, ascending; two fall together only where there are too few days."""
    number = knowledge.parameter
    first, last = max(presenting.onset_day, 0), premise.index_day
    series = rng.at(premise.case_id, AREA, presenting.condition, "days")
    days: list[int] = []
    for layout in range(int(number("presenting.layouts"))):
        gaps = number(f"presenting.gap_days.{tempo}") * np.exp(number("presenting.gap_log_sd") * series.normal(n, start=layout * n))
        back = np.cumsum(gaps[::-1])[::-1]  # days from each complaint to the index day
        back = back * min(1.0, (last - first) / max(float(back[0]), 1.0))
        days = _set_apart([last - int(value) for value in back.tolist()], first, last)
        if not _is_regular(days):
            break
    return days


def _set_apart(days: list[int], first: int, last: int) -> list[int]:
    for i in range(1, len(days)):
        days[i] = max(days[i], days[i - 1] + 1)
    # What runs over the index day is moved back, as far as there is room after the onset.
    for i in reversed(range(len(days))):
        days[i] = max(first, min(days[i], last if i == len(days) - 1 else max(days[i + 1] - 1, first)))
    return days


def _is_regular(days: list[int]) -> bool:
    steps = {after - before for before, after in pairwise(days)}
    return len(days) > 2 and len(steps) == 1 and steps != {0}
