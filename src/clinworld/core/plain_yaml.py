"""The plain part of YAML, read several times faster than by a whole parser: indented blocks, collections on one line, simple scalars.

Whatever is not clearly in that part raises NotPlain and is left to the strict reader of `tables.py`, which words every error. What is
accepted here means the same there: the tests read every file of the package, and files with random faults in them, both ways.
"""

import math
import re
from typing import Any

MOST_CHARACTERS = 200_000
_MOST_DEPTH = 12

_UNUSUAL = re.compile("[^ -~\n\u00a0-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd]")  # tabs, control characters, other line breaks
_LINE = re.compile(r"( *)(- )?(?:([A-Za-z_][A-Za-z0-9_]*):(?: +|$))?(.*)")
_PLAIN = "(?:[A-Za-z0-9\u3400-\u9fff]|[-+.][0-9])" + r"""[^,\[\]{}:#"'\\]*"""
_TOKEN = re.compile(rf""" *([\[\]{{}},]|[A-Za-z_][A-Za-z0-9_]*:(?= )|"[^"\\]*"|'[^']*'|{_PLAIN}|[^ ])""")
_PAIR = rf"""[A-Za-z_][A-Za-z0-9_]*: (?:{_PLAIN}|"[^",\\]*")"""
_PAIRS = re.compile(rf"\{{{_PAIR}(?:, {_PAIR})*\}}")
_NAMED: dict[str, bool | None] = {"": None, "null": None, "~": None, "true": True, "false": False}
_NUMBER_START = frozenset("+-.0123456789")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE)


class NotPlain(Exception):
    """The text is outside the plain part of YAML."""


class NotFinite(ValueError):
    """A number that is not finite."""


def read_scalar(text: str) -> Any:
    """What unquoted text stands for: null, true, false, a whole number, a decimal; otherwise itself. Raises NotFinite.

    >>> [read_scalar(text) for text in ("12", "-1.5e3", "true", "~", "1:40", "No", "0x10")]
    [12, -1500.0, True, None, '1:40', 'No', '0x10']
    """
    if text in _NAMED:
        return _NAMED[text]
    if text[0] not in _NUMBER_START:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NOT_FINITE.fullmatch(text):
        raise NotFinite(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise NotFinite(text)
        return number
    return text


def read_plain(text: str) -> Any:
    """The value of a document in the plain part of YAML. Raises NotPlain for any other."""
    if len(text) > MOST_CHARACTERS or _UNUSUAL.search(text):
        raise NotPlain
    try:
        return _Blocks(text).read()
    except (IndexError, NotFinite):
        raise NotPlain from None


class _Blocks:
    # A line is (indent, whether an item of a list starts in it, its key or "", the rest).

    def __init__(self, text: str) -> None:
        self.lines: list[tuple[int, bool, str, str]] = []
        for line in text.split("\n"):
            spaces, dash, key, rest = _LINE.match(line).groups()  # type: ignore[union-attr]  # it matches every line
            if key or (rest and rest[0] != "#") or dash:
                self.lines.append((len(spaces), dash is not None, key or "", rest))
        self.at = 0

    def read(self) -> Any:
        value = self._mapping(0, 0)
        if self.at < len(self.lines) or not value:
            raise NotPlain
        return value

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        # At the first line of the mapping, whose dash, if it has one, has been taken off.
        mapping: dict[str, Any] = {}
        is_first = True
        while self.at < len(self.lines):
            own, dash, key, rest = self.lines[self.at]
            if own < indent or (dash and not is_first):
                break
            if own > indent or dash or not key or key in mapping:
                raise NotPlain
            is_first = False
            self.at += 1
            mapping[key] = self._value(indent, rest, depth)
        return mapping

    def _value(self, indent: int, rest: str, depth: int) -> Any:
        if rest and rest[0] != "#":
            if self._indent() > indent:
                raise NotPlain  # it goes on in the next line
            return _read_inline(rest)
        below = self._indent()
        if below > indent:
            if depth > _MOST_DEPTH:
                raise NotPlain
            return self._list(below, depth + 1) if self.lines[self.at][1] else self._mapping(below, depth + 1)
        if below == indent and self.lines[self.at][1]:
            raise NotPlain  # a list no deeper than its key
        return None

    def _list(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while self._indent() == indent and self.lines[self.at][1]:
            _, _, key, rest = self.lines[self.at]
            if key:
                self.lines[self.at] = (indent + 2, False, key, rest)
                items.append(self._mapping(indent + 2, depth + 1))
                continue
            self.at += 1
            if self._indent() > indent:
                raise NotPlain
            items.append(_read_inline(rest))
        if self._indent() >= indent:
            raise NotPlain
        return items

    def _indent(self) -> int:
        return self.lines[self.at][0] if self.at < len(self.lines) else -1


def _read_inline(rest: str) -> Any:
    """A scalar or a collection on one line, with a comment after it or without."""
    place = rest.find(" #")
    if place >= 0:
        if '"' in rest[place:] or "'" in rest or rest.count('"') % 2:
            raise NotPlain
        rest = rest[:place]
    if _PAIRS.fullmatch(rest):
        return _read_pairs(rest)
    tokens = _TOKEN.findall(rest)
    tokens.reverse()
    value = _read_tokens(tokens, tokens.pop(), 0)
    if tokens:
        raise NotPlain
    return value


def _read_pairs(rest: str) -> dict[str, Any]:
    """A mapping without a comma or a collection in its values, which most are."""
    pairs = rest[1:-1].split(", ")
    mapping: dict[str, Any] = {}
    for pair in pairs:
        key, _, value = pair.partition(": ")
        mapping[key] = value[1:-1] if value[0] == '"' else read_scalar(value.rstrip(" "))
    if len(mapping) < len(pairs):
        raise NotPlain
    return mapping


def _read_tokens(tokens: list[str], token: str, depth: int) -> Any:
    first = token[0]
    if first == '"' or first == "'":
        if len(token) == 1:
            raise NotPlain
        return token[1:-1]
    if first == "{":
        return _read_mapping(tokens, depth + 1)
    if first == "[":
        return _read_list(tokens, depth + 1)
    if token[-1] == ":" or not (
        (first.isascii() and first.isalnum()) or "\u3400" <= first <= "\u9fff" or (first in "+-." and len(token) > 1)
    ):
        raise NotPlain
    return read_scalar(token.rstrip(" "))


def _read_mapping(tokens: list[str], depth: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    token = tokens.pop()
    if token == "}":
        return mapping
    while True:
        key = token[:-1]
        if token[-1] != ":" or not key or key in mapping or depth > _MOST_DEPTH:
            raise NotPlain
        mapping[key] = _read_tokens(tokens, tokens.pop(), depth)
        token = tokens.pop()
        if token == "}":
            return mapping
        if token != ",":
            raise NotPlain
        token = tokens.pop()


def _read_list(tokens: list[str], depth: int) -> list[Any]:
    items: list[Any] = []
    token = tokens.pop()
    if token == "]":
        return items
    while True:
        if depth > _MOST_DEPTH:
            raise NotPlain
        items.append(_read_tokens(tokens, token, depth))
        token = tokens.pop()
        if token == "]":
            return items
        if token != ",":
            raise NotPlain
        token = tokens.pop()
