"""What can be true of no patient, looked for in a finished world: one function a kind of fault, findings with place and value.

Where a gate of items decides already, the gate itself is asked. Called by `bench/impossible.py` and a test over random patients; it
decides nothing of whether a patient is likely, or fit for an exam.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.units import print_tick
from clinworld.gates.case import CaseUnderCheck, GoldReader
from clinworld.gates.item import (
    derived_values_agree,
    devices_record,
    drug_is_indicated,
    ids_tell_nothing,
    low_results_have_a_cause,
    patient_is_plausible,
    text_fits_the_patient,
    values_possible,
)
from clinworld.gates.item.history_is_possible import check_history
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import FindingKind
from clinworld.schema.course import Course
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, GoldRow
from clinworld.schema.item import Item
from clinworld.schema.premise import Premise
from clinworld.schema.record import Chart, Note, PastPrescription, Prescription, Series
from clinworld.world.history_drugs import find_contraindications, find_states
from clinworld.world.presenting import fits
from clinworld.world.seen_results import find_against, read_against
from clinworld.world.visits import draw_visits

WOMEN_ONLY = "finding.women_only."
ITEM_ID = "0" * 12


class World:
    """One finished world to be looked at; `rng` is the one it was built with."""

    def __init__(self, premise: Premise, course: Course, chart: Chart, knowledge: Knowledge, rng: Rng) -> None:
        self.premise, self.course, self.chart, self.knowledge, self.rng = premise, course, chart, knowledge, rng
        self.record = chart.record

    @cached_property
    def case(self) -> CaseUnderCheck:
        """The world in the form item gates read; nothing is asked of it and nothing is the answer."""
        record, premise = self.record, self.premise
        pack = ("", 0, "en", (), premise.index_day, 0, premise.sampling_days, premise.target_event)
        item = Item(ITEM_ID, *pack, record.until(premise.index_day), (), (), ())  # type: ignore[arg-type]  # the language is a literal
        gold = GoldRow(
            item_id=ITEM_ID,
            case_id=premise.case_id,
            gold=ForecastGold(False, (), (), False, False),
            probes=(),
            premise=premise,
            chart=record,
            origins=self.chart.origins,
            faults=self.chart.faults,
            acted=self.chart.acted,
            truth_weight_ticks=(),
            truth_digest="",
        )
        return CaseUnderCheck(item, gold, self.knowledge, cast(GoldReader, None), ())  # no gate asked here reads gold back

    @cached_property
    def sound_series(self) -> tuple[Series, ...]:
        """The charted series without the results that what befell a specimen made differ."""
        factors = self.knowledge.factors
        touched: dict[str, set[int]] = {}
        for fault in self.chart.faults:
            if fault.kind in factors and factors[fault.kind].kind == "preanalytical":
                touched.setdefault(fault.series, set()).update(fault.days)
        sound = []
        for series in self.record.series:
            keep = ~np.isin(series.days, sorted(touched.get(series.name, ())))
            sound.append(replace(series, days=series.days[keep], ticks=series.ticks[keep]))
        return tuple(sound)

    @cached_property
    def visits(self) -> frozenset[int]:
        """The days on which the patient was seen."""
        return frozenset(draw_visits(self.premise, self.course, self.knowledge, self.rng).tolist())


class Told(NamedTuple):
    """A note with the rows whose limits it must keep."""

    note: Note
    rows: tuple[tuple[str, str, int | None, int | None], ...]  # (name, sex, youngest, oldest)


def find_values_out_of_bounds(world: World) -> list[Finding]:
    """Values beyond the hard bounds of their row, in another unit, with other decimals, or on days out of order."""
    found = list(values_possible.check(world.case).findings)
    for series in world.record.history.series if world.record.history else ():
        found += values_possible.check_series(series, world.knowledge)
    return found


def find_impossible_findings(world: World) -> list[Finding]:
    """Findings without a row, beyond its hard bounds, with other decimals, or whose word does not go with the number."""
    found = []
    for each in world.record.findings:
        row, place = world.knowledge.items.get(each.name), f"finding {each.name}, day {each.day}"
        if not isinstance(row, FindingKind):
            if row is None:
                found.append(Finding("findings", place, each.name, "an item of knowledge"))
            continue
        if row.is_numeric != (each.ticks is not None) or (each.ticks is None and each.is_positive is None):
            found.append(Finding("findings", place, f"{each.ticks}, {each.is_positive}", "a number or a word, as its row says"))
        elif each.ticks is not None:
            value, low, high = each.ticks / 10.0**each.decimals, row.hard_low, row.hard_high
            if each.decimals != (row.decimals or 0) or (low is not None and value < low) or (high is not None and value > high):
                found.append(Finding("findings", place, print_tick(each.ticks, each.decimals), f"{low} to {high} {row.ucum}"))
            if row.cut is not None and each.is_positive != (value >= row.cut):
                found.append(Finding("findings", place, f"{value:g} called {each.is_positive}", f"positive from {row.cut:g} on"))
    return found


def find_wrong_sex(world: World) -> list[Finding]:
    """Conditions, findings, results and told things of the other sex."""
    sex, knowledge = world.premise.patient.sex, world.knowledge
    shown = (world.premise.presenting.condition,) if world.premise.presenting else ()
    names = [name for name in (*world.record.profile.known_conditions, *shown) if name in knowledge.conditions]
    found = [Finding("sex", "conditions", name, f"not in {sex}") for name in names if knowledge.conditions[name].sex not in ("", sex)]
    history = world.record.history.series if world.record.history else ()
    measured = [*(series.name for series in (*world.record.series, *history)), *(each.name for each in world.record.findings)]
    women_only = {name.removeprefix(WOMEN_ONLY) for name in knowledge.parameters if name.startswith(WOMEN_ONLY)}
    found += [Finding("sex", "results", name, "not measured in men") for name in measured if sex == "M" and name in women_only]
    for told in _list_told(world):
        found += [Finding("sex", f"note {told.note.note_id}", name, f"said by {of}") for name, of, _, _ in told.rows if of not in ("", sex)]
    found += [each for each in text_fits_the_patient.check(world.case).findings if "age" not in each.allowed]
    return found


def find_wrong_age(world: World) -> list[Finding]:
    """A patient, condition, presentation or told thing outside the ages it occurs at."""
    patient, knowledge, presenting = world.premise.patient, world.knowledge, world.premise.presenting
    found = list(patient_is_plausible.check(world.case).findings)
    ages = f"{patient.age_low}-{patient.age_high} years"
    if presenting:
        row = knowledge.conditions[presenting.condition]
        shape = next(each for each in row.presentations if each.id == presenting.presentation)
        for name, limits in ((row.id, row), (shape.id, shape)):
            if not fits("", limits.age_low, limits.age_high, patient.sex, patient.age_low, patient.age_high):
                found.append(Finding("age", name, ages, f"{limits.age_low} to {limits.age_high} years"))
    for told in _list_told(world):
        for name, _, low, high in told.rows:
            if not fits("", low, high, patient.sex, patient.age_low, patient.age_high):
                found.append(Finding("age", f"note {told.note.note_id}, {name}", ages, f"{low} to {high} years"))
    return found


def _list_told(world: World) -> Iterator[Told]:
    """Each note with the limits of the event or symptom it tells."""
    wordings = _list_wordings(world.knowledge)
    for note in world.record.notes:
        origin = world.case.kinds.get(note.note_id)
        event = world.knowledge.events.get(origin.row) if origin else None
        rows = [(event.id, event.sex, event.age_low, event.age_high)] if event else []
        if origin and origin.kind in ("real", "look_alike"):
            # The same words may tell several symptoms: one that fits is enough.
            said = [world.knowledge.symptoms[name] for name in wordings.get(note.text.en, ())]
            kept = [each for each in said if fits(each.sex, each.age_low, each.age_high, *_who(world))] or said[:1]
            rows += [(each.id, each.sex, each.age_low, each.age_high) for each in kept[:1]]
        yield Told(note, tuple(rows))


def _who(world: World) -> tuple[str, int, int]:
    patient = world.premise.patient
    return patient.sex, patient.age_low, patient.age_high


@lru_cache(maxsize=8)
def _list_wordings(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    told: dict[str, tuple[str, ...]] = {}
    for symptom in knowledge.symptoms.values():
        for text in symptom.wordings.en:
            told[text] = (*told.get(text, ()), symptom.id)
    return told


def find_forbidden_drugs(world: World) -> list[Finding]:
    """Drugs ordered in spite of a documented condition, a state it means, or a result charted by then that forbids them; and drugs that
    are not stopped at the visit after such a result. A result that a fault of its specimen touched is no reason."""
    found = []
    known, sex = world.record.profile.known_conditions, world.premise.patient.sex
    orders, visits = world.record.prescriptions, sorted(world.visits)
    before: tuple[str, float] | None = None
    for place, order in enumerate(orders):
        # A step down or the same dose is no decision for the drug.
        is_decision = before is None or before[0] != order.drug or order.dose > before[1]
        before = order.drug, order.dose
        drug = world.knowledge.drugs.get(order.drug)
        if drug is None:
            found.append(Finding("drug", f"order, day {order.day}", order.drug, "a drug of knowledge"))
            continue
        reasons = [rule.condition or rule.state for rule in find_contraindications(drug, known, find_states(world.knowledge, known), {})]
        end = next((each.day for each in orders[place + 1 :] if each.drug != order.drug), world.record.last_day)
        spoken = read_against(order.drug, world.sound_series, sex, world.knowledge)
        against = find_against(spoken, order.day, order.day)
        if is_decision and against:
            reasons.append(f"{against.item} {against.value:g}")
        # The visit that sees a result asks for it, the next one stops what it forbids.
        stopped_by = max((day for day in visits if day < end), default=order.day) - 1
        is_begun = place == 0 or orders[place - 1].drug != order.drug
        if is_begun and not (is_decision and against) and (against := find_against(spoken, order.day, stopped_by)):
            reasons.append(f"{against.item} {against.value:g} on day {against.day}, to day {end}")
        for reason in reasons:
            found.append(Finding("drug", f"{order.drug} {order.dose:g}, day {order.day}", f"given in spite of {reason}", "contraindicated"))
    return found


def find_wrong_doses(world: World) -> list[Finding]:
    """Doses off the ladder, above the indication, out of steps, too fast, or for nothing the patient has."""
    return list(drug_is_indicated.check(world.case).findings)


def find_results_without_a_draw(world: World) -> list[Finding]:
    """Results on a day without a visit or a specimen, specimens and findings without a visit, anything outside the course."""
    record, found = world.record, []
    specimens = {each.day for each in record.specimens}
    for series in record.series:
        days = set(series.days.tolist())
        if days and not 0 <= min(days) <= max(days) <= record.last_day:
            found.append(Finding("order", f"series {series.name}", f"day {min(days)} to {max(days)}", f"0 to {record.last_day}"))
        if series.setting == "laboratory":
            found += [Finding("order", f"{series.name}, day {day}", "a result", "on a visit") for day in sorted(days - world.visits)]
            if record.specimens:
                found += [Finding("order", f"{series.name}, day {day}", "a result", "with a specimen") for day in sorted(days - specimens)]
    resulted = {day for series in record.series if series.setting == "laboratory" for day in series.days.tolist()}
    found += [Finding("order", f"specimen, day {day}", "no result", "at least one") for day in sorted(specimens - resulted)]
    for what, days_of in (("specimen", [s.day for s in record.specimens]), ("finding", [f.day for f in record.findings])):
        found += [Finding("order", f"{what}, day {day}", "charted", "on a visit") for day in days_of if day not in world.visits]
    for name, listed in (("note", record.notes), ("order", record.prescriptions), ("pack", record.dispensing)):
        days_listed = [each.day for each in listed]
        if days_listed != sorted(days_listed) or any(not 0 <= day <= record.last_day for day in days_listed):
            found.append(Finding("order", f"{name}s", f"days {days_listed}", f"ascending, 0 to {record.last_day}"))
    return found


def find_packs_without_an_order(world: World) -> list[Finding]:
    """Packs handed out before they were ordered, or of another drug, dose or unit than the order in force."""
    found, past = [], world.record.history.prescriptions if world.record.history else ()
    still = {each.drug: each for each in past if each.last_day is None}
    ordered_drugs = {each.drug for each in world.record.prescriptions}
    for pack in world.record.dispensing:
        place = f"pack of {pack.drug}, day {pack.day}"
        latest = next((each for each in reversed(world.record.prescriptions) if each.day <= pack.day), None)
        order: Prescription | PastPrescription | None = latest
        if pack.drug in still and pack.drug not in ordered_drugs:
            order = still[pack.drug]
        if order is None:
            found.append(Finding("dispensing", place, f"{pack.dose:g} {pack.unit}", "after its order"))
        elif (order.drug, order.dose, order.unit) != (pack.drug, pack.dose, pack.unit):
            ordered = f"{order.drug} {order.dose:g} {order.unit} is ordered"
            found.append(Finding("dispensing", place, f"{pack.dose:g} {pack.unit}", ordered))
        if pack.days_supplied <= 0:
            found.append(Finding("dispensing", place, f"{pack.days_supplied} days", "at least one"))
    return found


def find_missing_language(world: World) -> list[Finding]:
    """Texts and names that one of the languages lacks, or says in the signs of the other."""
    knowledge, record = world.knowledge, world.record
    texts = [(f"note {note.note_id}", note.text) for note in record.notes if not note.is_as_written]
    texts += [(f"context of {note.note_id}", note.context) for note in record.notes if note.context and not note.is_as_written]
    texts += [(f"event, day {event.day}", event.text) for event in (record.history.events if record.history else ())]
    known = [name for name in record.profile.known_conditions if name in knowledge.conditions]
    texts += [(f"condition {name}", knowledge.conditions[name].names) for name in known]
    texts += [(f"drug {order.drug}", knowledge.drugs[order.drug].names) for order in record.prescriptions[:1]]
    measured = dict.fromkeys([*(series.name for series in record.series), *(each.name for each in record.findings)])
    texts += [(f"item {name}", knowledge.items[name].names) for name in measured if name in knowledge.items]
    found = []
    for place, text in texts:
        if not text.en.strip() or not text.zh.strip() or _is_chinese(text.en):
            found.append(Finding("language", place, f"{text.en!r}, {text.zh!r}", "text in both languages"))
        elif not _is_chinese(text.zh) and text.zh.strip() != text.en.strip():
            found.append(Finding("language", place, repr(text.zh), "Chinese, or the same name in both"))
    return found


@lru_cache(maxsize=65536)
def _is_chinese(text: str) -> bool:
    return any(0x4E00 <= ord(sign) <= 0x9FFF for sign in text)


def find_contradicting_history(world: World) -> list[Finding]:
    """What was charted before day 0 and contradicts the patient or the course."""
    return check_history(world.record, world.premise, world.knowledge)


def find_disagreeing_results(world: World) -> list[Finding]:
    """Calculated results that do not follow from the printed ones, orders of values turned round, and low results without a cause."""
    gates = (derived_values_agree, low_results_have_a_cause)
    return [finding for gate in gates for finding in gate.check(world.case).findings]


def find_wrong_devices(world: World) -> list[Finding]:
    """Series without a device that records them, devices that record nothing, ids that are not opaque."""
    return [finding for gate in (devices_record, ids_tell_nothing) for finding in gate.check(world.case).findings]


CHECKS: Mapping[str, Callable[[World], list[Finding]]] = {
    "hard bounds and units": find_values_out_of_bounds,
    "findings": find_impossible_findings,
    "sex": find_wrong_sex,
    "age": find_wrong_age,
    "contraindicated drugs": find_forbidden_drugs,
    "doses off the ladder": find_wrong_doses,
    "results before orders and visits": find_results_without_a_draw,
    "dispensing before prescription": find_packs_without_an_order,
    "missing language": find_missing_language,
    "history": find_contradicting_history,
    "results that disagree": find_disagreeing_results,
    "devices and ids": find_wrong_devices,
}


def find_impossible(world: World) -> dict[str, list[Finding]]:
    """The findings of every check, by its name."""
    return {name: check(world) for name, check in CHECKS.items()}
