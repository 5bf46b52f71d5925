"""Normal forms of source and table text: equal forms mean equal meaning, whatever the comments and the layout.

Scans with regular expressions instead of the tokenizer: many times faster, and the same on every Python version.
"""

import csv
import re
from functools import lru_cache

_STRING_OR_COMMENT = re.compile(
    r"[\"'#](?:(?<=#)[^\n]*"
    r"|(?<=\")(?:\"\"(?:[^\"\\]+|\\.|\"(?!\"\"))*\"\"\"|[^\"\\\n]*(?:\\.[^\"\\\n]*)*\")"
    r"|(?<=')(?:''(?:[^'\\]+|\\.|'(?!''))*\'\'\'|[^'\\\n]*(?:\\.[^'\\\n]*)*'))",
    re.DOTALL,
)
_WIDE_SPACE = re.compile(r" (?<=\S ) +")  # patterns that begin with a plain space are several times faster than with a look-behind
_SPACE_AT_A_SIGN = re.compile(r" (?=[^\w \x00])| (?<=[^\w\s\x00] )")
_NO_BRACKET = bytes(code for code in range(256) if code not in b"()[]{}\n")
_TRAILING_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\"'\n]*$", re.MULTILINE)
_STAND_IN = "\x00"


@lru_cache(maxsize=1024)
def python_form(source: str) -> str:
    """Python source without comments, docstrings, blank lines, spacing and line breaks inside brackets.

    Any statement that is one bare string counts as a docstring. Indentation and a trailing comma are code and stay. The form is for
    digests: code with a stand-in for each string, then the strings.
    """
    strings: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        text = match[0]
        if text[0] == "#":
            return ""
        strings.append(text)
        return _STAND_IN

    plain = _STRING_OR_COMMENT.sub(put_aside, source.replace("\r\n", "\n")).replace("\\\n", " ")
    kept: list[str] = []
    taken: list[str] = []
    seen = 0
    for line in _logical_lines(plain):
        before, seen = seen, seen + line.count(_STAND_IN)
        if seen > before:
            if line.strip() == _STAND_IN:
                continue
            taken += strings[before:seen]
        kept.append(line)
    code = _SPACE_AT_A_SIGN.sub("", _WIDE_SPACE.sub(" ", "\n".join(kept)))
    return "\x01".join([code, *taken])


def _logical_lines(plain: str) -> list[str]:
    """Lines without content left out, and what a bracket holds joined to one line. `plain` has no strings and no comments."""
    joined: list[str] = []
    depth = 0
    for line, brackets in zip(plain.split("\n"), plain.encode("utf-8", "replace").translate(None, _NO_BRACKET).split(b"\n"), strict=True):
        if depth > 0:
            joined[-1] += " " + line.strip()
        elif line and not line.isspace():
            joined.append(line.rstrip())
        if brackets:
            depth += _net_depth(brackets)
    return joined


@lru_cache(maxsize=4096)
def _net_depth(brackets: bytes) -> int:
    opened = brackets.count(b"(") + brackets.count(b"[") + brackets.count(b"{")
    return 2 * opened - len(brackets)


def yaml_form(text: str) -> str:
    """YAML text without comments, blank lines and trailing spaces; order and nesting count as written."""
    plain = _TRAILING_COMMENT.sub("", text)
    return "\n".join(line.rstrip() for line in plain.splitlines() if line.strip())


def split_yaml_fields(form: str, fields: frozenset[str]) -> tuple[str, str]:
    """(everything else, these fields) of a YAML form; a field is found at any depth, in block or flow style."""
    names = "|".join(sorted(fields))
    block = re.compile(rf"^( *)(?:{names}):[^\n]*(?:\n\1(?: +|- ?)[^\n]*)*\n?", re.MULTILINE)
    value = r"(?:\{[^{}]*\}|\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^,}\n]*)"
    flow = re.compile(rf"(?<=[{{,\s])(?:{names}): *{value},? ?")
    taken: list[str] = []

    def take(match: re.Match[str]) -> str:
        taken.append(match[0].strip())
        return ""

    rest = flow.sub(take, block.sub(take, form))
    return rest, "\n".join(taken)


def split_yaml_blocks(form: str) -> dict[str, str]:
    """Top-level blocks of a YAML form: key → the key's text."""
    blocks: dict[str, str] = {}
    name = ""
    for line in form.split("\n"):
        found = re.match(r"(\w+):", line)
        if found:
            name = found[1]
            blocks[name] = line
        elif name:
            blocks[name] += "\n" + line
    return blocks


def split_csv_columns(text: str, columns: frozenset[str]) -> tuple[str, str]:
    """(every other column, these columns) of a CSV table; comment lines and quoting are left out of both."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#") and not line.isspace()]
    rows = list(csv.reader(lines)) if any('"' in line for line in lines) else [line.split(",") for line in lines]
    if not rows:
        return "", ""
    inside = [index for index, name in enumerate(rows[0]) if name.strip() in columns]
    if not inside:
        return _join_cells(rows), ""
    outside = [index for index in range(len(rows[0])) if index not in inside]
    return _join_cells(_columns(rows, outside)), _join_cells(_columns(rows, inside))


def _columns(rows: list[list[str]], indexes: list[int]) -> list[list[str]]:
    return [[row[index] for index in indexes if index < len(row)] for row in rows]


def _join_cells(rows: list[list[str]]) -> str:
    return "\n".join(["\x1f".join(row) for row in rows])
