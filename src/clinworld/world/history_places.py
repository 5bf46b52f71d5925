"""Documented old events: which of them a patient can have, and where they stand. One sampler places decisive and inactive ones.

Day, kind of place, length of the text and position are drawn before it is decided which records are decisive, so none of them tells.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import OldEvent
from clinworld.schema.premise import Patient, Premise
from clinworld.schema.record import PastEvent
from clinworld.world.history_drugs import find_states, forbids_state, list_treated

LABELS = Path(__file__).with_name("history_labels.csv")
PLACES = ("primary_care_record", "hospital_record", "previous_clinic_record", "patient_papers")
DAYS_A_YEAR = 365
_REMARK = "remark_"
_SLOT = 4  # draws of one slot: day, place, length, and which of several remarks of that length


class Slot(NamedTuple):
    """Where a record stands, whatever it says: its day, the kind of place that holds it, and how long its text is (0 to 1).

    `choice` (0 to 1) picks one of the remarks that make the text that long.
    """

    day: int
    place: str
    length: float
    choice: float


class OldRecord(NamedTuple):
    """A placed event, the row it came from and whether it was placed as a decisive one. The last two are never delivered."""

    event: PastEvent
    row: OldEvent
    is_decisive: bool


def find_old_event(text: Wording, knowledge: Knowledge) -> OldEvent | None:
    """The row that a charted old event was written from; None for a diagnosis and for anything else."""
    by_beginning, length = _index_texts(knowledge)
    return next((row for row in by_beginning.get(text.en[:length], ()) if text.en.startswith(row.text.en)), None)


@lru_cache(maxsize=8)
def _index_texts(knowledge: Knowledge) -> tuple[Mapping[str, list[OldEvent]], int]:
    # How English texts begin → the rows, the shortest first, and how long that beginning is: remarks follow in the chart.
    rows = sorted(knowledge.past_events.values(), key=lambda row: len(row.text.en))
    length, by_beginning = min((len(row.text.en) for row in rows), default=0), dict[str, list[OldEvent]]()
    for row in rows:
        by_beginning.setdefault(row.text.en[:length], []).append(row)
    return by_beginning, length


def age_at(patient: Patient, day: int) -> float:
    """Age in years on a day, from the middle of the age band on day 0."""
    return (patient.age_low + patient.age_high) / 2 + day / DAYS_A_YEAR


def find_room(patient: Patient, knowledge: Knowledge) -> tuple[int, int] | None:
    """(first, last) day an old event may have; None for a patient too young to have any."""
    adult_days = int(DAYS_A_YEAR * (age_at(patient, 0) - knowledge.parameter("history_first_age_years") - 1))
    oldest = min(int(knowledge.parameter("history_record_high_days")), adult_days)
    latest = int(knowledge.parameter("history_record_low_days"))
    return (-oldest, -latest) if oldest > 2 * latest else None


def draw_slots(uniforms: Sequence[float], room: tuple[int, int]) -> tuple[Slot, ...]:
    """The places that uniforms give, four each, in order of their days; the far past is thinner than the near."""
    near, far = -room[1], -room[0]
    days: dict[int, Slot] = {}
    for at in range(0, len(uniforms), _SLOT):
        when, place, length, choice = uniforms[at : at + _SLOT]
        day = -int(near + (far - near) * when * when)
        while day in days:
            day -= 1
        days[day] = Slot(day, PLACES[int(place * len(PLACES))], length, choice)
    return tuple(days[day] for day in sorted(days))


def draw_old_records(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[OldRecord, ...]:
    """The documented old events of a patient, oldest first.

    Those that could decide something, for the condition that shows itself or against a drug for a documented one, take the place of
    inactive ones. None speaks against the drug of the course.
    """
    room = find_room(premise.patient, knowledge)
    if room is None:
        return ()
    number = knowledge.parameter
    least, most = int(number("history_records_least")), int(number("history_records_most"))
    drawn = rng.at(premise.case_id, "history", "records").uniform(3 + (_SLOT + 1) * most).tolist()
    n = least + int(drawn[0] * (most - least + 1))
    wanted = 0
    # In proportion to the records there are: then the place among them tells nothing either.
    if drawn[1] < number("history_p_decisive") * 2 * n / (least + most):
        wanted = 1 + int(drawn[2] < number("history_p_second_decisive"))
    slots = draw_slots(drawn[3 : 3 + _SLOT * n], room)
    rows = _choose_rows(premise, room, n, wanted, knowledge, rng)
    # Which row comes to which slot is drawn last, so that a slot knows nothing of its row.
    roles = drawn[3 + _SLOT * most :][: len(rows)]
    placed = []
    for slot, at in zip(slots, sorted(range(len(rows)), key=roles.__getitem__), strict=False):
        row = rows[at]
        text = render_old_event(row, slot.length, slot.choice, knowledge)
        placed.append(OldRecord(PastEvent(slot.day, text, slot.place), row, row.is_decisive))
    return tuple(placed)


def _choose_rows(premise: Premise, room: tuple[int, int], n: int, wanted: int, knowledge: Knowledge, rng: Rng) -> list[OldEvent]:
    """`n` rows the patient can have, of which up to `wanted` are decisive; what decides for the presenting condition comes first."""
    conditions = (premise.patient.disease, *premise.patient.comorbidities)
    presenting = premise.presenting.condition if premise.presenting else ""
    ages = age_at(premise.patient, room[0]), age_at(premise.patient, room[1])
    order = rng.at(premise.case_id, "history", "rows").words(len(knowledge.past_events)).argsort(kind="stable")
    pools, chosen = _list_possible(knowledge, premise.drug, premise.patient.sex), list[OldEvent]()
    for pool, most in zip(pools, (wanted if presenting else 0, wanted, n), strict=True):
        for place in order[pool.holds[order]].tolist() if len(chosen) < most else ():
            row = pool.rows[place]
            if _fits_age(row, ages) and _fits_known(row, conditions, presenting, knowledge) and not _clashes(row, chosen, knowledge):
                chosen.append(row)
                if len(chosen) == most:
                    break
    return chosen


def _fits_age(row: OldEvent, ages: tuple[float, float]) -> bool:
    # The whole room must fit, or the ages of a row would shift its days.
    return (row.age_low is None or ages[0] >= row.age_low) and (row.age_high is None or ages[1] <= row.age_high)


def _clashes(row: OldEvent, chosen: Sequence[OldEvent], knowledge: Knowledge) -> bool:
    """Whether a row cannot stand beside those chosen: two stopped drugs, or a drug that another record forbids."""
    for other in chosen:
        if row.taken and other.taken:
            return True
        for one, two in ((row, other), (other, row)):
            if one.taken and (one.taken in two.drugs or (two.state and forbids_state(knowledge.drugs[one.taken], two.state))):
                return True
    return False


class Pool(NamedTuple):
    """Every old event by its place in the table, and whether the pool holds it."""

    rows: tuple[OldEvent, ...]
    holds: NDArray[np.bool_]


@lru_cache(maxsize=512)
def _list_possible(knowledge: Knowledge, drug: str, sex: str) -> tuple[Pool, Pool, Pool]:
    """The old events someone given the drug can have, all else aside: decisive for a condition, against drugs, inactive."""
    rows = tuple(knowledge.past_events.values())
    is_possible = np.array([row.sex in ("", sex) and _leaves_the_drug(row, drug, knowledge) for row in rows], dtype=np.bool_)
    kinds = np.array([0 if row.condition else 1 if row.drugs else 2 for row in rows])
    of_condition, against_drugs, inactive = (Pool(rows, is_possible & (kinds == kind)) for kind in range(3))
    return of_condition, against_drugs, inactive


def _fits_known(row: OldEvent, conditions: tuple[str, ...], presenting: str, knowledge: Knowledge) -> bool:
    """Whether an event can decide something where it is there for that, and a drug it names as taken could be."""
    if row.condition and row.condition != presenting:
        return False
    if row.taken:
        return _can_be_taken(row, conditions, {*conditions, presenting}, knowledge)
    return bool(row.condition) or not row.drugs or not list_treated(knowledge, row.drugs).isdisjoint(conditions)


def _leaves_the_drug(row: OldEvent, drug: str, knowledge: Knowledge) -> bool:
    """Whether the drug of the course may still be given after the event."""
    now = knowledge.drugs[drug]
    same = any(knowledge.drugs[name].rxcui == now.rxcui for name in (*row.drugs, *filter(None, (row.taken,))))
    return not same and not (row.state and forbids_state(now, row.state))


def _can_be_taken(row: OldEvent, conditions: tuple[str, ...], known: Iterable[str], knowledge: Knowledge) -> bool:
    """Whether the drug whose end is recorded was one for a documented condition and not forbidden to the patient."""
    taken, states = knowledge.drugs[row.taken], find_states(knowledge, tuple(sorted(known)))
    if list_treated(knowledge, (row.taken,)).isdisjoint(conditions) or any(forbids_state(taken, state) for state in states):
        return False
    return not any(rule.kind == "absolute" and rule.condition in known for rule in taken.contraindications if rule.condition)


def render_old_event(row: OldEvent, length: float, choice: float, knowledge: Knowledge) -> Wording:
    """The text of an event with remarks on its document that make it as long as its slot says, in both languages.

    Lengths then belong to slots, not to events; the remarks say nothing of the event.
    """
    remarks = _list_remarks(row.id, int(length * _load_lengths(knowledge).steps), knowledge)
    remark = remarks[int(choice * len(remarks))]
    return Wording(f"{row.text.en} {remark.en}", f"{row.text.zh}{remark.zh}")


class _Lengths(NamedTuple):
    low_en: int
    steps: int
    low_zh: int
    per_step_zh: float


@lru_cache(maxsize=8)
def _load_lengths(knowledge: Knowledge) -> _Lengths:
    number = knowledge.parameter
    low_en, high_en, low_zh, high_zh = (int(number(f"history_text_{end}")) for end in ("low_en", "high_en", "low_zh", "high_zh"))
    return _Lengths(low_en, high_en - low_en + 1, low_zh, (high_zh - low_zh) / (high_en - low_en))


@lru_cache(maxsize=4096)
def _list_remarks(name: str, step: int, knowledge: Knowledge) -> tuple[Wording, ...]:
    """The remarks that bring an event nearest to the step's length, all that are equally near."""
    row, lengths = knowledge.past_events[name], _load_lengths(knowledge)
    en = lengths.low_en + step - len(row.text.en) - 1
    zh = lengths.low_zh + int(step * lengths.per_step_zh) - len(row.text.zh)
    found, texts = _load_remarks()
    off = np.abs(found[:, 0] - en) + 2 * np.abs(found[:, 1] - zh)
    return tuple(text for at in np.flatnonzero(off == off.min()).tolist() for text in texts[at])


@lru_cache(maxsize=1)
def _load_remarks() -> tuple[NDArray[np.int64], tuple[list[Wording], ...]]:
    """Remarks by their lengths in English and Chinese [length, language]: one on the entry, one on its form, perhaps one more."""
    labels = load_labels(LABELS)
    groups: dict[str, list[Wording]] = {"entry": [], "form": [], "more": [Wording("", "")]}
    for row in load_csv(LABELS, ("id", "en", "zh")):
        if row["id"].startswith(_REMARK):
            group = row["id"].removeprefix(_REMARK).rpartition("_")[0]
            groups[group].append(Wording(*(labels.say(row["id"], language) for language in LANGUAGES)))
    by_length: dict[tuple[int, int], list[Wording]] = {}
    for parts in product(*groups.values()):
        text = Wording(" ".join(part.en for part in parts if part.en), "".join(part.zh for part in parts))
        by_length.setdefault((len(text.en), len(text.zh)), []).append(text)
    return np.array(list(by_length), dtype=np.int64), tuple(by_length.values())
