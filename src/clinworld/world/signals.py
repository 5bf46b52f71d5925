"""Which quantities are followed in a patient: those of the disease and the known conditions, in the units and ranges of their rows.

`check_signals` holds a declared inventory against knowledge; the inventory of a job is derived, so it can only differ where a row is wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.premise import Conflict, Premise

_WEIGHT = "weight"


@dataclass(frozen=True, slots=True)
class Signal:
    """A quantity that is followed: its unit (UCUM) and the range it may take."""

    name: str
    unit: str
    low: float
    high: float


def derive_signals(premise: Premise, knowledge: Knowledge) -> tuple[Signal, ...]:
    """The signals of the disease and of each known condition, weight first, each once."""
    signals = []
    for name in _domain(premise, knowledge):
        row = _find_row(name, knowledge)
        if row is not None:
            signals.append(Signal(name, row.ucum, row.hard_low, row.hard_high))
    return tuple(signals)


def check_signals(signals: Sequence[Signal], premise: Premise, knowledge: Knowledge) -> Iterator[Conflict]:
    """Signals that are too many or too few, outside the disease's domain, in another unit, or beyond the row's range."""
    domain = _domain(premise, knowledge)
    names = {signal.name for signal in signals}
    place = "signals"
    if len(signals) != len(domain) and names <= set(domain):
        missing = ", ".join(name for name in domain if name not in names)
        found = f"{len(signals)} signals" + (f", without {missing}" if missing else "")
        limit = f"{premise.patient.disease} and the known conditions have {len(domain)}"
        yield Conflict("n_signals_mismatch", place, found, limit, "Declare each signal once.")
    for signal in signals:
        row = _find_row(signal.name, knowledge)
        if row is None or signal.name not in domain:
            limit = f"followed in {premise.patient.disease}: {', '.join(domain)}"
            yield Conflict("signal_not_in_disease_domain", place, signal.name, limit, "Remove it.")
            continue
        if signal.unit != row.ucum:
            yield Conflict("unit_mismatch", f"{place}.{signal.name}", repr(signal.unit), f"its unit is {row.ucum!r}", "Change the unit.")
        if signal.low < row.hard_low or signal.high > row.hard_high or signal.low > signal.high:
            found = f"{signal.low:g} to {signal.high:g} {row.ucum}"
            limit = f"{row.hard_low:g} to {row.hard_high:g}"
            yield Conflict("range_out_of_domain", f"{place}.{signal.name}", found, limit, "Narrow the range.")


def _domain(premise: Premise, knowledge: Knowledge) -> tuple[str, ...]:
    return _list_domain(knowledge, (premise.patient.disease, *premise.patient.comorbidities))


@lru_cache(maxsize=4096)
def _list_domain(knowledge: Knowledge, conditions: tuple[str, ...]) -> tuple[str, ...]:
    names = [_WEIGHT]
    for condition in conditions:
        row = knowledge.conditions.get(condition)
        names += list(row.signals) if row is not None else []
    return tuple(dict.fromkeys(names))


def _find_row(name: str, knowledge: Knowledge) -> Analyte | Stream | None:
    return knowledge.streams.get(name) or knowledge.analytes.get(name)
