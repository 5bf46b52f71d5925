import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_case import AGENT, add_agent, change_evaluations, clean, clean_page, collect, copy_batch, original, page

from clinworld.core.canary import CANARY
from clinworld.core.store import read_rows, write_lines
from clinworld.gates.run_gates import gate_names as check_names
from clinworld.judges.mount import find_judge, gate_names, judge_names
from clinworld.report.page import print_number, render_page
from clinworld.report.wording import make_visible, report_labels, say, say_reason
from clinworld.run.batch_files import EVAL, GOLD, Batch
from clinworld.schema.cell import Evaluation
from clinworld.schema.verdict import unmeasured, unscored

HOSTILE = (
    "</pre><script>alert('x')</script><img src=x onerror=alert(2)> {{ 7*7 }} {% raw %} \u202egnp.exe\u2066 \x00 \x1b[31m " + "A" * 3_000_000
)
CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uff01-\uff5e\u3001\u3002]")
ENGLISH_WORDS = re.compile(r"[A-Za-z][a-z]+(?:[ ,]+[A-Za-z]?[a-z]+){3,}")


class _Reader(HTMLParser):
    """The words of a page, without what is shown as delivered, replied, written by an author, or marked as another language."""

    VOID = frozenset({"meta", "br", "img", "link", "path", "rect", "circle", "polyline"})
    QUOTED = frozenset({"pre", "bdi", "code", "style"})

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.quoted: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in self.VOID:
            return
        marked = tag in self.QUOTED or ("lang" in dict(attrs) and tag != "html")
        self.quoted.append(marked or (self.quoted[-1] if self.quoted else False))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            self.quoted.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and not (self.quoted and self.quoted[-1]):
            self.words.append(data.strip())


def read(text: str) -> _Reader:
    reader = _Reader()
    reader.feed(text)
    return reader


def test_page_is_one_file_that_asks_the_network_for_nothing_and_runs_no_script() -> None:
    text = clean_page("en")
    tags = set(read(text).tags)
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    assert "http:" not in text and "https:" not in text and "@import" not in text
    assert set(re.findall(r"url\([^)]*\)", text)) <= {f"url(#hp1{part}{n})" for part in "ab" for n in range(1, 9)}
    assert CANARY in text


def test_hostile_agent_text_is_shown_inert_and_shortened(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, HOSTILE, name="evil\u202e:<b>agent</b>")
    text = page(batch)
    assert "&lt;script&gt;alert(" in text and "<script" not in text and "<img" not in text and "<b>agent" not in text
    assert "{{ 7*7 }}" in text and "{% raw %}" in text
    assert "&lt;U+202E&gt;" in text and "\u202e" not in text and "\u2066" not in text and "\x00" not in text and "\x1b" not in text
    assert len(text) - len(clean_page("en")) < 60_000
    assert "more characters left out" in text


@pytest.mark.slow
def test_page_has_the_same_bytes_when_rendered_twice_and_for_any_order_of_rows(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    first = clean_page("en")
    assert page(Batch(original()[1])) == first
    rows = list(read_rows(batch.path(EVAL)))
    write_lines(batch.path(EVAL), rows[::-1])
    assert page(batch) == first


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_declared_gate_has_a_row_and_no_other_gate_has_one(language: str) -> None:
    content, text = clean(language), clean_page(language)  # type: ignore[arg-type]
    section = text[text.index('id="p1-gates"') : text.index('id="p1-probes"')]
    pack = content.parts[0].pack
    declared = (*pack.hard_gates, *pack.propensity_gates, *pack.reported_gates)
    rows = re.findall(r'<th scope="row">([^<]*)<small>', section.split("<details>")[0])
    assert rows == [say(f"gate:{name}", language) for name in declared]  # type: ignore[arg-type]
    undeclared = [name for name in gate_names() if name not in declared]
    assert undeclared and not any(say(f"gate:{name}", language) in section for name in undeclared)  # type: ignore[arg-type]


def test_a_gate_that_never_had_anything_to_stop_says_so() -> None:
    text = clean_page("en")
    row = text[text.index(say("gate:missed_emergency_red_flag", "en")) :]
    assert "cannot fire here" in row[: row.index("</tr>")]


def test_no_cell_is_empty_and_what_was_not_measured_is_a_word_with_its_reason(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)

    def hide(row: Evaluation) -> Evaluation:
        if row.cell.agent != AGENT:
            return row
        return replace(row, verdicts=tuple(unmeasured(v.name, "no risk was stated") if v.name == "direction" else v for v in row.verdicts))

    add_agent(batch, "{}")
    change_evaluations(batch, hide)
    text = page(batch)
    assert not re.search(r"<td[^>]*>\s*</td>", text)
    row = text[text.index(f"<bdi>{AGENT}</bdi>") :]
    row = row[: row.index("</tr>")]
    assert "unmeasured" in row and 'title="nothing was measured"' in row


def test_unscored_and_unanswered_cells_are_named_and_make_the_report_not_final(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, "", state="unanswered", cause="empty")

    def fail(row: Evaluation) -> Evaluation:
        broken = row.cell.agent == "control:oracle"
        return replace(
            row,
            verdicts=tuple(unscored(v.name, "judge direction failed: x") if v.name == "direction" and broken else v for v in row.verdicts),
        )

    change_evaluations(batch, fail)
    content = collect(batch)
    text = render_page(content)
    assert "3 empty reply" in text
    assert any("unscored" in line for line in content.incomplete) and say("sum:incomplete", "en") in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_says_that_it_is_synthetic_no_advice_unreviewed_and_what_its_numbers_cannot_tell(language: str) -> None:
    text = clean_page(language)  # type: ignore[arg-type]
    for label in (
        "warning:synthetic",
        "warning:evaluation",
        "warning:advice",
        "warning:reviewed",
        "limit:judge",
        "limit:sampling",
        "about:weak",
    ):
        assert say(label, language) in text, label  # type: ignore[arg-type]
    assert say("about:knowledge", language, resting=3, items=3) in text  # type: ignore[arg-type]


def test_english_page_holds_no_chinese() -> None:
    found = [words for words in read(clean_page("en")).words if CJK.search(words)]
    assert found == []


def test_chinese_page_holds_no_unmarked_english_sentence(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, "{}")
    words = read(page(batch, language="zh")).words
    found = [text for text in words if ENGLISH_WORDS.search(text)]
    assert found == []
    assert sum(bool(CJK.search(text)) for text in words) > 200


def test_every_label_is_said_in_both_languages() -> None:
    for label, wording in report_labels()._rows.items():
        assert wording.en and wording.zh, label
        assert not CJK.search(wording.en), label
        assert set(re.findall(r"\{(\w+)\}", wording.en)) - {"space"} == set(re.findall(r"\{(\w+)\}", wording.zh)) - {"space"}, label


def test_every_judge_and_gate_there_is_has_a_name_for_readers() -> None:
    verdicts = [name for judge in judge_names() for name in find_judge(judge).DECLARES.outputs]
    wanted = [f"verdict:{name}" for name in verdicts] + [f"verdict:{name}:what" for name in verdicts]
    wanted += [f"gate:{name}" for name in gate_names()] + [f"gate:{name}:what" for name in gate_names()]
    wanted += [f"item_gate:{name}" for name in check_names("item")] + [f"batch_gate:{name}" for name in check_names("batch")]
    assert [label for label in wanted if label not in report_labels()] == []


def test_page_without_gold_says_so_and_draws_nobody(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    batch.path(GOLD).unlink()
    content = collect(batch)
    text = render_page(content)
    assert say("patients:none", "en") in text and 'class="truth" points' not in text
    assert "early_warning: gold missing" in content.incomplete


@pytest.mark.slow
def test_page_of_a_batch_that_was_not_run_shows_patients_and_says_that_nothing_was_run(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    batch.path(EVAL).unlink()
    content = collect(batch)
    text = render_page(content)
    assert say("scores:none", "en") in text and 'class="truth" points' in text
    assert content.incomplete == ("early_warning: nothing was run",)


def test_controls_and_oracles_stand_in_blocks_of_their_own_and_are_never_ranked(tmp_path: Path) -> None:
    batch = copy_batch(tmp_path)
    add_agent(batch, "{}")
    text = page(batch)
    places = [text.index(f"<span>{say(f'group:{name}', 'en')}</span>") for name in ("ranked", "control", "oracle")]
    assert places == sorted(places)
    assert (
        text.index(f"<bdi>{AGENT}</bdi>")
        < places[1]
        < text.index('title="control:slope_rule"')
        < places[2]
        < text.index('title="control:oracle"')
    )


def test_both_rates_of_the_false_premise_question_stand_apart() -> None:
    text = clean_page("en")
    section = text[text.index('id="p1-probes"') :]
    gold = Batch(original()[1]).gold_rows().values()
    asked = {probe.variant for row in gold for probe in row.probes if probe.kind == "false_premise"}
    assert asked and all(say(f"variant:false_premise:{variant}", "en") in section for variant in asked)


@pytest.mark.parametrize(("value", "text"), [(0.0, "0.00"), (-0.0, "0.00"), (-0.004, "0.00"), (-0.25, "\u22120.25"), (1, "1.00")])
def test_numbers_are_printed_with_their_decimals_and_an_honest_sign(value: float, text: str) -> None:
    assert print_number(value) == text


def test_a_number_that_was_not_measured_cannot_be_printed() -> None:
    with pytest.raises(AssertionError):
        print_number(None)


def test_unseen_characters_are_written_out_and_plain_text_stays() -> None:
    assert make_visible("a\u200bb\ufeff\u00ad") == "a<U+200B>b<U+FEFF><U+00AD>"
    assert make_visible("caf\u00e9 \u4f53\u91cd \U0001f600\tx\n") == "caf\u00e9 \u4f53\u91cd \U0001f600\tx\n"


def test_a_known_reason_is_said_natively_and_an_unknown_one_is_marked_as_english() -> None:
    assert say_reason("too few items: 3 of at least 20", "zh").is_native
    assert CJK.search(say_reason("always low", "zh").text)
    unknown = say_reason("the moon was full", "zh")
    assert (unknown.text, unknown.is_native) == ("the moon was full", False)
    assert say_reason("the moon was full", "en").is_native


def test_a_refused_case_and_its_numbers_are_told_in_the_language_of_the_page() -> None:
    english, chinese = (text[text.index('id="p1-refused"') :] for text in (clean_page("en"), clean_page("zh")))
    numbers = re.findall(r"\d+(?:\.\d+)?", english[english.index("latent.distractor_level") :].split("</p>")[0])
    said = chinese[chinese.index("latent.distractor_level") :].split("</p>")[0]
    assert len(numbers) >= 4 and sorted(re.findall(r"\d+(?:\.\d+)?", said)) == sorted(numbers)
    assert "lang=" not in said and CJK.search(said) and not ENGLISH_WORDS.search(said)
    assert not CJK.search(english.split("</table>")[0])
