"""Claims about work in steps."""

import pytest

from clinworld.core.errors import PremiseConflict
from clinworld.world.steps import Steps, run_alone, run_together


def count(name: str, steps: int, seen: list[str]) -> Steps[str]:
    """Work of so many steps, each noted in `seen`."""
    for _ in range(steps):
        seen.append(name)
        yield
    return name.upper()


def test_results_come_in_the_order_of_the_works_however_many_steps_each_takes():
    seen: list[str] = []
    assert run_together([count("a", 3, seen), count("b", 0, seen), count("c", 1, seen)]) == ["A", "B", "C"]
    assert seen == ["a", "c", "a", "a"]


def test_no_work_has_no_result():
    assert run_together([]) == []


def test_a_work_that_cannot_be_done_is_an_error_of_all():
    def fail() -> Steps[str]:
        yield
        raise PremiseConflict("case x", "a contradiction", "none")

    with pytest.raises(PremiseConflict, match="contradiction"):
        run_together([count("a", 3, []), fail()])
    with pytest.raises(PremiseConflict, match="contradiction"):
        run_alone(fail())
