"""Folders of added knowledge that are clumsy or hostile: named at once, in one message, and nothing in them passed over."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from break_rows import condition, drug, protocol, row
from extra_rows import CONDITION, DRUG, PROTOCOL, add_file, add_row, load_with, read_with
from messages import assert_whole

from clinworld.core.errors import KnowledgeError
from clinworld.knowledge import check_rules
from clinworld.knowledge.cells import MOST_CHARACTERS, MOST_WORDS
from clinworld.knowledge.check_effects import find_circles
from clinworld.knowledge.load import MOST_ADDED, load_knowledge
from clinworld.knowledge.rows import Coupling
from clinworld.knowledge.rule_facts import known_facts
from clinworld.knowledge.rule_search import Steps, TooManySteps, find_facts

pytestmark = pytest.mark.rows

Broken = Callable[[Path], object]
SECONDS = 4.0  # CPU; each took minutes or for ever before there were limits
NAMES = ", ".join(f"a{number}" for number in range(200_000))
HEADACHES = "symptoms:\n" + "  - {symptom: headache, role: common}\n" * 5_000
PARTS = ", ".join(f"{{fact: potassium, at_least: {number}}}" for number in range(2, 300))
INDICATIONS = ", ".join(f"c{number}: 20" for number in range(5_000))
WHEN = next(line.strip() for line in PROTOCOL.splitlines() if "when:" in line)


def put(name: str, text: str) -> Broken:
    """Writes a file."""

    def add(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    return add


def blank_line(folder: Path) -> None:
    path = add_row(folder, "devices") / "devices.csv"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")


def many_rows(folder: Path) -> None:
    path = add_row(folder, "parameters") / "parameters" / "sample.csv"
    head, line = path.read_text(encoding="utf-8").splitlines()
    lines = [line.replace("sample", f"sample{number}", 1) for number in range(MOST_ADDED + 1)]
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")


# what is added, whether a line can be named, what the message must say
FOLDERS: list[tuple[Broken, bool, str]] = [
    (condition("names:", f"aliases: [{NAMES}]\nnames:"), True, f"aliases: found 200,000 entries; at most {MOST_WORDS}"),
    (row("analytes", aliases="|".join(map(str, range(22_000)))), True, "aliases: found 22,000 entries"),
    (row("analytes", aliases="|".join(map(str, range(60_000)))), True, "field larger than field limit"),
    (condition("symptoms:\n", HEADACHES), True, "symptoms: found 5,004 entries"),
    (drug("{obesity: 20}", f"{{{INDICATIONS}}}"), True, "indications: found 5,000 entries"),
    (protocol(WHEN, f"when: {{any: [{PARTS}]}}"), True, "found 298 predicates"),
    (row("analytes", name_en="x" * 100_000), True, f"at most {MOST_CHARACTERS:,} characters"),
    (row("analytes", id="x" * 100_000), True, "(100,000 characters)"),
    (drug("id: sample", f"{'k' * 100_000}: 1\nid: sample"), True, "line 1"),
    (row("devices", source="x" * 1_900), True, "an id of a source"),
    (many_rows, False, f"{MOST_ADDED + 1:,} rows; at most {MOST_ADDED:,}"),
    (drug("names:", "aliases: 5\nnames:"), True, "found 5; a list of words is expected"),
    (drug("names:", "aliases: {a: b}\nnames:"), True, "a list of words is expected"),
    (drug("names:", "aliases: [a, ' ']\nnames:"), True, "words are expected"),
    (put("analytes.csv", ""), False, "an empty file; a document is expected. See `clinworld inputs KIND`"),
    (put("analytes.csv", "# a comment\n"), True, "no column 'id'"),
    (put("drugs/sample.yaml", "# a comment\n"), False, "no document"),
    (blank_line, True, "line 3: an empty line"),
    (put("drugs/sample.yml", DRUG), False, "sample.yml, which is not read; files that end in .yaml. Did you mean 'sample.yaml'?"),
    (put("drugs/sample.YAML", DRUG), False, "Did you mean 'sample.yaml'?"),
    (put("conditions/notes.txt", CONDITION), False, "notes.txt, which is not read"),
    (put("parameters/sample.txt", "id\n"), False, "files that end in .csv"),
    (put("analytes.csv/sample.csv", "id\n"), False, "a folder called analytes.csv; a file of that name"),
    (put("drugs", DRUG), False, "a file called drugs; a folder of that name"),
    (put("drugs/more/sample.yaml", DRUG), False, "a folder inside drugs"),
    (put("Analytes.csv", "id\n"), False, "Did you mean 'analytes.csv'?"),
]


UNSEEN = [
    *(
        row("analytes", name_en=f"Sam{sign}ple")
        for sign in ("\u200b", "\u202e", "\n", "\x07", "\ufeff", "\u2066", "\u00ad", "\u3164", "\U000e0041")
    ),
    row("analytes", aliases="one|t\u200dwo"),
    drug("en: Sample", 'en: "Sam\\nple"'),
    drug("en: Sample", 'en: "Sam\\u202eple"'),
    drug("names:", 'aliases: ["Sam\\u200bple"]\nnames:'),
]


@pytest.mark.parametrize("broken", UNSEEN, ids=range(len(UNSEEN)))
def test_a_character_that_is_not_seen_is_refused_by_its_code(broken: Broken, tmp_path: Path) -> None:
    broken(tmp_path)
    with pytest.raises(KnowledgeError, match=r"a reader sees whole; this holds U\+[0-9A-F]{4,6}\. Remove the character") as caught:
        load_with(tmp_path)
    assert_whole(caught.value)


def test_accents_dashes_and_signs_of_a_name_are_seen(tmp_path: Path) -> None:
    assert (
        load_with(add_row(tmp_path, "analytes", name_en="Caf\u00e9 \u03b2\u2082 factor \u2013 40\u00a0%"))
        .analytes["sample"]
        .names.en.startswith("Caf")
    )


@pytest.mark.parametrize(("broken", "has_line", "told"), FOLDERS, ids=[told[:40] for _, _, told in FOLDERS])
def test_a_folder_that_cannot_be_read_gets_one_message_at_once(broken: Broken, has_line: bool, told: str, tmp_path: Path) -> None:
    broken(tmp_path)
    began = time.process_time()
    with pytest.raises(KnowledgeError) as caught:
        load_knowledge(tmp_path)
    assert time.process_time() - began < SECONDS
    assert_whole(caught.value, has_line=has_line)
    assert told in str(caught.value) and str(tmp_path) in caught.value.where


def test_as_many_names_as_are_allowed_are_read(tmp_path: Path) -> None:
    names = "|".join(f"sample name {number}" for number in range(MOST_WORDS))
    assert len(load_with(add_row(tmp_path, "analytes", aliases=names)).analytes["sample"].aliases) == MOST_WORDS


@pytest.mark.slow
def test_hidden_files_of_other_programs_are_nobodys(tmp_path: Path) -> None:
    add_file(tmp_path, "drugs", DRUG)
    for name in (".DS_Store", "drugs/._sample.yaml"):
        (tmp_path / name).write_bytes(b"\x00\x05")
    assert "sample" in load_knowledge(tmp_path).drugs


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id\n", encoding="utf-8")
    with pytest.raises(KnowledgeError, match="a file; a folder of knowledge files is expected"):
        load_knowledge(tmp_path / "rows.csv")


def test_a_rule_that_asks_for_too_many_facts_at_once_is_refused_not_tried_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_rules, "Steps", lambda: Steps(1_000))
    asked = ", ".join(f"{{fact: {name}, missing: true}}" for name in list(read_with(tmp_path).analytes)[:60])
    with pytest.raises(KnowledgeError, match="more comparisons than can be tried together") as caught:
        load_with(protocol(WHEN, f"when: {{all: [{asked}]}}")(tmp_path))
    assert_whole(caught.value)


def test_a_search_stops_where_its_steps_are_used_up() -> None:
    knowledge = load_knowledge()
    shapes, when = known_facts(knowledge), knowledge.protocols["potassium_alarm"].rules[0].when
    assert find_facts(when, shapes) is not None
    with pytest.raises(TooManySteps):
        find_facts(when, shapes, steps=Steps(0))


def test_added_rows_do_not_make_the_packages_own_rules_searched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    real = check_rules.check_reachable
    monkeypatch.setattr(check_rules, "check_reachable", lambda k, rules, shapes: searched.append(rules.id) or real(k, rules, shapes))
    load_with(add_row(tmp_path, "analytes"))
    assert searched == []
    load_with(add_file(tmp_path, "protocols", PROTOCOL))
    assert searched == ["sample"]


def test_an_added_rule_that_no_patient_reaches_is_found(tmp_path: Path) -> None:
    head, rule = PROTOCOL.split("rules:\n")
    first = rule[: rule.index("\nsource:") + 1]
    again = first.replace("sample_potassium_high", "sample_potassium_again")
    with pytest.raises(KnowledgeError, match="what sample_potassium_high says already") as caught:
        load_with(add_file(tmp_path, "protocols", PROTOCOL.replace(first, first + again)))
    assert_whole(caught.value)
    assert head.startswith("id: sample")


def test_circles_are_looked_for_in_the_time_that_there_are_couplings() -> None:
    """Every later layer can be reached in twice as many ways."""
    layers = [(f"a{number}", f"{side}{number}", f"a{number + 1}") for number in range(40) for side in "bc"]
    pairs = [pair for first, middle, last in layers for pair in ((first, middle), (middle, last))]
    rows = [Coupling(f"{a}__{b}", a, b, 1.0, 0.0, 1.0, "authored", "authored") for a, b in dict.fromkeys(pairs)]
    assert list(find_circles(rows)) == []
    closing = Coupling("a40__a0", "a40", "a0", 1.0, 0.0, 1.0, "authored", "authored")
    circle = next(find_circles([*rows, closing]))
    assert circle[0] is closing and circle[-1].effect == "a40" and len(circle) == 81
