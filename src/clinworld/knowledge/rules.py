"""What rules say about a patient. Logic is three-valued: a fact that is not known makes a comparison unknown, never false.

Nothing is defaulted here: whoever calls gives the facts, and gets told which are lacking.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from clinworld.core.errors import UsageError
from clinworld.core.units import from_ticks, to_ticks
from clinworld.knowledge.rule_rows import (
    AllOf,
    AnyOf,
    Between,
    Comparison,
    FactRef,
    Facts,
    FactValue,
    IsTest,
    Missing,
    Not,
    NumberTest,
    OneOf,
    Predicate,
    Protocol,
    Rule,
    RuleFact,
)

PROPOSED_RULE, PROPOSED_STAGE = "proposed_rule", "proposed_stage"  # facts that the rules read before every drug look at
SAFETY, KEEP = "safety", "keep"


@dataclass(frozen=True, slots=True)
class Undecided:
    """No decision yet: `rules` are those still possible, in order, and `missing` the facts that would tell."""

    rules: tuple[Rule, ...]
    missing: tuple[str, ...]


class Boundary(NamedTuple):
    """One threshold of a comparison: `below`, `at` and `above` differ by the last printed digit. `others` holds the fact compared with."""

    comparison: NumberTest | Between
    below: float
    at: float
    above: float
    others: dict[str, float]


def holds(predicate: Predicate, facts: Facts) -> bool | None:
    """Whether a predicate is true of a patient; None when the facts known do not tell.

    `all` is false as soon as one part is false and `any` true as soon as one part is true, whatever else is unknown. Raises UsageError for
    a value that is not of the kind compared.

    >>> over = NumberTest("potassium", "at_least", 6.0)
    >>> holds(over, {"potassium": 6.0}), holds(over, {"potassium": 5.9}), holds(over, {}), holds(Not(over), {})
    (True, False, None, None)
    """
    match predicate:
        case AllOf(parts):
            return _every(holds(part, facts) for part in parts)
        case AnyOf(parts):
            return _opposite(_every(_opposite(holds(part, facts)) for part in parts))
        case Not(part):
            return _opposite(holds(part, facts))
        case NumberTest():
            return _test_number(predicate, facts)
        case Between(fact, low, high):
            number = _number(fact, facts)
            return None if number is None else low <= number < high
        case IsTest(fact, value):
            found = facts.get(fact)
            if found is not None and type(found) is not type(value):
                raise UsageError(
                    f"fact {fact}", f"found {found!r}", "true or false is expected" if value in (True, False) else "a word is expected"
                )
            return None if found is None else found == value
        case OneOf(fact, choices):
            found = facts.get(fact)
            if found is not None and not isinstance(found, str):
                raise UsageError(f"fact {fact}", f"found {found!r}", "a word is expected")
            return None if found is None else found in choices
        case Missing(fact):
            return facts.get(fact) is None
        case _:
            assert_never(predicate)


def _test_number(test: NumberTest, facts: Facts) -> bool | None:
    number = _number(test.fact, facts)
    limit = _number(test.value.fact, facts) if isinstance(test.value, FactRef) else test.value
    if number is None or limit is None:
        return None
    match test.op:
        case "at_least":
            return number >= limit
        case "above":
            return number > limit
        case "at_most":
            return number <= limit
        case "below":
            return number < limit
        case _:
            assert_never(test.op)


def _number(fact: str, facts: Facts) -> float | None:
    value = facts.get(fact)
    if value is None:
        return None
    if isinstance(value, bool | str) or value != value:
        raise UsageError(f"fact {fact}", f"found {value!r}", "a number is expected")
    return value


def _every(values: Iterator[bool | None]) -> bool | None:
    result: bool | None = True
    for value in values:
        if value is False:
            return False
        result = None if value is None else result
    return result


def _opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def comparisons(predicate: Predicate) -> tuple[Comparison, ...]:
    """Every comparison in a predicate, in the order written."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            return tuple(leaf for part in parts for leaf in comparisons(part))
        case Not(part):
            return comparisons(part)
        case _:
            return (predicate,)


def facts_of(predicate: Predicate) -> tuple[str, ...]:
    """Ids of all facts that a predicate looks at, each once, in the order written."""
    return tuple(dict.fromkeys(fact for leaf in comparisons(predicate) for fact in _facts_of_comparison(leaf)))


def _facts_of_comparison(leaf: Comparison) -> tuple[str, ...]:
    if isinstance(leaf, NumberTest) and isinstance(leaf.value, FactRef):
        return (leaf.fact, leaf.value.fact)
    return (leaf.fact,)


def missing_facts(predicate: Predicate, facts: Facts) -> tuple[str, ...]:
    """The unknown facts that keep a predicate from being decided; () when it is decided.

    >>> either = AnyOf((NumberTest("egfr", "below", 30), IsTest("has_aki", True)))
    >>> missing_facts(either, {"egfr": 50.0}), missing_facts(either, {"egfr": 20.0})
    (('has_aki',), ())
    """
    if holds(predicate, facts) is not None:
        return ()
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            return tuple(dict.fromkeys(fact for part in parts for fact in missing_facts(part, facts)))
        case Not(part):
            return missing_facts(part, facts)
        case _:
            return tuple(fact for fact in _facts_of_comparison(predicate) if facts.get(fact) is None)


def first_rule(protocol: Protocol, facts: Facts) -> Rule | Undecided | None:
    """The first rule of a protocol that holds; None when every rule is false.

    A rule that cannot be decided is never skipped. When one stands before the first that holds, the answer is Undecided: the rules that
    are still possible (the undecided ones down to the first that holds, and that one) and the facts the undecided ones lack. So a safety
    rule whose laboratory value was not measured asks for the value; it does not let the dose rise.
    """
    possible: list[Rule] = []
    missing: dict[str, None] = {}
    for rule in protocol.rules:
        verdict = holds(rule.when, facts)
        if verdict is False:
            continue
        if verdict and not possible:
            return rule
        possible.append(rule)
        if verdict:
            break
        missing.update(dict.fromkeys(missing_facts(rule.when, facts)))
    return Undecided(tuple(possible), tuple(missing)) if possible else None


def derive_decision(protocol: Protocol, gates: Protocol, facts: Facts) -> Rule | Undecided | None:
    """The rule that decides about a drug: its own protocol proposes, and the rules read before every change may overrule.

    A rule of the drug's own protocol whose stage is safety is final. Otherwise the first rule of `gates` that holds decides; these know
    what is proposed through the facts proposed_rule and proposed_stage ("keep" when nothing is). When none holds, the proposal stands.
    While the proposal is undecided, only a gate that holds whatever is proposed decides.
    """
    proposal = first_rule(protocol, facts)
    if isinstance(proposal, Rule) and proposal.stage == SAFETY:
        return proposal
    proposed: dict[str, FactValue] = {PROPOSED_STAGE: KEEP}
    if isinstance(proposal, Rule):
        proposed = {PROPOSED_RULE: proposal.id, PROPOSED_STAGE: proposal.stage}
    seen = dict(facts) if isinstance(proposal, Undecided) else {**facts, **proposed}
    gate = first_rule(gates, seen)
    if gate is None or isinstance(gate, Rule):
        return gate or proposal
    rules, missing = list(gate.rules), list(gate.missing)
    if isinstance(proposal, Undecided):
        rules, missing = [*rules, *proposal.rules], [*missing, *proposal.missing]
    elif proposal is not None and not holds(rules[-1].when, seen):
        rules.append(proposal)
    lacking = (fact for fact in missing if fact not in (PROPOSED_RULE, PROPOSED_STAGE))
    return Undecided(tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(lacking)))


def boundary_facts(predicate: Predicate, shapes: Mapping[str, RuleFact]) -> tuple[Boundary, ...]:
    """For each threshold of each number comparison: values just below it, at it and just above it, as the fact prints.

    A comparison with another fact is tried at a value in the middle of what both facts can be.
    """
    found: list[Boundary] = []
    for leaf in comparisons(predicate):
        if isinstance(leaf, Between):
            found.extend(_boundary(leaf, limit, shapes[leaf.fact].decimals, {}) for limit in (leaf.low, leaf.high))
        elif isinstance(leaf, NumberTest) and isinstance(leaf.value, FactRef):
            fact, other = shapes[leaf.fact], shapes[leaf.value.fact]
            decimals = min(fact.decimals, other.decimals)
            middle = _as_printed(_middle(fact, other), decimals, 0)
            found.append(_boundary(leaf, middle, fact.decimals, {other.id: middle}))
        elif isinstance(leaf, NumberTest):
            found.append(_boundary(leaf, float(leaf.value), shapes[leaf.fact].decimals, {}))  # type: ignore[arg-type]  # no FactRef here
    return tuple(found)


def _boundary(leaf: NumberTest | Between, limit: float, decimals: int, others: dict[str, float]) -> Boundary:
    below, at, above = (_as_printed(limit, decimals, step) for step in (-1, 0, 1))
    return Boundary(leaf, below, at, above, others)


def _as_printed(value: float, decimals: int, steps: int) -> float:
    """The value at the decimals given, moved by `steps` of its last digit."""
    return float(from_ticks(to_ticks(value, decimals) + steps, decimals))


def _middle(fact: RuleFact, other: RuleFact) -> float:
    low = max(limit for limit in (fact.low, other.low) if limit is not None)
    high = min(limit for limit in (fact.high, other.high) if limit is not None)
    return (low + high) / 2
