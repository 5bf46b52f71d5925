"""On which days events are told: a renewal layout with clusters, the same for every kind of event and blind to the answer.

Decides days only; what is told on them is drawn elsewhere. Real symptoms that are drawn, not written, can use the same sampler.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Series, words_to_normal, words_to_uniform
from clinworld.knowledge.load import Knowledge


class DayRules(NamedTuple):
    """The numbers of the layout: first day, share and length of follow-ups, spread of the other gaps, and what is drawn again."""

    first_day: int
    look_alike_margin: int
    p_follow_up: float
    follow_up_low: float
    follow_up_high: float
    least_gap: float
    gap_log_sd: float
    most_late_share: float
    spread_from: int
    most_layouts: int


@lru_cache(maxsize=4)
def load_day_rules(knowledge: Knowledge) -> DayRules:
    """The layout numbers of a knowledge."""
    value = knowledge.parameter
    return DayRules(
        first_day=int(value("events_first_day")),
        look_alike_margin=int(value("events_look_alike_margin")),
        p_follow_up=value("events_p_follow_up"),
        follow_up_low=value("events_follow_up_low"),
        follow_up_high=value("events_follow_up_high"),
        least_gap=value("events_least_gap"),
        gap_log_sd=value("events_gap_log_sd"),
        most_late_share=value("events_most_late_share"),
        spread_from=int(value("events_spread_from")),
        most_layouts=int(value("events_most_layouts")),
    )


def draw_note_days(n: int, first: int, last: int, taken: Collection[int], series: Series, rules: DayRules, where: str) -> list[int]:
    """`n` distinct days in [first, last], ascending, none of them in `taken`.

    Raises PremiseConflict when there are fewer free days than events.
    """
    return next(_draw_layouts(n, first, last, taken, series, rules, where), [])


def draw_spread_days(n: int, first: int, last: int, taken: Collection[int], series: Series, rules: DayRules, where: str) -> list[int]:
    """As `draw_note_days`, drawn again while too many lie in the last third; after a bounded number the last layout stands."""
    days: list[int] = []
    late_from = first + 2 * (last - first) / 3
    for days in _draw_layouts(n, first, last, taken, series, rules, where):
        if n < rules.spread_from or sum(day > late_from for day in days) <= rules.most_late_share * n:
            break
    return days


def _draw_layouts(
    n: int, first: int, last: int, taken: Collection[int], series: Series, rules: DayRules, where: str
) -> Iterator[list[int]]:
    held = {day for day in taken if first <= day <= last}
    n_free = max(last + 1 - first, 0) - len(held)
    if n > n_free:
        raise PremiseConflict(
            where,
            f"{n} events between day {first} and day {last}",
            f"{n_free} days are free",
            do="Lower the event density or lengthen the course.",
            kind="event_density_mismatch",
        )
    for layout in range(rules.most_layouts if n else 0):
        yield _settle(_lay_out(n, first, last, series, layout, rules), first, last, held)


def _lay_out(n: int, first: int, last: int, series: Series, layout: int, rules: DayRules) -> list[int]:
    # Gaps before, between and after the events; a gap between two is a follow-up or a lognormal share of what is left. What is left
    # at the ends is shared out evenly, so that events do not pile up there.
    words = series.words(3 * (n + 1), start=layout * 3 * (n + 1))
    shares = np.exp(rules.gap_log_sd * words_to_normal(words[: n + 1])).tolist()
    chance = words_to_uniform(words[n + 1 :]).tolist()
    ends = shares[0] + shares[n]
    shares[0] = ends * chance[0]
    shares[n] = ends - shares[0]
    follow_ups = [gap for gap in range(1, n) if chance[gap] < rules.p_follow_up]
    fixed = [0.0, *([rules.least_gap] * (n - 1)), 0.0]
    for gap in follow_ups:
        fixed[gap] = rules.follow_up_low + (rules.follow_up_high - rules.follow_up_low) * chance[n + 1 + gap]
    span = last - first + 1
    left = span - float(np.add.reduce(fixed))
    if left < span / 2:  # dense: no room for the fixed gaps, so shares only
        fixed, left = [0.0] * (n + 1), float(span)
    else:
        for gap in follow_ups:
            shares[gap] = 0.0
    scale = left / float(np.add.reduce(shares))
    positions = accumulate(gap + share * scale for gap, share in zip(fixed[:n], shares, strict=False))
    return [first + min(span - 1, int(position)) for position in positions]


def _settle(wanted: list[int], first: int, last: int, held: set[int]) -> list[int]:
    # Each event on its own free day of [first, last]: the wanted one, or the nearest, the earlier of two equally near.
    held = set(held)
    settled: list[int] = []
    for day in wanted:
        place, apart = day, 0
        while place in held or not first <= place <= last:
            apart = -apart if apart < 0 else -apart - 1  # one day earlier, one later, two earlier, …
            place = day + apart
        held.add(place)
        settled.append(place)
    return sorted(settled)
