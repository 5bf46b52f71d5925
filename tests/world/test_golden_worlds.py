"""Twelve printed patients stay as they were reviewed: `pytest tests/world/test_golden_worlds.py --update-golden` prints them again."""

import pytest
from golden_cases import GOLDEN, NAMES, build_golden, print_golden

from clinworld.core.canary import CANARY


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_world_reads_as_it_was_reviewed(name: str, request: pytest.FixtureRequest) -> None:
    path, printed = GOLDEN / f"{name}.txt", f"{print_golden(build_golden(name))}\n{CANARY}\n"
    if request.config.getoption("--update-golden"):
        path.write_text(printed, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing; print it with --update-golden"
    was, now = path.read_text(encoding="utf-8").splitlines(), printed.splitlines()
    moved = [(i + 1, a, b) for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b]
    assert not moved, f"{path.name}, line {moved[0][0]} of {len(moved)} that differ: {moved[0][1]!r} is now {moved[0][2]!r}"
    assert len(was) == len(now), f"{path.name} has {len(was)} lines, printed are {len(now)}"


def test_there_is_one_golden_file_for_each_of_the_twelve() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(NAMES) and len(NAMES) == 12
