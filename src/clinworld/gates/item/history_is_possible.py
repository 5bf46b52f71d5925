"""Nothing charted before day 0 contradicts the patient or the course: days, results, drugs, old events, diagnoses."""

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from clinworld.core.days import DAYS_A_YEAR
from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import OldEvent
from clinworld.schema.finding import Finding
from clinworld.schema.premise import Premise
from clinworld.schema.record import History, PastEvent, PastPrescription, Profile, Record
from clinworld.world.history import list_caused, tell_diagnosis
from clinworld.world.history_drugs import do_clash, find_contraindications, find_states, has_indication
from clinworld.world.history_places import PLACES, find_old_event
from clinworld.world.seen_results import find_against, read_against

CONTROLS = ("a_history_that_fits_the_patient", "a_drug_the_patient_may_not_take")
GATE = "history_is_possible"


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over the history of the whole chart."""
    history = case.gold.chart.history
    if history is None:
        return Outcome(0, reason="no history is charted")
    findings = check_history(case.gold.chart, case.gold.premise, case.knowledge)
    checked = len(history.visits) + len(history.series) + len(history.prescriptions) + len(history.events)
    return Outcome(checked, tuple(findings), "the history is empty")


def check_history(record: Record, premise: Premise, knowledge: Knowledge) -> list[Finding]:
    """What is impossible in the history of a record; empty for none, and for a record without one."""
    if record.history is None:
        return []
    history, profile = record.history, record.profile
    return [
        *check_days(history),
        *check_results(history, profile, premise, knowledge),
        *check_orders(history, profile, premise, knowledge),
        *check_safety(history, profile, premise, knowledge),
        *check_events(history, profile, knowledge),
        *check_diagnoses(history, profile, premise, knowledge),
    ]


def check_days(history: History) -> Iterator[Finding]:
    """Everything lies before day 0 and in order, and every result on a visit."""
    visits = history.visits
    if any(day >= 0 for day in visits) or list(visits) != sorted(set(visits)):
        yield Finding(GATE, "visits", ", ".join(map(str, visits[-3:])), "different days before day 0, ascending")
    seen = set(visits)
    for series in history.series:
        days = series.days.tolist()
        if days != sorted(set(days)) or any(day >= 0 for day in days):
            yield Finding(GATE, f"series {series.name}", f"days up to {days[-1]}", "different days before day 0, ascending")
        for day in days:
            if day not in seen:
                yield Finding(GATE, f"series {series.name}, day {day}", "a result without a visit", "results are those of visits")
    for order in history.prescriptions:
        last = -1 if order.last_day is None else order.last_day
        if not order.first_day <= last < 0:
            yield Finding(GATE, _place(order), f"day {order.first_day} to {last}", "first day, then last day, before day 0")
    for event in history.events:
        if event.day >= 0:
            yield Finding(GATE, f"event, day {event.day}", event.text.en, "before day 0")


def check_results(history: History, profile: Profile, premise: Premise, knowledge: Knowledge) -> Iterator[Finding]:
    """Results are of known analytes, in the row's unit, possible, and make no diagnosis that is not documented."""
    for series in history.series:
        row, place = knowledge.analytes.get(series.name), f"series {series.name}"
        if row is None:
            yield Finding(GATE, place, series.name, "an analyte")
            continue
        if (series.unit, series.decimals) != (row.ucum, row.decimals):
            yield Finding(GATE, place, f"{series.unit}, {series.decimals} decimals", f"{row.ucum}, {row.decimals} decimals")
        values = series.values()
        for i in np.flatnonzero((values < row.hard_low) | (values > row.hard_high)).tolist():
            yield Finding(GATE, f"{place}, day {series.days[i]}", f"{values[i]:g}", f"{row.hard_low:g} to {row.hard_high:g}")
        if row.diagnostic_high is None or row.derived_by:
            continue
        made = find_diagnosis_day(history, row.diagnostic_of, knowledge) if row.diagnostic_of in profile.known_conditions else 0
        for i in np.flatnonzero((values >= row.diagnostic_high) & (series.days < (made or 0) if made is not None else False)).tolist():
            allowed = f"below {row.diagnostic_high:g} where {row.diagnostic_of} is not diagnosed yet"
            yield Finding(GATE, f"{place}, day {series.days[i]}", f"{values[i]:g}", allowed)


def check_orders(history: History, profile: Profile, premise: Premise, knowledge: Knowledge) -> Iterator[Finding]:
    """Drugs are for a condition that was diagnosed by then, on their ladder, and not doubled."""
    for order in history.prescriptions:
        if order.drug not in knowledge.drugs:
            yield Finding(GATE, _place(order), order.drug, "a drug")
            continue
        drug = knowledge.drugs[order.drug]
        if order.unit != drug.dose_unit or order.dose not in drug.ladder:
            ladder = ", ".join(f"{step:g}" for step in drug.ladder)
            yield Finding(GATE, _place(order), f"{order.dose:g} {order.unit}", f"a step of {ladder} {drug.dose_unit}")
        reasons = [name for name in profile.known_conditions if has_indication(drug, (name,))]
        if not reasons:
            yield Finding(GATE, _place(order), ", ".join(profile.known_conditions), "a documented condition the drug is licensed for")
            continue
        top = max(dict(drug.indications)[name] for name in reasons)
        if order.dose > top:
            yield Finding(GATE, _place(order), f"{order.dose:g}", f"at most {top:g} for {', '.join(reasons)}")
        made = [find_diagnosis_day(history, name, knowledge) for name in reasons]
        if None not in made and order.first_day < min(day for day in made if day is not None):
            yield Finding(GATE, _place(order), f"begun on day {order.first_day}", f"after the diagnosis of {', '.join(reasons)}")
        if order.drug == premise.drug:
            yield Finding(GATE, _place(order), order.drug, "the course begins with this drug, so it was not given before")
        elif order.last_day is None and _may_not_meet(order.drug, premise.drug, knowledge):
            yield Finding(GATE, _place(order), f"in force on day 0, when {premise.drug} is begun", "not both at a time")
    for i, order in enumerate(history.prescriptions):
        for other in history.prescriptions[i + 1 :]:
            if _overlap(order, other) and _may_not_meet(order.drug, other.drug, knowledge):
                yield Finding(GATE, _place(order), f"with {other.drug} from day {other.first_day}", "not both at a time")


def check_safety(history: History, profile: Profile, premise: Premise, knowledge: Knowledge) -> Iterator[Finding]:
    """No drug is one that a documented condition, the one that shows itself, an old event or a result then forbids."""
    shown = (premise.presenting.condition,) if premise.presenting else ()
    conditions = (*profile.known_conditions, *shown)
    rows = [(event.day, row) for event in history.events if (row := find_old_event(event.text, knowledge)) is not None]
    for order in history.prescriptions:
        if order.drug not in knowledge.drugs:
            continue
        drug, last = knowledge.drugs[order.drug], 0 if order.last_day is None else order.last_day
        states = [*find_states(knowledge, conditions), *(row.state for day, row in rows if row.state and row.taken != order.drug)]
        reasons = [rule.condition or rule.state for rule in find_contraindications(drug, conditions, states, {})]
        against = find_against(read_against(order.drug, history.series, profile.sex, knowledge), order.first_day, last)
        for reason in (*reasons, *([f"{against.item} {against.value:g} on day {against.day}"] if against else [])):
            yield Finding(GATE, _place(order), f"given in spite of {reason}", f"{order.drug} is contraindicated")
        for day, row in rows:
            if order.drug in row.drugs and last > day:
                yield Finding(GATE, _place(order), f"given after day {day}: {row.text.en}", "not after an event that speaks against it")
    for day, row in rows:
        if premise.drug in row.drugs:
            yield Finding(GATE, f"event, day {day}", row.text.en, f"nothing speaks against {premise.drug}, which the course gives")
        if row.taken and not any(order.drug == row.taken and order.last_day == day for order in history.prescriptions):
            yield Finding(GATE, f"event, day {day}", row.text.en, f"{row.taken} was ordered until that day")


def check_events(history: History, profile: Profile, knowledge: Knowledge) -> Iterator[Finding]:
    """Old events are of the patient's sex and age, said in both languages, from a known kind of place."""
    for event in history.events:
        place = f"event, day {event.day}"
        if not event.text.en.strip() or not event.text.zh.strip():
            yield Finding(GATE, place, f"{event.text.en!r}, {event.text.zh!r}", "text in both languages")
        if event.source not in PLACES:
            yield Finding(GATE, place, event.source, ", ".join(PLACES))
        row = find_old_event(event.text, knowledge)
        if row is not None:
            yield from _check_person(place, row, event, profile)


def _check_person(place: str, row: OldEvent, event: PastEvent, profile: Profile) -> Iterator[Finding]:
    if row.sex not in ("", profile.sex):
        yield Finding(GATE, place, f"{row.text.en} in sex {profile.sex}", f"occurs in sex {row.sex}")
    youngest, oldest = profile.age_low + event.day / DAYS_A_YEAR, profile.age_high + 1 + event.day / DAYS_A_YEAR
    if (row.age_low is not None and oldest < row.age_low) or (row.age_high is not None and youngest > row.age_high):
        yield Finding(GATE, place, f"at {youngest:.0f} to {oldest:.0f} years", f"{row.age_low or 0} to {row.age_high or 'any'} years")


def check_diagnoses(history: History, profile: Profile, premise: Premise, knowledge: Knowledge) -> Iterator[Finding]:
    """No event diagnoses or names what is not documented; each diagnosis was made at a fitting age, and none before that of its cause."""
    for event in history.events:
        name = _list_diagnoses(knowledge).get(event.text.en)
        if name is None:
            continue
        row, oldest = knowledge.conditions[name], profile.age_high + 1 + event.day / DAYS_A_YEAR
        if name not in profile.known_conditions:
            yield Finding(GATE, f"event, day {event.day}", event.text.en, "only documented conditions are diagnosed")
        if row.age_low is not None and oldest < row.age_low:
            yield Finding(GATE, f"event, day {event.day}", f"{event.text.en} at {oldest:.0f} years", f"from {row.age_low} years on")
        if row.sex not in ("", profile.sex):
            yield Finding(GATE, f"event, day {event.day}", f"{event.text.en} in sex {profile.sex}", f"occurs in sex {row.sex}")
    for name, cause in list_caused(knowledge):
        made, before = (
            find_diagnosis_day(history, each, knowledge) if each in profile.known_conditions else None for each in (name, cause)
        )
        if made is not None and before is not None and made < before:
            yield Finding(GATE, f"event, day {made}", f"{name} before {cause} on day {before}", f"{name} comes only with {cause}")
    shown = premise.presenting.condition if premise.presenting else ""
    if not shown or shown in profile.known_conditions:
        return
    condition = knowledge.conditions[shown]
    names = (condition.names.en, condition.names.zh, *condition.aliases)
    for event in history.events:
        known = _list_diagnoses(knowledge).get(event.text.en)
        for named in () if known in profile.known_conditions else names:
            if _names(named, event.text.en) or _names(named, event.text.zh):
                yield Finding(GATE, f"event, day {event.day}", f"{named!r} in {event.text.en}", f"{shown} stands in no record")


@lru_cache(maxsize=8)
def _list_diagnoses(knowledge: Knowledge) -> dict[str, str]:
    return {tell_diagnosis(name, knowledge).en: name for name in knowledge.conditions}


def find_diagnosis_day(history: History, condition: str, knowledge: Knowledge) -> int | None:
    """The day on which the history says a condition was diagnosed; None when it does not say."""
    text = tell_diagnosis(condition, knowledge).en
    return next((event.day for event in history.events if event.text.en == text), None)


@lru_cache(maxsize=4096)
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" if name.isascii() else re.escape(name), re.IGNORECASE)


def _names(name: str, text: str) -> bool:
    return _pattern(name).search(text) is not None


def _may_not_meet(one: str, two: str, knowledge: Knowledge) -> bool:
    return one == two or (one in knowledge.drugs and two in knowledge.drugs and do_clash(knowledge, one, two))


def _overlap(one: PastPrescription, two: PastPrescription) -> bool:
    ends = [-1 if order.last_day is None else order.last_day for order in (one, two)]
    return one.first_day <= ends[1] and two.first_day <= ends[0]


def _place(order: PastPrescription) -> str:
    return f"past order of {order.drug}, day {order.first_day}"
