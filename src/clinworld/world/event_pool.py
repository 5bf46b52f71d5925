"""Which everyday events a patient can have, and which of them come up. Decides no day and no id; `notes.py` calls it.

Admission depends on who the patient is, what is known of them and what the answer is; the draw is weighted and without replacement.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Series, Words, words_to_uniform
from clinworld.core.tables import load_csv
from clinworld.knowledge.load import HERE, Knowledge
from clinworld.knowledge.rows import BenignEvent
from clinworld.schema.premise import Premise
from clinworld.world.mixing import derive_mark, mix_words
from clinworld.world.seasons import derive_months, is_in_months

Flags = NDArray[np.bool_]

DENSITY = "event_density_mismatch"


@dataclass(frozen=True, slots=True, eq=False)
class EventPool:
    """Every event row, with what admission and the draw need as arrays over the rows.

    `marks` are 64-bit digests of the row ids; `topics` number the topics; `per_weight` is -1/weight; `faults` say why a text may never
    be charted ("" when it may).
    """

    rows: tuple[BenignEvent, ...]
    marks: NDArray[np.uint64]
    is_drawn: Flags
    per_weight: NDArray[np.float64]
    topics: NDArray[np.int64]
    topic_of: list[int]  # the same, row by row
    is_life: Flags
    is_exertional: Flags
    is_tempting: Flags
    age_low: NDArray[np.float64]
    age_high: NDArray[np.float64]
    barred_by: dict[str, Flags]  # "sex:F", "axis:season", "shadows:hypertension" → the rows it bars
    is_out_of_season: Flags  # [month - 1, row]
    faults: tuple[str, ...]
    heavy_bmi: float
    elderly_years: float
    most_redraws: int
    repeat_least_days: float


@lru_cache(maxsize=4)
def load_pool(knowledge: Knowledge) -> EventPool:
    """The event rows of a knowledge as arrays."""
    rows = tuple(knowledge.events.values())
    topics = {topic: n for n, topic in enumerate(dict.fromkeys(row.topic for row in rows))}
    words = answer_words(knowledge)
    barred: dict[str, list[bool]] = {}
    for n, row in enumerate(rows):
        other_sex = {"F": "sex:M", "M": "sex:F"}.get(row.sex)
        for name in (other_sex, f"axis:{row.axis}" if row.axis else None, *(f"shadows:{shadow}" for shadow in row.shadows)):
            if name:
                barred.setdefault(name, [False] * len(rows))[n] = True
    return EventPool(
        rows=rows,
        marks=np.array([derive_mark(row.id) for row in rows], dtype=np.uint64),
        is_drawn=np.array([row.weight > 0 for row in rows], dtype=bool),
        per_weight=np.array([-1 / row.weight if row.weight else -np.inf for row in rows], dtype=np.float64),
        topics=np.array([topics[row.topic] for row in rows], dtype=np.int64),
        topic_of=[topics[row.topic] for row in rows],
        is_life=np.array([row.kind == "life" for row in rows], dtype=bool),
        is_exertional=np.array([row.is_exertional for row in rows], dtype=bool),
        is_tempting=np.array([bool(row.shadows) for row in rows], dtype=bool),
        age_low=np.array([-np.inf if row.age_low is None else row.age_low for row in rows], dtype=np.float64),
        age_high=np.array([np.inf if row.age_high is None else row.age_high for row in rows], dtype=np.float64),
        barred_by={name: np.array(flags, dtype=bool) for name, flags in barred.items()},
        is_out_of_season=np.array(
            [[not is_in_months(month, row.first_month, row.last_month) for row in rows] for month in range(1, 13)], dtype=bool
        ),
        faults=tuple(find_answer_word(_texts(row), words) for row in rows),
        heavy_bmi=knowledge.parameter("events_heavy_bmi"),
        elderly_years=knowledge.parameter("events_elderly_years"),
        most_redraws=int(knowledge.parameter("events_most_redraws")),
        repeat_least_days=knowledge.parameter("events_repeat_least_days"),
    )


@lru_cache(maxsize=4)
def answer_words(knowledge: Knowledge) -> re.Pattern[str]:
    """A pattern of every word that would say a driver or the outcome: their ids and names, and the words of `answer_words.csv`.

    A longer English word that contains one is harmless.
    """
    names = [row["word"] for row in load_csv(HERE / "answer_words.csv", ("id", "language", "word", "unless", "what", "source", "status"))]
    wordings = {key: row.names for key, row in knowledge.drivers.items()} | {key: row.names for key, row in knowledge.outcomes.items()}
    for key, wording in wordings.items():
        names += [key, key.replace("_", " "), wording.en, wording.zh]
    parts = [rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" if name.isascii() else re.escape(name) for name in dict.fromkeys(names)]
    return re.compile("|".join(parts), re.IGNORECASE)


@lru_cache(maxsize=1024)
def find_answer_word(texts: tuple[str, ...], words: re.Pattern[str]) -> str:
    """The first answer word that stands in one of the texts, "" when none does."""
    return next((found[0] for text in texts if (found := words.search(text))), "")


def admit_events(pool: EventPool, premise: Premise) -> Flags:
    """The rows this patient can have: right sex and age, not mistaken for the driver or anything known, no denied axis."""
    patient = premise.patient
    names = [f"sex:{patient.sex}", *(f"axis:{axis}" for axis in premise.distractor_axes)]
    names += [f"shadows:{name}" for name in (premise.driver, patient.disease, *patient.comorbidities)]
    names += [f"shadows:{premise.presenting.condition}"] if premise.presenting else []
    admitted = pool.is_drawn & (pool.age_low <= patient.age_low) & (pool.age_high >= patient.age_high)
    is_frail = patient.age_high >= pool.elderly_years or (patient.bmi is not None and patient.bmi >= pool.heavy_bmi)
    if is_frail:
        admitted &= ~pool.is_exertional
    for name in names:
        if name in pool.barred_by:
            admitted &= ~pool.barred_by[name]
    return admitted


def count_denied(pool: EventPool, axes: Iterable[str]) -> int:
    """How many rows the denied axes keep out."""
    return sum(int(pool.barred_by[name].sum()) for axis in axes if (name := f"axis:{axis}") in pool.barred_by)


class Slots(NamedTuple):
    """Slots to fill from the rows flagged in `wanted`, which stand at `places`: the day of each slot, the key of each row in it
    [slot, place], infinite where the row is out of season, and how many rows are in season.

    `declared` counts the slots that were asked for, those left out too.
    """

    declared: int
    wanted: Flags
    places: NDArray[np.int64]
    days: Sequence[int]
    keys: NDArray[np.float64]
    n_open: Sequence[int]


def list_slots(
    pool: EventPool, wanted: Flags, words: Sequence[Words], days: Sequence[Sequence[int]], first_day_of_year: int
) -> list[Slots]:
    """For each series of words a slot a word, on the days given, with keys for the rows flagged in `wanted`; all worked out at once."""
    places = wanted.nonzero()[0]
    keys = _mix_keys(pool, np.concatenate(words), places)
    at = derive_months(first_day_of_year, [day for each in days for day in each]) - 1
    is_closed = pool.is_out_of_season[:, places]
    np.copyto(keys, np.inf, where=is_closed[at])
    n_open = (~is_closed).sum(axis=1)[at].tolist()
    spans = [slice(end - len(each), end) for each, end in zip(words, accumulate(map(len, words)), strict=True)]
    return [Slots(len(on), wanted, places, on, keys[span], n_open[span]) for on, span in zip(days, spans, strict=True)]


@dataclass(slots=True)
class EventDraw:
    """The draw of one patient's events in one stretch of the course: what is admitted, and what has come up so far and on which
    days (`used`).

    Each slot has its own keys -ln(u)/w, one per row and a function of the slot and the row id alone: a row added to the table changes
    the slots it wins, and another only where the row it displaced there wins a later one. `may_recur`: when topics run out they may come
    again, then rows, none of them soon after the last time; otherwise running out is a conflict.
    Rows in `avoided` come up only when there are no others.
    """

    pool: EventPool
    admitted: Flags
    where: str
    taken_texts: Collection[str]
    may_recur: bool
    used: dict[int, list[int]]
    avoided: Collection[int] = ()

    def draw(self, n: int, kinds: Flags, series: Series, days: Sequence[int], first_day_of_year: int, *, skip: int = 0) -> list[int]:
        """Row numbers for the slots from `skip` on, `n` slots in all and those drawn on `days`, among the rows flagged in `kinds`.

        Raises PremiseConflict when the rows run out, or a slot fails its checks more often than the redraw limit.
        """
        if skip >= n:
            return []
        (slots,) = list_slots(self.pool, self.admitted & kinds, [series.words(n)[skip:]], [days], first_day_of_year)
        return self.fill(slots._replace(declared=n))

    def fill(self, slots: Slots) -> list[int]:
        """Row numbers for the slots. Raises as `draw` does."""
        n, places = slots.declared, slots.places
        if not len(slots.keys):
            return []
        if not len(places):
            raise self._too_few(n, slots.wanted, "")
        topics = self.pool.topic_of
        used_topics = {topics[row] for row in self.used}
        chosen: list[int] = []
        # Mostly the row with the lowest key of all is free; only where it is not are the free ones looked at.
        lowest = places[slots.keys.argmin(axis=1)].tolist()
        for slot, (row, n_open, day) in enumerate(zip(lowest, slots.n_open, slots.days, strict=True)):
            is_taken = row in self.used or topics[row] in used_topics or row in self.avoided or not n_open
            if is_taken or self._check_text(row):
                ranked = places[slots.keys[slot].argsort(kind="stable")[:n_open]].tolist()
                row = self._draw_slot(self._rank_free(ranked, day, used_topics), n, slots.wanted)
            self.used.setdefault(row, []).append(day)
            used_topics.add(topics[row])
            chosen.append(row)
        return chosen

    def _rank_free(self, ranked: list[int], day: int, used_topics: set[int]) -> Iterator[int]:
        topics, any_free = self.pool.topic_of, False
        for avoided in (self.avoided, ()) if self.avoided else ((),):
            for row in ranked:
                if topics[row] not in used_topics and row not in self.used and row not in avoided:
                    any_free = True
                    yield row
            if any_free:
                return
        if self.may_recur:
            yield from [row for row in ranked if row not in self.used] or self._rank_apart(ranked, day)

    def _rank_apart(self, ranked: list[int], day: int) -> list[int]:
        """Rows that have all come up: first those that did not near this day, then the longest ago (or ahead) first."""
        apart = {row: min(abs(day - other) for other in self.used[row]) for row in ranked}
        return sorted(ranked, key=lambda row: -min(apart[row], self.pool.repeat_least_days))

    def _draw_slot(self, free: Iterator[int], n: int, wanted: Flags) -> int:
        fault = ""
        for tried, row in enumerate(free, 1):
            fault = self._check_text(row)
            if not fault:
                return row
            if tried == self.pool.most_redraws:
                break
        else:
            raise self._too_few(n, wanted, fault)
        raise PremiseConflict(
            self.where,
            f"{self.pool.most_redraws} drawn events whose text may not stand in the record (the last: {fault})",
            f"an event is drawn at most {self.pool.most_redraws} times",
            do="Correct the texts in knowledge/events.csv.",
            kind="event_redraws_exhausted",
        )

    def _too_few(self, n: int, wanted: Flags, fault: str) -> PremiseConflict:
        rows, topics = int(wanted.sum()), len(set(self.pool.topics[wanted].tolist()))
        return PremiseConflict(
            self.where,
            f"{n} events declared",
            f"{topics} topics in {rows} event rows fit this patient" + (f" ({fault})" if fault else ""),
            do="Lower the event density or add rows to knowledge/events.csv.",
            kind=DENSITY,
        )

    def _check_text(self, row: int) -> str:
        if self.pool.faults[row]:
            return f"{self.pool.rows[row].id} says {self.pool.faults[row]!r}"
        if not self.taken_texts:
            return ""
        repeated = next((text for text in _texts(self.pool.rows[row]) if text in self.taken_texts), "")
        return f"{self.pool.rows[row].id} repeats {repeated!r}" if repeated else ""


def _slot_keys(pool: EventPool, series: Series, n: int, places: NDArray[np.int64]) -> NDArray[np.float64]:
    return _mix_keys(pool, series.words(n), places)


def _mix_keys(pool: EventPool, words: Words, places: NDArray[np.int64]) -> NDArray[np.float64]:
    # One addressed word a slot, mixed with each row's own digest: as many independent draws as slots × rows for the price of one address.
    keys = words_to_uniform(mix_words(words[:, None], pool.marks[places]))
    keys += 2.0**-54
    np.log(keys, out=keys)
    keys *= pool.per_weight[places]
    return keys


def _texts(row: BenignEvent) -> tuple[str, ...]:
    context = (row.context.en, row.context.zh) if row.context else ()
    return (row.text.en, row.text.zh, *context)
