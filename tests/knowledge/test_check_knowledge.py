"""Every cross-file check passes on the package and on a sound added row, and fails on a row broken in one place."""

from collections.abc import Callable
from pathlib import Path

import pytest
from extra_rows import CONDITION, DRUG, SOUND, ZH, add_file, add_row
from hypothesis import given
from hypothesis import strategies as st

from clinworld.core.errors import KnowledgeError
from clinworld.knowledge import check as checks
from clinworld.knowledge.check import CHECKS, check_knowledge
from clinworld.knowledge.check_names import has_loinc_check_digit
from clinworld.knowledge.load import HERE, Knowledge, load_knowledge


def row(kind: str, /, **cells: str) -> Callable[[Path], Path]:
    """Adds a row with some cells replaced."""
    return lambda folder: add_row(folder, kind, **cells)


def drug(old: str, new: str) -> Callable[[Path], Path]:
    """Adds a drug file with one part swapped."""
    return lambda folder: add_file(folder, "drugs", DRUG, (old, new))


def condition(old: str, new: str) -> Callable[[Path], Path]:
    """Adds a disease file with one part swapped."""
    return lambda folder: add_file(folder, "conditions", CONDITION, (old, new))


LINE = {"intercept_m": "0", "intercept_f": "0", "slope": "1"}

# the check's function, the finding's name, what is broken, what the finding must name
BROKEN = [
    ("check_sources", "source_exists", row("devices", source="authord"), "devices.csv (sample), source"),
    (
        "check_sources",
        "source_exists",
        drug("item: hba1c, dose: 10, mean: -1, unit: pp, source: authored", "item: hba1c, dose: 10, mean: -1, unit: pp, source: nowhere"),
        "effects[0]",
    ),
    ("check_statuses", "status_not_raised", row("parameters", status="recalled"), "parameters/sample.csv (sample), status"),
    ("check_references", "id_resolves", row("devices", reports="weight|lipid"), "nearest: 'lipids'"),
    ("check_references", "id_resolves", row("streams", devices="wearables"), "nearest: 'wearable'"),
    ("check_references", "id_resolves", row("artifacts", needs="scale"), "artifacts.csv (sample), needs"),
    ("check_references", "id_resolves", row("artifacts", series="wait"), "artifacts.csv (sample), series"),
    ("check_references", "id_resolves", row("drivers", observed_in="steps|stepps"), "nearest: 'steps'"),
    ("check_references", "id_resolves", row("drivers", evidence="stepz", observed_in="dose"), "drivers.csv (sample), evidence"),
    ("check_references", "id_resolves", row("events", shadows="sleep_declin"), "nearest: 'sleep_decline'"),
    ("check_references", "id_resolves", condition("signals: [hba1c]", "signals: [hba1x]"), "conditions/sample.yaml, signals"),
    ("check_references", "id_resolves", condition("item: hba1c", "item: hba1x"), "conditions/sample.yaml, levels"),
    ("check_references", "id_resolves", drug("item: hba1c", "item: hba1x"), "drugs/sample.yaml, effects"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{obesety: 20}"), "nearest: 'obesity'"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{obesity: 15}"), "5, 10, 20"),
    ("check_indications", "indication_exists", drug("{obesity: 20}", "{}"), "no indication"),
    ("check_indications", "indication_exists", drug("ladder:", "off_label: [masld]\nladder:"), "off_label"),
    ("check_derived_streams", "derived_stream_is_whole", row("streams", parent="steps"), "streams.csv (sample), parent"),
    ("check_derived_streams", "derived_stream_is_whole", row("streams", parent="stepz", **LINE), "'stepz'"),
    ("check_derived_streams", "derived_stream_is_whole", row("streams", parent="active_burn", **LINE), "itself derived"),
    ("check_derived_streams", "derived_stream_is_whole", row("streams", derived_by="deurenberg"), "streams.csv (sample), parent"),
    (
        "check_derived_streams",
        "derived_stream_is_whole",
        row("streams", parent="weight", derived_by="deurenberg", slope="1"),
        "'weight'",
    ),
    (
        "check_derived_streams",
        "derived_stream_is_whole",
        row("streams", parent="steps", derived_by="deurenberg", scale="log"),
        "scale log",
    ),
    ("check_look_alikes", "look_alikes_known", condition("condition: lada", "condition: lado"), "nearest: 'lada'"),
    ("check_look_alikes", "look_alikes_known", condition("condition: lada", "condition: cushing"), "1 look-alikes"),
    ("check_bounds", "bounds_in_order", row("streams", hard_high="-5"), "hard_high"),
    ("check_bounds", "bounds_in_order", row("streams", mean_m="150"), "mean_m"),
    ("check_bounds", "bounds_in_order", row("analytes", ref_low_f="5", ref_high_f="4"), "ref_high_f"),
    ("check_bounds", "bounds_printable", row("analytes", hard_low="0.25"), "a value of 1 decimals"),
    ("check_ages", "ages_in_order", row("events", age_low="60", age_high="40"), "above 60"),
    ("check_ages", "ages_in_order", condition("[18, 60]", "[60, 18]"), "conditions/sample.yaml"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[5, 10, 10, 20]"), "ladder[2]"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[0, 10, 20]"), "0 after 0"),
    ("check_ladders", "ladder_rises", drug("[5, 10, 20]", "[]"), "at least one dose"),
    ("check_effects", "effect_is_usable", drug("dose: 10", "dose: 15"), "5, 10, 20"),
    ("check_effects", "effect_is_usable", drug("unit: pp", "unit: mmol/L"), "% or pp"),
    (
        "check_effects",
        "effect_is_usable",
        drug("effects:\n", "effects:\n  - {item: hba1c, dose: 10, mean: -2, unit: pp, source: authored, status: authored}\n"),
        "again",
    ),
    ("check_levels", "level_is_usable", condition("mean: 5.5", "mean: 6.5"), "mean 6.5"),
    ("check_levels", "level_is_usable", condition("low: 5,", "low: 1,"), "inside 3 to 20"),
    ("check_levels", "level_is_usable", condition("has_physiology: true", "has_physiology: false"), "False with 1 levels"),
    ("check_diagnostic_limits", "diagnosis_holds", condition("high: 6,", "high: 6.5,"), "type_2_diabetes would be diagnosed"),
    ("check_diagnostic_limits", "diagnosis_holds", row("analytes", diagnostic_high="7"), "together, or neither"),
    ("check_diagnostic_limits", "diagnosis_holds", row("analytes", diagnostic_high="7", diagnostic_of="diabetis"), "an id of a condition"),
    ("check_drivers", "driver_evidence_is_whole", row("drivers", abnormal=""), "together, or none"),
    ("check_drivers", "driver_evidence_is_whole", row("drivers", abnormal="7000"), "other than normal"),
    ("check_drivers", "driver_evidence_is_whole", row("drivers", abnormal="-3"), "0 to 30000"),
    ("check_drivers", "driver_evidence_is_whole", row("drivers", observed_in="dose"), "observed_in"),
    ("check_missing_days", "missing_days_run", row("streams", p_off_worn="0.6"), "at least p_off_worn, 0.6"),
    ("check_names", "name_stands_for_one_thing", row("streams", aliases="HRV"), "taken by streams.csv (hrv_rmssd)"),
    ("check_names", "name_stands_for_one_thing", row("analytes", aliases="weight"), "taken by streams.csv (weight)"),
    ("check_names", "name_stands_for_one_thing", row("condition_labels", aliases="t2d"), "taken by conditions/type_2_diabetes.yaml"),
    ("check_languages", "both_languages_native", row("devices", name_zh="Sample"), "Chinese in the Chinese text"),
    ("check_languages", "both_languages_native", row("contexts", text_en=ZH["lunch"]), "English in the English text"),
    ("check_languages", "both_languages_native", condition(ZH["thin_skin"], "thin"), "look_alikes (cushing)"),
    ("check_repeated_texts", "text_stands_once", row("events", text_en="Paper cut that healed"), "events.csv (paper_cut)"),
    ("check_repeated_texts", "text_stands_once", condition(ZH["weight_falls"], ZH["round_face"]), "look_alikes (lada)"),
    ("check_loinc", "loinc_check_digit", row("analytes", loinc="4548-5"), "4548-5"),
    ("check_codes", "code_stands_for_one_thing", row("analytes", loinc="4548-4"), "taken by analytes.csv (hba1c)"),
    ("check_codes", "code_stands_for_one_thing", row("streams", loinc="4548-4"), "taken by analytes.csv (hba1c)"),
    ("check_codes", "code_stands_for_one_thing", drug("ladder:", 'rxcui: "6809"\nladder:'), "taken by drugs/metformin.yaml"),
]


def test_the_packages_knowledge_agrees_with_itself() -> None:
    assert [str(finding) for finding in check_knowledge(load_knowledge())] == []


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_added_row_has_no_finding(kind: str, tmp_path: Path) -> None:
    assert [str(finding) for finding in check_knowledge(load_knowledge(add_row(tmp_path, kind)))] == []


def test_sound_added_files_have_no_finding(tmp_path: Path) -> None:
    folder = add_file(add_file(tmp_path, "drugs", DRUG), "conditions", CONDITION)
    assert [str(finding) for finding in check_knowledge(load_knowledge(folder))] == []


@pytest.mark.parametrize(("function", "name", "broken", "told"), BROKEN, ids=[f"{function}-{told}" for function, _, _, told in BROKEN])
def test_a_row_broken_in_one_place_is_found_by_its_check(
    function: str, name: str, broken: Callable[[Path], Path], told: str, tmp_path: Path
) -> None:
    findings = list(getattr(checks, function)(Knowledge((HERE, broken(tmp_path)))))
    assert findings
    text = "\n".join(str(finding) for finding in findings if finding.check == name)
    assert told in text
    assert "sample" in text
    assert str(tmp_path) in text
    with pytest.raises(KnowledgeError, match="sample"):
        load_knowledge(tmp_path)


def test_a_further_product_of_an_ingredient_shares_its_code_where_it_shares_no_indication(tmp_path: Path) -> None:
    same = load_knowledge().drugs["semaglutide"]
    product = DRUG.replace("ladder:", f'rxcui: "{same.rxcui}"\nladder:')
    kept = [line if not line.startswith("class:") else f"class: {same.drug_class}" for line in product.splitlines()]
    folder = add_file(tmp_path, "drugs", "\n".join(kept).replace("{obesity: 20}", "{hypertension: 20}"))
    assert load_knowledge(folder).drugs["sample"].rxcui == same.rxcui


def test_every_check_has_a_row_that_fails_it() -> None:
    assert {check.__name__ for check in CHECKS} == {function for function, *_ in BROKEN}


@given(st.integers(min_value=1, max_value=9_999_999), st.integers(min_value=0, max_value=9))
def test_exactly_one_of_ten_check_digits_fits_a_loinc_number(number: int, digit: int) -> None:
    fitting = [d for d in range(10) if has_loinc_check_digit(f"{number}-{d}")]
    assert len(fitting) == 1
    assert has_loinc_check_digit(f"{number}-{digit}") == (digit == fitting[0])
