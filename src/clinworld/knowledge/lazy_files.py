"""Rows that stand in one file each: which there are is known by their names, and each is read and parsed when first asked for."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Generic

from clinworld.core.errors import KnowledgeError
from clinworld.core.tables import read_text
from clinworld.knowledge.shapes import Row

ESCAPES = ("\\", "''")  # with these a text in a file may differ from the value it stands for


class LazyFiles(Mapping[str, Row], Generic[Row]):
    """Rows by id, which is the name of the file; after them come `rows`, parsed already."""

    def __init__(self, paths: Mapping[str, Path], read: Callable[[Path], Row], rows: Mapping[str, Row]) -> None:
        self._paths, self._read = paths, read
        self._rows: dict[str, Row] = dict(rows)
        self._ids = dict.fromkeys((*paths, *rows))
        self._found: dict[str, tuple[str, ...]] = {}

    def __getitem__(self, name: str) -> Row:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = self._read(self._paths[name])
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def containing(self, word: str) -> tuple[str, ...]:
        """Ids of the files that may hold a word, whatever its case and its line breaks, without parsing any.

        A file with an escape may hold any word. The rows without a file are left out.
        """
        wanted = _fold(word)
        if wanted not in self._found:
            # A search reads every file, and worlds ask for the same few words again and again; one that no file holds is not kept.
            escaped = self._escaped
            if wanted not in self._whole:
                return escaped
            self._found[wanted] = tuple(name for name, text in self._folded.items() if wanted in text or name in escaped)
        return self._found[wanted]

    def without_a_file(self) -> tuple[str, ...]:
        """Ids of the rows that were parsed already."""
        return tuple(name for name in self._ids if name not in self._paths)

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {name: _fold(read_text(path, KnowledgeError)) for name, path in self._paths.items()}

    @cached_property
    def _whole(self) -> str:
        return "\n".join(self._folded.values())

    @cached_property
    def _escaped(self) -> tuple[str, ...]:
        return tuple(name for name, text in self._folded.items() if any(sign in text for sign in ESCAPES))


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())
