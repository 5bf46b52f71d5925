"""Harms of drugs: how many patients have them and when, what is told of them, what they move, and which never occur here."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from make_premise import make_premise
from observe_case import KNOWLEDGE, with_rows

from clinworld.core.rng import Rng
from clinworld.knowledge.rows import AdverseEffect
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import Premise, Presenting
from clinworld.world.adverse_effects import (
    INTOLERANCE,
    choose_told_bouts,
    choose_told_harms,
    derive_share,
    draw_harms,
    list_harms,
    push_harms,
)
from clinworld.world.condition_sizes import load_scale
from clinworld.world.course import build_course
from clinworld.world.event_pool import answer_words, find_answer_word
from clinworld.world.medication import derive_doses, draw_dose_changes
from clinworld.world.notes import observe_notes

pytestmark = pytest.mark.rows

RNG = Rng("harms")
DRUGS = tuple(KNOWLEDGE.drugs)
HARM = AdverseEffect("", "potassium", "up", 0.3, 0.5, 10, 40, "authored", "authored")


def on_losartan(number: int = 0, **changes: object):  # type: ignore[no-untyped-def]
    facts = {"disease": "hypertension", "drug": "losartan", "dose_steps": (50.0, 100.0), "devices": ("smart_scale", "lab_panel")}
    return make_premise(case_id=f"harm-{number}", **{**facts, **changes})


def with_harm(**changes: object):  # type: ignore[no-untyped-def]
    harm = replace(HARM, **changes)  # type: ignore[arg-type]
    drug = replace(KNOWLEDGE.drugs["losartan"], adverse_effects=(harm,), contraindications=())
    return with_rows("drugs", drug)


def dose_of(premise) -> np.ndarray:  # type: ignore[no-untyped-def]
    return derive_doses(draw_dose_changes(premise, KNOWLEDGE, RNG), premise.course_end_day)


def test_a_harm_occurs_in_the_middle_of_its_share_and_within_its_days_after_the_start_or_a_step() -> None:
    knowledge, found, after = with_harm(), 0, Counter()
    for number in range(600):
        premise = on_losartan(number)
        dose = dose_of(premise)
        steps = [0, *(np.flatnonzero(np.diff(dose) > 0) + 1).tolist()]
        for _, day in draw_harms(premise, dose, knowledge, RNG):
            found += 1
            near = [step for step in steps if 10 <= day - step <= 40]
            assert near, (day, steps)
            after[near[-1] > 0] += 1
    assert abs(found / 600 - 0.4) < 3 * np.sqrt(0.4 * 0.6 / 600)
    assert min(after[True], after[False]) > 60, "both the start and the step bring it"


@pytest.mark.slow
def test_no_harm_comes_before_the_drug_or_after_the_course() -> None:
    late, dose = with_harm(onset_low_days=400, onset_high_days=500), dose_of(on_losartan())
    assert all(not draw_harms(on_losartan(n), dose, late, RNG) for n in range(60))
    assert all(not draw_harms(on_losartan(n), dose * 0.0, with_harm(), RNG) for n in range(60))


@pytest.mark.parametrize(
    "changes",
    [
        {"share_low": None, "share_high": None},
        {"onset_low_days": None, "onset_high_days": None},
        {"moves": "either"},
        {"item": "alt"},  # weight moves it
        {"item": "egfr"},  # it is calculated
        {"item": "gi_symptom_score"},
        {"item": "steps"},
        {"item": "weight"},
        {"item": "", "moves": "", "symptom": "nausea"},  # it shadows a cause of regain
    ],
)
def test_what_is_not_known_or_is_the_evidence_of_something_else_never_occurs(changes: dict[str, object]) -> None:
    assert len(list_harms(with_harm(), "losartan")) == 1
    assert list_harms(with_harm(**changes), "losartan") == ()


@pytest.mark.parametrize("drug", DRUGS)
def test_no_harm_that_occurs_could_be_mistaken_for_an_answer(drug: str) -> None:
    evidence = {driver.evidence for driver in KNOWLEDGE.drivers.values() if driver.evidence}
    for harm in list_harms(KNOWLEDGE, drug):
        assert harm.symptom not in KNOWLEDGE.symptom_shadows and harm.item not in evidence
        assert 0 < harm.share < 1 and harm.onset_low <= harm.onset_high


def test_a_harm_moves_a_level_to_mildly_beyond_its_limit_from_its_onset_on() -> None:
    knowledge, premise = with_harm(share_low=1.0, share_high=1.0), on_losartan()
    dose = dose_of(premise)
    ((_, onset),) = draw_harms(premise, dose, knowledge, RNG)
    level = np.full(len(dose), 4.2)
    moved = push_harms({"potassium": (level, False)}, premise, dose, knowledge, RNG)["potassium"]
    scale = load_scale(knowledge, "potassium", "F")
    assert scale is not None and scale.high is not None
    assert (moved[:onset] == 4.2).all() and (np.diff(moved) >= 0).all()
    assert scale.read(moved[-1]) == pytest.approx(scale.high + scale.beyond(1, "mild"))
    assert moved.max() < KNOWLEDGE.analytes["potassium"].hard_high
    assert push_harms({"sodium": (level, False)}, premise, dose, knowledge, RNG) == {}
    assert push_harms({"potassium": (level, False)}, replace(premise, has_physiology=False), dose, knowledge, RNG) == {}


def test_a_harm_fades_when_the_drug_is_stopped() -> None:
    dose = np.where(np.arange(200) < 120, 50.0, 0.0)
    share = derive_share(30, dose, 14.0)
    assert share[29] == 0.0 and share[50] == 1.0 and share[119] == 1.0 and 0.0 < share[125] < 1.0 and share[140] == 0.0
    assert np.abs(np.diff(share)).max() < 0.12
    assert derive_share(30, np.full(200, 50.0), 14.0)[-1] == 1.0


def test_the_course_holds_the_harm_and_nothing_else_moves() -> None:
    harmed, plain = with_harm(item="creatinine", share_low=1.0, share_high=1.0), with_harm(share_low=0.0, share_high=0.0)
    one, other = (build_course(on_losartan(), knowledge, RNG) for knowledge in (harmed, plain))
    assert one.levels.keys() == other.levels.keys()
    assert {name for name in one.levels if not np.array_equal(one.levels[name], other.levels[name])} == {"creatinine"}


BUSY = EventDensity(7.0, 1.0, 0.9, 0.1)
ITCH = {"symptom": "vaginal_itch_white_discharge", "item": "", "moves": "", "share_low": 1.0, "share_high": 1.0}


def test_a_harm_is_told_as_an_everyday_complaint_in_place_of_one_within_its_days() -> None:
    harmed, plain, told = with_harm(**ITCH), with_harm(share_low=0.0, share_high=0.0), 0
    for number in range(20):
        premise = on_losartan(number, density=BUSY, sex="F")
        one, other = observe_notes(premise, harmed, RNG), observe_notes(premise, plain, RNG)
        days = [[(note.day, origin.kind) for note, origin in zip(each.notes, each.origins, strict=True)] for each in (one, other)]
        assert sorted(days[0]) == sorted(days[1]), "neither a day nor a kind moves"
        fresh = [(n, o) for n, o in zip(one.notes, one.origins, strict=True) if o.row == "losartan:vaginal_itch_white_discharge"]
        assert len(set(one.notes) - set(other.notes)) == len(fresh) <= 1
        for note, origin in fresh:
            ((harm, onset),) = draw_harms(premise, dose_of(premise), harmed, RNG)
            within = int(harmed.parameter("adverse.told_within_days"))
            assert origin.kind == "benign" and onset <= note.day <= onset + within
            assert (note.text.en, note.text.zh) in zip(*vars_of(harm.symptom), strict=False)
            assert {"drugs:losartan", f"symptoms:{harm.symptom}"} <= set(one.rows_used)
            told += 1
    assert told > 10


def vars_of(symptom: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    row = KNOWLEDGE.symptoms[symptom]
    return row.wordings.en, row.wordings.zh


def test_a_harm_of_the_other_sex_is_not_told() -> None:
    knowledge = with_harm(**ITCH)
    assert choose_told_harms(on_losartan(sex="F"), knowledge, RNG, ())
    assert not choose_told_harms(on_losartan(sex="M"), knowledge, RNG, ())


def test_what_is_told_never_names_the_drug_nor_an_answer() -> None:
    words = answer_words(KNOWLEDGE)
    for drug in DRUGS:
        names = [name.casefold() for name in (drug, KNOWLEDGE.drugs[drug].names.en, KNOWLEDGE.drugs[drug].names.zh)]
        symptoms = [harm.symptom for harm in list_harms(KNOWLEDGE, drug) if harm.symptom]
        for text in (text for symptom in symptoms for side in vars_of(symptom) for text in side):
            assert not any(name in text.casefold() for name in names), (drug, text)
        premise = make_premise(drug=drug, case_id=f"told-{drug}", dose_steps=KNOWLEDGE.drugs[drug].ladder[:1])
        for harm in choose_told_harms(premise, KNOWLEDGE, RNG, ()):
            assert not find_answer_word((harm.text.en, harm.text.zh), words)


def borne_badly(number: int, **changes: Any) -> Premise:
    return make_premise(case_id=f"bout-{number}", density=EventDensity(7.0, 1.0, 0.8, 0.1), **changes)


def gut_notes(driver: str, *, after: bool) -> np.ndarray:
    """By patient: complaints of the drug and everyday ones that could be taken for them, told after T or by T."""
    counts = []
    for number in range(60):
        premise = borne_badly(number, outcome="regain", driver=driver)
        observed = observe_notes(premise, KNOWLEDGE, RNG)
        rows = {origin.note_id: origin.row for origin in observed.origins}
        told = [rows[note.note_id] for note in observed.notes if (note.day > premise.index_day) is after]
        alike = [row for row in told if row in KNOWLEDGE.events and INTOLERANCE in KNOWLEDGE.events[row].shadows]
        counts.append(len(alike) + sum(row.startswith(f"{premise.drug}:") for row in told))
    return np.array(counts)


def auc(one: np.ndarray, other: np.ndarray) -> float:
    return float(((one[:, None] > other) + 0.5 * (one[:, None] == other)).mean())


def test_where_a_drug_is_borne_badly_that_is_told_now_and_then() -> None:
    assert gut_notes(INTOLERANCE, after=True).mean() >= 2.0


@pytest.mark.slow
def test_counting_what_is_told_of_the_gut_by_the_index_day_does_not_name_the_driver() -> None:
    """Others tell of the drug too, after a dose step, and of everyday upsets: a count leaves it open."""
    own = gut_notes(INTOLERANCE, after=False)
    for driver in ("calorie_intake_change", "activity_decline", "poor_medication_adherence"):
        assert 0.35 < auc(own, gut_notes(driver, after=False)) < 0.65, driver
    assert auc(own + 2, own) > 0.8, "the control: two complaints more would name it"


def test_bouts_move_neither_a_day_nor_the_number_of_notes() -> None:
    quiet = {**KNOWLEDGE.parameters}
    for name in ("adverse.after_step_p", "adverse.poorly_borne_p"):
        quiet[name] = replace(quiet[name], value=0.0)
    silent = Silent(quiet)
    for number in range(10):
        premise = borne_badly(number, outcome="regain", driver=INTOLERANCE)
        days = [[note.day for note in observe_notes(premise, knowledge, RNG).notes] for knowledge in (KNOWLEDGE, silent)]
        assert days[0] == days[1]
        assert not choose_told_bouts(premise, silent, RNG, ())


class Silent:
    """The knowledge with other parameters."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = parameters

    def parameter(self, name: str) -> float:
        return float(self.parameters[name].value)

    def __getattr__(self, name: str) -> Any:
        return getattr(KNOWLEDGE, name)


def test_nobody_with_a_hidden_condition_tells_of_a_drug_borne_badly() -> None:
    shown = Presenting("gout", KNOWLEDGE.conditions["gout"].presentations[0].id, 40, 0.5)
    premises = [borne_badly(number, outcome="regain", driver=INTOLERANCE) for number in range(5)]
    assert all(choose_told_bouts(premise, KNOWLEDGE, RNG, ()) for premise in premises)
    assert not any(choose_told_bouts(replace(premise, presenting=shown), KNOWLEDGE, RNG, ()) for premise in premises)


def test_no_harm_is_one_that_would_have_the_drug_stopped():
    for drug, item, sign in (("losartan", "potassium", 1), ("telmisartan", "potassium", 1)):
        assert any(row.item == item for row in KNOWLEDGE.drugs[drug].adverse_effects)
        assert (item, sign) not in {(harm.item, harm.sign) for harm in list_harms(KNOWLEDGE, drug)}
    free = replace(KNOWLEDGE.drugs["losartan"], contraindications=())
    assert "potassium" in {harm.item for harm in list_harms(with_rows("drugs", free), "losartan")}
