"""No drawn patient gets a drug that what is known of the patient forbids."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from observe_case import KNOWLEDGE, with_rows

from clinworld.core.rng import Rng
from clinworld.knowledge.rows import Contraindication
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world import draw
from clinworld.world.contraindications import Known, is_forbidden, passes
from clinworld.world.course import build_course
from clinworld.world.draw import draw_cases
from clinworld.world.formulas import FORMULAS
from clinworld.world.job_file import read_job
from clinworld.world.premise import derive_premise

RNG = Rng("forbidden")
WOMAN = Known("woman", ("hypertension",), "F", 40.0, 31.0)
NOTHING = Contraindication("", "", "", None, None, None, None, "absolute", "authored", "authored")


def forbids(known: Known = WOMAN, **limit: object) -> bool:
    drug = replace(KNOWLEDGE.drugs["losartan"], contraindications=(replace(NOTHING, **limit),))  # type: ignore[arg-type]
    return is_forbidden("losartan", known, with_rows("drugs", drug), RNG)


@pytest.mark.parametrize(
    ("limit", "is_so"),
    [
        ({"condition": "hypertension"}, True),
        ({"condition": "hypertension", "kind": "caution"}, False),
        ({"condition": "gout"}, False),
        ({"item": "bmi", "above": 30.0}, True),
        ({"item": "bmi", "above": 31.0}, False),
        ({"item": "age_years", "below": 41.0}, True),
        ({"item": "potassium", "at_least": 3.6}, True),
        ({"item": "potassium", "at_least": 6.0}, False),
        ({"item": "egfr", "below": 200.0}, True),
        ({"item": "egfr", "below": 30.0}, False),
        ({"item": "days_to_surgery", "at_most": 4.0}, False),
        ({"state": "has_aki"}, False),
    ],
)
def test_an_absolute_contraindication_that_holds_forbids_a_drug(limit: dict[str, object], is_so: bool) -> None:
    assert forbids(**limit) is is_so


def test_pregnancy_forbids_what_is_not_given_in_it() -> None:
    assert forbids(WOMAN._replace(conditions=("hypertension", "pregnancy")), state="is_pregnant")
    assert not forbids(state="is_pregnant")


@pytest.mark.parametrize(
    ("limit", "low", "at", "high"), [("at_least", 0, 1, 1), ("above", 0, 0, 1), ("at_most", 1, 1, 0), ("below", 1, 0, 0)]
)
def test_each_limit_holds_on_its_side(limit: str, low: bool, at: bool, high: bool) -> None:
    row = replace(NOTHING, item="potassium", **{limit: 5.0})  # type: ignore[arg-type]
    assert [passes(row, value) for value in (4.9, 5.0, 5.1)] == [bool(low), bool(at), bool(high)]


def drawn(tmp_path: Path, items: int):  # type: ignore[no-untyped-def]
    path = tmp_path / "drawn.job.yaml"
    path.write_text(f"job_id: drawn\ntask: early_warning\nseed: 11\nitems: {items}\n")
    job = read_job(path, KNOWLEDGE)
    return job, draw_cases(job, KNOWLEDGE, Rng(job.seed))


def first_level(item: str, levels: Mapping[str, Reals], premise: Premise) -> float | None:
    analyte = KNOWLEDGE.analytes.get(item)
    if analyte is None or not analyte.derived_by:
        return float(levels[item][0]) if item in levels else None
    formula, patient = FORMULAS[analyte.derived_by], premise.patient
    if any(name not in levels for name in formula.inputs):
        return None
    first = {name: levels[name][:1] for name in formula.inputs}
    return float(np.ravel(formula.calculate(first, (patient.age_low + patient.age_high) / 2, patient.sex, KNOWLEDGE))[0])


@pytest.mark.slow
def test_no_drawn_patient_starts_where_the_drug_is_forbidden(tmp_path: Path) -> None:
    job, cases = drawn(tmp_path, 300)
    checked = 0
    for case in cases:
        premise = derive_premise(case, job, KNOWLEDGE, Rng(job.seed))
        course = build_course(premise, KNOWLEDGE, Rng(job.seed))
        known = (premise.patient.disease, *premise.patient.comorbidities)
        for row in KNOWLEDGE.drugs[premise.drug].contraindications:
            if row.kind == "absolute":
                assert row.condition not in known
                level = first_level(row.item, course.levels, premise)
                if level is not None:
                    checked += 1
                    assert not passes(row, level), (case.case_id, row)
    assert checked


def test_a_forbidden_drug_is_drawn_again_and_nobody_else_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, before = drawn(tmp_path, 60)
    real = draw.is_forbidden
    monkeypatch.setattr(draw, "is_forbidden", lambda drug, *rest: drug == "losartan" or real(drug, *rest))
    _, after = drawn(tmp_path, 60)
    had = [case.facts.drug == "losartan" for case in before]
    assert any(had) and not any(case.facts.drug == "losartan" for case in after)
    for one, other, is_changed in zip(before, after, had, strict=True):
        assert (one == other) is not is_changed
        assert (one.facts.sex, one.facts.age_range, one.facts.bmi) == (other.facts.sex, other.facts.age_range, other.facts.bmi)


def test_when_every_drug_is_forbidden_the_last_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "is_forbidden", lambda *_: True)
    _, cases = drawn(tmp_path, 10)
    assert all(case.facts.drug in KNOWLEDGE.drugs for case in cases)
