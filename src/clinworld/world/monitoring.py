"""Which tests documented conditions and medicine bring to a patient's visits, beside what everybody's visits draw, and when each is due.

Follows from what anyone can read in the chart alone: known conditions, the orders, the days of visits. Decides no level and no result.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.knowledge.rule_rows import Facts, Predicate
from clinworld.knowledge.rules import facts_of, holds
from clinworld.schema.premise import Premise
from clinworld.world.formulas import has_own_level
from clinworld.world.history_drugs import find_states

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]

DAYS_ON_DRUG, SINCE_CHANGE, AGE = "days_on_drug", "days_since_dose_change", "age_years"
_LEAST_GAP = "lab_least_gap_"  # then the analyte


class Watch(NamedTuple):
    """An analyte to measure every so many days, while `when` holds (None: always)."""

    item: str
    every_days: int
    when: Predicate | None


class Span(NamedTuple):
    """A watch in force from a day to a day, both included; `changes` are the days of a drug's orders, () for a condition."""

    watch: Watch
    first_day: float
    last_day: float
    changes: tuple[int, ...]


def known_conditions(premise: Premise) -> tuple[str, ...]:
    """What the chart names, each once."""
    return tuple(dict.fromkeys((premise.patient.disease, *premise.patient.comorbidities)))


@lru_cache(maxsize=4096)
def list_watched(knowledge: Knowledge, conditions: tuple[str, ...], drug: str, devices: tuple[str, ...]) -> tuple[str, ...]:
    """The analytes that known conditions and the course's drug bring, in table order: none of a group that everybody's visits draw."""
    further = _list_further(knowledge, devices)
    most = int(knowledge.parameter("lab_watch_most"))
    brought = {watch.item for watch in watch_drug(knowledge, drug) if watch.item in further}
    for name in conditions:
        brought.update([watch.item for watch in watch_condition(knowledge, name) if watch.item in further][:most])
    return tuple(sorted(brought, key=further.__getitem__))


@lru_cache(maxsize=64)
def _list_further(knowledge: Knowledge, devices: tuple[str, ...]) -> Mapping[str, int]:
    """The place in their table of the analytes that devices can report beyond their own groups."""
    reported = {name for device in devices for name in knowledge.devices[device].reports}
    rows = knowledge.analytes.values()
    return {row.id: place for place, row in enumerate(rows) if row.device in devices and row.group not in reported}


@lru_cache(maxsize=512)
def watch_condition(knowledge: Knowledge, condition: str) -> tuple[Watch, ...]:
    """What is measured again in a known condition, first what shows it and can change, then what most drugs for it are watched by."""
    row = knowledge.conditions.get(condition)
    if row is None or row.is_name_only:
        return ()
    every_days = int(knowledge.parameter("lab_watch_days"))
    own = [each for each in row.findings if each.role != "supportive" and each.trajectory != "stable"]
    shows = [each.item for each in own if each.moves in ("up", "down")]
    drugs = [drug for drug in knowledge.drugs.values() if condition in dict(drug.indications) and condition not in drug.off_label]
    by_drugs = [watch.item for drug in drugs for watch in watch_drug(knowledge, drug.id)]
    usual = [name for name in dict.fromkeys(by_drugs) if 2 * sum(_is_watched(knowledge, drug.id, name) for drug in drugs) >= len(drugs)]
    rows = [knowledge.analytes[name] for name in dict.fromkeys((*shows, *usual)) if name in knowledge.analytes]
    return tuple(Watch(each.id, every_days, None) for each in rows if _is_measured(each))


def _is_measured(row: Analyte) -> bool:
    # Of something whose variation is not known a series cannot be told from change.
    return has_own_level(row) and row.cv_within_pct is not None


def _is_watched(knowledge: Knowledge, drug: str, item: str) -> bool:
    return any(watch.item == item and watch.when is None for watch in watch_drug(knowledge, drug))


@lru_cache(maxsize=512)
def watch_drug(knowledge: Knowledge, drug: str) -> tuple[Watch, ...]:
    """What someone on a drug is watched by, of the laboratory: of a test of several analytes those that are read, else its first.

    Neither what is looked at before the first dose alone nor what depends on a result or a complaint.
    """
    watches = []
    for each in knowledge.drugs[drug].monitoring:
        if each.when is not None and not _recurs(each.when):
            continue
        names = knowledge.tests[each.item].measures if each.item in knowledge.tests else (each.item,)
        measured = [row for name in names if (row := knowledge.analytes.get(name)) is not None and _is_measured(row)]
        read = [row for row in measured if row.clinician_reads] or measured[:1]
        watches += [Watch(row.id, each.every_days, each.when) for row in read]
    return tuple(watches)


def _recurs(when: Predicate) -> bool:
    is_told = set(facts_of(when)) <= {DAYS_ON_DRUG, SINCE_CHANGE, AGE}
    return is_told and not (holds(when, {DAYS_ON_DRUG: 0}) is True and holds(when, {DAYS_ON_DRUG: 1}) is False)


def find_due(visits: Days, spans: Sequence[Span], age_years: float, knowledge: Knowledge) -> Flags:
    """On which visits something watched is measured: on the first within a span, and again when the shortest time in force is over."""
    share = knowledge.parameter("lab_watch_due_share")
    first = min((each.first_day for each in spans), default=np.inf)
    soonest, last = share * min((each.watch.every_days for each in spans), default=0), -np.inf
    due = np.zeros(len(visits), dtype=np.bool_)
    for i, day in enumerate(visits.tolist()):
        if day < first or day - last < soonest:
            continue
        every = min((each.watch.every_days for each in spans if _is_in_force(each, day, age_years)), default=None)
        if every is not None and day - last >= share * every:
            due[i], last = True, day
    return due


def _is_in_force(span: Span, day: int, age_years: float) -> bool:
    if not span.first_day <= day <= span.last_day:
        return False
    if span.watch.when is None:
        return True
    facts: Facts = {AGE: age_years}
    if span.changes:
        facts = {**facts, DAYS_ON_DRUG: day - span.first_day, SINCE_CHANGE: day - max(each for each in span.changes if each <= day)}
    return holds(span.watch.when, facts) is True


def sort_spans(spans: Sequence[Span], watched: Sequence[str]) -> Mapping[str, list[Span]]:
    """The spans of each of the analytes `watched`."""
    sorted_spans: dict[str, list[Span]] = {name: [] for name in watched}
    for span in spans:
        if span.watch.item in sorted_spans:
            sorted_spans[span.watch.item].append(span)
    return sorted_spans


def space_out(
    is_drawn: Flags, names: Sequence[str], visits: Days, diagnosed: Mapping[str, float], knowledge: Knowledge, *, review: int = -1
) -> None:
    """Leave out results of analytes that are measured seldom in people without what they are measured for.

    `is_drawn` [analyte, visit] has some fewer then. `diagnosed` gives the day from which each documented condition is known. Kept are the
    first and, where there is a `review`, the latest by that visit, so that there is a second one.
    """
    days = visits.tolist()
    for name, least, reasons in list_seldom(knowledge):
        if name in names:
            known = [day for condition, day in diagnosed.items() if condition in reasons]
            row = is_drawn[names.index(name), : bisect_left(days, min(known)) if known else len(days)]
            row &= _keep_apart(row, days, least, review)


def _keep_apart(row: Flags, visits: Sequence[int], least: float, review: int) -> Flags:
    """Those of the drawn visits that lie so many days apart, the first and the latest by the review among them."""
    drawn = row.nonzero()[0].tolist()
    second = max((i for i in drawn if i <= review), default=-1)
    kept, last = np.zeros_like(row), -np.inf
    for i in drawn:
        is_early = visits[i] - last < least or (i < second and visits[second] - visits[i] < least)
        if i in (drawn[0], second) or not is_early:
            kept[i], last = True, visits[i]
    return kept


@lru_cache(maxsize=8)
def list_seldom(knowledge: Knowledge) -> tuple[tuple[str, float, frozenset[str]], ...]:
    """(analyte, least days between two results, the conditions in which it is measured often) of those measured seldom in most people."""
    seldom = []
    for row in knowledge.parameters.values():
        if row.id.startswith(_LEAST_GAP):
            name = row.id.removeprefix(_LEAST_GAP)
            wanted = set(find_states(knowledge, (knowledge.analytes[name].diagnostic_of,)))
            reasons = frozenset(key for key, each in knowledge.condition_states.items() if not wanted.isdisjoint(each.states))
            seldom.append((name, row.value, reasons))
    return tuple(seldom)
