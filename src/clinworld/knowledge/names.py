"""What rows are called, and which row a name means."""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from clinworld.core.lookalikes import fold_lookalikes
from clinworld.knowledge.lazy_files import LazyFiles

# Kinds whose rows have an id and no name.
UNNAMED = {
    "sources",
    "symptoms",
    "symptom_shadows",
    "symptom_complaints",
    "condition_states",
    "comorbidities",
    "factor_effects",
    "correlations",
    "events",
    "event_effects",
    "couplings",
    "past_events",
    "parameters",
}


def spoken_names(kind: str, row: Any) -> tuple[str, ...]:
    """What a row is called besides its id: names in both languages and aliases; the phrase itself for a context; () for unnamed kinds."""
    if kind == "contexts":
        return (row.text.en, row.text.zh)
    if kind in UNNAMED:
        return ()
    return (row.names.en, row.names.zh, *getattr(row, "aliases", ()))


def fold_name(name: str) -> str:
    """A name as a reader sees it: without case, width, accents and doubled spaces, look-alikes of other scripts as English letters.

    >>> fold_name("Tirzep\u0430tide") == fold_name("TIRZEPATIDE"), fold_name("\uff28b  A1c")
    (True, 'hb a1c')
    """
    return " ".join(fold_lookalikes(unicodedata.normalize("NFKC", name)).split())


class NameIndex:
    """The names of one kind, whatever their case: an id before a name. Of rows in files only those are parsed that may have the name."""

    def __init__(self, kind: str, rows: Mapping[str, Any]) -> None:
        self._kind, self._rows = kind, rows
        self._ids = {key.casefold(): key for key in rows}
        self._all: dict[str, str] | None = None

    def find(self, name: str) -> str | None:
        """The id that a name stands for, None when it stands for nothing."""
        wanted = name.strip().casefold()
        if wanted in self._ids:
            return self._ids[wanted]
        if isinstance(self._rows, LazyFiles):
            return self._fold((*self._rows.containing(wanted), *self._rows.without_a_file())).get(wanted) if wanted else None
        if self._all is None:
            self._all = self._fold(self._rows)
        return self._all.get(wanted)

    def _fold(self, keys: Iterable[str]) -> dict[str, str]:
        return {name.casefold(): key for key in keys for name in spoken_names(self._kind, self._rows[key])}
