"""Patients in whom a condition shows itself, for tests: who they are follows the condition's own rows, all else is a usual case."""

from dataclasses import replace

from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.premise import Premise
from clinworld.world.condition_findings import Examined
from clinworld.world.course import build_course
from clinworld.world.draw_people import Limits, draw_background, draw_person
from clinworld.world.presenting import draw_presenting

KNOWLEDGE = load_knowledge()
RNG = Rng("7")
CONDITIONS = tuple(name for name in KNOWLEDGE.conditions if not KNOWLEDGE.conditions[name].is_name_only)
SAMPLE = (
    "adrenal_insufficiency",
    "cap",
    "cushing",
    "gout",
    "hypothyroidism",
    "iron_deficiency_anaemia",
    "pcos",
    "pe",
    "siadh",
    "type_2_diabetes",
)
BMI = 31.0


def present(condition: str, number: int = 0, *, has_background: bool = False) -> tuple[Premise, Premise]:
    """(the patient with the condition showing itself, the same patient without it); nothing else is known of either."""
    case = f"{condition}-{number}"
    person = draw_person(case, condition, KNOWLEDGE, RNG, presents=True)
    background = draw_background(case, person, Limits(answer=condition, bmi=BMI), KNOWLEDGE, RNG) if has_background else ()
    plain = make_premise(
        case_id=case,
        disease="",
        comorbidities=background,
        sex=person.sex,
        age_low=person.age_low,
        age_high=person.age_high,
        bmi=BMI,
        devices=("smart_scale", "wearable", "lab_panel", "bp_cuff"),
    )
    return replace(plain, presenting=draw_presenting(case, condition, plain.patient, plain.index_day, KNOWLEDGE, RNG)), plain


def examine(premise: Premise) -> Examined:
    """The patient with their course, to be tested."""
    return Examined(premise, build_course(premise, KNOWLEDGE, RNG), KNOWLEDGE, RNG)
