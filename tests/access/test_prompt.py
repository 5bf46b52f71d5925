from pathlib import Path

import pytest
from access_case import knowledge, make_item, pack

from clinworld.access.episodes import next_turn
from clinworld.access.prompt import OUTPUT_TOKENS, fill_template, load_template
from clinworld.core.canary import CANARY
from clinworld.core.digest import digest_value
from clinworld.core.errors import PackError
from clinworld.core.text import LANGUAGES, Language
from clinworld.packs.load import pack_names
from clinworld.schema.item import Item, item_to_row


def text(item: Item, episode: str = "single", probe_set: str = "none") -> str:
    turn = next_turn(item, pack(item.pack).pack, knowledge(), episode, probe_set, [])
    assert turn is not None
    return turn.prompt


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", pack_names())
def test_one_prompt_holds_record_question_contract_limits_and_what_this_is(name: str, language: Language) -> None:
    prompt = text(make_item(pack=name, language=language))
    said = {"en": ("synthetic", "evaluation", "medical advice"), "zh": ("合成", "评估", "医疗建议")}[language]
    for part in (*said, "<record>", "d84", "d365", str(OUTPUT_TOKENS), '"risk"', '"management_plan"', "clinician_review_required"):
        assert part in prompt, part
    for action in ("A0", "A1", "A2", "A3", "A4", "A5"):
        assert action in prompt.split("<record>")[0]
    listed = prompt.split("<drivers>\n")[1].split("\n</drivers>")[0].split("\n")
    assert [line.partition(": ")[0] for line in listed] == list(knowledge().drivers)
    assert "{{" not in prompt and CANARY not in prompt


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_threshold_rule_is_told_with_the_knowledge_rows_numbers(language: Language) -> None:
    rule = knowledge().outcomes["weight_regain"]
    prompt = text(make_item(language=language))
    for number in (
        f"{100 * rule.min_change_frac:g} %",
        f"{rule.min_change_kg:g} kg",
        f"{rule.persist_days} ",
        f" {rule.smoothing_readings} ",
    ):
        assert number in prompt


def test_appended_questions_leave_the_base_prompt_and_the_item_unchanged() -> None:
    item = make_item()
    before = digest_value(item_to_row(item) | {"record": ""})
    base, asked = text(item), text(item, probe_set="all")
    assert asked.startswith(base) and len(asked) > len(base)
    assert digest_value(item_to_row(item) | {"record": ""}) == before
    assert text(make_item(probes=())) == base == text(make_item(probes=()), probe_set="all")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_appended_question_names_the_field_its_answer_goes_into(language: Language) -> None:
    asked = text(make_item(language=language), probe_set="all")
    for field in ("`data_quality.premise_check`", "`data_quality.signal_quality.steps`", "`quant_answer`", "`no_data_in_window`", "2 %"):
        assert field in asked
    assert make_item().probes[0].claim.say(language) in asked  # type: ignore[union-attr]


def test_a_remark_is_told_only_where_it_is_due() -> None:
    assert "in which they were reported" not in text(make_item())
    assert "in which they were reported" in text(make_item(remarks=("symptoms_as_written",)))


def test_an_unknown_place_in_a_template_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(PackError, match=r"index_dya.*Did you mean 'index_day'"):
        fill_template("{{index_dya}}", {"index_day": 3})


def test_what_fills_a_place_is_not_filled_again_and_keeps_its_blank_lines() -> None:
    assert fill_template("<{{a}}>\n", {"a": "{{b}}\n\n\nx", "b": 1}) == "<{{b}}\n\n\nx>\n"


def test_a_part_stays_only_in_its_own_episode() -> None:
    template = "a\n{{#rounds}}\nb\n{{/rounds}}\nc\n"
    assert fill_template(template, {}, ("rounds",)) == "a\nb\nc\n"
    assert fill_template(template, {}, ("single",)) == "a\nc\n"


def test_a_missing_inclusion_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.en.md").write_text("{{> rules.en.md}}\n")
    (tmp_path / "rule.en.md").write_text("x")
    with pytest.raises(PackError, match=r"prompt\.en\.md, line 1: no file 'rules\.en\.md'.*Did you mean 'rule\.en\.md'"):
        load_template(tmp_path / "prompt.en.md")


def test_an_inclusion_is_looked_for_beside_the_pack_and_then_among_the_packages(tmp_path: Path) -> None:
    pack_folder = tmp_path / "mine"
    pack_folder.mkdir()
    prompt = pack_folder / "prompt.en.md"
    for written in ("forecast/frame.en.md", "../forecast/frame.en.md"):
        prompt.write_text(f"A\n{{{{> {written}}}}}\n")
        load_template.cache_clear()
        assert load_template(prompt).startswith("A\n") and len(load_template(prompt)) > 100
    (pack_folder / "forecast").mkdir()
    (pack_folder / "forecast" / "frame.en.md").write_text("own")
    prompt.write_text("{{> forecast/frame.en.md}}\n")
    load_template.cache_clear()
    assert load_template(prompt) == "own\n"


def test_a_missing_inclusion_names_the_prompt_and_its_line_and_a_circle_is_refused(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.en.md"
    prompt.write_text("A\nB\n{{> ../forecast/frme.en.md}}\n")
    with pytest.raises(PackError, match=r"prompt\.en\.md, line 3: no file.*Did you mean 'forecast/frame\.en\.md'"):
        load_template(prompt)
    (tmp_path / "a.md").write_text("x\n{{> b.md}}\n")
    (tmp_path / "b.md").write_text("{{> a.md}}\n")
    with pytest.raises(PackError, match=r"b\.md, line 1: the inclusion 'a\.md'; a file does not include itself"):
        load_template(tmp_path / "a.md")
