"""Claims that what a world works out in one go, or leaves out where nobody asks, is what the long way gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.cohort.patient import drawn_job
from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.world import event_pool, history_drugs, levels
from clinworld.world.condition_effects import age_of
from clinworld.world.condition_findings import Examined, derive_findings, find_result
from clinworld.world.course import build_course
from clinworld.world.draw import draw_case
from clinworld.world.event_effects import list_told
from clinworld.world.note_days import _settle
from clinworld.world.notes import draw_told_events, observe_notes
from clinworld.world.premise import derive_premise
from clinworld.world.seasons import derive_months

KNOWN, RNG = load_knowledge(), Rng("shortcuts")
FIRST_DAY = 90  # 1 April


@pytest.fixture(scope="module")
def premises():
    """Drawn patients, with and without a blood pressure cuff."""
    made = [derive_premise(draw_case(f"D{n:08x}", {}, KNOWN, RNG), drawn_job("shortcuts"), KNOWN, RNG) for n in range(12)]
    assert len({"bp_cuff" in premise.patient.devices for premise in made}) == 2
    return made


def test_events_drawn_without_the_notes_are_those_that_the_notes_tell(premises):
    for premise in premises:
        notes = observe_notes(premise, KNOWN, RNG)
        told = list_told(notes.notes, notes.origins)
        assert told and draw_told_events(premise, KNOWN, RNG) == told


def test_a_finding_charted_at_a_visit_is_what_an_order_on_that_day_finds(premises):
    names = set()
    for premise in premises:
        course = build_course(premise, KNOWN, RNG)
        charted = derive_findings(premise, course, KNOWN, RNG)
        # The first of each kind: an order without a cuff follows the whole person once more, each time.
        for each in {each.name: each for each in reversed(charted)}.values():
            assert each == find_result(each.name, each.day, Examined(premise, course, KNOWN, RNG))
        names |= {each.name for each in charted}
    assert {"office_sbp", "bmi", "standing_sbp_drop"} <= names


def draw_slot_by_slot(draw, n, kinds, series):
    """The rule in so many words: in each slot the free row with the lowest key."""
    pool, chosen = draw.pool, []
    wanted = draw.admitted & kinds
    keys = event_pool._slot_keys(pool, series, n, np.arange(len(pool.rows)))
    used_on = {row: list(on) for row, on in draw.used.items()}
    for slot in range(n):
        used = [*draw.used, *chosen]
        topics = {int(pool.topics[row]) for row in used}
        month = int(derive_months(FIRST_DAY, [slot])[0])
        open_rows = [row for row in np.flatnonzero(wanted).tolist() if not pool.is_out_of_season[month - 1, row]]
        free = [row for row in open_rows if row not in used and int(pool.topics[row]) not in topics]
        free = [row for row in free if row not in draw.avoided] or free
        if not free and draw.may_recur:
            free = [row for row in open_rows if row not in used] or open_rows
        apart = {row: min([abs(slot - day) for day in used_on.get(row, ())] or [999]) for row in free}
        chosen.append(min(free, key=lambda row: (-min(apart[row], 60), keys[slot, row], row)))
        used_on.setdefault(chosen[-1], []).append(slot)
    return chosen


@pytest.mark.parametrize("may_recur", [True, False])
def test_each_slot_of_events_has_the_free_row_with_the_lowest_key(premises, may_recur):
    pool = event_pool.load_pool(KNOWN)
    n = 40 if may_recur else 9  # more than there are topics, where they may come again
    for premise in premises:
        admitted = event_pool.admit_events(pool, premise)
        series = RNG.at(premise.case_id, "slots")
        used = np.flatnonzero(admitted)[:5].tolist()
        avoided = () if may_recur else np.flatnonzero(admitted)[5:25].tolist()

        def new(used=used, admitted=admitted, avoided=avoided):
            return event_pool.EventDraw(
                pool, admitted, "here", set(), may_recur=may_recur, used={row: [0] for row in used}, avoided=avoided
            )

        assert new().draw(n, ~pool.is_life, series, range(n), FIRST_DAY) == draw_slot_by_slot(new(), n, ~pool.is_life, series)


def conditions_of(premise):
    return (premise.patient.disease, *premise.patient.comorbidities)


def test_first_levels_looked_up_by_item_are_those_that_all_conditions_and_the_age_make(premises):
    moved_by_age = 0
    for premise in premises:
        sex, age, conditions = premise.patient.sex, age_of(premise.patient), conditions_of(premise)
        first = levels.load_followed(KNOWN, conditions, premise.patient.devices, premise.drug, sex, age).first
        found = np.concatenate([first.mean, first.sd, first.low, first.high], axis=1).tolist()
        for name, row in zip(first.names, found, strict=True):
            assert row == list(levels._find_first(KNOWN, name, conditions, sex, age)), name
            moved_by_age += row != list(levels._find_first(KNOWN, name, conditions, sex, 0.0))
    assert moved_by_age


def test_drugs_kept_by_condition_are_those_that_no_contraindication_forbids():
    conditions, drug = ("obesity", "type_2_diabetes", "hypertension"), KNOWN.drugs["metformin"]
    forbidden = 0
    for condition in conditions:
        licensed = {each.name: KNOWN.drugs[each.name] for each in history_drugs._list_licensed(KNOWN, condition)}
        for shown in sorted({"", *(rule.condition for row in licensed.values() for rule in row.contraindications if rule.condition)}):
            known = (*conditions, shown) if shown else conditions
            states = history_drugs.find_states(KNOWN, known)
            against = {name for name, row in licensed.items() if history_drugs.find_contraindications(row, known, states, {})}
            same = {name for name, row in licensed.items() if row.rxcui == drug.rxcui}
            candidates = history_drugs._list_candidates(KNOWN, condition, conditions, shown, drug.id)
            assert set(candidates) == set(licensed) - against - same, (condition, shown)
            forbidden += len(against)
    assert forbidden


@given(st.lists(st.integers(-3, 33), max_size=12), st.sets(st.integers(-2, 32), max_size=16))
def test_an_event_comes_on_the_free_day_nearest_to_its_own(wanted, held):
    free = set(range(31)) - held
    left, settled = set(free), []
    for day in wanted:
        place = min(left, key=lambda other: (abs(other - day), other))
        left.remove(place)
        settled.append(place)
    assert _settle(wanted, 0, 30, held) == sorted(settled)
