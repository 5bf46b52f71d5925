from dataclasses import replace
from pathlib import Path

import pytest
from report_case import CONTROLS, change_evaluations, collect, copy_batch

from clinworld.core.errors import StampMismatch, UsageError
from clinworld.core.store import read_rows, write_lines
from clinworld.report.rows_in_force import choose_rows, require_one_stamp
from clinworld.run.batch_files import EVAL, Batch
from clinworld.schema.cell import Evaluation

OLD = "0123456789abcdef"


def under(row: Evaluation, stamp: str, name: str = "judge") -> Evaluation:
    return replace(row, stamps={**row.stamps, name: stamp})


def age_one_agent(batch: Batch, name: str = "judge") -> None:
    change_evaluations(batch, lambda row: under(row, OLD, name) if row.cell.agent == CONTROLS[0] else row)


def test_rows_under_two_judge_stamps_are_refused_with_their_counts_and_what_to_do(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    age_one_agent(batch)
    with pytest.raises(StampMismatch) as caught:
        collect(batch)
    text = str(caught.value)
    assert caught.value.exit_code == 5
    assert f"3 of 15 rows stand under judge {OLD}" in text and "12 of 15" in text
    assert "--rejudge" in text and "--as-judged" in text


@pytest.mark.parametrize(("name", "advice"), [("exam", "run the agents again"), ("world", "build and run again")])
def test_rows_under_two_exam_or_world_stamps_are_refused_with_other_advice(tmp_path: Path, name: str, advice: str) -> None:
    batch = copy_batch(tmp_path)
    age_one_agent(batch, name)
    with pytest.raises(StampMismatch, match=advice):
        collect(batch)


def test_rows_under_one_stamp_are_accepted_and_give_it() -> None:
    assert require_one_stamp([], "nowhere") == {}


def test_an_older_row_of_the_same_cell_is_superseded_and_no_mixture(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    rows = list(read_rows(batch.path(EVAL)))
    older = [{**row, "stamps": {**row["stamps"], "judge": OLD}} for row in rows]
    write_lines(batch.path(EVAL), [*older[:5], *rows, *older[5:]])
    part = collect(batch).parts[0]
    assert len(part.evaluations) == 15 and part.superseded == 15
    assert part.stamps["judge"] == rows[0]["stamps"]["judge"]


def test_as_judged_reads_the_rows_of_a_kept_file_by_the_start_of_their_stamp(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    rows = list(read_rows(batch.path(EVAL)))
    write_lines(batch.path(f"eval-{OLD}.jsonl"), [{**row, "stamps": {**row["stamps"], "judge": OLD}} for row in rows[:6]])
    content = collect(batch, as_judged=OLD[:8])
    assert len(content.parts[0].evaluations) == 6
    assert content.parts[0].stamps["judge"] == OLD and content.parts[0].drift


def test_as_judged_with_an_unknown_stamp_names_those_there_are(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    with pytest.raises(UsageError) as caught:
        choose_rows(batch, {}, as_judged="ffffffff")
    assert next(read_rows(batch.path(EVAL)))["stamps"]["judge"] in str(caught.value)


@pytest.mark.slow
def test_one_batch_given_with_its_copy_counts_every_cell_once(tmp_path: Path) -> None:
    one, two = copy_batch(tmp_path / "a"), copy_batch(tmp_path / "b")
    part = collect(one, two).parts[0]
    assert len(part.evaluations) == 15 and len(part.batches) == 2 and len(part.patients) == 3


def test_one_cell_with_two_verdicts_in_two_batches_is_refused(tmp_path: Path) -> None:
    one, two = copy_batch(tmp_path / "a"), copy_batch(tmp_path / "b")
    change_evaluations(two, lambda row: replace(row, verdicts=row.verdicts[1:]) if row.cell.agent == CONTROLS[0] else row)
    with pytest.raises(StampMismatch, match="another verdict"):
        collect(one, two)
