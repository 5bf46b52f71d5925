"""The fast reader of plain YAML reads what the strict reader reads, or leaves the text to it."""

from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clinworld
from clinworld.core import tables
from clinworld.core.errors import JobError
from clinworld.core.plain_yaml import NotPlain, read_plain

PACKAGE = Path(clinworld.__file__).parent
FILES = sorted([*PACKAGE.glob("knowledge/*/*.yaml"), *PACKAGE.glob("jobs/*.yaml")])
FAULTS = [*" \n:,-#\"'{}[]&*!|>%@`?~.+=\\019aeEé中。，\t\r", "\u00a0", "\u2028", "\ufeff", "\x00"]
FAULTS += ["  ", "\n  ", "- ", ": ", " #", "---", "\n...\n", "null", ".inf", "1e400", "<<", "\n- ", "!!", "? ", "+5", "007", "1:40", "''"]


@lru_cache
def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


def read_strictly(text: str) -> object:
    return tables._Reader(text, "x", JobError).read().value


def is_same(one: object, other: object) -> bool:
    """Equal in value, type and order of keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.slow
def test_nearly_every_file_of_the_package_is_plain_and_read_alike():
    plain = 0
    for path in FILES:
        text = "\n".join(lines_of(path))
        try:
            value = read_plain(text)
        except NotPlain:
            continue
        plain += 1
        assert is_same(value, read_strictly(text)), path
    assert plain > 0.95 * len(FILES) > 200


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(FILES),
    st.floats(0, 1),
    st.integers(1, 14),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(FAULTS) | st.text(max_size=3)), min_size=1, max_size=4),
)
@pytest.mark.slow
def test_a_file_with_faults_is_read_alike_or_left_to_the_strict_reader(path, start, length, faults):
    lines = lines_of(path)
    first = int(start * (len(lines) - 1))
    text = "\n".join(lines[first : first + length])
    for place, removed, written in faults:
        at = int(place * len(text))
        text = text[:at] + written + text[at + removed :]
    try:
        value = read_plain(text)
    except NotPlain:
        return
    assert is_same(value, read_strictly(text)), text


@pytest.mark.parametrize(
    "text",
    [
        *("", "# only a comment", "a", "- a", "{a: 1}", "a: 1\n---\nb: 2", "a: 1\na: 2", "a: {b: 1, b: 2}", "a: &x 1", "a: *x", "a: !t 1"),
        *("a: |\n  b", "a: >\n  b", "a: b\n  c", 'a: "b\n  c"', "a: 'it''s'", 'a: "b\\n"', "a: {b: 1", "a: [1, 2]]", "a: [b: 1]", "a: {b}"),
        *("a: {b: 1,}", "a:\n- 1", "a: b: c", "a:\tb", "a: 1e999", "a: .inf", "? a\n: b", "a: [{b: 1} c]", "a: 'b' c", "a: @b", "a: %b"),
        *(
            "a: [" * 20,
            "a: " + "[" * 20 + "]" * 20,
            " a: 1\nb: 2",
            "a: 1\n b: 2",
            "a:\n  - - b",
            "a:\n  -",
            "a: b #c: 'd'",
            "a: ok\u2028no",
        ),
    ],
)
def test_what_is_not_plain_is_left_to_the_strict_reader(text):
    with pytest.raises(NotPlain):
        read_plain(text)


def test_what_is_plain_is_read():
    text = """# a comment
id: sample
names: {en: "Sample, the: first", zh: "样例"}   # said natively
aliases: ['A', b c, 12, -1.5, true, null]

items:
  - {item: alt, moves: up, when: {all: [{fact: egfr, below: 60}, {not: {fact: x, is: true}}]}}
  - condition: other
    told: {here: normal}
    empty:
  - plain words
none: []
"""
    value = read_plain(text)
    assert is_same(value, read_strictly(text))
    assert value["aliases"] == ["A", "b c", 12, -1.5, True, None]
    assert value["items"][1] == {"condition": "other", "told": {"here": "normal"}, "empty": None}


def test_a_text_of_the_size_of_a_whole_job_is_left_to_the_reader_that_counts_its_values():
    with pytest.raises(NotPlain):
        read_plain("a: [" + "1, " * 100_000 + "1]")
