"""JSON from whoever: strict, bounded, exact. What is not plainly one value is a BadJson that says why; nothing else is ever raised.

Every text a policy sends is read here, be it a report, the arguments of a tool or the body of a request, so that no later part meets half
a character, a number without end or a nesting that it cannot walk.
"""

import json
import re
from decimal import Decimal
from typing import Any

MAX_DEPTH, MAX_DIGITS, MAX_EXPONENT = 32, 15, 30
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
_BROKEN = re.compile("[\ud800-\udfff\x00]")


class BadJson(Exception):
    """Not one strict value: what was found, and what is allowed."""

    def __init__(self, found: str, allowed: str = "") -> None:
        self.found, self.allowed = found, allowed
        super().__init__(f"{found}; {allowed}" if allowed else found)


def is_whole(text: str) -> bool:
    """True for a text without half a character and without NUL, which no record system can hold."""
    return not _BROKEN.search(text)


def read_value(text: str) -> Any:
    """The one value of a text; numbers with a point or an exponent are Decimal. Raises BadJson."""
    if not is_whole(text):
        raise BadJson("half a character or a NUL", "whole characters are expected")
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as problem:
        found = "more than one JSON object" if problem.msg == "Extra data" else f"not JSON ({problem.msg}, character {problem.pos})"
        raise BadJson(found, "exactly one JSON object is expected") from None
    if "\\u" in text:  # only an escape can bring in what the text itself does not hold
        check_whole(value)
    return value


def check_whole(value: Any) -> None:
    """Raises BadJson for half a character or a NUL in a text or key of a value, whose nesting is bounded."""
    if isinstance(value, str):
        if not is_whole(value):
            raise BadJson("half a character or a NUL", "whole characters are expected")
    elif isinstance(value, dict):
        for key, each in value.items():
            check_whole(key)
            check_whole(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            check_whole(each)


def _check_depth(text: str) -> None:
    depth = 0
    for match in _TOKEN.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            raise BadJson(f"values nested deeper than {MAX_DEPTH}", f"at most {MAX_DEPTH} levels")


def _read_whole(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS or not text.isascii():
        raise BadJson(f"a number of {len(text)} digits", f"at most {MAX_DIGITS}")
    return int(text)


def _read_decimal(text: str) -> Decimal:
    exponent = text.lower().partition("e")[2]
    if len(text) > 2 * MAX_DIGITS or not text.isascii() or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise BadJson(f"the number {text[:MAX_DIGITS]}…", f"at most {2 * MAX_DIGITS} characters, exponent at most {MAX_EXPONENT}")
    return Decimal(text)


def _refuse_constant(text: str) -> Any:
    raise BadJson(text, "numbers are finite")


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise BadJson(f"the key {key[:40]!r} twice", "each key stands once")
            seen.add(key)
    return value


_DECODER = json.JSONDecoder(
    parse_int=_read_whole, parse_float=_read_decimal, parse_constant=_refuse_constant, object_pairs_hook=_read_pairs
)
