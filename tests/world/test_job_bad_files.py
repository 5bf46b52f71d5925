"""Job files that are wrong: each ends in one JobError that says where, what was found and what is allowed."""

import os
import time
from pathlib import Path

import pytest
from job_texts import KNOWLEDGE, USUAL, case_text, read_text

from clinworld.core.errors import JobError, UsageError
from clinworld.world.job_file import find_job, read_job

pytestmark = pytest.mark.rows

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
    "noise_day_of_no_week": (noise("class: unit_error, week: 5, day: 7"), ["noise[0].day", "7", "from 0 to 6"]),
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
    "symptom_text_long": (symptom(f"day: 4, text: {'a' * 401}"), ["symptoms[0].text", "401 characters", "at most 400"]),
    "symptom_context_long": (symptom(f"day: 4, text: a, context: {'a' * 401}"), ["symptoms[0].context", "at most 400"]),
    "empty_comorbidity": (case_text(raw="{comorbidities: ['']}"), ["comorbidities[0]", "an empty name", "holds a letter"]),
    "number_as_comorbidity": (case_text(raw="{comorbidities: ['5']}"), ["comorbidities[0]", "'5'", "holds a letter"]),
    "goals_mapping": (case_text(raw="{goals: {a: b}}"), ["goals", "a mapping", "[one, another]"]),
    "vital_number_as_name": (case_text(raw="{baseline_vitals: {5: 5}}"), ["baseline_vitals.5", "holds a letter"]),
    "vital_nothing_as_name": (case_text(raw="{baseline_vitals: {~: 1}}"), ["baseline_vitals.~", "holds a letter"]),
    "vital_null_as_name": (case_text(raw="{baseline_vitals: {null: 1}}"), ["baseline_vitals.null"]),
    "vital_beyond_all_bounds": (case_text(raw="{baseline_vitals: {sbp: 1e300}}"), ["baseline_vitals.sbp", "1e+300", "1000000"]),
    "age_of_children": (changed("45-49", "3-5"), ["'3-5'", "from 18 to 100", "adults"]),
    "age_of_everyone": (changed("45-49", "0-120"), ["'0-120'", "from 18 to 100", "adults"]),
    "age_above_100": (changed("45-49", "95-101"), ["'95-101'", "from 18 to 100"]),
    "age_full_width": (changed("45-49", "\uff14\uff15-\uff14\uff19"), ["age_range", "two ages"]),
    "plugin_list": (changed("task: early_warning", "plugins: [[a]]"), ["plugins[0]", "a list", "haenv.p2"]),
    "plugin_mapping": (changed("task: early_warning", "plugins: [{a: b}]"), ["plugins[0]", "a mapping", "haenv.p2"]),
    "plugin_list_in_group": (changed("task: early_warning", "plugins: {judges: [[a]]}"), ["plugins.judges[0]", "a list"]),
    "mix_beyond_all_bounds": ("job_id: j\nitems: 4\nmix: {outcome: {regain: 1e308, maintain: 1e308}}\n", ["regain", "1000000"]),
    "drivers_without_regain": (
        "job_id: j\nitems: 4\nmix: {outcome: {maintain: 1}, driver: {activity_decline: 1}}\n",
        ["mix.driver", "without regain", "Give regain a share"],
    ),
    "number_of_5000_digits": (changed("start_weight: 98", "start_weight: " + "9" * 5000), ["line 12", "5000 characters", "finite"]),
    "number_of_300_digits": (changed("start_weight: 98", "start_weight: " + "9" * 300), ["line 12", "1e+300", "from 20 to 400"]),
    "key_with_a_line_break": (changed("task:", '"a\\nb":'), ["line 2", "'a\\nb'"]),
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
        started = time.process_time()
        with pytest.raises(JobError) as caught:
            read_job(tmp_path / name, KNOWLEDGE)
        assert time.process_time() - started < 1
        messages[name] = str(caught.value)
    assert "no such file" in messages["nothing.yaml"]
    assert "a folder" in messages["."]
    assert "NUL" in messages["bin.yaml"]
    assert "10,000,000 bytes" in messages["big.yaml"]


def test_job_that_never_ends_is_refused_without_reading_on() -> None:
    with pytest.raises(JobError, match="more than 5,000,000 bytes"):
        read_job(Path("/dev/zero"), KNOWLEDGE)


def test_short_private_seed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("secret")
    with pytest.raises(JobError, match="at least 32"):
        read_text(tmp_path, "job_id: j\nitems: 2\nseed_file: s\n")


@pytest.mark.parametrize(
    "job_id", ["CON", "nul", "com1", "lpt9.txt", "a.", "*", "~root", "--out", "-", "%2e%2e%2f", "a b", "\u4e2d", "a\u0435"]
)
def test_job_id_that_is_no_plain_folder_name_is_refused(job_id: str, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="job_id"):
        read_text(tmp_path, changed("job_id: j", f"job_id: '{job_id}'"))


@pytest.mark.parametrize("job_id", ["a", "ew-demo", "early_warning-20", "v1.2", "_x", "CONSOLE"])
def test_plain_job_id_is_read(job_id: str, tmp_path: Path) -> None:
    assert read_text(tmp_path, changed("job_id: j", f"job_id: '{job_id}'")).job_id == job_id


@pytest.mark.parametrize("case_id", ["a*", "a?", "[a]", "~a", "$a", "a|b", "<a>", "--a", "a.", " a", "nul", "a%2e"])
def test_case_id_with_a_wildcard_is_refused(case_id: str, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"cases\[0\].case_id"):
        read_text(tmp_path, changed("A-1", f"'{case_id}'"))


@pytest.mark.parametrize("case_id", ["RC-EW-01", "\u75c5\u4f8b1", "\u00c9mile 2", "a_b.c"])
def test_case_id_in_any_script_is_read(case_id: str, tmp_path: Path) -> None:
    assert read_text(tmp_path, changed("A-1", f"'{case_id}'")).cases[0].case_id == case_id


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("/dev/zero", "an absolute path"),
        ("/etc/hostname", "an absolute path"),
        ("../s", "a path with `..`"),
        ("below/../../s", "a path with `..`"),
        ("away", "a link that leaves the folder"),
        ("zero", "a link that leaves the folder"),
        ("pipe", "not a regular file"),
        ("below", "not a regular file"),
        ("loop", "cannot be read"),
        ("big", "more than 65,536 bytes"),
    ],
)
def test_seed_file_that_is_no_small_file_in_the_folder_is_refused(name: str, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "s").write_text("0123456789abcdef" * 2)
    (folder / "away").symlink_to(tmp_path / "s")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "big").write_bytes(b"a" * 65_537)
    os.mkfifo(folder / "pipe")
    with pytest.raises(JobError) as caught:
        read_text(folder, f"job_id: j\nitems: 2\nseed_file: {name}\n")
    assert why in str(caught.value) and "seed_file" in str(caught.value)
    assert "bytes" in why or str(folder.resolve()) in str(caught.value)


def test_seed_file_below_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "s").write_text("0123456789abcdef" * 2)
    assert read_text(tmp_path, "job_id: j\nitems: 2\nseed_file: below/s\n").seed.startswith("private:")


def test_missing_job_is_not_taken_for_a_file_with_the_same_ending(tmp_path: Path) -> None:
    for name in ("dd.yaml", "demo.yaml"):
        (tmp_path / name).write_text("a: 1")
    with pytest.raises(JobError) as caught:
        read_job(tmp_path / "nope.yaml", KNOWLEDGE)
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(JobError, match="Did you mean 'demo.yaml'"):
        read_job(tmp_path / "dmeo.yaml", KNOWLEDGE)


def test_unknown_packaged_job_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'example-ew'"):
        find_job("exampel-ew")
