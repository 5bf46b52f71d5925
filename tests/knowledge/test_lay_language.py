"""What patients say, in both languages: each claim of the audit holds of the package, and fails on knowledge broken in one place."""

from collections.abc import Callable
from pathlib import Path

import pytest
from break_rows import both, condition, row
from broken_words import BROKEN, SAID_EN, SAID_ZH
from extra_rows import ZH, read_package, read_with
from lay_audit import CLAIMS, Claim, check_shared_wordings, deciding_pairs

FEWEST = {
    **{"deciding_symptoms": 90, "pairs": 300, "symptoms": 300, "wordings_en": 1200, "wordings_zh": 1200},
    **{"conditions": 103, "look_alikes": 206, "presentations": 309, "benign_events": 90, "life_events": 25},
}
FACE = read_package().symptoms["rounder_face"].wordings
HAS_SAMPLE = condition("symptom: dry_skin, role", "symptom: sample, role", "[tired, dry_skin]", "[tired, sample]")


def says(**cells: str) -> Callable[[Path], Path]:
    """Adds a disease that lacks rounder_face, which decides between it and another, and says it all the same."""
    return both(row("symptoms", **cells), HAS_SAMPLE)


# the claim's first words, what is broken, what the finding must name
CONTROLS = [
    ("no wording shared", says(wordings_en=SAID_EN.replace("My elbows are like ice", FACE.en[0])), "a wording of rounder_face alone"),
    ("no wording shared", says(wordings_zh=SAID_ZH.replace(ZH["say_one"], FACE.zh[0])), "a wording of rounder_face alone"),
    ("the words are native", row("symptoms", wordings_en=SAID_EN.replace("My elbows are like ice", ZH["say_two"])), "English text"),
    ("the words are native", row("symptoms", wordings_zh=SAID_ZH.replace(ZH["say_one"], "My elbows are like ice")), "Chinese text"),
    ("the words are native", row("symptoms", wordings_zh=SAID_ZH.replace(ZH["say_one"], ZH["pregnant"])), "sex F in the row"),
    ("every condition has", condition("condition: hypothyroidism", "condition: cushing"), "1 look-alikes"),
    (
        "every condition has",
        condition("  - {id: head_first, opens_with: headache, then: [tired, dry_skin], tempo: weeks}\n", ""),
        "2 presentations",
    ),
    ("no everyday event", row("events", text_en="Chest pain after lunch"), "red_flag_words.csv"),
    ("no everyday event", row("events", text_zh=ZH["chest_pain"]), "red_flag_words.csv"),
    *(("no name or alias", broken, told) for function, _, broken, told in BROKEN if function == "check_wordings_name_nothing"),
    *(("every symptom has", broken, told) for function, _, broken, told in BROKEN if function == "check_wording_counts"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_the_claim_holds_of_the_whole_package(claim: Claim) -> None:
    knowledge = read_package()
    assert [str(finding) for check in claim.checks for finding in check(knowledge)] == []
    assert all(count >= FEWEST[what] for what, count in claim.counts(knowledge).items())


@pytest.mark.parametrize(("begins", "broken", "told"), CONTROLS, ids=[f"{begins}-{told}" for begins, _, told in CONTROLS])
def test_the_claim_fails_on_knowledge_broken_in_one_place(begins: str, broken: Callable[[Path], Path], told: str, tmp_path: Path) -> None:
    [claim] = [each for each in CLAIMS if each.text.startswith(begins)]
    knowledge = read_with(broken(tmp_path))
    findings = [str(finding) for check in claim.checks for finding in check(knowledge)]
    assert any(told in text and "sample" in text for text in findings), findings


def test_every_claim_has_a_control_that_fails() -> None:
    begun = {begins for begins, _, _ in CONTROLS}
    assert all(any(claim.text.startswith(begins) for begins in begun) for claim in CLAIMS)


def test_the_control_that_shares_a_wording_is_sound_but_for_it(tmp_path: Path) -> None:
    knowledge = read_with(says()(tmp_path))
    assert ("rounder_face", "cushing", "sample") in list(deciding_pairs(knowledge))
    assert list(check_shared_wordings(knowledge)) == []
