"""Laboratory results before day 0: true levels of the past through the assays of the course, printed on the visits then."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.days import DAYS_A_YEAR
from clinworld.core.rng import Rng, words_to_normal, words_to_uniform
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.effects import DIABETES
from clinworld.world.history_drugs import Line
from clinworld.world.history_levels import DayZero, PastDays, PastFrame, PastItems, derive_past_levels, find_undiagnosed
from clinworld.world.history_places import age_at
from clinworld.world.lab_assays import Assays, load_assays
from clinworld.world.monitoring import Span, find_due, known_conditions, list_watched, sort_spans, space_out, watch_condition, watch_drug
from clinworld.world.observe_labs import (
    chart_results,
    derive_specimens,
    draw_cell_haemoglobin,
    find_group_chances,
    measure,
    print_results,
)


class Past(NamedTuple):
    """Visit days, ascending; the day of each documented diagnosis; the drugs then."""

    visits: NDArray[np.int64]
    diagnosed: Mapping[str, int]
    lines: Sequence[Line]


class _Noise(NamedTuple):
    # Standard normals: of the person [group, 1], of the day [needed by `within`], of the assay [measured], of the slow drift [item]; and
    # uniforms [group, visit].
    person: Reals
    day: Reals
    error: Reals
    drift: Reals
    chance: Reals


class _Places(NamedTuple):
    # Names that have draws, where these and those of groups are, and where among them stand those whose day varies, those measured and the
    # items of the frame; where the varied stand in the frame, and the items with a diagnostic limit among the measured.
    drawn: tuple[str, ...]
    addresses: tuple[tuple[str, ...], ...]
    group_addresses: tuple[tuple[str, ...], ...]
    day: list[int]
    error: list[int]
    drift: list[int]
    varied: list[int]
    limited: list[int]


@lru_cache(maxsize=512)
def _find_places(assays: Assays, items: PastItems) -> _Places:
    measured = [row.id for row in assays.measured]
    drawn = tuple(dict.fromkeys([*assays.within.needed, *measured, *items.names]))
    return _Places(
        drawn=drawn,
        addresses=tuple(("history", "labs", name) for name in drawn),
        group_addresses=tuple(("history", "lab_group", group) for group in assays.groups),
        day=[drawn.index(name) for name in assays.within.needed],
        error=[drawn.index(name) for name in measured],
        drift=[drawn.index(name) for name in items.names],
        varied=[items.names.index(name) for name in assays.varied],
        limited=[measured.index(items.names[i]) for i in items.limited],
    )


def observe_past_labs(
    premise: Premise, past: Past, frame: PastFrame, day_zero: DayZero, knowledge: Knowledge, rng: Rng
) -> tuple[Series, ...]:
    """Printed results of every analyte with a true level and a device, in the order of the analyte table, on the past visits.

    The visit of a diagnosis draws everything. No result reaches the limit of a diagnosis that was not made by then, and none is there of
    visits on which the true level was past it.
    """
    assays = load_assays(knowledge, premise.patient.devices, frame.items.names, premise.patient.sex)
    if not assays.measured or not len(past.visits):
        return ()
    places = _find_places(assays, frame.items)
    noise = _draw_noise(premise.case_id, assays, places, len(past.visits), rng)
    onset = min(premise.presenting.onset_day, 0) if premise.presenting else 0
    when = np.array([*past.diagnosed.values(), np.inf])
    days = PastDays(past.visits.astype(np.float64), when, float(onset))
    undiagnosed = find_undiagnosed(frame, days)
    has_diabetes = DIABETES in past.diagnosed
    level, is_beyond = derive_past_levels(day_zero, frame, days, past.lines, noise.drift, undiagnosed, has_diabetes, knowledge)
    drawn = noise.chance < find_group_chances(assays, noise.person, knowledge)
    held = set(past.diagnosed.values())
    drawn[:, [i for i, day in enumerate(past.visits.tolist()) if day in held]] = True
    is_drawn = drawn[assays.group_at]
    for name, due in _find_due(premise, past, frame.items.names, knowledge).items():
        is_drawn[assays.results.index(name)] = due
    # Who would have been diagnosed by a result was not tested.
    for item, condition in zip(places.limited, frame.items.limit_of, strict=True):
        same = [other == condition for other in frame.items.limit_of]
        is_drawn[item] &= ~is_beyond[same].any(axis=0)
    space_out(is_drawn, assays.results, past.visits, past.diagnosed, knowledge)
    cell = draw_cell_haemoglobin(premise.case_id, knowledge, rng) if "haemoglobin" in assays.varied else 0.0
    truth = derive_specimens(assays, level[places.varied], noise.day, cell, premise.patient.sex, knowledge)
    ticks = measure(assays, truth, noise.error, knowledge)
    if places.limited:
        limit = to_ticks(frame.items.limit * assays.steps_per_unit[places.limited], 0)
        part = ticks[places.limited]
        ticks[places.limited] = np.where(undiagnosed & (part >= limit), 2 * limit - 1 - part, part)
    ages = age_at(premise.patient, 0) + days.visits / DAYS_A_YEAR
    results = print_results(assays, ticks, is_drawn, ages, premise.patient.sex, knowledge)
    return chart_results(assays, results, past.visits)


def _find_due(premise: Premise, past: Past, items: Sequence[str], knowledge: Knowledge) -> dict[str, NDArray[np.bool_]]:
    """When each analyte was due that conditions bring from their diagnosis on, and drugs while they were taken."""
    watched = list_watched(knowledge, known_conditions(premise), premise.drug, premise.patient.devices)
    if not watched:
        return {}
    spans = [Span(watch, day, 0, ()) for name, day in past.diagnosed.items() for watch in watch_condition(knowledge, name)]
    for line in past.lines:
        changes = tuple(day for day, _ in line.steps)
        last = 0 if line.last_day is None else line.last_day
        spans += [Span(watch, changes[0], last, changes) for watch in watch_drug(knowledge, line.drug.id)]
    sorted_spans = sort_spans(spans, [name for name in watched if name in items])
    return {name: find_due(past.visits, each, age_at(premise.patient, 0), knowledge) for name, each in sorted_spans.items()}


def _draw_noise(case_id: str, assays: Assays, places: _Places, n: int, rng: Rng) -> _Noise:
    """Noise by visit counted back from day 0, so that a longer record changes none of it; returned with the oldest visit first."""
    groups = len(assays.groups)
    by_group = rng.first_words(case_id, places.group_addresses, n)
    by_row = rng.first_words(case_id, places.addresses, 3 * n)
    # How often a person has a group drawn is the same as in the course.
    person = rng.first_words(case_id, assays.group_addresses, 1)
    normals = words_to_normal(np.concatenate([person.ravel(), by_row.ravel()]))
    of_row = normals[groups:].reshape(len(places.drawn), n, 3)
    return _Noise(
        person=normals[:groups, None],
        day=of_row[places.day, ::-1, 0],
        error=of_row[places.error, ::-1, 2],
        drift=of_row[places.drift, :, 1],
        chance=words_to_uniform(by_group)[:, ::-1],
    )
