"""A value that calls for action is acted on before anybody asks why it changed, and no dangerous state is told to wait."""

from dataclasses import replace

import pytest
from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES

from clinworld.knowledge.rule_rows import TIERS, AllOf, AnyOf, Between, Comparison, FactValue, Not, NumberTest, Predicate, Protocol, Rule
from clinworld.knowledge.rule_search import find_facts
from clinworld.knowledge.rules import comparisons, first_rule

URGENT = TIERS[:2]
OTHER_FACTS = {  # further facts in which a value alarm reads the item
    "calcium": ("calcium_adjusted",),
    "creatinine": ("creatinine_times_baseline",),
    "alt": ("alt_times_upper",),
    "fasting_glucose": ("glucose_now",),
}
PAIRS = [
    (change.id, alarm.id)
    for change in PROTOCOLS.values()
    for alarm in PROTOCOLS.values()
    if (change.kind, alarm.kind) == ("lab_change", "value_alarm") and set(change.subject.items) & set(alarm.subject.items)
]


def same_glucose(predicate: Predicate) -> Predicate:
    """The predicate with the glucose of the moment read as the fasting glucose that the laboratory reports."""
    match predicate:
        case AllOf(parts):
            return AllOf(tuple(same_glucose(part) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(same_glucose(part) for part in parts))
        case Not(part):
            return Not(same_glucose(part))
        case _:
            return replace(predicate, fact="fasting_glucose") if predicate.fact == "glucose_now" else predicate


def read_as_change(change: Protocol, alarm: Protocol) -> list[tuple[str, str]]:
    """Urgent rules of an alarm page for which some patient's value is read as a change, each with the outcome it would get."""
    facts = [name for item in change.subject.items for name in (item, *OTHER_FACTS.get(item, ()))]
    found: list[tuple[str, str]] = []
    for rule in (rule for rule in alarm.rules if rule.then in URGENT):
        when = same_glucose(rule.when)
        values: tuple[Comparison, ...] = tuple(
            leaf for leaf in comparisons(when) if isinstance(leaf, NumberTest | Between) and leaf.fact in facts
        )
        first = change.rules[0]
        by_value = AnyOf(values) if len(values) > 1 else values[0] if values else None
        if by_value is not None and find_facts(AllOf((when, by_value, Not(first.when))), SHAPES) is not None:
            found.append((rule.id, first.then))
    return found


def test_every_analyte_with_both_pages_is_looked_at() -> None:
    assert {change.removesuffix("_change") for change, _ in PAIRS} == {
        *("calcium", "potassium", "sodium", "glucose", "creatinine", "haemoglobin", "liver_enzyme")
    }


@pytest.mark.parametrize(("change", "alarm"), PAIRS)
def test_value_at_or_beyond_an_alarm_never_ends_in_a_change_outcome(change: str, alarm: str) -> None:
    page = PROTOCOLS[change]
    assert page.rules[0].then == "repeat"
    assert PROTOCOLS[alarm].names.en in page.rules[0].what.en
    assert PROTOCOLS[alarm].names.zh in page.rules[0].what.zh
    assert read_as_change(page, PROTOCOLS[alarm]) == []
    assert read_as_change(replace(page, rules=page.rules[1:]), PROTOCOLS[alarm])  # the page before: read as a change


def test_general_page_acts_on_an_alarm_value_first() -> None:
    page = PROTOCOLS["lab_change_decision"]
    assert decide(page, is_alarm_value=True).id == "change_alarm_value"
    assert decide(page, is_alarm_value=False).id == "change_unexplained"


NORMAL: dict[str, FactValue] = {
    **{"home_sbp": 124.0, "home_dbp": 78.0, "pulse_bp_cuff": 76.0, "resp_rate_spot": 15.0, "spo2_spot": 98.0, "body_temp": 36.7},
    **{"potassium": 4.2, "sodium": 140.0, "calcium": 2.3, "calcium_adjusted": 2.3, "fasting_glucose": 5.4, "glucose_now": 6.2},
    **{"haemoglobin": 140.0, "platelets": 220.0, "neutrophils": 4.0, "inr": 1.0, "egfr": 90.0, "creatinine": 80.0, "ck": 90.0},
    **{"creatinine_times_baseline": 1.0, "creatinine_rise_4wk": 0.0, "beta_hydroxybutyrate": 0.1, "alt_times_upper": 0.6},
    **{
        "bilirubin_times_upper": 0.5,
        "ck_times_upper": 0.4,
        "age_years": 45.0,
        "symptom_days": 3.0,
        "change_size_pct": 30.0,
        "change_minus_bias_pct": 30.0,
    },
    **{"rcv_pct": 8.0, "separation_hours": 0.5, "fasting_hours": 12.0, "no_urine_hours": 2.0, "fluids_lost_hours": 0.0},
    **{"vomiting_hours": 0.0, "standing_sbp_drop": 5.0, "standing_dbp_drop": 2.0, "haemoglobin_fall": 0.0, "stools_per_day": 4.0},
    **{"echo_lvef": 60.0, "glucose_during_spell": 5.5, "nosebleed_minutes": 0.0, "nosebleed_count": 0.0, "weight_gain_3d": 0.0},
    **{"pain_at_rest_minutes": 0.0, "pain_free_hours": 100.0, "arm_sbp_difference": 3.0, "serum_osmolality": 290.0, "bmi": 27.0},
    **{"pain_hours": 1.0, "migraine_days_per_month": 1.0, "painkiller_days_per_month": 1.0, "low_readings_72h": 0.0, "news2_total": 0.0},
    **{"days_since_dose_change": 40.0, "triglycerides": 1.2, "total_protein": 70.0, "ecg_result": "none", "sex": "M"},
}
WELL = {"is_same_person", "is_same_unit", "is_same_specimen", "is_same_test", "is_well", "is_improving", "is_pain_controlled"}


def decide(page: Protocol, **known: FactValue) -> Rule:
    """The rule that takes a patient in whom nothing is wrong but what is known."""
    facts = dict(NORMAL)
    for fact in (leaf.fact for rule in page.rules for leaf in comparisons(rule.when)):
        if SHAPES[fact].kind == "flag":
            facts[fact] = fact in WELL
    found = first_rule(page, {**facts, **known})
    assert isinstance(found, Rule), (page.id, known, found)
    return found


def reads(page: str, *flags: str, **values: FactValue) -> tuple[str, dict[str, FactValue]]:
    return page, {**dict.fromkeys(flags, True), **values}


LOW = "glucose_alarm"
RISE: dict[str, FactValue] = {"change_direction": "up", "had_thiazide_start": True}
DECISIONS = [
    (reads("calcium_change", calcium_adjusted=3.5, calcium=3.5, **RISE), "calcium_alarm_value"),
    (reads("calcium_change", calcium_adjusted=None, calcium=3.5, **RISE), "calcium_alarm_value"),
    (reads("calcium_change", calcium_adjusted=2.75, calcium=2.75, **RISE), "calcium_thiazide"),
    (reads("calcium_alarm", calcium_adjusted=None, calcium=3.6), "calcium_emergency"),
    (reads("calcium_alarm", calcium_adjusted=2.4, calcium=3.0), None),
    (reads("potassium_change", "is_haemolysed", potassium=6.8), "potassium_alarm_value"),
    (reads("potassium_change", "is_haemolysed", potassium=5.6), "potassium_haemolysed"),
    (reads(LOW, "takes_insulin_or_su", glucose_now=3.8), "glucose_low_level_1_on_drug"),
    (reads(LOW, glucose_now=3.8), "glucose_low_level_1_no_drug"),
    (reads(LOW, glucose_now=3.9), None),
    (reads(LOW, "takes_insulin_or_su", "cannot_swallow", glucose_now=3.8), "glucose_low_cannot_swallow"),
    (reads(LOW, "takes_insulin_or_su", "is_drowsy", glucose_now=2.4), "glucose_low_cannot_swallow"),
    (reads(LOW, "takes_insulin_or_su", "has_confusion", glucose_now=3.5), "glucose_low_emergency"),
    (reads(LOW, "takes_insulin_or_su", glucose_now=2.9), "glucose_low_level_2"),
    (reads(LOW, glucose_now=16.7), "glucose_critical_high"),
]


@pytest.mark.parametrize(("case", "expected"), DECISIONS, ids=[f"{row[0][0]}-{row[1]}-{number}" for number, row in enumerate(DECISIONS)])
def test_alarm_value_gets_its_own_rule_and_a_lesser_one_does_not(case: tuple[str, dict[str, FactValue]], expected: str | None) -> None:
    page, known = case
    if expected is None:
        with pytest.raises(AssertionError, match="None"):
            decide(PROTOCOLS[page], **known)
    else:
        assert decide(PROTOCOLS[page], **known).id == expected


def test_somebody_drowsy_with_a_low_glucose_gets_nothing_by_mouth_and_everybody_awake_gets_sugar() -> None:
    low = [rule for rule in PROTOCOLS["glucose_alarm"].rules if "low" in rule.id]
    assert len(low) == 5
    mouth = {rule.id: ("by mouth" in rule.what.en, "15" in rule.what.en, "15" in rule.what.zh) for rule in low}
    assert mouth.pop("glucose_low_cannot_swallow") == (True, False, False)
    assert set(mouth.values()) == {(False, True, True)}


# states that an emergency physician would not leave to a planned visit: the page, what is wrong, the least urgent tier that is safe
NOW, DAY = TIERS[0], TIERS[1]
STATES = [
    (reads("sodium_alarm", "has_confusion", sodium=127.0), NOW),
    (reads("sodium_alarm", sodium=152.0), DAY),
    (reads("potassium_alarm", "takes_digoxin", potassium=3.3), DAY),
    (reads("haemoglobin_alarm", "has_melaena", haemoglobin=92.0), NOW),
    (reads("haemoglobin_alarm", "has_heart_disease", haemoglobin=75.0), DAY),
    (reads("inr_alarm", "takes_anticoagulant", "had_head_injury", inr=2.4), NOW),
    (reads("inr_alarm", "has_mechanical_valve", inr=1.4), DAY),
    (reads("ketone_alarm", "takes_sglt2i", "has_vomiting", beta_hydroxybutyrate=1.0), NOW),
    (reads("kidney_alarm", "has_aki", "is_drowsy", creatinine_times_baseline=2.0), NOW),
    (reads("kidney_alarm", egfr=12.0), DAY),
    (reads("neurological_alarm", "has_sudden_balance_loss"), NOW),
    (reads("neutrophil_alarm", "has_sore_throat", neutrophils=0.8), NOW),
    (reads("blood_pressure_alarm", "had_seizure", home_sbp=190.0), NOW),
    (reads("blood_pressure_alarm", "is_pregnant", "is_bp_lower_on_repeat", home_sbp=182.0), NOW),
    (reads("pregnancy_blood_pressure_alarm", "is_pregnant", "has_vomiting", home_sbp=144.0), NOW),
    (reads("vital_signs_alarm", "is_hard_to_wake"), NOW),
    (reads("vital_signs_alarm", body_temp=35.0), DAY),
    (reads("liver_alarm", "has_jaundice", alt_times_upper=4.0), DAY),
    (reads("liver_alarm", "had_overdose_or_self_harm", alt_times_upper=4.0), NOW),
    (reads("platelet_alarm", "has_bleeding", platelets=40.0), NOW),
    (reads("triage_abdominal_pain", "has_severe_lasting_upper_abdominal_pain"), NOW),
    (reads("triage_abdominal_pain", "has_loin_to_groin_colic", is_pain_controlled=False), NOW),
    (reads("triage_back_pain", "has_sudden_flank_pain", age_years=66.0), NOW),
    (reads("triage_back_pain", "has_fever"), DAY),
    (reads("triage_bleeding_on_anticoagulant", "has_haemoptysis"), NOW),
    (reads("triage_chest_pain", spo2_spot=89.0, has_low_oxygen_target=False), NOW),
    (reads("triage_chest_pain", "has_pleuritic_pain", "has_clot_risk"), NOW),
    (reads("triage_confusion_drowsiness", "is_drowsy", "takes_opioid", resp_rate_spot=8.0), NOW),
    (reads("triage_diarrhoea", "is_not_drinking", is_improving=False), DAY),
    (reads("triage_dizziness_standing", "had_syncope", has_typical_faint_warning=False), DAY),
    (reads("triage_dizziness_standing", "has_sudden_balance_loss"), NOW),
    (reads("triage_dyspnoea", home_sbp=84.0), NOW),
    (reads("triage_dyspnoea", "is_sudden_onset", "has_new_breathlessness"), NOW),
    (reads("triage_fever", "is_drowsy", body_temp=38.4), NOW),
    (reads("triage_foot_in_diabetes", "has_foot_ulcer", "has_fever"), NOW),
    (reads("triage_headache", "had_head_injury"), NOW),
    (reads("triage_headache", "is_new_headache", "has_fever"), DAY),
    (reads("triage_headache", "is_postpartum_6wk", "is_severe_headache"), NOW),
    (reads("triage_hyperglycaemia", "takes_sglt2i", "has_vomiting", "cannot_test_ketones", glucose_now=9.0), NOW),
    (reads("triage_hypoglycaemia", "takes_sulfonylurea", "takes_insulin_or_su", "lives_alone", glucose_now=2.8), NOW),
    (reads("triage_leg_swelling", "has_both_legs_swollen", "has_new_breathlessness"), DAY),
    (reads("triage_leg_swelling", "has_one_leg_swollen", "had_syncope"), NOW),
    (reads("triage_mood_crisis", "has_new_suicidal_thoughts", "lives_alone"), NOW),
    (reads("triage_palpitations", pulse_bp_cuff=122.0), DAY),
    (reads("triage_palpitations", "has_new_breathlessness"), NOW),
    (reads("triage_pregnant_high_bp_or_drug", "is_pregnant", "has_fewer_movements"), DAY),
    (reads("triage_pregnant_high_bp_or_drug", "is_pregnant", "has_new_breathlessness"), NOW),
    (reads("triage_rash_angioedema", "has_hives", "had_syncope"), NOW),
    (reads("triage_stroke_signs", "has_one_sided_numbness", "is_sudden_onset"), NOW),
    (reads("triage_syncope", pulse_bp_cuff=36.0), NOW),
    (reads("triage_visual_change", "is_pregnant", "has_new_visual_change", home_sbp=146.0), NOW),
    (reads("triage_vomiting_on_glp1", "has_swollen_belly", "has_no_stool_or_wind"), NOW),
    (reads("triage_vomiting_on_glp1", "is_not_drinking", is_improving=False), DAY),
]


@pytest.mark.parametrize(("case", "tier"), STATES, ids=[f"{row[0][0]}-{'-'.join(row[0][1])}" for row in STATES])
def test_no_state_that_cannot_wait_is_told_to_wait(case: tuple[str, dict[str, FactValue]], tier: str) -> None:
    page, known = case
    assert decide(PROTOCOLS[page], **known).then == tier


@pytest.mark.parametrize("name", sorted(name for name, page in PROTOCOLS.items() if page.kind == "triage" and not page.subject.is_all))
def test_somebody_with_nothing_wrong_is_not_sent_to_the_emergency_department(name: str) -> None:
    assert decide(PROTOCOLS[name]).then != NOW


def test_red_flag_read_from_one_value_does_not_speak_of_a_second_condition() -> None:
    flags = [(name, flag) for name, row in KNOWLEDGE.conditions.items() for flag in row.red_flags if flag.item]
    assert flags
    assert [(name, flag.text.en) for name, flag in flags if speaks_of_two(flag.text.en)] == []
    assert speaks_of_two("Vomiting with systolic pressure below 100 mmHg")  # read from the pressure alone before


def speaks_of_two(text: str) -> bool:
    return " with " in f" {text} "


@pytest.mark.parametrize(
    ("drug", "item"),
    [("metformin", "egfr"), ("atorvastatin", "ck"), ("lisinopril", "renal_panel"), ("empagliflozin", "egfr"), ("warfarin", "inr")],
)
def test_what_must_be_known_before_the_first_dose_is_measured_once_then(drug: str, item: str) -> None:
    once = [row for row in KNOWLEDGE.drugs[drug].monitoring if row.item == item and row.when == NumberTest("days_on_drug", "at_most", 0)]
    assert [row.every_days for row in once] == [1]
