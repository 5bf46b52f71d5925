"""Contradictions between the drug, its doses, the condition, adherence and the response."""

from collections.abc import Iterator
from itertools import pairwise

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Drug
from clinworld.schema.premise import Conflict, Premise

_FALLING, _LOW_RESPONSE = "poor_medication_adherence", "biological_low_response"


def check_drug(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Indication, ladder, pace of titration, adherence and response."""
    yield from _check_adherence(premise)
    yield from _check_response(premise, knowledge)
    drug = knowledge.drugs.get(premise.drug)
    if drug is None:
        yield Conflict("drug_not_indicated", "raw.drug", repr(premise.drug), f"one of the {len(knowledge.drugs)} drugs", "Name a drug.")
        return
    yield from _check_indication(premise, drug)
    yield from _check_titration(premise, drug)


def _check_indication(premise: Premise, drug: Drug) -> Iterator[Conflict]:
    indications = dict(drug.indications)
    disease = premise.patient.disease
    if disease not in indications:
        limit = "indicated for: " + ", ".join(indications)
        yield Conflict("drug_not_indicated", "raw.drug", f"{drug.id} for {disease}", limit, "Choose another drug or disease.")
        return
    top = indications[disease]
    if max(premise.dose_steps) > top and max(premise.dose_steps) in drug.ladder:
        found = f"{max(premise.dose_steps):g} {drug.dose_unit} of {drug.id} for {disease}"
        yield Conflict("drug_dose_above_indication", "raw.dose_steps", found, f"at most {top:g} {drug.dose_unit}", "Lower the top dose.")


def _check_titration(premise: Premise, drug: Drug) -> Iterator[Conflict]:
    steps = premise.dose_steps
    off = [f"{dose:g}" for dose in steps if dose not in drug.ladder]
    ladder = ", ".join(f"{dose:g}" for dose in drug.ladder)
    if off:
        limit = f"the ladder of {drug.id} is {ladder} {drug.dose_unit}"
        yield Conflict("dose_off_ladder", "raw.dose_steps", ", ".join(off), limit, "Choose doses on the ladder.")
    for before, after in pairwise(steps):
        if after <= before:
            found = f"{after:g} after {before:g}"
            yield Conflict("titration_not_rising", "raw.dose_steps", found, "a titration rises", "Order the doses.")
    needed = (len(steps) - 1) * drug.min_titration_days
    if needed > premise.course_end_day:
        found = f"{len(steps) - 1} steps of {drug.id}, {drug.min_titration_days} days apart at least, {needed} days"
        limit = f"the course has {premise.course_end_day}"
        yield Conflict("titration_too_fast", "raw.dose_steps", found, limit, "Take fewer steps or lengthen the course.")


def _check_adherence(premise: Premise) -> Iterator[Conflict]:
    levels = [("latent.adherence_low", premise.adherence_low), *((f"adherence on day {day}", x) for day, x in premise.adherence_course)]
    for place, level in levels:
        if not 0 <= level <= 1:
            yield Conflict("adherence_out_of_range", place, f"{level:g}", "a share from 0 to 1", "Write a share.")
    before = dict(premise.adherence_course).get(premise.index_day, 1.0)
    if premise.outcome == "regain" and premise.driver == _FALLING and premise.adherence_low >= before:
        found = f"adherence_low {premise.adherence_low:g} with driver {_FALLING}"
        limit = f"it falls from {before:g} on the index day"
        yield Conflict("adherence_does_not_fall", "latent.adherence_low", found, limit, f"Write less than {before:g}.")


def _check_response(premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    number = knowledge.parameter
    low = (number("premise_low_response_low"), number("premise_low_response_high"))
    usual = (number("premise_usual_response_low"), number("premise_usual_response_high"))
    first, last = low if premise.driver == _LOW_RESPONSE else usual
    if not first <= premise.drug_response <= last:
        found = f"drug_response {premise.drug_response:g} with driver {premise.driver}"
        limit = f"{_LOW_RESPONSE} means {low[0]:g} to {low[1]:g}, any other driver {usual[0]:g} to {usual[1]:g}"
        yield Conflict("drug_response_out_of_band", "latent.drug_response", found, limit, "Change the response or the driver.")
