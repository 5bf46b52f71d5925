"""The values of an item that call for action by themselves, whatever else is known, read from the alarm protocols."""

from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rule_rows import AnyOf, Between, NumberTest, Predicate
from clinworld.knowledge.rules import facts_of

ALARM = "value_alarm"


class AlarmLimit(NamedTuple):
    """One comparison that is enough for a rule; `then` is how soon somebody acts."""

    protocol: str
    test: NumberTest | Between
    then: str
    source: str
    status: str


def find_alarm_limits(item: str, knowledge: Knowledge) -> tuple[AlarmLimit, ...]:
    """The limits of an item that decide alone, in the order of the protocols and rules; () where none does."""
    return tuple(
        AlarmLimit(protocol.id, test, rule.then, rule.source, rule.status)
        for protocol in knowledge.protocols.values()
        if protocol.kind == ALARM
        for rule in protocol.rules
        for test in _deciding(rule.when, item)
    )


def find_alarms(item: str, knowledge: Knowledge) -> tuple[str, ...]:
    """The alarm protocols whose rules look at an item, alone or with other things."""
    alarms = (protocol for protocol in knowledge.protocols.values() if protocol.kind == ALARM)
    return tuple(protocol.id for protocol in alarms if any(item in facts_of(rule.when) for rule in protocol.rules))


def _deciding(when: Predicate, item: str) -> Iterator[NumberTest | Between]:
    """The comparisons of an item with a number each of which makes a predicate true by itself."""
    for part in when.parts if isinstance(when, AnyOf) else (when,):
        if isinstance(part, AnyOf):
            yield from _deciding(part, item)
        elif _is_limit(part) and part.fact == item:
            yield part


def _is_limit(part: Predicate) -> TypeGuard[NumberTest | Between]:
    return isinstance(part, Between) or (isinstance(part, NumberTest) and isinstance(part.value, float | int))
