"""The stream rows a patient may have, stacked for computing by day, and what does not differ between patients with the same streams.

Everything here follows from knowledge and devices alone: no draw, no premise. `observe_streams.py` fills the stack with values.
"""

from collections.abc import Mapping, Sequence
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
from clinworld.world.common_causes import Mixture, load_mixture
from clinworld.world.formulas import DAILY, LINES
from clinworld.world.wear import Flags, Use, derive_use, derive_within, to_thresholds

Places = NDArray[np.int64]
Passes = tuple[tuple[int, Reals], ...]

HOME_SCALE = "weight"
_APART, _USUAL = "least_apart.", "usual."
WORN = ("wearable", "home")  # roles that need a device and are missing in runs of days
WEEKLY = ("evidence", "quality")  # roles that exist for everyone and are charted once a week
NEGLIGIBLE = 2.0**-20  # weight of a past day from which on it is dropped


class Limits(NamedTuple):
    """How far streams go and how finely they are printed, as columns [stream, 1].

    The bounds lie one printed step inside the hard bounds, but for shares of a day, which may be all or nothing. Bounds and SD are on the
    row's scale. `half_step` is half a printed step; `log_rows` are the places of the rows on a log scale. `floors` are (place, what no
    day falls below where the level itself does not), `growing` (place, level at which the SD is the row's, with which it goes).
    """

    low: Reals
    high: Reals
    sd_within: Reals
    steps_per_unit: Reals
    half_step: Reals
    log_rows: list[int]
    floors: list[tuple[int, float]]
    growing: list[tuple[int, float]]

    def pick(self, places: Sequence[int]) -> "Limits":
        """The limits of some of the rows."""
        at = list(places)
        log_rows = [i for i, place in enumerate(at) if place in self.log_rows]
        floors, growing = ([(at.index(i), value) for i, value in rows if i in at] for rows in (self.floors, self.growing))
        low, high, sd_within = self.low[at], self.high[at], self.sd_within[at]
        return Limits(low, high, sd_within, self.steps_per_unit[at], self.half_step[at], log_rows, floors, growing)


class Ease(NamedTuple):
    """Between which levels a person's own is bent smoothly to stay, and how softly, as columns [stream, 1] on the row's scale."""

    low: Reals
    high: Reals
    softness: Reals


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Stream rows, most autocorrelated first, with their numbers as columns [stream, 1].

    `mean_m`, `mean_f` and the SD are on the row's scale; a derived row's means are its intercepts. `weekday` is [stream, 7] from Monday.
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
    p_present: Reals  # [stream]
    is_weekly: Flags  # [stream]


class Generation(NamedTuple):
    """Rows of a stack that can be printed once those before are: `places` in the stack, and for each row its parent.

    A row's value follows its parent by `slope_per_step`, or, where `by_formula` (place here, formula id) says so, by the line of its
    patient or from the values of the day; `bounded` are the places here of rows that a patient's build moves far, with what keeps them
    inside. Without a parent `parents` is empty.
    """

    places: Places
    limits: Limits
    parents: Places
    slope_per_step: Reals
    by_formula: tuple[tuple[int, str], ...]
    bounded: list[int]
    bounded_ease: Ease


class Layer(NamedTuple):
    """Rows whose missing days are found at once: `rows` of them, the row in whose missing days each is missing too (None: none has one),
    and thresholds on the words of a day [level of use, row]: on the first day, after a worn and after a missing day.
    """

    rows: Places
    outer: Places | None
    off: tuple[Words, Words, Words]


class Worn(NamedTuple):
    """Rows of a stack that are charted on the days a device is used: `places` there, found layer by layer.

    `devices` are what they are of; `of_device` says of which of them each row is, `home` which rows are readings of a home device, taken
    together, by device.
    """

    places: Places
    devices: tuple[str, ...]
    of_device: Places
    home: tuple[tuple[str, list[int]], ...]
    layers: tuple[Layer, ...]


class Sharing(NamedTuple):
    """Rows of a home device whose noise has a part in common: (places in the stack, how much is common, how much is their own, AR(1))."""

    device: str
    places: list[int]
    loading: float
    own: float
    lag1: Reals
    passes: Passes


class Plan(NamedTuple):
    """What does not differ between patients with the same devices: rows, order of printing, AR(1) passes, and rows by device.

    `sources` are what each row follows from, `names` what the course may call it: (its level as evidence, a shift of it). `ease` keeps
    the level of a person inside the bounds; `passes` see `list_passes`; `diagnostic` are the places of rows that can diagnose.
    `alike` are (place, place of what goes with it, correlation between men, between women); `daily` the places of streams whose days go
    together, and how by sex; `apart` (place, place of what stays below it, by so many printed steps at least).
    """

    stack: Stack
    at: dict[str, int]
    addresses: list[tuple[str, str]]
    spread_addresses: list[tuple[str, ...]]
    sources: tuple[tuple[str, ...], ...]
    names: tuple[tuple[str, str], ...]
    ease: Ease
    generations: tuple[Generation, ...]
    worn: Worn
    weekly: list[int]
    sharing: tuple[Sharing, ...]
    passes: Passes
    diagnostic: list[int]
    alike: tuple[tuple[int, int, float, float], ...]
    daily: tuple[list[int], Mapping[str, Mixture]] | None
    apart: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=64)
def load_stack(knowledge: Knowledge, devices: tuple[str, ...]) -> Stack:
    """The stream rows charted by day that a patient with these devices may have, stacked."""
    kept = [row for row in knowledge.streams.values() if row.id == HOME_SCALE or row.role in WEEKLY or _is_backed(row, devices)]
    rows = tuple(sorted(kept, key=lambda row: (-abs(row.lag1), row.id)))
    for row in rows:
        _check_runs(row)
    is_log = np.array([[row.scale == "log"] for row in rows])
    is_derived = np.array([[bool(row.parent)] for row in rows])
    per_unit = np.array([[10.0**row.decimals] for row in rows])
    inside = np.array([[0 if row.derived_by in DAILY else 1] for row in rows])

    def column(name: str) -> Reals:
        return np.array([[_number(row, name)] for row in rows], dtype=np.float64)

    def scaled(values: Reals) -> Reals:
        return np.where(is_log, np.log(np.where(is_log, np.maximum(values, 1 / per_unit), 1)), values)

    return Stack(
        rows=rows,
        devices=tuple(_device(row, devices) if row.role in WORN else "" for row in rows),
        limits=Limits(
            low=scaled((np.floor(column("hard_low") * per_unit) + inside) / per_unit),
            high=scaled((np.ceil(column("hard_high") * per_unit) - inside) / per_unit),
            sd_within=column("sd_within"),
            steps_per_unit=per_unit,
            half_step=0.5 / per_unit,
            log_rows=np.flatnonzero(is_log).tolist(),
            floors=_list_named(rows, "days_floor_", knowledge),
            growing=_list_named(rows, "days_sd_at_", knowledge),
        ),
        mean_m=np.where(is_derived, [[row.intercept_m or 0] for row in rows], scaled(column("mean_m"))),
        mean_f=np.where(is_derived, [[row.intercept_f or 0] for row in rows], scaled(column("mean_f"))),
        per_year_over_40=column("per_year_over_40"),
        per_bmi_over_25=column("per_bmi_over_25"),
        sd_between=column("sd_between"),
        lag1=column("lag1"),
        is_derived=is_derived,
        weekday=np.array([[row.monday, 0, 0, 0, 0, row.saturday, row.sunday] for row in rows]),
        p_present=column("p_present")[:, 0],
        is_weekly=np.array([row.role in WEEKLY for row in rows]),
    )


def _list_named(rows: Sequence[Stream], prefix: str, knowledge: Knowledge) -> list[tuple[int, float]]:
    """The places of the rows that have a parameter of their own, and its value."""
    return [(i, knowledge.parameter(name)) for i, row in enumerate(rows) if (name := f"{prefix}{row.id}") in knowledge.parameters]


@lru_cache(maxsize=64)
def load_plan(knowledge: Knowledge, devices: tuple[str, ...]) -> Plan:
    """The plan for the streams that patients with these devices may have; parents are printed before their children."""
    stack = load_stack(knowledge, devices)
    generations, at = _order_generations(stack), {row.id: i for i, row in enumerate(stack.rows)}
    sharing = _list_sharing(stack, devices, knowledge)
    between = [row for row in knowledge.correlations.values() if row.level == "between" and {row.a, row.b} <= at.keys()]
    return Plan(
        stack=stack,
        at=at,
        addresses=[("stream", row.id) for row in stack.rows],
        spread_addresses=_list_spread_addresses(stack, sharing),
        sources=tuple(list_sources(row) for row in stack.rows),
        names=tuple((f"evidence:{row.id}", f"shift:{row.id}") for row in stack.rows),
        ease=_ease(stack.limits),
        generations=generations,
        worn=_list_worn(stack, generations[0].places.tolist(), knowledge),
        weekly=np.flatnonzero(stack.is_weekly).tolist(),
        sharing=sharing,
        passes=list_passes(stack.lag1),
        diagnostic=[i for i, row in enumerate(stack.rows) if row.diagnostic_high is not None],
        alike=tuple((at[row.a], at[row.b], row.r_m, row.r_f) for row in between),
        daily=_mix_days(at, knowledge),
        apart=_list_apart(stack, at, knowledge),
    )


def _mix_days(at: Mapping[str, int], knowledge: Knowledge) -> tuple[list[int], Mapping[str, Mixture]] | None:
    """Streams that go together from day to day; those of one device, so that all or none are there."""
    rows = [row for row in knowledge.correlations.values() if row.level == "daily" and {row.a, row.b} <= at.keys()]
    names = tuple(dict.fromkeys(name for row in rows for name in (row.a, row.b)))
    return ([at[name] for name in names], {sex: load_mixture(knowledge, "daily", names, sex) for sex in ("F", "M")}) if names else None


def find_usual_shifts(knowledge: Knowledge, conditions: tuple[str, ...]) -> Mapping[str, float]:
    """Stream → what known conditions add to a person's usual level, on the stream's scale: the largest of them, not their sum."""
    found: dict[str, float] = {}
    for condition in conditions:
        for stream, shift in _list_usual_shifts(knowledge).get(condition, ()):
            found[stream] = max(found.get(stream, 0.0), shift, key=abs)
    return found


@lru_cache(maxsize=8)
def _list_usual_shifts(knowledge: Knowledge) -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Condition → (stream, what it adds) by the parameters `usual.STREAM.CONDITION`."""
    by_condition: dict[str, tuple[tuple[str, float], ...]] = {}
    for name, row in knowledge.parameters.items():
        if name.startswith(_USUAL):
            stream, _, condition = name.removeprefix(_USUAL).partition(".")
            by_condition[condition] = (*by_condition.get(condition, ()), (stream, row.value))
    return by_condition


def _order_generations(stack: Stack) -> tuple[Generation, ...]:
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
        bounded = [i for i, row in enumerate(rows) if row.parent and (row.derived_by in LINES or row.per_bmi_over_25)]
        limits = stack.limits.pick(ready)
        ease = _ease(limits.pick(bounded))
        generations.append(Generation(_places(ready), limits, _places(parents), np.array(slope)[:, None], by_formula, bounded, ease))
        for i in ready:
            del waiting[i]
    return tuple(generations)


def _places(at: Sequence[int]) -> Places:
    return np.array(at, dtype=np.int64)


def _ease(limits: Limits) -> Ease:
    """What bends levels smoothly to stay one day-to-day SD inside the bounds."""
    # A printed step is a length on a linear scale only.
    step = 1 / limits.steps_per_unit
    step[limits.log_rows] = 0
    return Ease(limits.low + limits.sd_within, limits.high - limits.sd_within, np.maximum(limits.sd_within / 2, step))


def _list_worn(stack: Stack, measured: Sequence[int], knowledge: Knowledge) -> Worn:
    places = [i for i in measured if stack.rows[i].role in WORN]
    rows = [stack.rows[i] for i in places]
    owned = tuple(dict.fromkeys(stack.devices[i] for i in places))
    home = {device: [n for n, i in enumerate(places) if stack.devices[i] == device and stack.rows[i].role == "home"] for device in owned}
    chances = [np.array([getattr(row, name) for row in rows], dtype=np.float64) for name in ("p_off_worn", "p_off_off")]
    return Worn(
        places=_places(places),
        devices=owned,
        of_device=_places([owned.index(stack.devices[i]) for i in places]),
        home=tuple((device, those) for device, those in home.items() if device and those),
        layers=_list_layers(derive_use(chances[0], chances[1], knowledge), _find_outer(stack, places, knowledge)),
    )


def _find_outer(stack: Stack, places: Sequence[int], knowledge: Knowledge) -> list[int]:
    """For each row the one that is charted whenever it is, by place here; -1 for none.

    Nothing is recorded on a day the device is not worn, and nothing of a night on a night it is not.
    """
    at = {stack.rows[i].id: n for n, i in enumerate(places)}
    outer = []
    for i in places:
        name, device = stack.rows[i].id, knowledge.devices.get(stack.devices[i])
        of_night = device is not None and name in device.worn_nights[1:]
        leader = "" if device is None else device.worn_nights[0] if of_night else device.worn_days
        outer.append(-1 if leader == name else at.get(leader, -1))
    return outer


def _list_layers(use: Use, outer: Sequence[int]) -> tuple[Layer, ...]:
    """The rows without an outer row, then those whose outer row is among those before."""
    layers: list[Layer] = []
    waiting, done = list(range(len(outer))), {-1}
    while waiting:
        ready = [n for n in waiting if outer[n] in done]
        around = _places([outer[n] for n in ready])
        own = Use(*(chance[:, ready] for chance in use))
        if layers:
            own = derive_within(own, Use(*(chance[:, around] for chance in use)))
        off = to_thresholds(own.share), to_thresholds(own.after_worn), to_thresholds(own.after_off)
        layers.append(Layer(_places(ready), around if layers else None, off))
        done.update(ready)
        waiting = [n for n in waiting if n not in done]
    return tuple(layers)


def _list_sharing(stack: Stack, devices: tuple[str, ...], knowledge: Knowledge) -> tuple[Sharing, ...]:
    found = []
    for device in devices:
        alike = [i for i, owned in enumerate(stack.devices) if owned == device and stack.rows[i].role == "home"]
        if f"shared_noise_{device}" in knowledge.parameters and alike:
            loading, lag1 = knowledge.parameter(f"shared_noise_{device}"), stack.lag1[alike]
            found.append(Sharing(device, alike, loading, float(np.sqrt(1 - loading * loading)), lag1, list_passes(lag1)))
    return tuple(found)


def _list_spread_addresses(stack: Stack, sharing: tuple[Sharing, ...]) -> list[tuple[str, ...]]:
    """Where it is drawn how much a person's days differ: once for the readings of a device that share their noise."""
    device_of = {place: each.device for each in sharing for place in each.places}
    return [("device", device_of[i], "spread") if i in device_of else ("stream", row.id, "spread") for i, row in enumerate(stack.rows)]


def _list_apart(stack: Stack, at: Mapping[str, int], knowledge: Knowledge) -> tuple[tuple[int, int, int], ...]:
    """The pairs of rows that the parameters `least_apart.GREATER.LESSER` keep apart."""
    found = []
    for name, row in knowledge.parameters.items():
        if name.startswith(_APART) and {*(names := name.removeprefix(_APART).split("."))} <= at.keys():
            greater, lesser = (at[each] for each in names)
            found.append((greater, lesser, int(row.value * 10 ** stack.rows[lesser].decimals)))
    return tuple(found)


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


def _check_runs(row: Stream) -> None:
    if row.p_off_off < row.p_off_worn:
        found = f"p_off_off {row.p_off_off} below p_off_worn {row.p_off_worn}"
        raise KnowledgeError(f"streams.csv ({row.id})", found, "missing days come in runs", do="Raise p_off_off.")


def list_passes(lag1: Reals) -> Passes:
    """(rows, their factors) for each doubling of the scan; `lag1` is a column sorted by falling size.

    How many passes a row gets follows from its own lag-1, so no row changes another.
    """
    passes: list[tuple[int, Reals]] = []
    factor = lag1
    while active := int(np.count_nonzero(np.abs(factor) > NEGLIGIBLE)):
        passes.append((active, factor[:active]))
        factor = factor * factor
    return tuple(passes)
