"""How tests break added knowledge in one place: each of these gives what adds the broken row or file to a folder."""

from collections.abc import Callable
from pathlib import Path

from extra_rows import FILES, add_file, add_row


def row(kind: str, /, **cells: str) -> Callable[[Path], Path]:
    """Adds a row with some cells replaced."""
    return lambda folder: add_row(folder, kind, **cells)


def swapped(kind: str, parts: tuple[str, ...]) -> Callable[[Path], Path]:
    """Adds a file with parts of its text swapped: old, new, old, new, each once."""
    text = FILES[kind]
    for old, new in zip(parts[::2], parts[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    return lambda folder: add_file(folder, kind, text)


def drug(*parts: str) -> Callable[[Path], Path]:
    """Adds a drug file with parts swapped."""
    return swapped("drugs", parts)


def condition(*parts: str) -> Callable[[Path], Path]:
    """Adds a disease file with parts swapped."""
    return swapped("conditions", parts)


def protocol(*parts: str) -> Callable[[Path], Path]:
    """Adds a protocol file with parts swapped."""
    return swapped("protocols", parts)


def both(*parts: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Adds several files or rows."""

    def add(folder: Path) -> Path:
        for part in parts:
            part(folder)
        return folder

    return add
