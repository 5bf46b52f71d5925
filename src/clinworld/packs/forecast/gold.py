"""Gold of a forecast, read from the charted facts alone: the second derivation, which must agree with the one from the premise.

Outcome by the label rule on charted weights, drivers by what the evidence up to T leaves possible, a red flag by the words of real
symptoms, turning points by where a lasting rise starts and by the known faults. Shares nothing with `plan.py` but schema, knowledge and
the label rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.units import to_ticks
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.knowledge.rows import Driver, OutcomeRule, Stream
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word, texts_of
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, TurningPoint
from clinworld.schema.record import ChartFault, NoteOrigin, Record, Series
from clinworld.world.label import DECIMALS, event_occurs, read_rule, smooth_ticks

Reals = NDArray[np.float64]

CHECK = "gold_rederives"
HOME_WEIGHT, CLINIC_WEIGHT = "weight", "weight_clinic"
LASTING = "device_switch"  # the one fault that stays to the end, so that its readings cannot be left out
TARGET_EVENT = "weight_regain"
BEND_STEP_DAYS = 2
HALF_WITHIN = NormalDist().inv_cdf(0.75)  # half of all normal draws lie within this many standard deviations


class Shift(NamedTuple):
    """How far a driver's evidence moved by T towards what the driver does, and the least that counts; both on the stream's scale.

    `least` is a share of the driver's full shift, and more than noise.
    """

    moved: float
    least: float

    @property
    def is_abnormal(self) -> bool:
        """True when the evidence moved far enough to name its driver."""
        return self.moved >= self.least


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Weights an outcome is read on, by day, and the rule to read them with."""

    days: NDArray[np.int32]
    weights: Reals
    rule: OutcomeRule

    @property
    def event_occurs(self) -> bool:
        """Whether the event happened; nothing charted is no event."""
        return self.days.size > 0 and event_occurs(self.days, self.weights, start_kg=float(self.weights[0]), rule=self.rule)

    def holds(self, shift_kg: float) -> bool:
        """The same with the threshold moved."""
        if not self.days.size:
            return False
        read = read_rule(self.days, self.weights, start_kg=float(self.weights[0]), rule=self.rule, shift_kg=shift_kg)
        return read.longest_run_days >= self.rule.persist_days


def read_gold(
    chart: Record,
    faults: Sequence[ChartFault],
    origins: Sequence[NoteOrigin],
    index_day: int,
    knowledge: Knowledge,
    *,
    target_event: str = TARGET_EVENT,
) -> ForecastGold:
    """The answer the charted facts have: `chart` reaches to the course end, `index_day` is T.

    `drivers` are all that the facts up to T leave possible: those whose evidence is abnormal; without any, those nothing shows. A red
    flag is a real symptom up to T in a listed word; it and the event warrant action.
    """
    has_red_flag = shows_red_flag(chart.until(index_day), origins)
    reading = read_outcome(chart, faults, knowledge.outcomes[target_event], knowledge)
    occurs = reading.event_occurs
    kinds = {name: row.turning_kind for name, row in knowledge.artifacts.items()}
    points = [TurningPoint(min(fault.days), kinds[fault.kind], fault.kind) for fault in faults if fault.days and fault.kind in kinds]
    if occurs:
        points.append(TurningPoint(estimate_turn(reading, knowledge), "real", "reversal"))
    return ForecastGold(
        event_occurs=occurs,
        drivers=read_drivers(chart, faults, origins, index_day, knowledge),
        turning_points=tuple(sorted(points, key=lambda point: (point.day, point.kind, point.cause))),
        has_red_flag=has_red_flag,
        is_action_warranted=occurs or has_red_flag,
    )


def shows_red_flag(shown: Record, origins: Sequence[NoteOrigin]) -> bool:
    """Whether a real symptom is told in a word that stands for prompt care."""
    real = {origin.note_id for origin in origins if origin.kind == "real"}
    return any(find_listed_word(text, RED_FLAGS) for note in shown.notes if note.note_id in real for text in texts_of(note))


def read_outcome(chart: Record, faults: Sequence[ChartFault], rule: OutcomeRule, knowledge: Knowledge) -> Reading:
    """Whether the event happened by the charted weights: home readings without faulty ones, by the label rule.

    The clinic scale, as it stands and unsmoothed, decides where a scale offset stays to the end, and where the home readings are a near
    call: where their answer changes with the threshold moved by `gold_near_call_kg`.
    """
    home, clinic = chart.find(HOME_WEIGHT), chart.find(CLINIC_WEIGHT)
    empty = Reading(np.empty(0, dtype=np.int32), np.empty(0), rule)
    # Weighings planned so far apart lie up to twice the jitter nearer together.
    persist = rule.persist_days - 2 * int(knowledge.parameter("weight_clinic_jitter_days"))
    by_clinic = replace(rule, smoothing_readings=1, persist_days=persist)
    checked = empty if clinic is None else Reading(clinic.days, clinic.values(), by_clinic)
    lasting = any(fault.kind == LASTING and fault.days for fault in faults)
    if home is None or (lasting and clinic is not None):
        return checked
    reading = Reading(*_without_faults(home, faults), rule)
    margin = knowledge.parameter("gold_near_call_kg")
    is_clear = reading.holds(margin) == reading.holds(-margin)
    return reading if is_clear or clinic is None else checked


def read_drivers(
    chart: Record, faults: Sequence[ChartFault], origins: Sequence[NoteOrigin], index_day: int, knowledge: Knowledge
) -> tuple[str, ...]:
    """Every driver the facts up to T leave possible, in table order.

    Abnormal evidence leaves only the drivers it names. Otherwise a driver stays possible that nothing measures, that needs a real
    symptom and has one, or whose stream was not charted.
    """
    streams = {driver.id: evidence_stream(driver, knowledge) for driver in knowledge.drivers.values()}
    looked_at = {stream.id for stream in streams.values() if stream}
    shown = replace(chart, series=tuple(series for series in chart.series if series.name in looked_at)).until(index_day)
    real = {origin.note_id for origin in origins if origin.kind == "real"}
    has_symptom = any(note.note_id in real for note in shown.notes)
    abnormal: list[str] = []
    possible: list[str] = []
    for driver in knowledge.drivers.values():
        stream = streams[driver.id]
        shift = read_shift(driver, stream, shown, faults, knowledge) if stream else None
        if shift is not None and shift.is_abnormal:
            abnormal.append(driver.id)
        elif shift is None and (has_symptom or not driver.needs_symptom):
            possible.append(driver.id)
    return tuple(abnormal or possible)


def evidence_stream(driver: Driver, knowledge: Knowledge) -> Stream | None:
    """The stream that alone shows a driver: its evidence, or the medication record when nothing else is named. None: no stream does."""
    name = driver.evidence or (driver.observed_in[0] if len(driver.observed_in) == 1 else "")
    stream = knowledge.streams.get(name)
    return stream if stream is not None and (driver.evidence or stream.role == "adherence") else None


def read_shift(driver: Driver, stream: Stream, shown: Record, faults: Sequence[ChartFault], knowledge: Knowledge) -> Shift | None:
    """How far a driver's evidence moved by T. None when it was hardly charted.

    Adherence: the last reading against the normal level, for a dip before it recovers. Other streams: mean of the last days (half of the
    driver's lead, at least `gold_late_days`) against the first third of the time. Their noise is read from the median step between
    readings, but lies between a share of the stream's own and that itself, because a ramp makes steps too.
    """
    series = shown.find(stream.id)
    if series is None:
        return None
    days, values = _without_faults(series, faults)
    if len(days) and (driver.normal is None or driver.abnormal is None):
        missing = knowledge.parameter("gold_adherence_normal") - float(values[-1])
        return Shift(missing, knowledge.parameter("gold_adherence_least_drop"))
    if len(days) < int(knowledge.parameter("gold_least_readings")) or driver.normal is None or driver.abnormal is None:
        return None
    normal, abnormal = driver.normal, driver.abnormal
    if stream.scale == "log":
        values = np.log(np.maximum(values, 10.0**-stream.decimals))
        normal, abnormal = np.log([normal, abnormal]).tolist()
    place = np.arange(len(days))
    late_days = max(knowledge.parameter("gold_late_days"), (driver.lead_days or 0) / 2)
    late = (days > shown.last_day - late_days) | (place == len(days) - 1)
    early = ((days < shown.last_day / 3) | (place == 0)) & ~late
    moved = float(np.mean(values[late]) - np.mean(values[early])) * (1 if abnormal > normal else -1)
    typical_step = _median(np.abs(values[1:] - values[:-1])) / HALF_WITHIN / 2**0.5
    noise = min(max(typical_step, knowledge.parameter("gold_noise_share") * stream.sd_within), stream.sd_within)
    repeats = (1 + max(stream.lag1, 0)) / (1 - max(stream.lag1, 0))  # days alike count for less
    error = noise * float(np.sqrt(repeats * (1 / np.count_nonzero(late) + 1 / np.count_nonzero(early))))
    share = knowledge.parameter("gold_least_share") * abs(abnormal - normal)
    return Shift(moved, max(share, knowledge.parameter("gold_least_z") * error))


def _without_faults(series: Series, faults: Iterable[ChartFault]) -> tuple[NDArray[np.int32], Reals]:
    touched = [day for fault in faults if fault.series == series.name for day in fault.days]
    if not touched:
        return series.days, series.values()
    kept = ~np.isin(series.days, touched)
    return series.days[kept], series.values()[kept]


def _median(values: Reals) -> float:
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def estimate_turn(reading: Reading, knowledge: Knowledge) -> int:
    """The day on which a lasting rise starts, from readings in which it is known to happen.

    A level line that bends upwards once is fitted by least squares to the readings around the day on which the longest run above the
    threshold starts; the day is the bend's. Good to some weeks only: drift and passing gains hide the day itself.
    """
    rule, days = reading.rule, reading.days
    smoothed = smooth_ticks(to_ticks(reading.weights, DECIMALS), rule.smoothing_readings) / (2.0 * 10.0**DECIMALS)
    read = read_rule(days, reading.weights, start_kg=float(reading.weights[0]), rule=rule)
    run_start = _start_of_longest(days, (smoothed >= read.threshold_kg) & (days >= read.low_day))
    is_below = smoothed < read.threshold_kg
    last_below = int(days[is_below & (days < run_start)][-1])
    first = max(int(days[np.argmax(is_below)]), last_below - int(knowledge.parameter("gold_turn_before_days")))
    near = (days >= first) & (days <= run_start + knowledge.parameter("gold_turn_after_days"))
    x, y = days[near].astype(np.float64), reading.weights[near]
    bends = np.arange(first, run_start + 1, BEND_STEP_DAYS, dtype=np.float64)
    return int(bends[np.argmax(_explained_by_bend(x, y, bends))])


def _start_of_longest(days: NDArray[np.int32], is_above: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_above, [False])).astype(np.int8)))
    firsts, lasts = days[edges[::2]], days[edges[1::2] - 1]
    return int(firsts[np.argmax(lasts - firsts)])


def _explained_by_bend(x: Reals, y: Reals, bends: Reals) -> Reals:
    # The sum of squares that y = a + b·max(x - c, 0) explains, for every bend c; b may only be positive.
    rise = np.maximum(x - bends[:, None], 0.0)
    rise -= np.mean(rise, axis=1)[:, None]
    along = np.maximum(np.sum(rise * (y - np.mean(y)), axis=1), 0.0)
    explained: Reals = along * along / np.maximum(np.sum(rise * rise, axis=1), 1e-9)
    return explained


def agrees(planned: ForecastGold, read: ForecastGold, knowledge: Knowledge | None = None) -> list[Finding]:
    """What keeps gold from the premise and gold from the chart apart; empty when they agree. Without `knowledge`: the package's."""
    known = knowledge or _package_knowledge()
    findings: list[Finding] = []
    if planned.event_occurs != read.event_occurs:
        findings.append(Finding(CHECK, "event_occurs", str(read.event_occurs), f"the premise says {planned.event_occurs}"))
    if planned.event_occurs:
        findings += _compare_drivers(planned, read, known)
    findings += _compare_turns(planned, read, known)
    if planned.has_red_flag != read.has_red_flag:
        findings.append(Finding(CHECK, "has_red_flag", str(read.has_red_flag), f"the premise says {planned.has_red_flag}"))
    return findings


@lru_cache(maxsize=1)
def _package_knowledge() -> Knowledge:
    return load_knowledge()


def _compare_drivers(planned: ForecastGold, read: ForecastGold, knowledge: Knowledge) -> list[Finding]:
    findings: list[Finding] = []
    charted = ", ".join(read.drivers) or "none"
    for name in planned.drivers:
        if name not in read.drivers:
            findings.append(Finding(CHECK, "drivers", charted, f"{name} must stay possible by the charted facts up to T"))
        elif evidence_stream(knowledge.drivers[name], knowledge) is not None and read.drivers != (name,):
            findings.append(Finding(CHECK, "drivers", charted, f"the evidence of {name} must be charted and the only abnormal one"))
    return findings


def _compare_turns(planned: ForecastGold, read: ForecastGold, knowledge: Knowledge) -> list[Finding]:
    findings: list[Finding] = []
    for point in planned.turning_points:
        key = "gold_turn_tolerance_days" if point.kind == "real" else "gold_fault_tolerance_days"
        tolerance = int(knowledge.parameter(key))
        days = [other.day for other in read.turning_points if (other.kind, other.cause) == (point.kind, point.cause)]
        if not any(abs(day - point.day) <= tolerance for day in days):
            found = f"day {', '.join(map(str, days))}" if days else "none charted"
            findings.append(Finding(CHECK, f"turning point {point.cause}", found, f"day {point.day}, give or take {tolerance} days"))
    return findings
