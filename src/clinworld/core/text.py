"""Text in two languages: a pair of wordings, and label tables read from CSV (id, en, zh)."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from clinworld.core.errors import KnowledgeError, nearest_match
from clinworld.core.tables import load_csv

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Wording:
    """One thing said natively in each language."""

    en: str
    zh: str

    def say(self, language: Language) -> str:
        """The wording in one language."""
        return self.en if language == "en" else self.zh


class Labels:
    """A label table; an unknown id is an error, never an empty string."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = {row["id"]: Wording(row["en"], row["zh"]) for row in load_csv(path, ("id", "en", "zh"))}

    def say(self, label: str, language: Language, **values: object) -> str:
        """The label's text with `{name}` replaced by the values."""
        if label not in self._rows:
            raise KnowledgeError(self._path.name, f"no label {label!r}", nearest=nearest_match(label, self._rows), do="Add a row.")
        text = self._rows[label].say(language)
        for name, value in values.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def __contains__(self, label: str) -> bool:
        return label in self._rows


@lru_cache
def load_labels(path: Path) -> Labels:
    """The label table in a CSV file of the package."""
    return Labels(path)
