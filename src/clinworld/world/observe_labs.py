"""Laboratory results: which groups a visit draws, what is true of a specimen, what is measured in it, and what is calculated from that.

A true level varies from day to day in the person, results of one specimen together; what befalls the specimen and what it is measured
on (`specimens.py`, `lab_methods.py`, only where asked for) comes on top, then the assay's own error, then printing. Decides neither the
visit days nor the true levels. An analyte without its device is absent, never normal.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_normal, words_to_uniform
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import ChartFault, MethodChange, Series, Specimen
from clinworld.world.formulas import CELL_HAEMOGLOBIN, FOLLOWS, FORMULAS
from clinworld.world.lab_assays import Assays, load_assays
from clinworld.world.lab_methods import draw_methods
from clinworld.world.monitoring import (
    Span,
    find_due,
    known_conditions,
    list_watched,
    sort_spans,
    space_out,
    watch_condition,
    watch_drug,
)
from clinworld.world.observe_streams import reflect
from clinworld.world.specimens import Touched, draw_circumstances, draw_specimens

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]

_HALF = np.uint64(32)


class Results(NamedTuple):
    """Printed ticks of `Assays.results` on every visit, [result, visit]; only the visits with `is_charted` drew them."""

    ticks: NDArray[np.int64]
    is_charted: Flags


class ObservedLabs(NamedTuple):
    """Printed results in the order of the analyte table, and what is charted of the specimens and methods behind them.

    `faults` are what befell specimens and what methods shifted; nobody sees them. All but the series are empty unless asked for.
    """

    series: tuple[Series, ...]
    specimens: tuple[Specimen, ...] = ()
    method_changes: tuple[MethodChange, ...] = ()
    faults: tuple[ChartFault, ...] = ()


def observe_labs(premise: Premise, course: Course, visits: Days, knowledge: Knowledge, rng: Rng) -> tuple[Series, ...]:
    """Printed results of every analyte with a true level and a device, in the order of the analyte table.

    `visits` are days, ascending, of which day 0 draws everything. Each drawn group has at least two results up to the index day.
    """
    return observe_laboratory(premise, course, visits, knowledge, rng).series


def observe_laboratory(
    premise: Premise, course: Course, visits: Days, knowledge: Knowledge, rng: Rng, *, has_specimens: bool = False, repeat: int = 0
) -> ObservedLabs:
    """The same results; `has_specimens`: with what befalls specimens and with methods that change, and both charted.

    `repeat` above 0 measures the same specimens once more, as a control of the assays would.
    """
    assays = load_assays(knowledge, premise.patient.devices, _pick_analytes(knowledge, tuple(course.levels)), premise.patient.sex)
    if not assays.measured:
        return ObservedLabs(())
    slots = visits // int(knowledge.parameter("visit_slot_days"))
    n = int(slots[-1]) + 1
    by_group = rng.first_words(premise.case_id, assays.group_addresses, n + 1)
    person, chance = words_to_normal(by_group[:, :1]), words_to_uniform(by_group[:, 1:][:, slots])
    is_drawn = _choose_results(premise, course, assays, visits, person, chance, knowledge)
    words = rng.first_words(premise.case_id, assays.addresses, n)[:, slots]
    # A word makes two normals: the high half the day's variation, the low half the error; either half is finer than any result.
    normals = words_to_normal(words[: len(assays.within.needed)])
    errors = words_to_normal((words << _HALF | words >> _HALF)[assays.errors_at])
    levels = np.array([course.levels[name][visits] for name in assays.varied])
    cell_haemoglobin = draw_cell_haemoglobin(premise.case_id, knowledge, rng) if "haemoglobin" in assays.varied else 0.0
    truth = derive_specimens(assays, levels, normals, cell_haemoglobin, premise.patient.sex, knowledge)
    befell = None
    is_fasting = None
    if has_specimens:
        names = tuple(row.id for row in assays.measured)
        taken = draw_circumstances(premise, visits, knowledge, rng)
        is_fasting = taken.is_fasting
        is_drawn &= is_fasting | ~assays.fasting_only
        methods = draw_methods(premise, visits, is_drawn, names, knowledge, rng)
        befell = draw_specimens(premise, visits, taken, is_drawn, names, methods.usual, methods.others, knowledge, rng)
        truth = (truth * befell.times + befell.plus) * methods.times + methods.plus
    if repeat:
        paths = [("labs_again", row.id, repeat) for row in assays.measured]
        errors = words_to_normal(rng.first_words(premise.case_id, paths, n)[:, slots])
    ticks = measure(assays, truth, errors, knowledge)
    _keep_first_undiagnosed(premise, assays, ticks, levels)
    age_years = (premise.patient.age_low + premise.patient.age_high) / 2
    results = print_results(assays, ticks, is_drawn, age_years, premise.patient.sex, knowledge, is_fasting=is_fasting)
    charted = chart_results(assays, results, visits)
    if befell is None:
        return ObservedLabs(charted)
    is_charted = dict(zip(assays.results, results.is_charted, strict=True))
    faults = _list_faults((*befell.touched, *methods.touched), assays, is_charted, visits)
    return ObservedLabs(charted, befell.specimens, methods.changes, faults)


@lru_cache(maxsize=4096)
def _pick_analytes(knowledge: Knowledge, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in knowledge.analytes)


def _choose_results(
    premise: Premise, course: Course, assays: Assays, visits: Days, person: Reals, chance: Reals, knowledge: Knowledge
) -> Flags:
    """Which visits measure what, [measured, visit]: the groups drawn, what is due, and less of what is measured seldom."""
    is_drawn = _draw_groups(premise, assays, visits, person, chance, knowledge)[assays.group_at]
    review = int(visits.searchsorted(premise.index_day, side="right")) - 1
    for name, due in _find_due(premise, course, visits, review, knowledge).items():
        is_drawn[assays.results.index(name)] = due
    space_out(is_drawn, assays.results, visits, dict.fromkeys(known_conditions(premise), 0.0), knowledge, review=review)
    return is_drawn


def _draw_groups(premise: Premise, assays: Assays, visits: Days, person: Reals, chance: Reals, knowledge: Knowledge) -> Flags:
    """Which visits draw which group, [group, visit]; `person` are standard normals [group, 1], `chance` uniforms [group, visit].

    How often a group is drawn differs between people. The last visit up to the index day draws what would have too few results.
    """
    drawn = chance < find_group_chances(assays, person, knowledge)
    drawn[:, 0] = True
    visible = int(visits.searchsorted(premise.index_day, side="right"))
    drawn[:, visible - 1] |= drawn[:, :visible].sum(axis=1) < int(knowledge.parameter("lab_least_visible"))
    return drawn


def _find_due(premise: Premise, course: Course, visits: Days, review: int, knowledge: Knowledge) -> dict[str, Flags]:
    """The visits on which each analyte is measured that documented conditions or the drug bring: when it is due, and as often as others."""
    conditions = known_conditions(premise)
    watched = list_watched(knowledge, conditions, premise.drug, premise.patient.devices)
    if not watched:
        return {}
    orders = tuple(day for day, _ in course.dose_changes)
    spans = [Span(watch, 0, np.inf, ()) for name in conditions for watch in watch_condition(knowledge, name)]
    spans += [Span(watch, orders[0], np.inf, orders) for watch in watch_drug(knowledge, premise.drug)]
    age_years = (premise.patient.age_low + premise.patient.age_high) / 2
    sorted_spans = sort_spans(spans, [name for name in watched if name in course.levels])
    found = {name: find_due(visits, each, age_years, knowledge) for name, each in sorted_spans.items()}
    for due in found.values():
        due[0] = True
        due[review] |= due[: review + 1].sum() < int(knowledge.parameter("lab_least_visible"))
    return found


def find_group_chances(assays: Assays, person: Reals, knowledge: Knowledge) -> Reals:
    """How likely a visit of this person draws each group, [group, 1]; `person` are standard normals [group, 1]."""
    odds = assays.usual_odds * np.exp(knowledge.parameter("lab_person_logit_sd") * person)
    return np.asarray(odds / (1 + odds))


def draw_cell_haemoglobin(case_id: str, knowledge: Knowledge, rng: Rng) -> float:
    """Mean cell haemoglobin concentration in g/L, which a person keeps."""
    mean, sd = knowledge.parameter("cell_haemoglobin_mean"), knowledge.parameter("cell_haemoglobin_sd")
    return mean + sd * rng.at(case_id, "levels", CELL_HAEMOGLOBIN).gauss()


def derive_specimens(assays: Assays, levels: Reals, normals: Reals, cell_haemoglobin: float, sex: str, knowledge: Knowledge) -> Reals:
    """What is true of specimens, [measured, visit], from levels [varied, visit] and standard normals [needed by `within`, visit]."""
    mixed = assays.within.mix(normals)
    varied = np.exp(reflect(np.log(levels) + assays.sd_within * mixed, assays.varied_low, assays.varied_high))
    for part in assays.varied_parts:
        whole = varied[part.whole]
        share = levels[part.part] / levels[part.whole]
        varied[part.part] = part.divide(share * whole, whole, mixed[part.part], knowledge.parameter("part_most_share"))
    truth = varied[assays.from_varied]
    if assays.follows:
        values = {**dict(zip(assays.varied, varied, strict=True)), CELL_HAEMOGLOBIN: np.array(cell_haemoglobin)}
        for i, name in assays.follows:
            truth[i] = FOLLOWS[name].calculate(values, 0.0, sex, knowledge)
    return truth


def measure(assays: Assays, truth: Reals, errors: Reals, knowledge: Knowledge) -> NDArray[np.int64]:
    """Printed ticks [measured, visit] of what is true, with the assays' errors (standard normals), all inside the hard bounds.

    A part that its whole cannot hold is lowered in `truth`.
    """
    for lesser, greater in assays.measured_wholes:
        truth[lesser] = np.minimum(truth[lesser], knowledge.parameter("part_most_share") * truth[greater])
    logs = np.log(np.maximum(truth, assays.least))
    values = np.exp(reflect(logs + assays.sd_assay * errors, assays.low, assays.high))
    for part in assays.measured_parts:
        most = knowledge.parameter("part_most_share")
        whole = values[part.whole]
        values[part.part] = part.divide(truth[part.part] / truth[part.whole] * whole, whole, errors[part.part], most)
    return to_ticks(values * assays.steps_per_unit, 0)


def _keep_first_undiagnosed(premise: Premise, assays: Assays, ticks: NDArray[np.int64], levels: Reals) -> None:
    """Fold a first result back below the limit at which a condition this patient is not known to have would be diagnosed."""
    known = (premise.patient.disease, *premise.patient.comorbidities)
    for each in assays.undiagnosed:
        is_false = each.condition not in known and levels[each.varied_at, 0] < each.limit and ticks[each.at, 0] >= each.limit_ticks
        if is_false:
            ticks[each.at, 0] = 2 * each.limit_ticks - 1 - ticks[each.at, 0]


def print_results(
    assays: Assays,
    ticks: NDArray[np.int64],
    is_drawn: Flags,
    age_years: float | Reals,
    sex: str,
    knowledge: Knowledge,
    *,
    is_fasting: Flags | None = None,
) -> Results:
    """Results measured, from `ticks` and `is_drawn` [measured, visit], and those calculated from them.

    A result is calculated on the visits that have all its inputs, from their printed values; none outside the formula's domain. The age
    may differ by visit. `is_fasting` limits results that hold for fasting specimens only.
    """
    n = len(assays.measured)
    shape = (len(assays.results), ticks.shape[1])
    results = Results(np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.bool_))
    results.ticks[:n], results.is_charted[:n] = ticks, is_drawn
    printed = np.empty(shape)
    printed[:n] = ticks / assays.steps_per_unit
    by_name = dict(zip(assays.results, printed, strict=True))
    for each in assays.calculated_at_once:
        values = np.array([FORMULAS[row.derived_by].calculate(by_name, age_years, sex, knowledge) for row in each.rows])
        is_charted = (values >= each.low) & (values <= each.high) & results.is_charted[each.inputs_at].all(axis=1)
        if is_fasting is not None:
            is_charted &= is_fasting | ~each.is_fasting
        calculated = to_ticks(np.where(is_charted, values, 0) * each.steps_per_unit, 0)
        results.ticks[each.at], results.is_charted[each.at] = calculated, is_charted
        printed[each.at] = np.where(is_charted, calculated / each.steps_per_unit, np.nan)
    return results


def chart_results(assays: Assays, results: Results, visits: Days) -> tuple[Series, ...]:
    """What was drawn, as series in the order of the analyte table; an analyte that no visit drew is left out."""
    is_charted = results.is_charted[assays.printed_at]
    days, ticks = visits.astype(np.int32)[is_charted.nonzero()[1]], results.ticks[assays.printed_at][is_charted]
    series, first = [], 0
    for row, last in zip(assays.printed, is_charted.sum(axis=1).cumsum().tolist(), strict=True):
        if last > first:
            series.append(Series(row.id, "laboratory", row.ucum, row.decimals, days[first:last], ticks[first:last]))
        first = last
    return tuple(series)


def _list_faults(touched: tuple[Touched, ...], assays: Assays, is_charted: Mapping[str, Flags], visits: Days) -> tuple[ChartFault, ...]:
    """What moved charted results: measured ones by its size, those calculated from them without one."""
    faults = [ChartFault(each.factor, each.analyte, tuple(visits[each.at].tolist()), each.size) for each in touched]
    reached = [(each.factor, each.analyte, each.at) for each in touched]
    for row in assays.calculated:
        at_by_factor: dict[str, Flags] = {}
        for factor, analyte, at in reached:
            if analyte in FORMULAS[row.derived_by].inputs:
                at_by_factor[factor] = at_by_factor.get(factor, np.zeros_like(at)) | at
        for factor, at in at_by_factor.items():
            reached.append((factor, row.id, at))
            days = visits[at & is_charted[row.id]].tolist()
            if days:
                faults.append(ChartFault(factor, row.id, tuple(days), None))
    return tuple(faults)
