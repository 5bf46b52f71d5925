"""Questions appended to a prompt: a false premise, a window without readings, and a plain reading of a series.

They are drawn from the record an agent sees at T and change nothing in it. The false-premise, no-op and quant questions never share a
series, and ask only about series a clinician reads. Controls: the oracle that answers each right, and the one that answers each wrong.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.core.units import print_tick, readable_unit
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.reference_change import reference_change_pct
from clinworld.schema.gold import ProbeGold
from clinworld.schema.item import ProbeQuestion
from clinworld.schema.record import Record, Series

CLAIMS = Path(__file__).with_name("claims.csv")
LEVELS = Path(__file__).with_name("levels.csv")
CONSISTENT, CONTRADICTS = "consistent", "contradicts_record"
NO_DATA, PRESENT, UNRELIABLE = "no_data_in_window", "present", "unreliable"

Probe = tuple[ProbeQuestion, ProbeGold]
Days = NDArray[np.int64]


def draw_probes(
    shown: Record, index_day: int, knowledge: Knowledge, rng: Rng, case_id: str
) -> tuple[tuple[ProbeQuestion, ...], tuple[ProbeGold, ...]]:
    """The appended questions a record allows, at most one of each kind, with their right replies."""
    read = [series for series in shown.series if is_read_by_clinicians(series.name, knowledge)]
    probes: list[Probe] = []
    taken: set[str] = set()
    for draw in (draw_false_premise, draw_no_op, draw_quant):
        probe = draw([series for series in read if series.name not in taken], index_day, knowledge, rng, case_id)
        if probe is not None:
            probes.append(probe)
            taken.add(probe[0].about)
    return tuple(question for question, _ in probes), tuple(gold for _, gold in probes)


def is_read_by_clinicians(name: str, knowledge: Knowledge) -> bool:
    """True for a series a clinician would be asked about."""
    row = knowledge.analytes.get(name) or knowledge.streams.get(name)
    return row is not None and row.clinician_reads


def draw_false_premise(candidates: Sequence[Series], index_day: int, knowledge: Knowledge, rng: Rng, case_id: str) -> Probe | None:
    """A statement of the patient about one laboratory or clinic value, true or false."""
    sparse = [series for series in candidates if series.setting in ("laboratory", "clinic")]
    if not sparse:
        return None
    series = pick_by_name(sparse, rng, case_id, "false_premise")
    at = rng.at(case_id, "probe", "false_premise", series.name)
    position = int(at.chance(0) * len(series.ticks))
    is_false = at.chance(1) < knowledge.parameter("probe.share_false_premise")
    tick = int(series.ticks[position])
    said = false_tick(series, tick, knowledge, at.chance(2)) if is_false else tick
    day = int(series.days[position])
    claim = say_claim(series, print_tick(said, series.decimals), day, knowledge)
    variant = "false" if is_false else "true"
    question = ProbeQuestion("false_premise", "claim", series.name, (day, day), claim)
    return question, ProbeGold("false_premise", variant, series.name, (CONTRADICTS if is_false else CONSISTENT,))


def say_claim(series: Series, value: str, day: int, knowledge: Knowledge) -> Wording:
    """What the patient says a value was, in both languages."""
    names = (knowledge.analytes.get(series.name) or knowledge.streams[series.name]).names
    labels, said = load_labels(CLAIMS), f"{value} {readable_unit(series.unit)}"
    return Wording(*(labels.say("claim_value", each, name=names.say(each), day=day, value=said) for each in LANGUAGES))


def false_tick(series: Series, tick: int, knowledge: Knowledge, side: float) -> int:
    """A value the record contradicts and nobody could call impossible: just beyond what noise produces, up or down by `side` (0–1).

    The chance of either side is the root of how usual the value there is, so that false values are spread as true ones are and a claim's
    truth cannot be told without the record. It turns round where it would leave the hard bounds.
    """
    analyte = knowledge.analytes.get(series.name)
    row = analyte or knowledge.streams[series.name]
    share = reference_change_pct(analyte, knowledge) / 100 if analyte else knowledge.parameter("probe.false_share_of_value")
    step = max(2, int(share * abs(tick)) + 1)
    scale = 10**series.decimals
    up, down = (weigh_level(series.name, said / scale) for said in (tick + step, tick - step))
    wanted = tick + step if side * (up + down) < up else tick - step
    return wanted if row.hard_low * scale < wanted < row.hard_high * scale else 2 * tick - wanted


def weigh_level(name: str, value: float) -> float:
    """The root of how usual a value is, by the spread of drawn patients on the log scale; 1 for a series whose spread is not listed.

    >>> round(weigh_level("hba1c", 14.0) / weigh_level("hba1c", 6.0), 2) < 0.1
    True
    """
    if name not in load_levels():
        return 1.0
    typical, spread = load_levels()[name]
    away = math.log(max(value, math.ulp(1.0)) / typical) / spread
    return math.exp(-away * away / 4)


@lru_cache(maxsize=1)
def load_levels() -> Mapping[str, tuple[float, float]]:
    """Series → typical level, in the row's unit, and its spread between drawn patients, a standard deviation of the logarithm."""
    rows = load_csv(LEVELS, ("id", "typical", "spread_log", "source", "status"))
    return {row["id"]: (float(row["typical"]), float(row["spread_log"])) for row in rows}


class Windows(NamedTuple):
    """First days of the windows of one series: `covered` hold readings, `empty` hold none.

    Where the series has both close to each other, they are pairs: each covered window with the empty one nearest to it. `is_balanced`:
    the pairs have an empty window close by on either side, so that a day tells nothing of the kind.
    """

    covered: Days
    empty: Days
    is_paired: bool
    is_balanced: bool


def draw_no_op(candidates: Sequence[Series], index_day: int, knowledge: Knowledge, rng: Rng, case_id: str) -> Probe | None:
    """A question about a window of a series that holds no reading, or one that holds some.

    The kind is drawn first; then a series and a covered window that has an empty one beside it, whichever of the two is asked about. So
    neither the series nor the days tell the answer. A record without such windows is asked about what it has.
    """
    best: dict[int, tuple[Series, Windows]] = {}  # the first in drawn order: 0 with balanced pairs, 1 with pairs, 2 with any window
    for each in order_by_draw(candidates, rng, case_id, "no_op"):
        windows = list_windows(each, index_day, knowledge)
        if len(windows.covered) + len(windows.empty):
            best.setdefault(0 if windows.is_balanced else 1 if windows.is_paired else 2, (each, windows))
        if windows.is_balanced:
            break
    if not best:
        return None
    series, found = best[min(best)]
    is_gap = rng.at(case_id, "probe", "no_op").chance() < knowledge.parameter("probe.share_gap")
    if not found.is_paired:
        is_gap = len(found.empty) > 0 and (is_gap or not len(found.covered))
    starts = found.empty if is_gap else found.covered
    first = int(starts[rng.at(case_id, "probe", "no_op", "start", series.name).whole(0, len(starts) - 1)])
    question = ProbeQuestion("no_op", "window", series.name, (first, first + int(knowledge.parameter("probe.window_days")) - 1), None)
    return question, ProbeGold("no_op", "gap" if is_gap else "covered", series.name, (NO_DATA,) if is_gap else (PRESENT, UNRELIABLE))


def list_windows(series: Series, index_day: int, knowledge: Knowledge) -> Windows:
    """The windows of a series that end by the index day, those with too few readings for an answer left out.

    Enough is `probe.least_points` readings, and one in a series read so seldom that no window holds as many: otherwise a series that is
    read seldom would mean a gap. A series of the clinic is never paired: planned visits fall on about the same days in everyone, so that
    a day would tell the kind.
    """
    length, least = int(knowledge.parameter("probe.window_days")), int(knowledge.parameter("probe.least_points"))
    starts = np.arange(0, max(0, index_day - length + 2), dtype=np.int64)
    counts = np.searchsorted(series.days, starts + length) - np.searchsorted(series.days, starts)
    covered, empty = starts[counts >= (least if (counts >= least).any() else 1)], starts[counts == 0]
    if series.setting == "clinic" or not len(covered) or not len(empty):
        return Windows(covered, empty, is_paired=False, is_balanced=False)
    place = np.searchsorted(empty, covered)
    before = covered - empty[np.maximum(place - 1, 0)]
    after = empty[np.minimum(place, len(empty) - 1)] - covered
    is_near = ((before > 0) & (before <= length), (after > 0) & (after <= length))
    on_both, on_one = is_near[0] & is_near[1], is_near[0] | is_near[1]
    kept = on_both if on_both.any() else on_one
    if not kept.any():
        return Windows(covered, empty, is_paired=False, is_balanced=False)
    goes_back = is_near[0] & ((before <= after) | ~is_near[1])
    nearest = np.where(goes_back, covered - before, covered + after)
    return Windows(covered[kept], nearest[kept], is_paired=True, is_balanced=bool(on_both.any()))


def draw_quant(candidates: Sequence[Series], index_day: int, knowledge: Knowledge, rng: Rng, case_id: str) -> Probe | None:
    """A trend over a window, or the day of the highest value."""
    at = rng.at(case_id, "probe", "quant")
    least = int(knowledge.parameter("probe.least_points"))
    dense = [series for series in candidates if len(series.ticks) >= least]
    if not dense:
        return None
    if at.chance() < knowledge.parameter("probe.share_trend"):
        for series in order_by_draw(dense, rng, case_id, "quant"):
            trend = read_trend(series, knowledge)
            if trend is not None:
                days = (int(series.days[0]), int(series.days[-1]))
                return ProbeQuestion("quant", "trend", series.name, days, None), ProbeGold("quant", "trend", series.name, (trend,))
    series = pick_by_name(dense, rng, case_id, "quant")
    days = (int(series.days[0]), int(series.days[-1]))
    peaks = tuple(str(int(day)) for day in series.days[series.ticks == series.ticks.max()])
    return ProbeQuestion("quant", "peak_day", series.name, days, None), ProbeGold("quant", "peak_day", series.name, peaks)


def read_trend(series: Series, knowledge: Knowledge) -> str | None:
    """rising, falling or flat from first to last value; None when moving either end by one reading would change it.

    Inside the dead zone (2 % of the largest value) it is flat.
    """
    zone = knowledge.parameter("probe.dead_zone") * max(1, int(np.abs(series.ticks).max()))

    def between(first: int, last: int) -> str:
        net = int(series.ticks[last]) - int(series.ticks[first])
        return "flat" if abs(net) <= zone else ("rising" if net > 0 else "falling")

    trends = {between(first, last) for first in (0, 1) for last in (-1, -2)}
    return trends.pop() if len(trends) == 1 else None


def pick_by_name(series: Sequence[Series], rng: Rng, case_id: str, kind: str) -> Series:
    """One series: the first by `order_by_draw`."""
    return order_by_draw(series, rng, case_id, kind)[0]


def order_by_draw(series: Sequence[Series], rng: Rng, case_id: str, kind: str) -> list[Series]:
    """The series in drawn order, by a draw addressed to each name, so that another series in the record moves no other choice."""
    return sorted(series, key=lambda each: (rng.at(case_id, "probe", kind, "pick", each.name).chance(), each.name))
