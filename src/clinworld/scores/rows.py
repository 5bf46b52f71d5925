"""What a board holds. None is "no number", and the text beside it says why; it is never a zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from clinworld.schema.cell import ReplySource
from clinworld.schema.verdict import State
from clinworld.scores.statistics import Interval

GateRole = Literal["hard", "propensity", "reported"]


class FloorValue(Protocol):
    """What a dimension is worth to an answer that looks at nothing, and at most."""

    @property
    def value(self) -> float | None:
        """The floor, None where there is none."""

    @property
    def how(self) -> str:
        """What earns it, or why there is none."""

    @property
    def ceiling(self) -> float | None:
        """The value of the right answer."""

    @property
    def ceiling_how(self) -> str:
        """What earns it."""


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """One dimension of one agent on the common items.

    `value` is the mean over the items that were measured (`n`), in the verdict's own scale. `omitted` and `abstained` count answered
    cells that said nothing to it. `skill` is the share of the way from floor to full marks, at least 0; `margin` the same before
    clipping. `credit` is what enters the headline: as skill, with cells that said nothing at the floor; for a deduction a factor.
    `by_class` is the value and n in each class where the dimension is joined over classes.
    """

    verdict: str
    direction: str
    role: str
    state: State
    reason: str
    value: float | None
    n: int
    omitted: int
    abstained: int
    not_applicable: int
    unmeasured: int
    unscored: int
    by_class: Mapping[str, tuple[float, int]]
    floor: float | None
    ceiling: float | None
    margin: float | None
    skill: float | None
    credit: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class GateScore:
    """One gate of one agent: units that failed of those judged; `unknown` cells could not be judged, `cannot_fire` had nothing to stop.

    `note` is "" or one of: cannot fire here, unmeasured, contradiction.
    """

    gate: str
    role: GateRole
    failed: int
    units: int
    unknown: int
    cannot_fire: int
    rate: float | None
    interval: Interval | None
    note: str


@dataclass(frozen=True, slots=True)
class AgentScore:
    """One line of a board. `kind` agent may be ranked; control and oracle are never.

    `answered` of `cells` gave a usable answer; `unanswered` counts the others by cause. `multiplier` is 1 - failed / judged units over
    the hard gates, None when no unit was judged. `headline` has a `headline_reason` where there is none. `rank_interval` is over draws.
    """

    agent: str
    source: ReplySource
    kind: Literal["agent", "control", "oracle"]
    items: int
    cells: int
    answered: int
    unanswered: Mapping[str, int]
    repeats: int
    dimensions: tuple[DimensionScore, ...]
    gates: tuple[GateScore, ...]
    units: int
    failed_units: int
    multiplier: float | None
    headline: float | None
    headline_reason: str
    headline_interval: Interval | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    tier: int | None
    pass_k: float | None
    pass_k_reason: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Two ranked agents compared on the same draws; `p_adjusted` is Holm's over all pairs of the board."""

    first: str
    second: str
    difference: float
    interval: Interval | None
    p: float
    p_adjusted: float

    @property
    def is_significant(self) -> bool:
        """Whether the pair is told apart at 5 %."""
        return self.p_adjusted < 0.05


@dataclass(frozen=True, slots=True)
class Board:
    """Everything said of one episode and probe set of one pack.

    `common_items` are those all ranked agents have; `left_out` the others, each with its reason. `ranked` is ordered best first,
    `shown_apart` and `unranked` (controls, oracles) by name. `state` is "ranked" or says why there is no ranking. `incomplete` lists
    what was not run, not judged or unscored. `one_valued` dimensions separate nobody. `notes` are sentences a reader is owed.
    """

    episode: str
    probe_set: str
    common_items: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    state: str
    ranked: tuple[AgentScore, ...]
    shown_apart: tuple[tuple[AgentScore, str], ...]
    unranked: tuple[AgentScore, ...]
    differences: tuple[Difference, ...]
    one_valued: tuple[str, ...]
    incomplete: tuple[str, ...]
    notes: tuple[str, ...]
    draws: int
    seed: str
