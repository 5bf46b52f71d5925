"""Drugs before day 0: which a patient could be given, when they were begun, raised and stopped.

A drug is given for a documented condition from its diagnosis on, never where one of its contraindications holds, on its ladder, and
never two of one class. Changes fall on visits. What the drugs did to levels is decided in `history_levels.py`.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from clinworld.core.days import DAYS_A_YEAR
from clinworld.core.rng import Rng, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Contraindication, Drug
from clinworld.schema.premise import Premise
from clinworld.schema.record import PastPrescription, Series
from clinworld.world.history_doses import climb_doses
from clinworld.world.seen_results import find_against, read_against

_DRAWS = 8  # of each drug line: whether, which, begin, dose, stop, when, out of order
_LOGISTIC = 1.702  # a normal curve is this much steeper than a logistic one


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


@lru_cache(maxsize=512)
def _list_clashing(knowledge: Knowledge, name: str) -> frozenset[str]:
    return frozenset(other for other in knowledge.drugs if do_clash(knowledge, name, other))


class _Licensed(NamedTuple):
    # A drug for a condition: how often it is chosen, in which place it is used, since when it is there, and what forbids it.
    name: str
    weight: float
    order: int
    first_day: float
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
            licensed.append(
                _Licensed(name, weight, find_order(knowledge, condition, name), find_launch(knowledge, name), row.rxcui, *forbidding)
            )
    return tuple(licensed)


def find_launch(knowledge: Knowledge, drug: str) -> float:
    """The day from which on a drug could be given; -inf for one that has been there for longer than any history."""
    row = knowledge.parameters.get(f"history_years_there.{drug}")
    return -math.inf if row is None else -DAYS_A_YEAR * row.value


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
        for name, mean in {effect.item: effect.mean for effect in knowledge.drugs[each.name].effects}.items():
            moved.setdefault(name, []).append(each.weight if mean > 0 else -each.weight)
    row = knowledge.conditions.get(condition)
    written = [level.item for level in row.levels if level.item in moved] if row is not None else []
    if not written:
        return None
    item = max(written, key=lambda name: sum(map(abs, moved[name])))
    return Treated(item, 1 if sum(moved[item]) > 0 else -1)


def _list_candidates(knowledge: Knowledge, condition: str, conditions: tuple[str, ...], presenting: str, drug: str) -> dict[str, _Licensed]:
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
    one's own. `control` says by condition, in SD, how far the level it is treated by lies to the side to which drugs move it; what is
    `held` was treated for certain and is so on day 0."""

    levels: Mapping[str, float]
    control: Mapping[str, float]
    held: frozenset[str]
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
    conditions, least = tuple(moments), knowledge.parameter("history_taken_least_days")
    for stop in ended:
        treated = list_treated(knowledge, (stop.drug,))
        condition = next(name for name in conditions if name in treated)
        launch = find_launch(knowledge, stop.drug)
        days = [day for day in moments[condition] if launch <= day <= stop.day - least]
        if days:  # else the drug came too late to have been begun, and the record is left out with it
            lines.append(_begin(premise, knowledge.drugs[stop.drug], condition, days, stop.day, knowledge, rng))
    paths = [("history", "drugs", condition) for condition in conditions]
    drawn = words_to_uniform(rng.first_words(premise.case_id, paths, _DRAWS * int(knowledge.parameter("history_lines_most")))).tolist()
    for condition, uniforms in zip(conditions, drawn, strict=True):
        lines += _draw_for(condition, uniforms, premise, conditions, moments[condition], lines, patient, knowledge)
    return tuple(lines)


class _Choice(NamedTuple):
    # The drugs for a condition by name and the drugs that may not be given; the places in which the others are used, and the places of
    # what is given for other reasons: by records, for conditions before, in the course.
    candidates: Mapping[str, _Licensed]
    clashing: set[str]
    places: set[int]
    elsewhere: set[int]

    def find_left(self, lines: Iterable[Line], day: int, is_out_of_order: bool) -> dict[str, float]:
        """Drug → how often it is chosen, of those that are there on a day and whose turn it is."""
        given = {self.candidates[line.drug.id].order for line in lines if line.drug.id in self.candidates and line.steps[0][0] <= day}
        reach = min((self.places | self.elsewhere) - given, default=max(self.places)) + int(is_out_of_order)
        there = (each for name, each in self.candidates.items() if name not in self.clashing and each.order <= reach)
        return {each.name: each.weight for each in there if each.first_day <= day}

    def find_first(self, lines: Iterable[Line], moments: Sequence[int]) -> int:
        """The place of the first moment: what comes after a drug that a record ends begins no sooner than that."""
        orders = ((self.candidates[line.drug.id].order, line) for line in lines if line.drug.id in self.candidates)
        first = [line.steps[0][0] for order, line in orders if order < min(self.places)]
        return bisect_left(moments, min(first)) if first else 0


def _find_choice(
    condition: str, premise: Premise, conditions: tuple[str, ...], before: Sequence[Line], patient: Patient, knowledge: Knowledge
) -> _Choice:
    shown = premise.presenting.condition if premise.presenting else ""
    candidates = _list_candidates(knowledge, condition, conditions, shown, premise.drug)
    names, clashing = tuple(candidates), set(patient.spoken_against)
    for line in before:
        clashing |= _list_clashing(knowledge, line.drug.id)
    if patient.states or patient.levels:
        margin = knowledge.parameter("history_level_margin")
        clashing |= {name for name in names if _is_forbidden(knowledge.drugs[name], patient, margin)}
    elsewhere = {candidates[line.drug.id].order for line in before if line.drug.id in candidates}
    if has_indication(knowledge.drugs[premise.drug], (condition,)):
        elsewhere.add(find_order(knowledge, condition, premise.drug))
    return _Choice(candidates, clashing, {candidates[name].order for name in names if name not in clashing}, elsewhere)


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
    choice = _find_choice(condition, premise, conditions, before, patient, knowledge)
    if not choice.places:
        return []
    p = tilt_chance(_find_chance("history_p_treated", condition, knowledge), control, knowledge)
    # Who was given, or is given in the course, what comes after another drug was given that.
    if condition in patient.held or max(choice.elsewhere, default=0) > min(choice.places):
        p = 1.0
    lines: list[Line] = []
    earliest, late = choice.find_first(before, moments), int(number("history_start_visits_most")) + 1
    for at in range(0, len(drawn), _DRAWS):
        u = drawn[at : at + _DRAWS]
        if u[0] >= p:
            break
        p = _find_chance("history_p_further_drug", condition, knowledge)
        begun = max(int(u[2] * late), earliest)
        if lines and begun >= len(moments):
            break
        begun = min(begun, len(moments) - 1)
        earliest = begun + 1
        left = choice.find_left((*before, *lines), moments[begun], u[6] < number("history_p_out_of_order"))
        if not left:
            break
        drug = knowledge.drugs[_weigh(left, u[1])]
        line = _draw_line(drug, condition, u, moments[begun:], [*before, *lines], premise, patient, knowledge)
        if line is not None:
            lines.append(line)
            choice.clashing.update(_list_clashing(knowledge, drug.id))
    return lines


def _draw_line(
    drug: Drug,
    condition: str,
    u: Sequence[float],
    moments: Sequence[int],
    others: Sequence[Line],
    premise: Premise,
    patient: Patient,
    knowledge: Knowledge,
) -> Line | None:
    """A line begun on the first moment; None where it may not last until day 0 and there is no visit at which it could have ended."""
    p_stopped = tilt_chance(knowledge.parameter("history_p_stopped"), -patient.control.get(condition, 0.0), knowledge)
    if condition in patient.held:
        p_stopped = 0.0
    if u[4] >= p_stopped and premise.drug not in _list_clashing(knowledge, drug.id):
        line = climb(drug, condition, moments, None, u[3], premise.start_weight_kg, knowledge)
        # At the highest of its doses at which it may, at least half of the one aimed at: nobody stays on a first dose that does little.
        dose = line.steps[-1][1]
        lower = (line._replace(steps=line.steps[:n]) for n in range(len(line.steps), 0, -1) if 2 * line.steps[n - 1][1] >= dose)
        lasting = next((each for each in lower if patient.may_last(each, others)), None)
        if lasting is not None:
            return lasting
    later = moments[1:]
    if not later:
        return None
    end = later[int(u[5] * len(later))]
    return climb(drug, condition, [day for day in moments if day < end], end - 1, u[3], premise.start_weight_kg, knowledge)


def _find_chance(name: str, condition: str, knowledge: Knowledge) -> float:
    written = f"{name}_{condition}"
    return knowledge.parameter(written if written in knowledge.parameters else name)


def tilt_chance(p: float, control: float, knowledge: Knowledge) -> float:
    """A chance that goes with how well controlled someone is and is `p` over all people (logistic approximation of the normal curve)."""
    if not 0.0 < p < 1.0:
        return p
    slope = knowledge.parameter("history_treated_shows")
    odds = math.log(p / (1.0 - p)) * math.sqrt(1.0 + slope**2) + _LOGISTIC * slope * control
    return 1.0 / (1.0 + math.exp(-odds))


def _is_forbidden(drug: Drug, patient: Patient, margin: float) -> bool:
    return bool(find_contraindications(drug, (), patient.states, patient.levels, margin=margin))


def _weigh(weights: Mapping[str, float], u: float) -> str:
    aim = u * sum(weights.values())
    for name, weight in weights.items():
        aim -= weight
        if aim < 0:
            return name
    return next(reversed(dict(weights)))


def _begin(premise: Premise, drug: Drug, condition: str, days: Sequence[int], last: int, knowledge: Knowledge, rng: Rng) -> Line:
    u = rng.at(premise.case_id, "history", "stopped", drug.id).uniform(2).tolist()
    # What comes after another drug began in the later half.
    place = u[0] if find_order(knowledge, condition, drug.id) == 1 else (1.0 + u[0]) / 2.0
    return climb(drug, condition, days[int(place * len(days)) :], last, u[1], premise.start_weight_kg, knowledge)


def climb(drug: Drug, condition: str, moments: Sequence[int], last: int | None, u: float, weight_kg: float, knowledge: Knowledge) -> Line:
    """A line begun on the first moment and raised on later ones up to the dose aimed at."""
    return Line(drug, condition, climb_doses(drug, dict(drug.indications)[condition], moments, last, u, weight_kg, knowledge), last)


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
