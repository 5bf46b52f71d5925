"""Laboratory results: which groups a visit draws, what the laboratory finds in a specimen, and what it calculates from that.

Decides neither the visit days nor the true levels. An analyte without its device is absent, never normal.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import KnowledgeError, allowed_values, nearest_match
from clinworld.core.rng import Rng, words_to_normal, words_to_uniform
from clinworld.core.units import from_ticks, to_ticks
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.schema.course import Course, Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import Series
from clinworld.world.formulas import FORMULAS
from clinworld.world.observe_streams import reflect

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Assays:
    """What measuring some analytes takes, as columns [analyte, 1]: log-scale SDs, log bounds one step inside the hard ones, and steps.

    `sd_shared` is what results of one group have in common on one day, `sd_own` all the rest, the assay's own error included.
    `usual` [group, 1] is how often a visit draws a group, `group_at` the group of each analyte.
    """

    rows: tuple[Analyte, ...]
    groups: tuple[str, ...]
    group_at: tuple[int, ...]
    usual: Reals
    sd_shared: Reals
    sd_own: Reals
    low: Reals
    high: Reals
    steps_per_unit: Reals


class Results(NamedTuple):
    """One analyte on every visit, printed; only the visits with `is_charted` drew it."""

    row: Analyte
    ticks: NDArray[np.int64]
    printed: Reals
    is_charted: Flags


@lru_cache(maxsize=256)
def load_assays(knowledge: Knowledge, devices: tuple[str, ...], names: tuple[str, ...]) -> Assays:
    """The assays these devices allow among `names`, in table order; calculated results are not assayed."""
    known = set(names)
    rows = tuple(row for row in knowledge.analytes.values() if row.id in known and row.device in devices and not row.derived_by)
    groups = tuple(dict.fromkeys(row.group for row in rows))
    usual = [f"lab_p_{group}" if f"lab_p_{group}" in knowledge.parameters else "lab_p_other" for group in groups]
    unknown, shared = knowledge.parameter("lab_cv_unknown_pct"), knowledge.parameter("lab_shared_loading")
    within = np.array([[unknown if row.cv_within_pct is None else row.cv_within_pct] for row in rows]) / 100
    analytic = np.array([[unknown if row.cv_analytic_pct is None else row.cv_analytic_pct] for row in rows]) / 100
    per_unit = np.array([[10.0**row.decimals] for row in rows])
    low = np.maximum(np.floor(np.array([[row.hard_low] for row in rows]) * per_unit) + 1, 1)
    high = np.ceil(np.array([[row.hard_high] for row in rows]) * per_unit) - 1
    return Assays(
        rows=rows,
        groups=groups,
        group_at=tuple(groups.index(row.group) for row in rows),
        usual=np.array([[knowledge.parameter(name)] for name in usual]),
        sd_shared=within * shared,
        sd_own=np.sqrt(within * within * (1 - shared * shared) + analytic * analytic),
        low=np.log(low / per_unit),
        high=np.log(high / per_unit),
        steps_per_unit=per_unit,
    )


def observe_labs(premise: Premise, course: Course, visits: Days, knowledge: Knowledge, rng: Rng) -> tuple[Series, ...]:
    """Printed results of every analyte with a true level and a device, in the order of the analyte table.

    `visits` are days, ascending, of which day 0 draws everything. Each drawn group has at least two results up to the index day.
    """
    assays = load_assays(knowledge, premise.patient.devices, tuple(course.levels))
    if not assays.rows:
        return ()
    slots = visits // int(knowledge.parameter("visit_slot_days"))
    n = int(slots[-1]) + 1
    by_group = np.array([rng.at(premise.case_id, "lab_group", group).words(2 * n + 2) for group in assays.groups])
    by_analyte = np.array([rng.at(premise.case_id, "labs", row.id).words(n) for row in assays.rows])
    # One transform for all: per group the person and what a specimen shares, per analyte its own variation.
    person, shared = by_group[:, :1], by_group[:, 2::2][:, slots]
    normals = words_to_normal(np.concatenate([np.concatenate([person, shared], axis=1).ravel(), by_analyte[:, slots].ravel()]))
    of_group = normals[: len(assays.groups) * (len(slots) + 1)].reshape(len(assays.groups), -1)
    own = normals[of_group.size :].reshape(len(assays.rows), -1)
    drawn = _draw_groups(premise, assays, visits, of_group[:, :1], words_to_uniform(by_group[:, 3::2][:, slots]), knowledge)
    level = np.array([course.levels[row.id][visits] for row in assays.rows])
    ticks = print_results(assays, level, own, of_group[assays.group_at, 1:])
    _keep_first_undiagnosed(premise, assays.rows, ticks, level)
    results = {
        row.id: Results(row, ticks[i], printed, drawn[group])
        for i, (row, group, printed) in enumerate(zip(assays.rows, assays.group_at, ticks / assays.steps_per_unit, strict=True))
    }
    for row in list_calculated(knowledge):
        if row.device in premise.patient.devices and all(name in results for name in FORMULAS[row.derived_by].inputs):
            age_years = (premise.patient.age_low + premise.patient.age_high) / 2
            results[row.id] = calculate_result(row, age_years, premise.patient.sex, results, knowledge)
    charted = [chart_results(results[name], visits) for name in knowledge.analytes if name in results]
    return tuple(series for series in charted if len(series.days))


def print_results(assays: Assays, level: Reals, own: Reals, shared: Reals) -> NDArray[np.int64]:
    """Ticks [analyte, visit] of true levels, with standard normals of each result's own and of what its group shares on the day."""
    values = np.log(level) + assays.sd_own * own + assays.sd_shared * shared
    return to_ticks(np.exp(reflect(values, assays.low, assays.high)) * assays.steps_per_unit, 0)


@lru_cache(maxsize=8)
def list_calculated(knowledge: Knowledge) -> tuple[Analyte, ...]:
    """The calculated analytes, each after those it is calculated from."""
    waiting = [row for row in knowledge.analytes.values() if row.derived_by]
    for row in waiting:
        if row.derived_by not in FORMULAS:
            nearest = nearest_match(row.derived_by, FORMULAS)
            raise KnowledgeError(f"analytes:{row.id}", f"no formula {row.derived_by!r}", allowed_values(FORMULAS), nearest=nearest)
    listed: list[Analyte] = []
    while waiting:
        names = {row.id for row in waiting}
        ready = [row for row in waiting if names.isdisjoint(FORMULAS[row.derived_by].inputs)]
        if not ready:
            raise KnowledgeError("analytes", f"{', '.join(sorted(names))} calculated from each other", do="Cut the cycle.")
        listed += ready
        waiting = [row for row in waiting if row not in ready]
    return tuple(listed)


def _draw_groups(premise: Premise, assays: Assays, visits: Days, person: Reals, chance: Reals, knowledge: Knowledge) -> Flags:
    """Which visits draw which group, [group, visit]; `person` are standard normals [group, 1], `chance` uniforms [group, visit].

    How often a group is drawn differs between people. The last visit up to the index day draws what would have too few results.
    """
    drawn = chance < find_group_chances(assays, person, knowledge)
    drawn[:, 0] = True
    visible = int(np.searchsorted(visits, premise.index_day, side="right"))
    drawn[:, visible - 1] |= np.count_nonzero(drawn[:, :visible], axis=1) < int(knowledge.parameter("lab_least_visible"))
    return drawn


def find_group_chances(assays: Assays, person: Reals, knowledge: Knowledge) -> Reals:
    """How likely a visit of this person draws each group, [group, 1]; `person` are standard normals [group, 1]."""
    odds = assays.usual / (1 - assays.usual) * np.exp(knowledge.parameter("lab_person_logit_sd") * person)
    return np.asarray(odds / (1 + odds))


def _keep_first_undiagnosed(premise: Premise, rows: tuple[Analyte, ...], ticks: NDArray[np.int64], level: Reals) -> None:
    """Fold a first result back below the limit at which a condition this patient is not known to have would be diagnosed."""
    known = (premise.patient.disease, *premise.patient.comorbidities)
    for i, row in enumerate(rows):
        if row.diagnostic_high is not None and row.diagnostic_of not in known:
            limit = int(to_ticks(row.diagnostic_high, row.decimals))
            if level[i, 0] < row.diagnostic_high and ticks[i, 0] >= limit:
                ticks[i, 0] = 2 * limit - 1 - ticks[i, 0]


def calculate_result(row: Analyte, age_years: float | Reals, sex: str, results: dict[str, Results], knowledge: Knowledge) -> Results:
    """A calculated result on the visits that have all its inputs, from their printed values; none outside the formula's domain.

    The age may differ by visit.
    """
    formula = FORMULAS[row.derived_by]
    result = formula.calculate({name: results[name].printed for name in formula.inputs}, age_years, sex, knowledge)
    is_charted = np.isfinite(result)
    for name in formula.inputs:
        is_charted &= results[name].is_charted
    ticks = to_ticks(np.where(is_charted, result, 0), row.decimals)
    return Results(row, ticks, np.where(is_charted, from_ticks(ticks, row.decimals), np.nan), is_charted)


def chart_results(results: Results, visits: Days) -> Series:
    """The visits that drew an analyte, as a series."""
    row, at = results.row, results.is_charted
    return Series(row.id, "laboratory", row.ucum, row.decimals, visits[at].astype(np.int32), results.ticks[at])
