"""What a disease file must agree with: its own symptoms and findings, and those of its look-alikes."""

from collections.abc import Iterator
from itertools import combinations
from typing import get_args

from clinworld.knowledge.condition_rows import Condition, ConditionFinding, Found, RedFlag, ToldApart
from clinworld.knowledge.faults import find_unknown
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import limits_of, place_of
from clinworld.schema.finding import Finding

FEWEST_LOOK_ALIKES = 2
FEWEST_PRESENTATIONS = 3
_SAME = {"positive": "up", "negative": "normal"}  # a number from its cut on, and under it
_IN_ORDER = ("normal", "negative")


def described(knowledge: Knowledge) -> Iterator[tuple[str, Condition]]:
    """The conditions that are more than a name."""
    return ((key, condition) for key, condition in knowledge.conditions.items() if not condition.is_name_only)


def check_look_alikes(knowledge: Knowledge) -> Iterator[Finding]:
    """A disease has at least two look-alikes, each another condition."""
    for key, condition in described(knowledge):
        place = place_of(knowledge, "conditions", key, "look_alikes")
        names = tuple(dict.fromkeys(alike.condition for alike in condition.look_alikes))
        others = {name: None for name in knowledge.conditions if name != key}
        yield from find_unknown("look_alikes_known", place, names, others, "another condition")
        if len(names) < FEWEST_LOOK_ALIKES:
            yield Finding("look_alikes_known", place, f"{len(names)} look-alikes", f"at least {FEWEST_LOOK_ALIKES} other conditions")


def check_told_apart(knowledge: Knowledge) -> Iterator[Finding]:
    """What tells two conditions apart differs between them, and is what the file of each says."""
    for key, condition in described(knowledge):
        for number, alike in enumerate(condition.look_alikes):
            place = place_of(knowledge, "conditions", key, f"look_alikes[{number}] ({alike.condition}), told_apart_by")
            told, other = alike.told_apart_by, knowledge.conditions.get(alike.condition)
            options = get_args(Found) if told.item else ("absent", "present")
            for side, shown, shows in (("here", told.here, condition), ("there", told.there, other)):
                if shown not in options:
                    yield Finding("told_apart", f"{place}, {side}", shown, "allowed: " + ", ".join(options))
                elif shows is not None and not shows.is_name_only:
                    yield from _check_shown(f"{place}, {side}", told, shown, shows)
            if _SAME.get(told.here, told.here) == _SAME.get(told.there, told.there):
                yield Finding("told_apart", place, f"{told.here} here and {told.there} there", "a difference")


def _check_shown(place: str, told: ToldApart, shown: str, condition: Condition) -> Iterator[Finding]:
    """What is said to be shown in a condition whose file says otherwise."""
    if told.symptom:
        has_it = condition.has_symptom(told.symptom)
        if has_it != (shown == "present"):
            yield Finding("told_apart", place, shown, f"{told.symptom} is {'a' if has_it else 'no'} symptom of {condition.id}")
    if told.item:
        own = {finding.moves for finding in condition.findings if finding.item == told.item} or (
            {"normal"} if condition.all_normal else set()
        )
        if not own and shown not in _IN_ORDER:
            yield Finding("told_apart", place, shown, f"{told.item} is not said in {condition.id}; a finding of it there")
        elif own and _SAME.get(shown, shown) not in {_SAME.get(moves, moves) for moves in own}:
            yield Finding("told_apart", place, shown, f"{told.item} is {' or '.join(sorted(own))} in {condition.id}")


def check_presentations(knowledge: Knowledge) -> Iterator[Finding]:
    """A disease comes to light in at least three ways that differ in what is complained of or in its order, all of its own symptoms."""
    for key, condition in described(knowledge):
        place = place_of(knowledge, "conditions", key, "presentations")
        told = condition.presentations
        if len(told) < FEWEST_PRESENTATIONS:
            yield Finding("presentations_differ", place, f"{len(told)} presentations", f"at least {FEWEST_PRESENTATIONS} that differ")
        for first, second in combinations(told, 2):
            if first.id == second.id:
                yield Finding("presentations_differ", place, f"{first.id} again", "an id of its own for each")
            if first.course == second.course:
                yield Finding(
                    "presentations_differ", place, f"{second.id}: {', '.join(second.course)}", f"other symptoms or order than {first.id}"
                )
        own = tuple(entry.symptom for entry in condition.symptoms)
        for number, presentation in enumerate(told):
            within = f"{place}[{number}] ({presentation.id})"
            yield from find_unknown("presentations_differ", within, presentation.course, own, "a symptom of the condition")
            if len(set(presentation.course)) < len(presentation.course):
                yield Finding("presentations_differ", within, ", ".join(presentation.course), "each symptom once")


def check_deciding_symptoms(knowledge: Knowledge) -> Iterator[Finding]:
    """A symptom stands once in a disease; at least one look-alike does not have a deciding one."""
    for key, condition in described(knowledge):
        own = tuple(entry.symptom for entry in condition.symptoms)
        others = [knowledge.conditions[alike.condition] for alike in condition.look_alikes if alike.condition in knowledge.conditions]
        for number, entry in enumerate(condition.symptoms):
            place = place_of(knowledge, "conditions", key, f"symptoms[{number}] ({entry.symptom})")
            if entry.symptom in own[:number]:
                yield Finding("symptom_can_decide", place, "the symptom again", "each symptom once")
            if (
                entry.role == "deciding"
                and others
                and all(any(shared.symptom == entry.symptom for shared in other.symptoms) for other in others)
            ):
                yield Finding("symptom_can_decide", f"{place}, role", "deciding", "common: every look-alike has it too")


def check_condition_findings(knowledge: Knowledge) -> Iterator[Finding]:
    """A finding stands once for each sex, has a size where it moves, and is positive or negative where it is no number.

    A red flag is words alone, or with them a symptom, or an item with one limit inside its bounds.
    """
    for key, condition in described(knowledge):
        for number, finding in enumerate(condition.findings):
            place = place_of(knowledge, "conditions", key, f"findings[{number}] ({finding.item})")
            yield from _check_finding(knowledge, place, finding, condition.findings[:number])
        for number, flag in enumerate(condition.red_flags):
            yield from _check_red_flag(knowledge, place_of(knowledge, "conditions", key, f"red_flags[{number}]"), flag)


def _check_finding(knowledge: Knowledge, place: str, finding: ConditionFinding, before: tuple[ConditionFinding, ...]) -> Iterator[Finding]:
    if finding.moves != "positive" and (finding.size == "none") != (finding.moves in _IN_ORDER):
        allowed = "none where it is normal or negative, a size where it moves"
        yield Finding("finding_is_whole", f"{place}, size", f"{finding.moves} with size {finding.size}", allowed)
    if any(other.item == finding.item and (not other.sex or not finding.sex or other.sex == finding.sex) for other in before):
        yield Finding("finding_is_whole", place, "the item again", "each item once, or once for each sex")
    kind = knowledge.findings.get(finding.item)
    if kind is not None and not kind.is_numeric and finding.moves not in ("positive", "negative"):
        yield Finding("finding_is_whole", f"{place}, moves", finding.moves, f"positive or negative: {finding.item} is no number")


def _check_red_flag(knowledge: Knowledge, place: str, flag: RedFlag) -> Iterator[Finding]:
    limits = limits_of(flag)
    if len(limits) != bool(flag.item) or (flag.item and flag.symptom):
        found = f"{len(limits)} limits of {flag.item or 'nothing'}" + (f" and {flag.symptom}" if flag.symptom else "")
        yield Finding("finding_is_whole", place, found, "words alone, or with a symptom, or with an item and one limit")
    yield from check_limits(knowledge, "finding_is_whole", place, flag.item, limits)


def check_limits(knowledge: Knowledge, check: str, place: str, item: str, limits: tuple[float, ...]) -> Iterator[Finding]:
    """Limits outside the bounds of their item, which may be a fact that rules look at."""
    row, fact = knowledge.items.get(item), knowledge.rule_facts.get(item)
    if row is not None:
        low, high = row.hard_low, row.hard_high
    elif fact is not None:
        low, high = fact.low, fact.high
    else:
        return
    for limit in limits:
        if low is None or high is None:
            yield Finding(check, place, f"{limit:g}", f"no limit: {item} is no number")
        elif not low <= limit <= high:
            yield Finding(check, place, f"{limit:g}", f"inside {low:g} to {high:g}, the bounds of {item}")
