"""Drawn cases: exact shares, opaque ids, each value at its own address, no contradiction by construction."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_texts import KNOWLEDGE, read_text

from clinworld.core.errors import JobError
from clinworld.core.rng import Rng
from clinworld.schema.job import Case, Job
from clinworld.world.common_causes import load_weights
from clinworld.world.draw import derive_weight_loss, draw_cases
from clinworld.world.draw_mix import count_by_share
from clinworld.world.premise import check_premise, derive_premise

JOB = Job("j", "early_warning", "en", "7", (), None, 28, False, True, 300, (("outcome", "balanced"),), (), "", "job.yaml")


def drawn(job: Job) -> tuple[Case, ...]:
    return draw_cases(job, KNOWLEDGE, Rng(job.seed))


def conflicts(case: Case, job: Job) -> list[str]:
    return [str(found) for found in check_premise(derive_premise(case, job, KNOWLEDGE, Rng(job.seed)), case, KNOWLEDGE)]


def test_nearly_every_drawn_case_can_be_true() -> None:
    refused = []
    for case in drawn(JOB):
        refused += check_premise(derive_premise(case, JOB, KNOWLEDGE, Rng(JOB.seed)), case, KNOWLEDGE)
    assert [str(conflict) for conflict in refused] == []


def test_outcomes_are_balanced_exactly_and_in_no_order() -> None:
    outcomes = [case.controls.outcome for case in drawn(replace(JOB, items=101))]
    assert Counter(outcomes) == {"regain": 51, "maintain": 50}
    changes = sum(a != b for a, b in pairwise(outcomes))
    assert 30 < changes < 70


def test_cases_vary_in_what_a_reader_sees() -> None:
    cases = drawn(JOB)
    assert len({case.facts.disease for case in cases}) == 5
    assert len({case.facts.drug for case in cases}) > 10
    assert len({case.controls.driver for case in cases}) == 7
    assert len({(case.controls.index_time_T, case.controls.course_end_day) for case in cases}) > 20
    assert len({case.facts.start_weight for case in cases}) > 150
    assert {case.controls.distractor_level for case in cases} == {"none", "low", "high"}
    assert {fault.kind for case in cases for fault in case.controls.noise} == set(KNOWLEDGE.artifacts)


@pytest.mark.slow
def test_little_weight_lost_tells_neither_the_outcome_nor_a_low_responder() -> None:
    lost: dict[tuple[str, bool], list[float]] = {}
    for case in drawn(replace(JOB, items=800)):
        facts, controls = case.facts, case.controls
        if derive_weight_loss(KNOWLEDGE.drugs[facts.drug], facts.dose_steps, facts.disease, facts.start_weight, KNOWLEDGE) > 0.05:
            kind = (str(controls.outcome), controls.driver == "biological_low_response")
            lost.setdefault(kind, []).append(1 - facts.nadir_weight / facts.start_weight)
    kept, low = lost["maintain", False], lost["regain", True]
    assert min(kept) < 0.03 and max(kept) > 0.12 and min(low) < 0.02 and max(low) > 0.05
    little = {kind: sum(share < 0.04 for share in shares) for kind, shares in lost.items()}
    assert 0.2 < little["maintain", False] / sum(little.values()) < 0.8


def test_a_drug_that_hardly_moves_weight_is_drawn_with_a_small_loss() -> None:
    for case in drawn(JOB):
        of_drug = derive_weight_loss(
            KNOWLEDGE.drugs[case.facts.drug], case.facts.dose_steps, case.facts.disease, case.facts.start_weight, KNOWLEDGE
        )
        share = 1 - case.facts.nadir_weight / case.facts.start_weight
        assert 0.008 < share < 0.032 + 0.9 * of_drug


def test_some_reversals_come_before_the_index_day_and_the_descent_ends_there() -> None:
    early = 0
    for case in drawn(JOB):
        premise = derive_premise(case, JOB, KNOWLEDGE, Rng(JOB.seed))
        if premise.reversal_day is not None and premise.reversal_day < premise.index_day:
            early += 1
            assert premise.index_day - 28 <= premise.reversal_day == premise.nadir_day
    assert 15 < early < 75


def test_followed_patients_turn_after_the_index_day_and_often_for_a_cause_only_weight_shows() -> None:
    cases = [case for case in draw_cases(JOB, KNOWLEDGE, Rng(JOB.seed), is_followed=True) if case.controls.outcome == "regain"]
    assert all(7 * (case.controls.reversal_week or 0) >= case.controls.index_time_T + 28 for case in cases)
    assert 0.3 < sum(case.controls.driver == "unknown_or_multifactorial" for case in cases) / len(cases) < 0.5
    for case in cases:
        assert check_premise(derive_premise(case, JOB, KNOWLEDGE, Rng(JOB.seed)), case, KNOWLEDGE) == ()


def test_an_adherence_gap_comes_with_adherence_that_allows_it() -> None:
    gaps = [case.controls for case in drawn(JOB) if any(fault.kind == "adherence_gap" for fault in case.controls.noise)]
    assert gaps and all(controls.adherence_low < KNOWLEDGE.parameter("premise_gap_adherence_below") for controls in gaps)


def test_nothing_but_the_clinical_differs_between_outcomes() -> None:
    base, swapped = drawn(JOB), drawn(replace(JOB, mix=(("outcome.maintain", "1.0"),)))
    for before, after in zip(base, swapped, strict=True):
        assert (before.case_id, before.facts.devices, before.facts.drug) == (after.case_id, after.facts.devices, after.facts.drug)
        assert (before.controls.index_time_T, before.controls.course_end_day) == (
            after.controls.index_time_T,
            after.controls.course_end_day,
        )
        assert (before.controls.noise, before.controls.event_density) == (after.controls.noise, after.controls.event_density)


def test_ids_are_opaque_unique_and_keep_clear_of_written_ones() -> None:
    ids = [case.case_id for case in drawn(JOB)]
    assert len(set(ids)) == 300 and all(len(i) == 9 and i[0] == "D" for i in ids)
    written = replace(drawn(JOB)[0], case_id=ids[0])
    assert ids[0] not in [case.case_id for case in drawn(replace(JOB, cases=(written,)))]


def test_more_items_leave_the_first_ones_as_they_were() -> None:
    plain = replace(JOB, mix=())
    assert drawn(replace(plain, items=20)) == drawn(replace(plain, items=50))[:20]


def test_written_and_drawn_cases_stand_in_one_job(tmp_path: Path) -> None:
    job = read_text(tmp_path, "job_id: j\nitems: 3\nseed: 4\ncases:\n  - case_id: W\n    raw: {start_weight: 111.5}\n")
    assert [case.facts.start_weight for case in job.cases] == [111.5]
    assert len(drawn(job)) == 3
    assert drawn(replace(job, items=None)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "table"), [("disease", KNOWLEDGE.conditions), ("driver", KNOWLEDGE.drivers)])
def test_any_label_of_a_mix_is_drawn_without_conflict_or_refused_with_its_line(axis: str, table: dict[str, object], tmp_path: Path) -> None:
    refused = []
    for label in table:
        text = f"job_id: j\nitems: 2\nmix: {{{axis}: {{{label}: 1}}}}\n"
        try:
            job = read_text(tmp_path, text)
        except JobError as error:
            assert f"line 3, mix.{axis}: {axis} {label}" in str(error)
            refused.append(label)
        else:
            assert [found for case in drawn(job) for found in conflicts(case, job)] == []
    assert ("acute_illness" if axis == "driver" else "cushing") in refused
    assert len(refused) < len(table)


def test_shares_of_drivers_are_those_of_the_cases_that_regain() -> None:
    mix = (("driver.calorie_intake_change", "3.0"), ("driver.sleep_decline", "1.0"), ("outcome", "balanced"))
    cases = drawn(replace(JOB, items=80, mix=mix))
    found = Counter(case.controls.driver for case in cases if case.controls.outcome == "regain")
    assert found == {"calorie_intake_change": 30, "sleep_decline": 10}


def test_shares_of_drivers_and_diseases_are_kept() -> None:
    mix = (("disease.masld", "1.0"), ("driver.calorie_intake_change", "3.0"), ("driver.sleep_decline", "1.0"), ("outcome.regain", "1.0"))
    cases = drawn(replace(JOB, items=40, mix=mix))
    assert Counter(case.controls.driver for case in cases) == {"calorie_intake_change": 30, "sleep_decline": 10}
    assert {case.facts.disease for case in cases} == {"masld"}


@settings(max_examples=80, deadline=None)
@given(shares=st.lists(st.floats(0.01, 10), min_size=1, max_size=6), n=st.integers(0, 500))
def test_counts_sum_and_differ_from_the_share_by_less_than_one(shares: list[float], n: int) -> None:
    named = {str(i): share for i, share in enumerate(shares)}
    counts = count_by_share(named, n)
    assert sum(counts.values()) == n
    for label, share in named.items():
        assert abs(counts[label] - n * share / sum(shares)) < 1 + 1e-6


LOWERS_LITTLE = 0.02


@pytest.mark.slow
def test_a_cause_that_acts_through_the_drug_comes_with_a_drug_that_lowers_weight() -> None:
    causes = [case for case in drawn(replace(JOB, items=600)) if KNOWLEDGE.drivers[str(case.controls.driver)].through_drug]
    assert len(causes) > 80
    for case in causes:
        row = KNOWLEDGE.drugs[case.facts.drug]
        assert derive_weight_loss(row, row.ladder, case.facts.disease, 90.0, KNOWLEDGE) > LOWERS_LITTLE


def test_a_driver_of_the_mix_that_acts_through_the_drug_is_drawn_in_diseases_that_have_one() -> None:
    job = replace(JOB, items=60, mix=(("outcome.regain", 1.0), ("driver.medication_intolerance", 1.0)))
    assert {case.facts.disease for case in drawn(job)} == {"obesity", "type_2_diabetes", "masld"}


@pytest.mark.slow
def test_the_drug_does_not_tell_whether_weight_comes_back() -> None:
    drugs: dict[str | None, Counter[bool]] = {"regain": Counter(), "maintain": Counter()}
    for case in drawn(replace(JOB, items=3000)):
        row = KNOWLEDGE.drugs[case.facts.drug]
        drugs[case.controls.outcome][derive_weight_loss(row, row.ladder, case.facts.disease, 90.0, KNOWLEDGE) > LOWERS_LITTLE] += 1
    shares = [count[True] / count.total() for count in drugs.values()]
    assert abs(shares[0] - shares[1]) < 4 * (0.25 / 1500 * 2) ** 0.5


@pytest.mark.slow
def test_what_comes_back_ends_near_the_weight_it_began_with() -> None:
    above = []
    for case in drawn(replace(JOB, items=600)):
        facts, controls = case.facts, case.controls
        if controls.reversal_week is not None:
            back = controls.regain_slope * (controls.course_end_day / 7 - controls.reversal_week)
            above.append((facts.nadir_weight + back) / facts.start_weight - 1)
    assert len(above) > 250
    assert max(above) < 0.1 and sum(each > 0.05 for each in above) < 0.5 * len(above)


@pytest.mark.slow
def test_no_body_mass_index_and_no_height_piles_up_at_a_limit() -> None:
    facts = [case.facts for case in drawn(replace(JOB, items=800))]
    for obese in (True, False):
        indexes = sorted(fact.bmi for fact in facts if (fact.disease == "obesity") is obese and fact.bmi is not None)
        assert len(indexes) > 150 and indexes[-1] - indexes[0] > 14
        assert indexes.count(indexes[0]) < 0.03 * len(indexes) > indexes.count(indexes[-1])
        middle, mean = indexes[len(indexes) // 2], sum(indexes) / len(indexes)
        assert mean > middle  # skewed to the right, as in people


def test_body_mass_index_goes_with_the_levels_it_goes_with_in_people() -> None:
    weights = load_weights(KNOWLEDGE, "between", "F")
    together = {item: weights[item]["bmi"] for item in ("hdl_c", "triglycerides", "alt", "hba1c", "fasting_glucose")}
    assert together["hdl_c"] < -0.15 and all(weight > 0.1 for item, weight in together.items() if item != "hdl_c")
