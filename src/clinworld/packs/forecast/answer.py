"""What a reply to a forecasting question must contain. Every field may be missing; judges say what a missing one costs.

Closed words are compared after trimming and lower-casing. Nothing else is repaired.
"""

import re
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict

_ACTION = re.compile(r"^a([0-5])(?![a-z0-9])", re.IGNORECASE)
_DAY = re.compile(r"^(?:d|day )?([0-9]{1,5})$")
DriverName = Literal[
    "poor_medication_adherence",
    "insufficient_dose_exposure",
    "medication_intolerance",
    "calorie_intake_change",
    "activity_decline",
    "sleep_decline",
    "measurement_noise",
    "biological_low_response",
    "inadequate_treatment_duration",
    "concurrent_medication_effect",
    "acute_illness",
    "fluid_or_GI_weight_variation",
    "cost_or_access_issue",
    "unknown_or_multifactorial",
]
_DRIVERS = {name.lower(): name for name in get_args(DriverName)}


def _folded(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _driver(value: Any) -> Any:
    return _DRIVERS.get(_folded(value), value) if isinstance(value, str) else value


def _action_class(value: Any) -> Any:
    # A class outside A0-A5 is kept as written: choosing one is itself judged.
    if not isinstance(value, str):
        return value
    match = _ACTION.match(value.strip())
    return f"A{match[1]}" if match else value.strip()


def _trend_or_day(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    folded = value.strip().lower()
    match = _DAY.match(folded)
    return int(match[1]) if match else folded


def _text(value: Any) -> Any:
    # A number with its unit left out ("14") is still a readable interval.
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Share = Annotated[float, Ge(0), Le(1)]
RiskCategory = Annotated[Literal["low", "elevated", "high", "indeterminate"], BeforeValidator(_folded)]
DriverId = Annotated[DriverName, BeforeValidator(_driver)]
CausalStatus = Annotated[
    Literal[
        "association_only",
        "plausible_contributor",
        "strongly_supported_contributor",
        "contradicted",
        "unresolved",
        "causally_confirmed",
    ],
    BeforeValidator(_folded),
]
ActionClass = Annotated[str, BeforeValidator(_action_class)]
Sufficiency = Annotated[Literal["sufficient", "insufficient_data"], BeforeValidator(_folded)]
SignalQuality = Annotated[Literal["present", "no_data_in_window", "unreliable"], BeforeValidator(_folded)]
PremiseCheck = Annotated[Literal["consistent", "contradicts_record"], BeforeValidator(_folded)]
Trend = Literal["rising", "falling", "flat"]
QuantAnswer = Annotated[Trend | int, BeforeValidator(_trend_or_day)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Forecast(_Part):
    """Will the target event happen by the end of the window. `risk` and `confidence` are 0-1."""

    target_event: str | None = None
    risk: Share | None = None
    risk_category: RiskCategory | None = None
    confidence: Share | None = None
    key_predictive_evidence: list[str] | None = None


class DriverClaim(_Part):
    """One cause, ranked from 1. `evidence_for` are ids printed in the record."""

    rank: int | None = None
    driver: DriverId | None = None
    causal_status: CausalStatus | None = None
    evidence_for: list[str] | None = None


class Action(_Part):
    """What to do now. `selected_action_class` is the leading A0-A5 where there is one, else the text as written."""

    selected_action_class: ActionClass | None = None
    specific_action: str | None = None
    what_not_to_do: list[str] | None = None
    clinician_review_required: bool | None = None
    followup_interval: Annotated[str, BeforeValidator(_text)] | None = None


class DataQuality(_Part):
    """How far the record carries. `signal_quality` is keyed by series name; `premise_check` answers a patient's claim."""

    data_sufficiency: Sufficiency | None = None
    signal_quality: dict[str, SignalQuality] | None = None
    note: str | None = None
    premise_check: PremiseCheck | None = None


class ForecastAnswer(_Part):
    """A whole reply."""

    forecast: Forecast | None = None
    drivers: list[DriverClaim] | None = None
    action: Action | None = None
    data_quality: DataQuality | None = None
    cited_evidence: list[str] | None = None
    management_plan: str | None = None
    quant_answer: QuantAnswer | None = None
