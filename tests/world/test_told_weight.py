"""What patients say of their weight agrees with their scale, and nobody wastes away in a course that puts weight on."""

import numpy as np
import pytest

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.world.build import build_world
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.presenting import find_contradicted, tell_presenting
from clinworld.world.told_weight import agrees_with_scale, is_wasting, name_claim

KNOWLEDGE, RNG, JOB = load_knowledge(), Rng("told weight"), drawn_job("told weight")
SPEAKING = tuple(
    name
    for name, row in KNOWLEDGE.conditions.items()
    if any(name_claim(KNOWLEDGE.symptoms[told]) for shape in row.presentations for told in shape.course)
)
EACH = 4


def planned(condition, n=EACH):
    found = []
    for number in range(3 * n):
        try:
            found.append(plan_presenting(f"{condition}.{number}", condition, JOB, KNOWLEDGE, RNG))
        except PremiseConflict:
            continue
        if len(found) == n:
            break
    return found


@pytest.mark.slow
def test_nobody_tells_of_weight_what_the_scale_contradicts():
    told = []
    for condition in SPEAKING:
        for premise in planned(condition):
            course, _ = build_world(premise, KNOWLEDGE, RNG, has_daily=False)
            for each in tell_presenting(premise, KNOWLEDGE, RNG):
                row = KNOWLEDGE.symptoms[each.symptom]
                if name_claim(row):
                    told.append(each.symptom)
                    assert agrees_with_scale(row, each.day, course.weight_kg, premise.patient.bmi, KNOWLEDGE), (condition, each)
    assert len(told) > 30 and len(set(told)) > 6


def test_a_claim_is_denied_by_weight_that_goes_the_other_way_and_by_the_build():
    """The control: the same words beside a course that rises, falls, or is another build."""
    rising, falling = np.linspace(80.0, 90.0, 101), np.linspace(90.0, 80.0, 101)
    gain, loss, slim = (KNOWLEDGE.symptoms[name] for name in ("weight_gain", "weight_loss_unintended", "always_been_slim"))
    assert agrees_with_scale(gain, 60, rising, 30.0, KNOWLEDGE) and not agrees_with_scale(gain, 60, falling, 30.0, KNOWLEDGE)
    assert agrees_with_scale(loss, 60, falling, 30.0, KNOWLEDGE) and not agrees_with_scale(loss, 60, rising, 30.0, KNOWLEDGE)
    assert agrees_with_scale(slim, 60, falling, 21.0, KNOWLEDGE) and not agrees_with_scale(slim, 60, falling, 29.0, KNOWLEDGE)


def test_what_the_plan_leaves_alone_would_contradict_the_scale():
    """The control of the plan: with the complaints of others in a presentation, some are contradicted."""
    found = 0
    for premise in planned("hypothyroidism", 12):
        told = tell_presenting(premise, KNOWLEDGE, RNG)
        found += bool(find_contradicted([replace_symptom(each, "weight_gain") for each in told], premise, KNOWLEDGE, RNG))
    assert found


def replace_symptom(complaint, name):
    return complaint._replace(symptom=name)


@pytest.mark.parametrize("condition", [name for name in SPEAKING if is_wasting(KNOWLEDGE, name)])
def test_nobody_with_a_wasting_disease_regains_what_was_lost(condition):
    for premise in planned(condition, 2):
        assert premise.outcome == "maintain"


def test_a_disease_that_does_not_waste_may_be_hidden_in_a_regain():
    assert {premise.outcome for premise in planned("hypothyroidism", 12)} == {"maintain", "regain"}
    assert not is_wasting(KNOWLEDGE, "hypothyroidism")


def test_an_opening_that_the_scale_contradicts_is_not_planned():
    for premise in planned("gerd", 12):
        assert not find_contradicted(tell_presenting(premise, KNOWLEDGE, RNG)[:1], premise, KNOWLEDGE, RNG)
