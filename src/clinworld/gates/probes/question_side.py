"""Questions appended to a prompt: a false premise, a window without readings, and a plain reading of a series.

They are drawn from the record an agent sees at T and change nothing in it. The false-premise, no-op and quant questions never share a
series, and ask only about series a clinician reads. Controls: the oracle that answers each right, and the one that answers each wrong.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.core.units import print_tick, readable_unit
from clinworld.gates.noise import clear_change_pct
from clinworld.knowledge.load import Knowledge
from clinworld.schema.gold import ProbeGold
from clinworld.schema.item import ProbeQuestion
from clinworld.schema.record import Record, Series

CLAIMS = Path(__file__).with_name("claims.csv")
CONSISTENT, CONTRADICTS = "consistent", "contradicts_record"
NO_DATA, PRESENT, UNRELIABLE = "no_data_in_window", "present", "unreliable"

Probe = tuple[ProbeQuestion, ProbeGold]


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
    """A value the record contradicts and nobody could call impossible: twice what noise seldom produces, up or down by `side` (0–1).

    So that a claim's truth cannot be told without the record; it turns round where it would leave the hard bounds.
    """
    analyte = knowledge.analytes.get(series.name)
    row = analyte or knowledge.streams[series.name]
    share = 2 * clear_change_pct(analyte, knowledge) / 100 if analyte else knowledge.parameter("probe.false_share_of_value")
    step = max(2, round(share * abs(tick)))
    scale = 10**series.decimals
    wanted = tick + step if side < 0.5 else tick - step
    return wanted if row.hard_low * scale < wanted < row.hard_high * scale else 2 * tick - wanted


def draw_no_op(candidates: Sequence[Series], index_day: int, knowledge: Knowledge, rng: Rng, case_id: str) -> Probe | None:
    """A question about a window of a series that holds no reading, or one that holds some.

    Asked of a series that has both kinds of window where there is one, so that the series does not tell the answer.
    """
    length, least = int(knowledge.parameter("probe.window_days")), int(knowledge.parameter("probe.least_points"))
    windows = {
        is_gap: {each.name: found for each in candidates if (found := find_window(each, index_day, length, least, is_gap=is_gap))}
        for is_gap in (True, False)
    }
    both = [series for series in candidates if series.name in windows[True] and series.name in windows[False]]
    able = both or [series for series in candidates if series.name in windows[True] or series.name in windows[False]]
    if not able:
        return None
    series = pick_by_name(able, rng, case_id, "no_op")
    wants_gap = rng.at(case_id, "probe", "no_op").chance() < knowledge.parameter("probe.share_gap")
    is_gap = wants_gap if series.name in windows[wants_gap] else not wants_gap
    question = ProbeQuestion("no_op", "window", series.name, windows[is_gap][series.name], None)
    return question, ProbeGold("no_op", "gap" if is_gap else "covered", series.name, (NO_DATA,) if is_gap else (PRESENT, UNRELIABLE))


def find_window(series: Series, index_day: int, length: int, least: int, *, is_gap: bool) -> tuple[int, int] | None:
    """A window of `length` days up to T without a reading (`is_gap`), or with enough; None when there is none.

    Enough is `least` readings, and one in a series that is read so seldom that no window holds as many: otherwise a series that is
    read seldom would mean a gap.
    """
    starts = np.arange(0, index_day - length + 2)
    if not len(starts):
        return None
    if not is_gap and len(series.days) and int(np.median(np.diff(series.days, prepend=series.days[0] - length))) >= length:
        least = 1
    counts = np.searchsorted(series.days, starts + length) - np.searchsorted(series.days, starts)
    fitting = np.flatnonzero(counts == 0) if is_gap else np.flatnonzero(counts >= least)
    if not len(fitting):
        return None
    first = int(starts[fitting[len(fitting) // 2]])
    return first, first + length - 1


def draw_quant(candidates: Sequence[Series], index_day: int, knowledge: Knowledge, rng: Rng, case_id: str) -> Probe | None:
    """A trend over a window, or the day of the highest value."""
    at = rng.at(case_id, "probe", "quant")
    least = int(knowledge.parameter("probe.least_points"))
    dense = [series for series in candidates if len(series.ticks) >= least]
    if not dense:
        return None
    if at.chance() < knowledge.parameter("probe.share_trend"):
        steady = [series for series in dense if read_trend(series, knowledge) is not None]
        if steady:
            series = pick_by_name(steady, rng, case_id, "quant")
            days = (int(series.days[0]), int(series.days[-1]))
            trend = read_trend(series, knowledge)
            assert trend is not None
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
    """One series, by a draw addressed to each name, so that another series in the record moves no other choice."""
    return min(series, key=lambda each: (rng.at(case_id, "probe", kind, "pick", each.name).chance(), each.name))
