"""What `clinworld cohort` says from outside: endings, messages, one last line."""

import os
import signal
import subprocess
import sys
import time

import orjson
import pytest

from clinworld.cli.main import main
from clinworld.cohort import tables
from clinworld.core.store import read_rows

pytest.importorskip("pyarrow.parquet", reason="cohorts need the extra `tables`")


def run(capsys, *arguments):
    code = main(["cohort", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_cohort_ends_with_one_line_that_says_what_was_made_and_where(tmp_path, capsys):
    out = tmp_path / "c"
    arguments = ("--patients", "2", "--seed", "7", "--out", str(out), "--without-daily")
    code, said, told = run(capsys, *arguments)
    assert (code, told) == (0, "")
    rows = orjson.loads((out / "cohort.json").read_bytes())["counts"]["rows"]
    assert said == f"Made 2 patients, {rows} rows in 1 shard: {out}\n"
    assert run(capsys, *arguments)[1] == f"Nothing was missing of 2 patients, {rows} rows in 1 shard: {out}\n"
    document = orjson.loads(run(capsys, *arguments, "--json")[1])
    assert (document["made"], document["kept"], document["counts"]["rows"]) == (0, 2, rows)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"--patients": "0"}, "--patients: 0; allowed: 1 to 10,000,000"),
        ({"--patients": "-3"}, "--patients: -3; allowed"),
        ({"--patients": "1000000000000"}, "--patients: 1,000,000,000,000; allowed"),
        ({"--patients": "1e12"}, "no whole number"),
        ({"--first": "-1"}, "--first: -1; allowed"),
        ({"--first": "9999999"}, "places go up to 10,000,000"),
        ({"--shard-size": "0"}, "--shard-size: 0; allowed"),
        ({"--workers": "0"}, "--workers: 0; allowed"),
        ({"--workers": "65"}, "--workers: 65; allowed: 1 to 64"),
        ({"--seed": " "}, "--seed"),
        ({"--seed": "private:x"}, "--seed"),
        ({"--language": "fr"}, "'fr'; allowed: en, zh"),
        ({"--pateints": "2"}, "--pateints"),
        ({"--knowledge": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"--out": __file__}, "a file; a folder is expected"),
        ({"--out": "/proc/nothing/here"}, "cannot be written"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_one_message_and_exit_2(tmp_path, capsys, changes, says):
    given = {"--patients": "2", "--seed": "7", "--out": str(tmp_path / "c"), **changes}
    code, said, told = run(capsys, *[word for pair in given.items() for word in pair])
    assert (code, said) == (2, "")
    assert says in told and "Traceback" not in told
    assert not (tmp_path / "c").exists()


def test_without_pyarrow_one_message_says_what_to_install(tmp_path, capsys, monkeypatch):
    def fail(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(tables, "import_module", fail)
    code, _, told = run(capsys, "--patients", "2", "--seed", "7", "--out", str(tmp_path / "c"))
    assert code == 2 and "pip install 'clinworld[tables]'" in told and not (tmp_path / "c").exists()


def test_a_foreign_folder_and_other_arguments_are_exit_2(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("x")
    code, _, told = run(capsys, "--patients", "1", "--seed", "7", "--out", str(tmp_path))
    assert code == 2 and "holds mine.txt" in told
    out = tmp_path / "c"
    usual = ("--seed", "7", "--out", str(out), "--without-daily")
    assert run(capsys, "--patients", "1", *usual)[0] == 0
    code, _, told = run(capsys, "--patients", "2", *usual)
    assert code == 2 and "patients 1" in told and "patients 2" in told


@pytest.mark.parametrize("name", ["cohort.json", ".shards.jsonl"])
def test_damaged_bookkeeping_is_one_line_and_exit_2(tmp_path, capsys, name):
    out = tmp_path / "c"
    arguments = ("--patients", "1", "--seed", "7", "--out", str(out), "--without-daily")
    assert run(capsys, *arguments)[0] == 0
    (out / name).write_bytes((out / name).read_bytes().replace(b'"rows"', b'"rwos"', 1))
    code, said, told = run(capsys, *arguments)
    assert (code, said, told.count("\n")) == (2, "", 1)
    assert told.startswith(str(out / name)) and "rwos'. Did you mean" in told


@pytest.mark.slow
def test_a_seed_is_the_one_a_job_file_would_read(tmp_path, capsys):
    digests = []
    for name, seed in (("a", "7"), ("b", "007")):
        run(capsys, "--patients", "1", "--seed", seed, "--out", str(tmp_path / name), "--without-daily")
        digests.append(orjson.loads((tmp_path / name / "cohort.json").read_bytes())["digest"])
    assert digests[0] == digests[1]


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_is_exit_130_and_the_same_command_goes_on(tmp_path, workers):
    out = tmp_path / "c"
    command = [sys.executable, "-m", "clinworld", "cohort", "--patients", "120", "--seed", "7", "--shard-size", "4", "--without-daily"]
    command += ["--out", str(out)]
    process = subprocess.Popen([*command, "--workers", workers], stderr=subprocess.PIPE, start_new_session=True)
    began = time.monotonic()
    journal = out / ".shards.jsonl"  # a shard is done when this says so, not when its file is there
    while (not journal.exists() or len(list(read_rows(journal))) < 2) and time.monotonic() - began < 30:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    told = process.communicate(timeout=20)[1].decode()
    assert process.returncode == 130, told
    assert "Traceback" not in told and "Run the same command again" in told
    kept = 4 * len(list(read_rows(journal)))
    assert 8 <= kept < 120
    done = subprocess.run([*command, "--workers", "2"], capture_output=True, text=True, check=True)
    assert f"Made {120 - kept} of 120 patients" in done.stdout
