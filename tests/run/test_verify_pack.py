import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from broken_packs import BROKEN, PACKAGED, copy_pack

from clinworld.core.errors import UsageError
from clinworld.packs.load import load_pack
from clinworld.run import pack_shape
from clinworld.run.verify_pack import verify_pack

CHECKS = {
    "declaration",
    "shape",
    "names",
    "prompts",
    "items",
    "gold",
    "determinism",
    "languages",
    "mounting",
    "gold control",
    "floors",
    "silence",
    "hard gates",
    "probes",
    "written controls",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["early_warning", "tracking_review"])
def test_a_packaged_pack_proves_itself_in_both_languages(name):
    summary = verify_pack(PACKAGED / name)
    assert summary.findings == () and summary.exit_code == 0
    assert {check.name for check in summary.checks} == CHECKS and all(check.state == "passed" for check in summary.checks)
    assert summary.languages == ("en", "zh")
    assert summary.line().startswith(f"Verified pack {name}: {len(CHECKS)} checks, 0 failed;")


@pytest.mark.slow
@pytest.mark.parametrize("what", BROKEN)
def test_a_pack_with_one_thing_broken_fails_and_the_finding_names_it(what, tmp_path):
    breaks, check, message = BROKEN[what]
    folder = copy_pack(tmp_path)
    breaks(folder)
    summary = verify_pack(folder)
    assert summary.exit_code == 3
    failed = [each for each in summary.checks if each.name == check]
    assert [each.state for each in failed] == ["failed"]
    assert re.search(message, "\n".join(map(str, failed[0].findings))), failed[0].findings
    assert check in summary.line()


@pytest.mark.slow
def test_an_untouched_copy_outside_the_package_passes(tmp_path):
    assert verify_pack(copy_pack(tmp_path)).findings == ()


@pytest.mark.slow
def test_the_verb_ends_with_the_exit_code_and_one_json_document(tmp_path):
    folder = copy_pack(tmp_path)
    (folder / "README.md").unlink()
    command = [sys.executable, "-m", "clinworld", "verify", str(folder), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    document = orjson.loads(done.stdout)
    assert done.returncode == 3 and document["exit_code"] == 3
    assert any("README.md: found no such file" in finding for finding in document["findings"])


def test_a_folder_that_cannot_be_loaded_is_a_finding_and_nothing_else_is_claimed(tmp_path):
    folder = copy_pack(tmp_path)
    (folder / "prompt.zh.md").unlink()
    summary = verify_pack(folder)
    assert summary.exit_code == 3 and summary.items == 0
    assert any("'zh' without prompt.zh.md" in finding for finding in summary.findings)
    assert {check.name for check in summary.checks} == {"declaration", "shape"}


def test_checks_that_could_not_be_made_are_said_to_be_not_run(tmp_path):
    folder = copy_pack(tmp_path)
    text = (folder / "pack.yaml").read_text()
    (folder / "pack.yaml").write_text(text.replace("{use: top_driver}", "{use: top_drivers}"))
    summary = verify_pack(folder)
    states = {check.name: check.state for check in summary.checks}
    assert states["names"] == "failed" and states["floors"] == states["gold"] == "not_run"
    assert summary.exit_code == 3 and any("not run" in finding for finding in summary.findings)


def test_a_name_that_another_pack_has_is_a_finding(tmp_path):
    other = copy_pack(tmp_path / "one", "early_warning")
    (other / "pack.yaml").write_text((other / "pack.yaml").read_text().replace("pack: early_warning", "pack: mine"))
    folder = copy_pack(tmp_path / "two", "early_warning")
    (folder / "pack.yaml").write_text((folder / "pack.yaml").read_text().replace("pack: early_warning", "pack: mine"))
    (folder / "prompt.en.md").unlink()  # so that nothing is drawn
    (folder / "prompt.en.md").write_text("no place\n", encoding="utf-8")
    summary = verify_pack(folder, extra_dirs=[other])
    assert any("a name of its own" in finding for finding in summary.findings)


@pytest.mark.parametrize("name", ["early_warning", "tracking_review"])
def test_the_packaged_folders_have_their_shape(name):
    folder = PACKAGED / name
    loaded = load_pack(folder)
    found = [*pack_shape.check_files(folder), *pack_shape.check_imports(folder), *pack_shape.check_declaration(loaded)]
    assert [*found, *pack_shape.check_prompts(loaded), *pack_shape.check_mounted(loaded, "forecast")] == []


QUICK = [what for what, (_, check, _) in BROKEN.items() if check in ("shape", "names")]


@pytest.mark.parametrize("what", QUICK)
def test_what_is_wrong_with_a_folder_is_seen_without_building_anything(what, tmp_path):
    breaks, _, message = BROKEN[what]
    folder = copy_pack(tmp_path)
    breaks(folder)
    loaded = load_pack(folder)
    found = [*pack_shape.check_files(folder), *pack_shape.check_imports(folder), *pack_shape.check_declaration(loaded)]
    assert re.search(message, "\n".join(map(str, found)))


def test_a_judge_for_another_kind_of_gold_is_not_mounted():
    loaded = load_pack(PACKAGED / "early_warning")
    assert [finding.check for finding in pack_shape.check_mounted(loaded, "workup")] == ["mounting"] * len(loaded.pack.judges)


def test_verify_pack_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = copy_pack(tmp_path / "packs")
    (folder / "prompt.en.md").write_text("no place\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    verify_pack(folder)
    assert {path: path.read_bytes() for path in Path(tmp_path).rglob("*") if path.is_file() and "__pycache__" not in path.parts} == before


WRITES = PACKAGED / "emr_write"


@pytest.mark.slow
def test_a_pack_of_record_writes_proves_itself_without_items():
    summary = verify_pack(WRITES)
    assert summary.findings == () and {check.state for check in summary.checks} == {"passed"}
    assert {"tasks", "faults", "corpus", "labelled", "sequences_mockmed"} <= {check.name for check in summary.checks}
    assert "19 rules" in summary.line() and "item" not in summary.line()


@pytest.mark.parametrize(
    "lacking",
    [
        pytest.param("explicit_decision", marks=pytest.mark.slow),
        pytest.param("whole_frame", marks=pytest.mark.slow),
        pytest.param("one_to_one_rows", marks=pytest.mark.slow),
    ],
)
def test_a_pack_of_record_writes_whose_checker_lacks_a_rule_fails_its_proof(lacking, monkeypatch):
    from clinworld.packs.emr_write import episode, proof
    from clinworld.packs.emr_write.checker.check import check_write

    def lax(*given, rules, **more):
        return check_write(*given, rules=rules - {lacking}, **more)

    monkeypatch.setattr(episode, "check_write", lax)
    monkeypatch.setattr("clinworld.packs.emr_write.search.cases.check_write", lax)
    kept = [check for check in proof.CHECKS if check.name in ("tasks", "faults", "labelled")]
    monkeypatch.setattr(proof, "CHECKS", tuple(kept))
    summary = verify_pack(WRITES)
    assert summary.exit_code == 3 and [check.name for check in summary.checks if check.state == "failed"]


def test_knowledge_from_outside_is_refused_where_no_items_are_drawn(tmp_path):
    with pytest.raises(UsageError, match="--knowledge"):
        verify_pack(WRITES, knowledge_dir=tmp_path)
