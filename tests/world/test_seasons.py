"""One patient has one calendar: what is tied to a season is told in its months, and the same event does not come again soon."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from make_premise import make_premise

from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.job import EventDensity
from clinworld.world.event_pool import EventDraw, admit_events, load_pool
from clinworld.world.notes import observe_notes
from clinworld.world.seasons import MONTH_DAYS, derive_months, draw_first_day_of_year, is_in_months

KNOWLEDGE, RNG = load_knowledge(), Rng("seasons")
BUSY = EventDensity(7.0, 1.0, 3.0, 0.6)
WINTER = ("dry_lips_heating", "itchy_wool", "static_shock", "bill_higher", "first_frost")
SUMMER = ("sunburn", "mosquito_bites", "cold_air_con", "ring_tight_heat", "dizzy_sun", "food_ok_appetite_low")


def told(number):
    """(day, row) of the everyday notes of one patient."""
    observed = observe_notes(make_premise(case_id=f"season-{number}", density=BUSY), KNOWLEDGE, RNG)
    rows = {origin.note_id: origin.row for origin in observed.origins if origin.row in KNOWLEDGE.events}
    return [(note.day, rows[note.note_id]) for note in observed.notes if note.note_id in rows]


@pytest.mark.slow
def test_what_is_tied_to_a_season_is_told_in_its_months_of_the_patients_own_year():
    seen = set()
    for number in range(40):
        first = draw_first_day_of_year(f"season-{number}", RNG)
        for day, name in told(number):
            row = KNOWLEDGE.events[name]
            assert is_in_months(int(derive_months(first, [day])[0]), row.first_month, row.last_month), (name, day, first)
            seen |= {name} if row.first_month else set()
    assert len(seen) > 15


@pytest.mark.slow
def test_nobody_tells_of_winter_and_of_summer_within_a_month():
    for number in range(40):
        days = {kind: [day for day, name in told(number) if name in names] for kind, names in (("winter", WINTER), ("summer", SUMMER))}
        assert all(abs(one - other) > 14 for one in days["winter"] for other in days["summer"])


def test_rows_without_their_months_are_found_out_of_season():
    """The control: with every month open, winter and summer do come together."""
    pool = load_pool(KNOWLEDGE)
    rows = np.array([row.id in (*WINTER, *SUMMER) for row in pool.rows])
    drawn = EventDraw(pool, rows, "here", (), may_recur=True, used={}).draw(20, rows, RNG.at("control"), range(20), 0)
    assert {pool.rows[row].id for row in drawn} <= set(WINTER)
    all_year = replace(pool, is_out_of_season=np.zeros_like(pool.is_out_of_season))
    open_all = EventDraw(all_year, rows, "here", (), may_recur=True, used={}).draw(20, rows, RNG.at("control"), range(20), 0)
    assert {pool.rows[row].id for row in open_all} & set(SUMMER)


def test_the_same_event_is_not_told_twice_within_sixty_days():
    again = 0
    for number in range(20):
        for (day, name), (other_day, other) in combinations(told(number), 2):
            if name == other:
                again += 1
                assert abs(day - other_day) >= KNOWLEDGE.parameter("events_repeat_least_days"), (name, day, other_day)
    assert again


def test_seasons_say_both_months_or_none():
    assert sum(MONTH_DAYS) == 365
    for row in KNOWLEDGE.events.values():
        assert (row.first_month is None) == (row.last_month is None), row.id


@pytest.mark.parametrize("name", ["tummy_rumble", "tired_mon", "work_deadline", "new_commute", "wrist_typing"])
def test_what_happens_at_work_is_told_by_nobody_past_working_age(name):
    pool = load_pool(KNOWLEDGE)
    old = admit_events(pool, make_premise(age_low=65, age_high=69))
    assert not old[[row.id for row in pool.rows].index(name)]
