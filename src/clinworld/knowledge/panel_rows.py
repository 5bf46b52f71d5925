"""What laboratory results have in common, and what they are measured on."""

from dataclasses import dataclass
from typing import Literal

from clinworld.core.text import Wording


@dataclass(frozen=True, slots=True)
class PanelCorrelation:
    """How far two items go together, by sex (`r_m`, `r_f`).

    `level`: between people, within one person from day to day, or daily, of readings of one day of two streams of a person. `of`:
    results, as published for single results, with the noise of both in them; or levels, of the true levels behind them. `b` may be a
    finding that the premise gives, the body mass index.
    """

    id: str
    a: str
    b: str
    level: Literal["between", "within", "daily"]
    of: Literal["results", "levels"]
    r_m: float
    r_f: float
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class LabPlatform:
    """An analyser or method. `factor` names the documented bias of its results against the usual platform, "" for that one itself.

    `measures` are the analytes of another platform; the usual one measures everything else of a draw.
    """

    id: str
    names: Wording
    factor: str
    measures: tuple[str, ...]
    source: str
    status: str
