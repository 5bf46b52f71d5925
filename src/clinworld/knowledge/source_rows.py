"""Where a number comes from and who has looked at it, and the numbers of the world that belong to no other row.

Statuses stand strongest first; a row takes that of its weakest part.
"""

from dataclasses import dataclass
from typing import Literal

ClinicalReview = Literal["none", "pending", "signed"]
STATUSES = ("checked", "partly_checked", "secondary", "peer_cited", "derived", "recalled", "authored")


@dataclass(frozen=True, slots=True)
class Source:
    """A citation other rows point to."""

    id: str
    citation: str
    what: str
    status: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One number of the world that a clinician could dispute and that belongs to no single row of another table."""

    id: str
    value: float
    unit: str
    meaning: str
    source: str
    status: str
