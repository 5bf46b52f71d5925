"""Knowledge rows as `clinworld inputs` prints them: every row with its values, units, source and status."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from clinworld.core.text import Wording
from clinworld.core.units import readable_unit
from clinworld.knowledge.load import KINDS, Knowledge
from clinworld.knowledge.places import claims
from clinworld.knowledge.rows import STATUSES, Condition, Drug

__all__ = ["KINDS", "ListingRow", "StatusShare", "count_statuses", "list_rows"]

_NOT_VALUES = ("id", "names", "citation", "text", "meaning", "ucum", "dose_unit", "unit", "source", "status")
_NESTED = ("effects", "levels", "look_alikes", "indications")
_LIMITS = ("ref_low_m", "ref_high_m", "ref_low_f", "ref_high_f", "hard_low", "hard_high", "diagnostic_high")
_IN_ROW_UNIT = (*_LIMITS, "mean_m", "mean_f", "value", "size", "ladder")
_ON_SCALE = ("sd_between", "sd_within", "per_year_over_40", "per_bmi_over_25", "saturday", "sunday", "monday")
_SUFFIX_UNITS = (("_pct", "%"), ("_days", "d"), ("_change_kg", "kg"))


class Value(NamedTuple):
    """One printed value of a row; `unit` is "" where there is none."""

    name: str
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class ListingRow:
    """A knowledge row for reading: `values` are its filled cells in the order of `rows.py`; an empty cell is left out."""

    id: str
    names: Wording
    values: tuple[Value, ...]
    source: str
    status: str

    def to_row(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "id": self.id,
            "names": {"en": self.names.en, "zh": self.names.zh},
            "values": [value._asdict() for value in self.values],
            "source": self.source,
            "status": self.status,
        }


class StatusShare(NamedTuple):
    """How many rows (and entries inside drug and disease files) of a kind have a status; `share_pct` of the kind's rows."""

    kind: str
    status: str
    rows: int
    share_pct: float


def list_rows(kind: str, knowledge: Knowledge) -> list[ListingRow]:
    """All rows of a kind. Raises UsageError, naming the nearest, for a kind that does not exist."""
    return [_list_row(row) for row in knowledge.table(kind).values()]


def count_statuses(knowledge: Knowledge) -> list[StatusShare]:
    """For each kind, and then for `all`, the share of rows by status, strongest first; a status nothing has is left out."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in (*KINDS, "all")}
    for claim in claims(knowledge):
        counts[claim.kind][claim.status] += 1
        counts["all"][claim.status] += 1
    for source in knowledge.sources.values():
        counts["sources"][source.status] += 1
    return [
        StatusShare(kind, status, counts[kind][status], 100 * counts[kind][status] / counts[kind].total())
        for kind in counts
        for status in STATUSES
        if counts[kind][status]
    ]


def _list_row(row: Any) -> ListingRow:
    values = [Value(name, text, _unit(row, name)) for name, text in _cells(row)]
    if isinstance(row, Drug):
        values += _list_drug(row)
    if isinstance(row, Condition):
        values += _list_condition(row)
    said = next((getattr(row, name) for name in ("names", "text", "meaning", "citation") if hasattr(row, name)), row.id)
    names = said if isinstance(said, Wording) else Wording(said, said)
    # A source is its own source.
    return ListingRow(row.id, names, tuple(values), getattr(row, "source", row.id), row.status)


def _cells(row: Any) -> Iterator[tuple[str, str]]:
    for each in fields(row):
        value = getattr(row, each.name)
        if each.name in _NOT_VALUES or each.name in _NESTED or value is None or value == "" or value == ():
            continue
        yield each.name, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Wording):
        return f"{value.en} / {value.zh}"
    if isinstance(value, tuple):
        return ", ".join(_text(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _unit(row: Any, name: str) -> str:
    own = readable_unit(getattr(row, "ucum", "") or getattr(row, "dose_unit", "") or getattr(row, "unit", ""))
    if name in _ON_SCALE and getattr(row, "scale", "") == "log":
        return "ln"
    if name in _IN_ROW_UNIT or name in _ON_SCALE:
        return own
    if name == "per_kg":
        return f"{own}/kg"
    return next((unit for suffix, unit in _SUFFIX_UNITS if name.endswith(suffix)), "")


def _list_drug(drug: Drug) -> Iterator[Value]:
    for condition, top in drug.indications:
        yield Value(f"indications.{condition}", _text(top), readable_unit(drug.dose_unit))
    for effect in drug.effects:
        dose = "" if effect.dose is None else f".{effect.dose:g}"
        spread = "" if effect.sd is None else f" (SD {effect.sd:g})"
        origin = f"{readable_unit(effect.unit)}; {effect.source}, {effect.status}"
        yield Value(f"effects.{effect.item}{dose}.{effect.population}", f"{effect.mean:g}{spread}", origin)


def _list_condition(condition: Condition) -> Iterator[Value]:
    for level in condition.levels:
        text = f"{level.mean:g} (SD {level.sd:g}, {level.low:g} to {level.high:g})"
        yield Value(f"levels.{level.item}", text, f"{level.source}, {level.status}")
    for alike in condition.look_alikes:
        yield Value(
            f"look_alikes.{alike.condition}", f"{_text(alike.text)} | {_text(alike.discriminator)}", f"{alike.source}, {alike.status}"
        )
