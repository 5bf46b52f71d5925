"""What one judge says of one cell. Four states are four values: scored, unmeasured, not applicable, unscored."""

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["scored", "unmeasured", "not_applicable", "unscored"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`value` is a number exactly when `state` is "scored"; `reason` says why otherwise. `detail` is JSON for readers."""

    name: str
    state: State
    value: float | None
    reason: str = ""
    detail: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.state == "scored") != (self.value is not None):
            raise ValueError(f"verdict {self.name!r}: state {self.state!r} with value {self.value!r}")


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Whether a hard gate, propensity or reported gate fired on a cell; `hit` is None when it could not be judged.

    `units` counts what was judged (rounds, slices; 1 for a single answer), `failed` how many of them fired. `unit_days` are the
    days of the failed units, so that two gates on one unit are counted once.
    """

    name: str
    hit: bool | None
    units: int
    failed: int
    unit_days: tuple[int, ...] = ()
    detail: str = ""


def scored(name: str, value: float, **detail: Any) -> Verdict:
    """A number, kept to 6 decimals so that equal verdicts are equal bytes."""
    return Verdict(name, "scored", round(float(value), 6), "", detail)


def unmeasured(name: str, reason: str, **detail: Any) -> Verdict:
    """Nothing was there to look at."""
    return Verdict(name, "unmeasured", None, reason, detail)


def not_applicable(name: str, reason: str, **detail: Any) -> Verdict:
    """The question does not arise for this item."""
    return Verdict(name, "not_applicable", None, reason, detail)


def unscored(name: str, reason: str, **detail: Any) -> Verdict:
    """It should have been judged and could not be."""
    return Verdict(name, "unscored", None, reason, detail)
