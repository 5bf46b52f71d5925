"""One walk through every ending of the command line, and what a user's mistake looks like from outside."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from clinworld.cli.main import VERBS, main

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
    ],
)
def test_a_mistake_on_the_command_line_is_one_message_and_code_2(arguments, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert says in err and "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) in ([], ["artifacts"])


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_in_the_program_help_is_the_first_of_the_verbs_docstring(verb):
    from importlib import import_module

    function = getattr(import_module(f"clinworld.cli.{verb}"), verb)
    assert function.__doc__.splitlines()[0] == VERBS[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_lists_its_options(verb, capsys):
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0 and "--json" in out and "--quiet" in out


def test_json_is_one_document_and_nothing_else(job, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = job()
    for arguments in (
        ("build", good),
        ("verify", good),
        ("run", good, "--offline"),
        ("report", good),
        ("inputs", "streams"),
        ("inputs", good),
    ):
        code, out, _ = run(capsys, *arguments, "--json")
        assert code == 0
        assert isinstance(orjson.loads(out), dict)


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


def test_a_closed_pipe_ends_quietly():
    command = f"{sys.executable} -m clinworld inputs analytes | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def test_the_command_and_the_module_agree():
    both = [
        subprocess.run([*start, "inputs", "devices"], capture_output=True, text=True).stdout
        for start in ([str(Path(sys.executable).parent / "clinworld")], [sys.executable, "-m", "clinworld"])
    ]
    assert both[0] == both[1] and both[0]
