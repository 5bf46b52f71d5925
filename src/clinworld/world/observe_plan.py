"""The stream rows a patient may have, stacked for computing by day, and what does not differ between patients with the same streams.

Everything here follows from knowledge and devices alone: no draw, no premise. `observe_streams.py` fills the stack with values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import KnowledgeError, allowed_values, nearest_match
from clinworld.core.rng import Words
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Stream
from clinworld.schema.course import Reals
from clinworld.world.formulas import DAILY, LINES

Flags = NDArray[np.bool_]

HOME_SCALE = "weight"
WORN = ("wearable", "home")  # roles that need a device and are missing in runs of days
WEEKLY = ("evidence", "quality")  # roles that exist for everyone and are charted once a week
NEGLIGIBLE = 2.0**-20  # weight of a past day from which on it is dropped


class Limits(NamedTuple):
    """How far streams go and how finely they are printed, as columns [stream, 1]; the bounds lie one printed step inside the hard bounds.

    Bounds and SD are on the row's scale.
    """

    low: Reals
    high: Reals
    sd_within: Reals
    steps_per_unit: Reals
    is_log: Flags

    def pick(self, places: Sequence[int]) -> "Limits":
        """The limits of some of the rows."""
        at = list(places)
        return Limits(self.low[at], self.high[at], self.sd_within[at], self.steps_per_unit[at], self.is_log[at])


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Stream rows, most autocorrelated first, with their numbers as columns [stream, 1].

    `mean_m`, `mean_f` and the SD are on the row's scale; a derived row's means are its intercepts. `weekday` is [stream, 7] from Monday;
    `off` are thresholds on words [stream, 3]: missing at the start, after a worn and after a missing day.
    """

    rows: tuple[Stream, ...]
    devices: tuple[str, ...]  # the owned device behind each row, "" for none
    limits: Limits
    mean_m: Reals
    mean_f: Reals
    per_year_over_40: Reals
    per_bmi_over_25: Reals
    sd_between: Reals
    lag1: Reals
    is_derived: Flags
    weekday: Reals
    off: Words
    p_present: Reals  # [stream]
    is_weekly: Flags  # [stream]

    def pick(self, places: Sequence[int]) -> "Stack":
        """The stack of some of its rows."""
        at = np.array(places, dtype=np.int64)
        return Stack(
            rows=tuple(self.rows[i] for i in places),
            devices=tuple(self.devices[i] for i in places),
            limits=self.limits.pick(places),
            **{name: getattr(self, name)[at] for name in _COLUMNS},
        )


_COLUMNS = (
    "mean_m",
    "mean_f",
    "per_year_over_40",
    "per_bmi_over_25",
    "sd_between",
    "lag1",
    "is_derived",
    "weekday",
    "off",
    "p_present",
    "is_weekly",
)


class Generation(NamedTuple):
    """Rows of a stack that can be printed once those before are: `places` in the stack, and for each row its parent.

    A row's value follows its parent by `slope_per_step`, or, where `by_formula` (place here, formula id) says so, by the line of its
    patient or from the values of the day; `bounded` are the places here of rows that a patient's build moves far, with limits of their own.
    Without a parent `parents` is empty.
    """

    places: list[int]
    limits: Limits
    parents: list[int]
    slope_per_step: Reals
    by_formula: tuple[tuple[int, str], ...]
    bounded: list[int]
    bounded_limits: Limits


class Plan(NamedTuple):
    """What does not differ between patients with the same streams: rows, order of printing, AR(1) passes, and rows by device.

    `by_device` are places in the first generation, which is measured itself; `passes` see `list_passes`.
    """

    stack: Stack
    at: dict[str, int]
    generations: tuple[Generation, ...]
    by_device: tuple[tuple[str, tuple[int, ...]], ...]
    passes: tuple[tuple[int, Reals], ...]


@lru_cache(maxsize=64)
def load_stack(knowledge: Knowledge, devices: tuple[str, ...]) -> Stack:
    """The stream rows charted by day that a patient with these devices may have, stacked."""
    kept = [row for row in knowledge.streams.values() if row.id == HOME_SCALE or row.role in WEEKLY or _is_backed(row, devices)]
    rows = tuple(sorted(kept, key=lambda row: (-abs(row.lag1), row.id)))
    is_log = np.array([[row.scale == "log"] for row in rows])
    is_derived = np.array([[bool(row.parent)] for row in rows])
    per_unit = np.array([[10.0**row.decimals] for row in rows])

    def column(name: str) -> Reals:
        return np.array([[_number(row, name)] for row in rows], dtype=np.float64)

    def scaled(values: Reals) -> Reals:
        return np.where(is_log, np.log(np.where(is_log, np.maximum(values, 1 / per_unit), 1)), values)

    return Stack(
        rows=rows,
        devices=tuple(_device(row, devices) if row.role in WORN else "" for row in rows),
        limits=Limits(
            low=scaled((np.floor(column("hard_low") * per_unit) + 1) / per_unit),
            high=scaled((np.ceil(column("hard_high") * per_unit) - 1) / per_unit),
            sd_within=column("sd_within"),
            steps_per_unit=per_unit,
            is_log=is_log,
        ),
        mean_m=np.where(is_derived, [[row.intercept_m or 0] for row in rows], scaled(column("mean_m"))),
        mean_f=np.where(is_derived, [[row.intercept_f or 0] for row in rows], scaled(column("mean_f"))),
        per_year_over_40=column("per_year_over_40"),
        per_bmi_over_25=column("per_bmi_over_25"),
        sd_between=column("sd_between"),
        lag1=column("lag1"),
        is_derived=is_derived,
        weekday=np.array([[row.monday, 0, 0, 0, 0, row.saturday, row.sunday] for row in rows]),
        off=np.array([_thresholds(row) for row in rows], dtype=np.uint64),
        p_present=column("p_present")[:, 0],
        is_weekly=np.array([row.role in WEEKLY for row in rows]),
    )


@lru_cache(maxsize=2048)
def load_plan(knowledge: Knowledge, devices: tuple[str, ...], places: tuple[int, ...]) -> Plan:
    """The plan for some of the streams that patients with these devices may have; parents are printed before their children."""
    stack = load_stack(knowledge, devices).pick(places)
    at = {row.id: i for i, row in enumerate(stack.rows)}
    sources = [[at[name] for name in list_sources(row) if name in at] for row in stack.rows]
    waiting, generations = dict.fromkeys(range(len(stack.rows))), []
    while waiting:
        ready = [i for i in waiting if not any(source in waiting for source in sources[i])]
        if not ready:
            names = ", ".join(stack.rows[i].id for i in waiting)
            raise KnowledgeError("streams.csv", f"{names} derived from each other", "a parent comes first", do="Cut the cycle.")
        rows = [stack.rows[i] for i in ready]
        parents = [at[row.parent] for row in rows if row.parent]
        per_step = [10.0 ** -stack.rows[parent].decimals for parent in parents]
        slope = [(row.slope or 0) * step for row, step in zip(rows, per_step, strict=False)]
        by_formula = tuple((i, _find_formula(row)) for i, row in enumerate(rows) if row.derived_by)
        bounded = [i for i, row in enumerate(rows) if row.parent and (row.derived_by or row.per_bmi_over_25)]
        limits = stack.limits.pick(ready)
        generations.append(Generation(ready, limits, parents, np.array(slope)[:, None], by_formula, bounded, limits.pick(bounded)))
        for i in ready:
            del waiting[i]
    owners = [stack.devices[i] for i in generations[0].places]
    owned = [device for device in dict.fromkeys(owners) if device]
    by_device = tuple((device, tuple(i for i, name in enumerate(owners) if name == device)) for device in owned)
    return Plan(stack, at, tuple(generations), by_device, list_passes(stack.lag1))


def _find_formula(row: Stream) -> str:
    known = (*LINES, *DAILY)
    if row.derived_by not in known:
        nearest = nearest_match(row.derived_by, known)
        raise KnowledgeError(f"streams.csv ({row.id})", f"no formula {row.derived_by!r}", allowed_values(known), nearest=nearest)
    return row.derived_by


def list_sources(row: Stream) -> tuple[str, ...]:
    """The streams a derived one follows from, its parent first; () for one that is measured itself."""
    return DAILY[row.derived_by].inputs if row.derived_by in DAILY else (row.parent,) if row.parent else ()


def _is_backed(row: Stream, devices: tuple[str, ...]) -> bool:
    return row.role in WORN and (not row.devices or bool(_device(row, devices)))


def _device(row: Stream, devices: tuple[str, ...]) -> str:
    return next((device for device in row.devices if device in devices), "")


def _number(row: Stream, name: str) -> float:
    value = getattr(row, name)
    # A row without a mean takes its level from the course or a parent; the middle of the bounds only keeps the arithmetic finite.
    return float((row.hard_low + row.hard_high) / 2 if value is None else value)


def _thresholds(row: Stream) -> list[int]:
    if row.p_off_off < row.p_off_worn:
        found = f"p_off_off {row.p_off_off} below p_off_worn {row.p_off_worn}"
        raise KnowledgeError(f"streams.csv ({row.id})", found, "missing days come in runs", do="Raise p_off_off.")
    start = row.p_off_worn / (1 - row.p_off_off + row.p_off_worn) if row.p_off_worn else 0
    return [min(int(p * 2**64), 2**64 - 1) for p in (start, row.p_off_worn, row.p_off_off)]


def list_passes(lag1: Reals) -> tuple[tuple[int, Reals], ...]:
    """(rows, their factors) for each doubling of the scan; `lag1` is a column sorted by falling size.

    How many passes a row gets follows from its own lag-1, so no row changes another.
    """
    passes: list[tuple[int, Reals]] = []
    factor = lag1
    while active := int(np.count_nonzero(np.abs(factor) > NEGLIGIBLE)):
        passes.append((active, factor[:active]))
        factor = factor * factor
    return tuple(passes)
