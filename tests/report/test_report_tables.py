import csv
import io
from pathlib import Path

import pytest
from report_case import AGENT, CONTROLS, add_agent, clean, collect, copy_batch

from clinworld.core.canary import CANARY
from clinworld.report.markdown import plain, render_markdown
from clinworld.report.tables import HEADS, render_tables

pytestmark = pytest.mark.rows


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_table_row_carries_its_stamps_and_the_canary() -> None:
    content = clean("en")
    tables = render_tables(content)
    assert set(tables) == {f"{name}.csv" for name in HEADS}
    for text in tables.values():
        rows = read(text)
        assert rows and all(row["canary"] == CANARY and f"judge:{content.parts[0].stamps['judge']}" in row["stamps"] for row in rows)


def test_tables_hold_numbers_for_what_was_measured_and_words_for_the_rest() -> None:
    rows = read(render_tables(clean("en"))["scores.csv"])
    humble = next(row for row in rows if row["agent"] == "control:humble" and row["dimension"] == "direction")
    oracle = next(row for row in rows if row["agent"] == "control:oracle" and row["dimension"] == "direction")
    assert humble["value"] == "unmeasured" and humble["n"] == "0" and humble["reason"]
    assert float(oracle["value"]) == 1.0 and oracle["n"] == "3" and oracle["floor"] and oracle["ceiling"]


def test_a_row_of_cells_has_every_verdict_and_gate_of_its_cell() -> None:
    content = clean("en")
    rows = read(render_tables(content)["cells.csv"])
    assert len(rows) == 3 * len(CONTROLS)
    declared = {f"gate:{name}" for name in content.parts[0].pack.hard_gates}
    assert declared <= set(rows[0]) and {row["gate:hallucinated_clinical_fact"] for row in rows} == {"clear", "hit"}


def test_text_that_a_spreadsheet_would_run_is_kept_as_text(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, "{}", name="=cmd|' /C calc'!A0")
    rows = read(render_tables(collect(batch))["scores.csv"])
    assert any(row["agent"].startswith("'=cmd") for row in rows) and not any(row["agent"].startswith("=") for row in rows)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_markdown_is_a_few_screens_and_holds_scores_gates_refusals_and_stamps(tmp_path: Path, language: str) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, "{}")
    content = collect(batch, language=language)  # type: ignore[arg-type]
    text = render_markdown(content)
    assert text == render_markdown(content)
    assert len(text.splitlines()) < 130 and CANARY in text
    for piece in (plain(AGENT), "event_density_mismatch", content.parts[0].stamps["judge"], "EX-D"):
        assert piece in text


def test_outside_text_cannot_break_a_markdown_table() -> None:
    assert plain("a|b\n<script>`x`") == "a\\|b \\<script\\>\\`x\\`"
    assert len(plain("x" * 10_000)) < 200
