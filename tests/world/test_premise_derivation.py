"""How a premise follows from a case: defaults, derivations, draws by the case's own id, contexts beside symptoms."""

from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_texts import KNOWLEDGE, premise_of, read_case, read_text

from clinworld.core.rng import Rng
from clinworld.schema.job import DeclaredSymptom, Job
from clinworld.schema.premise import Premise
from clinworld.world.artifact_sizes import draw_artifact
from clinworld.world.contexts import SHOWN_FACETS, choose_contexts
from clinworld.world.job_case import default_case
from clinworld.world.premise import derive_premise

pytestmark = pytest.mark.rows

JOB = Job("j", "early_warning", "en", "0", (), None, 28, False, True, None, (), (), "", "")
BASE = default_case("BASE", KNOWLEDGE)


def derive(case_id: str, seed: str = "0", **controls: object) -> Premise:
    case = replace(BASE, case_id=case_id, controls=replace(BASE.controls, **controls))
    return derive_premise(case, replace(JOB, seed=seed), KNOWLEDGE, Rng(seed))


def test_dependent_defaults_follow_their_parent(tmp_path: Path) -> None:
    regain = premise_of(tmp_path, latent="{outcome: regain, index_time_T: 112}")
    assert (regain.driver, regain.reversal_day, regain.regain_kg_per_week) == ("poor_medication_adherence", 7 * ((112 + 56) // 7), 0.35)
    assert (regain.start_weight_kg, regain.nadir_weight_kg, regain.nadir_day) == (98, 86, 112)
    maintain = premise_of(tmp_path, latent="{outcome: maintain}")
    assert (maintain.driver, maintain.reversal_day, maintain.regain_kg_per_week) == ("unknown_or_multifactorial", None, 0)


def test_descent_takes_the_days_its_pace_needs(tmp_path: Path) -> None:
    assert premise_of(tmp_path, "{nadir_weight: 84}", "{outcome: maintain}").nadir_day == 109  # 14 kg at 0.9 kg a week
    assert premise_of(tmp_path, "{nadir_weight: 90}", "{outcome: maintain}").nadir_day == 84
    assert premise_of(tmp_path, "{nadir_weight: 90}", "{outcome: regain, reversal_week: 10}").nadir_day == 70


def test_written_end_weight_gives_the_slope(tmp_path: Path) -> None:
    premise = premise_of(tmp_path, "{nadir_weight: 90}", "{outcome: regain, reversal_week: 22, regain_end_kg: 93, course_end_day: 224}")
    assert premise.regain_kg_per_week == pytest.approx(0.3)


def test_adherence_falls_where_missed_doses_are_the_cause_and_nowhere_else() -> None:
    falling = derive("A", outcome="regain", driver="poor_medication_adherence", adherence_low=0.6)
    assert falling.adherence_course == ((0, 0.95), (42, 0.95), (56, 0.88), (84, 0.8), (224, 0.7), (365, 0.6))
    steady = derive("A", outcome="regain", driver="calorie_intake_change", adherence_low=0.6)
    assert steady.adherence_course == ((0, 0.96), (42, 0.96), (84, 0.94), (224, 0.93), (365, 0.9))


def test_doses_are_missed_after_the_index_day_where_the_drug_is_borne_badly_and_no_share_is_written(tmp_path: Path) -> None:
    text = "outcome: regain, driver: medication_intolerance"
    free, written = premise_of(tmp_path, latent=f"{{{text}}}"), premise_of(tmp_path, latent=f"{{{text}, adherence_low: 0.92}}")
    assert free.adherence_course[:3] == written.adherence_course[:3]
    assert free.adherence_course[-1][1] == 0.82 and written.adherence_course[-1][1] == 0.92


def test_low_adherence_nobody_wrote_lies_below_that_of_the_index_day(tmp_path: Path) -> None:
    text = "outcome: regain, driver: poor_medication_adherence"
    premise = premise_of(tmp_path, latent=f"{{{text}}}")
    assert (premise.adherence_low, premise.adherence_course[-1]) == (0.6, (365, 0.6))
    assert premise_of(tmp_path, latent=f"{{{text}, adherence_low: 0.6}}") == premise


@pytest.mark.parametrize("index_day", [14, 28, 56, 336])
def test_adherence_days_rise_for_any_index_day(index_day: int) -> None:
    for outcome in ("regain", "maintain"):
        days = [day for day, _ in derive("A", outcome=outcome, index_time_T=index_day, course_end_day=560).adherence_course]
        assert days == sorted(set(days)) and days[0] == 0 and index_day in days and days[-1] == 560


def test_weighing_step_is_the_longer_of_the_two_ways_to_say_it(tmp_path: Path) -> None:
    assert premise_of(tmp_path, latent="{event_density: {measure_per_week: 2.33}}").sampling_days == 3
    assert premise_of(tmp_path, raw="{sampling_days: 5}").sampling_days == 5


def test_artifact_windows_start_with_the_week_or_on_a_day_of_it_and_a_new_scale_stays(tmp_path: Path) -> None:
    noise = "[{class: device_switch, week: 14}, {class: transient_spike, week: 9, span_days: 3}, {class: mnar_missing, week: 20, day: 4}]"
    premise = premise_of(tmp_path, latent=f"{{outcome: maintain, noise: {noise}}}")
    artifacts = premise.artifacts
    assert [(a.kind, a.first_day, a.last_day) for a in artifacts] == [
        ("transient_spike", 63, 65),
        ("device_switch", 98, 365),
        ("mnar_missing", 144, 153),
    ]
    assert all(artifact == draw_artifact(*astuple(artifact)[:3], premise, KNOWLEDGE, Rng(premise.seed)) for artifact in artifacts)
    assert artifacts[2].size == 0.0


def test_response_keeps_to_the_band_of_its_driver_and_varies() -> None:
    usual = np.array([derive(f"C{i}", outcome="maintain").drug_response for i in range(300)])
    low = np.array([derive(f"C{i}", outcome="regain", driver="biological_low_response").drug_response for i in range(300)])
    assert usual.min() >= 0.5 and usual.max() <= 1.8 and abs(usual.mean() - 1) < 0.06 and len(set(usual)) > 250
    assert low.min() >= 0 and low.max() <= 0.35 and abs(low.mean() - 0.175) < 0.03


def test_outcome_nobody_wrote_is_drawn_by_case_id() -> None:
    outcomes = [derive(f"C{i}").outcome for i in range(400)]
    assert outcomes == [derive(f"C{i}").outcome for i in range(400)]
    assert 150 < outcomes.count("regain") < 250
    assert outcomes != [derive(f"C{i}", seed="1").outcome for i in range(400)]


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["adherence_low", "regain_slope", "distractor_level", "missingness", "target_event"]),
    case_id=st.text(alphabet="abcdef0123456789", min_size=1, max_size=8),
)
def test_one_more_written_key_moves_no_draw(name: str, case_id: str) -> None:
    changes = {"adherence_low": 0.5, "regain_slope": 0.7, "distractor_level": "low", "missingness": "MCAR", "target_event": "weight_regain"}
    plain, changed = derive(case_id), derive(case_id, **{name: changes[name]})
    assert (plain.outcome, plain.drug_response) == (changed.outcome, changed.drug_response)


def test_premise_of_a_private_seed_does_not_hold_it(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("0123456789abcdef0123456789abcdef")
    job = read_text(tmp_path, "job_id: j\nseed_file: s\ncases: [{case_id: A-1}]\n")
    premise = derive_premise(job.cases[0], job, KNOWLEDGE, Rng(job.seed))
    assert premise.seed.startswith("sha256:") and job.seed.removeprefix("private:") not in repr(premise)
    assert derive("A", seed="7").seed == "7"


def symptom(context: str) -> DeclaredSymptom:
    return DeclaredSymptom(10, "tired", context)


def test_observation_is_shown_in_both_languages_whichever_was_written() -> None:
    english, chinese = choose_contexts((symptom("Worse after meals"), symptom("在家自测")), KNOWLEDGE)
    assert (english.shown.en, english.shown.zh, english.withheld) == ("worse after meals", "餐后明显", "")
    assert (chinese.shown.en, chinese.withheld) == ("measured at home", "")


@pytest.mark.parametrize("phrase", [p for p in KNOWLEDGE.contexts.values() if p.facet not in SHOWN_FACETS], ids=lambda p: p.id)
def test_phrase_that_explains_is_never_shown(phrase: object) -> None:
    for text in (phrase.text.en, phrase.text.zh, f"worse after meals, {phrase.text.en}"):  # type: ignore[attr-defined]
        chosen = choose_contexts((symptom(text),), KNOWLEDGE)[0]
        assert (chosen.shown.en, chosen.shown.zh) == ("", "")
        assert phrase.facet in chosen.withheld  # type: ignore[attr-defined]


@pytest.mark.parametrize("phrase", [p for p in KNOWLEDGE.contexts.values() if p.facet in SHOWN_FACETS], ids=lambda p: p.id)
def test_plain_observation_passes_unchanged(phrase: object) -> None:
    chosen = choose_contexts((symptom(phrase.text.zh),), KNOWLEDGE)[0]  # type: ignore[attr-defined]
    assert (chosen.shown, chosen.withheld) == (phrase.text, "")  # type: ignore[attr-defined]


def test_nothing_of_a_context_vanishes_without_a_line(tmp_path: Path) -> None:
    entries = ["worse after meals", "worse after meals since the move", "because of overeating", "as my aunt says", ""]
    listed = ", ".join(f"{{day: {10 + n}, text: tired, context: {context!r}}}" for n, context in enumerate(entries))
    premise = premise_of(tmp_path, raw=f"{{symptoms: [{listed}]}}")
    assert [symptom.context_en for symptom in premise.symptoms] == ["worse after meals", "worse after meals", "", "", ""]
    assert [(day, context) for day, context, _ in premise.withheld_contexts] == [(11, entries[1]), (12, entries[2]), (13, entries[3])]
    assert all(reason for _, _, reason in premise.withheld_contexts)


def test_third_context_of_a_facet_is_withheld_with_a_line() -> None:
    chosen = choose_contexts((symptom("both sides"), symptom("with a dry mouth"), symptom("better after rest")), KNOWLEDGE)
    assert [bool(c.shown.en) for c in chosen] == [True, True, False]
    assert "2 contexts of facet sign" in chosen[2].withheld


def test_symptom_keeps_the_words_of_its_author(tmp_path: Path) -> None:
    _, case = read_case(tmp_path, raw="{symptoms: [{day: 3, text: 头晕}]}")
    planned = derive_premise(case, JOB, KNOWLEDGE, Rng("0")).symptoms[0]
    assert (planned.text_en, planned.text_zh, planned.is_as_written) == ("头晕", "头晕", True)
