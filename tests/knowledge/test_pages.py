"""The reference pages: one for each row in both languages, saying all of it, linked to each other, written whole or not at all."""

import re
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from extra_rows import DRUG, FILES, FOLDER, ZH, add_file, add_row, read_package, read_with

from clinworld.cli.main import main
from clinworld.core.errors import StoreError
from clinworld.core.text import LANGUAGES, Language
from clinworld.knowledge.alarm_limits import find_alarms
from clinworld.knowledge.markdown import escape, escape_heading
from clinworld.knowledge.page_text import Book
from clinworld.knowledge.pages import PAGE_KINDS, build_pages, write_pages
from clinworld.knowledge.places import entries_of
from clinworld.knowledge.reference_change import reference_change_pct
from clinworld.knowledge.related import relate

pytestmark = pytest.mark.rows

FEW = {"index.md": "# Index\n", "drugs/one.md": "# One\n"}
CPU_LIMIT_S = 3.0


@lru_cache(maxsize=2)
def pages_in(language: Language) -> dict[str, str]:
    return build_pages(read_package(), language)


def files_in(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_row_has_a_page_with_its_name_and_the_index_leads_to_it(language: Language) -> None:
    knowledge, pages = read_package(), pages_in(language)
    expected = [f"{kind}/{name}.md" for kind in PAGE_KINDS for name in knowledge.table(kind)]
    assert list(pages) == ["index.md", *expected]
    for kind in PAGE_KINDS:
        for name, row in knowledge.table(kind).items():
            path = f"{kind}/{name}.md"
            names = row.text if kind == "events" else row.names
            assert pages[path].startswith(f"# {escape_heading(names.say(language))}\n"), path
            assert f"]({path})" in pages["index.md"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_link_leads_to_a_page(language: Language) -> None:
    pages = pages_in(language)
    links = 0
    for path, text in pages.items():
        for target in re.findall(r"\]\(([^)]+\.md)\)", text):
            assert (target.removeprefix("../") if path != "index.md" else target) in pages, f"{path} links to {target}"
            links += 1
    assert links > 3 * len(pages)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.slow
def test_a_page_cites_the_source_of_its_row_and_of_everything_in_it_with_the_status(language: Language) -> None:
    knowledge, book = read_package(), Book(read_package(), language)
    for kind in PAGE_KINDS:
        for name, row in knowledge.table(kind).items():
            text = pages_in(language)[f"{kind}/{name}.md"]
            for claim in (row, *(entry.row for entry in entries_of(kind, row))):
                number = re.search(rf"^- \[(\d+)\] {re.escape(escape(knowledge.sources[claim.source].citation))} · ", text, re.MULTILINE)
                assert number, f"{kind}/{name}: {claim.source}"
                status = book.word("status", claim.status)
                assert book.say("page.cite", number=number[1], status=status) in text, f"{kind}/{name}: {claim.source} {claim.status}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_disease_shows_its_words_look_alikes_red_flags_traps_and_shares(language: Language) -> None:
    knowledge, book = read_package(), Book(read_package(), language)
    for name, row in knowledge.conditions.items():
        text = pages_in(language)[f"conditions/{name}.md"]
        said = [escape(wording) for entry in row.symptoms for wording in book.wordings(entry.symptom)]
        said += [escape(alike.discriminator.say(language)) for alike in row.look_alikes]
        said += [escape(flag.text.say(language)) for flag in row.red_flags] + [escape(trap.say(language)) for trap in row.traps]
        said += [f"| `{each.id}` |" for each in row.presentations] + [book.share(each.share, each.share) for each in row.prevalence]
        said += [book.item(each.item) for each in row.findings] + [book.link("conditions", each.condition) for each in row.look_alikes]
        assert not [each for each in said if each not in text], name


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_drug_shows_steps_effects_harms_limits_and_partners_with_their_units(language: Language) -> None:
    knowledge, book = read_package(), Book(read_package(), language)
    for name, row in knowledge.drugs.items():
        text = pages_in(language)[f"drugs/{name}.md"]
        said = [book.listed(book.measure(step, row.dose_unit) for step in row.ladder)]
        said += [f"| {book.measure(each.mean, each.unit, is_signed=True)} |" for each in row.effects]
        said += [book.share(each.share_low, each.share_high) for each in row.adverse_effects]
        said += [book.limit(each, book.unit_of(each.item)) for each in row.contraindications if each.item]
        said += [escape(each.effect.say(language)) for each in row.interactions]
        said += [f"{book.item(each.item)}" for each in row.monitoring] + [book.link("conditions", each) for each, _ in row.indications]
        assert not [each for each in said if each not in text], name


@pytest.mark.slow
def test_every_word_of_a_closed_list_has_a_label_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    unlabelled = set()
    say_word = Book.word

    def word(book: Book, group: str, name: str) -> str:
        if f"{group}.{name}" not in book.labels:
            unlabelled.add(f"{group}.{name}")
        return say_word(book, group, name)

    monkeypatch.setattr(Book, "word", word)
    build_pages(read_package(), "en")
    assert unlabelled == set()
    assert Book(read_package(), "en").word("class", "elbow_antibody") == "elbow antibody", "the control: a class from outside"


@pytest.mark.slow
def test_a_chinese_page_is_chinese_and_an_english_page_english() -> None:
    heads = {language: re.findall(r"^## (.+)$", "".join(pages_in(language).values()), re.MULTILINE) for language in LANGUAGES}
    assert not [head for head in heads["en"] if re.search(r"[\u3400-\u9fff]", head)]
    assert not [head for head in heads["zh"] if not re.search(r"[\u3400-\u9fff]", head)]


def test_a_value_reads_as_a_clinician_writes_it() -> None:
    english, chinese = (Book(read_package(), language) for language in LANGUAGES)
    assert english.measure(-1.12, "pp", is_signed=True) == "-1.12 percentage points"
    assert english.range(1, 28, "d") == "1 to 28 days" and chinese.ages(18, None).startswith("≥18")
    assert english.range(None, 5, "mmol/L") == "at most 5 mmol/L"
    assert english.share(None, None) == "not known" and english.share(0.1, 0.2) == "10 to 20%"
    assert english.listed(["a", "", "b"]) == "a, b" and english.listed([]) == ""


@pytest.mark.slow
def test_a_row_from_outside_has_a_page_that_says_where_it_stands(tmp_path: Path) -> None:
    pages = build_pages(read_with(add_row(tmp_path, "tests")), "en")
    assert f"Row: `{tmp_path / 'tests.csv'} (sample)`; it was added" in pages["tests/sample.md"]
    assert "src/clinworld/knowledge" not in pages["tests/sample.md"] and "src/clinworld/knowledge" in pages["tests/alt.md"]
    assert "](tests/sample.md)" in pages["index.md"]
    assert "](../tests/sample.md)" in pages["analytes/alt.md"], "what it measures leads to it"


def test_pages_written_again_replace_the_earlier_ones_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "pages"
    write_pages(folder, FEW)
    assert files_in(folder).keys() == {*FEW, "clinworld-pages.txt"}
    write_pages(folder, {"index.md": "# Index again\n", "tests/two.md": "# Two\n"})
    assert files_in(folder).keys() == {"index.md", "tests/two.md", "clinworld-pages.txt"}
    assert files_in(folder)["index.md"] == "# Index again\n"
    assert [path.name for path in folder.parent.iterdir()] == ["pages"]


@pytest.mark.parametrize("foreign", ["mine.txt", "drugs/mine.md", ".hidden"])
def test_a_folder_that_holds_something_else_is_left_as_it_is(foreign: str, tmp_path: Path) -> None:
    write_pages(tmp_path, FEW)
    (tmp_path / foreign).write_text("mine", encoding="utf-8")
    before = files_in(tmp_path)
    with pytest.raises(StoreError, match=re.escape(repr(foreign))):
        write_pages(tmp_path, FEW)
    assert files_in(tmp_path) == before


def test_what_cannot_be_written_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    impossible = {**FEW, f"drugs/{'long' * 100}.md": ""}
    with pytest.raises(StoreError, match="cannot be written"):
        write_pages(tmp_path / "fresh", impossible)
    assert list(tmp_path.iterdir()) == []
    write_pages(tmp_path / "earlier", FEW)
    before = files_in(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        write_pages(tmp_path / "earlier", {**impossible, "index.md": "# Another\n"})
    assert files_in(tmp_path) == before


def test_of_two_runs_that_write_one_folder_the_second_is_told_so_and_leaves_it_alone(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    write_pages(folder, FEW)
    begun: list[StoreError] = []

    class Slow(dict[str, str]):
        """Pages during whose writing another run begins."""

        def items(self) -> Any:
            with pytest.raises(StoreError, match="another clinworld run is writing pages here") as caught:
                write_pages(folder, {"index.md": "# The second\n"})
            begun.append(caught.value)
            return super().items()

    write_pages(folder, Slow({"index.md": "# The first\n"}))
    assert begun and begun[0].do.startswith("Wait for it to end")
    assert files_in(folder)["index.md"] == "# The first\n"
    write_pages(folder, FEW)
    assert files_in(folder).keys() == {*FEW, "clinworld-pages.txt"}, "the lock is gone and has left nothing"


def leave(folder: Path, *moved: str) -> Path:
    """What a run leaves that is killed while it puts pages in place: some earlier ones moved aside, some new ones not there yet."""
    left = folder / ".pages-abc"
    (left / "made").mkdir(parents=True)
    (left / "replaced").mkdir()
    (left / "made" / "index.md").write_text("# Half\n", encoding="utf-8")
    for name in moved:
        (folder / name).rename(left / "replaced" / name)
    return left


@pytest.mark.parametrize("moved", [(), ("drugs",), ("clinworld-pages.txt", "drugs"), ("clinworld-pages.txt", "drugs", "index.md")])
def test_what_a_stopped_run_left_is_taken_away_by_the_next(moved: tuple[str, ...], tmp_path: Path) -> None:
    write_pages(tmp_path, FEW)
    leave(tmp_path, *moved)
    write_pages(tmp_path, FEW)
    assert files_in(tmp_path).keys() == {*FEW, "clinworld-pages.txt"}
    assert not list(tmp_path.glob(".pages-*"))


def test_what_a_stopped_run_left_beside_something_else_stays_and_so_does_a_folder_only_called_alike(tmp_path: Path) -> None:
    write_pages(tmp_path, FEW)
    left = leave(tmp_path)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match=r"'mine\.txt'"):
        write_pages(tmp_path, FEW)
    assert left.is_dir()
    (tmp_path / "mine.txt").rename(left / "mine.txt")
    with pytest.raises(StoreError, match=r"mine\.txt"):
        write_pages(tmp_path, FEW)
    assert (left / "mine.txt").is_file()


def test_no_pages_are_written_inside_a_folder_of_pages(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages", FEW)
    for inside in ("extra", "drugs/extra"):
        with pytest.raises(StoreError, match="lies in .*pages, which holds pages"):
            write_pages(tmp_path / "pages" / inside, FEW)
    assert files_in(tmp_path / "pages").keys() == {*FEW, "clinworld-pages.txt"}
    write_pages(tmp_path / "beside", FEW)


RELATED = [
    ("stroke_tia", "triage_stroke_signs"),
    *(("pe", f"triage_{name}") for name in ("chest_pain", "dyspnoea", "leg_swelling")),
    *(("dka", name) for name in ("ketone_alarm", "glucose_alarm", "triage_hyperglycaemia")),
    *(("rhabdomyolysis", name) for name in ("triage_muscle_pain_on_statin", "titrate_statin")),
    *(("ckd", name) for name in ("kidney_alarm", "creatinine_change", "titrate_sglt2i", "titrate_metformin")),
    *(("type_2_diabetes", name) for name in ("titrate_metformin", "hba1c_change", "triage_foot_in_diabetes")),
]


@pytest.mark.parametrize(("condition", "protocol"), RELATED)
def test_a_disease_and_what_the_rules_say_of_it_lead_to_each_other(condition: str, protocol: str) -> None:
    pages = pages_in("en")
    assert f"](../protocols/{protocol}.md)" in pages[f"conditions/{condition}.md"]
    assert f"](../conditions/{condition}.md)" in pages[f"protocols/{protocol}.md"]


def test_a_protocol_is_about_no_disease_it_does_not_touch_and_nearly_every_disease_has_one() -> None:
    knowledge, related = read_package(), relate(read_package())
    assert "titrate_warfarin" not in related["gout"] and "triage_stroke_signs" not in related["gout"]
    without = [name for name, told in related.items() if not told and not knowledge.conditions[name].is_name_only]
    assert len(without) <= 3, without
    about_all = {row.id for row in knowledge.protocols.values() if row.subject.is_all}
    assert set(knowledge.protocols) - {name for told in related.values() for name in told} == about_all


def test_every_complaint_of_the_table_is_a_symptom_and_has_a_triage_protocol() -> None:
    knowledge = read_package()
    asked = {row.subject.complaint for row in knowledge.protocols.values() if row.kind == "triage"}
    assert knowledge.symptom_complaints
    for key, row in knowledge.symptom_complaints.items():
        assert set(row.complaints) <= asked - {key} and key in knowledge.symptoms


@pytest.mark.parametrize(("language", "label"), [("en", "Reference change value (RCV)"), ("zh", ZH["rcv"])])
def test_an_analyte_shows_the_reference_change_value_that_the_rules_mean(language: Language, label: str) -> None:
    knowledge = read_package()
    for name, row in knowledge.analytes.items():
        value = f"{reference_change_pct(row, knowledge):.1f}%"
        told = next(line for line in pages_in(language)[f"analytes/{name}.md"].splitlines() if line.startswith(f"| {label} |"))
        assert value in told
        assert ("5%" in told.replace(value, "")) == (row.cv_within_pct is None or row.cv_analytic_pct is None), name


@pytest.mark.slow
def test_an_analyte_shows_the_values_that_need_action_and_every_alarm_that_looks_at_it() -> None:
    english = pages_in("en")
    link = "[Potassium values that need action](../protocols/potassium_alarm.md)"
    row = f"| at least 6.5 mmol/L | Emergency department or ambulance now | {link} |"
    assert row in english["analytes/potassium.md"]
    assert "| at least 6 mmol/L, below 6.5 mmol/L | See a clinician" in english["analytes/potassium.md"]
    heading = "## Values that need action by themselves"
    assert heading not in english["analytes/ldl_c.md"] and heading not in english["analytes/sodium.md"].partition("## ")[0]
    for name in read_package().analytes:
        for alarm in find_alarms(name, read_package()):
            assert f"](../protocols/{alarm}.md)" in english[f"analytes/{name}.md"], name


@pytest.mark.parametrize(
    ("language", "none", "one"), [("en", "no waiting is needed", "one step"), ("zh", ZH["no_waiting"], ZH["one_step"])]
)
def test_no_waiting_is_told_from_one_step_alone(language: Language, none: str, one: str) -> None:
    for name, row in read_package().drugs.items():
        page = pages_in(language)[f"drugs/{name}.md"]
        assert (none in page) == (row.min_titration_days == 0 and len(row.ladder) > 1), name
        assert (one in page) == (row.min_titration_days == 0 and len(row.ladder) == 1), name


@pytest.mark.slow
def test_a_test_in_two_roles_stands_once_with_both() -> None:
    knowledge, pages = read_package(), pages_in("en")
    both = [(name, each) for name, row in knowledge.conditions.items() for each in row.tests.all if len(row.tests.roles(each)) == 2]
    assert both
    for name, test in both:
        section = pages[f"conditions/{name}.md"].partition("## Tests")[2].partition("##")[0]
        assert section.count(f"](../tests/{test}.md)") == 1 and "first line, confirmatory" in section
        section = pages[f"tests/{test}.md"].partition("## Ordered for")[2].partition("##")[0]
        assert section.count(f"](../conditions/{name}.md)") == 1


INJECTION = "Novotide](javascript:alert(1)) <script> *x* `y` # z"


@pytest.mark.parametrize("kind", ["conditions", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("drugs", "protocols"))])
def test_a_name_from_outside_is_text_in_the_heading_of_its_page_and_wherever_it_is_linked(kind: str, tmp_path: Path) -> None:
    folder = add_file(tmp_path, kind, FILES[kind], ("en: Sample", f'en: "{INJECTION}"'))
    pages = build_pages(read_with(folder), "en")
    title = pages[f"{kind}/sample.md"].splitlines()[0]
    assert title == r"# Novotide\](javascript:alert(1)) &lt;script> \*x\* \`y\` \# z"
    for path, text in pages.items():
        assert "<script>" not in text and "Novotide](" not in text.replace(r"\](", ""), path
    assert f"]({kind}/sample.md)" in pages["index.md"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_looked_at_on_the_first_day_alone_is_looked_at_once_before_starting(language: Language) -> None:
    pages, once = pages_in(language), {"en": "once before starting", "zh": ZH["once_before"]}[language]
    first_day = [name for name, row in read_package().drugs.items() if any("days_on_drug" in str(each.when) for each in row.monitoring)]
    found = [name for name in read_package().drugs if once in pages[f"drugs/{name}.md"]]
    assert {"atorvastatin", "methimazole"} <= set(found) <= set(first_day)
    assert not [name for name, text in pages.items() if "every 1 day" in text or ZH["every_day"] in text]


@pytest.mark.slow
def test_once_before_starting_keeps_what_else_must_hold(tmp_path: Path) -> None:
    when = "{all: [{fact: days_on_drug, below: 1}, {fact: egfr, below: 60}]}"
    text = DRUG.replace("{fact: egfr, below: 60}", when)
    assert when in text
    page = build_pages(read_with(add_file(tmp_path, "drugs", text)), "en")["drugs/sample.md"]
    assert "once before starting" in page and "below 60" in page and "below 1 day" not in page


@pytest.mark.slow
def test_a_chinese_page_shows_no_english_but_ids_names_and_units() -> None:
    allowed = re.compile("|".join((FOLDER / "latin_on_pages.txt").read_text(encoding="utf-8").split()))
    book, found = Book(read_package(), "zh"), {}
    for path, text in pages_in("zh").items():
        for line in text.partition(f"## {book.say('section.sources')}")[0].splitlines():
            if line.startswith((f"| {book.say('field.other_name')} |", f"| {book.say('field.aliases')} |")):
                continue
            shown = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", line)
            for word in re.findall(r"[A-Za-z]{3,}", shown):
                if not word.isupper() and not allowed.fullmatch(word):
                    found.setdefault(word, f"{path}: {line[:80]}")
    assert found == {}


def test_a_file_or_a_link_is_no_folder_for_pages(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(StoreError, match="folder"):
            write_pages(tmp_path / name, FEW)
    with pytest.raises(StoreError, match="cannot be written"):
        write_pages(tmp_path / "file" / "below", FEW)


@pytest.mark.slow
def test_the_command_writes_all_pages_in_three_seconds_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.process_time()
    assert main(["inputs", "--pages", str(tmp_path / "pages"), "--language", "zh", "--json"]) == 0
    assert time.process_time() - began < CPU_LIMIT_S
    told = orjson.loads(capsys.readouterr().out)
    assert told["pages"] == {kind: len(read_package().table(kind)) for kind in PAGE_KINDS}
    assert Path(told["index"]).read_text(encoding="utf-8") == pages_in("zh")["index.md"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["drugs", "--pages", "DIR"], "Leave the name out"),
        (["--language", "en"], "Add --pages DIR or name a kind"),
        (["--pages", "DIR", "--language", "fr"], "allowed: en, zh"),
        (["--pages", "FILE"], "no folder"),
    ],
)
def test_a_wrong_call_gets_one_message_and_leaves_nothing(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "FILE").write_text("mine", encoding="utf-8")
    called = [str(tmp_path / word) if word in ("DIR", "FILE") else word for word in arguments]
    assert main(["inputs", *called]) == 2
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["FILE"]
