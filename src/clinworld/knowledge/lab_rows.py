"""What can be measured or found in a patient, the tests that do it, and what else moves a result."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording

Moves = Literal["up", "down"]
FindingType = Literal[
    "exam",
    "imaging",
    "antibody",
    "genetic",
    "function_test",
    "score",
    "pathology",
    "questionnaire",
    "culture",
    "laboratory",
    "recording",
]


@dataclass(frozen=True, slots=True)
class Analyte:
    """A laboratory quantity. Bounds in `ucum`; CVs in percent; `per_kg` is the change of the true level per kg of body-weight change.

    `group` is the panel it is drawn with (glycaemic, lipids, liver, kidney …); `half_time_days` its lag behind weight and drug.
    `diagnostic_high` with `diagnostic_of`: at or above it the named condition would be diagnosed.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    loinc: str
    ucum: str
    decimals: int
    ref_low_m: float | None
    ref_high_m: float | None
    ref_low_f: float | None
    ref_high_f: float | None
    cv_within_pct: float | None
    cv_between_pct: float | None
    cv_analytic_pct: float | None
    hard_low: float
    hard_high: float
    group: str
    per_kg: float | None
    half_time_days: float | None
    derived_by: str  # formula id of world/formulas.py ("fib4", "friedewald"), "" when measured
    diagnostic_high: float | None
    diagnostic_of: str
    device: str  # what reports it: lab_panel, cgm, bp_cuff
    clinician_reads: bool
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class FindingKind:
    """Something found that is neither analyte nor stream: an examination, image, antibody, score.

    A number has `ucum`, `decimals` and hard bounds, and counts as positive from `cut` on; whatever else is found or not, said by the
    phrases `positive` and `negative`.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    kind: FindingType
    ucum: str
    decimals: int | None
    cut: float | None
    ref_low: float | None
    ref_high: float | None
    hard_low: float | None
    hard_high: float | None
    positive: Wording | None
    negative: Wording | None
    source: str
    status: str

    @property
    def is_numeric(self) -> bool:
        """Whether it is found as a number."""
        return bool(self.ucum)


@dataclass(frozen=True, slots=True)
class PriceTier:
    """What a group of tests costs, in points of an exam's budget."""

    id: str
    names: Wording
    price: float
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class OrderableTest:
    """A test that can be ordered: the analytes, streams and findings it measures, and the tests that can stand in for it.

    `turnaround_days`: from order to result, 0 for the same visit.
    """

    id: str
    names: Wording
    aliases: tuple[str, ...]
    measures: tuple[str, ...]
    tier: str
    alternatives: tuple[str, ...]
    availability: Literal["primary_care", "hospital", "referral_centre"]
    turnaround_days: float
    specimen: Literal["blood", "urine", "stool", "saliva", "none"]
    is_fasting: bool
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class LabFactor:
    """A reason why a result differs from the last one: how it is recognised and what is done about it."""

    id: str
    kind: Literal["preanalytical", "method", "true_change"]
    names: Wording
    recognise: Wording
    response: Wording
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class LabFactorEffect:
    """How a factor moves an item: by `low` to `high` (signed) of `unit` ("%" or the item's own); None: the size is not known."""

    id: str
    factor: str
    item: str
    moves: Literal["up", "down", "either"]
    low: float | None
    high: float | None
    unit: str
    source: str
    status: str
