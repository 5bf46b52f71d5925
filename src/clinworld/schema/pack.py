"""The declaration of a pack: `pack.yaml`, read. Decides nothing itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from clinworld.core.text import Language, Wording
from clinworld.schema.job import EpisodeKind

# questions: asked on items, judged by judges; its declaration names no kind. record_writes: rewarded on a live record system.
PackKind = Literal["questions", "record_writes"]


@dataclass(frozen=True, slots=True)
class PackCard:
    """What a pack of any kind says of itself. `used_by` are commands and places that use one without questions."""

    name: str
    kind: PackKind
    version: int
    folder: Path
    asks: Wording
    languages: tuple[Language, ...]
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """A judge as the pack mounts it: `judge` is a file of judges/, `settings` its fields."""

    name: str
    judge: str
    settings: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A scored dimension: which verdict, its direction, how verdicts are joined, and how it enters the headline.

    `join`: mean | mean_by_outcome (mean of the two outcome classes). `role`: skill (enters over its floor) | deduct (a factor).
    `floor`: best_constant (what the best answer that looks at nothing earns) | none.
    """

    verdict: str
    direction: str  # higher | lower | none
    join: str
    role: str
    paired_with: str | None
    floor: str = "none"


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack folder's declaration."""

    name: str
    version: int
    folder: Path
    asks: Wording
    episodes: tuple[EpisodeKind, ...]
    sees: tuple[str, ...]
    languages: tuple[Language, ...]
    gates: tuple[str, ...]
    probes: tuple[tuple[str, Any], ...]
    judges: tuple[JudgeUse, ...]
    hard_gates: tuple[str, ...]
    propensity_gates: tuple[str, ...]
    reported_gates: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    controls: tuple[str, ...]  # names of offline controls its episodes can use
    blocks: tuple[tuple[str, Any], ...]  # every top-level block as read, for the stamps
