"""What told events do to streams and analytes: their shape in time, their cap, what they leave alone, and which rows do not load."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from make_premise import make_premise
from observe_case import KNOWLEDGE, with_rows

from clinworld.core.errors import KnowledgeError
from clinworld.core.rng import Rng
from clinworld.core.tables import load_csv
from clinworld.knowledge.load import HERE, Knowledge
from clinworld.knowledge.rows import EventEffect
from clinworld.schema.job import EventDensity
from clinworld.schema.record import Note, NoteOrigin
from clinworld.world.build import build_world
from clinworld.world.course import build_course
from clinworld.world.event_effects import ToldEvent, add_event_effects, derive_event_effects, list_told, load_effects
from clinworld.world.notes import observe_notes
from clinworld.world.observe import observe_series

RNG = Rng("events")
DAYS, DAY = 120, 50
ROWS = tuple(KNOWLEDGE.event_effects.values())


def effect(**changes: object) -> EventEffect:
    row = EventEffect("hangover__resting_hr", "hangover", "resting_hr", 6.0, "own", 6.0, 10.0, 5.0, 18.0, "authored", "authored")
    return replace(row, **changes)  # type: ignore[arg-type]


def act(row: EventEffect, *days: int, sex: str = "F") -> np.ndarray:
    told = [ToldEvent(day, row.event) for day in days]
    return derive_event_effects(told, DAYS, sex, with_rows("event_effects", row))[row.item]


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_an_effect_is_nothing_before_its_event_then_rises_holds_and_fades_without_a_jump(row: EventEffect) -> None:
    change = derive_event_effects([ToldEvent(DAY, row.event)], DAYS, "F", KNOWLEDGE)[row.item]
    table = load_effects(KNOWLEDGE, "F")
    peak = float(table.size[[each.id for each in ROWS].index(row.id), 0])
    assert (change[:DAY] == 0.0).all() and change[DAY] * peak > 0.0
    share = change / peak
    assert share.max() <= 1.0 + 1e-12
    top = int(np.argmax(share))
    assert (np.diff(share[: top + 1]) >= 0.0).all() and (np.diff(share[top:]) <= 0.0).all()
    assert (share[DAY + int(row.lasts_days + row.fade_days) + 1 :] == 0.0).all()
    assert np.abs(np.diff(share)).max() <= 1.5 / min(row.rise_days, row.fade_days + 1.0) + 1e-12


@pytest.mark.parametrize("lasts", [1.0, 2.0, 4.0, 6.0, 20.0])
def test_an_event_shorter_than_its_rise_fades_from_where_it_is(lasts: float) -> None:
    row = effect(lasts_days=lasts)
    change = act(row, DAY)
    assert np.abs(np.diff(change)).max() <= 6.0 * 1.5 / 6.0 + 1e-12
    reached = min(lasts / row.rise_days, 1.0)
    assert change.max() == pytest.approx(6.0 * (3 - 2 * reached) * reached**2)
    assert int(np.argmax(change)) == DAY + int(min(lasts, row.rise_days)) - 1


def test_a_kernel_without_a_rise_would_jump() -> None:
    # the control of the two tests above: the same effect at once and gone at once
    step = np.zeros(DAYS)
    step[DAY : DAY + 10] = 6.0
    assert np.abs(np.diff(step)).max() > 6.0 * 1.5 / 6.0


def test_overlapping_events_saturate_at_the_cap_and_one_alone_is_as_large_as_its_row() -> None:
    row = effect(lasts_days=40.0)
    tops = [act(row, *range(40, 40 + n)).max() for n in range(1, 12)]
    assert tops[0] == pytest.approx(6.0)
    assert (np.diff(tops) > 0.0).all() and tops[-1] < row.cap
    assert act(effect(lasts_days=40.0, peak=18.0), 40, 41, 42).max() == pytest.approx(18.0)


def test_events_in_opposite_directions_add_up() -> None:
    rise, fall = act(effect(), DAY), act(effect(peak=-6.0), DAY)
    assert np.allclose(rise, -fall)
    both = with_rows("event_effects", effect(), effect(id="b__resting_hr", event="b", peak=-6.0))
    change = derive_event_effects([ToldEvent(DAY, "hangover"), ToldEvent(DAY, "b")], DAYS, "F", both)["resting_hr"]
    assert np.allclose(change, 0.0)


def test_the_order_of_events_does_not_matter_and_another_event_moves_no_other_item() -> None:
    told = [ToldEvent(30, "hangover"), ToldEvent(33, "flushed_wine"), ToldEvent(31, "work_deadline")]
    one, other = derive_event_effects(told, DAYS, "F", KNOWLEDGE), derive_event_effects(sorted(told), DAYS, "F", KNOWLEDGE)
    assert list(one) == list(other) and all(np.allclose(one[item], other[item], rtol=0, atol=1e-12) for item in one)
    fewer = derive_event_effects(told[:2], DAYS, "F", KNOWLEDGE)
    assert set(one) - set(fewer) == {"stress_score", "sleep_hours"}
    assert all(np.array_equal(fewer[item], one[item]) for item in fewer)


def test_percent_of_a_linear_stream_is_of_the_mean_of_its_row() -> None:
    men, women = (derive_event_effects([ToldEvent(3, "wedding_trip")], 20, sex, KNOWLEDGE)["energy_intake"].max() for sex in "MF")
    assert (men, women) == (pytest.approx(0.3 * 2300), pytest.approx(0.3 * 1800))


BUSY = EventDensity(7.0, 1.0, 0.6, 0.4)


def busy(number: int, **changes: object):  # type: ignore[no-untyped-def]
    return make_premise(case_id=f"busy-{number}", density=BUSY, devices=("smart_scale", "wearable", "bp_cuff", "lab_panel"), **changes)


def test_told_events_move_streams_of_the_chart_from_their_day_on() -> None:
    acted = 0
    for number in range(12):
        premise = busy(number)
        course, chart = build_world(premise, KNOWLEDGE, RNG)
        plain = build_course(premise, KNOWLEDGE, RNG)
        told = list_told(chart.record.notes, chart.origins)
        changes = derive_event_effects(told, course.last_day + 1, premise.patient.sex, KNOWLEDGE)
        names = [f"shift:{item}" for item in ("steps", "resting_hr", "sleep_hours") if item in changes]
        for name in names:
            base = plain.levels.get(name, np.zeros(course.last_day + 1))
            assert np.allclose(course.levels[name] - base, changes[name.partition(":")[2]])
        acted += len(names)
        first = min((event.day for event in told if event.event in load_effects(KNOWLEDGE, "F").by_event), default=0)
        before = {series.name: series for series in observe_series(premise, plain, KNOWLEDGE, RNG).series}
        for series in chart.record.series:
            n = int(np.searchsorted(series.days, first))
            assert np.array_equal(series.ticks[:n], before[series.name].ticks[:n]), series.name
            assert np.array_equal(series.days, before[series.name].days), "no event moves a day"
    assert acted > 5


def test_a_patient_whose_events_have_no_effect_keeps_every_byte() -> None:
    premise = busy(1)
    course = build_course(premise, KNOWLEDGE, RNG)
    assert add_event_effects(course, premise, [ToldEvent(30, "paper_cut"), ToldEvent(40, "choir")], KNOWLEDGE) is course
    assert add_event_effects(course, replace(premise, has_physiology=False), [ToldEvent(30, "hangover")], KNOWLEDGE) is course
    assert add_event_effects(course, premise, [ToldEvent(30, "hangover")], KNOWLEDGE) is not course


def test_without_notes_the_numbers_are_those_of_the_same_patient_with_notes() -> None:
    for number in range(4):
        premise = busy(number)
        (told, with_notes), (quiet, without) = (build_world(premise, KNOWLEDGE, RNG, has_notes=on) for on in (True, False))
        assert with_notes.record.notes and not without.record.notes
        assert all(np.array_equal(told.levels[name], quiet.levels[name]) for name in told.levels)
        for one, other in zip(with_notes.record.series, without.record.series, strict=True):
            assert np.array_equal(one.ticks, other.ticks)
        _, labs = build_world(premise, KNOWLEDGE, RNG, has_notes=False, has_daily=False)
        charted = {series.name: series for series in with_notes.record.series}
        assert all(np.array_equal(series.ticks, charted[series.name].ticks) for series in labs.record.series)


def test_events_move_neither_weight_nor_doses_nor_the_diaries_that_show_a_driver() -> None:
    for row in ROWS:
        stream = KNOWLEDGE.streams.get(row.item)
        assert stream is None or stream.role not in ("weight", "adherence", "evidence", "quality"), row.id
    for number in range(6):
        premise = busy(number)
        course, _ = build_world(premise, KNOWLEDGE, RNG)
        plain = build_course(premise, KNOWLEDGE, RNG)
        assert np.array_equal(course.weight_kg, plain.weight_kg) and np.array_equal(course.adherence, plain.adherence)
        evidence = [name for name in plain.levels if name.startswith("evidence:")]
        assert evidence and all(np.array_equal(course.levels[name], plain.levels[name]) for name in evidence)


def test_no_ordinary_event_is_an_illness_to_the_heart() -> None:
    moves_heart = [row for row in ROWS if row.item == "resting_hr"]
    assert moves_heart and all(row.lasts_days + row.fade_days <= 7 and row.cap <= 8 for row in moves_heart)
    cold = [ToldEvent(DAY, "fuzzy_head_cold")]
    moved = np.flatnonzero(derive_event_effects(cold, DAYS, "F", KNOWLEDGE)["resting_hr"])
    assert 3 <= len(moved) <= 7


def test_only_events_of_the_table_act() -> None:
    note = observe_notes(busy(0), KNOWLEDGE, RNG).notes[0]
    notes = [Note(f"E{n}", n, note.source, note.text, None) for n in range(4)]
    origins = [NoteOrigin(f"E{n}", kind, "hangover") for n, kind in enumerate(("real", "look_alike", "panel", "distractor"))]
    assert list_told(notes, origins) == (ToldEvent(3, "hangover"),)


@pytest.mark.parametrize("cell", ["cap", "source", "status"])
def test_a_row_without_cap_source_or_status_does_not_load(cell: str, tmp_path: Path) -> None:
    for broken in (False, True):
        folder = tmp_path / str(broken)
        folder.mkdir()
        columns = tuple((HERE / "event_effects.csv").read_text().splitlines()[1].split(","))
        row = {
            **{"id": "choir__stress_score", "event": "choir", "item": "stress_score", "peak": "-3", "unit": "own", "rise_days": "1"},
            **{"lasts_days": "1", "fade_days": "2", "cap": "20", "source": "authored", "status": "authored"},
        }
        line = ",".join("" if broken and name == cell else row[name] for name in columns)
        (folder / "event_effects.csv").write_text(",".join(columns) + "\n" + line + "\n")
        if not broken:
            assert "choir__stress_score" in Knowledge((HERE, folder)).event_effects
            continue
        with pytest.raises(KnowledgeError, match=f"event_effects.csv, line 2.*{cell}"):
            list(Knowledge((HERE, folder)).event_effects)


def test_every_row_names_an_event_that_can_come_up() -> None:
    told = {row["event"] for row in load_csv(HERE / "event_effects.csv", tuple(EventEffect.__dataclass_fields__))}
    assert all(KNOWLEDGE.events[name].weight > 0 for name in told) and len(told) >= 20


def test_the_levels_of_a_course_with_events_cannot_be_changed() -> None:
    course, _ = build_world(busy(2), KNOWLEDGE, RNG)
    assert isinstance(course.levels, MappingProxyType)
