"""The shapes of decision rules: what a rule may look at, when it holds, and what it says to do.

Predicates are closed: the eight classes below are all there is. How they are read stands in `rule_reader.py`, what they mean for a
patient in `rules.py`, how they are printed in `protocol_text.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from clinworld.core.text import Wording

ProtocolKind = Literal["titration", "triage", "lab_change", "value_alarm"]
FactKind = Literal["number", "flag", "choice"]
Operator = Literal["at_least", "above", "at_most", "below"]

TIERS = ("ed_now", "within_24h", "routine_followup", "watchful_waiting")
OUTCOMES: Mapping[ProtocolKind, tuple[str, ...]] = {
    "titration": ("uptitrate", "downtitrate", "maintain", "switch", "check_adherence_or_adverse_effect"),
    "triage": TIERS,
    "lab_change": (
        "biological_analytical_noise",
        "preanalytical",
        "method_difference",
        "true_change",
        "not_comparable",
        "true_change_not_glycaemia",
        "repeat",
    ),
    "value_alarm": TIERS,
}
STAGES = ("safety", "validity", "adherence", "too_early", "overtreatment", "target_missed", "top_step", "keep")

FactValue: TypeAlias = float | bool | str | None
Facts: TypeAlias = Mapping[str, FactValue]  # fact id → value; a fact that is not there, or is None, is not known


@dataclass(frozen=True, slots=True)
class FactRef:
    """The value of another number fact of the same patient."""

    fact: str


@dataclass(frozen=True, slots=True)
class NumberTest:
    """A number fact against a number in its own unit, or against another number fact of the same unit."""

    fact: str
    op: Operator
    value: float | FactRef


@dataclass(frozen=True, slots=True)
class Between:
    """low ≤ fact < high, in the fact's unit."""

    fact: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class IsTest:
    """A flag is true or false, or a choice is this one."""

    fact: str
    value: bool | str


@dataclass(frozen=True, slots=True)
class OneOf:
    """A choice is one of these."""

    fact: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """The fact is not known; itself always known."""

    fact: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple["Predicate", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Predicate"


Comparison: TypeAlias = NumberTest | Between | IsTest | OneOf | Missing
Predicate: TypeAlias = Comparison | AllOf | AnyOf | Not


@dataclass(frozen=True, slots=True)
class Rule:
    """When `when` holds, `then` is the decision. `stage` is why a titration rule speaks ("" in other protocols), one of STAGES."""

    id: str
    when: Predicate
    then: str
    what: Wording
    because: Wording
    source: str
    status: str
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a protocol is about: drugs, a complaint (a symptom id), or items measured.

    `is_all`: every drug, complaint or item; such a protocol is read beside the others.
    """

    drugs: tuple[str, ...] = ()
    complaint: str = ""
    items: tuple[str, ...] = ()
    is_all: Literal["", "drugs", "complaints", "items"] = ""


@dataclass(frozen=True, slots=True)
class Protocol:
    """Rules read from the top; the first that holds decides. `asks` are a triage protocol's questions."""

    id: str
    kind: ProtocolKind
    names: Wording
    clinical_review: str  # none, pending or signed
    subject: Subject
    asks: tuple[Wording, ...]
    note: Wording | None  # where it does not apply, what it assumes
    rules: tuple[Rule, ...]
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class RuleFact:
    """One thing a rule may look at.

    A number has `ucum`, `decimals` and the bounds `low` and `high`; `{dose}` is the unit of the drug under review. A flag has two
    `phrases`, said when true and when false. A choice has `choices` and a phrase for each, or `of_kind`: any id of that kind of knowledge
    ("rules": any rule), said by its own name.
    """

    id: str
    names: Wording
    kind: FactKind
    ucum: str
    decimals: int
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    of_kind: str
    phrases: tuple[Wording, ...]
    source: str
    status: str
