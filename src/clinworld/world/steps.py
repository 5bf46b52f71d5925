"""Work in steps: what makes one patient can pause between its steps, so that several patients are made side by side.

A processor is faster at one kind of step for many patients in a row, whose code and tables it then still has at hand, than at all steps
of one patient after another. Results are the same either way: a step knows its own patient only.
"""

from collections.abc import Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]  # pauses between its steps and returns a result


def run_alone(steps: Steps[T]) -> T:
    """The result of work in steps."""
    return run_together([steps])[0]


def run_together(works: Iterable[Steps[T]]) -> list[T]:
    """The results of several pieces of work, step by step side by side.

    >>> def double(number: int) -> Steps[int]:
    ...     yield
    ...     return 2 * number
    >>> run_together(double(number) for number in (1, 2, 3))
    [2, 4, 6]
    """
    waiting = dict(enumerate(works))
    results: dict[int, T] = {}
    while waiting:
        for place, steps in list(waiting.items()):
            try:
                next(steps)
            except StopIteration as finished:
                results[place] = finished.value
                del waiting[place]
    return [results[place] for place in sorted(results)]
