"""Decision tasks: the chart and a policy say what is to be ordered, and often that is nothing. Drawn at the edges of the policy.

Decisions on a laboratory level are in `laboratory.py`; here are the other three and what all share. Numbers are rows of the tables.
"""

from decimal import Decimal
from typing import Any

from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.packs.emr_write.checker.spec import ExpectedDecision, WriteSpec
from clinworld.packs.emr_write.store.chart import Person, allergy_row, draw_person, make_id, person_rows
from clinworld.packs.emr_write.tasks.laboratory import Case, Drawn, draw_lab, lab_kinds, list_lab_scenarios
from clinworld.packs.emr_write.tasks.resources import expect_medication, expect_service, instant, load_orders, order_row, result_row
from clinworld.packs.emr_write.tasks.tables import load_bands, load_conversions, load_limits
from clinworld.packs.emr_write.tasks.task import Task, list_fields, render_prompt, say

_RECENCY = ("just_recent", "at_limit", "past_limit", "missing", "old_and_recent", "recent_withdrawn", "other_patient")
_ALLERGY = ("none", "active_same", "active_class", "inactive", "refuted", "entered_in_error", "other_patient")
_DUPLICATE = ("none", "active_same", "active_other_test", "completed_same", "revoked_same", "not_to_be_done", "other_patient")

DECISIONS = ("magnesium", "potassium", "hba1c", "referral", "allergy", "duplicate", "renal_dose")


def list_scenarios(kind: str) -> tuple[str, ...]:
    """Every scenario of a decision. Raises UsageError for a kind there is not."""
    if kind not in DECISIONS:
        raise UsageError("kind", repr(kind), allowed_values(DECISIONS), nearest=nearest_match(kind, DECISIONS))
    fixed = {"hba1c": _RECENCY, "allergy": _ALLERGY, "duplicate": _DUPLICATE}
    if kind in fixed:
        return fixed[kind]
    return list_lab_scenarios(kind)


def draw_decision(kind: str, rng: Rng, case_id: str, language: Language, *, scenario: str | None = None) -> Task:
    """A decision task; the scenario is drawn where none is named."""
    known = list_scenarios(kind)
    series = rng.at(case_id, "decision", kind)
    chosen = scenario or series.pick(known)
    if chosen not in known:
        raise UsageError("scenario", repr(chosen), allowed_values(known, most=30), nearest=nearest_match(chosen, known))
    person = draw_person(rng, case_id, language)
    other = draw_person(rng, f"{case_id}-other", language)
    case = Case(kind, chosen, case_id, series, person, other, language)
    rows, wanted, given = _draw_case(case)
    people = sorted((person, other), key=lambda each: each.patient_id)
    # Ids are opaque, so in their order no row's place tells which one counts.
    setup = (*(row for each in people for row in person_rows(each)), *sorted(rows, key=lambda row: row.row_id))
    spec = WriteSpec((), ExpectedDecision((wanted,))) if isinstance(wanted, str) else WriteSpec(wanted)
    prompt = render_prompt(
        language,
        task=say(f"task_{kind}", language, patient=person.patient_id),
        fields="\n".join(list_fields(f"{record.collection} ({record.name})", record.fields, slots=slots) for record, slots in given),
        rows=[row for row in setup if row.collection != "patient_data"],
        policy=_say_policy(kind, language),
        now=instant(language),
        machine={"task": kind},
    )
    return Task(case_id, kind, chosen, language, instant(language), setup, spec, prompt, {"person": person, "other": other})


def _draw_case(case: Case) -> Drawn:
    match case.kind:
        case "hba1c":
            return _draw_recency(case)
        case "allergy":
            return _draw_allergy(case)
        case "duplicate":
            return _draw_duplicate(case)
    return draw_lab(case, lab_kinds()[case.kind])


def _draw_recency(case: Case) -> Drawn:
    what, limit, fresh = load_orders()["hba1c"], int(load_limits()["hba1c_recent"]), int(load_limits()["fresh_age"])
    ages: dict[str, list[tuple[Person, int, str]]] = {
        "just_recent": [(case.person, limit - 1, "final")],
        "at_limit": [(case.person, limit, "final")],
        "past_limit": [(case.person, limit + 1, "final")],
        "missing": [],
        "old_and_recent": [(case.person, 2 * limit, "final"), (case.person, fresh, "final")],
        "recent_withdrawn": [(case.person, 2 * limit, "final"), (case.person, fresh, "entered-in-error")],
        "other_patient": [(case.other, fresh, "final")],
    }
    value = _draw_hba1c(case)
    rows = [
        result_row(
            person, make_id(case.case_id, "result", i), what, value, "%", instant(case.language, minutes=-age), case.language, status=status
        )
        for i, (person, age, status) in enumerate(ages[case.scenario])
    ]
    order = (expect_service(case.person, what, case.language),)
    has_recent = case.scenario in ("just_recent", "at_limit", "old_and_recent")
    return Drawn(rows, "recent_result_exists" if has_recent else order, [(order[0], {})])


def _draw_hba1c(case: Case) -> Decimal:
    low, high = (int(10 * load_limits()[name]) for name in ("hba1c_lowest", "hba1c_highest"))
    return Decimal(case.series.whole(low, high, index=2)) / 10


def _draw_allergy(case: Case) -> Drawn:
    drug, group = load_orders()["amoxicillin"], load_orders()["penicillin"]
    person = case.other if case.scenario == "other_patient" else case.person
    name = (group if case.scenario == "active_class" else drug).names.say(case.language)
    clinical = "inactive" if case.scenario == "inactive" else "active"
    verification = {"refuted": "refuted", "entered_in_error": "entered-in-error"}.get(case.scenario, "confirmed")
    row = allergy_row(person, make_id(case.case_id, "allergy"), name, clinical=clinical, verification=verification)
    dose = {"value": load_limits()["amoxicillin_dose"], "unit": "mg"}
    repeat = {"frequency": int(load_limits()["amoxicillin_times"]), "period": 1, "periodUnit": "d"}
    order = (expect_medication(case.person, drug, dose, case.language, repeat=repeat),)
    is_allergic = case.scenario in ("active_same", "active_class")
    return Drawn([] if case.scenario == "none" else [row], "allergy_recorded" if is_allergic else order, [(order[0], {})])


def _draw_duplicate(case: Case) -> Drawn:
    what = load_orders()["lipids"]
    person = case.other if case.scenario == "other_patient" else case.person
    ordered = load_orders()["thyroid"] if case.scenario == "active_other_test" else what
    changed: dict[str, Any] = {"status": {"completed_same": "completed", "revoked_same": "revoked"}.get(case.scenario, "active")}
    if case.scenario == "not_to_be_done":
        changed["doNotPerform"] = True
    at = instant(case.language, minutes=-int(load_limits()["fresh_age"]))
    row = order_row(person, make_id(case.case_id, "order"), ordered, at, case.language, **changed)
    order = (expect_service(case.person, what, case.language),)
    return Drawn([] if case.scenario == "none" else [row], "already_ordered" if case.scenario == "active_same" else order, [(order[0], {})])


def _say_policy(kind: str, language: Language) -> str:
    """The policy in words, with its numbers from the tables."""
    values: dict[str, object] = {name: f"{value.normalize():f}" for name, value in load_limits().items()}
    values |= {f"{name}_hours": f"{(load_limits()[name] / 60).normalize():f}" for name in load_limits() if name.endswith("_recent")}
    values |= {f"{name}_days": f"{(load_limits()[name] / 1440).normalize():f}" for name in load_limits() if name.endswith("_recent")}
    lines = [say(f"policy_{kind}", language, **values)]
    for band in load_bands(kind):
        shape = f"band_{'from_to' if band.low and band.high else 'from' if band.low else 'to'}"
        level = say(shape, language, low=band.low, high=band.high, unit=band.unit)
        if band.dose is None:
            act = say("band_nothing", language, reason=band.reason)
        else:
            act = say(f"act_{kind}", language, dose=band.dose, unit=band.dose_unit, hours=band.hours)
        lines.append("- " + say("band_line", language, level=level, act=act))
    if kind in lab_kinds():
        lines.append(say("policy_results", language))
        if (other := load_conversions().get(lab_kinds()[kind].analyte)) is not None:
            lines.append(say("policy_units", language, unit=other.unit, factor=other.factor, own=lab_kinds()[kind].unit))
    return "\n".join(lines)
