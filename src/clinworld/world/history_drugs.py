"""Drugs before day 0: which a patient could be given, when they were begun, raised and stopped.

A drug is given for a documented condition from its diagnosis on, never where one of its contraindications holds, on its ladder, and
never two of one class. Changes fall on visits. What the drugs did to levels is decided in `history_levels.py`.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from clinworld.core.rng import Rng, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Contraindication, Drug
from clinworld.schema.premise import Premise
from clinworld.schema.record import PastPrescription, Series
from clinworld.world.seen_results import find_against, read_against

_DRAWS = 8  # of each drug line: whether, which, begin, dose, stop, when, out of order
_LOGISTIC = 1.702  # a normal curve is this much steeper than a logistic one
_DAYS_A_YEAR = 365


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
    # A drug for a condition: how often it is chosen, in which place it is used, and what forbids it.
    name: str
    weight: float
    order: int
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
            licensed.append(_Licensed(name, weight, find_order(knowledge, condition, name), row.rxcui, *forbidding))
    return tuple(licensed)


def find_order(knowledge: Knowledge, condition: str, drug: str) -> int:
    """In which place a drug is used for a condition: one of place 2 after one of place 1, and so on."""
    written = (f"history_order.{condition}.{drug}", f"history_order.{condition}")
    return int(next((knowledge.parameter(name) for name in written if name in knowledge.parameters), 1))


class Treated(NamedTuple):
    """The item by whose level a condition is treated, and whether drugs for it raise (1) or lower (-1) it."""

    item: str
    sign: int


@lru_cache(maxsize=512)
def find_treated(knowledge: Knowledge, condition: str) -> Treated | None:
    """The item with a level of the condition's own that the drugs chosen for it move most often; None where they move none."""
    moved: dict[str, list[float]] = {}
    for each in _list_licensed(knowledge, condition):
        for item, mean in {effect.item: effect.mean for effect in knowledge.drugs[each.name].effects}.items():
            moved.setdefault(item, []).append(each.weight if mean > 0 else -each.weight)
    row = knowledge.conditions.get(condition)
    written = [level.item for level in row.levels if level.item in moved] if row is not None else []
    item = max(written, key=lambda item: sum(map(abs, moved[item])), default=None)
    return None if item is None else Treated(item, 1 if sum(moved[item]) > 0 else -1)


def _list_candidates(
    knowledge: Knowledge, condition: str, conditions: tuple[str, ...], presenting: str, drug: str
) -> dict[str, _Licensed]:
    """The drugs for a condition by name; only what the documented and the presenting conditions allow."""
    known = tuple(dict.fromkeys((*conditions, presenting))) if presenting else conditions
    states, ingredient = find_states(knowledge, known), knowledge.drugs[drug].rxcui
    return {
        each.name: each
        for each in _list_licensed(knowledge, condition)
        if each.ingredient != ingredient and each.conditions.isdisjoint(known) and each.states.isdisjoint(states)
    }


class Patient(NamedTuple):
    """What decides which drugs a patient could be given: true levels by item, what old events made true or spoke against, and a bar of
    one's own. `control` says by condition, in SD, how far the level it is treated by lies to the side to which drugs move it."""

    levels: Mapping[str, float]
    control: Mapping[str, float]
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
        lines.append(_begin(premise, knowledge.drugs[stop.drug], condition, days, stop.day, knowledge, rng))
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
    number, control = knowledge.parameter, patient.control.get(condition, 0.0)
    shown = premise.presenting.condition if premise.presenting else ""
    candidates = _list_candidates(knowledge, condition, conditions, shown, premise.drug)
    names = tuple(candidates)
    clashing = set(patient.spoken_against)
    for line in before:
        clashing |= _list_clashing(knowledge, line.drug.id, names)
    if patient.states or patient.levels:
        clashing |= {name for name in names if _is_forbidden(knowledge.drugs[name], patient, number("history_level_margin"))}
    places = [candidates[name].order for name in names if name not in clashing]
    if not places:
        return []
    own = find_order(knowledge, condition, premise.drug) if has_indication(knowledge.drugs[premise.drug], (condition,)) else min(places)
    # A drug of the course that comes after another was not the first.
    p = 1.0 if own > min(places) else _tilt(_find_chance("history_p_treated", condition, knowledge), control, knowledge)
    p_stopped = _tilt(number("history_p_stopped"), -control, knowledge)
    lines: list[Line] = []
    begun = 0
    for n, at in enumerate(range(0, len(drawn), _DRAWS)):
        u = drawn[at : at + _DRAWS]
        if u[0] >= p:
            break
        begun = min(max(int(u[2] * (number("history_start_visits_most") + 1)) + n, begun), len(moments) - 1)
        given = sum(line.drug.id in candidates and line.steps[0][0] <= moments[begun] for line in (*before, *lines))
        reach = min(own, *places) + given + int(u[6] < number("history_p_out_of_order"))
        left = {name: each.weight for name, each in candidates.items() if name not in clashing and each.order <= reach}
        if not left:
            break
        p = _find_chance("history_p_further_drug", condition, knowledge)
        drug = knowledge.drugs[_weigh(left, u[1])]
        line = _climb(drug, condition, moments[begun:], None, u[3], premise, knowledge)
        lasting = None
        if u[4] >= p_stopped and premise.drug not in _list_clashing(knowledge, drug.id, (premise.drug,)):
            lasting = _lower(line, [*before, *lines], patient)
        if lasting is None:
            later = moments[begun + 1 :]
            if not later:
                continue
            end = later[int(u[5] * len(later))]
            line = _climb(drug, condition, [day for day in moments[begun:] if day < end], end - 1, u[3], premise, knowledge)
        lines.append(lasting or line)
        clashing |= _list_clashing(knowledge, drug.id, names)
    return lines


def _find_chance(name: str, condition: str, knowledge: Knowledge) -> float:
    written = f"{name}_{condition}"
    return knowledge.parameter(written if written in knowledge.parameters else name)


def _tilt(p: float, control: float, knowledge: Knowledge) -> float:
    """A chance that goes with how well controlled someone is and is `p` over all people (logistic approximation of the normal curve)."""
    slope = knowledge.parameter("history_treated_shows")
    odds = math.log(p / (1.0 - p)) * math.sqrt(1.0 + slope**2) + _LOGISTIC * slope * control
    return 1.0 / (1.0 + math.exp(-odds))


def _lower(line: Line, others: Sequence[Line], patient: Patient) -> Line | None:
    """The line at the highest of its doses at which it may still be in force on day 0; None where it may at none."""
    lower = (line._replace(steps=line.steps[:n]) for n in range(len(line.steps), 0, -1))
    return next((each for each in lower if patient.may_last(each, others)), None)


def _is_forbidden(drug: Drug, patient: Patient, margin: float) -> bool:
    return bool(find_contraindications(drug, (), patient.states, patient.levels, margin=margin))


def _weigh(weights: Mapping[str, float], u: float) -> str:
    aim = u * sum(weights.values())
    for name, weight in weights.items():
        aim -= weight
        if aim < 0:
            return name
    return next(reversed(dict(weights)))


def _begin(
    premise: Premise, drug: Drug, condition: str, days: Sequence[int], last: int, knowledge: Knowledge, rng: Rng
) -> Line:
    u = rng.at(premise.case_id, "history", "stopped", drug.id).uniform(2).tolist()
    return _climb(drug, condition, days[int(u[0] * len(days)) :], last, u[1], premise, knowledge)


def _climb(
    drug: Drug, condition: str, moments: Sequence[int], last: int | None, u: float, premise: Premise, knowledge: Knowledge
) -> Line:
    """A line begun on the first moment and raised on later ones, as its titration allows, up to the dose aimed at.

    A long ladder is climbed several rungs at a time, since what happens between visits is not charted.
    """
    top = dict(drug.indications)[condition]
    rungs = [dose for dose in drug.ladder if dose <= top] or [drug.ladder[0]]
    years = ((last or 0) - moments[0]) / _DAYS_A_YEAR
    target = _aim(rungs, _find_usual_dose(drug, premise.start_weight_kg, years, knowledge), u, knowledge)
    stride = max(math.ceil(target / knowledge.parameter("history_rungs_most")), 1)
    steps, least, at = [(moments[0], rungs[0])], max(drug.min_titration_days, 1), 0
    for day in moments[1:]:
        if at >= target or (last is not None and day >= last):
            break
        if (reach := min(at + stride, target, at + (day - steps[-1][0]) // least)) > at:
            at = reach
            steps.append((day, rungs[at]))
    return Line(drug, condition, tuple(steps), last)


def _find_usual_dose(drug: Drug, weight_kg: float, years: float, knowledge: Knowledge) -> float:
    """The usual maintenance dose: as its row says, by weight and years of use where it says so; else the middle of the ladder."""
    rows = knowledge.parameters
    if (by_weight := f"history_dose_per_kg.{drug.id}") in rows:
        return weight_kg * (rows[by_weight].value + knowledge.parameter("history_dose_per_kg_year") * years)
    written = rows.get(f"history_dose.{drug.id}")
    return drug.ladder[len(drug.ladder) // 2] if written is None else written.value


def _aim(rungs: Sequence[float], usual_dose: float, u: float, knowledge: Knowledge) -> int:
    """The rung aimed at: mostly that of the usual dose, below it in a few and above it in a few, at most twice as much."""
    usual = max(bisect_right(rungs, usual_dose) - 1, 0)
    p_low, p_high = knowledge.parameter("history_p_low_dose"), knowledge.parameter("history_p_high_dose")
    if u < p_low:
        return int(u / p_low * usual)
    if u < 1.0 - p_high:
        return usual
    most = max(bisect_right(rungs, 2 * usual_dose) - 1, usual)
    return most - int((1.0 - u) / p_high * (most - usual))


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
