"""Harms of the drug: which ones a patient has, when they begin, what is told of them and what they move.

A harm that could be mistaken for a cause of regain or for a condition (symptom_shadows.csv) never moves anything here: where it is the
answer, the answer's own evidence shows it. Nor does one on an item that weight or a driver moves. That a drug is borne badly is told now
and then, by those in whom it is the cause of regain and, in passing after a dose step, by others too.
"""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.knowledge.check_effects import DECIDED
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Contraindication, Stream
from clinworld.knowledge.word_tables import RED_FLAGS, find_listed_word
from clinworld.schema.course import Reals
from clinworld.schema.premise import Premise
from clinworld.world.condition_sizes import DOWN, SIZES, UP, bend_move, load_scale
from clinworld.world.event_pool import answer_words, find_answer_word
from clinworld.world.look_alikes import fits_patient
from clinworld.world.medication import derive_doses, draw_dose_changes
from clinworld.world.weight import smooth_step

AREA = "adverse"
INTOLERANCE = "medication_intolerance"
_SIGNS = {"up": UP, "down": DOWN}


class Harm(NamedTuple):
    """A harm that some users of a drug have: a symptom, or an item that moves (`sign`); "" and 0 for the other.

    `share` (0–1) of users have it, `onset_low` to `onset_high` days after the start or a step.
    """

    symptom: str
    item: str
    sign: int
    share: float
    onset_low: int
    onset_high: int

    @property
    def key(self) -> str:
        """What the harm is about; with its direction where an item moves."""
        return self.symptom or f"{self.item}:{self.sign}"


class Occurring(NamedTuple):
    """A harm a patient has, and the day it begins."""

    harm: Harm
    onset_day: int


class Bout(NamedTuple):
    """A complaint of a drug borne badly: the share (0–1) of users who have it, and what it could be mistaken for."""

    symptom: str
    share: float
    shadows: tuple[str, ...]


class ToldHarm(NamedTuple):
    """A complaint of a harm that can be told on a day of [first_day, last_day], in one of its wordings."""

    symptom: str
    first_day: int
    last_day: int
    text: Wording


@lru_cache(maxsize=256)
def list_harms(knowledge: Knowledge, drug: str) -> tuple[Harm, ...]:
    """The harms of a drug that can occur: share and onset known, nothing that is told or moved for a cause of its own, and nothing that
    would have the drug stopped, which a course does not do."""
    found = []
    for row in knowledge.drugs[drug].adverse_effects if drug in knowledge.drugs else ():
        if not row.share_high or row.share_low is None or row.onset_low_days is None or row.onset_high_days is None:
            continue
        if row.symptom and (row.symptom in knowledge.symptom_shadows or knowledge.symptoms[row.symptom].kind != "complaint"):
            continue
        if row.item and (row.moves not in _SIGNS or not _can_move(row.item, knowledge)):
            continue
        sign = _SIGNS[row.moves] if row.item else 0
        if any(_is_towards(rule, row.item, sign) for rule in knowledge.drugs[drug].contraindications):
            continue
        found.append(Harm(row.symptom, row.item, sign, (row.share_low + row.share_high) / 2.0, row.onset_low_days, row.onset_high_days))
    return tuple(found)


def _is_towards(rule: Contraindication, item: str, sign: int) -> bool:
    """Whether a move of an item leads to where a drug is forbidden."""
    is_above = rule.at_least is not None or rule.above is not None
    return bool(item) and rule.kind == "absolute" and rule.item == item and is_above == (sign > 0)


def _can_move(item: str, knowledge: Knowledge) -> bool:
    row = knowledge.items[item]
    if not isinstance(row, Analyte | Stream) or row.derived_by or row.per_kg is not None:
        return False
    shows = [driver.evidence for driver in knowledge.drivers.values()]
    return isinstance(row, Analyte) or (row.role not in DECIDED and not row.parent and item not in shows)


def draw_harms(premise: Premise, dose: Reals, knowledge: Knowledge, rng: Rng) -> tuple[Occurring, ...]:
    """The harms of a patient and when each begins, from the dose by day. One draw a harm, at its own address.

    Each comes after the start or one of the steps up, and only while the drug is taken and the course lasts.
    """
    harms = list_harms(knowledge, premise.drug)
    if not harms:
        return ()
    steps = (np.flatnonzero(np.diff(dose, prepend=0.0) > 0.0)).tolist()
    occurring = []
    for harm in harms:
        happens, place, onset = rng.at(premise.case_id, AREA, premise.drug, harm.key).uniform(3).tolist()
        if happens < harm.share and steps:
            day = steps[int(place * len(steps))] + harm.onset_low + int(onset * (harm.onset_high - harm.onset_low + 1))
            if day < len(dose) and dose[day] > 0.0:
                occurring.append(Occurring(harm, day))
    return tuple(occurring)


def choose_told_harms(premise: Premise, knowledge: Knowledge, rng: Rng, taken_texts: Collection[str]) -> list[ToldHarm]:
    """The complaints of harms that may stand in the record as everyday ones: they fit the patient and say nothing they must not."""
    if not premise.has_physiology or not any(harm.symptom for harm in list_harms(knowledge, premise.drug)):
        return []
    dose = derive_doses(draw_dose_changes(premise, knowledge, rng), premise.course_end_day)
    within = int(knowledge.parameter("adverse.told_within_days"))
    told = []
    for harm, day in draw_harms(premise, dose, knowledge, rng):
        if harm.symptom and fits_patient(knowledge.symptoms[harm.symptom], premise.patient):
            free = [text for text in _harmless_texts(knowledge, harm.symptom) if not {text.en, text.zh} & set(taken_texts)]
            if free:
                text = rng.at(premise.case_id, AREA, premise.drug, harm.key, "words").pick(free)
                told.append(ToldHarm(harm.symptom, day, min(day + within, premise.course_end_day), text))
    return told


def choose_told_bouts(premise: Premise, knowledge: Knowledge, rng: Rng, taken_texts: Collection[str]) -> list[ToldHarm]:
    """Complaints of a drug borne badly, as `choose_told_harms` gives them; none in someone in whom a condition is hidden.

    Where that is the cause of regain one may come after each dose step and in each stretch of days from its first evidence on; in anybody,
    less often, after a dose step.
    """
    is_cause = premise.outcome == "regain" and premise.driver == INTOLERANCE
    kinds = [
        each
        for each in _list_bouts(knowledge, premise.drug)
        if fits_patient(knowledge.symptoms[each.symptom], premise.patient) and (is_cause or premise.driver not in each.shadows)
    ]
    if not kinds or premise.presenting or not premise.has_physiology:
        return []
    number, last = knowledge.parameter, premise.course_end_day
    steps = [day for day, _ in draw_dose_changes(premise, knowledge, rng)]
    starts = [("step", steps, number("adverse.poorly_borne_p" if is_cause else "adverse.after_step_p"))]
    if is_cause:
        turn = premise.index_day if premise.reversal_day is None else min(premise.reversal_day, premise.index_day)
        first, every = turn - (knowledge.drivers[INTOLERANCE].lead_days or 0), int(number("adverse.poorly_borne_days"))
        starts.append(("stretch", list(range(max(first, 0), last, every)), number("adverse.poorly_borne_p")))
    return _place_bouts(starts, kinds, premise, knowledge, rng, set(taken_texts))


def _place_bouts(
    starts: Sequence[tuple[str, list[int], float]], kinds: Sequence[Bout], premise: Premise, knowledge: Knowledge, rng: Rng, taken: set[str]
) -> list[ToldHarm]:
    """One complaint by chance from each start (of what, days, chance) on, each kind as often as the share of users who have it."""
    within, told = int(knowledge.parameter("adverse.told_within_days")), []
    ends = list(accumulate(each.share for each in kinds))
    for what, days, p in starts:
        drawn = rng.at(premise.case_id, AREA, premise.drug, what).uniform(3 * len(days)).reshape(-1, 3).tolist()
        for day, (happens, which, wording) in zip(days, drawn, strict=True):
            if happens >= p:
                continue
            symptom = kinds[bisect_right(ends, which * ends[-1])].symptom
            free = [text for text in _harmless_texts(knowledge, symptom) if not {text.en, text.zh} & taken]
            if free:
                text = free[int(wording * len(free))]
                taken |= {text.en, text.zh}
                told.append(ToldHarm(symptom, day + 1, min(day + within, premise.course_end_day), text))
    return told


@lru_cache(maxsize=256)
def _list_bouts(knowledge: Knowledge, drug: str) -> tuple[Bout, ...]:
    """The complaints of a drug that are taken for bearing it badly and of which is known how many users have them."""
    found = []
    for row in knowledge.drugs[drug].adverse_effects if drug in knowledge.drugs else ():
        shadows = knowledge.symptom_shadows.get(row.symptom)
        if row.share_low and row.share_high and shadows and INTOLERANCE in shadows.shadows and _harmless_texts(knowledge, row.symptom):
            found.append(Bout(row.symptom, (row.share_low + row.share_high) / 2.0, shadows.shadows))
    return tuple(found)


@lru_cache(maxsize=512)
def _harmless_texts(knowledge: Knowledge, symptom: str) -> tuple[Wording, ...]:
    wordings = knowledge.symptoms[symptom].wordings
    pairs = zip(wordings.en, wordings.zh, strict=False)
    words = answer_words(knowledge)
    return tuple(
        Wording(*pair)
        for pair in pairs
        if not find_answer_word(pair, words) and not any(find_listed_word(text, RED_FLAGS) for text in pair)
    )


def push_harms(rows: Mapping[str, tuple[Reals, bool]], premise: Premise, dose: Reals, knowledge: Knowledge, rng: Rng) -> dict[str, Reals]:
    """Levels by day with what harms do to them; those that none moves are left out.

    `rows`: item → (level by day, whether it is only what is added to a level on the item's scale).
    """
    items = [harm.item for harm in list_harms(knowledge, premise.drug) if harm.item in rows]
    if not items or not premise.has_physiology:
        return {}
    moved: dict[str, Reals] = {}
    for harm, onset in draw_harms(premise, dose, knowledge, rng):
        if harm.item in rows:
            level, is_shift = rows[harm.item]
            share = derive_share(onset, dose, knowledge.parameter("adverse.ramp_days"))
            moved[harm.item] = _push(moved.get(harm.item, level), is_shift, harm, share, premise, knowledge)
    return moved


def derive_share(onset: int, dose: Reals, ramp_days: float) -> Reals:
    """Share (0–1) of its full size that a harm has on each day: from its onset on, until the drug is stopped and it fades."""
    days = np.arange(len(dose), dtype=np.float64)
    share = smooth_step((days - onset + 1.0) / ramp_days)
    stopped = np.flatnonzero(dose[onset:] == 0.0)
    return share * (1.0 - smooth_step((days - onset - float(stopped[0]) + 1.0) / ramp_days)) if len(stopped) else share


def _push(level: Reals, is_shift: bool, harm: Harm, share: Reals, premise: Premise, knowledge: Knowledge) -> Reals:
    """A level moved to mildly beyond its reference limit, from wherever it is; by that distance where there is no limit."""
    scale = load_scale(knowledge, harm.item, premise.patient.sex)
    assert scale is not None, harm.item
    beyond, limit = scale.beyond(harm.sign, SIZES[0]), scale.limit(harm.sign)
    if is_shift:
        return np.asarray(level + harm.sign * beyond * share)
    on_scale = np.log(level) if scale.is_log else level
    start = float(on_scale[0])
    move = beyond if limit is None else max(harm.sign * (limit - start) + beyond, beyond)
    bound = scale.ceiling if harm.sign == UP else scale.floor
    move = bend_move(move, max(0.0, harm.sign * (bound - start)), knowledge.parameter("effect.reach"))
    row = knowledge.items[harm.item]
    known = (premise.patient.disease, *premise.patient.comorbidities)
    if harm.sign == UP and isinstance(row, Analyte | Stream) and row.diagnostic_high is not None and row.diagnostic_of not in known:
        most = scale.read(row.diagnostic_high * knowledge.parameter("levels_undiagnosed_share"))
        move = min(move, max(0.0, most - start))
    moved = np.minimum(np.maximum(on_scale + harm.sign * move * share, min(scale.floor, start)), max(scale.ceiling, start))
    return np.asarray(np.exp(moved) if scale.is_log else moved)
