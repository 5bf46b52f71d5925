"""Decisions on the latest level of one analyte: magnesium, potassium, a referral and a dose by eGFR.

Scenarios stand just below, at and just above every limit, at the age limit and past it, without a result, in another unit, with two
results of one minute, with an older one, with one withdrawn, and with another patient's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from clinworld.core.rng import Series
from clinworld.core.text import Language
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.store.chart import Person, make_id
from clinworld.packs.emr_write.store.protocol import SeedRow
from clinworld.packs.emr_write.tasks.resources import expect_medication, expect_service, instant, load_orders, next_morning, result_row
from clinworld.packs.emr_write.tasks.tables import find_band, load_bands, load_conversions, load_limits
from clinworld.packs.emr_write.tasks.task import say

_ONE_MINUTE = ("last_issued_acts", "last_issued_rests")
_SCENARIOS = ("age_at_limit", "age_past_limit", "missing", *_ONE_MINUTE, "older_acts", "withdrawn", "other_patient")

Wanted = tuple[ExpectedRecord, ...] | str  # what is to be ordered, or why nothing is
Slots = Mapping[str, str]  # paths of a record that the prompt leaves open → what it says there


class Drawn(NamedTuple):
    """The chart rows of a decision, what is wanted, and the records as a form with open slots."""

    rows: list[SeedRow]
    wanted: Wanted
    form: list[tuple[ExpectedRecord, Slots]]


@dataclass(frozen=True, slots=True)
class Case:
    """What a decision is drawn for."""

    kind: str
    scenario: str
    case_id: str
    series: Series
    person: Person
    other: Person
    language: Language


class LabKind(NamedTuple):
    """A decision on the latest result of one analyte: its unit, its limits by rising level, and what a level asks for."""

    analyte: str
    unit: str
    limits: tuple[Decimal, ...]
    decide: Callable[[Case, Decimal], Wanted]


def _decide_magnesium(case: Case, value: Decimal) -> Wanted:
    band = find_band("magnesium", value)
    if band.dose is None:
        return band.reason
    repeat = {"duration": band.hours, "durationUnit": "h"}
    dose = {"value": band.dose, "unit": band.dose_unit}
    return (expect_medication(case.person, load_orders()["magnesium_sulfate"], dose, case.language, repeat=repeat),)


def _decide_potassium(case: Case, value: Decimal) -> Wanted:
    limits = load_limits()
    if value >= limits["potassium_low"]:
        return "within_range"
    amount = (limits["potassium_low"] - value) / limits["potassium_step"] * limits["potassium_per_step"]
    dose = {"value": amount.normalize() + 0, "unit": "meq"}
    order = expect_medication(case.person, load_orders()["potassium_chloride"], dose, case.language)
    at = next_morning(case.language, int(limits["potassium_follow_up"]))
    return (order, expect_service(case.person, load_orders()["potassium"], case.language, at=at))


def _decide_referral(case: Case, value: Decimal) -> Wanted:
    if value >= load_limits()["referral_egfr"]:
        return "criterion_not_met"
    note = say("referral_note", case.language)
    return (expect_service(case.person, load_orders()["nephrology"], case.language, note=note),)


def _decide_renal_dose(case: Case, value: Decimal) -> Wanted:
    band = find_band("renal_dose", value)
    if band.dose is None:
        return band.reason
    dose = {"value": band.dose, "unit": band.dose_unit}
    repeat = {"frequency": int(load_limits()["renal_dose_times"]), "period": 1, "periodUnit": "d"}
    return (expect_medication(case.person, load_orders()["metformin"], dose, case.language, repeat=repeat),)


def lab_kinds() -> Mapping[str, LabKind]:
    """Decisions on a laboratory level, by kind."""
    limits = load_limits()

    def edges(name: str) -> tuple[Decimal, ...]:
        return tuple(band.low for band in load_bands(name) if band.low is not None)

    egfr = load_bands("renal_dose")[0].unit
    return {
        "magnesium": LabKind("magnesium", load_bands("magnesium")[0].unit, edges("magnesium"), _decide_magnesium),
        "potassium": LabKind("potassium", "mmol/L", (limits["potassium_low"],), _decide_potassium),
        "referral": LabKind("egfr", egfr, (limits["referral_egfr"],), _decide_referral),
        "renal_dose": LabKind("egfr", egfr, edges("renal_dose"), _decide_renal_dose),
    }


def list_lab_scenarios(kind: str) -> tuple[str, ...]:
    """Scenarios of one kind of laboratory decision."""
    lab = lab_kinds()[kind]
    edges = tuple(f"{side}_{limit}" for limit in lab.limits for side in ("below", "at", "above"))
    units = ("other_unit_below", "other_unit_above") if lab.analyte in load_conversions() else ()
    return edges + (("far_below",) if kind == "potassium" else ()) + units + _SCENARIOS


def draw_lab(case: Case, lab: LabKind) -> Drawn:
    """The chart of one scenario, and what its policy asks for."""
    limits = load_limits()
    printed, recent, fresh = limits[f"{case.kind}_printed"], int(limits[f"{case.kind}_recent"]), int(limits["fresh_age"])
    # Where both sides of a limit order something, nothing rests; the two then differ in what is ordered.
    acting, resting = lab.limits[-1] - printed, lab.limits[-1] + printed
    template = lab.decide(case, acting)
    assert not isinstance(template, str), "a level under the last limit asks for something"
    result = _Results(case, lab)
    value, age = acting, fresh
    match case.scenario:
        case "missing":
            return Drawn(result.rows, "no_recent_result", _slots(template, case))
        case "age_past_limit":
            result.add(case.person, acting, recent + 1)
            return Drawn(result.rows, "no_recent_result", _slots(template, case))
        case "withdrawn":
            result.add(case.person, acting, age, status="entered-in-error")
            return Drawn(result.rows, "no_recent_result", _slots(template, case))
        case "age_at_limit":
            age = recent
        case "other_patient":
            result.add(case.other, acting, age)
            value = resting
        case "older_acts":
            result.add(case.person, acting, 2 * age)
            value = resting
        case "last_issued_acts" | "last_issued_rests":
            last, first = (acting, resting) if case.scenario == "last_issued_acts" else (resting, acting)
            result.add(case.person, first, age, issued=age - 10)
            result.add(case.person, last, age, issued=age - 20)
            return Drawn(result.rows, lab.decide(case, last), _slots(template, case))
        case "other_unit_below" | "other_unit_above":
            return _draw_other_unit(case, lab, result, template)
        case "far_below":
            value = lab.limits[0] - printed * case.series.whole(1, int(limits["potassium_most_steps"]), index=2)
        case _:
            side, _, limit = case.scenario.partition("_")
            value = Decimal(limit) + {"below": -printed, "at": Decimal(0), "above": printed}[side]
    result.add(case.person, value, age)
    return Drawn(result.rows, lab.decide(case, value), _slots(template, case))


def _draw_other_unit(case: Case, lab: LabKind, result: "_Results", template: tuple[ExpectedRecord, ...]) -> Drawn:
    """A result printed in the other unit, next to the last limit on one side; judged by its exact conversion."""
    other = load_conversions()[lab.analyte]
    edge = (lab.limits[-1] / other.factor) // other.printed * other.printed
    if edge * other.factor >= lab.limits[-1]:
        edge -= other.printed
    value = edge if case.scenario == "other_unit_below" else edge + other.printed
    result.add(case.person, value, int(load_limits()["fresh_age"]), unit=other.unit)
    return Drawn(result.rows, lab.decide(case, value * other.factor), _slots(template, case))


class _Results:
    """The rows of a laboratory decision, with ids of their own."""

    def __init__(self, case: Case, lab: LabKind) -> None:
        self.case, self.lab, self.rows = case, lab, list[SeedRow]()

    def add(self, person: Person, value: Decimal, age: int, *, unit: str = "", status: str = "final", issued: int | None = None) -> None:
        """A result `age` minutes old; `issued` is how many minutes ago it was reported."""
        row_id = make_id(self.case.case_id, "result", len(self.rows))
        at, told = instant(self.case.language, minutes=-age), "" if issued is None else instant(self.case.language, minutes=-issued)
        what = load_orders()[self.lab.analyte]
        self.rows.append(result_row(person, row_id, what, value, unit or self.lab.unit, at, self.case.language, status=status, issued=told))


def _slots(records: Sequence[ExpectedRecord], case: Case) -> list[tuple[ExpectedRecord, Slots]]:
    """The records as a form: what the policy decides is left open."""
    by_policy = say("slot_policy", case.language)
    dose = "dosageInstruction[0].doseAndRate[0].doseQuantity.value"
    return [(record, {dose: by_policy, "dosageInstruction[0].timing.repeat.duration": by_policy}) for record in records]
