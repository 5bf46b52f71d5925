"""An ordinary patient on a drug always meets a rule, or the page's closing sentence speaks for a reason that is listed here."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from extra_rows import ZH
from ordinary_patients import TITRATIONS, Patient, ordinary_patients
from rule_book import KNOWLEDGE, PROTOCOLS

from clinworld.knowledge.protocol_text import render_protocol
from clinworld.knowledge.rule_rows import Protocol
from clinworld.knowledge.rules import Undecided, first_rule

WAITS = {  # days after a step before which the rules of a page do not judge it
    **{"acei_arb": 28, "alpha_blocker": 7, "alpha_glucosidase_inhibitor": 84, "anti_obesity_oral": 84, "antidepressant": 42, "arni": 14},
    **{"betablocker": 14, "ccb": 14, "dpp4i": 84, "fibrate": 28, "glp1ra": 84, "levothyroxine": 42, "metformin": 84, "mra": 28, "ppi": 28},
    **{"sglt2i": 84, "statin": 28, "sulfonylurea": 56, "thionamide": 42, "tzd": 84, "urate_lowering": 28, "vitamin_supplement": 84},
}


def number(patient: Patient, fact: str, otherwise: float) -> float:
    value = patient.get(fact, otherwise)
    assert isinstance(value, float)
    return value


# why a page may have no rule for somebody: its closing sentence then says what to do
DESIGNED: dict[str, Callable[[str, Patient], bool]] = {
    "the last step has not had its time": lambda page, it: number(it, "days_since_dose_change", 1e9) < WAITS.get(page, 0),
    "the statin has not had its time": lambda _, it: number(it, "days_on_top_statin", 1e9) < 28,
    "doses are missed": lambda _, it: number(it, "days_covered_pct", 100.0) < 80 or it.get("are_doses_taken") is False,
    "no response, and yet better": lambda page, it: (
        page == "antidepressant" and it["treatment_response"] == "none" and number(it, "mood_improvement", 0.0) >= 20
    ),
}


def find_gaps(page: Protocol) -> Iterator[tuple[str, Patient]]:
    """The ordinary patients for whom no rule holds, each with the reason that is listed for it, or ""."""
    name = page.id.removeprefix("titrate_")
    for it in ordinary_patients(page):
        decision = first_rule(page, it)
        assert not isinstance(decision, Undecided), (it, decision.missing)
        if decision is None:
            yield next((why for why, is_so in DESIGNED.items() if is_so(name, it)), ""), it


@pytest.mark.parametrize("name", TITRATIONS)
def test_ordinary_patient_meets_a_rule_or_a_gap_that_is_meant(name: str) -> None:
    assert next((it for why, it in find_gaps(PROTOCOLS[name]) if not why), None) is None


def test_every_gap_that_is_meant_is_there() -> None:
    pages = ("titrate_metformin", "titrate_ezetimibe_pcsk9", "titrate_basal_insulin", "titrate_antidepressant")
    assert {why for name in pages for why, _ in find_gaps(PROTOCOLS[name])} == set(DESIGNED)


CLOSERS = [  # without this rule its page leaves an ordinary patient with nothing
    ("titrate_metformin", "metformin_add_in_reduced_kidney_function"),
    ("titrate_sglt2i", "sglt2i_add_when_at_top"),
    ("titrate_sglt2i", "sglt2i_replace_for_glucose_in_kidney_failure"),
    ("titrate_warfarin", "warfarin_retest_soon_when_not_stable_before"),
    ("titrate_thionamide", "methimazole_raise_a_little_when_ft4_stays_above_range"),
    ("titrate_mra", "spironolactone_keep_near_the_limit"),
    ("titrate_mra", "spironolactone_add_when_at_top"),
    ("titrate_glp1ra", "glp1ra_change_when_it_fails"),
    ("titrate_urate_lowering", "urate_drug_change_when_at_top"),
    ("titrate_acei_arb", "raas_check_kidney_before_raising"),
    ("titrate_alpha_blocker", "doxazosin_add_when_at_top"),
    ("titrate_antidepressant", "ssri_raise_in_partial_response"),
    ("titrate_arni", "arni_keep_near_the_limits"),
    ("titrate_betablocker", "betablocker_raise_for_rate"),
    ("titrate_betablocker", "betablocker_add_when_at_top"),
    ("titrate_ccb", "ccb_add_beside_a_low_dose_with_swelling"),
    ("titrate_doac", "doac_compare_with_the_label"),
    ("titrate_ezetimibe_pcsk9", "lipid_raise_the_statin_first"),
    ("titrate_fibrate", "fibrate_add_when_at_full_dose"),
    ("titrate_fibrate", "fibrate_repeat_fasting"),
    ("titrate_levothyroxine", "levothyroxine_repeat_a_single_high_tsh"),
    ("titrate_oral_iron", "iron_go_on_while_haemoglobin_rises"),
    ("titrate_ppi", "omeprazole_look_again_without_response"),
    ("titrate_ppi", "omeprazole_finish_the_course"),
    ("titrate_prandial_insulin", "mealtime_insulin_find_the_lows_first"),
    ("titrate_statin", "statin_add_when_at_top"),
    ("titrate_sulfonylurea", "sulfonylurea_look_into_one_low"),
    ("titrate_tzd", "pioglitazone_add_when_at_top"),
    ("titrate_vitamin_supplement", "vitamin_d_go_up_one_step_when_low"),
    ("titrate_vitamin_supplement", "vitamin_b12_look_into_injections"),
]


@pytest.mark.parametrize(("name", "rule"), CLOSERS, ids=[rule for _, rule in CLOSERS])
def test_taking_a_rule_away_opens_a_gap_that_is_not_meant(name: str, rule: str) -> None:
    page = PROTOCOLS[name]
    less = replace(page, rules=tuple(each for each in page.rules if each.id != rule))
    assert len(less.rules) == len(page.rules) - 1
    assert any(not why for why, _ in find_gaps(less))


@pytest.mark.parametrize("name", [*TITRATIONS, "before_any_change"])
def test_page_says_what_to_do_when_no_rule_holds(name: str) -> None:
    assert "When no rule holds, neither on the drug's own page" in render_protocol(PROTOCOLS[name], KNOWLEDGE, "en")
    assert ZH["closing"] in render_protocol(PROTOCOLS[name], KNOWLEDGE, "zh")
