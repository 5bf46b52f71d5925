"""What every message about knowledge must hold."""

import re
from pathlib import Path

from clinworld.core.errors import KnowledgeError

LONGEST = 1_000
_LINE = re.compile(r"^(?P<file>.*?), line (?P<line>[0-9]+)")


def line_of(error: KnowledgeError) -> str:
    """The text of the line that a message names, of a file outside the package."""
    match = _LINE.match(error.where)
    assert match, error.where
    lines = Path(match["file"]).read_text(encoding="utf-8").splitlines()
    assert 1 <= int(match["line"]) <= len(lines), error.where
    return lines[int(match["line"]) - 1]


def assert_whole(error: KnowledgeError, *, has_line: bool = True) -> None:
    """File with line, what was found, what is allowed and what to do, none of them empty and none of them endless."""
    text = str(error)
    if has_line:
        assert _LINE.match(error.where), text
    for part in (error.where, error.found, error.allowed, error.do):
        assert part.strip(" .:;"), text
    assert error.found not in ("found ''", "found None"), text
    assert " to ." not in text and "None" not in text, text
    assert len(text) < LONGEST, f"{len(text)} characters"
