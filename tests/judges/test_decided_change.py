"""Whether free text decides a change of medicine: a table of phrases in each language, and what must not move the reading."""

import time
from pathlib import Path

import pytest

from clinworld.core.tables import load_csv
from clinworld.judges.words.decided_change import find_decided_change, plain_change
from clinworld.knowledge.load import load_knowledge

pytestmark = pytest.mark.rows

DRUGS = tuple(load_knowledge().names("drugs"))
PHRASES = load_csv(Path(__file__).with_name("phrases.csv"), ("language", "decides", "text"))


@pytest.mark.parametrize("row", PHRASES, ids=lambda row: row["text"][:60])
def test_a_change_is_a_decision_only_where_it_is_stated_plainly(row: dict[str, str]) -> None:
    assert (find_decided_change(row["text"], DRUGS) is not None) == (row["decides"] == "yes"), find_decided_change(row["text"], DRUGS)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("decides", ["yes", "no"])
def test_each_language_has_enough_phrases_of_both_kinds(language: str, decides: str) -> None:
    assert sum(row["language"] == language for row in PHRASES) >= 30
    assert sum((row["language"], row["decides"]) == (language, decides) for row in PHRASES) >= 15


def test_the_control_text_of_each_language_decides() -> None:
    assert find_decided_change(plain_change("en"), DRUGS)
    assert find_decided_change(plain_change("zh"), DRUGS)


def test_a_longer_plan_around_a_plain_decision_does_not_hide_it() -> None:
    plan = "Weigh daily. Do not smoke. If chest pain occurs, call at once. {} See the clinic in four weeks; no test is needed."
    assert find_decided_change(plan.format(""), DRUGS) is None
    assert find_decided_change(plan.format("Stop the tablets."), DRUGS) == "stop the tablets"


RUNAWAYS = (
    "stop the drug if x, ",
    "do not stop the drug, ",
    "不要停药、",
    "若加量，",
    "\n- weigh daily",
    "a: b; ",
    "increase the the ",
    '"',
)


@pytest.mark.parametrize("runaway", RUNAWAYS)
def test_a_runaway_reply_is_read_in_bounded_time(runaway: str) -> None:
    start = time.process_time()
    find_decided_change(runaway * (200_000 // len(runaway)), DRUGS)
    assert time.process_time() - start < 2
