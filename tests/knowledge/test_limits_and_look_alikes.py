"""Rows that contradicted each other or were nowhere: limits read on two sides, harm without a stop, look-alikes no test tells apart."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from extra_rows import ZH
from ordinary_patients import well_patient
from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES

import clinworld.knowledge
from clinworld.core.text import Language
from clinworld.knowledge.protocol_text import render_protocol
from clinworld.knowledge.rule_rows import Between, FactValue, NumberTest, OneOf, Protocol, Rule
from clinworld.knowledge.rules import comparisons, facts_of, first_rule

HOME = Path(clinworld.knowledge.__file__).parent
GATES = PROTOCOLS["before_any_change"]
KEPT = {  # never stopped for a value: a replaced hormone, a steroid, insulin, what stops badly at once
    *("hydrocortisone", "prednisone", "levothyroxine", "insulin_glargine", "insulin_degludec", "insulin_aspart"),
    *("metoprolol", "bisoprolol", "propranolol"),
}
WELL: dict[str, FactValue] = {
    **{"potassium": 4.2, "sodium": 140.0, "neutrophils": 4.0, "beta_hydroxybutyrate": 0.1, "egfr_fall": 0.0, "alt_times_upper": 0.6},
    **{"bilirubin_times_upper": 0.5, "ck_times_upper": 0.4, "days_since_illness_or_steroid": 400.0, "distance_to_target_pct": 20.0},
    **{"rcv_pct": 5.0, "days_covered_pct": 95.0, "weekly_doses_missed_6wk": 0.0, "days_since_dose_change": 100.0, "min_step_days": 14.0},
    **{"is_result_confirmed": True, "proposed_stage": "target_missed", "proposed_rule": "another"},
}


def decide_before(drug: str, **known: FactValue) -> str:
    """The rule before any change that takes somebody well but for what is known; "" when none does."""
    flags = {fact: False for rule in GATES.rules for fact in facts_of(rule.when) if SHAPES[fact].kind == "flag"}
    found = first_rule(GATES, {**flags, **WELL, "drug": drug, **known})
    assert found is None or isinstance(found, Rule)
    return "" if found is None else found.id


STOP, SEEN = "stop_the_drug_that_does_harm", "have_the_patient_seen_and_stop_nothing"
INSULIN, PREGNANT = "reduce_insulin_after_a_severe_low", "change_the_drug_in_pregnancy_without_a_gap"
BEFORE: list[tuple[str, dict[str, FactValue], str]] = [
    ("hydrocortisone", {"alt_times_upper": 6.0}, SEEN),
    ("levothyroxine", {"alt_times_upper": 3.1, "bilirubin_times_upper": 2.1}, SEEN),
    ("insulin_glargine", {"alt_times_upper": 6.0}, SEEN),
    ("bisoprolol", {"has_severe_skin_reaction": True}, SEEN),
    ("prednisone", {"has_severe_skin_reaction": True}, SEEN),
    ("atorvastatin", {"alt_times_upper": 6.0}, STOP),
    ("methimazole", {"alt_times_upper": 3.1, "bilirubin_times_upper": 2.1}, STOP),
    ("allopurinol", {"has_severe_skin_reaction": True}, STOP),
    ("insulin_glargine", {"had_severe_hypoglycaemia": True}, INSULIN),
    ("insulin_aspart", {"had_severe_hypoglycaemia": True}, INSULIN),
    ("gliclazide", {"had_severe_hypoglycaemia": True}, STOP),
    ("methimazole", {"neutrophils": 0.5}, STOP),
    ("warfarin", {"is_pregnant": True}, PREGNANT),
    ("methimazole", {"is_pregnant": True}, PREGNANT),
    ("rivaroxaban", {"is_pregnant": True}, PREGNANT),
    ("spironolactone", {"is_pregnant": True}, STOP),
    ("empagliflozin", {"is_pregnant": True}, STOP),
    ("semaglutide_2_4", {"is_pregnant": True}, STOP),
    ("atorvastatin", {"alt_times_upper": 5.0}, ""),
    ("hydrocortisone", {}, ""),
]


@pytest.mark.parametrize(
    ("drug", "known", "expected"), BEFORE, ids=[f"{row[0]}-{'-'.join(row[1]) or 'well'}-{n}" for n, row in enumerate(BEFORE)]
)
def test_only_the_drug_that_does_the_harm_is_stopped(drug: str, known: dict[str, FactValue], expected: str) -> None:
    assert decide_before(drug, **known) == expected


def named(rule: str) -> set[str]:
    when = next(each.when for each in GATES.rules if each.id == rule)
    return {str(drug) for leaf in comparisons(when) if isinstance(leaf, OneOf) and leaf.fact == "drug" for drug in leaf.choices}


def test_no_rule_stops_what_must_not_be_stopped() -> None:
    assert named(STOP) & KEPT == set()
    assert named(INSULIN) <= KEPT
    assert next(rule for rule in GATES.rules if rule.id == INSULIN).then == "downtitrate"


def test_every_drug_that_pregnancy_forbids_is_named_before_any_change() -> None:
    forbidden = {drug.id for drug in KNOWLEDGE.drugs.values() if any(row.state == "is_pregnant" for row in drug.contraindications)}
    assert {drug for drug in forbidden if decide_before(drug, is_pregnant=True) in (STOP, PREGNANT)} == forbidden
    assert decide_before("metformin", is_pregnant=True) == "wait_after_illness_or_steroid"


# -- one limit, one side ------------------------------------------------------------------------------------------------

MEANT = {  # the same number read on either side, and why
    ("age_years", 65.0): "labels say over 65, risk rules from 65",
    ("consecutive_doses_missed", 3.0): "weekly drugs and a daily one",
    ("days_on_drug", 56.0): "two drugs",
    ("dose", 10.0): "three drugs",
    ("dose", 50.0): "two drugs",
    ("home_sbp", 90.0): "early warning scores count 90 as low, heart failure trials stop below it",
    ("home_sbp", 100.0): "sepsis scores count 100 as low, heart failure trials allow it",
    ("inr", 1.5): "a failing liver, and warfarin below range",
    ("potassium", 5.5): "the labels hold above 5.5, the alarm begins at it",
    ("symptom_days", 3.0): "two complaints",
    ("symptom_days", 7.0): "two complaints",
    ("symptom_days", 42.0): "two rules of one page that a third one takes up",
}


def two_sided(protocols: list[Protocol]) -> set[tuple[str, float]]:
    """Limits that some rule counts as beyond (at_least, below) and another as not yet (above, at_most)."""
    sides: dict[tuple[str, float], set[bool]] = defaultdict(set)
    for leaf in (leaf for page in protocols for rule in page.rules for leaf in comparisons(rule.when)):
        if isinstance(leaf, NumberTest) and isinstance(leaf.value, int | float):
            sides[leaf.fact, float(leaf.value)].add(leaf.op in ("at_least", "below"))
        elif isinstance(leaf, Between):
            sides[leaf.fact, leaf.low].add(True)
            sides[leaf.fact, leaf.high].add(True)
    return {limit for limit, seen in sides.items() if len(seen) > 1}


def test_no_limit_is_read_on_two_sides_but_where_it_is_meant() -> None:
    assert two_sided(list(PROTOCOLS.values())) == set(MEANT)


def test_a_limit_read_on_the_other_side_is_found() -> None:
    page = PROTOCOLS["titrate_levothyroxine"]
    biotin = next(rule for rule in page.rules if rule.id == "levothyroxine_repeat_off_biotin")
    other = replace(page, rules=(replace(biotin, when=NumberTest("biotin_mg", "above", 5.0)),))
    assert ("biotin_mg", 5.0) in two_sided([other, *PROTOCOLS.values()])


@pytest.mark.parametrize("name", ["titrate_levothyroxine", "tsh_change", "steroid_hormone_change"])
def test_biotin_is_read_alike_on_every_page(name: str) -> None:
    read = {leaf for rule in PROTOCOLS[name].rules for leaf in comparisons(rule.when) if "biotin" in leaf.fact}
    assert read == {NumberTest("biotin_mg", "at_least", 5.0), NumberTest("hours_since_biotin", "at_most", 48.0)}


# -- lithium, insulin, and what else ends in one outcome -------------------------------------------------------------------

LITHIUM: list[tuple[dict[str, FactValue], str | None]] = [
    ({"serum_lithium": 2.0}, "lithium_emergency"),
    ({"serum_lithium": 1.5, "has_vomiting": True}, "lithium_emergency"),
    ({"serum_lithium": 0.7, "has_confusion": True}, "lithium_emergency"),
    ({"serum_lithium": 1.2}, "lithium_high_or_signs"),
    ({"serum_lithium": 0.7, "has_diarrhoea": True}, "lithium_high_or_signs"),
    ({"serum_lithium": 0.81}, "lithium_above_range"),
    ({"serum_lithium": 0.59}, "lithium_below_range"),
    ({"serum_lithium": 0.7}, None),
    ({"serum_lithium": 2.0, "takes_lithium": False}, None),
]


@pytest.mark.parametrize(("known", "expected"), LITHIUM, ids=[f"{'-'.join(row[0])}-{row[1]}-{n}" for n, row in enumerate(LITHIUM)])
def test_lithium_level_is_acted_on_before_it_harms(known: dict[str, FactValue], expected: str | None) -> None:
    page = PROTOCOLS["lithium_alarm"]
    flags = {fact: fact == "takes_lithium" for rule in page.rules for fact in facts_of(rule.when) if SHAPES[fact].kind == "flag"}
    found = first_rule(page, {**flags, **known})
    assert (found.id if isinstance(found, Rule) else found) == expected


def test_lithium_level_is_measured_every_three_months_and_belongs_to_no_panel() -> None:
    assert 90 in [row.every_days for row in KNOWLEDGE.drugs["lithium"].monitoring if row.item == "lithium_level" and row.when is None]
    assert "serum_lithium" not in KNOWLEDGE.analytes
    assert [test.id for test in KNOWLEDGE.tests.values() if "serum_lithium" in test.measures] == ["lithium_level"]


STATES: list[tuple[str, dict[str, FactValue], str]] = [
    ("titrate_basal_insulin", {"fasting_glucose_mean_3d": 8.0, "bedtime_to_morning_drop": 3.0}, "basal_insulin_add_beside_it"),
    ("titrate_basal_insulin", {"fasting_glucose_mean_3d": 8.0, "bedtime_to_morning_drop": 2.8}, "basal_insulin_raise_by_two"),
    ("titrate_basal_insulin", {"fasting_glucose_mean_3d": 14.0, "beta_hydroxybutyrate": 1.5}, "basal_insulin_act_on_ketones"),
    ("titrate_basal_insulin", {"fasting_glucose_mean_3d": 14.0, "beta_hydroxybutyrate": 1.4}, "basal_insulin_raise_by_four"),
    ("titrate_basal_insulin", {"fasting_glucose_mean_3d": 4.3}, "basal_insulin_cut_after_lows"),
    ("titrate_metformin", {"egfr": 40.0, "hba1c": 8.5, "dose": 1000.0}, "metformin_add_in_reduced_kidney_function"),
    ("titrate_sglt2i", {"hba1c": 8.6, "dose": 25.0, "top_dose": 25.0, "given_for": "glucose"}, "sglt2i_add_when_at_top"),
    (
        "titrate_warfarin",
        {"inr": 3.2, "is_result_confirmed": False, "was_stable_before": False},
        "warfarin_retest_soon_when_not_stable_before",
    ),
    (
        "titrate_thionamide",
        {"ft4": 28.6, "ft4_times_upper": 1.3, "tsh": 0.01, "days_since_dose_change": 60.0},
        "methimazole_raise_a_little_when_ft4_stays_above_range",
    ),
    ("titrate_mra", {"drug": "spironolactone", "potassium": 5.05}, "spironolactone_keep_near_the_limit"),
    ("titrate_mra", {"drug": "spironolactone", "potassium": 5.1}, "spironolactone_halve_in_warning_range"),
    (
        "titrate_glp1ra",
        {"given_for": "weight", "hba1c": 5.4, "weight_loss_pct": 2.0, "is_goal_met": False, "dose": 2.0, "top_dose": 2.0},
        "glp1ra_change_when_it_fails",
    ),
    ("titrate_urate_lowering", {"drug": "febuxostat", "uric_acid": 420.0, "dose": 80.0, "top_dose": 80.0}, "urate_drug_change_when_at_top"),
    ("titrate_levothyroxine", {"tsh": 8.0, "biotin_mg": 5.0, "hours_since_biotin": 48.0}, "levothyroxine_repeat_off_biotin"),
    ("titrate_levothyroxine", {"tsh": 8.0, "is_result_confirmed": False}, "levothyroxine_repeat_a_single_high_tsh"),
]


@pytest.mark.parametrize(("name", "known", "expected"), STATES, ids=[f"{row[2]}-{n}" for n, row in enumerate(STATES)])
def test_state_that_had_no_rule_or_the_wrong_one_ends_in_its_own(name: str, known: dict[str, FactValue], expected: str) -> None:
    found = first_rule(PROTOCOLS[name], well_patient(PROTOCOLS[name]) | known)
    assert isinstance(found, Rule)
    assert found.id == expected


def test_reason_of_the_mineralocorticoid_rule_speaks_of_both_its_grounds() -> None:
    first = PROTOCOLS["titrate_mra"].rules[0]
    assert facts_of(first.when) == ("potassium", "egfr_fall")
    assert "eGFR" in first.because.en
    assert "eGFR" in first.because.zh


@pytest.mark.parametrize(("language", "said"), [("en", "2.0 percentage points"), ("zh", f"2.0{ZH['points']}")])
def test_fall_of_hba1c_is_printed_in_points(language: Language, said: str) -> None:
    page = render_protocol(PROTOCOLS["titrate_glp1ra"], KNOWLEDGE, language)
    assert said in page
    assert "2.0%" not in page


# -- look-alikes, effects, interactions -----------------------------------------------------------------------------------


def unmeasured(condition: str, *, without: str = "") -> list[str]:
    """What tells a condition from its look-alikes and no test of its own measures."""
    row = KNOWLEDGE.conditions[condition]
    tests = {*row.tests.first_line, *row.tests.confirmatory} - {without}
    measured = {item for test in tests for item in KNOWLEDGE.tests[test].measures}
    return [each.told_apart_by.item for each in row.look_alikes if each.told_apart_by.item and each.told_apart_by.item not in measured]


def test_what_tells_look_alikes_apart_is_measured_by_a_test_of_the_condition() -> None:
    assert {name: items for name in KNOWLEDGE.conditions if (items := unmeasured(name))} == {}


@pytest.mark.parametrize(
    ("condition", "test", "item"),
    [
        ("acs", "ctpa", "ctpa"),
        ("gad", "metanephrines", "normetanephrine_free"),
        ("sarcoidosis", "sputum_tuberculosis_test", "sputum_tb_test"),
    ],
)
def test_look_alike_without_its_test_is_found(condition: str, test: str, item: str) -> None:
    assert unmeasured(condition, without=test) == [item]


def test_pregnancy_is_seen_on_ultrasound() -> None:
    assert "obstetric_ultrasound" in KNOWLEDGE.conditions["pregnancy"].tests.confirmatory
    assert KNOWLEDGE.tests["obstetric_ultrasound"].measures == ("gestational_sac",)


@pytest.mark.parametrize(("condition", "item"), [("pe", "ctpa"), ("gout", "synovial_msu")])
def test_clot_or_crystal_that_is_there_does_not_come_in_episodes(condition: str, item: str) -> None:
    row = next(each for each in KNOWLEDGE.conditions[condition].findings if each.item == item)
    assert row.trajectory == "stable"


EFFECTS = [
    *[("ferrous_sulfate", "ferritin", 1), ("cyanocobalamin", "haemoglobin", 1), ("furosemide", "weight", -1)],
    *[("levothyroxine", "tsh", -1), ("levothyroxine", "ft4", 1)],
]


@pytest.mark.parametrize(("drug", "item", "sign"), EFFECTS)
def test_effect_that_the_drug_is_given_for_is_there(drug: str, item: str, sign: int) -> None:
    assert {each.mean * sign > 0 for each in KNOWLEDGE.drugs[drug].effects if each.item == item} == {True}


INTERACTIONS = [
    *[("amiodarone", "beta-1 blocker"), ("amiodarone", "non-selective beta-blocker"), ("metoprolol", "amiodarone")],
    *[("bisoprolol", "amiodarone"), ("propranolol", "amiodarone"), ("warfarin", ZH["danshen"]), ("warfarin", ZH["angelica"])],
    ("warfarin", ZH["alcohol"]),
]


@pytest.mark.parametrize(("drug", "other"), INTERACTIONS, ids=[f"{drug}-{n}" for n, (drug, _) in enumerate(INTERACTIONS)])
def test_interaction_is_told(drug: str, other: str) -> None:
    rows = KNOWLEDGE.drugs[drug].interactions
    told = {name for row in rows for name in (row.drug, row.drug_class, row.substance.zh if row.substance else "")}
    assert any(other in name for name in told)


@pytest.mark.parametrize("word", ["salt_substitute_old", "upper_belly_old", "cousins_old", "book_shelf_old", "heart_old"])
def test_wording_that_nobody_says_is_gone(word: str) -> None:
    texts = [p.read_text(encoding="utf-8") for p in (*HOME.glob("*.csv"), *HOME.glob("*/*.yaml"))]
    assert len(texts) > 200
    assert not [text for text in texts if ZH[word] in text]
