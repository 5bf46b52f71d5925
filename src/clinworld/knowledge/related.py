"""Which protocols a disease has to do with, read from the rows: whoever opens the page of either finds the other."""

from collections.abc import Iterator

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Condition
from clinworld.knowledge.rule_rows import Protocol
from clinworld.knowledge.rules import facts_of

_FLAGS = ("has", "had", "is")  # has_rhabdomyolysis: the flag of rule_facts that a disease is named in
_STILL = ("normal", "negative")


def relate(knowledge: Knowledge) -> dict[str, tuple[str, ...]]:
    """The protocols of each disease, both by id and in the order of the tables; () for a disease that none is about.

    A protocol is about a disease when it is about a complaint that a symptom of it is or is a form of, a drug for it, an item that it
    moves, follows or warns of; or when its rules ask for the disease itself or, where they are about drugs, for an item that is followed
    in it. Protocols for every drug, complaint or item are about no disease more than another and are left out.
    """
    complaints, states = knowledge.symptom_complaints, knowledge.condition_states
    protocols = [(row, _read(row)) for row in knowledge.protocols.values() if not row.subject.is_all]
    used_for: dict[str, set[str]] = {}
    for drug in knowledge.drugs.values():
        for condition, _ in drug.indications:
            used_for.setdefault(condition, set()).add(drug.id)
    found: dict[str, tuple[str, ...]] = {}
    for key, row in knowledge.conditions.items():
        told = {entry.symptom for entry in row.symptoms} | {flag.symptom for flag in row.red_flags if flag.symptom}
        told |= {complaint for symptom in told & complaints.keys() for complaint in complaints[symptom].complaints}
        subjects = (told, used_for.get(key, set()), set(_items(row)))
        asked = {*(states[key].states if key in states else ()), *(f"{flag}_{key}" for flag in _FLAGS)}
        followed = asked | {*row.signals}
        found[key] = tuple(
            protocol.id
            for protocol, read in protocols
            if _is_about(protocol, *subjects) or read & (followed if protocol.kind == "titration" else asked)
        )
    return found


def _is_about(protocol: Protocol, complaints: set[str], drugs: set[str], items: set[str]) -> bool:
    subject = protocol.subject
    return subject.complaint in complaints or not drugs.isdisjoint(subject.drugs) or not items.isdisjoint(subject.items)


def _items(row: Condition) -> Iterator[str]:
    """What a disease moves, follows or warns of."""
    yield from row.signals
    yield from (entry.item for entry in row.findings if entry.moves not in _STILL)
    yield from (flag.item for flag in row.red_flags if flag.item)


def _read(protocol: Protocol) -> set[str]:
    """Every fact that the rules of a protocol look at."""
    return {fact for rule in protocol.rules for fact in facts_of(rule.when)}
