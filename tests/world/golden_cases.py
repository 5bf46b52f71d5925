"""Twelve contrasting patients at fixed addresses, printed compactly: what a clinician reads of each before a picture is looked at."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.core.units import print_tick
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import PARTS, Chart, Record, Series
from clinworld.world.build import build_world
from clinworld.world.draw import draw_case
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.premise import check_premise, derive_premise

GOLDEN = Path(__file__).parent / "golden"
SEED = "golden"
KNOWLEDGE, RNG, JOB = load_knowledge(), Rng(SEED), drawn_job(SEED)
STEP_DAYS = 28
MOST_TRIES = 50

# Name → pins of a drawn case, or the condition that shows itself.
FORECAST: Mapping[str, Mapping[str, str]] = {
    "obesity_doses_missed": {"disease": "obesity", "outcome": "regain", "driver": "poor_medication_adherence"},
    "obesity_weight_kept": {"disease": "obesity", "outcome": "maintain"},
    "diabetes_eats_more": {"disease": "type_2_diabetes", "outcome": "regain", "driver": "calorie_intake_change"},
    "hypertension_weight_kept": {"disease": "hypertension", "outcome": "maintain"},
    "dyslipidemia_moves_less": {"disease": "dyslipidemia", "outcome": "regain", "driver": "activity_decline"},
    "masld_low_response": {"disease": "masld", "outcome": "regain", "driver": "biological_low_response"},
}
HIDDEN = ("hypothyroidism", "cushing", "pe", "iron_deficiency_anaemia", "gout", "hfref")
NAMES = (*FORECAST, *(f"hidden_{name}" for name in HIDDEN))


class GoldenWorld(NamedTuple):
    """One of the twelve, finished with every part."""

    name: str
    premise: Premise
    course: Course
    chart: Chart

    @property
    def record(self) -> Record:
        """What was charted."""
        return self.chart.record


def build_golden(name: str, knowledge: Knowledge = KNOWLEDGE) -> GoldenWorld:
    """One of the twelve: the first address from 0 on whose values do not contradict each other."""
    for number in range(MOST_TRIES):
        try:
            premise = _plan(name, f"{name}.{number}", knowledge)
            course, chart = build_world(premise, knowledge, RNG, frozenset(PARTS))
        except PremiseConflict:
            continue
        return GoldenWorld(name, premise, course, chart)
    raise AssertionError(f"{name}: no address without a contradiction")


def _plan(name: str, case_id: str, knowledge: Knowledge) -> Premise:
    if name not in FORECAST:
        return plan_presenting(case_id, name.removeprefix("hidden_"), JOB, knowledge, RNG)
    case = draw_case(case_id, FORECAST[name], knowledge, RNG)
    premise = derive_premise(case, JOB, knowledge, RNG)
    for conflict in check_premise(premise, case, knowledge):
        raise PremiseConflict(conflict.place, conflict.found, conflict.limit, do=conflict.do, kind=conflict.kind)
    return premise


def print_golden(world: GoldenWorld, knowledge: Knowledge = KNOWLEDGE) -> str:
    """The patient in text, the same bytes every time; names and notes in both languages."""
    premise, record = world.premise, world.record
    parts: list[tuple[str, Iterable[str]]] = [
        ("patient", _print_patient(world, knowledge)),
        ("truth", _print_truth(world)),
        ("orders", [f"day {o.day}: {o.drug} {o.dose:g} {o.unit} {o.frequency}" for o in record.prescriptions]),
        ("packs", [_in_line(f"{p.day}:{p.dose:g}x{p.days_supplied}d" for p in record.dispensing)]),
        ("results", [_print_series(series) for series in record.series if series.setting == "laboratory"]),
        ("streams, mean of each four weeks", [_print_stream(s, record.last_day) for s in record.series if s.setting != "laboratory"]),
        ("specimens", [_in_line(_print_specimens(record))]),
        ("findings", _print_findings(record)),
        ("notes", [f"{n.day} {n.source}: {_both(n.text)}" + (f" ({_both(n.context)})" if n.context else "") for n in record.notes]),
        ("before day 0", _print_history(record)),
    ]
    lines = [f"# {world.name} ({premise.case_id})"]
    for title, listed in parts:
        lines += ["", f"## {title}", *(line for line in listed if line)]
    return "\n".join(lines) + "\n"


def _in_line(words: Iterable[str]) -> str:
    return " ".join(words)


def _both(text: Wording) -> str:
    return f"{text.en} | {text.zh}"


def _print_patient(world: GoldenWorld, knowledge: Knowledge) -> list[str]:
    premise, patient, presenting = world.premise, world.premise.patient, world.premise.presenting
    known = [_both(knowledge.conditions[name].names) for name in world.record.profile.known_conditions]
    lines = [
        f"{patient.sex}, {patient.age_low}-{patient.age_high} years, {premise.start_weight_kg:g} kg, BMI {patient.bmi}",
        "known: " + "; ".join(known),
        "devices: " + ", ".join(patient.devices),
        f"drug: {_both(knowledge.drugs[premise.drug].names)}; {premise.outcome}, {premise.driver}, reversal {premise.reversal_day}",
        f"index day {premise.index_day}, course to day {premise.course_end_day}, faults: "
        + (", ".join(f"{a.kind} {a.first_day}-{a.last_day}" for a in premise.artifacts) or "none"),
    ]
    if presenting:
        name = _both(knowledge.conditions[presenting.condition].names)
        lines.append(f"hidden: {name}, {presenting.presentation}, since day {presenting.onset_day}, severity {presenting.severity:g}")
    return lines


def _print_truth(world: GoldenWorld) -> list[str]:
    days = range(0, world.course.last_day + 1, STEP_DAYS)
    weight, taken = world.course.weight_kg, world.course.adherence
    return ["kg: " + _in_line(f"{weight[day]:.1f}" for day in days), "taken: " + _in_line(f"{100 * taken[day]:.0f}%" for day in days)]


def _print_series(series: Series) -> str:
    values = zip(series.days.tolist(), series.ticks.tolist(), strict=True)
    return f"{series.name} {series.unit}: " + _in_line(f"{day}:{print_tick(tick, series.decimals)}" for day, tick in values)


def _print_stream(series: Series, last_day: int) -> str:
    edges = np.searchsorted(series.days, range(0, last_day + 1 + STEP_DAYS, STEP_DAYS))
    values = series.values()
    means = [f"{values[a:b].mean():.{max(series.decimals, 1)}f}" if b > a else "-" for a, b in pairwise(edges.tolist())]
    return f"{series.name} {series.unit}, n {len(values)}: " + _in_line(means)


def _print_specimens(record: Record) -> Iterable[str]:
    for each in record.specimens:
        clock = f"{each.minute_of_day // 60:02d}:{each.minute_of_day % 60:02d}"
        yield f"{each.day}@{clock}{'' if each.is_fasting else ' fed'},{each.site}{',' + each.comment if each.comment else ''}"


def _print_findings(record: Record) -> list[str]:
    by_name: dict[str, list[str]] = {}
    for each in record.findings:
        value = "+" if each.is_positive else "-"
        by_name.setdefault(each.name, []).append(f"{each.day}:{value if each.ticks is None else print_tick(each.ticks, each.decimals)}")
    return [f"{name}: {_in_line(values)}" for name, values in by_name.items()]


def _print_history(record: Record) -> list[str]:
    history = record.history
    if history is None:
        return []
    lines = ["visits: " + _in_line(map(str, history.visits))]
    lines += [f"{o.drug} {o.dose:g} {o.unit}, day {o.first_day} to {o.last_day}" for o in history.prescriptions]
    lines += [f"{event.day} {event.source}: {_both(event.text)}" for event in history.events]
    return lines + [_print_series(series) for series in history.series]
