"""Knowledge rows as `clinworld inputs` prints them: every row with its values, units, source and status, and how many there are."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple, assert_never

from clinworld.core.text import Language, Wording
from clinworld.core.units import readable_unit
from clinworld.knowledge.alarm_limits import ALARM, find_alarm_limits, find_alarms
from clinworld.knowledge.condition_rows import Wordings
from clinworld.knowledge.listing_words import Speaker
from clinworld.knowledge.load import KINDS, Knowledge
from clinworld.knowledge.places import Entry, claims, entries_of
from clinworld.knowledge.reference_change import RCV_DECIMALS, reference_change_pct
from clinworld.knowledge.rows import STATUSES, Analyte, Drug, DrugEffect, Level
from clinworld.knowledge.rule_rows import AllOf, AnyOf, Between, FactRef, IsTest, Missing, Not, NumberTest, OneOf

__all__ = ["KINDS", "KindCount", "ListingRow", "StatusShare", "count_kinds", "count_statuses", "list_rows"]

_NOT_VALUES = ("id", "names", "citation", "text", "meaning", "ucum", "dose_unit", "unit", "source", "status", "is_name_only")
_LIMITS = ("ref_low_m", "ref_high_m", "ref_low_f", "ref_high_f", "ref_low", "ref_high", "cut", "hard_low", "hard_high", "diagnostic_high")
_IN_ROW_UNIT = (*_LIMITS, "mean_m", "mean_f", "value", "size_low", "size_high", "factors", "ladder", "low", "high")
_ON_SCALE = ("sd_between", "sd_within", "per_year_over_40", "per_bmi_over_25", "saturday", "sunday", "monday")
_SUFFIX_UNITS = (("_pct", "%"), ("_days", "d"), ("_weeks", "wk"), ("_change_kg", "kg"))
_ITEMS = ("analytes", "streams", "findings")
_JOINS = {  # kinds whose rows are called by what they join, each cell with the kinds its id may be of
    "symptom_shadows": (("id", ("symptoms",)),),
    "symptom_complaints": (("id", ("symptoms",)),),
    "condition_states": (("id", ("conditions",)),),
    "comorbidities": (("a", ("conditions",)), ("b", ("conditions",))),
    "factor_effects": (("factor", ("factors",)), ("item", _ITEMS)),
    "correlations": (("a", _ITEMS), ("b", _ITEMS)),
    "event_effects": (("event", ("events",)), ("item", _ITEMS)),
    "couplings": (("cause", ("conditions", *_ITEMS)), ("effect", _ITEMS)),
}
_MOST_SORTS = 3  # a kind of so few sorts is counted by sort


class Value(NamedTuple):
    """One printed value of a row; `unit` is "" where there is none."""

    name: str
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class ListingRow:
    """A knowledge row for reading: `values` are its filled cells in the order of the row's class; an empty cell is left out."""

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


class KindCount(NamedTuple):
    """How many rows of a kind there are, of which sorts (() where it has none), and the shares of its rows and entries by status."""

    kind: str
    rows: int
    sorts: tuple[tuple[str, int], ...]
    shares: tuple[StatusShare, ...]

    def share(self, status: str) -> float:
        """Percent of the rows and entries that have a status."""
        return sum(share.share_pct for share in self.shares if share.status == status)

    def to_row(self) -> dict[str, Any]:
        """The JSON form."""
        by_status = {share.status: share.rows for share in self.shares}
        return {"kind": self.kind, "rows": self.rows, "sorts": dict(self.sorts), "by_status": by_status}


def list_rows(kind: str, knowledge: Knowledge, language: Language | None = None) -> list[ListingRow]:
    """All rows of a kind, their texts in one language or, with None, in both.

    Raises UsageError, naming the nearest, for a kind that does not exist.
    """
    speaker = None if language is None else Speaker(knowledge, language)
    return [_list_row(kind, row, knowledge, speaker) for row in knowledge.table(kind).values()]


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


def count_kinds(knowledge: Knowledge) -> list[KindCount]:
    """Every kind with its number of rows; the last line is `all`, whose number is that of all claims."""
    shares = count_statuses(knowledge)
    counts = []
    for kind in (*KINDS, "all"):
        own = tuple(share for share in shares if share.kind == kind)
        rows = list(knowledge.table(kind).values()) if kind != "all" else []
        counts.append(KindCount(kind, len(rows) or sum(share.rows for share in own), _sorts(rows), own))
    return counts


def _sorts(rows: list[Any]) -> tuple[tuple[str, int], ...]:
    """How many rows are of which sort, where they have few sorts; names only are a sort of condition."""
    if any(getattr(row, "is_name_only", False) for row in rows):
        names = sum(row.is_name_only for row in rows)
        return ("described", len(rows) - names), ("name only", names)
    found = Counter(str(row.kind) for row in rows if hasattr(row, "kind"))
    return tuple(found.items()) if 1 < len(found) <= _MOST_SORTS else ()


def _list_row(kind: str, row: Any, knowledge: Knowledge, speaker: Speaker | None) -> ListingRow:
    values = [Value(name, text, _unit(row, name)) for name, text in _cells(row, speaker)]
    if isinstance(row, Analyte):
        values.append(Value("reference_change_pct", f"{reference_change_pct(row, knowledge):.{RCV_DECIMALS}f}", "%"))
    values += _list_alarms(row, knowledge, speaker) if kind in ("analytes", "streams", "findings") else ()
    if isinstance(row, Drug):
        values += [Value(f"indications.{condition}", f"{top:.10g}", readable_unit(row.dose_unit)) for condition, top in row.indications]
    for entry in entries_of(kind, row):
        name = f"{entry.cell}.{entry.about or entry.number}"
        is_effect = isinstance(entry.row, DrugEffect)
        values.append(_list_effect(name, entry.row, speaker) if is_effect else _list_entry(name, entry, row, speaker))
    # A source is its own source.
    return ListingRow(row.id, _said(kind, row, knowledge), tuple(values), getattr(row, "source", row.id), row.status)


def _said(kind: str, row: Any, knowledge: Knowledge) -> Wording:
    """What a row is called: its names, its text, the first of its wordings, the names of what it joins, or its id."""
    if kind in _JOINS:
        joined = [_name_of(getattr(row, cell), knowledge, kinds) for cell, kinds in _JOINS[kind]]
        return Wording(*(" – ".join(getattr(name, language) for name in joined) for language in ("en", "zh")))
    if hasattr(row, "wordings"):
        return Wording(row.wordings.en[0], row.wordings.zh[0])
    said = next((getattr(row, name) for name in ("names", "text", "meaning", "citation") if hasattr(row, name)), row.id)
    return said if isinstance(said, Wording) else Wording(said, said)


def _name_of(name: str, knowledge: Knowledge, kinds: tuple[str, ...]) -> Wording:
    kind = next((kind for kind in kinds if name in knowledge.table(kind)), None)
    return Wording(name, name) if kind is None else _said(kind, knowledge.table(kind)[name], knowledge)


def _cells(row: Any, speaker: Speaker | None) -> Iterator[tuple[str, str]]:
    for name, value in _filled(row):
        if name == "decimals" and not getattr(row, "ucum", ""):
            continue  # decimals of what is no number
        if name == "class_is_new" and not value:
            continue  # as with nearly every drug
        if name not in _NOT_VALUES and name != "indications" and not _has_sources(value):
            yield name, _text(value) if speaker is None else speaker.value(row, name, value, row)


def _has_sources(value: Any) -> bool:
    """Whether a field holds entries that have a source each."""
    return isinstance(value, tuple) and hasattr(value[0], "source")


def _text(value: Any) -> str:
    """A value in both languages, closed words and ids as they are written."""
    if isinstance(value, Wording):
        return f"{value.en} / {value.zh}"
    if isinstance(value, Wordings):
        return " / ".join(" | ".join(texts) for texts in (value.en, value.zh))
    if isinstance(value, AllOf | AnyOf | Not):
        parts = (value.part,) if isinstance(value, Not) else value.parts
        return f"{type(value).__name__.removesuffix('Of').lower()}({', '.join(map(_text, parts))})"
    if isinstance(value, NumberTest | Between | IsTest | OneOf | Missing):
        return _comparison(value)
    if is_dataclass(value):
        first, *rest = _filled(value)
        told = ", ".join(f"{name} {_text(each)}" for name, each in rest)
        return _text(first[1]) + (f" ({told})" if rest else "")
    if isinstance(value, tuple):
        return ("; " if value and is_dataclass(value[0]) else ", ").join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _comparison(leaf: NumberTest | Between | IsTest | OneOf | Missing) -> str:
    """A comparison in the words of the protocol files."""
    match leaf:
        case NumberTest(fact, op, value):
            return f"{fact} {op} {value.fact if isinstance(value, FactRef) else _text(value)}"
        case Between(fact, low, high):
            return f"{fact} between {_text(low)} and {_text(high)}"
        case IsTest(fact, value):
            return f"{fact} is {_text(value)}"
        case OneOf(fact, choices):
            return f"{fact} one_of [{', '.join(choices)}]"
        case Missing(fact):
            return f"{fact} missing"
        case _:
            assert_never(leaf)


def _unit(row: Any, name: str) -> str:
    own = readable_unit(getattr(row, "ucum", "") or getattr(row, "dose_unit", "") or getattr(row, "unit", ""))
    own = "" if own == "1" else own
    if name in _ON_SCALE and getattr(row, "scale", "") == "log":
        return "ln"
    if name in _IN_ROW_UNIT or name in _ON_SCALE:
        return own
    if name == "per_kg":
        return f"{own}/kg"
    return next((unit for suffix, unit in _SUFFIX_UNITS if name.endswith(suffix)), "")


def _list_alarms(row: Any, knowledge: Knowledge, speaker: Speaker | None) -> Iterator[Value]:
    """The alarm protocols that look at an item, and for each the values that call for action by themselves."""
    if named := find_alarms(row.id, knowledge):
        yield Value("alarm_protocols", _text(named) if speaker is None else speaker.names("protocols", named), "")
    told: dict[str, list[str]] = {}
    for limit in find_alarm_limits(row.id, knowledge):
        if speaker is None:
            text = f"{_comparison(limit.test).partition(' ')[2]}: {limit.then}"
        else:
            text = f"{speaker.book.test(limit.test, row.ucum)}: {speaker.book.rule_word(f'then.{ALARM}.{limit.then}')}"
        told.setdefault(limit.protocol, []).append(text)
    for protocol, texts in told.items():
        yield Value(f"alarms.{protocol}", "; ".join(texts) if speaker is None else speaker.entries(texts), "")


def _list_effect(name: str, effect: DrugEffect, speaker: Speaker | None) -> Value:
    dose = "" if effect.dose is None else f".{effect.dose:g}"
    called, origin = f"{name}{dose}.{effect.population}", _origin(effect, speaker)
    if speaker is not None:
        return Value(called, speaker.effect(effect), origin)
    spread = "" if effect.sd is None else f" (SD {effect.sd:g})"
    return Value(called, f"{effect.mean:g}{spread}", f"{readable_unit(effect.unit)}; {origin}")


def _list_entry(name: str, entry: Entry, row: Any, speaker: Speaker | None) -> Value:
    told = entry.row
    if isinstance(told, Level):
        limits = f"{told.low:g} to {told.high:g}" if speaker is None else speaker.book.range(told.low, told.high)
        return Value(name, f"{told.mean:g} (SD {told.sd:g}, {limits})", _origin(told, speaker))
    pairs = [pair for pair in _filled(told) if pair[0] not in ("source", "status") and pair[1] != entry.about]
    if speaker is None:
        return Value(name, ", ".join(f"{each} {_text(value)}" for each, value in pairs), _origin(told, speaker))
    left_out = tuple({each for each, _ in _filled(told)} - {each for each, _ in pairs})
    return Value(name, speaker.listed(told, row, without=left_out), _origin(told, speaker))


def _origin(row: Any, speaker: Speaker | None) -> str:
    return (
        f"{row.source}, {row.status}"
        if speaker is None
        else f"[{speaker.book.listed((row.source, speaker.book.word('status', row.status)))}]"
    )


def _filled(row: Any) -> list[tuple[str, Any]]:
    """The fields of a row that hold something."""
    found = ((each.name, getattr(row, each.name)) for each in fields(row))
    return [(name, value) for name, value in found if value not in (None, "", ()) and not (is_dataclass(value) and not _filled(value))]
