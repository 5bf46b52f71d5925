"""What everyday events do to what is measured, and how one measured quantity moves another."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EventEffect:
    """What a told event does to an analyte or stream, from its day on.

    `peak`: the full size in the item's unit (`own`) or in % of its level. It builds up over `rise_days`, for as long as the event
    `lasts_days` and no longer, holds until then and fades over `fade_days`. Effects of several events in one direction add up to at
    most `cap`, which is above 0 and in the same unit.
    """

    id: str
    event: str
    item: str
    peak: float
    unit: Literal["own", "%"]
    rise_days: float
    lasts_days: float
    fade_days: float
    cap: float
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Coupling:
    """How `effect`, an analyte or stream, follows `cause`: an analyte, a stream or a condition.

    `slope`: change of the effect per unit of the cause's change since day 0, or of a condition at its full size; both on the item's scale
    (natural logarithm for a log stream). It builds up by half in `lag_days` and is at most `cap`, above 0.
    """

    id: str
    cause: str
    effect: str
    slope: float
    lag_days: float
    cap: float
    source: str
    status: str
