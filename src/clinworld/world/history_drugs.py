"""Drugs before day 0: which a patient could be given, when they were begun, raised and stopped.

A drug is given for a documented condition from its diagnosis on, never where one of its contraindications holds, on its ladder, and
never two of one class. Changes fall on visits. What the drugs did to levels is decided in `history_levels.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from clinworld.core.rng import Rng, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Contraindication, Drug
from clinworld.schema.premise import Premise
from clinworld.schema.record import PastPrescription, Series
from clinworld.world.seen_results import find_against, read_against

_DRAWS = 8  # of each drug line: whether, which, begin, steps, stop, when, further


class Line(NamedTuple):
    """One drug before day 0: dose steps as (first day, dose), ascending, and the last day, None when still in force on day 0."""

    drug: Drug
    condition: str
    steps: tuple[tuple[int, float], ...]
    last_day: int | None


class Ended(NamedTuple):
    """A record says that a drug was stopped on a day."""

    drug: str
    day: int


@lru_cache(maxsize=4096)
def find_states(knowledge: Knowledge, conditions: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of rule_facts that are true of a patient because of some conditions."""
    rows = knowledge.condition_states
    return tuple(dict.fromkeys(state for name in conditions if name in rows for state in rows[name].states))


def forbids_state(drug: Drug, state: str) -> bool:
    """Whether a drug may not be given to someone of whom a flag of rule_facts is true."""
    return any(rule.kind == "absolute" and rule.state == state for rule in drug.contraindications)


def find_contraindications(
    drug: Drug, conditions: Iterable[str], states: Iterable[str], values: Mapping[str, float], *, margin: float = 1.0
) -> list[Contraindication]:
    """The absolute contraindications of a drug that hold in a patient; an item that is not in `values` holds none.

    `margin` above 1 also counts levels this many times off a limit.
    """
    known, flags = set(conditions), set(states)
    return [
        rule
        for rule in drug.contraindications
        if rule.kind == "absolute" and (rule.condition in known or rule.state in flags or _is_reached(rule, values, margin))
    ]


def _is_reached(rule: Contraindication, values: Mapping[str, float], margin: float) -> bool:
    value = values.get(rule.item) if rule.item else None
    if value is None:
        return False
    over = (rule.at_least is not None and value * margin >= rule.at_least) or (rule.above is not None and value * margin > rule.above)
    return over or (rule.at_most is not None and value / margin <= rule.at_most) or (rule.below is not None and value / margin < rule.below)


def has_indication(drug: Drug, conditions: Iterable[str]) -> bool:
    """Whether a drug is licensed for one of the conditions."""
    licensed = dict(drug.indications)
    return any(name in licensed and name not in drug.off_label for name in conditions)


def do_clash(knowledge: Knowledge, one: str, two: str) -> bool:
    """Whether two drugs are not given together: of one class or ingredient, or to be avoided beside each other."""
    a, b = knowledge.drugs[one], knowledge.drugs[two]
    if a.drug_class == b.drug_class or (a.rxcui and a.rxcui == b.rxcui):
        return True
    pairs = ((a, b), (b, a))
    return any(rule.kind == "avoid" and (rule.drug == y.id or rule.drug_class == y.drug_class) for x, y in pairs for rule in x.interactions)


@lru_cache(maxsize=8192)
def _list_clashing(knowledge: Knowledge, name: str, others: tuple[str, ...]) -> frozenset[str]:
    return frozenset(other for other in others if do_clash(knowledge, name, other))


class _Licensed(NamedTuple):
    # A drug for a condition: how often it is chosen, and what forbids it.
    name: str
    weight: float
    ingredient: str
    conditions: frozenset[str]
    states: frozenset[str]


@lru_cache(maxsize=4096)
def list_treated(knowledge: Knowledge, drugs: tuple[str, ...]) -> frozenset[str]:
    """The conditions that at least one of some drugs is licensed for."""
    rows = [knowledge.drugs[name] for name in drugs]
    return frozenset(name for row in rows for name, _ in row.indications if has_indication(row, (name,)))


def find_use(knowledge: Knowledge, drug: str) -> float:
    """How often a drug is chosen for a condition beside others."""
    written = f"history_use_{drug}"
    return knowledge.parameter(written if written in knowledge.parameters else "history_use_other")


@lru_cache(maxsize=512)
def _list_licensed(knowledge: Knowledge, condition: str) -> tuple[_Licensed, ...]:
    licensed = []
    for name in knowledge.drugs.containing(condition):
        row, weight = knowledge.drugs[name], find_use(knowledge, name)
        rules = [rule for rule in row.contraindications if rule.kind == "absolute"]
        if has_indication(row, (condition,)) and weight:
            forbidding = (frozenset(rule.condition for rule in rules), frozenset(rule.state for rule in rules))
            licensed.append(_Licensed(name, weight, row.rxcui, *forbidding))
    return tuple(licensed)


def _list_candidates(knowledge: Knowledge, condition: str, conditions: tuple[str, ...], presenting: str, drug: str) -> dict[str, float]:
    """Drug → how often it is chosen for a condition; only what the documented and the presenting conditions allow."""
    known = tuple(dict.fromkeys((*conditions, presenting))) if presenting else conditions
    states, ingredient = find_states(knowledge, known), knowledge.drugs[drug].rxcui
    return {
        each.name: each.weight
        for each in _list_licensed(knowledge, condition)
        if each.ingredient != ingredient and each.conditions.isdisjoint(known) and each.states.isdisjoint(states)
    }


class Patient(NamedTuple):
    """What decides which drugs a patient could be given: true levels by item, what old events made true or spoke against, and a bar of
    one's own."""

    levels: Mapping[str, float]
    states: tuple[str, ...]
    spoken_against: frozenset[str]
    may_last: Callable[[Line, Sequence[Line]], bool]


def draw_past_lines(
    premise: Premise,
    moments: Mapping[str, Sequence[int]],
    ended: Sequence[Ended],
    patient: Patient,
    knowledge: Knowledge,
    rng: Rng,
) -> tuple[Line, ...]:
    """The drugs a patient had before day 0, in the order of the documented conditions.

    `moments` are, for each of them, the day of diagnosis and the visits after it. A drug that a record says was stopped is there and ends
    on that day. `may_last` says whether a line may still be in force on day 0 beside others; one that may not ends at a visit, or is not
    begun.
    """
    lines: list[Line] = []
    conditions = tuple(moments)
    for stop in ended:
        treated = list_treated(knowledge, (stop.drug,))
        condition = next(name for name in conditions if name in treated)
        days = [day for day in moments[condition] if day < stop.day]
        lines.append(_begin(premise.case_id, knowledge.drugs[stop.drug], condition, days, stop.day, knowledge, rng))
    paths = [("history", "drugs", condition) for condition in conditions]
    drawn = words_to_uniform(rng.first_words(premise.case_id, paths, _DRAWS * int(knowledge.parameter("history_lines_most")))).tolist()
    for condition, uniforms in zip(conditions, drawn, strict=True):
        lines += _draw_for(condition, uniforms, premise, conditions, moments[condition], lines, patient, knowledge)
    return tuple(lines)


def _draw_for(
    condition: str,
    drawn: Sequence[float],
    premise: Premise,
    conditions: tuple[str, ...],
    moments: Sequence[int],
    before: Sequence[Line],
    patient: Patient,
    knowledge: Knowledge,
) -> list[Line]:
    number = knowledge.parameter
    treated = f"history_p_treated_{condition}"
    p = number(treated if treated in knowledge.parameters else "history_p_treated")
    if drawn[0] >= p:
        return []
    shown = premise.presenting.condition if premise.presenting else ""
    candidates = _list_candidates(knowledge, condition, conditions, shown, premise.drug)
    if not candidates:
        return []
    names = tuple(candidates)
    clashing = set(patient.spoken_against)
    for line in before:
        clashing |= _list_clashing(knowledge, line.drug.id, names)
    if patient.states or patient.levels:
        clashing |= {name for name in names if _is_forbidden(knowledge.drugs[name], patient, number("history_level_margin"))}
    lines: list[Line] = []
    for at in range(0, len(drawn), _DRAWS):
        u = drawn[at : at + _DRAWS]
        left = {name: weight for name, weight in candidates.items() if name not in clashing}
        if u[0] >= p or not left:
            break
        p = number("history_p_further_drug")
        drug = knowledge.drugs[_weigh(left, u[1])]
        first = min(int(u[2] * (number("history_start_visits_most") + 1)) + at // _DRAWS, len(moments) - 1)
        line = _climb(drug, condition, moments[first:], None, u[3], knowledge)
        lasts = u[4] >= number("history_p_stopped") and premise.drug not in _list_clashing(knowledge, drug.id, (premise.drug,))
        lasts = lasts and patient.may_last(line, [*before, *lines])
        if not lasts:
            later = moments[first + 1 :]
            if not later:
                continue
            end = later[int(u[5] * len(later))]
            line = _climb(drug, condition, [day for day in moments[first:] if day < end], end - 1, u[3], knowledge)
        lines.append(line)
        clashing |= _list_clashing(knowledge, drug.id, names)
    return lines


def _is_forbidden(drug: Drug, patient: Patient, margin: float) -> bool:
    return bool(find_contraindications(drug, (), patient.states, patient.levels, margin=margin))


def _weigh(weights: Mapping[str, float], u: float) -> str:
    aim = u * sum(weights.values())
    for name, weight in weights.items():
        aim -= weight
        if aim < 0:
            return name
    return next(reversed(dict(weights)))


def _begin(case_id: str, drug: Drug, condition: str, days: Sequence[int], last: int, knowledge: Knowledge, rng: Rng) -> Line:
    u = rng.at(case_id, "history", "stopped", drug.id).uniform(2).tolist()
    return _climb(drug, condition, days[int(u[0] * len(days)) :], last, u[1], knowledge)


def _climb(drug: Drug, condition: str, moments: Sequence[int], last: int | None, u: float, knowledge: Knowledge) -> Line:
    """A line begun on the first moment and raised step by step, as its titration allows, on later ones up to a drawn rung."""
    top = dict(drug.indications)[condition]
    rungs = [dose for dose in drug.ladder if dose <= top] or [drug.ladder[0]]
    target = int(u * min(len(rungs), knowledge.parameter("history_rungs_most") + 1))
    steps, least = [(moments[0], rungs[0])], max(drug.min_titration_days, 1)
    for day in moments[1:]:
        if len(steps) > target or (last is not None and day >= last):
            break
        if day - steps[-1][0] >= least:
            steps.append((day, rungs[len(steps)]))
    return Line(drug, condition, tuple(steps), last)


def stop_forbidden(lines: Sequence[Line], series: Sequence[Series], sex: str, knowledge: Knowledge) -> tuple[Line, ...]:
    """The lines as charted results leave them: a drug is stopped at the visit that sees a result against it, and not begun after one."""
    kept = []
    for line in lines:
        first = line.steps[0][0]
        against = find_against(read_against(line.drug.id, series, sex, knowledge), first, -1 if line.last_day is None else line.last_day)
        if against is None:
            kept.append(line)
        elif against.day > first:
            steps = tuple(step for step in line.steps if step[0] < against.day)
            kept.append(line._replace(steps=steps, last_day=against.day - 1))
    return tuple(kept)


def chart_lines(lines: Sequence[Line]) -> tuple[PastPrescription, ...]:
    """The lines as orders, one for each dose, ordered by day."""
    orders = []
    for line in lines:
        ends = [day - 1 for day, _ in line.steps[1:]]
        for (day, dose), end in zip(line.steps, (*ends, line.last_day), strict=True):
            orders.append(PastPrescription(day, end, line.drug.id, dose, line.drug.dose_unit))
    return tuple(sorted(orders, key=lambda order: (order.first_day, order.drug)))
