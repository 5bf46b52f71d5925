"""Controls that read gold: each scored dimension at its top and at its bottom. Offline only; no agent is ever run beside one.

Each is a function of the item, its gold, the day shown and the last day of the episode.
"""

from collections.abc import Callable, Mapping
from typing import Any

from clinworld.packs.forecast.answering import number, say
from clinworld.packs.forecast.controls import BOTH, ControlSpec, Fields
from clinworld.schema.gold import GoldRow, ProbeGold
from clinworld.schema.item import Item
from clinworld.schema.record import Record

OracleFunction = Callable[[Item, GoldRow, int, int], Fields]

_OPEN, _OTHER = "unknown_or_multifactorial", "inadequate_treatment_duration"
_CLOSED_WORDS: Mapping[str, tuple[str, ...]] = {
    "no_op": ("no_data_in_window", "present", "unreliable"),
    "false_premise": ("consistent", "contradicts_record"),
    "trend": ("rising", "falling", "flat"),
}


def oracle(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """Everything right. In rounds it turns on the first round that shows the turn, so that it is early and never fooled."""
    says_event = gold.gold.event_occurs and (day == last_day or _has_turned(gold, day))
    return _answer(item, gold, day, says_event=says_event, is_right=True)


def anti_oracle(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """Everything wrong that can be wrong with an approved class of action."""
    return _answer(item, gold, day, says_event=not gold.gold.event_occurs, is_right=False)


def oracle_probe_right(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """The oracle, with the appended questions right."""
    return _with_probes(oracle(item, gold, day, last_day), gold, is_right=True)


def oracle_probe_wrong(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """The oracle, with each appended question answered by another word of its closed set."""
    return _with_probes(oracle(item, gold, day, last_day), gold, is_right=False)


def oracle_review_right(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """The oracle, asking for a clinician exactly where action is warranted."""
    return _with_review(oracle(item, gold, day, last_day), gold.gold.is_action_warranted, has_red_flag=gold.gold.has_red_flag)


def oracle_review_wrong(item: Item, gold: GoldRow, day: int, last_day: int) -> Fields:
    """The oracle, asking for a clinician exactly where action is not warranted."""
    return _with_review(oracle(item, gold, day, last_day), not gold.gold.is_action_warranted)


def _has_turned(gold: GoldRow, day: int) -> bool:
    turns = [point.day for point in gold.gold.turning_points if point.kind == "real"]
    return not turns or min(turns) <= day


def _answer(item: Item, gold: GoldRow, day: int, *, says_event: bool, is_right: bool) -> Fields:
    language, warranted = item.language, gold.gold.is_action_warranted
    named = _drivers(gold, is_right)
    cited = _newest(item.record.until(day))
    acts = warranted if is_right else not warranted
    plan = say("plan_discuss" if acts else "plan_watch", language)
    answer: Fields = {
        "forecast": {
            "risk": 1.0 if says_event else 0.0,
            "risk_category": "high" if says_event else "low",
            "confidence": number("confidence_usual"),
            "key_predictive_evidence": [],
        },
        "drivers": [
            {"rank": rank, "driver": name, "causal_status": "plausible_contributor", "evidence_for": cited if is_right else []}
            for rank, name in enumerate(named, start=1)
        ],
        "action": {
            "selected_action_class": "A4" if gold.gold.has_red_flag and is_right else ("A3" if acts else "A0"),
            "specific_action": say("discuss" if acts else "watch", language),
            "what_not_to_do": [say("avoid_haste", language), say("avoid_blame", language)] if is_right else [],
            "clinician_review_required": acts,
            "followup_interval": say("next_month", language),
        },
        "data_quality": {
            "data_sufficiency": "sufficient",
            "signal_quality": _faulty(gold, day) if is_right else {},
            "note": say("note_plain", language),
        },
        "cited_evidence": cited if is_right else [],
        "management_plan": plan,
    }
    return _with_probes(answer, gold, is_right=is_right)


def _faulty(gold: GoldRow, day: int) -> dict[str, str]:
    return {fault.series: "unreliable" for fault in gold.faults if fault.days and min(fault.days) <= day}


def _drivers(gold: GoldRow, is_right: bool) -> list[str]:
    true = list(gold.gold.drivers)
    if is_right:
        return [*true, *(each for each in (_OPEN, _OTHER) if each not in true)][: max(2, len(true))]
    return [each for each in (_OPEN, _OTHER, "sleep_decline", "acute_illness") if each not in true][:2]


def _newest(shown: Record) -> list[str]:
    if not shown.series:
        return []
    series = max(shown.series, key=lambda each: (int(each.days[-1]), each.name))
    return [f"{series.name}@{int(series.days[-1])}"]


def _with_probes(answer: Fields, gold: GoldRow, *, is_right: bool) -> Fields:
    quality = answer["data_quality"]
    for probe in gold.probes:
        reply = probe.expected[0] if is_right else _other(probe)
        if probe.kind == "no_op":
            quality["signal_quality"][probe.about] = reply
        elif probe.kind == "false_premise":
            quality["premise_check"] = reply
        else:
            answer["quant_answer"] = int(reply) if reply.isdigit() else reply
    return answer


def _other(probe: ProbeGold) -> str:
    if probe.expected[0].isdigit():
        return str(1 + max(int(day) for day in probe.expected))
    words = _CLOSED_WORDS["trend" if probe.kind == "quant" else probe.kind]
    return next(word for word in words if word not in probe.expected)


def _with_review(answer: Fields, is_asked: bool, *, has_red_flag: bool = False) -> Fields:
    chosen: dict[str, Any] = answer["action"]
    # An urgent or closing class would answer for the flag, so without a red flag the class is the same either way.
    chosen |= {"selected_action_class": "A4" if has_red_flag else "A3", "clinician_review_required": is_asked}
    return answer


ORACLES: Mapping[str, ControlSpec] = {
    "oracle": ControlSpec(oracle, BOTH, True, "upper bound: every dimension at its top"),
    "anti_oracle": ControlSpec(
        anti_oracle, BOTH, True, "lower bound: every dimension at its bottom but action safety, whose bottom is an unknown class"
    ),
    "oracle_probe_right": ControlSpec(oracle_probe_right, BOTH, True, "appended questions at their top"),
    "oracle_probe_wrong": ControlSpec(oracle_probe_wrong, BOTH, True, "appended questions at their bottom"),
    "oracle_review_right": ControlSpec(oracle_review_right, BOTH, True, "review flag at its top"),
    "oracle_review_wrong": ControlSpec(oracle_review_wrong, BOTH, True, "review flag at its bottom"),
}
