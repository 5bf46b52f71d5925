"""Who has a condition, and what else that person has: age, sex and background conditions by prevalence.

A background condition is documented and acts in the body; it is never the answer nor what the answer is mistaken for. Draws are
addressed by what they decide, so that a condition more moves only the people it is drawn in.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng, Words, words_to_uniform
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Condition, Stream
from clinworld.schema.course import Reals
from clinworld.world.condition_pushes import SIGNS, find_pushes
from clinworld.world.condition_sizes import DOWN, SIZES, UP
from clinworld.world.history_drugs import find_contraindications, find_states
from clinworld.world.mixing import derive_mark, mix_words
from clinworld.world.presenting import fits, list_presentations

AREA = "people"
BAND_YEARS = 5
CHRONIC = ("weeks", "months", "years")
CALM = ("routine", "soon")
_OBESITY, _BMI = "obesity", "bmi"
_SCREENING, _CONFIRMATORY = "screening", "confirmatory"  # roles of findings
_MOVED = ("weight", "adherence", "evidence")  # roles of streams that a case's course decides


class Person(NamedTuple):
    """Sex and five-year age band."""

    sex: str
    age_low: int
    age_high: int


def draw_person(
    case_id: str, condition: str, knowledge: Knowledge, rng: Rng, *, ages: tuple[int, int] = (0, 120), presents: bool = False
) -> Person:
    """A person with a condition: a band in proportion to the people of its age and sex times the condition's share among them.

    `ages` limits the band's ends; `presents`: only where one of the condition's presentations fits. Raises PremiseConflict
    `nobody_has_it` when the limits leave nobody.
    """
    people, ends = list_people(knowledge, condition, ages, presents)
    if not people:
        raise PremiseConflict(
            f"case {case_id}, patient",
            f"nobody of {ages[0]} to {ages[1]} years with {condition}",
            "its prevalence rows and presentations leave no five-year band",
            do="Widen the ages or choose another condition.",
            kind="nobody_has_it",
        )
    aim = rng.at(case_id, AREA, "who").chance() * float(ends[-1])
    return people[min(int(ends.searchsorted(aim, side="right")), len(people) - 1)]


@lru_cache(maxsize=1024)
def list_people(knowledge: Knowledge, condition: str, ages: tuple[int, int], presents: bool) -> tuple[tuple[Person, ...], Reals]:
    """The bands in which a condition occurs, and the running sum of how many people with it each holds, in the pyramid's unit."""
    row = knowledge.conditions[condition]
    people, weights = [], []
    for name, parameter in knowledge.parameters.items():
        if not name.startswith("pyramid."):
            continue
        _, sex, start = name.split(".")
        person = Person(sex.upper(), int(start), int(start) + BAND_YEARS - 1)
        share = find_share(row, person)
        is_inside = ages[0] <= person.age_low and person.age_high <= ages[1]
        if is_inside and share > 0.0 and (not presents or list_presentations(row, *person, knowledge)):
            people.append(person)
            weights.append(parameter.value * share)
    return tuple(people), np.cumsum(np.array(weights))


def find_share(row: Condition, person: Person) -> float:
    """The share (0–1) of people like this who have a condition; 0 outside its limits."""
    if not fits(row.sex, row.age_low, row.age_high, *person):
        return 0.0
    middle = (person.age_low + person.age_high) // 2
    return next((each.share for each in row.prevalence if each.sex in ("", person.sex) and each.age_low <= middle <= each.age_high), 0.0)


class Limits(NamedTuple):
    """What background conditions must respect: what is known already, what is hidden, body mass index, drugs, and fixed items.

    `spares_course`: nothing that moves weight, doses or the evidence of a driver, which the case's own course decides.
    """

    known: tuple[str, ...] = ()
    answer: str = ""
    bmi: float | None = None
    drugs: tuple[str, ...] = ()
    spares_course: bool = False


def draw_background(case_id: str, person: Person, limits: Limits, knowledge: Knowledge, rng: Rng) -> tuple[str, ...]:
    """The documented background conditions of a person, at most as many as the parameter says, commonest first.

    Each comes with its prevalence at the person's age and sex, raised beside what it is known to go with, times the share that is
    documented. Nothing in it resembles the answer or another of the person's conditions, contradicts what the answer shows, needs what
    the person has not, or forbids one of the drugs.
    """
    had = [*limits.known, *([limits.answer] if limits.answer else [])]
    candidates = _list_candidates(knowledge, person)
    # One word a case, mixed with each condition's own digest: independent draws for all at the price of one address.
    chances = words_to_uniform(mix_words(rng.at(case_id, AREA, "background").words(1), candidates.marks))
    accepted: dict[str, float] = {}  # name → its chance, as a share of what would still have been enough
    factors = _find_build_odds(candidates, limits.bmi, knowledge)
    for place in (chances < _times_odds(candidates.most_likely, factors)).nonzero()[0].tolist():
        name, share, chance = candidates.names[place], candidates.shares[place], float(chances[place])
        p = candidates.documented[place] * max(share, _raise_share(name, share, (*had, *accepted), person, knowledge))
        p = float(_times_odds(p, factors[place]))
        if chance < p and _is_possible(name, person, limits, tuple(accepted), knowledge):
            accepted[name] = chance / p
    most = int(knowledge.parameter("background.most"))
    kept = set(sorted(accepted, key=lambda name: (accepted[name], name))[:most])
    kept -= {name for name in kept if not _has_needed(name, [*limits.known, *kept], knowledge)}
    return tuple(name for name in accepted if name in kept)


class _Candidates(NamedTuple):
    # What may be a background condition of a person, commonest first, and the share of each that is documented; `most_likely` is how
    # likely it is documented in someone with the condition that makes it most so, `log_odds` how its odds go with 5 kg/m².
    names: tuple[str, ...]
    shares: tuple[float, ...]
    documented: tuple[float, ...]
    most_likely: Reals
    log_odds: Reals
    marks: Words


@lru_cache(maxsize=512)
def _list_candidates(knowledge: Knowledge, person: Person) -> _Candidates:
    shares = [(name, find_share(knowledge.conditions[name], person)) for name in list_background(knowledge)]
    ranked = sorted((each for each in shares if each[1] > 0.0), key=lambda each: (-each[1], each[0]))
    everything = tuple(dict.fromkeys(other for row in knowledge.comorbidities.values() for other in (row.a, row.b)))
    names = tuple(name for name, _ in ranked)
    documented = _list_own(names, "background.documented_share", knowledge.parameter("background.documented_share"), knowledge)
    raised = [max(share, _raise_share(name, share, everything, person, knowledge)) for name, share in ranked]
    return _Candidates(
        names,
        tuple(share for _, share in ranked),
        documented,
        np.array(documented) * raised,
        np.log(np.array(_list_own(names, "background.odds_per_5_bmi", 1.0, knowledge))),
        np.array([derive_mark(name) for name in names], dtype=np.uint64),
    )


def _list_own(names: Sequence[str], beginning: str, usual: float, knowledge: Knowledge) -> tuple[float, ...]:
    """The parameter of each condition, or the usual value where it has none of its own."""
    rows = (knowledge.parameters.get(f"{beginning}.{name}") for name in names)
    return tuple(usual if row is None else row.value for row in rows)


def _find_build_odds(candidates: _Candidates, bmi: float | None, knowledge: Knowledge) -> Reals:
    """By how much the odds of each candidate differ at a body mass index from those at a usual one; 1 where it is not known."""
    typical = knowledge.parameter("levels_typical_bmi")
    return np.asarray(np.exp(candidates.log_odds * ((typical if bmi is None else bmi) - typical) / 5.0))


def _times_odds(chance: Reals | float, factor: Reals | float) -> Reals | float:
    return chance * factor / (1.0 - chance + chance * factor)


@lru_cache(maxsize=8)
def list_background(knowledge: Knowledge) -> tuple[str, ...]:
    """The conditions that may be in the background of a patient: lasting, not urgent, and not barred by a parameter row."""
    rows = (knowledge.conditions[name] for name in knowledge.conditions)
    return tuple(row.id for row in rows if is_chronic(row) and f"background.never.{row.id}" not in knowledge.parameters)


def is_chronic(row: Condition) -> bool:
    """Whether a condition lasts and can wait: no presentation of hours or days, and no urgency beyond soon."""
    tempos = {each.tempo for each in row.presentations}
    return not row.is_name_only and row.urgency in CALM and bool(tempos) and tempos <= set(CHRONIC)


def _raise_share(name: str, share: float, had: Sequence[str], person: Person, knowledge: Knowledge) -> float:
    """The greatest share that a condition the person has gives a background condition: as written, or turned round by Bayes' rule."""
    most = 0.0
    for row in _pairs_of(knowledge, name):
        middle = (row.share_low + row.share_high) / 2.0 if row.share_low is not None and row.share_high is not None else 0.0
        if row.b == name and row.a in had:
            most = max(most, middle)
        elif row.a == name and row.b in had:
            other = find_share(knowledge.conditions[row.b], person)
            most = max(most, min(middle, middle * share / other) if other else 0.0)
    return most


class _Pair(NamedTuple):
    a: str
    b: str
    share_low: float | None
    share_high: float | None


@lru_cache(maxsize=1024)
def _pairs_of(knowledge: Knowledge, name: str) -> tuple[_Pair, ...]:
    rows = knowledge.comorbidities.values()
    return tuple(_Pair(row.a, row.b, row.share_low, row.share_high) for row in rows if name in (row.a, row.b))


def _is_possible(name: str, person: Person, limits: Limits, accepted: Sequence[str], knowledge: Knowledge) -> bool:
    if name == limits.answer or name in limits.known or (limits.answer and _resemble(name, limits.answer, knowledge)):
        return False
    age, had = (person.age_low + person.age_high) / 2.0, (*limits.known, *accepted)
    if any(_are_apart(name, other, person.sex, age, knowledge) and not _are_a_pair(name, other, knowledge) for other in had):
        return False
    if name == _OBESITY and (limits.bmi is None or limits.bmi < (knowledge.findings[_BMI].cut or 0.0)):
        return False
    if not _has_needed(name, [*limits.known, *accepted], knowledge):
        return False
    if limits.answer and contradicts(name, limits.answer, person.sex, age, knowledge):
        return False
    if limits.spares_course and _moves_course(name, limits.known, person.sex, age, knowledge):
        return False
    return not any(_forbids(knowledge, name, drug, person.sex, age) for drug in limits.drugs)


@lru_cache(maxsize=65536)
def _resemble(one: str, other: str, knowledge: Knowledge) -> bool:
    """Whether either is among the look-alikes of the other."""
    pairs = ((one, other), (other, one))
    return any(b in [alike.condition for alike in knowledge.conditions[a].look_alikes] for a, b in pairs if a in knowledge.conditions)


class _Telling(NamedTuple):
    # The direction (0: held normal) in which a finding goes that finds or confirms a condition, and whether it finds it.
    sign: int
    is_screening: bool


@lru_cache(maxsize=65536)
def _are_apart(one: str, other: str, sex: str, age_years: float, knowledge: Knowledge) -> bool:
    """Whether two conditions are hardly documented in one person.

    One is taken for the other; they move an item past mild in opposite directions; what finds or confirms both goes different ways in
    them; or the same result finds both, which are then two names of one state.
    """
    moved, opposed = (_find_moved(knowledge, name, sex, age_years).past_mild for name in (one, other))
    if _resemble(one, other, knowledge) or any(opposed.get(item) == -sign for item, sign in moved.items()):
        return True
    return are_one_state(one, other, knowledge) or any(mine.sign != its.sign for mine, its in _share_telling(one, other, knowledge))


def are_one_state(one: str, other: str, knowledge: Knowledge) -> bool:
    """Whether the same result finds two conditions, which are then two names of one state, as prediabetes and diabetes are."""
    return any(mine.sign == its.sign and mine.is_screening and its.is_screening for mine, its in _share_telling(one, other, knowledge))


@lru_cache(maxsize=65536)
def _share_telling(one: str, other: str, knowledge: Knowledge) -> tuple[tuple[_Telling, _Telling], ...]:
    told, as_told = _find_telling(knowledge, one), _find_telling(knowledge, other)
    return tuple((told[item], as_told[item]) for item in told.keys() & as_told.keys())


@lru_cache(maxsize=512)
def _find_telling(knowledge: Knowledge, name: str) -> Mapping[str, _Telling]:
    rows = knowledge.conditions[name].findings if name in knowledge.conditions else ()
    return {each.item: _Telling(SIGNS[each.moves], each.role == _SCREENING) for each in rows if each.role in (_SCREENING, _CONFIRMATORY)}


def _are_a_pair(one: str, other: str, knowledge: Knowledge) -> bool:
    return any(other in (row.a, row.b) for row in _pairs_of(knowledge, one))


def _has_needed(name: str, had: Sequence[str], knowledge: Knowledge) -> bool:
    needed = list_needed(knowledge, name)
    return not needed or any(cause in had for cause in needed)


@lru_cache(maxsize=512)
def list_needed(knowledge: Knowledge, condition: str) -> tuple[str, ...]:
    """The conditions with one of which a condition comes only; () where it needs none."""
    beginning = f"background.needs.{condition}."
    return tuple(name.removeprefix(beginning) for name in knowledge.parameters if name.startswith(beginning))


@lru_cache(maxsize=65536)
def contradicts(name: str, answer: str, sex: str, age_years: float, knowledge: Knowledge) -> bool:
    """Whether a condition moves an item that the answer holds normal or negative, or moves the other way."""
    shown = {push.item: push.sign for push in find_pushes(knowledge, answer, sex, age_years) if push.is_own}
    negative = {each.item for each in knowledge.conditions[answer].findings if each.moves == "negative"}
    for push in find_pushes(knowledge, name, sex, age_years):
        if push.item in shown and push.sign and (push.sign != shown[push.item] or push.item in negative):
            return True
    return False


class _Moved(NamedTuple):
    # What a condition moves: whether something that a case's own course decides; the diagnoses it would make besides itself; and by item
    # the direction of what it moves past mild.
    is_of_course: bool
    diagnoses: frozenset[str]
    past_mild: Mapping[str, int]


@lru_cache(maxsize=16384)
def _find_moved(knowledge: Knowledge, name: str, sex: str, age_years: float) -> _Moved:
    pushes = [push for push in find_pushes(knowledge, name, sex, age_years) if push.sign]
    past_mild = {push.item: push.sign for push in pushes if push.size != SIZES[0]}
    shows, rows = {driver.evidence for driver in knowledge.drivers.values()}, {push.item: knowledge.items[push.item] for push in pushes}
    is_of_course = any(item in shows or (isinstance(row, Stream) and row.role in _MOVED) for item, row in rows.items())
    raised = [row for item, row in rows.items() if past_mild.get(item) == UP and isinstance(row, Analyte | Stream)]
    return _Moved(is_of_course, frozenset(row.diagnostic_of for row in raised if row.diagnostic_of) - {name}, past_mild)


def _moves_course(name: str, known: tuple[str, ...], sex: str, age_years: float, knowledge: Knowledge) -> bool:
    """Whether a condition moves what a case's own course decides, or would make a diagnosis nobody has made."""
    moved = _find_moved(knowledge, name, sex, age_years)
    return moved.is_of_course or not moved.diagnoses.issubset(known)


def _forbids(knowledge: Knowledge, name: str, drug: str, sex: str, age_years: float) -> bool:
    """Whether a condition is a contraindication of a drug, means a state that is one, or moves an item past mild towards one."""
    barring = _find_barring(knowledge, name, drug)
    if barring is None:
        return True
    past_mild = _find_moved(knowledge, name, sex, age_years).past_mild if barring else {}
    return any(past_mild.get(item) == sign for item, sign in barring)


@lru_cache(maxsize=16384)
def _find_barring(knowledge: Knowledge, name: str, drug: str) -> tuple[tuple[str, int], ...] | None:
    """(item, direction) in which a condition's moves would speak against a drug; None where the condition itself does."""
    if drug not in knowledge.drugs:
        return ()
    row = knowledge.drugs[drug]
    named = any(rule.condition == name for rule in row.contraindications)
    if named or find_contraindications(row, (name,), find_states(knowledge, (name,)), {}):
        return None
    rules = [rule for rule in row.contraindications if rule.item]
    return tuple((rule.item, DOWN if rule.below is not None or rule.at_most is not None else UP) for rule in rules)
