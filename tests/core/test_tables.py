from pathlib import Path

import pytest

from clinworld.core import tables
from clinworld.core.errors import ClinworldError, JobError, KnowledgeError, nearest_match, shorten
from clinworld.core.tables import load_csv, load_yaml, parse_yaml, place_text, read_text


def test_plain_scalars_are_read_and_nothing_else_is_guessed():
    text = "a: 1\nb: -2.5\nc: true\nd: null\ne: No\nf: 1:40\ng: '7'\nh: 2024-01-01\ni: 1e-3\nj: 0x10\nk: ~\nl:\n"
    value = parse_yaml(text, "x").value
    assert list(value.values()) == [1, -2.5, True, None, "No", "1:40", "7", "2024-01-01", 0.001, "0x10", None, None]


def test_each_place_knows_its_line():
    document = parse_yaml("cases:\n  - raw:\n      sex: F\n", "x")
    assert document.lines[("cases", 0, "raw", "sex")] == 3
    assert place_text(("cases", 0, "raw", "sex")) == "cases[0].raw.sex"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2", "line 2: the key 'a' twice"),
        ("a: &x 1\nb: *x", "anchor or alias"),
        ("a: .nan", "numbers are finite"),
        ("a: 1e400", "numbers are finite"),
        ("a: !!python/object:os.system x", "a tag"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("a: [1, 2", "not YAML"),
        ("a: b: c", "not YAML"),
        ("? [1]\n: 2", "a key that is a list or mapping"),
        ("a: " + "[" * 60 + "]" * 60, "nested deeper"),
    ],
)
def test_unclear_yaml_is_refused_with_its_line(text, says):
    with pytest.raises(JobError, match="line") as caught:
        parse_yaml(text, "job.yaml")
    assert says in str(caught.value)


def test_more_nodes_than_the_limit_are_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(tables, "MAX_NODES", 1000)
    with pytest.raises(JobError, match="at most 1,000"):
        parse_yaml("[" + "0," * 1001 + "]", "big.yaml")


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "an empty file"), (b"\x00\x01", "a NUL byte"), (b"\xff\xfe\xfa", "not UTF-8"), (b"a" * 5_000_001, "5,000,001 bytes")],
)
def test_files_that_are_no_text_are_named_as_what_they_are(tmp_path, content, says):
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    with pytest.raises(JobError, match=says):
        load_yaml(path)


def test_a_folder_and_a_missing_file_are_told_apart_and_the_nearest_file_is_named(tmp_path):
    (tmp_path / "jobs.yaml").write_text("a: 1")
    with pytest.raises(JobError, match="a folder"):
        load_yaml(tmp_path)
    with pytest.raises(JobError, match="Did you mean 'jobs.yaml'"):
        load_yaml(tmp_path / "job.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,nmae\na,b\n", "column 'nmae'.*Did you mean 'name'"),
        ("id\na\n", "no column 'name'"),
        ("id,name\na\n", "line 2: 1 cells; 2 cells, as in the header"),
        ('id,name\n"a,b\n', "not CSV"),
    ],
)
def test_a_wrong_table_names_line_and_column(tmp_path, text, says):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(KnowledgeError, match=says):
        load_csv(path, ("id", "name"))


def test_comment_lines_before_the_header_are_skipped_and_lines_stay_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# a canary\nid,name\na,b\n")
    assert load_csv(path, ("id", "name")) == [{"id": "a", "name": "b", "_row": "3"}]


@pytest.mark.parametrize(("error", "told"), [(JobError, "`clinworld inputs jobs`"), (KnowledgeError, "`clinworld inputs KIND`")])
def test_an_empty_file_is_told_where_filled_ones_of_its_kind_are_shown(error: type[ClinworldError], told: str, tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_text(" \n", encoding="utf-8")
    with pytest.raises(error, match="an empty file") as caught:
        read_text(path, error)
    assert told in caught.value.do


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# one\n# two\nid,nmae\n", "t.csv, line 3, header: column 'nmae'"),
        ("id,name\na,b\n\nc,d\n", "line 3: an empty line; 2 cells, as in the header. Remove the line."),
        ('id,name\n"a\nb",c\nd\n', "line 4: 1 cells"),
        ("# nothing else\n", "no column 'id'"),
        ("id,name,name\n", "column 'name' twice"),
    ],
)
def test_a_line_of_a_table_is_counted_as_an_editor_counts_it(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        load_csv(path, ("id", "name"))
    assert told in str(caught.value)


def test_a_place_that_is_not_written_has_the_line_of_the_place_around_it() -> None:
    document = parse_yaml("a: 1\nb:\n  - {c: 2}\n", "t.yaml")
    assert [document.line(place) for place in ((), ("a",), ("b", 0, "c"), ("b", 0, "d"), ("b", 5), ("z",))] == [1, 1, 3, 3, 2, 1]


def test_what_was_found_is_quoted_short_however_long_it_is() -> None:
    assert shorten("x" * 80) == repr("x" * 80)
    for found in ("x" * 5_000_000, list(range(1_000_000)), {str(number): number for number in range(100_000)}, [["x" * 500] * 90]):
        assert len(shorten(found)) < 200
    assert nearest_match("x" * 5_000_000, ["xx"]) is None
