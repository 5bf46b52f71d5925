"""docs/guarantees.md promises nothing without a check and two controls: every name in it exists, and every gate has a row."""

import ast
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from clinworld.gates.run_gates import gate_names

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guarantees.md"
HEADER = ["guarantee", "check", "control that passes", "control that fails"]


class Row(NamedTuple):
    guarantee: str
    check: str
    passes: str
    fails: str


def read_rows(text: str) -> list[Row]:
    """The rows of every table of the page that has the four columns."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells == HEADER:
            inside = True
        elif not cells:
            inside = False
        elif inside and set("".join(cells)) - set("-"):
            rows.append(Row(*(cell.strip("`") for cell in cells)))
    return rows


def functions_of(path: Path) -> set[str]:
    return {
        node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def find_faults(row: Row) -> list[str]:
    """What is named in a row and does not exist."""
    check = ROOT / "src" / "clinworld" / row.check
    faults = [] if check.is_file() else [f"no check {row.check}"]
    if not row.guarantee or row.passes == row.fails:
        faults.append(f"{row.guarantee!r}: a guarantee has two different controls")
    for control in (row.passes, row.fails):
        path, _, name = control.partition("::")
        if name:
            exists = (ROOT / path).is_file() and name in functions_of(ROOT / path)
        else:
            exists = check.is_file() and control in declared_controls(check)
        faults += [] if exists else [f"no control {control}"]
    return faults


def declared_controls(check: Path) -> tuple[str, ...]:
    module = import_module("clinworld." + ".".join(check.relative_to(ROOT / "src" / "clinworld").with_suffix("").parts))
    return getattr(module, "CONTROLS", ())


ROWS = read_rows(PAGE.read_text(encoding="utf-8"))


def test_the_page_holds_at_least_thirty_guarantees_each_said_once():
    assert len(ROWS) >= 30
    assert len({row.guarantee for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row.guarantee[:60] for row in ROWS])
def test_every_check_and_control_of_a_guarantee_exists(row):
    assert find_faults(row) == []


def test_every_gate_has_a_row():
    named = {row.check for row in ROWS}
    assert [f"{level}/{gate}" for level in ("item", "batch") for gate in gate_names(level) if f"gates/{level}/{gate}.py" not in named] == []


GOOD = Row("g", "gates/item/anchors_hold.py", "a_course_through_its_anchors", "a_course_that_misses_its_low_point")
CHANGES = {
    "no check": {"check": "gates/item/anchors_held.py"},
    "no control": {"fails": "a_course_nobody_drew"},
    "no control tests": {"passes": "tests/test_guarantees.py::test_that_is_not_there"},
    "two different controls": {"fails": GOOD.passes},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_row_that_names_what_does_not_exist_is_found(what):
    assert find_faults(GOOD) == []
    assert any(what.split(" tests")[0] in fault for fault in find_faults(GOOD._replace(**CHANGES[what])))


def test_a_table_of_another_shape_is_no_guarantee():
    assert read_rows("| a | b |\n|---|---|\n| c | d |\n") == []
    assert read_rows("| " + " | ".join(HEADER) + " |\n|---|---|---|---|\n| a | `b` | `c` | `d` |\n") == [Row("a", "b", "c", "d")]
