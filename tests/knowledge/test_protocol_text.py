"""A protocol's page says exactly what its predicates say, in each language alone."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES, predicate, sample

from clinworld.core.tables import load_csv, parse_yaml
from clinworld.core.text import LANGUAGES, Language, Wording
from clinworld.core.units import print_tick, to_ticks
from clinworld.knowledge.protocol_text import render_predicate, render_protocol, with_unit
from clinworld.knowledge.rule_rows import Between, FactRef, IsTest, NumberTest
from clinworld.knowledge.rules import comparisons

pytestmark = pytest.mark.rows

HAN = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")
ENGLISH_PHRASE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b")
BULLETS = load_csv(Path(__file__).parent / "rule_bullets.csv", ("predicate", "en", "zh"))

pages = pytest.mark.parametrize(("name", "language"), [(name, language) for name in sorted(PROTOCOLS) for language in LANGUAGES])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("row", BULLETS, ids=[row["predicate"] for row in BULLETS])
def test_predicate_is_printed_in_the_words_of_its_language(row: dict[str, str], language: Language) -> None:
    tested = predicate(parse_yaml(row["predicate"], "row").value)
    assert render_predicate(tested, PROTOCOLS["titrate_metformin"], KNOWLEDGE, language) == row[language].replace("/ ", "\n ")


def printed(fact: str, value: float) -> str:
    """A threshold as it must stand on the page, without its unit."""
    shape = SHAPES[fact]
    return f"{value:g}" if shape.ucum == "{dose}" else print_tick(int(to_ticks(value, shape.decimals)), shape.decimals)


def section(page: str, number: int) -> str:
    """One rule of a page."""
    return page.split("\n### ")[number]


@pages
def test_page_prints_every_threshold_name_and_phrase_of_every_rule(name: str, language: Language) -> None:
    protocol = PROTOCOLS[name]
    page = render_protocol(protocol, KNOWLEDGE, language)
    assert page.count("\n### ") == len(protocol.rules)
    for number, rule in enumerate(protocol.rules, start=1):
        text = section(page, number)
        assert rule.what.say(language) in text
        assert rule.because.say(language) in text
        for leaf in comparisons(rule.when):
            match leaf:
                case NumberTest(fact, _, FactRef(other)):
                    assert SHAPES[fact].names.say(language) in text
                    assert SHAPES[other].names.say(language).casefold() in text.casefold()
                case NumberTest(fact, _, float() as value):
                    assert SHAPES[fact].names.say(language) in text
                    assert printed(fact, value) in text
                case Between(fact, low, high):
                    assert printed(fact, low) in text
                    assert printed(fact, high) in text
                case IsTest(fact, bool()):
                    assert any(phrase.say(language) in text for phrase in SHAPES[fact].phrases)
                case _:
                    assert SHAPES[leaf.fact].names.say(language) in text


@pages
def test_page_holds_nothing_of_the_other_language_and_no_bare_code(name: str, language: Language) -> None:
    page = render_protocol(PROTOCOLS[name], KNOWLEDGE, language)
    assert not re.search(r"[{}]", page)
    assert "_" not in page
    assert ".." not in page
    if language == "en":
        assert not HAN.search(page)
    else:
        assert not ENGLISH_PHRASE.search(page)
        assert HAN.search(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_follows_the_predicate_when_a_threshold_changes(language: Language, tmp_path: Path) -> None:
    before = render_protocol(sample(tmp_path), KNOWLEDGE, language)
    after = render_protocol(sample(tmp_path, ("below: 30", "below: 35")), KNOWLEDGE, language)
    changed = [(one, two) for one, two in zip(before.splitlines(), after.splitlines(), strict=True) if one != two]
    assert len(changed) == 1
    assert changed[0][0].replace("30", "35") == changed[0][1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_that_ends_in_a_full_stop_gets_no_second_one(language: Language, tmp_path: Path) -> None:
    protocol = sample(tmp_path)
    plain = render_protocol(protocol, KNOWLEDGE, language)
    stop = plain.rstrip()[-1]  # the page ends in a sentence
    rule = protocol.rules[0]
    dotted = replace(rule, what=Wording(rule.what.en + stop, rule.what.zh + stop))
    assert render_protocol(replace(protocol, rules=(dotted, *protocol.rules[1:])), KNOWLEDGE, language) == plain


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_unit_of_a_fact_in_a_rule_is_printed_without_code_signs(language: Language) -> None:
    for protocol in PROTOCOLS.values():
        for rule in protocol.rules:
            for leaf in comparisons(rule.when):
                shape = SHAPES[leaf.fact]
                if shape.kind == "number" and shape.ucum != "{dose}":
                    assert not re.search(r"[{}\[\]*]", with_unit("7", shape.ucum, language)), shape.ucum
