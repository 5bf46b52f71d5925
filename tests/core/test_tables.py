import pytest

from clinworld.core import tables
from clinworld.core.errors import JobError, KnowledgeError
from clinworld.core.tables import load_csv, load_yaml, parse_yaml, place_text


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
        ("id,name\na\n", "line 2: 1 cells; the header has 2"),
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
