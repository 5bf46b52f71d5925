"""Good job files: what is read, with defaults, names as ids, switches and digests."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from job_texts import KNOWLEDGE, USUAL, case_text, read_case, read_text

from clinworld.core.canary import CANARY
from clinworld.core.digest import digest_value
from clinworld.core.errors import JobError
from clinworld.core.rng import Rng
from clinworld.schema.job import EventDensity
from clinworld.world.draw import draw_cases
from clinworld.world.in_force import write_out
from clinworld.world.job_file import find_job, packaged_jobs, read_job
from clinworld.world.job_keys import load_job_keys
from clinworld.world.job_task import shown_seed
from clinworld.world.premise import check_premise, derive_premise


def test_empty_case_holds_the_defaults_of_the_contract(tmp_path: Path) -> None:
    job, case = read_case(tmp_path)
    assert (job.task, job.language, job.seed, job.episode, job.findings, job.physio) == ("early_warning", "en", "0", None, False, True)
    facts, controls = case.facts, case.controls
    assert (facts.disease, facts.drug, facts.dose_steps) == ("obesity", "tirzepatide", (2.5, 5.0, 7.5))
    assert (facts.devices, facts.age_range, facts.sex, facts.bmi) == (("smart_scale", "wearable"), "45-49", "F", None)
    assert (facts.start_weight, facts.nadir_weight, facts.sampling_days, facts.symptoms) == (98.0, 86.0, 1, ())
    assert facts.goals == ("sustained_weight_loss",)
    assert (controls.outcome, controls.driver, controls.reversal_week, controls.drug_response) == (None, None, None, None)
    assert (controls.index_time_T, controls.course_end_day, controls.regain_slope) == (84, 365, 0.35)
    assert (controls.adherence_low, controls.missingness, controls.noise, controls.distractor_level) == (0.95, "MAR", (), "none")
    assert controls.event_density == EventDensity(7.0, 1.0, 0.1, 0.05)
    assert controls.target_event == "weight_regain"
    assert case.written == frozenset()


def test_nadir_follows_a_written_start(tmp_path: Path) -> None:
    assert read_case(tmp_path, raw="{start_weight: 120}")[1].facts.nadir_weight == 108


@pytest.mark.parametrize("days", [(28, 63), (90, 210), (336, 560), (14, 15)])
def test_days_are_a_range_not_a_short_list(days: tuple[int, int], tmp_path: Path) -> None:
    _, case = read_case(tmp_path, latent=f"{{index_time_T: {days[0]}, course_end_day: {days[1]}}}")
    assert (case.controls.index_time_T, case.controls.course_end_day) == days


@pytest.mark.parametrize(
    ("written", "disease"), [("T2D", "type_2_diabetes"), ("MASLD", "masld"), ("Obesity", "obesity"), ("2型糖尿病", "type_2_diabetes")]
)
def test_reference_names_are_known(written: str, disease: str, tmp_path: Path) -> None:
    assert read_case(tmp_path, raw=f"{{disease: {written}}}")[1].facts.disease == disease


def test_drug_name_means_the_product_for_the_disease(tmp_path: Path) -> None:
    obese = read_case(tmp_path, raw="{disease: obesity, drug: semaglutide}")[1].facts.drug
    diabetic = read_case(tmp_path, raw="{disease: T2D, drug: semaglutide}")[1].facts.drug
    assert obese != diabetic
    assert "obesity" in dict(KNOWLEDGE.drugs[obese].indications)
    assert "type_2_diabetes" in dict(KNOWLEDGE.drugs[diabetic].indications)


def test_label_without_a_row_is_kept_and_reported(tmp_path: Path) -> None:
    job, case = read_case(tmp_path, raw="{comorbidities: [hypertension, some_rare_thing], baseline_vitals: {resting_hr: 70, mood: 3}}")
    assert case.facts.comorbidities == ("hypertension", "some_rare_thing")
    assert dict(case.facts.baseline_vitals) == {"resting_hr": 70.0, "mood": 3.0}
    assert job.without_effect == ("raw.comorbidities some_rare_thing (kept as a label)", "raw.baseline_vitals mood (kept as a label)")


def test_key_without_effect_is_named_once(tmp_path: Path) -> None:
    text = (
        "models: []\ninclude_baseline: false\nsample_cases: null\nreport: ../../x.md\nplugins: []\npack: {n_items: 2}\n_provenance: {}\n"
        "gen_workers: 2\nprobe_id: forecast.direct\njob_id: j\ncases:\n"
        + "".join(
            f"  - case_id: {name}\n    latent: {{difficulty: B, event_density: {{course_weeks: 12.0, clinical_symptoms_recorded: 3}}}}\n"
            for name in "ab"
        )
    )
    job = read_text(tmp_path, text)
    expected = ["models", "include_baseline", "report", "plugins", "pack", "_provenance", "gen_workers", "probe_id"]
    expected += ["latent.difficulty", "latent.event_density.course_weeks", "latent.event_density.clinical_symptoms_recorded"]
    assert sorted(job.without_effect) == sorted(expected)
    assert list(tmp_path.iterdir()) == [tmp_path / "job.yaml"]


def test_every_key_of_the_reference_contract_is_known() -> None:
    keys = load_job_keys()
    raw = (
        "disease drug dose_steps devices age_range sex bmi comorbidities baseline_vitals start_weight nadir_weight sampling_days "
        "symptoms goals"
    )
    latent = (
        "outcome driver reversal_week regain_slope regain_end_kg index_time_T course_end_day nadir_day adherence_low missingness noise "
        "distractor_level distractor_cond_axes event_density drug_response target_event difficulty rhythm_gap long_horizon_tier "
        "composition_v2 ddx_spec_id ddx_diagnosis ddx_aliases ddx_join_gold ddx_threads ddx_tests ddx_specialty ddx_urgency "
        "ddx_insufficient ddx_red_flag ddx_clinician_warranted ddx_outcome_label m2 m2_bridge p2 p3 p4 pack2"
    )
    top = (
        "job_id task_type cases models include_baseline multiround cadence_days slices gated findings physio probe_id plugins "
        "sample_cases report gen_workers pack _provenance"
    )
    assert set(raw.split()) <= set(keys["raw"])
    assert set(latent.split()) <= set(keys["latent"])
    assert set(top.split()) <= set(keys["top"])


@pytest.mark.parametrize(
    ("switches", "episode"),
    [
        ("", None),
        ("multiround: false\n", "single"),
        ("multiround: true\n", "rounds"),
        ("slices: auto\nmultiround: true\n", "slices"),
        ("slices: [14, 28]\n", "slices"),
        ("gated: true\nslices: auto\nmultiround: true\n", "purchase"),
        ("gated: false\nslices: ''\n", None),
        ("task: tracking_review\n", "rounds"),
        ("task: tracking_review\nmultiround: false\n", "single"),
        ("episode: query\n", "query"),
    ],
)
def test_switches_resolve_in_the_documented_order(switches: str, episode: str | None, tmp_path: Path) -> None:
    assert read_text(tmp_path, switches + case_text()).episode == episode


def test_task_and_task_type_are_one_key(tmp_path: Path) -> None:
    first = read_text(tmp_path, USUAL)
    second = read_text(tmp_path, USUAL.replace("task:", "task_type:"))
    assert (first.digest, first.cases) == (second.digest, second.cases)
    assert read_text(tmp_path, "task: tracking_review\ntask_type: tracking_review\n" + case_text()).task == "tracking_review"


def test_digest_follows_values_not_layout(tmp_path: Path) -> None:
    digest = read_text(tmp_path, USUAL).digest
    assert (
        read_text(tmp_path, "# a comment\n" + USUAL.replace("[2.5, 5, 7.5]", "\n        - 2.5\n        - 5.0\n        - 7.50")).digest
        == digest
    )
    assert read_text(tmp_path, USUAL.replace("start_weight: 98", "start_weight: 98.1")).digest != digest


def test_private_seed_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("0123456789abcdef0123456789abcdef\n")
    job = read_text(tmp_path, "job_id: j\nitems: 2\nseed_file: s\n")
    (tmp_path / "s").write_text("0123456789abcdef0123456789abcdee\n")
    other = read_text(tmp_path, "job_id: j\nitems: 2\nseed_file: s\n")
    assert shown_seed(job.seed).startswith("sha256:")
    assert job.seed.removeprefix("private:") not in shown_seed(job.seed)
    assert (job.seed, job.digest) != (other.seed, other.digest)
    assert "0123456789abcdef" not in repr(job)


def test_outside_pack_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("task: my_pack\n" + case_text())
    assert read_job(path, KNOWLEDGE, tasks=["my_pack"]).task == "my_pack"
    with pytest.raises(JobError, match="no task 'my_pack'"):
        read_job(path, KNOWLEDGE)


def test_plugin_that_names_a_pack_selects_it(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("task: early_warning\nplugins: {judges: [haenv.p3], world: []}\n" + case_text())
    job = read_job(path, KNOWLEDGE, tasks=["medication"])
    assert (job.task, job.without_effect) == ("medication", ())


def test_mix_shares_are_read(tmp_path: Path) -> None:
    job = read_text(tmp_path, "job_id: j\nitems: 10\nmix: {outcome: {regain: 0.3, maintain: 0.7}, disease: {T2D: 1, obesity: 1}}\n")
    expected = {"outcome.regain": "0.3", "outcome.maintain": "0.7", "disease.type_2_diabetes": "1.0", "disease.obesity": "1.0"}
    assert dict(job.mix) == expected


@pytest.mark.parametrize("path", packaged_jobs(), ids=lambda path: path.stem)
def test_packaged_job_reads_and_carries_the_canary(path: Path) -> None:
    job = read_job(path, KNOWLEDGE)
    assert job.cases and job.job_id == path.stem and not job.without_effect
    assert CANARY in path.read_text(encoding="utf-8").splitlines()[0]
    assert find_job(path.stem) == path and find_job(str(path)) == path


def test_twenty_cases_are_read_in_a_twentieth_of_a_second() -> None:
    path = find_job("early_warning-20")
    read_job(path, KNOWLEDGE)
    times = []
    for _ in range(5):
        started = time.process_time()
        read_job(path, KNOWLEDGE)
        times.append(time.process_time() - started)
    assert min(times) < 0.05


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    section=st.sampled_from(["raw", "latent"]),
    data=st.data(),
    value=st.one_of(
        st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), st.sampled_from(["x", "true", "[]", "{}", "null"])
    ),
)
def test_any_value_of_any_key_is_read_or_refused_with_its_place(section: str, data: st.DataObject, value: object, tmp_path: Path) -> None:
    key = data.draw(st.sampled_from(sorted(load_job_keys()[section])))
    try:
        job, _ = read_case(tmp_path, **{section: f"{{{key}: {value}}}"})
    except JobError as error:
        assert "cases[0]" in str(error) and "\n" not in str(error)
    else:
        assert job.cases


_WORDS = st.one_of(
    st.sampled_from(["x", "null", "true", "", "auto", "balanced", "regain", "45-49", "s", "obesity", "haenv.p2", "/dev/zero"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
)
_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**18) + 1, 10**18 - 1),
        st.integers(10**18, 10**300),
        st.floats(allow_nan=False, allow_infinity=False),
        _WORDS,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=3)),
    max_leaves=6,
)
_PLACES = [(section, key) for section, keys in load_job_keys().items() for key in keys]


def write_at(section: str, key: str, value: object) -> dict[str, object]:
    """A job with one value at one key."""
    job: dict[str, object] = {"job_id": "j", "items": 3}
    inside = {
        "top": {},
        "case": {"case_id": "A"},
        "symptom": {"day": 4, "text": "tired"},
        "noise": {"class": "unit_error", "week": 5},
    }.get(section, {}) | {key: value}
    match section:
        case "top":
            return job | inside
        case "case":
            return job | {"cases": [inside]}
        case "symptom":
            return job | {"cases": [{"case_id": "A", "raw": {"symptoms": [inside]}}]}
        case "noise" | "event_density":
            return job | {"cases": [{"case_id": "A", "latent": {section: [inside] if section == "noise" else inside}}]}
        case _:
            return job | {"cases": [{"case_id": "A", section: inside}]}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(place=st.sampled_from(_PLACES), value=_VALUES)
def test_random_value_at_any_key_is_read_checked_and_drawn_or_is_a_job_error(place: tuple[str, str], value: object, tmp_path: Path) -> None:
    text = json.dumps(write_at(*place, value), ensure_ascii=False)
    try:
        job = read_text(tmp_path, text)
        cases = (*job.cases, *draw_cases(replace(job, items=min(job.items or 0, 3)), KNOWLEDGE, Rng(job.seed)))
    except JobError as error:
        assert "\n" not in str(error) and len(str(error)) < 1500
    else:
        assert len(job.digest) == 16
        for case in cases:
            check_premise(derive_premise(case, job, KNOWLEDGE, Rng(job.seed)), case, KNOWLEDGE)


@pytest.mark.parametrize(
    "text",
    [
        "models: [1e30]\n" + case_text(),
        "models: [" + "9" * 300 + "]\n" + case_text(),
        case_text(latent="{difficulty: 1e30}"),
        case_text(latent="{difficulty: 1e300}"),
        case_text(latent="{m2: {a: [123456789012345678, 1e19]}}"),
    ],
)
def test_huge_number_that_nothing_reads_does_not_stop_the_job(text: str, tmp_path: Path) -> None:
    assert len(read_text(tmp_path, text).digest) == 16


def test_huge_whole_numbers_differ_in_their_digest() -> None:
    assert digest_value([2**70]) != digest_value([2**70 + 1])
    assert digest_value({"a": 1, "b": [2]}) == digest_value({"b": [2], "a": 1})


def test_doses_a_week_are_named_among_keys_without_effect(tmp_path: Path) -> None:
    job, case = read_case(tmp_path, latent="{event_density: {dosing_per_week: 7}}")
    assert job.without_effect == ("latent.event_density.dosing_per_week",)
    assert case.controls == read_case(tmp_path)[1].controls
    premise = derive_premise(case, job, KNOWLEDGE, Rng(job.seed))
    assert "dosing_per_week" not in write_out(case, premise)["latent"]["event_density"]


@pytest.mark.parametrize(
    ("latent", "is_named"),
    [
        ("outcome: maintain, adherence_low: 0.5", True),
        ("outcome: regain, driver: calorie_intake_change, adherence_low: 0", True),
        ("driver: calorie_intake_change, adherence_low: 0.89", True),
        ("outcome: maintain, driver: poor_medication_adherence, adherence_low: 0.5", True),
        ("outcome: regain, driver: poor_medication_adherence, adherence_low: 0.5", False),
        ("outcome: regain, driver: medication_intolerance, adherence_low: 0.5", False),
        ("outcome: regain, adherence_low: 0.5", False),
        ("adherence_low: 0.5", False),
        ("outcome: maintain, adherence_low: 0.9", False),
        ("outcome: maintain, adherence_low: 0.5, noise: [{class: adherence_gap, week: 9}]", False),
    ],
)
def test_low_adherence_that_the_course_does_not_reach_is_named(latent: str, is_named: bool, tmp_path: Path) -> None:
    job, case = read_case(tmp_path, latent=f"{{{latent}}}")
    assert [name.split(" (")[0] for name in job.without_effect] == (["latent.adherence_low below 0.9"] if is_named else [])
    if not is_named and "noise" not in latent:
        premise = derive_premise(case, job, KNOWLEDGE, Rng(job.seed))
        assert premise.outcome == "maintain" or premise.adherence_course[-1][1] == case.controls.adherence_low


@pytest.mark.parametrize("driver", ["poor_medication_adherence", "medication_intolerance", "calorie_intake_change"])
def test_a_case_with_every_value_in_force_written_out_is_the_same_patient(driver: str, tmp_path: Path) -> None:
    latent = f"{{outcome: regain, driver: {driver}, reversal_week: 20, noise: [{{class: transient_spike, week: 9, day: 4}}]}}"
    job, case = read_case(tmp_path, latent=latent)
    premise = derive_premise(case, job, KNOWLEDGE, Rng(job.seed))
    path = tmp_path / "written.job.yaml"
    path.write_text(json.dumps({"job_id": job.job_id, "task": job.task, "seed": shown_seed(job.seed), "cases": [write_out(case, premise)]}))
    again = read_job(path, KNOWLEDGE)
    assert derive_premise(again.cases[0], again, KNOWLEDGE, Rng(again.seed)) == premise
