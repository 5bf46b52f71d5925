"""One walk through every ending of the command line, and what a user's mistake looks like from outside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from clinworld.cli.main import VERBS, main

pytestmark = pytest.mark.rows

GOOD = """
job_id: {job_id}
task: early_warning
cases:
  - case_id: A-1
    raw: {{disease: obesity, drug: tirzepatide, start_weight: 98, nadir_weight: 85}}
    latent: {{outcome: maintain}}
"""
SECOND = """  - case_id: A-2
    raw: {{disease: obesity, drug: tirzepatide, start_weight: 96, nadir_weight: 88}}
    latent: {{outcome: maintain}}
"""
CONTRADICTION = GOOD.replace("maintain", "regain, reversal_week: 60")


@pytest.fixture
def job(tmp_path):
    def write(text: str = GOOD, job_id: str = "one") -> str:
        path = tmp_path / f"{job_id}.yaml"
        path.write_text(text.format(job_id=job_id), encoding="utf-8")
        return str(path)

    return write


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_each_ending_has_its_documented_code(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = job()
    assert run(capsys, "build", good)[0] == 0
    assert run(capsys, "verify", good)[0] == 0
    assert run(capsys, "run", good, "--offline")[0] == 0
    assert run(capsys, "report", good)[0] == 0
    assert run(capsys, "build", "no-such-job.yaml")[0] == 2
    assert run(capsys, "build", job(CONTRADICTION, "none-left"))[0] == 4
    two = job(GOOD + SECOND, "two")
    assert run(capsys, "run", two, "--offline", "--limit", "1")[0] == 6
    batch = next((tmp_path / "artifacts" / "one").glob("2*"))
    raw = (batch / "gold.jsonl").read_bytes()
    (batch / "gold.jsonl").unlink()
    assert run(capsys, "run", good, "--agent", "control:constant")[0] in (0, 6)
    (batch / "gold.jsonl").write_bytes(raw)
    Path(good).write_text(GOOD.format(job_id="one").replace("98", "99"))
    assert run(capsys, "run", good, "--offline")[0] == 5
    (batch / "gold.jsonl").write_bytes(raw.replace(b'"maintain"', b'"regain"'))
    assert run(capsys, "verify", str(batch))[0] == 3
    monkeypatch.setattr("clinworld.cli.inputs.load_knowledge", lambda *_: 1 / 0)
    code, _, err = run(capsys, "inputs", "drugs")
    assert code == 1 and "Internal error" in err

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("clinworld.cli.inputs.load_knowledge", interrupt)
    assert run(capsys, "inputs", "drugs")[0] == 130


def test_packs_of_both_kinds_are_listed(capsys):
    code, out, _ = run(capsys, "inputs", "packs", "--json")
    listed = {row["name"]: row for row in orjson.loads(out)["packs"]}
    assert code == 0 and list(listed) == ["early_warning", "emr_write", "tracking_review"]
    assert listed["early_warning"]["episodes"] == ["single", "rounds"] and "contents" not in listed["early_warning"]
    assert listed["emr_write"]["contents"]["rules"] and "clinworld certify emr_write" in listed["emr_write"]["used_by"]


def test_a_job_for_a_pack_without_questions_is_refused_with_its_line(job, capsys):
    code, _, err = run(capsys, "build", job(GOOD.replace("early_warning", "emr_write")))
    assert code == 2 and "line 3, task" in err and "record_writes" in err and "clinworld inputs packs" in err
    assert "allowed: early_warning, tracking_review" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("biuld", "x"), "biuld"),
        (("build",), "JOB"),
        (("build", "example-ew", "--wrokers", "2"), "wrokers"),
        (("build", "example-ww"), "example-ew"),
        (("build", "example-ew", "--language", "fr"), "allowed: en, zh"),
        (("inputs", "drug"), "Did you mean 'drugs'"),
        (("run", "example-ew", "--agent", "control:constnt"), "Did you mean"),
        (("run", "example-ew", "--agent", "nomodule_here:answer"), "nomodule_here"),
        (("run", "example-ew", "--agent", "json:lods"), "Did you mean 'loads'"),
        (("run", "example-ew"), "--agent"),
        (("run", "example-ew", "--offline", "--episode", "slices"), "slices"),
        (("run", "example-ew", "--offline", "--repeats", "0"), "at least 1"),
        (("run", "example-ew", "--offline", "--limit", "-1"), "at least 1"),
        (("build", "example-ew", "--pack", "nowhere"), "pack.yaml"),
        (("build", "example-ew", "--knowledge", "nowhere"), "nowhere"),
        (("verify", "example-ew", "--batch", "20200101-000000"), "no such batch"),
        (("run", "example-ew", "--offline", "--repeats", "1.5"), "'1.5' is no whole number"),
        (("run", "example-ew", "--offline", "--limit", "1e2"), "'1e2' is no whole number"),
        (("run", "example-ew", "--rejudge", "--offline"), "together with --offline"),
        (("run", "example-ew", "--rejudge", "--agent", "a:b", "--limit", "1"), "together with --agent, --limit"),
        (("run", "example-ew", "--rejudge", "--repeats", "2", "--episode", "single"), "together with --episode, --repeats"),
        (("run", "example-ew", "--rejudge", "--no-probes"), "together with --no-probes"),
        (("inputs", ""), "an empty name"),
        (("build", "example-ew", "--no-json"), "--no-json"),
        (("build", "emr_write"), "`clinworld certify emr_write`"),
        (("run", "emr_write", "--offline"), "environments/clinworld_emr_write"),
        (("report", "emr_write"), "a pack of questions is needed here"),
        (("verify", "emr_writ"), "no such job"),
        (("verify", "emr_write", "--language", "zh"), "--language: 'zh' with the pack emr_write"),
        (("verify", "emr_write", "--knowledge", "."), "--knowledge: not for emr_write"),
        (("inputs", "--pages", ""), "--pages: an empty name is no folder"),
        (("inputs", "--language", "zh"), "--language zh alone; it is for a kind of rows, or for --pages. Add --pages DIR or name a kind"),
        (("inputs", "jobs", "--language", "zh"), "--language zh with 'jobs'; it is for a kind of rows, or for --pages. Leave it out."),
        (("inputs", "example-ew", "--language", "zh"), "--language zh with 'example-ew'"),
        (("inputs", "drug", "--language", "zh"), "Did you mean 'drugs'"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_message_and_code_2(arguments, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert says in err and "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) in ([], ["artifacts"])


@pytest.mark.parametrize("out", ["", " "])
@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("build", "example-ew"),
        ("verify", "example-ew"),
        ("run", "example-ew", "--offline"),
        ("report", "example-ew"),
        ("certify", "emr_write"),
        ("cohort", "--patients", "1", "--seed", "7"),
    ],
    ids=lambda words: words[0],
)
def test_an_empty_out_does_not_mean_the_current_folder(arguments, out, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *arguments, "--out", out)
    assert code == 2 and "--out: an empty name is no folder" in err
    assert not list(tmp_path.iterdir())


WITH_SUBVERBS = {"serve": ("policy",)}


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_in_the_program_help_is_the_first_of_the_verbs_docstring(verb):
    from importlib import import_module

    function = getattr(import_module(f"clinworld.cli.{verb}"), verb)
    first = function.help if verb in WITH_SUBVERBS else function.__doc__.splitlines()[0]
    assert first == VERBS[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_lists_its_options(verb, capsys):
    code, out, _ = run(capsys, verb, *WITH_SUBVERBS.get(verb, ()), "--help")
    assert code == 0 and "--json" in out and "--quiet" in out
    assert "--empty" not in out and [word for word in out.split() if word.startswith("--no-")] in ([], ["--no-probes"])


@pytest.mark.slow
def test_json_is_one_document_and_nothing_else(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = job()
    for arguments in (
        ("build", good),
        ("verify", good),
        ("run", good, "--offline"),
        ("report", good),
        ("inputs",),
        ("inputs", "streams"),
        ("inputs", "protocols"),
        ("inputs", good),
    ):
        code, out, _ = run(capsys, *arguments, "--json")
        assert code == 0
        assert isinstance(orjson.loads(out), dict)


def test_inputs_alone_counts_every_kind_of_row_by_status(capsys):
    code, out, _ = run(capsys, "inputs")
    kinds = {line.split()[0]: line for line in out.splitlines()[:-1]}
    listed = ("conditions", "drugs", "analytes", "streams", "symptoms", "findings", "tests", "events", "protocols", "comorbidities")
    for kind in (*listed, "factors", "artifacts"):
        assert kinds[kind].split()[1].isdigit() and " %" in kinds[kind]
    assert {"specialties", "sources", "all"} <= set(kinds) and "benign" in kinds["events"] and "life" in kinds["events"]
    assert code == 0 and out.splitlines()[-1].endswith("% of which are checked.")
    document = orjson.loads(run(capsys, "inputs", "--json")[1])
    assert {row["kind"] for row in document["kinds"]} == set(kinds)


@pytest.mark.slow
def test_inputs_sources_says_what_share_of_all_rows_is_checked(capsys):
    assert "% are checked" in run(capsys, "inputs", "sources")[1].splitlines()[-1]
    assert 0 < orjson.loads(run(capsys, "inputs", "sources", "--json")[1])["checked_share_pct"] < 100


def test_a_failure_with_json_is_one_document_and_its_message_stays_on_standard_error(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, code in ((("build", "nothing.yaml"), 2), (("biuld",), 2), (("run", job(), "--agent", "a"), 2)):
        ended, out, err = run(capsys, *arguments, "--json")
        document = orjson.loads(out)
        assert ended == document["exit_code"] == code and document["error"] in err and set(document) == {"error", "exit_code"}


@pytest.mark.slow
def test_json_is_one_document_although_the_agent_prints(job, tmp_path):
    command = [sys.executable, "-m", "clinworld", "run", job(), "--agent", "bad_agents:prints", "--json"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "run")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert orjson.loads(done.stdout)["judged"] == 1
    for said in ("printed by the agent", "written by the agent", "printed by its child"):
        assert said in done.stderr


@pytest.mark.slow
def test_a_job_run_in_the_other_language_is_reported_and_can_be_run_in_its_own(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = job()
    assert run(capsys, "run", good, "--language", "zh", "--agent", "control:constant")[0] == 0
    assert run(capsys, "report", good)[0] == 0
    assert len(list((tmp_path / "artifacts" / "one").glob("2*"))) == 1
    assert run(capsys, "run", good, "--agent", "control:constant")[0] == 0
    assert len(list((tmp_path / "artifacts" / "one").glob("2*"))) == 2


@pytest.mark.slow
def test_an_agent_cannot_write_to_the_terminal(job, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "run")}
    good = job()
    for words in (["run", good, "--agent", "bad_agents:hostile_error"], ["report", good]):
        done = subprocess.run([sys.executable, "-m", "clinworld", *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 6
        assert all(line.isprintable() for line in (done.stdout + done.stderr).splitlines())
    (tmp_path / "bad.py").write_text(r"raise ValueError('\x1b[31mred\nnext')")
    command = [sys.executable, "-m", "clinworld", "run", good, "--agent", "bad:f"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and r"\x1b[31mred\nnext" in done.stderr and "\x1b" not in done.stderr


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "closed",
    [
        pytest.param(">&-", marks=SLOW),
        pytest.param("2>&-", marks=SLOW),
        pytest.param(">&- 2>&-", marks=SLOW),
        pytest.param("<&- >&- 2>&-", marks=SLOW),
        ">/dev/full",
    ],
)
def test_closed_or_full_streams_raise_nothing(closed, job, tmp_path):
    command = f"{sys.executable} -m clinworld run {job()} --offline --quiet {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == (2 if "full" in closed else 0)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert len(list((tmp_path / "artifacts" / "one").glob("2*/eval.jsonl"))) == 1


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("{}", "no key 'job_id'"),
        ("[]", "an object is expected"),
        ("null", "an object is expected"),
        ('{"stamps": 3}', "stamps is int; dict is expected"),
        ('{"refusals": [{}]}', "batch.json"),
        ('{"knowledge_folders": 5}', "knowledge_folders is int; list is expected"),
    ],
)
def test_a_batch_json_that_is_no_batchs_is_a_message_that_names_the_key(written, says, job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = job()
    run(capsys, "build", good)
    batch = next((tmp_path / "artifacts" / "one").glob("2*"))
    path = batch / "batch.json"
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | orjson.loads(written)) if len(written) > 4 else written.encode())
    for words in (("run", str(batch), "--offline"), ("verify", str(batch)), ("report", str(batch)), ("run", good, "--offline")):
        code, _, err = run(capsys, *words)
        assert code == 2 and says in err and "batch.json" in err, words


@pytest.mark.slow
def test_a_break_by_the_user_is_told_without_a_traceback(job, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ndef answer(prompt):\n    open('asked', 'a').close()\n    time.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "clinworld", "run", job(), "--agent", "slow:answer"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "asked").exists() and process.poll() is None:
        time.sleep(0.02)
    for _ in range(2):  # the second does not wait for the call in flight
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "Run again" in out + err and "Traceback" not in err and "asyncio" not in err


@pytest.mark.slow
def test_a_report_after_a_sample_names_the_items_that_were_not_asked(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    two = job(GOOD + SECOND, "two")
    assert run(capsys, "run", two, "--agent", "control:constant", "--limit", "1")[0] == 6
    code, out, _ = run(capsys, "report", two)
    assert code == 6 and out.count("control:constant was not run on it") == 1
    assert run(capsys, "run", two, "--agent", "control:constant")[0] == 0
    code, out, _ = run(capsys, "report", two)
    assert code == 0 and "was not run" not in out


def test_quiet_leaves_the_last_line_only(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, out, _ = run(capsys, "build", job(), "--quiet")
    assert len(out.splitlines()) == 1


def test_an_unwritable_output_is_one_message_and_leaves_nothing(job, tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("x")
    code, _, err = run(capsys, "build", job(), "--out", str(blocked))
    assert code == 2 and "cannot be written" in err and blocked.read_text() == "x"
    if os.geteuid() != 0:  # root may write anywhere
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        assert run(capsys, "build", job(), "--out", str(closed / "in"))[0] == 2


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly():
    command = f"{sys.executable} -m clinworld inputs analytes | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.slow
def test_the_command_and_the_module_agree():
    both = [
        subprocess.run([*start, "inputs", "devices"], capture_output=True, text=True).stdout
        for start in ([str(Path(sys.executable).parent / "clinworld")], [sys.executable, "-m", "clinworld"])
    ]
    assert both[0] == both[1] and both[0]
