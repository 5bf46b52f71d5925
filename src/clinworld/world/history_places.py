"""Documented old events: which of them a patient can have, and where they stand. One sampler places decisive and inactive ones.

Day, kind of place, length of the text and position are drawn before it is decided which records are decisive, so none of them tells.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.days import DAYS_A_YEAR
from clinworld.core.rng import Rng, Words, words_to_uniform
from clinworld.core.tables import load_csv
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Drug, OldEvent
from clinworld.schema.premise import Patient, Premise
from clinworld.schema.record import PastEvent
from clinworld.world.history_drugs import find_launch, find_states, find_use, forbids_state, list_treated
from clinworld.world.mixing import derive_mark, mix_words

Flags = NDArray[np.bool_]

LABELS = Path(__file__).with_name("history_labels.csv")
PLACES = ("primary_care_record", "hospital_record", "previous_clinic_record", "patient_papers")
_REMARK = "remark_"
_OF_CONDITION, _AGAINST_DRUGS, _INACTIVE = range(3)  # kinds of events: decisive for a condition, against drugs, in nothing
_LEAST_RATE = 1e-9  # of a row that never comes up by itself
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
    fits, table = _find_fitting(premise, room, knowledge), _load_table(knowledge)
    order, nothing = _draw_order(premise.case_id, knowledge, rng)
    most, chosen = (wanted if premise.presenting else 0, wanted, n), list[OldEvent]()
    for kind, up_to in enumerate(most):
        tried = order[:nothing] if kind == _AGAINST_DRUGS else order
        for place in tried[(fits & (table.kinds == kind))[tried]].tolist() if len(chosen) < up_to else ():
            if not _clashes(table.rows[place], chosen, knowledge):
                chosen.append(table.rows[place])
                if len(chosen) == up_to:
                    break
    return chosen


def _find_fitting(premise: Premise, room: tuple[int, int], knowledge: Knowledge) -> Flags:
    """Which rows the patient can have: none that forbids the drug of the course, none that is of another age in a part of the room, and
    none that speaks for another condition than the presenting one or of a drug that is for nothing the patient has or is forbidden."""
    conditions = (premise.patient.disease, *premise.patient.comorbidities)
    presenting = premise.presenting.condition if premise.presenting else ""
    table = _load_table(knowledge)
    fits = _list_possible(knowledge, premise.drug, premise.patient.sex) & _find_speaking(knowledge, presenting)
    # The whole room must fit, or the ages of a row would shift its days.
    fits &= (table.age_low <= age_at(premise.patient, room[0])) & (age_at(premise.patient, room[1]) <= table.age_high)
    fits &= table.launch <= room[0]
    is_treated = ~table.needs_treated
    for name in conditions:
        is_treated |= _find_treated(knowledge, name)
    fits &= is_treated
    for name in (*conditions, presenting):
        fits &= ~_find_barred(knowledge, name)
    return fits


def _draw_order(case_id: str, knowledge: Knowledge, rng: Rng) -> tuple[NDArray[np.int64], int]:
    """The places of rows in the order in which they are tried, the frequent ones mostly first; and how many come before it is settled that
    nothing spoke against a drug, so that rare events stay rare in those in whom nothing frequent can have happened."""
    marks, rates = _load_rates(knowledge)
    uniforms = words_to_uniform(mix_words(rng.at(case_id, "history", "rows").words(1), marks))
    waits = -np.log1p(-uniforms) / rates
    return waits[:-1].argsort(kind="stable"), int((waits[:-1] < waits[-1]).sum())


@lru_cache(maxsize=8)
def _load_rates(knowledge: Knowledge) -> tuple[Words, NDArray[np.float64]]:
    # By row, then for nothing: a mark for its draws, and how often it comes up.
    number, rows = knowledge.parameter, knowledge.past_events.values()
    names = [*(row.id for row in rows), "nothing"]
    marks = [derive_mark(name) for name in names]
    stopped = number("history_weight_stopped")
    rates = [row.weight * (stopped * find_use(knowledge, row.taken) if row.taken else 1.0) for row in rows]
    return np.array(marks, dtype=np.uint64), np.maximum(np.array([*rates, number("history_weight_nothing")]), _LEAST_RATE)


def _clashes(row: OldEvent, chosen: Sequence[OldEvent], knowledge: Knowledge) -> bool:
    """Whether a row cannot stand beside those chosen: two stopped drugs, or a drug that another record forbids."""
    for other in chosen:
        if row.taken and other.taken:
            return True
        for one, two in ((row, other), (other, row)):
            if one.taken and (one.taken in two.drugs or (two.state and forbids_state(knowledge.drugs[one.taken], two.state))):
                return True
    return False


class _Table(NamedTuple):
    # Every old event, and by row: its kind, its ages, the day from which the drug that was taken is there, and whether a documented
    # condition must be treated with what it names.
    rows: tuple[OldEvent, ...]
    kinds: NDArray[np.int64]
    age_low: NDArray[np.float64]
    age_high: NDArray[np.float64]
    launch: NDArray[np.float64]
    needs_treated: Flags


@lru_cache(maxsize=8)
def _load_table(knowledge: Knowledge) -> _Table:
    rows = tuple(knowledge.past_events.values())
    return _Table(
        rows=rows,
        kinds=np.array([_OF_CONDITION if row.condition else _AGAINST_DRUGS if row.drugs else _INACTIVE for row in rows]),
        age_low=np.array([-np.inf if row.age_low is None else row.age_low for row in rows]),
        age_high=np.array([np.inf if row.age_high is None else row.age_high for row in rows]),
        launch=np.array([find_launch(knowledge, row.taken) if row.taken else -np.inf for row in rows]),
        needs_treated=np.array([bool(row.taken or (row.drugs and not row.condition)) for row in rows], dtype=np.bool_),
    )


@lru_cache(maxsize=512)
def _list_possible(knowledge: Knowledge, drug: str, sex: str) -> Flags:
    """The old events someone given the drug can have, all else aside."""
    rows = knowledge.past_events.values()
    return np.array([row.sex in ("", sex) and _leaves_the_drug(row, drug, knowledge) for row in rows], dtype=np.bool_)


@lru_cache(maxsize=512)
def _find_speaking(knowledge: Knowledge, presenting: str) -> Flags:
    """The rows that speak for no condition or for the presenting one."""
    return np.array([row.condition in ("", presenting) for row in knowledge.past_events.values()], dtype=np.bool_)


@lru_cache(maxsize=512)
def _find_treated(knowledge: Knowledge, condition: str) -> Flags:
    """The rows of whose drugs one is licensed for a condition: of the drug taken where they record its end, else of those they speak
    against."""
    named = [(row.taken,) if row.taken else row.drugs for row in knowledge.past_events.values()]
    return np.array([condition in list_treated(knowledge, drugs) for drugs in named], dtype=np.bool_)


@lru_cache(maxsize=512)
def _find_barred(knowledge: Knowledge, condition: str) -> Flags:
    """The rows that record the end of a drug that is forbidden to someone with a condition."""
    rows, states = knowledge.past_events.values(), find_states(knowledge, (condition,))
    return np.array([bool(row.taken) and _is_barred(knowledge.drugs[row.taken], condition, states) for row in rows], dtype=np.bool_)


def _is_barred(drug: Drug, condition: str, states: tuple[str, ...]) -> bool:
    if any(forbids_state(drug, state) for state in states):
        return True
    return any(rule.kind == "absolute" and rule.condition == condition for rule in drug.contraindications if rule.condition)


def _leaves_the_drug(row: OldEvent, drug: str, knowledge: Knowledge) -> bool:
    """Whether the drug of the course may still be given after the event."""
    now = knowledge.drugs[drug]
    same = any(knowledge.drugs[name].rxcui == now.rxcui for name in (*row.drugs, *filter(None, (row.taken,))))
    return not same and not (row.state and forbids_state(now, row.state))


def render_old_event(row: OldEvent, length: float, choice: float, knowledge: Knowledge) -> Wording:
    """The text of an event with a remark, who wrote it down, that makes it as long as its slot says, in both languages.

    Lengths then belong to slots, not to events; the remark says nothing of the event.
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
    """Remarks by their lengths in English and Chinese [length, language]: who put the event on paper, and perhaps on what occasion."""
    labels = load_labels(LABELS)
    parts: dict[str, list[str]] = {"form": [], "who": [], "when": []}
    for row in load_csv(LABELS, ("id", "en", "zh")):
        if row["id"].startswith(_REMARK):
            parts[row["id"].removeprefix(_REMARK).rpartition("_")[0]].append(row["id"])
    by_length: dict[tuple[int, int], dict[Wording, None]] = {}
    for form, who, when in product(*parts.values()):
        said = ((labels.say(who, language), labels.say(when, language)) for language in LANGUAGES)
        text = Wording(*(labels.say(form, language, who=a, when=b) for language, (a, b) in zip(LANGUAGES, said, strict=True)))
        by_length.setdefault((len(text.en), len(text.zh)), {})[text] = None
    return np.array(list(by_length), dtype=np.int64), tuple(list(texts) for texts in by_length.values())
