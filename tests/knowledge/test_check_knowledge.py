"""Every cross-file check passes on the package and on a sound added row, and fails on a row broken in one place."""

from collections.abc import Callable
from pathlib import Path

import broken_conditions
import broken_drugs
import broken_rows
import broken_words
import pytest
from extra_rows import DRUG, FILES, SOUND, add_file, add_row, read_with
from hypothesis import given
from hypothesis import strategies as st

from clinworld.core.errors import KnowledgeError
from clinworld.knowledge import check as checks
from clinworld.knowledge.check import CHECKS, check_knowledge
from clinworld.knowledge.check_names import has_loinc_check_digit
from clinworld.knowledge.check_rules import check_protocols
from clinworld.knowledge.load import load_knowledge

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
    findings = list(getattr(checks, function)(read_with(broken(tmp_path))))
    assert findings
    text = "\n".join(str(finding) for finding in findings if finding.check == name)
    assert told in text
    assert "sample" in text
    assert str(tmp_path) in text


@pytest.mark.parametrize("broken", [table.BROKEN[-1][2] for table in (broken_rows, broken_conditions, broken_drugs, broken_words)])
def test_a_folder_with_a_broken_row_is_refused(broken: Callable[[Path], Path], tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="sample"):
        load_knowledge(broken(tmp_path))


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
