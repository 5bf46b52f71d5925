"""A patient in whom a condition will show itself: a drawn case, with the age, sex and background of someone who has the condition.

What is not clinical (start weight, body mass index, drug, days, devices, rates of events) comes from the drawn case and does not depend
on the condition. Decides nothing of what is then measured or told.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Symptom
from clinworld.schema.job import Case, Job
from clinworld.schema.premise import Conflict, Premise, Presenting
from clinworld.world.draw import draw_case
from clinworld.world.draw_mix import load_draw_weights
from clinworld.world.draw_people import Limits, Person, are_one_state, contradicts, draw_background, draw_person, find_share, list_needed
from clinworld.world.drug_safety import check_drug_safety
from clinworld.world.premise import check_premise, derive_premise
from clinworld.world.presenting import draw_presenting, find_contradicted, fits, list_presentations, tell_presenting
from clinworld.world.told_weight import is_wasting, name_claim

AREA = "plan"


class Told(NamedTuple):
    """What a patient says of a condition: how many complaints and facts about the past, and what these claim of weight and build.

    Each kind takes the place of everyday notes of its kind, so that both counts are to be equal where no everyday note may differ. What is
    claimed binds the days to those on which the scale agrees.
    """

    complaints: int
    facts: int
    claims: tuple[str, ...]


class Telling(NamedTuple):
    """How a presentation is told: how fast it comes on, and what the patient says of it."""

    tempo: str
    told: Told


def plan_presenting(
    case_id: str,
    condition: str,
    job: Job,
    knowledge: Knowledge,
    rng: Rng,
    *,
    person: Person | None = None,
    disease: str = "",
    telling: Telling | None = None,
) -> Premise:
    """The premise of a patient with a hidden condition. Pure: seed, case id, condition and what is fixed decide.

    `person`, `disease` (what the drug is given for) and `telling` (of the presentation) are drawn where they are not given. Where drawn
    values contradict each other all are drawn again. Raises PremiseConflict when every further draw does so too.
    """
    for attempt in range(1 + int(knowledge.parameter("build.most_redraws"))):
        name = case_id if not attempt else f"{case_id}.{attempt}"
        who = person or _draw_adult(name, condition, knowledge, rng)
        treated = disease or _draw_disease(name, condition, who, knowledge, rng)
        # Weight that is wasting away is not regained.
        kept = {"outcome": "maintain"} if is_wasting(knowledge, condition) else {}
        case = _give(draw_case(name, {"disease": treated, **kept}, knowledge, rng), condition, who, knowledge, rng)
        plain = derive_premise(case, job, knowledge, rng)
        premise = replace(plain, presenting=_draw_presenting(plain, condition, telling, knowledge, rng))
        conflicts = tuple(check_premise(premise, case, knowledge)) or check_drug_safety(premise, knowledge, rng)
        conflicts = conflicts or _check_opening(premise, knowledge, rng)
        if not conflicts:
            return premise
    first = conflicts[0]
    raise PremiseConflict(first.place, first.found, first.limit, do=first.do, kind=first.kind)


def _check_opening(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[Conflict, ...]:
    opening = tell_presenting(premise, knowledge, rng)[:1]
    return tuple(
        Conflict(
            "told_against_the_scale",
            f"case {premise.case_id}, presenting",
            f"{each.symptom} on day {each.day}",
            "what the scale or the build does not contradict",
            "Choose another condition, or another course of weight.",
        )
        for each in find_contradicted(opening, premise, knowledge, rng)
    )


def list_diseases(condition: str, person: Person, knowledge: Knowledge) -> tuple[str, ...]:
    """What a person with a hidden condition may be treated for: what occurs at the age and sex and agrees with the condition; of what the
    condition comes only with, that."""
    return _list_diseases(condition, person, knowledge)


@lru_cache(maxsize=4096)
def _list_diseases(condition: str, person: Person, knowledge: Knowledge) -> tuple[str, ...]:
    age = (person.age_low + person.age_high) / 2.0
    rows = (knowledge.conditions[name] for name in load_draw_weights()["disease"])
    possible = tuple(
        row.id
        for row in rows
        if row.id != condition
        and fits(row.sex, row.age_low, row.age_high, *person)
        and not contradicts(row.id, condition, person.sex, age, knowledge)
        and not are_one_state(row.id, condition, knowledge)
    )
    return tuple(name for name in possible if name in list_needed(knowledge, condition)) or possible


def _draw_adult(name: str, condition: str, knowledge: Knowledge, rng: Rng) -> Person:
    youngest, oldest = (int(knowledge.parameter(f"draw_age_{end}")) for end in ("low", "high"))
    return draw_person(name, condition, knowledge, rng, ages=(youngest, oldest), presents=True)


def _draw_disease(name: str, condition: str, person: Person, knowledge: Knowledge, rng: Rng) -> str:
    weights = load_draw_weights()["disease"]
    possible = list_diseases(condition, person, knowledge)
    if not possible:
        who = f"{person.sex}, {person.age_low}-{person.age_high} years"
        raise PremiseConflict(
            f"case {name}, disease", f"{condition} in {who}", "no disease of draw_weights goes with it", do="Choose another condition."
        )
    aim = rng.at(name, AREA, "disease").chance() * math.fsum(weights[each] for each in possible)
    for each in possible:
        aim -= weights[each]
        if aim < 0:
            return each
    return possible[-1]


def _give(case: Case, condition: str, person: Person, knowledge: Knowledge, rng: Rng) -> Case:
    """The same case as lived by a person with the condition; a body of the other sex keeps its body mass index."""
    facts, kg = case.facts, 1.0
    if facts.sex != person.sex:
        height = math.sqrt(facts.start_weight / (facts.bmi or 1.0))
        taller = knowledge.parameter("draw_height_m_m") - knowledge.parameter("draw_height_f_m")
        kg = ((height + (taller if person.sex == "M" else -taller)) / height) ** 2
    limits = Limits(known=(facts.disease,), answer=condition, bmi=facts.bmi, drugs=(facts.drug,), spares_course=True)
    lived = replace(
        facts,
        sex="F" if person.sex == "F" else "M",
        age_range=f"{person.age_low}-{person.age_high}",
        comorbidities=draw_background(case.case_id, person, limits, knowledge, rng),
        start_weight=round(facts.start_weight * kg, 1),
        nadir_weight=round(facts.nadir_weight * kg, 1),
    )
    density, weeks = case.controls.event_density, case.controls.index_time_T / 7
    complaints, past = count_most_told(knowledge)
    # So many everyday events that whatever a condition has to tell stands in the place of some of its own kind, beside the distractors.
    if case.controls.distractor_level != "none":
        row = "events_distractors_low" if case.controls.distractor_level == "low" else "events_distractors_high_most"
        complaints += int(knowledge.parameter(row))
    density = replace(
        density,
        symptom_rate=max(density.symptom_rate, math.ceil(100 * complaints / weeks) / 100),
        life_event_rate=max(density.life_event_rate, math.ceil(100 * past / weeks) / 100),
    )
    return replace(case, facts=lived, controls=replace(case.controls, event_density=density))


@lru_cache(maxsize=8)
def count_most_told(knowledge: Knowledge) -> tuple[int, int]:
    """(complaints, facts about the past): the most that any presentation of any condition has a patient tell."""
    shapes = [each for row in knowledge.conditions.values() for each in row.presentations]
    courses = [[knowledge.symptoms[name].kind for name in each.course] for each in shapes]
    told = [(kinds.count("complaint"), len(kinds) - kinds.count("complaint")) for kinds in courses]
    return max(n for n, _ in told), max(n for _, n in told)


def _draw_presenting(premise: Premise, condition: str, telling: Telling | None, knowledge: Knowledge, rng: Rng) -> Presenting:
    """How the condition shows itself, drawn until the presentation tells as asked for, and again while the scale contradicts its opening.

    After a bounded number of those the last one stands, for the caller to refuse.
    """
    name, patient = premise.case_id, premise.patient
    fitting = list_tellings(condition, Person(patient.sex, patient.age_low, patient.age_high), knowledge)
    if telling and telling not in fitting.values():
        raise PremiseConflict(
            f"case {name}, presenting",
            f"{condition} at {patient.age_low}-{patient.age_high} years",
            f"presentations that tell {', '.join(map(_describe, fitting.values())) or 'nothing'}",
            do="Choose another telling.",
            kind="no_presentation",
        )
    again, left = 0, int(knowledge.parameter("plan_most_presentations"))
    while True:
        drawn = draw_presenting(f"{name}#{again}" if again else name, condition, patient, premise.index_day, knowledge, rng)
        again += 1
        if not telling or fitting[drawn.presentation] == telling:
            left -= 1
            if not left or not _check_opening(replace(premise, presenting=drawn), knowledge, rng):
                return drawn


@lru_cache(maxsize=256)
def list_peers(condition: str, knowledge: Knowledge) -> tuple[str, ...]:
    """The conditions that share a symptom with a condition."""
    rows = knowledge.conditions
    own = {each.symptom for each in rows[condition].symptoms}
    return tuple(name for name in rows if name != condition and own & {each.symptom for each in rows[name].symptoms})


def plan_pair(case_id: str, condition: str, job: Job, knowledge: Knowledge, rng: Rng) -> tuple[Premise, Premise] | None:
    """(a patient with a condition, one with another condition that shares a symptom with it): equal in what is clinical but not the
    condition, that is age band, sex, what is treated, how fast it comes on and what is told by kind. None where there is none."""
    one = plan_presenting(f"{case_id}.a", condition, job, knowledge, rng)
    assert one.presenting is not None, case_id
    person = Person(one.patient.sex, one.patient.age_low, one.patient.age_high)
    told = describe_told(one, knowledge, rng)
    telling = Telling(list_tellings(condition, person, knowledge)[one.presenting.presentation].tempo, told)
    peers = [
        name
        for name in list_peers(condition, knowledge)
        if telling in list_tellings(name, person, knowledge).values() and one.patient.disease in list_diseases(name, person, knowledge)
    ]
    if not peers:
        return None
    peer = rng.at(case_id, AREA, "peer").pick(peers)
    other = plan_presenting(f"{case_id}.b", peer, job, knowledge, rng, person=person, disease=one.patient.disease, telling=telling)
    return (one, other) if describe_told(other, knowledge, rng) == told else None


def describe_told(premise: Premise, knowledge: Knowledge, rng: Rng) -> Told:
    """What the patient tells of the presenting condition."""
    return _sum_up([knowledge.symptoms[each.symptom] for each in tell_presenting(premise, knowledge, rng)])


def _sum_up(symptoms: Sequence[Symptom]) -> Told:
    complaints = sum(each.kind == "complaint" for each in symptoms)
    claims = sorted(claim for each in symptoms if (claim := name_claim(each)))
    return Told(complaints, len(symptoms) - complaints, tuple(claims))


def _describe(telling: Telling) -> str:
    told = telling.told
    return f"{told.complaints} complaints and {told.facts} facts over {telling.tempo}" + "".join(f", {claim}" for claim in told.claims)


@lru_cache(maxsize=8192)
def list_tellings(condition: str, person: Person, knowledge: Knowledge) -> dict[str, Telling]:
    """How each presentation that fits a person is told, by its id; none where the condition does not occur."""
    row = knowledge.conditions[condition]
    if find_share(row, person) <= 0.0:
        return {}
    listed = {}
    for each in list_presentations(row, *person, knowledge):
        symptoms = [knowledge.symptoms[name] for name in each.course]
        listed[each.id] = Telling(each.tempo, _sum_up([told for told in symptoms if fits(told.sex, told.age_low, told.age_high, *person)]))
    return listed
