import io
import re
import tokenize
from pathlib import Path

import pytest

import clinworld
from clinworld.provenance.source_text import python_form, split_csv_columns, split_yaml_blocks, split_yaml_fields, yaml_form

SOURCE = '''"""Module."""

import re  # why


class Box:
    """A box."""

    size: int = 1
    """Attribute text."""

    def open(self, a, b):
        """Docs."""
        text = """kept # not a comment

        kept"""
        return {"a": a, 'b#': b}[f"{'#'}"] + text  # trailing
'''


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE.replace("# why", "# another reason"),
        SOURCE.replace("  # why", ""),
        SOURCE.replace('"""Docs."""', '"""Other docs,\n\n        on three lines."""'),
        SOURCE.replace('        """Docs."""\n', ""),
        SOURCE.replace('    """Attribute text."""\n', ""),
        SOURCE.replace("    def open", "\n\n    def open"),
        SOURCE.replace("(self, a, b)", "(\n        self,  # this one\n        a, b\n    )"),
        SOURCE.replace("+ text", "  +  text"),
        SOURCE.replace("+ text", "\\\n            + text"),
        SOURCE.replace("\n", "\r\n"),
    ],
    ids=["comment", "comment_gone", "docstring", "docstring_gone", "attribute_text", "blank", "wrapped", "spaces", "backslash", "crlf"],
)
def test_comments_docstrings_and_layout_do_not_change_the_form_of_python(changed):
    assert changed != SOURCE
    assert python_form(changed) == python_form(SOURCE)


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("+ text", "- text"),
        ("not a comment", "no comment"),
        ("kept # not a comment\n\n        kept", "kept # not a comment\n        kept"),
        ("size: int = 1", "size: int = 2"),
        ("'b#'", "'b'"),
        ("        return", "    return"),
        ("{'#'}", "{'##'}"),
        ("a, b)", "a, b, )"),
        ('"a": a', '"a" : b'),
    ],
)
def test_changed_code_or_text_changes_the_form_of_python(former, later):
    assert former in SOURCE
    assert python_form(SOURCE.replace(former, later)) != python_form(SOURCE)


def strip_comments(source: str) -> str:
    """Python source without comments, docstrings and blank lines; equal text means equal code.

    Only comment and docstring spans are cut from the text, because token streams differ between Python versions.
    """
    lines = source.replace("\r\n", "\n").split("\n")
    previous = tokenize.NEWLINE
    for token in reversed(list(tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline))):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.ENCODING):
            continue
        if token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            spans.append((token.start[0], token.end[0]))
        previous = token.type
    lines = text.split("\n")
    for first, last in spans:
        for row in range(first - 1, last):
            lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip())


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_fast_form_agrees_with_the_tokenizer_on_modules_of_the_package(step):
    def no_blank_lines(form: str) -> str:  # strip_comments drops blank lines inside text as well
        return re.sub(r"\n[ \t]*(?=\n)", "", form)

    for path in sorted(Path(clinworld.__file__).parent.rglob("*.py"))[::step]:
        source = path.read_text()
        assert no_blank_lines(python_form(strip_comments(source))) == no_blank_lines(python_form(source)), path


def test_yaml_fields_are_taken_out_in_block_and_flow_style():
    text = """# a condition
id: gout   # the id
aliases: [podagra, "the, king's"]
looks_like:
  - condition: ra
    told_apart_by: {analyte: urate, here: up}
    text: kept
  - {condition: oa, told_apart_by: {analyte: crp}, text: also kept}
synonyms:
  - one
  - two
last: "# kept"
"""
    rest, taken = split_yaml_fields(yaml_form(text), frozenset({"aliases", "told_apart_by", "synonyms"}))
    assert "podagra" not in rest and "urate" not in rest and "crp" not in rest and "two" not in rest
    assert "id: gout\n" in rest and "text: kept" in rest and "also kept" in rest and 'last: "# kept"' in rest and "comment" not in rest
    for word in ("podagra", "king's", "urate", "crp", "one", "two"):
        assert word in taken
    assert "condition" not in taken and "kept" not in taken


def test_yaml_blocks_are_split_at_top_level_keys():
    blocks = split_yaml_blocks(yaml_form("pack: a\njudges:\n  one: {use: x}\n  pack: 3\nscore: {}\n"))
    assert blocks == {"pack": "pack: a", "judges": "judges:\n  one: {use: x}\n  pack: 3", "score": "score: {}"}


def test_csv_columns_are_split_and_quoting_is_layout():
    text = '# comment\nid,aliases,value\na,"x|y",1\n\nb,z,2\n'
    rest, taken = split_csv_columns(text, frozenset({"aliases"}))
    assert rest == split_csv_columns('id,aliases,value\n"a",q,1\nb,r,2\n', frozenset({"aliases"}))[0]
    assert "x|y" in taken and "x|y" not in rest
    assert split_csv_columns(text, frozenset()) == split_csv_columns(text.replace('"', ""), frozenset())
