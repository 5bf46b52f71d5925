"""What may stand in a chart from before the first visit."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording

PastEventKind = Literal[
    "operation",
    "admission",
    "visit",
    "injury",
    "imaging",
    "laboratory",
    "investigation",
    "treatment",
    "prescribing",
    "stopped_drug",
    "allergy",
    "vaccination",
    "family",
    "habits",
]


@dataclass(frozen=True, slots=True)
class OldEvent:
    """A documented event before the first visit, and what it means for later decisions.

    It speaks for `condition` (a condition id), or against giving any of `drugs`; with neither it is inactive. `taken` is the drug whose
    end it records, `state` the flag of rule_facts that it makes true; both "" for none. Ages are those at the event. `weight` is how often
    it comes up beside others that fit; the end of a drug does so in proportion to how often the drug is used.
    """

    id: str
    kind: PastEventKind
    condition: str
    drugs: tuple[str, ...]
    taken: str
    state: str
    sex: str
    age_low: int | None
    age_high: int | None
    text: Wording
    weight: float
    source: str
    status: str

    @property
    def is_decisive(self) -> bool:
        """Whether it may change a later decision."""
        return bool(self.condition or self.drugs)
