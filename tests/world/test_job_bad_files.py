"""Job files that are wrong: each ends in one JobError that says where, what was found and what is allowed."""

import time
from pathlib import Path

import pytest
from job_texts import KNOWLEDGE, USUAL, case_text, read_text

from clinworld.core.errors import JobError, UsageError
from clinworld.world.job_file import find_job, read_job

NOISE = "noise: [{{{}}}]"


def changed(old: str, new: str) -> str:
    assert old in USUAL, old
    return USUAL.replace(old, new)


def symptom(entry: str) -> str:
    return case_text(raw=f"{{symptoms: [{{{entry}}}]}}")


def noise(entry: str, raw: str = "{}") -> str:
    return case_text(raw=raw, latent=f"{{noise: [{{{entry}}}]}}")


# name → text, and words the message must hold
BAD: dict[str, tuple[str, list[str]]] = {
    # the document
    "malformed": (changed("drug: tirzepatide", "drug: [tirzepatide"), ["line", "not YAML"]),
    "top_level_list": ("- job_id: j\n", ["a list", "a mapping"]),
    "empty_file": ("", ["an empty file"]),
    "only_comments": ("# nothing\n", ["no document"]),
    "two_documents": (USUAL + "---\njob_id: k\n", ["line 18", "a second document"]),
    "alias": (changed("sex: F", "sex: &s F\n      comorbidities: [*s]"), ["anchor or alias"]),
    "tag": (changed("sex: F", "sex: !!str F"), ["a tag"]),
    "duplicate_key": (changed("sex: F", "sex: F\n      sex: M"), ["line 11", "'sex' twice"]),
    "too_deep": ("job_id: j\ncases: " + "[" * 60 + "]" * 60 + "\n", ["nested deeper"]),
    # the top level
    "no_cases": ("job_id: j\n", ["neither `cases` nor `items`"]),
    "empty_cases": ("job_id: j\ncases: []\n", ["cases", "an empty list"]),
    "cases_mapping": ("job_id: j\ncases: {a: 1}\n", ["a mapping", "a list"]),
    "no_job_id": (changed("job_id: j\n", ""), ["no `job_id`"]),
    "unknown_top_key": (changed("task:", "tusk:"), ["line 2", "'tusk'", "task_type", "Did you mean 'task'?"]),
    "bad_task": (changed("early_warning", "early_warnings"), ["'early_warnings'", "early_warning, tracking_review", "Did you mean"]),
    "task_without_pack": (changed("early_warning", "joint_dx"), ["'differential'", "early_warning, tracking_review"]),
    "hard_task_without_pack": (
        changed("task: early_warning", "task: hardprob\ngated: true"),
        ["'workup'", "early_warning, tracking_review"],
    ),
    "two_tasks": (changed("task: early_warning", "task: early_warning\ntask_type: tracking_review"), ["task_type", "one key"]),
    "unknown_plugin": (changed("task: early_warning", "plugins: [haenv.p9]"), ["'haenv.p9'", "haenv.p2"]),
    "plugin_without_pack": (changed("task: early_warning", "plugins: {judges: [haenv.p3]}"), ["'medication'", "early_warning"]),
    "unknown_plugin_key": (changed("task: early_warning", "plugins: {judge: []}"), ["'judge'", "judges, world", "Did you mean 'judges'?"]),
    "bad_language": (changed("task: early_warning", "language: fr"), ["'fr'", "en, zh"]),
    "bad_slices": (changed("task: early_warning", "slices: automatic"), ["'automatic'", "auto+neutral", "Did you mean 'auto'?"]),
    "falling_slices": (changed("task: early_warning", "slices: [28, 14]"), ["slices[1]", "14", "rising"]),
    "bad_episode": (changed("task: early_warning", "episode: double"), ["'double'", "single, slices, rounds, purchase, query"]),
    "episode_against_switch": (changed("task: early_warning", "episode: single\ngated: true"), ["gated", "purchase"]),
    "flag_as_word": (changed("task: early_warning", "multiround: yes"), ["'yes'", "true or false"]),
    "zero_items": ("job_id: j\nitems: 0\n", ["0", "from 1 to 1000000"]),
    "mix_without_items": (changed("task: early_warning", "mix: {outcome: balanced}"), ["`items`"]),
    "unknown_mix_axis": ("job_id: j\nitems: 4\nmix: {outcomes: balanced}\n", ["'outcomes'", "Did you mean 'outcome'?"]),
    "unknown_mix_label": ("job_id: j\nitems: 4\nmix: {outcome: {regan: 1}}\n", ["'regan'", "regain, maintain", "Did you mean 'regain'?"]),
    "two_seeds": ("job_id: j\nitems: 4\nseed: 1\nseed_file: s\n", ["seed_file", "one seed"]),
    "missing_seed_file": ("job_id: j\nitems: 4\nseed_file: s\n", ["'s'", "cannot be read"]),
    # ids
    "job_id_path": (changed("job_id: j", "job_id: x/../../y"), ["job_id", "'..'"]),
    "job_id_number": (changed("job_id: j", "job_id: 12"), ["12", "text"]),
    "case_id_path": (changed("A-1", "../evil"), ["cases[0].case_id", "an id"]),
    "case_id_slash": (changed("A-1", "a/b"), ["'/'"]),
    "case_id_backslash": (changed("A-1", "'a\\b'"), ["cases[0].case_id"]),
    "case_id_dot": (changed("A-1", ".a"), ["'.'"]),
    "case_id_long": (changed("A-1", "a" * 101), ["101 characters", "1 to 100"]),
    "case_id_empty": (changed("A-1", "' '"), ["an empty id"]),
    "case_id_null": (changed("A-1", '"a\\0"'), ["U+0000"]),
    "case_id_newline": (changed("A-1", '"a\\nb"'), ["U+000A"]),
    "case_id_bidi": (changed("A-1", '"a\\u202Eb"'), ["U+202E"]),
    "case_id_twice": (USUAL + "  - case_id: A-1\n", ["cases[1].case_id", "'A-1'", "cases[0]"]),
    "no_case_id": (changed("  - case_id: A-1\n    raw:", "  - raw:"), ["cases[0]", "no `case_id`"]),
    # keys
    "unknown_case_key": (changed("    raw:", "    rawe:"), ["line 5", "'rawe'", "Did you mean 'raw'?"]),
    "unknown_raw_key": (changed("      sex:", "      sexx:"), ["line 10", "cases[0].raw.sexx", "Did you mean 'sex'?"]),
    "unknown_latent_key": (changed("      outcome:", "      outcom:"), ["cases[0].latent.outcom", "Did you mean 'outcome'?"]),
    "unknown_density_key": (case_text(latent="{event_density: {symptom_rat: 1}}"), ["event_density.symptom_rat", "'symptom_rate'?"]),
    "unknown_noise_key": (noise("class: unit_error, week: 5, spam_days: 3"), ["noise[0].spam_days", "'span_days'?"]),
    "unknown_symptom_key": (symptom("day: 4, text: tired, contxt: x"), ["symptoms[0].contxt", "'context'?"]),
    "latent_key_under_raw": (case_text(raw="{index_time_T: 84}"), ["cases[0].raw.index_time_T", "belongs in `latent`"]),
    "raw_key_at_the_top": ("disease: T2D\n" + USUAL, ["line 1", "'disease'", "belongs in `raw`"]),
    # types and ranges
    "latent_list": (case_text(latent="[]"), ["cases[0].latent", "an empty list", "a mapping"]),
    "weight_word": (changed("start_weight: 98", "start_weight: abc"), ["line 12", "'abc'", "a number from 20 to 400"]),
    "weight_negative": (changed("start_weight: 98", "start_weight: -98"), ["-98", "from 20 to 400"]),
    "weight_true": (changed("start_weight: 98", "start_weight: true"), ["true", "a number"]),
    "nan": (changed("start_weight: 98", "start_weight: .nan"), ["line 12", ".nan"]),
    "inf": (changed("start_weight: 98", "start_weight: .inf"), ["line 12", ".inf"]),
    "overflow": (changed("start_weight: 98", "start_weight: 1e400"), ["line 12", "1e400"]),
    "dose_scalar": (changed("[2.5, 5, 7.5]", "5"), ["dose_steps", "5", "a list of numbers"]),
    "dose_sexagesimal": (changed("[2.5, 5, 7.5]", "[1:40]"), ["dose_steps[0]", "'1:40'", "a number"]),
    "no_doses": (changed("[2.5, 5, 7.5]", "[]"), ["dose_steps", "an empty list"]),
    "sex_no": (changed("sex: F", "sex: No"), ["line 10", "'No'", "F, M"]),
    "sex_q": (changed("sex: F", "sex: Q"), ["'Q'", "F, M"]),
    "age_word": (changed("45-49", "young"), ["'young'", "45-49"]),
    "age_falling": (changed("45-49", "49-45"), ["'49-45'"]),
    "age_number": (changed("45-49", "45"), ["45", "two ages"]),
    "device_twice": (changed("[smart_scale, wearable]", "[wearable, wearable]"), ["devices[1]", "twice"]),
    "no_devices": (changed("[smart_scale, wearable]", "[]"), ["devices", "an empty list"]),
    "bad_outcome": (changed("outcome: regain", "outcome: regains"), ["'regains'", "regain, maintain", "Did you mean 'regain'?"]),
    "bad_distractor": (case_text(latent="{distractor_level: hight}"), ["'hight'", "none, low, high", "Did you mean 'high'?"]),
    "bad_axis": (case_text(latent="{distractor_cond_axes: [weather]}"), ["distractor_cond_axes[0]", "season, activity"]),
    "t_5000": (case_text(latent="{index_time_T: 5000}"), ["index_time_T", "5000", "from 14 to 1094"]),
    "t_negative": (case_text(latent="{index_time_T: -3}"), ["-3", "from 14"]),
    "t_13": (case_text(latent="{index_time_T: 13}"), ["13", "from 14"]),
    "t_half": (case_text(latent="{index_time_T: 84.5}"), ["84.5", "a whole number"]),
    "t_at_course_end": (case_text(latent="{index_time_T: 84, course_end_day: 84}"), ["index_time_T 84", "course_end_day 84"]),
    "t_past_default_course": (case_text(latent="{index_time_T: 400}"), ["index_time_T 400", "course_end_day 365"]),
    "course_before_default_t": (case_text(latent="{course_end_day: 60}"), ["index_time_T 84", "course_end_day 60"]),
    "adherence_above_1": (case_text(latent="{adherence_low: 66}"), ["66", "from 0 to 1"]),
    "negative_rate": (case_text(latent="{event_density: {symptom_rate: -1}}"), ["-1", "from 0 to 7"]),
    "sampling_zero": (case_text(raw="{sampling_days: 0}"), ["sampling_days", "0", "from 1 to 60"]),
    "bad_missingness": (case_text(latent="{missingness: MCRA}"), ["'MCRA'", "MCAR, MAR, MNAR"]),
    # names
    "unknown_disease": (changed("disease: obesity", "disease: obesty"), ["'obesty'", "inputs conditions", "Did you mean 'obesity'?"]),
    "comorbidity_as_disease": (changed("disease: obesity", "disease: OSA"), ["'OSA'", "comorbidity", "obesity"]),
    "unknown_drug": (changed("tirzepatide", "tirzepatid"), ["'tirzepatid'", "inputs drugs", "Did you mean 'tirzepatide'?"]),
    "unknown_device": (changed("wearable", "smartwatchh"), ["devices[1]", "'smartwatchh'", "smart_scale"]),
    "unknown_driver": (case_text(latent="{driver: poor_adherence}"), ["'poor_adherence'", "poor_medication_adherence"]),
    "empty_driver": (case_text(latent="{driver: ''}"), ["driver", "''"]),
    "unknown_target": (case_text(latent="{target_event: weight_regan}"), ["'weight_regan'", "weight_regain"]),
    # noise and symptoms
    "noise_without_class": (noise("week: 5"), ["noise[0]", "no `class`"]),
    "noise_without_week": (noise("class: unit_error"), ["noise[0]", "no `week`"]),
    "noise_unknown_class": (noise("class: unit_eror, week: 5"), ["'unit_eror'", "unit_error", "Did you mean 'unit_error'?"]),
    "noise_after_course": (noise("class: unit_error, week: 60"), ["week 60", "day 420", "365"]),
    "noise_without_device": (noise("class: unit_error, week: 5", raw="{devices: [wearable]}"), ["unit_error", "smart_scale", "wearable"]),
    "noise_twice": (case_text(latent="{noise: [{class: unit_error, week: 5}, {class: unit_error, week: 5}]}"), ["noise[1]", "twice"]),
    "noise_word": (case_text(latent="{noise: unit_error}"), ["'unit_error'", "a list"]),
    "noise_entry_word": (case_text(latent="{noise: [unit_error]}"), ["noise[0]", "'unit_error'", "a mapping"]),
    "symptom_without_day": (symptom("text: tired"), ["symptoms[0]", "no `day`"]),
    "symptom_without_text": (symptom("day: 4"), ["symptoms[0]", "no `text`"]),
    "symptom_day_negative": (symptom("day: -4, text: tired"), ["symptoms[0].day", "-4"]),
    "symptom_text_number": (symptom("day: 4, text: 12"), ["symptoms[0].text", "12", "text"]),
    "vital_word": (case_text(raw="{baseline_vitals: {resting_hr: fast}}"), ["resting_hr", "'fast'", "a number"]),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_file_is_refused_with_place_and_rule(name: str, tmp_path: Path) -> None:
    text, words = BAD[name]
    with pytest.raises(JobError) as caught:
        read_text(tmp_path, text)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith(str(tmp_path / "job.yaml")), message
    assert "\n" not in message and len(message) < 1500
    for word in words:
        assert word in message, message


def test_usual_job_of_the_table_is_read(tmp_path: Path) -> None:
    assert read_text(tmp_path, USUAL).cases[0].controls.reversal_week == 20


KINDS = {
    "unknown_disease": case_text(raw="{disease: nope}"),
    "unknown_drug": case_text(raw="{drug: nope}"),
    "unknown_device": case_text(raw="{devices: [nope]}"),
    "bad_sampling_days": case_text(raw="{sampling_days: 99}"),
    "adherence_out_of_range": case_text(latent="{adherence_low: 1.2}"),
    "bad_outcome_label": case_text(latent="{outcome: nope}"),
    "empty_gold_drivers": case_text(latent="{driver: ''}"),
    "unknown_missingness": case_text(latent="{missingness: nope}"),
    "negative_density": case_text(latent="{event_density: {life_event_rate: -1}}"),
    "unknown_noise_class": noise("class: nope, week: 5"),
    "noise_without_device": noise("class: transient_spike, week: 5", raw="{devices: [wearable]}"),
    "unknown_task": case_text().replace("job_id: j", "job_id: j\ntask: nope"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_error_carries_its_kind(kind: str, tmp_path: Path) -> None:
    with pytest.raises(JobError) as caught:
        read_text(tmp_path, KINDS[kind])
    assert caught.value.kind == kind


def test_missing_file_folder_and_binary_each_have_their_message(tmp_path: Path) -> None:
    (tmp_path / "bin.yaml").write_bytes(b"\x00\x01\x02")
    (tmp_path / "big.yaml").write_bytes(b"a: 1\n" * 2_000_000)
    messages = {}
    for name in ("nothing.yaml", ".", "bin.yaml", "big.yaml"):
        started = time.perf_counter()
        with pytest.raises(JobError) as caught:
            read_job(tmp_path / name, KNOWLEDGE)
        assert time.perf_counter() - started < 1
        messages[name] = str(caught.value)
    assert "no such file" in messages["nothing.yaml"]
    assert "a folder" in messages["."]
    assert "NUL" in messages["bin.yaml"]
    assert "10,000,000 bytes" in messages["big.yaml"]


def test_short_private_seed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("secret")
    with pytest.raises(JobError, match="at least 32"):
        read_text(tmp_path, "job_id: j\nitems: 2\nseed_file: s\n")


def test_unknown_packaged_job_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'example-ew'"):
        find_job("exampel-ew")
