"""The numbers of the tasks as tables: limits, what a policy does by level, and other units. They define tasks and advise nobody."""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from clinworld.core.tables import load_csv

HERE = Path(__file__).parent


class Band(NamedTuple):
    """A row of bands.csv: from `low` up to but not `high`; `dose` None for nothing to give."""

    low: Decimal | None
    high: Decimal | None
    unit: str
    dose: Decimal | None
    dose_unit: str
    hours: int | None
    reason: str


class Conversion(NamedTuple):
    """A row of conversions.csv: one `unit` is `factor` times the analyte's own unit."""

    unit: str
    factor: Decimal
    printed: Decimal


@lru_cache(maxsize=1)
def load_limits() -> Mapping[str, Decimal]:
    """Values of limits.csv by id."""
    return {
        row["id"]: Decimal(row["value"]) for row in load_csv(HERE / "limits.csv", ("id", "value", "unit", "meaning", "source", "status"))
    }


@lru_cache(maxsize=8)
def load_bands(decision: str) -> tuple[Band, ...]:
    """The bands of one decision, by rising level."""
    columns = ("decision", "low", "high", "unit", "dose", "dose_unit", "hours", "reason", "source", "status")
    rows = [row for row in load_csv(HERE / "bands.csv", columns) if row["decision"] == decision]
    numbers = [tuple(Decimal(row[name]) if row[name] else None for name in ("low", "high", "dose")) for row in rows]
    return tuple(
        Band(low, high, row["unit"], dose, row["dose_unit"], int(row["hours"]) if row["hours"] else None, row["reason"])
        for row, (low, high, dose) in zip(rows, numbers, strict=True)
    )


@lru_cache(maxsize=1)
def load_conversions() -> Mapping[str, Conversion]:
    """The other unit of an analyte, where it has one."""
    rows = load_csv(HERE / "conversions.csv", ("analyte", "unit", "to_unit", "factor", "printed", "source", "status"))
    return {row["analyte"]: Conversion(row["unit"], Decimal(row["factor"]), Decimal(row["printed"])) for row in rows}


def find_band(decision: str, value: Decimal) -> Band:
    """The band a level falls into; the low end belongs to it."""
    return next(
        band for band in load_bands(decision) if (band.low is None or value >= band.low) and (band.high is None or value < band.high)
    )
