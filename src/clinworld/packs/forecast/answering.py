"""What offline controls say and the numbers they use, from tables beside this file."""

from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv
from clinworld.core.text import Language, load_labels

TEXTS = Path(__file__).with_name("controls_texts.csv")
NUMBERS = Path(__file__).with_name("controls_numbers.csv")


def say(label: str, language: Language, **values: object) -> str:
    """A control's words."""
    return load_labels(TEXTS).say(label, language, **values)


def number(name: str) -> float:
    """A control's number, in the table's unit."""
    return _numbers()[name]


@lru_cache
def _numbers() -> dict[str, float]:
    rows = load_csv(NUMBERS, ("id", "value", "unit", "meaning", "source", "status"))
    return {row["id"]: float(row["value"]) for row in rows}
