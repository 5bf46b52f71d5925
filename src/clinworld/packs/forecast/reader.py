"""The honest reader: what can be said from a delivered text by comparing each series with its own past.

It sees the text of the prompt and nothing else. Faulty home readings are discounted by the clinic scale; a cause counts when its series
has moved by enough, and by more than noise. What it looks for stands in `controls_reader_rules.csv`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from clinworld.access.delivered import Delivered, DeliveredSeries
from clinworld.core.tables import load_csv
from clinworld.core.text import LANGUAGES
from clinworld.packs.forecast.answering import number, say
from clinworld.packs.forecast.appended import answer_appended

RULES = Path(__file__).with_name("controls_reader_rules.csv")
RED_FLAGS = Path(__file__).with_name("controls_red_flags.csv")
HOME_SCALE, CLINIC_SCALE = "weight", "weight_clinic"


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause and the series that shows it: `least` is a change in its unit, or a share of the level of before."""

    driver: str
    series: str
    sign: int
    least: float
    is_share: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A series that has moved: how many times the least that counts."""

    rule: Rule
    times: float


@dataclass(frozen=True, slots=True)
class Findings:
    """What the reader saw; `is_small_loss` is little weight lost by a day on which more is usual; `red_flags` are ids of notes."""

    moves: list[Move]
    is_rising: bool
    is_small_loss: bool
    is_scale_off: bool
    red_flags: tuple[str, ...]

    @property
    def needs_clinician(self) -> bool:
        """True when anything was seen that a clinician should know."""
        return bool(self.moves) or self.is_rising or self.is_small_loss or bool(self.red_flags)

    @property
    def action(self) -> tuple[str, str]:
        """The class chosen and the label of what to do."""
        if self.red_flags:
            return "A4", "prompt_care"
        return ("A3", "discuss") if self.needs_clinician else ("A0", "watch")

    @property
    def risk(self) -> tuple[str, float]:
        """The category and the risk said."""
        if self.moves:
            return "high", number("risk_with_evidence")
        if self.is_rising:
            return "elevated", number("risk_weight_only")
        return "low", number("risk_small_loss" if self.is_small_loss else "risk_quiet")

    @property
    def drivers(self) -> list[str]:
        """The two causes named."""
        first = [move.rule.driver for move in self.moves[:1]] or ["unknown_or_multifactorial"]
        further = ["biological_low_response"] if self.is_small_loss else ["unknown_or_multifactorial", "inadequate_treatment_duration"]
        return list(dict.fromkeys([*first, *further]))[:2]


def read_forecast(delivered: Delivered) -> dict[str, Any]:
    """A whole answer, read from a delivered text, with a reply to each appended question."""
    seen = read_findings(delivered)
    language, needs = delivered.language, seen.needs_clinician
    cited = [cite_last(delivered, move.rule.series) for move in seen.moves[:2]]
    cited += [cite_last(delivered, name) for name in (CLINIC_SCALE, HOME_SCALE) if name in delivered.series][:1]
    cited += seen.red_flags
    told = [say("seen_moved", language, name=move.rule.series) for move in seen.moves]
    told += [say("seen_weight", language)] if seen.is_rising else []
    told += [say("seen_red_flag", language)] if seen.red_flags else []
    (category, risk), (chosen, to_do) = seen.risk, seen.action
    answer: dict[str, Any] = {
        "forecast": {
            "risk": risk,
            "risk_category": category,
            "confidence": number("confidence_usual"),
            "key_predictive_evidence": told or [say("seen_quiet", language)],
        },
        "drivers": [
            {"rank": rank, "driver": name, "causal_status": "plausible_contributor", "evidence_for": cited[:1]}
            for rank, name in enumerate(seen.drivers, start=1)
        ],
        "action": {
            "selected_action_class": chosen,
            "specific_action": say(to_do, language),
            "what_not_to_do": [say("avoid_haste", language), say("avoid_blame", language)],
            "clinician_review_required": needs,
            "followup_interval": say("next_month", language),
        },
        "data_quality": {
            "data_sufficiency": "sufficient",
            "signal_quality": {HOME_SCALE: "unreliable"} if seen.is_scale_off else {},
            "note": say("note_scale" if seen.is_scale_off else "note_plain", language),
        },
        "cited_evidence": cited,
        "management_plan": say("plan_discuss" if needs else "plan_watch", language),
    }
    return answer_appended(answer, delivered)


@lru_cache(maxsize=64)  # several controls read the same text
def read_findings(delivered: Delivered) -> Findings:
    """What a delivered text shows by comparing each series with its own past."""
    is_small = lost_share(delivered) < number("small_loss_share") and delivered.last_day >= number("small_loss_after_days")
    return Findings(find_moves(delivered), has_risen(delivered), is_small, scales_disagree(delivered), find_red_flags(delivered))


def find_red_flags(delivered: Delivered) -> tuple[str, ...]:
    """Ids of the notes that tell of a complaint which needs prompt care, in the order they stand in."""
    told = {note.note_id: f"{note.text} {note.context or ''}".casefold() for note in delivered.notes}
    return tuple(note_id for note_id, text in told.items() if any(word in text for word in load_red_flags()))


@lru_cache
def load_red_flags() -> tuple[str, ...]:
    """The reader's words for a red flag, case folded; in both languages, because an author's words are never translated."""
    return tuple(row[each].casefold() for row in load_csv(RED_FLAGS, ("id", *LANGUAGES)) for each in LANGUAGES)


def find_moves(delivered: Delivered) -> list[Move]:
    """The series that have moved towards a cause, the furthest first."""
    moves: list[Move] = []
    for rule in load_rules():
        series = delivered.series.get(rule.series)
        times = times_moved(series, rule, delivered.last_day) if series else None
        if times is not None and times >= 1:
            moves.append(Move(rule, times))
    return sorted(moves, key=lambda move: -move.times)


def times_moved(series: DeliveredSeries, rule: Rule, last_day: int) -> float | None:
    """How far the latest readings lie from those of before, as multiples of what counts; None with too few readings.

    What counts is the rule's least change and, where there are readings enough to tell, more than noise: the spread of before, in
    standard errors. Of few readings the first third are before, of many those that are weeks old.
    """
    if len(series.days) < number("least_readings"):
        return None
    values = [log(max(value, 1.0)) if rule.is_share else value for value in series.values]
    n_late = max(1, sum(day > last_day - number("late_days") for day in series.days))
    n_old = sum(day <= min(last_day - number("before_days"), number("first_days")) for day in series.days)
    is_sparse = len(values) < number("many_readings")
    before = values[: max(1, len(values) // 3)] if is_sparse else values[:n_old]
    late = values[-min(n_late, len(values) - len(before)) :]
    least = -log(1 - rule.least) if rule.is_share else rule.least
    if not is_sparse and len(before) > 2:
        least = max(least, number("least_z") * stdev(before) * sqrt(1 / len(late) + 1 / len(before)))
    return rule.sign * (fmean(late) - fmean(before)) / least if before else None


def has_risen(delivered: Delivered) -> bool:
    """Whether recent weight lies well above its low point: at home with the clinic scale not against it, else in the clinic alone."""
    clinic, home = delivered.series.get(CLINIC_SCALE), delivered.series.get(HOME_SCALE)
    in_clinic = clinic is not None and lies_above(clinic.values, 1.0)
    if not home or len(home.values) < number("many_readings") or scales_disagree(delivered) or has_jumped(home, delivered.last_day):
        return in_clinic
    return (in_clinic or clinic is None) and lies_above(recent_levels(home), number("home_margin"))


def lies_above(levels: Sequence[float], margin: float) -> bool:
    """Whether the last level lies above the lowest by `margin` times what counts as a rise."""
    low = min(levels)
    return levels[-1] >= low + margin * max(number("regain_share") * (levels[0] - low), number("regain_kg"))


def recent_levels(series: DeliveredSeries) -> list[float]:
    """The median of the latest weeks, seen from each reading."""
    starts = [bisect_right(series.days, day - number("level_days")) for day in series.days]
    return [median(series.values[start : i + 1]) for i, start in enumerate(starts)]


def has_jumped(series: DeliveredSeries, last_day: int) -> bool:
    """Whether the weight stepped up from one week to the next faster than a body can, within the weeks that are being read."""
    recent = bisect_right(series.days, last_day - number("level_days"))
    half = 3
    steps = (
        median(series.values[i : i + half]) - median(series.values[i - half : i])
        for i in range(max(half, recent), len(series.values) - half + 1)
    )
    return any(step > number("jump_kg") for step in steps)


def lost_share(delivered: Delivered) -> float:
    """Share of the first weight lost by the latest one, on the clinic scale where there is one; 1 without a weight."""
    series = delivered.series.get(CLINIC_SCALE) or delivered.series.get(HOME_SCALE)
    return 1 - series.values[-1] / series.values[0] if series else 1.0


def scales_disagree(delivered: Delivered) -> bool:
    """Whether the home weight lay far from the clinic weight around the latest clinic weighing."""
    clinic, home = delivered.series.get(CLINIC_SCALE), delivered.series.get(HOME_SCALE)
    if not clinic or not home:
        return False
    near = [value for at, value in zip(home.days, home.values, strict=True) if abs(at - clinic.days[-1]) <= number("near_days")]
    return bool(near) and abs(median(near) - clinic.values[-1]) > number("scale_gap_kg")


def cite_last(delivered: Delivered, name: str) -> str:
    """The latest reading of a series, in the form a prompt asks for."""
    return f"{name}@{delivered.series[name].days[-1]}"


@lru_cache
def load_rules() -> tuple[Rule, ...]:
    """The reader's rules, in table order."""
    columns = ("driver", "series", "moves", "least", "is_share", "source", "status")
    return tuple(
        Rule(row["driver"], row["series"], 1 if row["moves"] == "up" else -1, float(row["least"]), row["is_share"] == "1")
        for row in load_csv(RULES, columns)
    )
