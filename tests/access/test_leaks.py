from dataclasses import replace

import pytest
from access_case import INDEX_DAY, knowledge, make_item, pack

from clinworld.access.episodes import next_turn
from clinworld.access.leaks import WORDS, check_delivery
from clinworld.core.canary import CANARY
from clinworld.core.tables import load_csv
from clinworld.core.text import LANGUAGES, Wording
from clinworld.schema.item import Item
from clinworld.schema.record import Note


def prompt(item: Item, probe_set: str = "all") -> str:
    turn = next_turn(item, pack(item.pack).pack, knowledge(), "single", probe_set, [])
    assert turn is not None
    return turn.prompt


def findings(text: str, item: Item | None = None, **options: object) -> list[str]:
    return [str(each) for each in check_delivery(text, item=item or make_item(), day=INDEX_DAY, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["early_warning", "tracking_review"])
def test_our_own_prompts_pass_the_guard(language: str, name: str) -> None:
    item = make_item(language=language, pack=name, remarks=("symptoms_as_written",))
    assert findings(prompt(item), item) == []


@pytest.mark.parametrize("row", load_csv(WORDS, ("word", "language", "scope", "why")), ids=lambda row: row["word"])
def test_each_forbidden_word_is_found_where_it_may_not_stand(row: dict[str, str]) -> None:
    place = "Mild headache in the evening." if row["scope"] == "notes" else "## Notes"
    planted = prompt(make_item()).replace(place, f"{place} {row['word']}", 1)
    assert any(repr(row["word"]) in each for each in findings(planted))


def test_a_harmless_word_that_merely_contains_one_passes() -> None:
    text = prompt(make_item()).replace("Mild headache in the evening.", "Regained my ring, golden, at the goldsmith; translatent.")
    assert findings(text) == []


def test_an_outcome_word_may_stand_in_the_question_but_not_in_a_note() -> None:
    assert "regain" in prompt(make_item()).lower()
    assert findings(prompt(make_item()).replace("Two weeks of visitors", "Afraid of regain, visitors"))


@pytest.mark.parametrize("planted", ["d85: 91.0", "d0 5.6, d85 5.4", "[x1] d90 symptom: tired"])
def test_a_day_after_the_last_day_shown_is_found(planted: str) -> None:
    late = findings(prompt(make_item()).replace("## Notes\n", f"## Notes\n{planted}\n"))
    assert len(late) == 1 and "leak_day" in late[0]
    assert findings(prompt(make_item()).replace("## Notes\n", "## Notes\nd84: 91.0\n")) == []


def test_a_window_that_ends_after_the_day_shown_may_stand_in_the_question() -> None:
    assert "d365" in prompt(make_item())


def test_a_number_in_a_patients_words_is_no_day() -> None:
    note = Note("q7f2", 12, "patient_reported_symptom", Wording("Took vitamin d3000 : once.", "Took vitamin d3000 : once."), None)
    item = make_item(record=replace(make_item().record, notes=(note,)))
    assert findings(prompt(item), item) == []


@pytest.mark.parametrize("name", ["poor_medication_adherence", "sleep decline"])
def test_a_cause_stated_in_the_record_is_found_and_the_list_of_allowed_ones_is_not(name: str) -> None:
    text = prompt(make_item())
    assert f"\n{name.replace(' ', '_')}\n" in text
    assert [each for each in findings(text.replace("Two weeks of visitors", name)) if "leak_driver" in each]


def test_every_cause_is_found_by_id_and_in_the_words_of_the_prompt() -> None:
    for language in LANGUAGES:
        item = make_item(language=language)
        text = prompt(item)
        for row in knowledge().drivers.values():
            for form in (row.id, row.id.replace("_", " "), *([row.names.zh] if language == "zh" else [])):
                planted = text.replace("</record>", f"[z9] d3 x: {form}\n</record>")
                assert any("leak_driver" in each for each in findings(planted, item)), form


def test_no_everyday_event_of_the_knowledge_names_a_cause() -> None:
    for language in LANGUAGES:
        item = make_item(language=language)
        text = prompt(item)
        told = "\n".join(f"[z{i}] d3 x: {row.text.say(language)}" for i, row in enumerate(knowledge().events.values()))
        assert [each for each in findings(text.replace("</record>", f"{told}\n</record>"), item) if "leak" in each] == []


def test_further_forbidden_strings_are_found_whole_or_in_part_unless_they_are_short() -> None:
    text = prompt(make_item())
    assert findings(text + " xxEWX-0001yy", forbidden=["EWX-0001"])
    assert findings(text + " case A1B.", forbidden=["A1B"])
    assert not findings(text + " caseA1Bs", forbidden=["A1B"])


def test_the_canary_is_found_in_a_prompt() -> None:
    assert any("clinworld canary" in each for each in findings(prompt(make_item()) + CANARY))


def test_text_of_the_other_language_is_found() -> None:
    english, chinese = make_item(), make_item(language="zh")
    assert any("wrong_language" in each for each in findings(prompt(english).replace("no fever", "没有发热"), english))
    assert any("wrong_language" in each for each in findings(prompt(chinese).replace("没有发热", "no fever at all"), chinese))


def test_words_kept_as_the_author_wrote_them_are_no_wrong_language() -> None:
    note = Note("q7f2", 12, "patient_reported_symptom", Wording("傍晚有点头痛", "傍晚有点头痛"), None, True)
    item = make_item(record=replace(make_item().record, notes=(note,)), remarks=("symptoms_as_written",))
    assert findings(prompt(item), item) == []


def test_complaints_that_hold_one_another_in_the_authors_language_are_no_wrong_language() -> None:
    texts = ("恶心", "轻度恶心", "夜里轻度恶心", "轻度")
    notes = tuple(
        Note(f"E00000{i}", i, "patient_reported_symptom", Wording(text, text), None, is_as_written=True)
        for i, text in enumerate(texts, start=1)
    )
    item = make_item(record=replace(make_item().record, notes=notes))
    assert findings(prompt(item), item) == []
