from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from report_case import CONTROLS, change_evaluations, copy_batch

from clinworld.cli.main import main
from clinworld.core.store import read_json, write_json
from clinworld.run.batch_files import AUDIT, BATCH, EVAL, ITEMS

pytestmark = pytest.mark.rows

FILES = ["index.html", "report.md", "tables/cells.csv", "tables/gates.csv", "tables/probes.csv", "tables/refusals.csv", "tables/scores.csv"]


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_report_of_a_batch_writes_page_markdown_and_tables_into_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    assert main(["report", str(batch.folder)]) == 0
    assert files(batch.folder / "report") == FILES
    assert capsys.readouterr().out.splitlines()[-1] == f"Reported 15 cells of 1 batch: {batch.folder / 'report' / 'index.html'}"


def test_report_of_a_job_finds_its_newest_batch_under_out(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    assert main(["report", "example-ew", "--out", str(tmp_path), "--quiet"]) == 0
    assert files(batch.folder / "report") == FILES


def test_report_of_a_batch_folder_goes_where_out_says(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    assert main(["report", str(batch.folder), "--out", str(tmp_path / "there"), "--quiet"]) == 0
    assert files(tmp_path / "there") == FILES and not (batch.folder / "report").exists()


def test_report_changes_no_saved_row(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    before = {name: batch.path(name).read_bytes() for name in (EVAL, ITEMS, AUDIT, BATCH)}
    main(["report", str(batch.folder), "--quiet"])
    assert {name: batch.path(name).read_bytes() for name in before} == before


def test_report_with_json_prints_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    assert main(["report", str(batch.folder), "--json"]) == 0
    document = orjson.loads(capsys.readouterr().out)
    assert document["page"].endswith("index.html") and document["parts"][0]["boards"][0]["common_items"]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_report_language_is_the_batchs_own_unless_another_is_asked_for(tmp_path: Path, language: str) -> None:
    batch = copy_batch(tmp_path)
    main(["report", str(batch.folder), "--quiet", *(["--language", language] if language != "en" else [])])
    assert f'<html lang="{"zh-Hans" if language == "zh" else "en"}">' in (batch.folder / "report" / "index.html").read_text(
        encoding="utf-8"
    )


def test_mixed_stamps_are_exit_5_and_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    change_evaluations(batch, lambda row: replace(row, stamps={**row.stamps, "judge": "00"}) if row.cell.agent == CONTROLS[0] else row)
    assert main(["report", str(batch.folder)]) == 5
    assert not (batch.folder / "report").exists() and "cannot share a table" in capsys.readouterr().err


def test_a_batch_its_own_gates_refused_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    lines = batch.path(AUDIT).read_bytes().splitlines(keepends=True)
    batch.path(AUDIT).write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b'"outcome":"passed"', b'"outcome":"refused"'))
    assert main(["report", str(batch.folder)]) == 4
    assert "refused by a batch gate" in capsys.readouterr().err


def test_a_batch_that_is_not_as_built_is_exit_5(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    raw = batch.path(ITEMS).read_bytes()
    batch.path(ITEMS).write_bytes(raw.replace(b'"index_day":84', b'"index_day":85', 1))
    assert main(["report", str(batch.folder)]) == 5


def test_open_cells_are_exit_6_with_a_page_that_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    change_evaluations(
        batch,
        lambda row: replace(row, state="undetermined", cause="HTTP 500", verdicts=(), gates=()) if row.cell.agent == CONTROLS[0] else row,
    )
    assert main(["report", str(batch.folder)]) == 6
    assert "3 cells are undetermined (HTTP 500)" in capsys.readouterr().out
    assert "Not final" in (batch.folder / "report" / "index.html").read_text(encoding="utf-8")


def test_a_job_without_a_batch_is_exit_2_and_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "example-ew", "--out", str(tmp_path)]) == 2
    assert "clinworld build" in capsys.readouterr().err


def test_report_without_a_target_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 2
    assert "no target" in capsys.readouterr().err


def test_an_unwritable_place_is_exit_2_with_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = copy_batch(tmp_path)
    (tmp_path / "file").write_text("x")
    assert main(["report", str(batch.folder), "--out", str(tmp_path / "file"), "--quiet"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_provenance_in_batch_json_is_read_as_it_stands(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    row = read_json(batch.path(BATCH))
    row["host"] = "<script>"
    write_json(batch.path(BATCH), row)
    assert main(["report", str(batch.folder), "--quiet"]) == 0
    assert "<script" not in (batch.folder / "report" / "index.html").read_text(encoding="utf-8")
