"""A patient for whom given predicates hold: shows that a rule can be reached, and that a comparison matters to its rule.

The search is exact for thresholds: each number is tried at, just below and just above every number it is compared with, so each
interval between two thresholds has a value in it.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from clinworld.core.units import from_ticks, to_ticks
from clinworld.knowledge.rule_rows import (
    AllOf,
    AnyOf,
    Between,
    FactRef,
    Facts,
    FactValue,
    IsTest,
    Missing,
    Not,
    NumberTest,
    OneOf,
    Predicate,
    RuleFact,
)
from clinworld.knowledge.rules import Boundary, comparisons, holds, missing_facts

Values: TypeAlias = Mapping[str, tuple[FactValue, ...]]

OTHER = "another"  # a choice that no rule names
MOST_STEPS = 3_000_000  # ten times what the largest protocol of the package takes


class TooManySteps(Exception):
    """A search has tried as much as it may."""


class Steps:
    """What searches may still try, so that no rule takes for ever."""

    def __init__(self, most: int = MOST_STEPS) -> None:
        self.most = self.left = most

    def take(self, number: int = 1) -> None:
        """Raises TooManySteps where so many are not left."""
        self.left -= number
        if self.left < 0:
            raise TooManySteps


def find_facts(true: Predicate, shapes: Mapping[str, RuleFact], *, steps: Steps | None = None) -> Facts | None:
    """Facts under which a predicate is true; None when there are none."""
    return _search(_conditions(true), trial_values((true,), shapes), {}, ({},), steps or Steps())


def find_crossing(
    predicate: Predicate, boundary: Boundary, shapes: Mapping[str, RuleFact], *, steps: Steps | None = None
) -> tuple[Facts, Facts] | None:
    """One patient on either side of a threshold of a predicate, for whom crossing it alone decides; None when there is none."""
    leaf, values = boundary.comparison, trial_values((predicate,), shapes)
    steps = steps or Steps()
    for around in _surroundings(predicate, leaf):
        steps.take(len(around))
        for low, high in _sides(boundary, values, shapes):
            found = _search(around, values, {}, (low, high), steps)
            if found is not None:
                return {**found, **low}, {**found, **high}
    return None


def _sides(boundary: Boundary, values: Values, shapes: Mapping[str, RuleFact]) -> Iterator[tuple[Facts, Facts]]:
    """Pairs of facts between which the comparison changes, each with the fact compared with."""
    fact, decimals = boundary.comparison.fact, shapes[boundary.comparison.fact].decimals
    triples = [((boundary.below, boundary.at, boundary.above), boundary.others)]
    for other in boundary.others:
        for limit in values[other]:
            if isinstance(limit, float):
                triples.append((tuple(_step(limit, decimals, step) for step in (-1, 0, 1)), {other: limit}))  # type: ignore[arg-type]  # three
    for numbers, others in triples:
        for low, high in pairwise(numbers):
            sides = ({fact: low, **others}, {fact: high, **others})
            if holds(boundary.comparison, sides[0]) != holds(boundary.comparison, sides[1]):
                yield sides


def _surroundings(predicate: Predicate, leaf: Predicate) -> Iterator[tuple[Predicate, ...]]:
    """For each place of a comparison: what must hold around it so that it alone decides."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            for index, part in enumerate(parts):
                others = (*parts[:index], *parts[index + 1 :])
                beside = others if isinstance(predicate, AllOf) else tuple(Not(other) for other in others)
                for inner in _surroundings(part, leaf):
                    yield tuple(condition for other in (*inner, *beside) for condition in _conditions(other))
        case Not(part):
            yield from _surroundings(part, leaf)
        case _:
            if predicate == leaf:
                yield ()


def _conditions(goal: Predicate) -> tuple[Predicate, ...]:
    """Predicates that must all hold for the goal to hold, as small as they come."""
    match goal:
        case AllOf(parts):
            return tuple(condition for part in parts for condition in _conditions(part))
        case Not(AnyOf(parts)):
            return tuple(condition for part in parts for condition in _conditions(Not(part)))
        case Not(Not(part)):
            return _conditions(part)
        case _:
            return (goal,)


def trial_values(predicates: Iterable[Predicate], shapes: Mapping[str, RuleFact]) -> dict[str, tuple[FactValue, ...]]:
    """For every fact of the predicates, values that represent all it could be as far as these predicates can tell."""
    limits: dict[str, set[float]] = {}
    words: dict[str, dict[str, None]] = {}
    pairs: list[tuple[str, str]] = []
    for leaf in (leaf for predicate in predicates for leaf in comparisons(predicate)):
        match leaf:
            case NumberTest(fact, _, FactRef(other)):
                pairs.append((fact, other))
            case NumberTest(fact, _, float() | int() as value):
                limits.setdefault(fact, set()).add(value)
            case Between(fact, low, high):
                limits.setdefault(fact, set()).update((low, high))
            case IsTest(fact, str() as value):
                words.setdefault(fact, {})[value] = None
            case OneOf(fact, choices):
                words.setdefault(fact, {}).update(dict.fromkeys(choices))
            case _:
                words.setdefault(leaf.fact, {})
    for one, two in pairs:  # compared facts share their limits, and a value in the middle of what both can be
        shared = limits.get(one, set()) | limits.get(two, set()) | {_middle(shapes[one], shapes[two])}
        limits[one] = limits.setdefault(two, set()) | shared
        limits[two] = limits[one]
    found: dict[str, tuple[FactValue, ...]] = {}
    for fact in dict.fromkeys((*limits, *words)):
        shape = shapes[fact]
        if shape.kind == "number":
            found[fact] = _numbers(limits.get(fact, set()), shape)
        elif shape.kind == "flag":
            found[fact] = (True, False)
        else:
            rest = [choice for choice in shape.choices if choice not in words[fact]]
            found[fact] = (*words[fact], *(rest[:1] if shape.choices else [OTHER]))
    return found


def _numbers(limits: Iterable[float], shape: RuleFact) -> tuple[float, ...]:
    low, high = shape.low, shape.high
    tried = [_step(limit, shape.decimals, step) for limit in sorted(limits) for step in (-1, 0, 1)]
    tried += [limit for limit in (low, high) if limit is not None]
    inside = (value for value in tried if (low is None or value >= low) and (high is None or value <= high))
    return tuple(dict.fromkeys(inside))


def _middle(one: RuleFact, two: RuleFact) -> float:
    lows, highs = [x.low for x in (one, two) if x.low is not None], [x.high for x in (one, two) if x.high is not None]
    middle = (max(lows, default=0.0) + min(highs, default=100.0)) / 2
    decimals = min(one.decimals, two.decimals)
    return _step(middle, decimals, 0)


def _step(value: float, decimals: int, steps: int) -> float:
    return float(from_ticks(to_ticks(value, decimals) + steps, decimals))


def _search(goals: tuple[Predicate, ...], values: Values, facts: Facts, sides: tuple[Facts, ...], steps: Steps) -> Facts | None:
    """The facts, with more added, under which all goals hold on each side.

    A fact that some goal asks for being unknown is settled first, as known or unknown; then the goals, one after the other.
    """
    asked = [leaf.fact for goal in goals for leaf in comparisons(goal) if isinstance(leaf, Missing)]
    unsettled = [fact for fact in dict.fromkeys(asked) if not any(fact in side for side in (facts, *sides))]
    starts: list[Facts] = [facts]
    for fact in unsettled:
        steps.take(len(starts) * (len(values[fact]) + 1))
        starts = [{**start, fact: value} for start in starts for value in (*values[fact], None)]
    return next((found for start in starts if (found := _settle(goals, values, start, sides, steps)) is not None), None)


def _settle(goals: tuple[Predicate, ...], values: Values, facts: Facts, sides: tuple[Facts, ...], steps: Steps) -> Facts | None:
    steps.take(len(goals))
    for index, goal in enumerate(goals):
        for side in sides:
            seen = {**facts, **side}
            verdict = holds(goal, seen)
            if verdict is False:
                return None
            if verdict is None:
                unsettled = [name for name in missing_facts(goal, seen) if name not in seen]
                trials = (_settle(goals[index:], values, {**facts, unsettled[0]: value}, sides, steps) for value in values[unsettled[0]])
                return next((found for found in trials if found is not None), None) if unsettled else None
    return facts
