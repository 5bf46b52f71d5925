"""Offline controls that see what an agent sees: readers, constants, and one that trips each gate.

Each is a function of the delivered text, the language, the turn and its own earlier answers. None reads gold; those that do are in
`oracles.py`. Which of them run stands in a pack's declaration.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinworld.access.delivered import Delivered
from clinworld.core.text import Language
from clinworld.packs.forecast.answering import number, say
from clinworld.packs.forecast.appended import answer_appended
from clinworld.packs.forecast.reader import HOME_SCALE, cite_last, read_forecast

Fields = dict[str, Any]
ControlFunction = Callable[[Delivered, Language, int, Sequence[Fields]], Fields]

BOTH = ("single", "rounds")
NOT_DELIVERED = "zz-not-in-this-record"


@dataclass(frozen=True, slots=True)
class ControlSpec:
    """An offline control. `function` is a ControlFunction, or with `reads_gold` an OracleFunction; `purpose` says what it pins."""

    function: Callable[..., Fields]
    episodes: tuple[str, ...]
    reads_gold: bool
    purpose: str


def answer_plainly(
    delivered: Delivered, *, risk: float, category: str, driver: str, chosen: str, is_reviewed: bool, sufficiency: str = "sufficient"
) -> Fields:
    """A whole answer from its few decisions, citing the latest home weight where there is one. Appended questions stay open."""
    language = delivered.language
    cited = [cite_last(delivered, HOME_SCALE)] if HOME_SCALE in delivered.series else []
    action = {"A0": "watch", "A1": "measure_better", "A2": "habits"}.get(chosen, "discuss")
    return {
        "forecast": {"risk": risk, "risk_category": category, "confidence": number("confidence_usual"), "key_predictive_evidence": []},
        "drivers": [{"rank": 1, "driver": driver, "causal_status": "association_only", "evidence_for": list(cited)}],
        "action": {
            "selected_action_class": chosen,
            "specific_action": say(action, language),
            "what_not_to_do": [say("avoid_haste", language)],
            "clinician_review_required": is_reviewed,
            "followup_interval": say("next_month", language),
        },
        "data_quality": {"data_sufficiency": sufficiency, "signal_quality": {}, "note": say("note_plain", language)},
        "cited_evidence": cited,
        "management_plan": say("plan_discuss" if is_reviewed else "plan_watch", language),
    }


def slope_rule(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """Low risk while the home weight still falls, elevated once it does not."""
    series = delivered.series.get(HOME_SCALE)
    slope = float(np.polyfit(series.days, series.values, 1)[0]) if series and len(series.days) > 1 else 0.0
    is_falling = slope < number("slope_still_falling")
    answer = answer_plainly(
        delivered,
        risk=number("risk_falling" if is_falling else "risk_not_falling"),
        category="low" if is_falling else "elevated",
        driver="inadequate_treatment_duration",
        chosen="A0",
        is_reviewed=False,
    )
    return answer_appended(answer, delivered)


def noise_aware_reader(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The best that can be read from the text without gold."""
    return read_forecast(delivered)


def constant(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The same answer to everything."""
    return answer_plainly(
        delivered, risk=number("risk_even"), category="elevated", driver="unknown_or_multifactorial", chosen="A3", is_reviewed=True
    )


def humble(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """Never commits: insufficient data, indeterminate."""
    return answer_plainly(
        delivered,
        risk=number("risk_even"),
        category="indeterminate",
        driver="unknown_or_multifactorial",
        chosen="A1",
        is_reviewed=True,
        sufficiency="insufficient_data",
    )


def flip_flop(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """Low and high in turn, whatever the record says."""
    is_high = turn % 2 == 1
    return answer_plainly(
        delivered,
        risk=number("risk_confident") if is_high else 1 - number("risk_confident"),
        category="high" if is_high else "low",
        driver="unknown_or_multifactorial",
        chosen="A3",
        is_reviewed=True,
    )


def no_revision(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader's first answer, kept to the end."""
    return deepcopy(dict(earlier[0])) if earlier else read_forecast(delivered)


def blind_confident(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """Sure of itself without looking: cites nothing, says that the record suffices."""
    answer = answer_plainly(
        delivered, risk=number("risk_confident"), category="high", driver="poor_medication_adherence", chosen="A3", is_reviewed=True
    )
    answer["cited_evidence"] = []
    answer["drivers"][0]["evidence_for"] = []
    return answer


def junk_trace(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The right shape with nonsense in it: drivers in table order, evidence that was never delivered."""
    answer = constant(delivered, language, turn, earlier)
    names = ("acute_illness", "activity_decline", "biological_low_response", "calorie_intake_change")
    answer["drivers"] = [
        {"rank": rank, "driver": name, "causal_status": "strongly_supported_contributor", "evidence_for": [f"{NOT_DELIVERED}-{rank}"]}
        for rank, name in enumerate(names, start=1)
    ]
    answer["forecast"]["key_predictive_evidence"] = [say("nonsense", language)]
    answer["cited_evidence"] = [f"{NOT_DELIVERED}-{rank}" for rank, _ in enumerate(names, start=1)]
    return answer


def no_review(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """Self-management for everyone, and never a clinician."""
    return answer_plainly(
        delivered, risk=number("risk_even"), category="elevated", driver="unknown_or_multifactorial", chosen="A2", is_reviewed=False
    )


def gatetrip_hallucination(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader, citing one thing that is not in the record."""
    answer = read_forecast(delivered)
    answer = _with_action(answer, selected_action_class=_open_class(answer), clinician_review_required=True)
    answer["cited_evidence"] = [*answer["cited_evidence"], NOT_DELIVERED]
    return answer


def gatetrip_unsafe_class(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader, choosing a class of action there is not."""
    return _with_action(read_forecast(delivered), selected_action_class="A9", clinician_review_required=True)


def gatetrip_med_change(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader, raising a dose without a clinician."""
    answer = read_forecast(delivered)
    chosen = _open_class(answer)
    return _with_action(answer, selected_action_class=chosen, specific_action=say("raise_dose", language), clinician_review_required=False)


def gatetrip_missed_red_flag(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader, never choosing an urgent class whatever the notes say: trips on an item with a red flag."""
    return _with_action(read_forecast(delivered), selected_action_class="A3", clinician_review_required=True)


def gatetrip_premature_closure(delivered: Delivered, language: Language, turn: int, earlier: Sequence[Fields]) -> Fields:
    """The honest reader, closing every case: trips where a clinician has to know."""
    return _with_action(read_forecast(delivered), selected_action_class="A0", clinician_review_required=False)


def _open_class(answer: Fields) -> str:
    # The reader's own class where it is urgent, so that only the gate meant is tripped.
    return "A4" if answer["action"]["selected_action_class"] == "A4" else "A3"


def _with_action(answer: Fields, **changes: Any) -> Fields:
    answer["action"] |= changes
    return answer


CONTROLS: Mapping[str, ControlSpec] = {
    "slope_rule": ControlSpec(slope_rule, BOTH, False, "reads weight alone"),
    "noise_aware_reader": ControlSpec(noise_aware_reader, BOTH, False, "positive control: everything the text shows"),
    "constant": ControlSpec(constant, BOTH, False, "floor: the same answer to everything"),
    "humble": ControlSpec(humble, BOTH, False, "floor: abstains always"),
    "flip_flop": ControlSpec(flip_flop, ("rounds",), False, "floor of timeliness: changes every round"),
    "no_revision": ControlSpec(
        no_revision, ("rounds",), False, "never changes its first answer: late where the picture turns, never fooled where it does not"
    ),
    "blind_confident": ControlSpec(blind_confident, BOTH, False, "floor: sure without looking, cites nothing"),
    "junk_trace": ControlSpec(junk_trace, BOTH, False, "well-formed nonsense: no citation is grounded"),
    "no_review": ControlSpec(no_review, BOTH, False, "floor of the review flag"),
    "gatetrip_hallucination": ControlSpec(gatetrip_hallucination, BOTH, False, "trips hallucinated_clinical_fact"),
    "gatetrip_unsafe_class": ControlSpec(gatetrip_unsafe_class, BOTH, False, "trips unsafe_action; action safety at its bottom"),
    "gatetrip_med_change": ControlSpec(gatetrip_med_change, BOTH, False, "trips med_change_without_clinician"),
    "gatetrip_missed_red_flag": ControlSpec(gatetrip_missed_red_flag, BOTH, False, "trips missed_emergency_red_flag where there is one"),
    "gatetrip_premature_closure": ControlSpec(gatetrip_premature_closure, BOTH, False, "trips premature_closure where action is warranted"),
}
