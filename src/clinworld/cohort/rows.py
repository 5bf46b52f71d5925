"""A patient's record as rows of a long table: one row a fact, in columns, without a Python step per value.

Series go in as whole arrays; every other kind of fact a record can hold is listed one by one. What a record does not hold gives no row.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.cohort.codes import DAYS, MINUTES, OWN, code_by_id, drug_code, finding_code
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.schema.record import FindingResult, History, Record, Series

Whole = NDArray[np.int32]

NO_UNIT = ""
PRESCRIPTION, DISPENSING, LABORATORY, EXAMINATION, HISTORY = "prescription", "dispensing", "laboratory", "examination", "history"
POSITIVE, NEGATIVE = "positive", "negative"


class Fact(NamedTuple):
    """One row: a number or a text, or neither where that it happened is all there is to say."""

    day: int
    code: str
    value: float | None
    unit: str
    source: str
    text: str | None


class Columns(NamedTuple):
    """Rows as columns, by patient, day and code. `code`, `unit`, `source` and `text` are places in their `…_names`; text -1 is none.

    `patient` is the place in the block. `value` is nan where a row has no number.
    """

    patient: Whole
    day: Whole
    code: Whole
    value: NDArray[np.float64]
    unit: Whole
    source: Whole
    text: Whole
    code_names: list[str]
    unit_names: list[str]
    source_names: list[str]
    text_names: list[str]


class _Names(dict[str, int]):
    """Names in the order they were first asked for, each with its place."""

    def __missing__(self, name: str) -> int:
        self[name] = place = len(self)
        return place


class RowBlock:
    """The rows of some patients, gathered and then taken as columns. With a `language` what is told in words is written too."""

    def __init__(self, knowledge: Knowledge, language: Language | None = None) -> None:
        self._knowledge, self._codes, self._language = knowledge, code_by_id(knowledge), language
        self._clear()

    def _clear(self) -> None:
        self.patients = 0
        self.rows = 0
        self._days: list[NDArray[np.int32]] = []
        self._ticks: list[NDArray[np.int64]] = []
        # A run is what shares everything but day and value: patient, code, unit, source, decimals, text and how many rows, one after the
        # other. A fact is a run of one row, with its day and value.
        self._runs: list[int] = []
        self._fact_runs: list[int] = []
        self._fact_days: list[int] = []
        self._fact_values: list[float] = []
        self._code, self._unit, self._source, self._text = _Names(), _Names(), _Names(), _Names()

    def add(self, record: Record) -> int:
        """Add the next patient; how many rows the record gave."""
        before = self.rows
        past = record.history
        for series in (*record.series, *(past.series if past else ())):
            self._add_series(series)
        patient, codes, units, sources = self.patients, self._code, self._unit, self._source
        for day, code, value, unit, source, text in list_facts(record, self._knowledge, self._language):
            place = -1 if text is None else self._text[text]
            self._fact_runs += (patient, codes[code], units[unit], sources[source], 0, place, 1)
            self._fact_days.append(day)
            self._fact_values.append(math.nan if value is None else value)
            self.rows += 1
        self.patients += 1
        return self.rows - before

    def _add_series(self, series: Series) -> None:
        n = len(series.days)
        if n:
            code = self._code[self._codes.get(series.name) or f"{OWN}/{series.name}"]
            self._days.append(series.days)
            self._ticks.append(series.ticks)
            self._runs += (self.patients, code, self._unit[series.unit], self._source[series.setting], series.decimals, -1, n)
            self.rows += n

    def take(self) -> Columns:
        """The rows so far as columns, and an empty block."""
        runs = np.array(self._runs + self._fact_runs, dtype=np.int64).reshape(-1, 7)
        patient, code, unit, source, decimals, text, rows = np.ascontiguousarray(runs.T)
        run = np.repeat(np.arange(len(runs)), rows)
        day = np.concatenate([*self._days, np.array(self._fact_days, dtype=np.int32)])
        value = np.concatenate([*self._ticks, np.array(self._fact_values, dtype=np.float64)], dtype=np.float64)
        # Python's own powers of ten are exact; those of an array need not be.
        value /= np.array([10.0**places for places in decimals.tolist()]).take(run)
        names, rank = _rank(list(self._code))
        code = rank.take(code)
        order = _order_rows(patient, code, day, run)
        run = run.take(order)
        taken = Columns(
            # Patients stand in the order of their places already, each with all of its rows.
            patient=np.repeat(np.arange(self.patients, dtype=np.int32), np.bincount(patient, rows, self.patients).astype(np.int64)),
            day=day.take(order),
            code=code.astype(np.int32).take(run),
            value=value.take(order),
            unit=unit.astype(np.int32).take(run),
            source=source.astype(np.int32).take(run),
            text=text.astype(np.int32).take(run),
            code_names=names,
            unit_names=list(self._unit),
            source_names=list(self._source),
            text_names=list(self._text),
        )
        self._clear()
        return taken


def _rank(names: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The names sorted, and for each as given its place among them."""
    ranked = sorted(names)
    places = {name: place for place, name in enumerate(ranked)}
    return ranked, np.array([places[name] for name in names], dtype=np.int64)


def _order_rows(patient: NDArray[np.int64], code: NDArray[np.int64], day: Whole, run: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order by patient, day and code; rows that agree in all three stay in the order they were added."""
    n = len(day)
    if not n:
        return np.zeros(0, dtype=np.int64)
    # All four in one number, each with room for its largest, so that a plain sort of numbers does it.
    first = int(day.min())
    code_bits, day_bits, row_bits = (int(most).bit_length() for most in (code.max(), int(day.max()) - first, n))
    key = ((patient << day_bits + code_bits) + code - (first << code_bits) << row_bits).take(run)
    key += np.arange(n)
    key += day.astype(np.int64) << row_bits + code_bits
    key.sort(kind="stable")  # the days of a series ascend already, which this sort makes use of
    key &= (1 << row_bits) - 1
    return key


def list_facts(record: Record, knowledge: Knowledge, language: Language | None) -> Iterator[Fact]:
    """Everything in a record that is no series, in the order it stands there; without a `language` nothing told in words."""
    for order in record.prescriptions:
        yield Fact(order.day, drug_code(order.drug), order.dose, order.unit, PRESCRIPTION, None)
    for handed in record.dispensing:
        yield Fact(handed.day, drug_code(handed.drug), handed.dose, handed.unit, DISPENSING, None)
        yield Fact(handed.day, f"{drug_code(handed.drug)}//days_supplied", handed.days_supplied, DAYS, DISPENSING, None)
    for taken in record.specimens:
        at = f"{OWN}/specimen"
        yield Fact(taken.day, f"{at}/minute_of_day", taken.minute_of_day, MINUTES, LABORATORY, None)
        yield Fact(taken.day, f"{at}/is_fasting", taken.is_fasting, NO_UNIT, LABORATORY, None)
        for name in ("site", "platform", "comment"):
            if word := getattr(taken, name):
                yield Fact(taken.day, f"{at}/{name}", None, NO_UNIT, LABORATORY, word)
        for other in taken.others:
            yield Fact(taken.day, f"{at}/other_platform", None, NO_UNIT, LABORATORY, other)
    for change in record.method_changes:
        code = code_by_id(knowledge).get(change.analyte) or f"{OWN}/{change.analyte}"
        yield Fact(change.day, f"{code}//platform_before", None, NO_UNIT, LABORATORY, change.platform_before)
        yield Fact(change.day, f"{code}//platform_after", None, NO_UNIT, LABORATORY, change.platform_after)
    for found in record.findings:
        yield from _list_result(found, knowledge)
    if record.history is not None:
        yield from _list_past(record.history)
    if language is not None:
        yield from _list_told(record, language)


def _list_result(found: FindingResult, knowledge: Knowledge) -> Iterator[Fact]:
    # A number and what it is called are two rows, so that a row with a number never has a text.
    code = finding_code(found.name)
    if found.ticks is not None:
        unit = knowledge.findings[found.name].ucum if found.name in knowledge.findings else NO_UNIT
        yield Fact(found.day, code, found.ticks / 10.0**found.decimals, unit, EXAMINATION, None)
    if found.is_positive is not None:
        word = POSITIVE if found.is_positive else NEGATIVE
        yield Fact(found.day, code if found.ticks is None else f"{code}//result", None, NO_UNIT, EXAMINATION, word)


def _list_past(past: History) -> Iterator[Fact]:
    for day in past.visits:
        yield Fact(day, f"{OWN}/visit", None, NO_UNIT, HISTORY, None)
    followed = {(order.drug, order.first_day) for order in past.prescriptions}
    for order in past.prescriptions:
        yield Fact(order.first_day, drug_code(order.drug), order.dose, order.unit, PRESCRIPTION, None)
        # A dose that the next one takes the place of is no end of the drug.
        if order.last_day is not None and (order.drug, order.last_day + 1) not in followed:
            yield Fact(order.last_day, f"{drug_code(order.drug)}//stopped", None, NO_UNIT, PRESCRIPTION, None)


def _list_told(record: Record, language: Language) -> Iterator[Fact]:
    for event in record.history.events if record.history else ():
        yield Fact(event.day, f"{OWN}/past_event", None, NO_UNIT, event.source, event.text.say(language))
    for note in record.notes:
        code = f"{OWN}/{note.source}"
        yield Fact(note.day, code, None, NO_UNIT, note.source, note.text.say(language))
        if note.context is not None:
            yield Fact(note.day, f"{code}//context", None, NO_UNIT, note.source, note.context.say(language))
