"""What measuring some analytes takes, worked out once for a set of devices and true levels: variation, errors, bounds, who needs whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import KnowledgeError, allowed_values, nearest_match
from clinworld.core.units import to_tick
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte
from clinworld.schema.course import Reals
from clinworld.world.common_causes import Mixture, load_mixture
from clinworld.world.formulas import FOLLOWS, FORMULAS, PARTS, has_own_level


class Part(NamedTuple):
    """A result that is a share of another: the places of both, the SD of its log odds beside what the whole varies, its usual share."""

    part: int
    whole: int
    sd: float
    usual: float

    def divide(self, values: Reals, whole: Reals, normals: Reals, most: float) -> Reals:
        """The part of a whole after its share has moved by `normals`; never the whole. Only a share above the usual moves less."""
        share = np.minimum(values, most * whole) / whole
        odds = share / (1 - share) * np.exp(self.sd / np.maximum(1 - share, 1 - self.usual) * normals)
        return np.asarray(whole * odds / (1 + odds))


class Calculated(NamedTuple):
    """Results calculated from printed ones, none of which needs another of them: their rows and, among all results, their places and those
    of their inputs [result, input], of which some may come twice; and their limits, steps per unit and needs as columns."""

    rows: tuple[Analyte, ...]
    at: slice
    inputs_at: NDArray[np.int64]
    low: Reals
    high: Reals
    steps_per_unit: Reals
    is_fasting: NDArray[np.bool_]


class Undiagnosed(NamedTuple):
    """A measured analyte by which a condition is diagnosed: its places among the measured and the varied, and the limit, also in ticks."""

    at: int
    varied_at: int
    condition: str
    limit: float
    limit_ticks: int


@dataclass(frozen=True, slots=True, eq=False)
class Assays:
    """The analytes `varied`, whose level varies from day to day, and the rows `measured` in a specimen, both in table order.

    Columns [varied, 1]: the SD of day-to-day variation on the log scale, and log bounds one printed step inside the hard ones. Columns
    [measured, 1]: the assay's SD, the same bounds, the lower one in the unit (`least`), printed steps per unit. `from_varied` is the place
    of a measured analyte among the varied; one of `follows` (place, id) has none. `drawn` are the names whose words are drawn at
    `addresses`, those `within` needs first; `errors_at` is the place of each measured analyte among them. `usual_odds` [group, 1] is how
    often a visit draws a group, `group_at` the group of each measured analyte; `measured_wholes` are the places of parts and wholes.
    `undiagnosed` are the measured that a condition is diagnosed by; `fasting_only` [measured, 1] those whose every test wants the patient
    fasting. `calculated` come each after its inputs, and those `calculated_at_once` need none of each other. `results` are the ids of
    all, first the measured; `printed` are their rows in table order, `printed_at` their places.
    """

    varied: tuple[str, ...]
    within: Mixture
    sd_within: Reals
    varied_low: Reals
    varied_high: Reals
    varied_parts: tuple[Part, ...]
    measured: tuple[Analyte, ...]
    from_varied: NDArray[np.int64]
    follows: tuple[tuple[int, str], ...]
    drawn: tuple[str, ...]
    addresses: tuple[tuple[str, str], ...]
    errors_at: NDArray[np.int64]
    groups: tuple[str, ...]
    group_addresses: tuple[tuple[str, str], ...]
    group_at: NDArray[np.int64]
    usual_odds: Reals
    sd_assay: Reals
    least: Reals
    low: Reals
    high: Reals
    steps_per_unit: Reals
    measured_parts: tuple[Part, ...]
    measured_wholes: tuple[tuple[int, int], ...]
    undiagnosed: tuple[Undiagnosed, ...]
    fasting_only: NDArray[np.bool_]
    calculated: tuple[Analyte, ...]
    calculated_at_once: tuple[Calculated, ...]
    results: tuple[str, ...]
    printed: tuple[Analyte, ...]
    printed_at: NDArray[np.int64]


@lru_cache(maxsize=2048)
def load_assays(knowledge: Knowledge, devices: tuple[str, ...], names: tuple[str, ...], sex: str) -> Assays:
    """The assays these devices allow where the true levels `names` are known; what is calculated is not assayed.

    A calculated result is reported where its inputs are and something else of its group is measured.
    """
    rows = {row.id: row for row in knowledge.analytes.values() if row.device in devices}
    known = set(names) & set(rows)
    follows = {name for name, formula in FOLLOWS.items() if name in rows and known.issuperset(formula.inputs)}
    # One that follows from others varies by itself where those are not known.
    varied = [row for row in rows.values() if row.id in known - follows and (has_own_level(row) or row.id in FOLLOWS)]
    at = {row.id: i for i, row in enumerate(varied)}
    measured = tuple(row for row in rows.values() if (row.id in at and not row.derived_by) or row.id in follows)
    places = {row.id: i for i, row in enumerate(measured)}
    groups = tuple(dict.fromkeys(row.group for row in measured))
    calculated = _find_calculated(tuple(places), groups, devices, knowledge)
    usual = [f"lab_p_{group}" if f"lab_p_{group}" in knowledge.parameters else "lab_p_other" for group in groups]
    chances = np.array([[knowledge.parameter(name)] for name in usual]).reshape(-1, 1)
    per_unit, low, high = _find_bounds(measured)
    _, varied_low, varied_high = _find_bounds(varied)
    at_once = _find_at_once(calculated, tuple(places))
    results = (*places, *(row.id for each in at_once for row in each.rows))
    printed = tuple(row for row in knowledge.analytes.values() if row.id in results)
    within = load_mixture(knowledge, "within", tuple(at), sex)
    drawn = tuple(dict.fromkeys((*within.needed, *places)))
    return Assays(
        varied=tuple(at),
        within=within,
        sd_within=_log_sd([row.cv_within_pct for row in varied], knowledge),
        varied_low=varied_low,
        varied_high=varied_high,
        varied_parts=_find_parts(at, "cv_within_pct", sex, knowledge),
        measured=measured,
        from_varied=np.array([at.get(row.id, 0) for row in measured], dtype=np.int64),
        follows=tuple((places[name], name) for name in FOLLOWS if name in follows),
        drawn=drawn,
        addresses=tuple(("labs", name) for name in drawn),
        errors_at=np.array([drawn.index(name) for name in places], dtype=np.int64),
        groups=groups,
        group_addresses=tuple(("lab_group", group) for group in groups),
        group_at=np.array([groups.index(row.group) for row in measured], dtype=np.int64),
        usual_odds=chances / (1 - chances),
        sd_assay=_log_sd([row.cv_analytic_pct for row in measured], knowledge),
        least=np.exp(low),
        low=low,
        high=high,
        steps_per_unit=per_unit,
        measured_parts=_find_parts(places, "cv_analytic_pct", sex, knowledge),
        measured_wholes=tuple((places[part], places[whole]) for part, whole in PARTS.items() if part in places and whole in places),
        undiagnosed=tuple(
            Undiagnosed(places[row.id], at[row.id], row.diagnostic_of, row.diagnostic_high, to_tick(row.diagnostic_high, row.decimals))
            for row in measured
            if row.diagnostic_high is not None and row.id in at
        ),
        fasting_only=np.array([[row.id in _list_fasting_only(knowledge)] for row in measured], dtype=np.bool_).reshape(-1, 1),
        calculated=calculated,
        calculated_at_once=at_once,
        results=results,
        printed=printed,
        printed_at=np.array([results.index(row.id) for row in printed], dtype=np.int64),
    )


@lru_cache(maxsize=8)
def _list_fasting_only(knowledge: Knowledge) -> frozenset[str]:
    """What is measured by tests that all want the patient fasting."""
    fed = {name for test in knowledge.tests.values() if not test.is_fasting for name in test.measures}
    return frozenset(name for test in knowledge.tests.values() if test.is_fasting for name in test.measures) - fed


def _log_sd(cvs_pct: Sequence[float | None], knowledge: Knowledge) -> Reals:
    unknown = knowledge.parameter("lab_cv_unknown_pct")
    cv = np.array([unknown if each is None else each for each in cvs_pct], dtype=np.float64).reshape(-1, 1) / 100
    return np.sqrt(np.log1p(cv * cv))


def _find_bounds(rows: Sequence[Analyte]) -> tuple[Reals, Reals, Reals]:
    """(printed steps per unit, log bounds one step inside the hard ones), as columns."""
    columns = np.array([(10.0**row.decimals, row.hard_low, row.hard_high) for row in rows], dtype=np.float64).reshape(-1, 3)
    per_unit, low, high = columns[:, :1], columns[:, 1:2], columns[:, 2:]
    low = np.maximum(np.floor(low * per_unit) + 1, 1)
    return per_unit, np.log(low / per_unit), np.log((np.ceil(high * per_unit) - 1) / per_unit)


def _find_parts(at: Mapping[str, int], cv: str, sex: str, knowledge: Knowledge) -> tuple[Part, ...]:
    """The parts that vary more than their wholes, by the column `cv`. One that does not varies for itself."""
    low, high = ("ref_low_m", "ref_high_m") if sex == "M" else ("ref_low_f", "ref_high_f")
    parts = []
    for name, whole in PARTS.items():
        if name in at and whole in at:
            rows = knowledge.analytes[name], knowledge.analytes[whole]
            own, shared = ((getattr(row, cv) or 0.0) / 100 for row in rows)
            middle, usual = ((getattr(row, low) or 0.0) + (getattr(row, high) or 0.0) for row in rows)
            if own > shared:
                parts.append(Part(at[name], at[whole], float(np.sqrt(own * own - shared * shared)), middle / usual))
    return tuple(parts)


def _find_calculated(
    measured: tuple[str, ...], groups: tuple[str, ...], devices: tuple[str, ...], knowledge: Knowledge
) -> tuple[Analyte, ...]:
    found: list[Analyte] = []
    for row in list_calculated(knowledge):
        there = {*measured, *(other.id for other in found)}
        if row.device in devices and row.group in groups and there.issuperset(FORMULAS[row.derived_by].inputs):
            found.append(row)
    return tuple(found)


def _find_at_once(calculated: tuple[Analyte, ...], measured: tuple[str, ...]) -> tuple[Calculated, ...]:
    """The calculated results in as few turns as it takes until all have their inputs."""
    found, waiting, results = [], list(calculated), list(measured)
    while waiting:
        names = {row.id for row in waiting}
        rows = tuple(row for row in waiting if names.isdisjoint(FORMULAS[row.derived_by].inputs))
        inputs = [[results.index(name) for name in FORMULAS[row.derived_by].inputs] for row in rows]
        width = max(map(len, inputs))
        found.append(
            Calculated(
                rows=rows,
                at=slice(len(results), len(results) + len(rows)),
                inputs_at=np.array([(places * width)[:width] for places in inputs]),
                low=np.array([[row.hard_low] for row in rows]),
                high=np.array([[row.hard_high] for row in rows]),
                steps_per_unit=np.array([[10.0**row.decimals] for row in rows]),
                is_fasting=np.array([[FORMULAS[row.derived_by].is_fasting] for row in rows]),
            )
        )
        results += [row.id for row in rows]
        waiting = [row for row in waiting if row not in rows]
    return tuple(found)


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
