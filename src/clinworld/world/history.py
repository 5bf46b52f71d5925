"""What was charted before day 0: visits, results, drugs and documented old events of years. The course does not depend on it.

Puts the parts together and decides when a patient was seen and when each documented condition was diagnosed.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.days import DAYS_A_YEAR
from clinworld.core.rng import Rng, words_to_uniform
from clinworld.core.text import LANGUAGES, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.schema.course import Course
from clinworld.schema.premise import Premise
from clinworld.schema.record import History, PastEvent, Series
from clinworld.world.course import build_course
from clinworld.world.effects import DIABETES
from clinworld.world.formulas import FORMULAS, find_body_mass_index
from clinworld.world.held import find_held
from clinworld.world.history_drugs import Ended, Line, Patient, Treated, chart_lines, draw_past_lines, find_treated, stop_forbidden
from clinworld.world.history_enough import leave_enough
from clinworld.world.history_labs import Past, observe_past_labs
from clinworld.world.history_levels import DayZero, PastFrame, find_day_zero, load_past_frame, moves_levels, remove_drugs
from clinworld.world.history_places import LABELS, PLACES, OldRecord, age_at, draw_old_records, find_old_event
from clinworld.world.levels import draw_first_levels, load_first_levels
from clinworld.world.monitoring import list_watched
from clinworld.world.observe_streams import reflect
from clinworld.world.visits import draw_first_weekday, hold_on_workdays

_DIAGNOSED, _DIAGNOSIS_DRAWS = "diagnosed", 5  # draws: twice since when, twice where within limits, place
_RENAL, _FILTRATION = "creatinine", "egfr"
_AFTER = ("history_after.", "background.needs.")  # rows that name a condition and the one it comes only with
_TINY = 1e-9
_NOWHERE: Mapping[str, float] = MappingProxyType({})


def draw_history(premise: Premise, knowledge: Knowledge, rng: Rng, *, course: Course | None = None) -> History:
    """The chart of a patient before day 0: levels lead up to those on day 0 of the patient's course, which is built where it is not given.

    It follows from who the patient is, never from the outcome or the drug's response. Nothing in it names the condition that shows itself
    in the course, no drug in it is one the patient may not take, and none goes on past a result that forbids it. A patient whose results
    are not charted has none here either; one too young for years of records has few or none.
    """
    patient = premise.patient
    conditions = (patient.disease, *(name for name in patient.comorbidities if name != patient.disease))
    records = draw_old_records(premise, knowledge, rng)
    watched = list_watched(knowledge, conditions, premise.drug, patient.devices)
    age, held = age_at(patient, 0), find_held(premise, knowledge, rng)
    frame = load_past_frame(knowledge, conditions, patient.devices, patient.sex, age, watched, held)
    day_zero = find_day_zero(premise, course or build_course(premise, knowledge, rng), frame, knowledge, rng)
    while True:
        diagnoses = draw_diagnoses(premise, conditions, records, knowledge, rng)
        visits = draw_past_visits(premise, diagnoses, knowledge, rng)
        days = visits.tolist()
        diagnosed = {name: _hold_on_a_visit(each.day, days) for name, each in diagnoses.items()}
        lines = _draw_lines(premise, diagnosed, days, records, frame, day_zero, knowledge, rng)
        past = Past(visits, diagnosed, lines)
        past, series = _stop_what_results_forbid(premise, past, frame, day_zero, knowledge, rng)
        # A record of a drug's end stays only where no result before had ended it.
        true = tuple(record for record in records if not record.row.taken or _ends(past.lines, record))
        if len(true) == len(records):
            break
        records = true
    events = [record.event for record in records]
    events += [PastEvent(diagnosed[name], tell_diagnosis(name, knowledge), each.place) for name, each in diagnoses.items()]
    return History(
        visits=tuple(days),
        series=series,
        prescriptions=chart_lines(past.lines),
        events=tuple(sorted(events, key=lambda event: (event.day, event.text.en))),
    )


def _stop_what_results_forbid(
    premise: Premise, past: Past, frame: PastFrame, day_zero: DayZero, knowledge: Knowledge, rng: Rng
) -> tuple[Past, tuple[Series, ...]]:
    """The past as results leave it, and these. A line less may move results, so they are looked at again until nothing is to be changed."""
    while True:
        series = observe_past_labs(premise, past, frame, day_zero, knowledge, rng)
        lines = leave_enough(stop_forbidden(past.lines, series, premise.patient.sex, knowledge), series, knowledge)
        if lines == tuple(past.lines):
            return past, series
        past = past._replace(lines=lines)


def _ends(lines: Sequence[Line], record: OldRecord) -> bool:
    return any((line.drug.id, line.last_day) == (record.row.taken, record.event.day) for line in lines)


def list_history_rows(history: History | None, knowledge: Knowledge) -> list[str]:
    """The knowledge rows of what a history holds."""
    if history is None:
        return []
    rows = [row for event in history.events if (row := find_old_event(event.text, knowledge)) is not None]
    return [
        *(f"analytes:{series.name}" for series in history.series),
        *(f"drugs:{order.drug}" for order in history.prescriptions),
        *(f"past_events:{row.id}" for row in rows),
    ]


class Numbers(NamedTuple):
    """Rows of parameters/history.csv by name; times in years and gaps between visits as logarithms."""

    first_age_years: float
    span_median: float
    span_log_sd: float
    span_low_years: float
    span_high_years: float
    visits_most: float
    gap_median: float
    gap_log_sd: float
    gap_low: float
    gap_high: float
    gap_undiagnosed: float
    gap_per_condition: float
    gap_per_year: float
    gap_age_low: float
    gap_age_high: float
    gap_person_log_sd: float
    diagnosed_low: float
    diagnosed_high: float
    diagnosed_least: float
    before_stop_low_days: float
    before_stop_high_days: float


_AS_LOG = {"span_median": "history_span_median_years"}
_AS_LOG |= {f"diagnosed_{end}": f"history_diagnosed_{end}_years" for end in ("low", "high")}
_AS_LOG |= {f"gap_{end}": f"visit_gap_{end}" for end in ("median", "low", "high")}
_OTHER = {"gap_log_sd": "visit_gap_log_sd", "diagnosed_least": "history_diagnosed_low_years"}


@lru_cache(maxsize=8)
def read_numbers(knowledge: Knowledge) -> Numbers:
    """The numbers of a knowledge base."""
    logs = {name: float(np.log(np.array([knowledge.parameter(row)]))[0]) for name, row in _AS_LOG.items()}
    rest = {name: knowledge.parameter(_OTHER.get(name, f"history_{name}")) for name in Numbers._fields if name not in logs}
    return Numbers(**logs, **rest)


class Diagnosis(NamedTuple):
    """When a documented condition was diagnosed, and the kind of place that documented it."""

    day: int
    place: str


def draw_diagnoses(
    premise: Premise, conditions: Sequence[str], records: Sequence[OldRecord], knowledge: Knowledge, rng: Rng
) -> dict[str, Diagnosis]:
    """When each documented condition was diagnosed, in their order.

    At an age at which it occurs, and well before a drug for it was stopped.
    """
    numbers, age = read_numbers(knowledge), age_at(premise.patient, 0)
    words = rng.first_words(premise.case_id, [("history", "diagnosis", name) for name in conditions], _DIAGNOSIS_DRAWS)
    drawn = words_to_uniform(words)
    # Two uniforms: on the logarithm the middle is likelier than either end.
    place = (drawn[:, 0] + drawn[:, 1]) / 2
    years = np.exp(numbers.diagnosed_low + (numbers.diagnosed_high - numbers.diagnosed_low) * place).tolist()
    uniforms = drawn[:, 2:].tolist()
    stopped = {_first_licensed(record, conditions, knowledge): record.event.day for record in records if record.row.taken}
    made: dict[str, Diagnosis] = {}
    earliest: dict[str, int] = {}
    for name, since, u in zip(conditions, years, uniforms, strict=True):
        # One who has just come of age was diagnosed within the shortest time.
        room = max(age - _find_youngest(name, knowledge), numbers.diagnosed_least)
        earliest[name] = -int(DAYS_A_YEAR * room)
        day = -int(DAYS_A_YEAR * (since if since < room else room * u[0]))
        if name in stopped and day > (last := stopped[name] - int(numbers.before_stop_low_days)):
            oldest = max(stopped[name] - int(numbers.before_stop_high_days), -int(DAYS_A_YEAR * room))
            day = last - int(max(last - oldest, 0) * u[1])
        made[name] = Diagnosis(min(day, -1), PLACES[int(u[2] * len(PLACES))])
    latest = {name: stop - int(numbers.before_stop_low_days) for name, stop in stopped.items()}
    return _put_after_causes(made, earliest, latest, knowledge)


def _put_after_causes(
    made: Mapping[str, Diagnosis], earliest: Mapping[str, int], latest: Mapping[str, int], knowledge: Knowledge
) -> dict[str, Diagnosis]:
    """The same diagnoses; where a condition was diagnosed before the one it comes only with, the two change days as far as they may."""
    put = dict(made)
    for name, cause in list_caused(knowledge):
        if name in put and cause in put and put[name].day < put[cause].day:
            first = max(put[name].day, earliest[cause])
            put[name] = put[name]._replace(day=max(min(put[cause].day, latest.get(name, -1)), first))
            put[cause] = put[cause]._replace(day=first)
    return put


@lru_cache(maxsize=8)
def list_caused(knowledge: Knowledge) -> tuple[tuple[str, str], ...]:
    """(condition, the one it comes only with and after which it is diagnosed)."""
    rows = [name.removeprefix(prefix).split(".") for name in knowledge.parameters for prefix in _AFTER if name.startswith(prefix)]
    return tuple((name, cause) for name, cause in rows)


def _find_youngest(condition: str, knowledge: Knowledge) -> float:
    row = knowledge.conditions.get(condition)
    return max(read_numbers(knowledge).first_age_years, (row.age_low or 0) if row is not None else 0)


def _first_licensed(record: OldRecord, conditions: Sequence[str], knowledge: Knowledge) -> str:
    drug = knowledge.drugs[record.row.taken]
    licensed = dict(drug.indications)
    return next(name for name in conditions if name in licensed and name not in drug.off_label)


def draw_past_visits(premise: Premise, diagnosed: Mapping[str, Diagnosis], knowledge: Knowledge, rng: Rng) -> NDArray[np.int64]:
    """Visit days before day 0, ascending and none at a weekend. Visits are counted back from day 0, so a longer record moves none of them.

    The more is diagnosed by then and the older the patient, the shorter the time between two; before the first diagnosis it is longest.
    """
    numbers, age = read_numbers(knowledge), age_at(premise.patient, 0)
    normals = rng.at(premise.case_id, "history", "visits").normal(int(numbers.visits_most) + 2)
    person, span = normals[:2].tolist()
    by_age = min(max(1 + numbers.gap_per_year * (age - 50), numbers.gap_age_low), numbers.gap_age_high)
    gaps = np.exp(reflect(numbers.gap_median + numbers.gap_log_sd * normals[2:], numbers.gap_low, numbers.gap_high))
    pace, years = np.exp(np.array([numbers.gap_person_log_sd * person, numbers.span_median + numbers.span_log_sd * span])).tolist()
    gaps *= by_age * pace
    years = min(max(years, numbers.span_low_years), numbers.span_high_years)
    first = -DAYS_A_YEAR * min(years, age - numbers.first_age_years)
    factors, undiagnosed = [1.0], numbers.gap_undiagnosed
    for _ in diagnosed:
        factors.append(factors[-1] * numbers.gap_per_condition)
    known = sorted(when for when, _ in diagnosed.values())
    day, visits = 0.0, list[float]()
    n = len(known)
    for gap in gaps.tolist():
        while n and known[n - 1] > day:
            n -= 1
        day -= gap * (factors[n - 1] if n else undiagnosed)
        if day < first:
            break
        visits.append(day)
    reals = np.array(visits[::-1], dtype=np.float64)
    whole = np.floor(reals)
    days = hold_on_workdays(whole.astype(np.int64), reals - whole, draw_first_weekday(premise.case_id, rng))
    return np.unique(days[days < 0])  # two that were a weekend apart may meet, and one before day 0 reach it


def _hold_on_a_visit(day: int, visits: Sequence[int]) -> int:
    """The visit on which a diagnosis was made: the last up to its day; the day itself where it lies before the record."""
    at = bisect_right(visits, day)
    return visits[at - 1] if at else day


def _draw_lines(
    premise: Premise,
    diagnosed: Mapping[str, int],
    visits: Sequence[int],
    records: Sequence[OldRecord],
    frame: PastFrame,
    day_zero: DayZero,
    knowledge: Knowledge,
    rng: Rng,
) -> tuple[Line, ...]:
    has_diabetes = DIABETES in diagnosed
    moments = {name: [day, *visits[bisect_right(visits, day) :]] for name, day in diagnosed.items()}
    ended = [Ended(record.row.taken, record.event.day) for record in records if record.row.taken]
    states = tuple(record.row.state for record in records if record.row.state)
    spoken_against = frozenset(name for record in records for name in record.row.drugs)

    def may_last(line: Line, others: Sequence[Line]) -> bool:
        if not moves_levels(line, frame, has_diabetes, knowledge):
            return True
        untreated = remove_drugs(day_zero.level, [*others, line], frame, has_diabetes, knowledge)
        return bool((untreated <= np.maximum(frame.most, day_zero.level)).all())

    placed = dict(zip(frame.items.names, day_zero.place[:, 0].tolist(), strict=True))
    control = find_control(premise, tuple(diagnosed), knowledge, rng, placed=placed)
    barring = _find_barring_levels(premise, frame, day_zero, knowledge)
    patient = Patient(barring, control, frame.held, states, spoken_against, may_last)
    return draw_past_lines(premise, moments, ended, patient, knowledge, rng)


def find_control(
    premise: Premise, conditions: tuple[str, ...], knowledge: Knowledge, rng: Rng, *, placed: Mapping[str, float] = _NOWHERE
) -> dict[str, float]:
    """How far to the side to which drugs move it the level lies by which each condition is treated, in SD, on day 0.

    It is the level that the documented conditions make, so it tells nothing of one that shows itself. `placed` says of some items how far
    above its mean each lies, so that these need not be drawn.
    """
    treated, items = _list_treated_by(knowledge, conditions)
    place = {**placed, **_place_first_levels(premise, conditions, tuple(item for item in items if item not in placed), knowledge, rng)}
    return {name: each.sign * place[each.item] for name, each in treated.items()}


def _place_first_levels(
    premise: Premise, conditions: tuple[str, ...], items: tuple[str, ...], knowledge: Knowledge, rng: Rng
) -> dict[str, float]:
    if not items:
        return {}
    first = load_first_levels(knowledge, conditions, items, premise.patient.sex, age_at(premise.patient, 0))
    level = draw_first_levels(premise.case_id, first, find_body_mass_index(premise.patient, premise.start_weight_kg, knowledge), rng)
    on_scale = np.where(first.is_log[:, None], np.log(np.maximum(level, _TINY)), level)
    return dict(zip(items, ((on_scale - first.mean) / np.maximum(first.sd, _TINY))[:, 0].tolist(), strict=True))


@lru_cache(maxsize=4096)
def _list_treated_by(knowledge: Knowledge, conditions: tuple[str, ...]) -> tuple[Mapping[str, Treated], tuple[str, ...]]:
    # By condition what it is treated by, where there is such a thing; and the items of these.
    treated = {name: found for name in conditions if (found := find_treated(knowledge, name)) is not None}
    return treated, tuple(dict.fromkeys(each.item for each in treated.values()))


def _find_barring_levels(premise: Premise, frame: PastFrame, day_zero: DayZero, knowledge: Knowledge) -> dict[str, float]:
    """The filtration rate where creatinine is high; other followed levels bar no drug."""
    if _RENAL not in frame.items.names:
        return {}
    level, row = day_zero.level[frame.items.names.index(_RENAL)], knowledge.analytes[_RENAL]
    limit = row.ref_high_m if premise.patient.sex == "M" else row.ref_high_f
    if limit is None or level[0] <= limit:
        return {}
    formula = FORMULAS[knowledge.analytes[_FILTRATION].derived_by]
    return {_FILTRATION: float(formula.calculate({_RENAL: level}, age_at(premise.patient, 0), premise.patient.sex, knowledge)[0])}


@lru_cache(maxsize=1024)
def tell_diagnosis(condition: str, knowledge: Knowledge) -> Wording:
    """How the chart says that a condition was diagnosed: by its name, or by one diagnosis where the name is of several."""
    names, labels, one = knowledge.conditions[condition].names, load_labels(LABELS), f"name_{condition}"
    said = [labels.say(one, language) if one in labels else names.say(language) for language in LANGUAGES]
    return Wording(*(labels.say(_DIAGNOSED, language, name=name) for language, name in zip(LANGUAGES, said, strict=True)))
