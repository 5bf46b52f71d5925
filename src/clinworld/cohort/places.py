"""Which drawn case stands at each place of a seed: the ids that a job without a mix gives its drawn cases, however many it draws.

An id names the series of every draw of its patient, so two places may never share one. Ids are short; where an earlier place has an id
already, the later place takes the next, as `world/draw.py` does one by one.
"""

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from clinworld.world.draw import drawn_id

Ids = NDArray[np.uint32]

_BASE = 16


def list_case_ids(seed: str, first: int, count: int) -> Ids:
    """The ids of `count` places from `first` on, as numbers; `name_case` writes them out."""

    def draw(place: int, attempt: int) -> int:
        return int(drawn_id(seed, place, attempt)[1:], _BASE)

    return settle_ids(draw, first + count)[first:]


def name_case(number: int) -> str:
    """The case id of a number.

    >>> name_case(10)
    'D0000000a'
    """
    return f"D{number:08x}"


def settle_ids(draw: Callable[[int, int], int], count: int) -> Ids:
    """An id for each of `count` places: `draw(place, attempt)` of the first attempt that no earlier place holds."""
    ids = np.fromiter((draw(place, 0) for place in range(count)), dtype=np.uint32, count=count)
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    waiting: list[int] = np.sort(order[1:][ranked[1:] == ranked[:-1]]).tolist()
    moved: dict[int, int] = {}
    held = set[int]()
    while waiting:
        place = heapq.heappop(waiting)
        if place in moved:
            continue
        attempt = 1
        while (number := draw(place, attempt)) in held or any(
            other < place and other not in moved for other in _places_of(number, ranked, order)
        ):
            attempt += 1
        moved[place] = number
        held.add(number)
        # A later place that drew this id at first comes too late for it.
        for other in _places_of(number, ranked, order):
            if other > place:
                heapq.heappush(waiting, other)
    for place, number in moved.items():
        ids[place] = number
    return ids


def _places_of(number: int, ranked: Ids, order: NDArray[np.int64]) -> list[int]:
    first, last = np.searchsorted(ranked, np.uint32(number), side="left"), np.searchsorted(ranked, np.uint32(number), side="right")
    places: list[int] = order[first:last].tolist()
    return places
