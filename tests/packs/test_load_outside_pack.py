"""A copy of a packaged pack under another name is a pack of its own: every verb takes it with --pack."""

import re
import shutil
from pathlib import Path

import orjson
import pytest

from clinworld.cli.main import main
from clinworld.packs import load

PACKAGED = Path(load.__file__).parent
JOB = """\
job_id: mine
task: my_pack
cases:
  - case_id: A-1
    raw: {disease: obesity, drug: tirzepatide, start_weight: 98, nadir_weight: 85}
    latent: {outcome: maintain}
"""


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my_pack"
    shutil.copytree(PACKAGED / "early_warning", folder, ignore=shutil.ignore_patterns("__pycache__"))
    declaration = folder / "pack.yaml"
    declaration.write_text(declaration.read_text(encoding="utf-8").replace("pack: early_warning", "pack: my_pack"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(JOB, encoding="utf-8")
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.slow
def test_a_renamed_copy_of_a_pack_builds_verifies_runs_and_reports_with_pack_and_afterwards_from_its_batch(
    pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in (["build"], ["verify"], ["run", "--offline"], ["report"]):
        code, out, err = run(capsys, *verb, "mine.yaml", "--pack", str(pack), "--json")
        assert code == 0, (verb, out, err)
    batch = next(Path("artifacts/mine").glob("2*"))
    assert orjson.loads((batch / "batch.json").read_bytes())["pack"] == "my_pack"
    assert '"pack":"my_pack"' in (batch / "items.jsonl").read_text(encoding="utf-8")
    for verb in (["verify"], ["run", "--offline"], ["report"]):
        assert run(capsys, *verb, str(batch))[0] == 0, verb


@pytest.mark.slow
def test_a_renamed_copy_of_a_pack_passes_every_check_of_a_pack(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "verify", str(pack))
    assert code == 0 and re.search(r"15 checks, 0 failed; \d+ drawn items", out)


def test_checks_that_could_not_run_are_counted_apart_from_those_that_failed(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt = pack / "prompt.en.md"
    prompt.write_text(prompt.read_text(encoding="utf-8").replace("forecast/frame.en.md", "forecast/frme.en.md"), encoding="utf-8")
    code, out, _ = run(capsys, "verify", str(pack))
    assert code == 3
    assert "1 failed (prompts), 11 not run (items, gold," in out and "no item drawn" in out
    assert re.search(r"prompt\.en\.md, line 1: found no file '\.\./forecast/frme\.en\.md'", out)


def test_a_packaged_name_is_taken_and_the_message_says_so(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declaration = pack / "pack.yaml"
    declaration.write_text(declaration.read_text(encoding="utf-8").replace("pack: my_pack", "pack: early_warning"), encoding="utf-8")
    code, _, err = run(capsys, "build", "mine.yaml", "--pack", str(pack))
    assert code == 2 and "a pack has a name of its own" in err
