"""What the package's own rows must offer the world."""

from collections import Counter

import numpy as np
import pytest
from extra_rows import read_table

from clinworld.access.record_text import LABELS
from clinworld.core.text import load_labels
from clinworld.knowledge.load import Knowledge, load_knowledge

KNOWLEDGE = load_knowledge()
PRIMARY = [key for key, row in KNOWLEDGE.conditions.items() if row.is_primary]
PANEL = ["hba1c", "fasting_glucose", "ldl_c", "hdl_c", "triglycerides", "alt", "ast", "platelets", "creatinine", "home_sbp", "home_dbp"]
SHOWN = ("measure", "neg", "sign", "course", "therapy")


@pytest.fixture
def knowledge() -> Knowledge:
    return KNOWLEDGE


@pytest.mark.parametrize("disease", PRIMARY)
def test_a_disease_gives_the_starting_level_of_everything_the_routine_panel_and_its_signals_need(
    disease: str, knowledge: Knowledge
) -> None:
    row = knowledge.conditions[disease]
    given = {level.item for level in row.levels}
    derived = {key for key, each in {**knowledge.streams, **knowledge.analytes}.items() if each.derived_by} | {"weight", "weight_clinic"}
    assert set(PANEL) <= given
    assert set(row.signals) <= given | derived


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        *(("analytes", 99), ("streams", 34), ("conditions", 103), ("comorbidities", 55), ("tests", 90), ("factors", 30)),
        *(("symptoms", 300), ("findings", 90), ("specialties", 10), ("tiers", 7), ("drugs", 59), ("protocols", 30)),
    ],
)
def test_as_many_rows_are_there_as_are_promised(kind: str, least: int, knowledge: Knowledge) -> None:
    assert len([row for row in knowledge.table(kind).values() if not getattr(row, "is_name_only", False)]) >= least


def test_no_condition_drug_or_protocol_claims_a_clinical_review(knowledge: Knowledge) -> None:
    rows = [*knowledge.conditions.values(), *knowledge.drugs.values(), *knowledge.protocols.values()]
    assert {row.clinical_review for row in rows} == {"none"}


@pytest.mark.parametrize("disease", PRIMARY)
def test_a_drug_is_indicated_for_every_disease_a_case_may_be_about(disease: str, knowledge: Knowledge) -> None:
    assert [key for key, drug in knowledge.drugs.items() if disease in dict(drug.indications)]


@pytest.mark.parametrize("driver", KNOWLEDGE.drivers)
def test_events_remain_for_a_patient_whatever_the_driver(driver: str, knowledge: Knowledge) -> None:
    left = [event for event in knowledge.events.values() if driver not in event.shadows]
    assert len({event.topic for event in left if event.kind == "benign"}) >= 40
    assert len({event.topic for event in left if event.kind == "life"}) >= 20


@pytest.mark.parametrize(("word", "language"), read_table("device_words.csv"))
def test_no_note_says_what_a_device_did_or_read_as_the_record_would_deny_it(word: str, language: str, knowledge: Knowledge) -> None:
    told = [row.text for row in knowledge.events.values()]
    said = [getattr(text, language) for text in told]
    for row in knowledge.symptoms.values():
        if row.kind == "complaint" and row.id not in knowledge.symptom_shadows:
            said += getattr(row.wordings, language)
    assert not [text for text in said if word in text.lower()]


def test_what_happens_to_working_people_and_parents_of_schoolchildren_happens_at_their_age(knowledge: Knowledge) -> None:
    for name in ("exam_kid", "marathon_spectator", "work_deadline", "new_manager", "training_course", "niece_born", "family_visit"):
        assert (knowledge.events[name].age_high or 120) <= 64


def test_digestive_events_may_be_mistaken_for_intolerance_and_fluid(knowledge: Knowledge) -> None:
    for name in ("bloated_party", "loose_stool_chili", "constip_travel", "heartburn_coffee", "nausea_bus", "dairy_cramps"):
        assert {"medication_intolerance", "fluid_or_GI_weight_variation"} <= set(knowledge.events[name].shadows)


@pytest.mark.parametrize(("context", "shown"), read_table("contexts_shown.csv"))
def test_a_context_that_attributes_interprets_or_gives_the_answer_away_is_withheld(context: str, shown: str, knowledge: Knowledge) -> None:
    name = knowledge.resolve("contexts", context)
    assert name is not None
    assert (knowledge.contexts[name].facet in SHOWN) == (shown == "true")


def test_the_calibrated_wearables_keep_the_published_constants(knowledge: Knowledge) -> None:
    steps, pulse = knowledge.streams["steps"], knowledge.streams["resting_hr"]
    assert (steps.scale, steps.lag1, steps.p_off_worn, steps.p_off_off) == ("log", 0.1066, 0.02, 0.6957)
    assert (steps.sd_within, steps.status) == (0.4, "authored")  # the published 0.5675 has tails no year of an older person has
    assert (pulse.scale, pulse.sd_within, pulse.lag1, pulse.p_off_worn, pulse.p_off_off) == ("linear", 1.971, 0.7664, 0.0536, 0.5972)
    assert knowledge.streams["stress_score"].p_present == 0.352


def test_the_label_rule_keeps_the_published_numbers_and_the_fault_sizes_lie_about_theirs(knowledge: Knowledge) -> None:
    rule = knowledge.outcomes["weight_regain"]
    assert (rule.min_change_frac, rule.min_change_kg, rule.persist_days, rule.smoothing_readings) == (0.05, 0.75, 56, 7)
    published = {"device_switch": 3.2, "transient_spike": 3.6, "context_confound": 2.2, "adherence_gap": 0.45}
    rows = knowledge.artifacts
    ranges = {key: (row.size_low, row.size_high) for key, row in rows.items() if row.size_low is not None}
    assert ranges.keys() == published.keys()
    assert all(low < published[key] < high and high / low < 2.5 for key, (low, high) in ranges.items())
    assert {key: row.direction for key, row in rows.items() if row.direction} == {
        **{"device_switch": "either", "transient_spike": "either", "context_confound": "up"}
    }


def test_a_mixed_up_unit_is_a_pound_or_a_jin_and_goes_both_ways(knowledge: Knowledge) -> None:
    pound_kg, jin_kg = 0.45359237, 0.5
    factors = knowledge.artifacts["unit_error"].factors
    assert np.allclose(sorted(factors), sorted([pound_kg, jin_kg, 1 / jin_kg, 1 / pound_kg]), rtol=1e-4)
    assert {key for key, row in knowledge.artifacts.items() if row.factors} == {"unit_error"}


def test_off_label_pairs_are_named_as_such(knowledge: Knowledge) -> None:
    assert set(knowledge.drugs["metformin"].off_label) == {"obesity", "masld", "pcos"}
    assert "type_2_diabetes" not in knowledge.drugs["metformin"].off_label


def test_no_analyte_is_called_checked_while_a_part_of_it_is_recalled(knowledge: Knowledge) -> None:
    assert Counter(row.status for row in knowledge.analytes.values()) == {"recalled": len(knowledge.analytes)}


def test_what_is_taken_several_times_a_day_says_how_much_that_is_at_most(knowledge: Knowledge) -> None:
    several = [drug for drug in knowledge.drugs.values() if drug.frequency in ("twice_daily", "three_times_daily", "daily_total")]
    assert {drug.id for drug in several if drug.most_a_day is None and drug.dose_unit != "[IU]"} == set()


def test_metformin_is_printed_as_the_total_of_a_day() -> None:
    """The control: its ladder read as single doses would pass what the label allows."""
    metformin = KNOWLEDGE.drugs["metformin"]
    assert max(metformin.ladder) <= metformin.most_a_day < 2 * max(metformin.ladder)
    assert load_labels(LABELS).say(f"frequency:{metformin.frequency}", "en") == "daily total, in divided doses"
    assert load_labels(LABELS).say(f"frequency:{metformin.frequency}", "zh") == "每日总量，分次服"
