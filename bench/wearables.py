"""The wearable part of fidelity: what the printed daily streams give back of their rows, beside published values where a source exists.

People are drawn, and nothing moves in them: no drug, condition, event or fault, so that a stream is the person and the day. Recovered
from printed values: mean, SD between and within people, lag-1 autocorrelation, weekday effects, share of days off, and gap lengths. The
bounds are the row's own value with 10 %, or three standard errors where these are wider; they were written before the first printing.
What is recovered there went in: it shows that bounds, printing and missing days bend nothing. Published values are no bounds, but for
how far two readings of a person go together from day to day: these have to stay inside the bounds of wearables_relations.csv.
Usage: python bench/wearables.py [people].
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import HERE, print_table, save
from laboratory import TOLERANCE_PCT, draw_premises, stand_still

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.knowledge.rows import Stream
from clinworld.schema.premise import Premise
from clinworld.world.formulas import find_body_mass_index
from clinworld.world.observe_streams import observe_streams
from clinworld.world.visits import draw_weekdays

PEOPLE, DAYS = 600, 364
LEAST_DAYS = 40  # of a person to count
ERRORS = 3  # standard errors by which a recovered value may miss its row
WEEKDAYS = {"saturday": 5, "sunday": 6, "monday": 0}
PUBLISHED, RELATIONS = HERE / "wearables_published.csv", HERE / "wearables_relations.csv"


class Person(NamedTuple):
    """One stream of one person, by the person's number: printed values on the scale of its row and in its unit, their days and weekdays,
    and what the person's age and build add to the row's mean."""

    number: int
    is_man: bool
    values: np.ndarray
    in_unit: np.ndarray
    days: np.ndarray
    weekdays: np.ndarray
    shift: float


class Relation(NamedTuple):
    """A published relation of two readings of a day, its bounds, and the median found over people who have both."""

    id: str
    basis: str
    published: float
    people: int
    found: float
    lower: float
    upper: float
    is_inside: bool


class Found(NamedTuple):
    """A recovered value with its standard error, and what the row says (nan: nothing)."""

    measure: str
    row: float
    value: float
    error: float


def draw_still_people(n: int, knowledge: Knowledge) -> list[Premise]:
    """Drawn people with every device, and nothing that moves them."""
    plain = {"artifacts": (), "distractor_level": "none", "has_physiology": False, "presenting": None, "course_end_day": DAYS - 1}
    premises = draw_premises(n, 3, knowledge)
    return [replace(each, **plain, patient=replace(each.patient, baseline_vitals=())) for each in premises]


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table with notes in lines of their own."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def relate(people: dict[str, list[Person]]) -> Iterator[Relation]:
    """The published relations beside the median within-person correlation of days on which both are charted."""
    for row in read_rows(RELATIONS):
        others = {each.number: each for each in people[row["other"]]}
        found = [r for each in people[row["one"]] if each.number in others and (r := go_together(each, others[each.number])) is not None]
        median, lower, upper = float(np.median(found)), float(row["lower"]), float(row["upper"])
        inside = lower <= median <= upper
        yield Relation(row["id"], row["basis"], float(row["published"]), len(found), round(median, 3), lower, upper, inside)


def go_together(one: Person, other: Person) -> float | None:
    """The correlation of two streams of a person; None with too few common days."""
    days, at, there = np.intersect1d(one.days, other.days, return_indices=True)
    return float(np.corrcoef(one.in_unit[at], other.in_unit[there])[0, 1]) if len(days) >= LEAST_DAYS else None


def follow_streams(premises: Sequence[Premise], knowledge: Knowledge, rng: Rng) -> dict[str, list[Person]]:
    """Every wearable or home stream with a level of its own, by id."""
    people: dict[str, list[Person]] = {}
    for number, premise in enumerate(premises):
        weekdays = draw_weekdays(premise, rng)
        daily = observe_streams(premise, stand_still({}, DAYS), knowledge, rng, weekdays)
        patient = premise.patient
        years = max((patient.age_low + patient.age_high) / 2 - 40, 0)
        over = max(find_body_mass_index(patient, premise.start_weight_kg, knowledge) - 25, 0)
        for i, name in enumerate(daily.ids):
            row = knowledge.streams[name]
            days = np.flatnonzero(daily.is_charted[i])
            if row.role not in ("wearable", "home") or row.parent or len(days) < LEAST_DAYS:
                continue
            printed = daily.ticks[i, days] / 10.0**row.decimals
            values = np.log(np.maximum(printed, 10.0**-row.decimals)) if row.scale == "log" else printed
            shift = row.per_year_over_40 * years + row.per_bmi_over_25 * over
            people.setdefault(name, []).append(Person(number, patient.sex == "M", values, printed, days, weekdays[days], shift))
    return people


def recover(row: Stream, people: Sequence[Person]) -> Iterator[Found]:
    """Everything recovered of one stream, beside its row; means and SDs on the scale of the row."""
    effects = {name: getattr(row, name) for name in WEEKDAYS}
    means = np.array([mean_without_weekday(each) for each in people])
    variances = np.array([residuals(each).var(ddof=4) for each in people])
    counts = np.array([len(each.values) for each in people])
    lag1, lag1_error = autocorrelate(people)
    # A mean is of the days without an effect; of correlated days it is less sure than of as many independent ones.
    plain = np.array([np.count_nonzero(~np.isin(each.weekdays, list(WEEKDAYS.values()))) for each in people])
    noise = variances / plain * (1 + lag1) / (1 - lag1)
    own = means - np.array([each.shift for each in people])
    for is_man, name in ((False, "mean_f"), (True, "mean_m")):
        group = own[[each.is_man == is_man for each in people]]
        said = getattr(row, name)
        if said is not None and len(group) > 1:
            yield Found(name, np.log(said) if row.scale == "log" else said, group.mean(), group.std(ddof=1) / np.sqrt(len(group)))
    sexes = np.array([each.is_man for each in people])
    apart = own - np.array([own[sexes == is_man].mean() for is_man in sexes])
    between = np.sqrt(max(apart.var(ddof=2) - noise.mean(), 0.0))
    # What is sure of a spread is its square: of people who do not differ the root of it strays far.
    off = ERRORS * apart.var(ddof=2) * np.sqrt(2 / len(people))
    yield Found("sd_between", row.sd_between, between, (np.sqrt(row.sd_between**2 + off) - row.sd_between) / ERRORS)
    # Printing rounds: Sheppard's correction.
    rounding = (10.0**-row.decimals) ** 2 / 12 if row.scale == "linear" else 0.0
    within = np.sqrt(max(np.average(variances, weights=counts) - rounding, 0.0))
    yield Found("sd_within", row.sd_within, within, variances.std() / np.sqrt(len(people)) / (2 * within))
    yield Found("lag1", row.lag1, lag1, lag1_error)
    for name, weekday in WEEKDAYS.items():
        told = np.array([effect for each in people if (effect := weekday_effect(each, weekday)) is not None])
        yield Found(name, effects[name], told.mean(), told.std(ddof=1) / np.sqrt(len(told)))
    yield from recover_gaps(row, people)


def recover_gaps(row: Stream, people: Sequence[Person]) -> Iterator[Found]:
    """The share of days off, and the lengths of gaps between two charted days: their mean, and the shares of one day and of over a week."""
    off = np.array([1 - len(each.days) / DAYS for each in people])
    gaps = np.concatenate([np.diff(each.days)[np.diff(each.days) > 1] - 1 for each in people])
    leaves, stays = row.p_off_worn, row.p_off_off
    if not leaves:
        return
    yield Found("off_share", leaves / (leaves + 1 - stays), off.mean(), off.std(ddof=1) / np.sqrt(len(off)))
    yield Found("gap_mean_days", 1 / (1 - stays), gaps.mean(), gaps.std(ddof=1) / np.sqrt(len(gaps)))
    for name, said, found in (("gap_one_day", 1 - stays, np.mean(gaps == 1)), ("gap_over_week", stays**7, np.mean(gaps > 7))):
        yield Found(name, said, float(found), float(np.sqrt(said * (1 - said) / len(gaps))))


def residuals(person: Person) -> np.ndarray:
    """A person's values without their mean and weekday effects."""
    columns = [np.ones(len(person.values)), *(person.weekdays == weekday for weekday in WEEKDAYS.values())]
    design = np.array(columns, dtype=np.float64).T
    return np.asarray(person.values - design @ np.linalg.lstsq(design, person.values, rcond=None)[0])


def mean_without_weekday(person: Person) -> float:
    """A person's mean over weekdays without an effect."""
    plain = ~np.isin(person.weekdays, list(WEEKDAYS.values()))
    return float(person.values[plain].mean())


def weekday_effect(person: Person, weekday: int) -> float | None:
    """How far a weekday lies from those without an effect; None where it has no value."""
    on = person.values[person.weekdays == weekday]
    return float(on.mean()) - mean_without_weekday(person) if len(on) else None


def autocorrelate(people: Sequence[Person]) -> tuple[float, float]:
    """(lag-1 autocorrelation over pairs of days in a row, its standard error), corrected for the mean taken out of a finite series."""
    products, squares = [], []
    for each in people:
        left = residuals(each)
        in_a_row = np.flatnonzero(np.diff(each.days) == 1)
        if len(in_a_row):
            products.append((left[in_a_row] * left[in_a_row + 1]).mean())
            squares.append(left.var())
    r = float(np.sum(products) / np.sum(squares))
    n = float(np.mean([len(each.values) for each in people]))
    return r + (1 + 3 * r) / n, float(np.std(products, ddof=1) / np.mean(squares) / np.sqrt(len(products)))


def is_inside(found: Found) -> bool:
    """Whether a recovered value lies within its row's bounds."""
    return abs(found.value - found.row) <= max(TOLERANCE_PCT / 100 * abs(found.row), ERRORS * found.error)


def in_units(people: Sequence[Person]) -> dict[str, float]:
    """What a study would publish of the stream: in its unit, people pooled, weekdays left in."""
    pairs = []
    for each in people:
        off, in_a_row = each.in_unit - each.in_unit.mean(), np.flatnonzero(np.diff(each.days) == 1)
        pairs.append(np.array([off[in_a_row], off[in_a_row + 1]]))
    now, then = np.concatenate(pairs, axis=1)
    return {
        "sd_within": float(np.sqrt(np.mean([each.in_unit.var(ddof=1) for each in people]))),
        "lag1": float(np.corrcoef(now, then)[0, 1]),
        "sd_1day_difference": float((then - now).std()),
        "off_share": float(np.mean([1 - len(each.days) / DAYS for each in people])),
    }


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
    knowledge, rng = load_knowledge(), Rng("wearables")
    people = follow_streams(draw_still_people(n, knowledge), knowledge, rng)
    published = {row["id"]: row for row in read_rows(PUBLISHED)}
    table: list[tuple[Any, ...]] = []
    for name in (each for each, row in knowledge.streams.items() if each in people and row.role == "wearable"):
        for found in recover(knowledge.streams[name], people[name]):
            allowed = max(TOLERANCE_PCT / 100 * abs(found.row), ERRORS * found.error)
            numbers = (round(float(each), 4) for each in (found.row, found.value, found.row - allowed, found.row + allowed))
            table.append((name, found.measure, len(people[name]), *numbers, "yes" if is_inside(found) else "no"))
    header = ("stream", "measure", "people", "row", "found", "from", "to", "inside")
    print_table(header, table)
    beside: list[tuple[Any, ...]] = []
    for name, row in published.items():
        told = in_units(people[name])
        beside += [(name, measure, float(row[measure]), round(told[measure], 3), row["source"]) for measure in told]
    print()
    print_table(("stream", "measure, in the unit", "published", "found", "source"), beside)
    relations = list(relate(people))
    print()
    print_table(Relation._fields, relations)
    outside = [f"{row[0]} {row[1]}" for row in table if row[-1] == "no"]
    inside = len(table) - len(outside)
    print(f"\n{inside} of {len(table)} recovered values lie within their row's bounds; outside: {', '.join(outside) or 'none'}")
    print(f"{sum(each.is_inside for each in relations)} of {len(relations)} relations of a person's days lie within their bounds")
    rows = [dict(zip(header, row, strict=True)) for row in table]
    told = [dict(zip(("stream", "measure", "published", "found", "source"), row, strict=True)) for row in beside]
    save(
        "wearables",
        {
            "people": n,
            "days": DAYS,
            "recovered": rows,
            "outside": outside,
            "published": told,
            "relations": [each._asdict() for each in relations],
        },
    )


if __name__ == "__main__":
    main()
