"""The specimens of a course: when and how they were drawn, and what befell them before they were measured.

The first draw is a planned one, in the morning and fasting, and nothing befalls it. What moves which result by how much stands in the
rows of lab factors, how often it happens in parameters. Decides neither visits nor what a specimen is measured on.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.schema.record import Specimen
from clinworld.world.observe_streams import reflect

Days = NDArray[np.int64]
Flags = NDArray[np.bool_]

NOT_FASTING, TIME_OF_DAY, SEASON = "non_fasting", "sampling_time", "season_vitamin_d"
NEEDS_DRUG = {"levothyroxine_before_blood": "levothyroxine", "oral_iron_same_day": "ferrous_sulfate"}
SITES = ("primary_care", "hospital")
YEAR_DAYS = 365.25
_HALF = np.uint64(32)


class Effect(NamedTuple):
    """What a factor does to the analyte at a place: from a mild to a strong one, in percent or in its own unit.

    `per_amount`: the size is for one unit of what the factor brings in, and so is multiplied by its amount.
    """

    place: int
    is_percent: bool
    mild: float
    strong: float
    per_amount: bool = False

    def at(self, severity: float) -> float:
        """The size at a severity of 0 to 1."""
        return self.mild + severity * (self.strong - self.mild)


class Touched(NamedTuple):
    """Results that a factor moved: of one analyte, at some visits (flags), by a size in percent or the analyte's own unit."""

    factor: str
    analyte: str
    at: Flags
    size: float


class Befallen(NamedTuple):
    """What befell specimens, [analyte, visit]: a factor, then an addition. `specimens` are those with a result."""

    times: Reals
    plus: Reals
    specimens: tuple[Specimen, ...]
    touched: tuple[Touched, ...]


class Fault(NamedTuple):
    """A factor that befalls specimens: by specimen with chance `p`, or in a share of people who keep doing it (`lasts`)."""

    factor: str
    p: float
    lasts: bool
    most: float
    amount: tuple[float, float] | None
    p_noticed: float
    effects: tuple[Effect, ...]


@lru_cache(maxsize=512)
def load_effects(knowledge: Knowledge, factor: str, names: tuple[str, ...]) -> tuple[Effect, ...]:
    """The effects of a factor on some analytes: by its rows, or by parameters where a row knows the direction alone; else none."""
    parameters = knowledge.parameters
    per_amount = f"fault_amount_low_{factor}" in parameters
    effects = []
    for row in knowledge.factor_effects.values():
        if row.factor != factor or row.item not in names:
            continue
        low, high, is_percent = row.low, row.high, row.unit == "%"
        if (name := f"{factor}__{row.item}") and f"fault_low_{name}" in parameters:
            low, high, is_percent = parameters[f"fault_low_{name}"].value, parameters[f"fault_high_{name}"].value, True
        if low is None or high is None:
            continue
        mild, strong = (low, high) if row.moves == "either" or abs(low) <= abs(high) else (high, low)
        effects.append(Effect(names.index(row.item), is_percent, mild, strong, per_amount and row.unit not in ("", "%")))
    return tuple(effects)


@lru_cache(maxsize=64)
def load_faults(knowledge: Knowledge, names: tuple[str, ...], drug: str) -> tuple[Fault, ...]:
    """What can befall these analytes in someone who takes a drug, in the order of the factors."""
    faults = []
    for row in knowledge.factors.values():
        by_specimen, by_person = f"fault_p_{row.id}", f"fault_person_p_{row.id}"
        rate = next((name for name in (by_specimen, by_person) if name in knowledge.parameters), "")
        effects = load_effects(knowledge, row.id, names) if rate and row.id != SEASON else ()
        if effects and NEEDS_DRUG.get(row.id, drug) == drug:
            rates = {name: each.value for name in ("most", "noticed") if (each := knowledge.parameters.get(f"fault_{name}_{row.id}"))}
            bounds = [knowledge.parameters.get(f"fault_amount_{end}_{row.id}") for end in ("low", "high")]
            amount = (bounds[0].value, bounds[1].value) if bounds[0] and bounds[1] else None
            lasts = rate == by_person
            faults.append(
                Fault(row.id, knowledge.parameter(rate), lasts, rates.get("most", 1.0), amount, rates.get("noticed", 0.0), effects)
            )
    return tuple(faults)


class _Table:
    """What befalls the results of one patient while it is added up."""

    def __init__(self, names: tuple[str, ...], is_drawn: Flags) -> None:
        self.names, self.is_drawn = names, is_drawn
        self.times, self.plus = np.ones(is_drawn.shape), np.zeros(is_drawn.shape)
        self.touched: list[Touched] = []

    def add(self, factor: str, effect: Effect, at: Flags, size: float) -> bool:
        """Move an analyte at some visits; whether a result was there to be moved."""
        at = at & self.is_drawn[effect.place]
        if not at.any():
            return False
        if effect.is_percent:
            self.times[effect.place, at] *= 1 + size / 100
        else:
            self.plus[effect.place, at] += size
        self.touched.append(Touched(factor, self.names[effect.place], at, size))
        return True


class Circumstances(NamedTuple):
    """How each visit's draw is taken: minute of the day, fasting or not, in the afternoon or not, place."""

    minutes: Days
    is_fasting: Flags
    is_afternoon: Flags
    sites: list[str]


def draw_specimens(
    premise: Premise,
    visits: Days,
    taken: Circumstances,
    is_drawn: Flags,
    names: tuple[str, ...],
    platform: str,
    others: tuple[tuple[str, ...], ...],
    knowledge: Knowledge,
    rng: Rng,
) -> Befallen:
    """The specimens of a course: `is_drawn` [analyte, visit] says which results there are of the analytes `names`.

    `platform` is the main one, `others` by visit are those that measured their own analytes.
    """
    slots = visits // int(knowledge.parameter("visit_slot_days"))
    table = _Table(names, is_drawn)
    comments = [""] * len(visits)
    for factor, at in ((NOT_FASTING, ~taken.is_fasting), (TIME_OF_DAY, taken.is_afternoon)):
        effects = load_effects(knowledge, factor, names)
        if effects and at.any():
            severity = rng.at(premise.case_id, "specimen", factor).uniform(int(slots[-1]) + 1)[slots].tolist()
            for i in np.flatnonzero(at).tolist():
                for effect in effects:
                    table.add(factor, effect, np.arange(len(visits)) == i, effect.at(severity[i]))
    for fault in load_faults(knowledge, names, premise.drug):
        (_befall_person if fault.lasts else _befall_specimens)(fault, premise, visits, slots, table, comments, knowledge, rng)
    _turn_with_the_season(premise, visits, table, knowledge, rng)
    there: list[bool] = np.asarray(is_drawn.any(axis=0)).tolist()
    main = [platform] * len(visits)
    charted = zip(visits.tolist(), taken.minutes.tolist(), taken.is_fasting.tolist(), taken.sites, main, comments, others, strict=True)
    specimens = tuple(Specimen(*each) for each, is_there in zip(charted, there, strict=True) if is_there)
    return Befallen(table.times, table.plus, specimens, tuple(table.touched))


def draw_circumstances(premise: Premise, visits: Days, knowledge: Knowledge, rng: Rng) -> Circumstances:
    """The circumstances of a draw on every visit."""
    slots = visits // int(knowledge.parameter("visit_slot_days"))
    n = int(slots[-1]) + 1
    at = {name: knowledge.parameter(f"specimen_{name}") for name in ("minute_mean", "minute_sd", "minute_low", "minute_high")}
    drawn = rng.at(premise.case_id, "specimen", "circumstances").uniform(4 * n + 1)
    when, late, fasting, other = drawn[1:].reshape(n, 4)[slots].T
    normal = rng.at(premise.case_id, "specimen", "minute").normal(n)[slots]
    minutes = reflect(at["minute_mean"] + at["minute_sd"] * normal, at["minute_low"], at["minute_high"])
    is_afternoon = late < knowledge.parameter("specimen_afternoon_p")
    is_afternoon[0] = False
    low, high = knowledge.parameter("specimen_afternoon_low"), knowledge.parameter("specimen_afternoon_high")
    minutes = np.where(is_afternoon, low + (high - low) * when, minutes)
    p_fasting = [knowledge.parameter(f"specimen_fasting_{part}_p") for part in ("afternoon", "morning")]
    is_fasting = fasting < np.where(is_afternoon, *p_fasting)
    is_fasting[0] = True
    usual = int(drawn[0] < knowledge.parameter("specimen_hospital_p"))
    is_other = other < knowledge.parameter("specimen_other_site_p")
    sites = [SITES[usual ^ int(each)] for each in is_other.tolist()]
    return Circumstances(np.rint(minutes).astype(np.int64), is_fasting, is_afternoon, sites)


def _befall_specimens(
    fault: Fault, premise: Premise, visits: Days, slots: Days, table: _Table, comments: list[str], knowledge: Knowledge, rng: Rng
) -> None:
    """A fault of single specimens. Its results move together: one severity a specimen, and one amount of what is carried in."""
    words = rng.at(premise.case_id, "specimen", fault.factor).words(2 * (int(slots[-1]) + 1)).reshape(-1, 2)[slots]
    happens = words_to_uniform(words[:, 0]) < fault.p
    happens[0] = False
    for i in np.flatnonzero(happens).tolist():
        severity, own, noticed = words_to_uniform(np.array([words[i, 1], words[i, 1] << _HALF, words[i, 0] << _HALF])).tolist()
        severity = fault.most * severity ** knowledge.parameter("fault_severity_power")
        at = np.arange(len(visits)) == i
        moved = [table.add(fault.factor, effect, at, _find_size(fault, effect, severity, own)) for effect in fault.effects]
        if any(moved) and noticed < fault.p_noticed and not comments[i]:
            comments[i] = fault.factor


def _find_size(fault: Fault, effect: Effect, severity: float, own: float) -> float:
    if fault.amount is None or not effect.per_amount:
        return effect.at(severity)
    low, high = fault.amount
    return effect.at(own) * (low + severity * (high - low))


def _befall_person(
    fault: Fault, premise: Premise, visits: Days, slots: Days, table: _Table, comments: list[str], knowledge: Knowledge, rng: Rng
) -> None:
    """A habit that lasts: from the first day, or from or up to a day in between; the same size at every draw but the first."""
    p, severity, turns, when, is_end = rng.at(premise.case_id, "specimen", fault.factor).uniform(5).tolist()
    if p >= fault.p:
        return
    at = visits > visits[0]
    if turns < knowledge.parameter("fault_stop_person_p"):
        day = visits[0] + when * (visits[-1] - visits[0])
        at &= (visits < day) if is_end < knowledge.parameter("fault_stop_person_p") else (visits >= day)
    severity = fault.most * severity ** knowledge.parameter("fault_severity_power")
    for effect in fault.effects:
        table.add(fault.factor, effect, at, effect.at(severity))


def _turn_with_the_season(premise: Premise, visits: Days, table: _Table, knowledge: Knowledge, rng: Rng) -> None:
    """A year's cycle about the person's level; the half year above it is what a winter sample is told apart from."""
    for effect in load_effects(knowledge, SEASON, table.names):
        p, phase, severity = rng.at(premise.case_id, "specimen", SEASON).uniform(3).tolist()
        if p >= knowledge.parameter(f"fault_person_p_{SEASON}"):
            continue
        size = effect.at(severity)
        cycle = np.sin(2 * np.pi * (visits / YEAR_DAYS + phase))
        table.times[effect.place] *= 1 + size / 200 * cycle
        at = (cycle > 0) & table.is_drawn[effect.place]
        if at.any():
            table.touched.append(Touched(SEASON, table.names[effect.place], at, size))
