"""Every cross-file check passes on the package and on a sound added row, and fails on a row broken in one place."""

from collections.abc import Callable
from pathlib import Path

import broken_conditions
import broken_drugs
import broken_rows
import broken_words
import pytest
from break_rows import condition, drug, protocol, row
from extra_rows import DRUG, FILES, SOUND, add_file, add_row, load_with, read_with
from hypothesis import given
from hypothesis import strategies as st
from messages import assert_whole, line_of

from clinworld.core.errors import KnowledgeError
from clinworld.knowledge import check as checks
from clinworld.knowledge.check import CHECKS, check_knowledge
from clinworld.knowledge.check_names import has_loinc_check_digit
from clinworld.knowledge.check_rules import check_protocols
from clinworld.knowledge.faults import make_error
from clinworld.knowledge.load import load_knowledge

pytestmark = pytest.mark.rows

LOOKED_AT_BY_RULES = ("analytes", "streams", "findings", "rule_facts")  # reading the protocols again takes longest of all checks
BROKEN = [*broken_rows.BROKEN, *broken_conditions.BROKEN, *broken_drugs.BROKEN, *broken_words.BROKEN]


def test_the_packages_knowledge_agrees_with_itself() -> None:
    assert [str(finding) for finding in check_knowledge(load_knowledge())] == []


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_added_row_has_no_finding(kind: str, tmp_path: Path) -> None:
    knowledge = read_with(add_row(tmp_path, kind))
    run = [check for check in CHECKS if check is not check_protocols or kind in LOOKED_AT_BY_RULES]
    assert [str(finding) for check in run for finding in check(knowledge)] == []


def test_sound_added_files_have_no_finding(tmp_path: Path) -> None:
    for kind, text in FILES.items():
        folder = add_file(tmp_path, kind, text)
    assert [str(finding) for finding in check_knowledge(read_with(folder))] == []


@pytest.mark.parametrize(("function", "name", "broken", "told"), BROKEN, ids=[f"{function}-{told}" for function, _, _, told in BROKEN])
def test_a_row_broken_in_one_place_is_found_by_its_check(
    function: str, name: str, broken: Callable[[Path], Path], told: str, tmp_path: Path
) -> None:
    knowledge = read_with(broken(tmp_path))
    findings = list(getattr(checks, function)(knowledge))
    assert findings
    for finding in findings:
        assert_whole(make_error(finding, knowledge))
    text = "\n".join(str(finding) for finding in findings if finding.check == name)
    assert told in text
    assert "sample" in text
    assert str(tmp_path) in text


# what is broken, what must stand in the line that the message names, what the message must say
LINES = [
    (condition("{item: alt, moves", "{item: altt, moves"), "item: altt", "Did you mean 'alt'?"),
    (condition("[tired, headache]", "[tired, hedache]"), "hedache", "Did you mean 'headache'?"),
    (condition("condition: hypothyroidism", "condition: hypothyroidsm"), "hypothyroidsm", "Did you mean 'hypothyroidism'?"),
    (condition("condition: hypothyroidism", "condition: cushing"), "look_alikes:", "1 look-alikes; expected: at least 2"),
    (condition("  - {id: head_first, opens_with: headache, then: [tired, dry_skin], tempo: weeks}\n", ""), "presentations:", "at least 3"),
    (condition("size: mild", "size: none"), "size: none", "a size where it moves"),
    (
        condition("clinical_review: none", "clinical_review: signed"),
        "clinical_review",
        "none or pending: a signature needs who signed and when",
    ),
    (drug("clinical_review: none", "clinical_review: signed"), "clinical_review", "Write none, or pending."),
    (drug("[5, 10, 20]", "[5, 20, 10]"), "ladder:", "10 after 20; expected: doses that rise from above 0; the full ladder: 5, 20, 10"),
    (drug("[5, 10, 20]", "[-5, 10, 20]"), "ladder:", "ladder[0]: found -5; allowed: 0 or more"),
    (drug("symptom: nausea", "symptom: nausia"), "symptom: nausia", "Did you mean 'nausea'?"),
    (drug("fact: egfr", "fact: egfrr"), "fact: egfrr", "Did you mean 'egfr'?"),
    (protocol("fact: potassium", "fact: potasium"), "fact: potasium", "an analyte, stream, finding or rule fact: "),
    (protocol("source: authored", "source: authord"), "authord", "an id of a source: "),
    (row("devices", source="authord"), "sample,", "Did you mean 'authored'?"),
    (row("parameters", status="recalled"), "sample,", "found recalled; expected: authored, as its source authored is authored"),
    (row("analytes", loinc="4548-5"), "sample,", "expected: 4548-4, with the right check digit"),
    (row("analytes", loinc="HbA1c"), "sample,", "digits, a dash, a check digit"),
    (row("findings", aliases="HbA1c"), "sample,", "'HbA1c'; expected: a name of its own: row hba1c of analytes.csv has it already"),
]


@pytest.mark.parametrize(("broken", "line", "told"), LINES, ids=[told[:40] for _, _, told in LINES])
def test_a_message_names_the_line_in_which_the_fault_stands(broken: Callable[[Path], Path], line: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError) as caught:
        load_with(broken(tmp_path))
    assert_whole(caught.value)
    assert told in str(caught.value)
    assert line in line_of(caught.value)


def test_a_pending_review_from_outside_is_taken(tmp_path: Path) -> None:
    folder = add_file(tmp_path, "drugs", DRUG, ("clinical_review: none", "clinical_review: pending"))
    assert load_with(folder).drugs["sample"].clinical_review == "pending"


def test_of_two_rows_with_one_name_the_added_one_is_wrong_whatever_its_kind(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="row hba1c of analytes.csv") as caught:
        load_with(add_row(tmp_path, "streams", aliases="HbA1c"))
    assert caught.value.where.startswith(str(tmp_path))


@pytest.mark.parametrize(
    "broken",
    [
        broken_rows.BROKEN[-1][2],
        *(pytest.param(table.BROKEN[-1][2], marks=pytest.mark.slow) for table in (broken_conditions, broken_drugs, broken_words)),
    ],
)
def test_a_folder_with_a_broken_row_is_refused(broken: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="sample"):
        load_knowledge(broken(tmp_path))


@pytest.mark.slow
def test_a_further_product_of_an_ingredient_shares_its_code_where_it_shares_no_indication(tmp_path: Path) -> None:
    same = load_knowledge().drugs["semaglutide"]
    product = DRUG.replace("ladder:", f'rxcui: "{same.rxcui}"\nladder:')
    kept = [line if not line.startswith("class:") else f"class: {same.drug_class}" for line in product.splitlines()]
    folder = add_file(tmp_path, "drugs", "\n".join(kept).replace("{obesity: 20}", "{hypertension: 20}"))
    assert load_knowledge(folder).drugs["sample"].rxcui == same.rxcui


SOUND_CELLS = [
    condition("icd10cm: Q99.9", "icd10cm: E05.00\nshares_code_with: [graves, hyperthyroidism]"),
    condition("icd10cm: Q99.9", "icd10cm: C7A.010"),
    drug("class: sample", "class: cholesterol absorption inhibitor"),
    drug("class: sample", "class: cholesterol absorber\nclass_is_new: true"),
    drug("dose_unit: mg", 'dose_unit: "[IU]"'),
    drug("dose_unit: mg", "dose_unit: mg/kg"),
    drug("item: hba1c, dose: 10, mean: -1, unit: pp", 'item: weight, dose: 10, mean: -60, unit: "%"'),
    drug("item: hba1c, dose: 10, mean: -1, unit: pp", 'item: ldl_c, dose: 10, mean: -99, unit: "%"'),
    drug("item: hba1c, dose: 10, mean: -1, unit: pp", 'item: ferritin, dose: 10, mean: 300, unit: "%"'),
    row("analytes", group="elbow_special"),
    row("analytes", group="lipids_special"),
    row("analytes", name_en="Potassium again"),
]


@pytest.mark.parametrize("sound", SOUND_CELLS, ids=range(len(SOUND_CELLS)))
def test_codes_classes_groups_units_sizes_and_names_that_are_right_have_no_finding(sound: Callable[[Path], Path], tmp_path: Path) -> None:
    knowledge = read_with(sound(tmp_path))
    run = (
        checks.check_icd_codes,
        checks.check_classes,
        checks.check_groups,
        checks.check_dose_units,
        checks.check_effects,
        checks.check_names,
    )
    assert [str(finding) for check in run for finding in check(knowledge)] == []


def test_only_these_diseases_of_the_package_share_a_code() -> None:
    owners: dict[str, list[str]] = {}
    for key, row_ in load_knowledge().conditions.items():
        owners.setdefault(row_.icd10cm, []).append(key)
    shared = {tuple(sorted(names)) for code, names in owners.items() if code and len(names) > 1}
    assert shared == {("fhh", "malignancy_hypercalcaemia"), ("graves", "hyperthyroidism"), ("lada", "pancreatogenic_dm")}


def test_every_check_has_a_row_that_fails_it() -> None:
    assert {check.__name__ for check in CHECKS} == {function for function, *_ in BROKEN}


@given(st.integers(min_value=1, max_value=9_999_999), st.integers(min_value=0, max_value=9))
def test_exactly_one_of_ten_check_digits_fits_a_loinc_number(number: int, digit: int) -> None:
    fitting = [d for d in range(10) if has_loinc_check_digit(f"{number}-{d}")]
    assert len(fitting) == 1
    assert has_loinc_check_digit(f"{number}-{digit}") == (digit == fitting[0])
