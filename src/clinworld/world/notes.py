"""What the patient told and what the routine panel printed: dated notes, and apart from them why each one is there.

Real symptoms come from the premise in their words; everyday events, distractors and look-alikes are drawn so that neither day, id nor
order tells their kind. Called by `world/build.py`; the days are laid out in `note_days.py`, the rows drawn in `event_pool.py`.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, NamedTuple

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge
from clinworld.schema.premise import PlannedSymptom, Premise
from clinworld.schema.record import Note, NoteOrigin, NoteSource
from clinworld.world.adverse_effects import choose_told_bouts, choose_told_harms
from clinworld.world.event_effects import TOLD, ToldEvent
from clinworld.world.event_pool import (
    DENSITY,
    EventDraw,
    EventPool,
    admit_events,
    count_denied,
    list_slots,
    load_pool,
)
from clinworld.world.look_alikes import choose_look_alikes
from clinworld.world.note_days import draw_note_days, draw_spread_days, load_day_rules
from clinworld.world.panel import render_panel
from clinworld.world.presenting import Complaint, tell_presenting
from clinworld.world.seasons import draw_first_day_of_year

Kind = Literal["real", "benign", "life", "look_alike", "distractor", "panel"]


class ObservedNotes(NamedTuple):
    """Notes in charted order (day, then opaque id), why each stands there, which mechanisms acted, and the rows used."""

    notes: tuple[Note, ...]
    origins: tuple[NoteOrigin, ...]
    acted: tuple[tuple[str, int], ...]
    rows_used: tuple[str, ...]


class _Told(NamedTuple):
    # One note before it has an id; `row` is kind:id of the knowledge row (drugs:id:symptom for a harm), "" for the author's words; `key`
    # tells equal ones apart.
    kind: Kind
    row: str
    key: str
    day: int
    source: NoteSource
    text: Wording
    context: Wording | None
    is_as_written: bool = False
    words_of: str = ""


class _Event(NamedTuple):
    # What is told, before it has a day. `words_of`: the row whose words it is told in, "" for `row` itself.
    kind: Kind
    row: str
    text: Wording
    context: Wording | None
    words_of: str = ""


def count_events(per_week: float, days: int) -> int:
    """How many events a weekly rate means over a stretch of days: round(rate × max(1, weeks)), half to even.

    >>> count_events(0.1, 84), count_events(0.5, 84), count_events(0.3, 3)
    (1, 6, 0)
    """
    return round(per_week * max(1.0, days / 7))


def count_distractors(premise: Premise, knowledge: Knowledge) -> int:
    """How many of the events up to T the distractor level needs; they count against the declared symptom rate."""
    if premise.distractor_level == "none":
        return 0
    if premise.distractor_level == "low":
        return int(knowledge.parameter("events_distractors_low"))
    least, most = knowledge.parameter("events_distractors_high_least"), knowledge.parameter("events_distractors_high_most")
    return int(min(most, max(least, count_events(premise.density.symptom_rate, premise.index_day))))


def observe_notes(premise: Premise, knowledge: Knowledge, rng: Rng) -> ObservedNotes:
    """Every note of the course, to its last day. Up to T the number of events is exactly what the rates say, those in whose place a
    presenting condition is told counted in.

    Events after T are drawn at other addresses and at the same rates, so T and the course end move nothing before T. Raises
    PremiseConflict: `event_density_mismatch` when the distractor level, the rows or the days cannot hold the declared density,
    `event_redraws_exhausted` when drawn texts keep failing their checks.
    """
    told = _tell_all(premise, knowledge, rng)
    lines = render_panel(premise, knowledge, rng) if premise.has_findings else ()
    told += [_Told("panel", f"analytes:{line.analyte}", "", line.day, "lab_result", line.text, None) for line in lines]
    charted = sorted(zip(_draw_ids(told, premise.case_id, rng), told, strict=True), key=lambda pair: (pair[1].day, pair[0]))
    notes = tuple(Note(name, note.day, note.source, note.text, note.context, note.is_as_written) for name, note in charted)
    origins = tuple(NoteOrigin(name, note.kind, note.row.partition(":")[2]) for name, note in charted)
    rows_used = tuple(sorted({":".join(row.split(":")[:2]) for note in told for row in (note.row, note.words_of) if row}))
    return ObservedNotes(notes, origins, _count_acted(premise, knowledge, told), rows_used)


def draw_told_events(premise: Premise, knowledge: Knowledge, rng: Rng) -> tuple[ToldEvent, ...]:
    """What `list_told` reads from the notes of a patient, without making them. Raises what `observe_notes` raises."""
    told = (note for note in _tell_all(premise, knowledge, rng) if note.kind in TOLD)
    return tuple(sorted(ToldEvent(note.day, note.row.partition(":")[2]) for note in told))


def _tell_all(premise: Premise, knowledge: Knowledge, rng: Rng) -> list[_Told]:
    # Everything but the panel.
    presented = [_tell_complaint(complaint) for complaint in tell_presenting(premise, knowledge, rng)]
    real = [*(_tell_symptom(symptom) for symptom in premise.symptoms), *presented]
    events = _tell_events(premise, knowledge, rng, {note.day for note in real}, _texts_of(real))
    return [*real, *_give_way(events, presented, premise, rng)]


def _tell_symptom(symptom: PlannedSymptom) -> _Told:
    context = Wording(symptom.context_en, symptom.context_zh) if symptom.context_en or symptom.context_zh else None
    text = Wording(symptom.text_en, symptom.text_zh)
    return _Told("real", "", f"{text.en}\n{text.zh}", symptom.day, "patient_reported_symptom", text, context, symptom.is_as_written)


def _tell_complaint(complaint: Complaint) -> _Told:
    source: NoteSource = "patient_reported_symptom" if complaint.is_complaint else "patient_reported_context"
    return _Told("real", f"symptoms:{complaint.symptom}", "", complaint.day, source, complaint.text, None)


def _tell_events(premise: Premise, knowledge: Knowledge, rng: Rng, real_days: set[int], real_texts: set[str]) -> list[_Told]:
    case, last, density = premise.case_id, premise.index_day, premise.density
    rules, where = load_day_rules(knowledge), f"case {case}"
    n, n_life = count_events(density.symptom_rate, last), count_events(density.life_event_rate, last)
    days = draw_spread_days(n + n_life, rules.first_day, last, real_days, rng.at(case, "notes", "days"), rules, where)
    days = [days[place] for place in rng.at(case, "notes", "who_when").order(len(days))]
    early = last - rules.look_alike_margin
    alike = _tell_look_alikes(premise, knowledge, rng, real_texts)[: min(n, sum(day <= early for day in days))]
    _move_early(days, range(n_life, n_life + len(alike)), early)
    n_later = sum(_count_later(premise))
    later = draw_note_days(n_later, last + 1, premise.course_end_day, real_days, rng.at(case, "notes", "later_days"), rules, where)
    later = [later[place] for place in rng.at(case, "notes", "later_who_when").order(n_later)]
    events = _choose_events(premise, knowledge, rng, real_texts, alike, days, later)
    _tell_harms(events, [*days, *later], premise, knowledge, rng, real_texts)
    return [_tell(event, day) for event, day in zip(events, [*days, *later], strict=True)]


def _tell_harms(events: list[_Event], days: list[int], premise: Premise, knowledge: Knowledge, rng: Rng, real_texts: set[str]) -> None:
    # A harm of the drug is told in place of the first everyday complaint that falls into its days, and not at all where that is a declared
    # distractor; no other day or event moves.
    harms = choose_told_harms(premise, knowledge, rng, real_texts)
    for harm in [*harms, *choose_told_bouts(premise, knowledge, rng, real_texts)]:
        fit = [
            (day, n) for n, day in enumerate(days) if events[n].kind in ("benign", "distractor") and harm.first_day <= day <= harm.last_day
        ]
        free = [(day, n) for day, n in fit if events[n].row.startswith("events:")]
        if free and events[min(free)[1]].kind == "benign":
            row = f"drugs:{premise.drug}:{harm.symptom}"
            events[min(free)[1]] = _Event("benign", row, harm.text, None, f"symptoms:{harm.symptom}")


def _give_way(events: list[_Told], presented: list[_Told], premise: Premise, rng: Rng) -> list[_Told]:
    """The events without those in whose place the presenting condition is told: the number of notes must not tell which condition it is.

    Each takes the place of an event of its source, whichever the case's draw says: a plain one, else a look-alike, else one of another
    source. Declared distractors stay.
    """
    if not presented:
        return events
    order = [events[place] for place in rng.at(premise.case_id, "notes", "gives_way").order(len(events))]
    free = [event for event in order if event.kind in ("benign", "life", "look_alike") and event.day <= premise.index_day]
    given: list[_Told] = []
    for note in presented:
        left = [event for event in free if event not in given]
        given += sorted(left, key=lambda event: (event.source != note.source, event.kind == "look_alike"))[:1]
    return [event for event in events if event not in given]


def _move_early(days: list[int], places: range, last: int) -> None:
    # A place of a look-alike with a day after `last` swaps days with the first other place that has an earlier one.
    for place in places:
        if days[place] > last:
            other = next(n for n, day in enumerate(days) if day <= last and n not in places)
            days[place], days[other] = days[other], days[place]


def _tell(event: _Event, day: int) -> _Told:
    source: NoteSource = "patient_reported_context" if event.kind == "life" else "patient_reported_symptom"
    return _Told(event.kind, event.row, "", day, source, event.text, event.context, words_of=event.words_of)


def _count_later(premise: Premise) -> tuple[int, int]:
    """(complaints, life events) after T, at the rates up to T."""
    weeks = (premise.course_end_day - premise.index_day) / 7
    return round(premise.density.symptom_rate * weeks), round(premise.density.life_event_rate * weeks)


def _choose_events(
    premise: Premise, knowledge: Knowledge, rng: Rng, real_texts: set[str], alike: list[_Event], days: list[int], later_days: list[int]
) -> list[_Event]:
    # The events up to T (life events first) and after it, on their days. Look-alikes stand in for the first complaints, distractors for
    # the last ones.
    pool, case, density = load_pool(knowledge), premise.case_id, premise.density
    n, n_life = count_events(density.symptom_rate, premise.index_day), count_events(density.life_event_rate, premise.index_day)
    n_distractors = _check_density(premise, knowledge, n)
    admitted, where = admit_events(pool, premise), f"case {case}"
    n_later, n_life_later = _count_later(premise)
    new_year = draw_first_day_of_year(case, rng)
    life, complaints = admitted & pool.is_life, admitted & ~pool.is_life
    words = {
        name: rng.at(case, "notes", name).words(slots)
        for name, slots in (("life", n_life), ("later_life", n_life_later), ("benign", n), ("later_benign", n_later))
    }
    lives = list_slots(pool, life, [words["life"], words["later_life"]], [days[:n_life], later_days[:n_life_later]], new_year)
    plains = list_slots(pool, complaints, [words["benign"], words["later_benign"]], [days[n_life:], later_days[n_life_later:]], new_year)
    draw = EventDraw(pool, admitted, where, real_texts, may_recur=False, used={})
    lived, plain = draw.fill(lives[0]), draw.fill(plains[0])
    later = EventDraw(pool, admitted, where, real_texts, may_recur=True, used={row: list(on) for row, on in draw.used.items()})
    lived_later, plain_later = later.fill(lives[1]), later.fill(plains[1])
    alike = alike[: n - n_distractors]
    kept = plain[len(alike) : n - n_distractors]
    so_far = {row: draw.used[row] for row in (*lived, *kept)}
    tempting = EventDraw(pool, admitted, where, real_texts, may_recur=False, used=so_far, avoided=plain_later)
    series, skip = rng.at(case, "notes", "distractor"), n - n_distractors
    distractors = tempting.draw(n, complaints & pool.is_tempting, series, days[n_life + skip :], new_year, skip=skip)
    before = [*_events(pool, "life", lived), *alike, *_events(pool, "benign", kept), *_events(pool, "distractor", distractors)]
    return [*before, *_events(pool, "life", lived_later), *_events(pool, "benign", plain_later)]


def _events(pool: EventPool, kind: Kind, rows: Iterable[int]) -> list[_Event]:
    every = _list_events(pool, kind)
    return [every[number] for number in rows]


@lru_cache(maxsize=16)
def _list_events(pool: EventPool, kind: Kind) -> tuple[_Event, ...]:
    return tuple(_Event(kind, f"events:{row.id}", row.text, row.context) for row in pool.rows)


def _check_density(premise: Premise, knowledge: Knowledge, n: int) -> int:
    needed = count_distractors(premise, knowledge)
    if needed > n:
        raise PremiseConflict(
            f"case {premise.case_id}, latent.distractor_level",
            f"level {premise.distractor_level} needs {needed} symptom events up to day {premise.index_day}",
            f"symptom_rate {premise.density.symptom_rate:g} a week allows {n}",
            do="Raise event_density.symptom_rate or lower the distractor level.",
            kind=DENSITY,
        )
    return needed


def _tell_look_alikes(premise: Premise, knowledge: Knowledge, rng: Rng, real_texts: set[str]) -> list[_Event]:
    # They count against the symptom rate.
    return [
        _Event("look_alike", f"conditions:{told.condition}", told.text, None, f"symptoms:{told.symptom}")
        for told in choose_look_alikes(premise, knowledge, rng, real_texts)
    ]


def _texts_of(told: Iterable[_Told]) -> set[str]:
    return {text for note in told for text in (note.text.en, note.text.zh)}


def _draw_ids(told: list[_Told], case_id: str, rng: Rng) -> list[str]:
    # Keyed per case and addressed by what the note is, so that neither order nor gaps nor digits tell its kind.
    key = rng.at(case_id, "notes", "ids").words(4).astype("<u8").tobytes()
    names: list[str] = []
    for note in told:
        place = f"{note.kind}\n{note.row}\n{note.key}\n{note.day}"
        again = 0
        while True:
            name = "E" + blake2b(f"{again}\n{place}".encode(), key=key, digest_size=3).hexdigest()
            if name not in names:
                break
            again += 1
        names.append(name)
    return names


def _count_acted(premise: Premise, knowledge: Knowledge, told: list[_Told]) -> tuple[tuple[str, int], ...]:
    # Declared mechanisms only: one that is due and did nothing shows as zero.
    until = Counter(note.kind for note in told if note.day <= premise.index_day)
    density, index_day = premise.density, premise.index_day
    presented = sum(note.kind == "real" and bool(note.row) for note in told)
    complaints = until["benign"] + until["distractor"] + until["look_alike"] + presented
    counts = [
        ("symptoms", len(premise.symptoms), sum(note.kind == "real" and not note.row for note in told)),
        ("presenting", premise.presenting is not None, presented),
        ("symptom_rate", count_events(density.symptom_rate, index_day), complaints),
        ("life_event_rate", count_events(density.life_event_rate, index_day), until["life"]),
        ("distractor_events", premise.distractor_level != "none", until["distractor"]),
        ("distractor_cond_axes", len(premise.distractor_axes), count_denied(load_pool(knowledge), premise.distractor_axes)),
        ("findings", premise.has_findings, until["panel"]),
    ]
    return tuple((name, acted) for name, due, acted in counts if due)
