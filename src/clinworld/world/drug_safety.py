"""Whether the drug of a course may be given to the end: what is documented allows it, and no result on the way forbids it.

An order in force when a result first forbids it is stopped at the next visit. A course has one drug and keeps it, so a patient in whom
one would have to be stopped is given another. Asked of drawn patients only; what an author wrote is flagged elsewhere.
"""

from functools import lru_cache

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import Conflict, Premise
from clinworld.world.condition_pushes import find_pushes
from clinworld.world.contraindications import Known, is_forbidden, list_inputs
from clinworld.world.couplings import load_couplings
from clinworld.world.course import build_course
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.observe_labs import observe_laboratory
from clinworld.world.seen_results import Against, find_against, list_measured_rules, read_against
from clinworld.world.visits import draw_visits


def check_drug_safety(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[Conflict, ...]:
    """The conflict of a drug that is forbidden from the start, or by a result before the last visit; () for none."""
    patient = premise.patient
    age_years = (patient.age_low + patient.age_high) / 2
    bmi = find_body_mass_index(patient, premise.start_weight_kg, knowledge)
    known = Known(premise.case_id, (patient.disease, *patient.comorbidities), patient.sex, age_years, bmi)
    found = "what is documented forbids" if is_forbidden(premise.drug, known, knowledge, rng) else ""
    shown = premise.presenting.condition if premise.presenting else ""
    if not found and shown and _reaches_a_rule(knowledge, premise.drug, shown, patient.sex, age_years):
        against = find_result_against(premise, knowledge, rng)
        found = f"{against.item} {against.value:g} on day {against.day} forbids" if against else ""
    if not found:
        return ()
    return (Conflict("drug_forbidden", "raw.drug", f"{premise.drug}, which {found}", "a drug that may be given", "Choose another drug."),)


@lru_cache(maxsize=8192)
def _reaches_a_rule(knowledge: Knowledge, drug: str, condition: str, sex: str, age_years: float) -> bool:
    """Whether a condition moves, itself or through couplings, anything a contraindication of a drug is read from."""
    read = {name for item, _ in list_measured_rules(knowledge, drug) for name in (item, *list_inputs(item, knowledge))}
    moved = {condition, *(push.item for push in find_pushes(knowledge, condition, sex, age_years))}
    for row in load_couplings(knowledge):
        if row.cause in moved:
            moved.add(row.effect)
    return bool(read & moved)


def find_result_against(premise: Premise, knowledge: Knowledge, rng: Rng) -> Against | None:
    """The first result before the last visit that forbids the drug, whether specimens are charted or not; None where there is none."""
    course = build_course(premise, knowledge, rng)
    visits = draw_visits(premise, course, knowledge, rng)
    for has_specimens in (False, True):
        charted = observe_laboratory(premise, course, visits, knowledge, rng, has_specimens=has_specimens).series
        against = find_against(read_against(premise.drug, charted, premise.patient.sex, knowledge), 0, int(visits[-1]) - 1)
        if against:
            return against
    return None
