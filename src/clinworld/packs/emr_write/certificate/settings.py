"""The numbers of settings.csv: what a certificate is made with where nothing else is asked for."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv

HERE = Path(__file__).parent
_COLUMNS = ("id", "value", "unit", "meaning", "source", "status")


@lru_cache(maxsize=1)
def _settings() -> Mapping[str, float]:
    return {row["id"]: float(row["value"]) for row in load_csv(HERE / "settings.csv", _COLUMNS)}


def setting(name: str) -> float:
    """A number of settings.csv."""
    return _settings()[name]


def whole_setting(name: str) -> int:
    """A whole number of settings.csv."""
    return int(setting(name))
