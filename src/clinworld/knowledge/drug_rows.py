"""A drug product and everything about it: doses, effects, harms, limits, monitoring."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording
from clinworld.knowledge.lab_rows import Moves
from clinworld.knowledge.rule_rows import Predicate
from clinworld.knowledge.source_rows import ClinicalReview

# How many doses a day has, by frequency; `daily_total` names the dose of the whole day.
DOSES_A_DAY = {"daily": 1, "twice_daily": 2, "three_times_daily": 3, "daily_total": 1}


@dataclass(frozen=True, slots=True)
class DrugEffect:
    """Mean change of `item` (analyte or stream id) at steady state on `dose` (None: typical dose).

    `unit`: the item's own unit; "%" is always a relative change, so percentage points of an item measured in percent are "pp".
    `population`: any, or t2d, obesity (the trial population the number belongs to). `half_time_days` None: the item's own.
    """

    item: str
    dose: float | None
    mean: float
    sd: float | None
    unit: str
    population: str
    half_time_days: float | None
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Monitoring:
    """An analyte, stream, finding or test to look at every so many days; `when`: only while this holds (None: always)."""

    item: str
    every_days: int
    when: Predicate | None
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class AdverseEffect:
    """Harm: a symptom, or an item that `moves`. Shares are fractions of users, None where not known; onset in days after a step."""

    symptom: str
    item: str
    moves: Moves | Literal[""]
    share_low: float | None
    share_high: float | None
    onset_low_days: int | None
    onset_high_days: int | None
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Contraindication:
    """A condition, a state (a flag of rule_facts) or a level of an item in which the drug is not given, or with caution.

    The item is an analyte, stream or finding, or a number of rule_facts.
    """

    condition: str
    state: str
    item: str
    at_least: float | None
    above: float | None
    at_most: float | None
    below: float | None
    kind: Literal["absolute", "caution"]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Interaction:
    """Another drug, a class of drugs or a substance that does not go with it, what happens, and what is done."""

    drug: str
    drug_class: str
    substance: Wording | None
    effect: Wording
    kind: Literal["avoid", "reduce_dose", "monitor"]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Drug:
    """A drug product: `indications` maps a condition id to the top dose for it; `ladder` rises.

    `off_label` are the indications this product is used for without a licence; those pairs are authored for simulation.
    Two products may share an ingredient (`rxcui`); `Knowledge.product` picks the one meant for a condition.
    `class_is_new`: no other drug is of the class, though one of like spelling is.
    A dose is what is taken at one time; only where `frequency` is `daily_total` is it that of the whole day, taken in several parts.
    `most_a_day`: the largest dose of a day that the label knows, None where it is not given.
    `min_titration_days` 0: no waiting is needed between steps, or there is one step alone. `steady_weeks`: from a step to its whole effect.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    rxcui: str
    clinical_review: ClinicalReview
    drug_class: str
    indications: tuple[tuple[str, float], ...]
    off_label: tuple[str, ...]
    route: Literal["oral", "subcutaneous", "injection", "inhaled"]
    authority: Literal["clinician", "patient_plan", "patient"]  # who may change it
    ladder: tuple[float, ...]
    dose_unit: str
    frequency: Literal["weekly", "daily", "twice_daily", "three_times_daily", "daily_total", "every_two_weeks"]
    min_titration_days: int
    onset_days: int
    steady_weeks: float
    effects: tuple[DrugEffect, ...]
    monitoring: tuple[Monitoring, ...]
    adverse_effects: tuple[AdverseEffect, ...]
    contraindications: tuple[Contraindication, ...]
    interactions: tuple[Interaction, ...]
    source: str
    status: str
    class_is_new: bool = False
    most_a_day: float | None = None
