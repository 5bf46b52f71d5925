"""Gold of a forecast, twice: from the premise and from the chart. A chart that was tampered with must disagree."""

import ast
import importlib.util
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import clinworld.packs.forecast as forecast
from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.core.units import to_ticks
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.forecast.gold import agrees, estimate_turn, evidence_stream, read_gold, read_outcome, read_shift
from clinworld.packs.forecast.plan import derive_gold
from clinworld.schema.gold import ForecastGold, TurningPoint
from clinworld.schema.premise import PlannedArtifact, PlannedSymptom
from clinworld.schema.record import Chart, ChartFault, Note, NoteOrigin, Profile, Record, Series
from clinworld.world.build import build_world

T, END, REVERSAL = 84, 365, 140
PROFILE = Profile(45, 49, "F", 34.0, ("obesity",), (), ("smart_scale", "wearable"))
OBSERVABLE = (
    "poor_medication_adherence",
    "medication_intolerance",
    "calorie_intake_change",
    "activity_decline",
    "sleep_decline",
    "measurement_noise",
)


@lru_cache
def knowledge():
    return load_knowledge()


@lru_cache
def premises():
    spec = importlib.util.spec_from_file_location("make_premise", Path(__file__).parents[1] / "world" / "make_premise.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def series(name, days, values):
    row = knowledge().streams[name]
    days = np.asarray(days, dtype=np.int32)
    return Series(name, row.setting, row.ucum, row.decimals, days, to_ticks(np.broadcast_to(values, days.shape), row.decimals))


def weight(days, *, regains, slope=0.35):
    days = np.asarray(days, dtype=float)
    rise = slope / 7 * np.maximum(days - REVERSAL, 0) if regains else 0
    return np.where(days < T, 98 - 12 * days / T, 86.0) + rise


def evidence(driver, *, moves_from=None):
    """The driver's evidence stream by day: normal, and from a day on what the driver does."""
    row = knowledge().drivers[driver]
    stream = evidence_stream(row, knowledge())
    weekly = stream.role in ("evidence", "quality")
    days = np.array([20, 50, 82, 120, 200]) if stream.role == "adherence" else np.arange(3 if weekly else 0, END, 7 if weekly else 1)
    normal, abnormal = (95, 80) if row.normal is None else (row.normal, row.abnormal)
    noise = Rng(3).at("evidence", stream.id).normal(len(days)) * stream.sd_within * (0.2 if weekly or stream.role == "adherence" else 1)
    ends = np.log([normal, abnormal]) if stream.scale == "log" else np.array([normal, abnormal], dtype=float)
    level = ends[0] + (ends[1] - ends[0]) * (0 if moves_from is None else days >= moves_from) + noise
    return series(stream.id, days, np.exp(level) if stream.scale == "log" else level)


def chart(*, regains=True, driver="poor_medication_adherence", others=(), moves_from=60, notes=(), home=None, left_out=()):
    """A hand-made chart: weights, and the evidence of every driver, abnormal for `driver` and `others` only."""
    home_days = np.arange(0, END + 1)
    wobble = 0.3 * Rng(5).at("weight").normal(END + 1)
    home = weight(home_days, regains=regains) + wobble if home is None else home
    clinic_days = np.arange(0, END + 1, 28)
    moved = {driver, *others}
    streams = [evidence(name, moves_from=moves_from if name in moved else None) for name in OBSERVABLE if name not in left_out]
    clinic = series("weight_clinic", clinic_days, weight(clinic_days, regains=regains) + 0.1)
    return Record(PROFILE, END, (series("weight", home_days, home), clinic, *streams), tuple(notes), ())


def read(record, faults=(), origins=()):
    return read_gold(record, faults, origins, T, knowledge())


def planned(driver="poor_medication_adherence", *, regains=True, points=()):
    real = (TurningPoint(REVERSAL, "real", "reversal"),) if regains else ()
    return ForecastGold(regains, (driver,), (*points, *real), False, regains)


def places(planned_gold, read_gold_):
    return [finding.place for finding in agrees(planned_gold, read_gold_)]


def note(day, note_id="E000001"):
    return Note(note_id, day, "patient_reported_symptom", Wording("felt feverish", "发烧"), None)


def test_gold_from_the_premise_names_outcome_driver_reversal_and_faults():
    make = premises().make_premise
    spike, gap = PlannedArtifact("transient_spike", 56, 66, 3.6), PlannedArtifact("adherence_gap", 70, 80, 0.45)
    gold = derive_gold(make(outcome="regain", artifacts=(spike, gap), symptoms=(PlannedSymptom(9, "x", "x", "", "", True),)), knowledge())
    assert gold == ForecastGold(
        True,
        ("poor_medication_adherence",),
        (TurningPoint(56, "trap", "transient_spike"), TurningPoint(75, "confound", "adherence_gap"), TurningPoint(140, "real", "reversal")),
        False,
        True,
    )
    assert derive_gold(make(), knowledge()) == ForecastGold(False, ("unknown_or_multifactorial",), (), False, False)


@pytest.mark.parametrize(
    ("outcome", "written", "is_warranted"), [("maintain", None, True), ("maintain", False, False), ("regain", False, False)]
)
def test_a_red_flag_warrants_action_whatever_happens_unless_the_job_says_not(outcome, written, is_warranted):
    gold = derive_gold(premises().make_premise(outcome=outcome, has_red_flag=True, clinician_warranted=written), knowledge())
    assert (gold.has_red_flag, gold.is_action_warranted) == (True, is_warranted)


@pytest.mark.parametrize(
    ("text", "day", "kind", "is_flag"),
    [
        (("Chest pain on the stairs", "爬楼时胸痛"), 80, "real", True),
        (("爬楼时胸痛", "爬楼时胸痛"), T, "real", True),
        (("Chest pain on the stairs", "爬楼时胸痛"), T + 1, "real", False),
        (("Chest pain on the stairs", "爬楼时胸痛"), 80, "benign", False),
        (("Sore knee on the stairs", "爬楼时膝盖酸"), 80, "real", False),
    ],
)
def test_a_red_flag_is_read_from_the_words_of_a_real_symptom_by_the_index_day(text, day, kind, is_flag):
    told = Note("E000001", day, "patient_reported_symptom", Wording(*text), None)
    gold = read(chart(regains=False, notes=[told]), origins=[NoteOrigin("E000001", kind, "")])
    assert (gold.has_red_flag, gold.is_action_warranted) == (is_flag, is_flag)
    declared = replace(planned(regains=False), has_red_flag=True, is_action_warranted=True)
    assert ("has_red_flag" in places(declared, gold)) is not is_flag
    assert ("has_red_flag" in places(planned(regains=False), gold)) is is_flag


@pytest.mark.parametrize("regains", [True, False])
def test_the_outcome_is_read_from_charted_weights(regains):
    gold = read(chart(regains=regains))
    assert gold.event_occurs is regains is gold.is_action_warranted
    reals = [point.day for point in gold.turning_points if point.kind == "real"]
    assert len(reals) == int(regains) and all(abs(day - REVERSAL) <= 14 for day in reals)


@pytest.mark.parametrize("driver", OBSERVABLE)
def test_a_chart_whose_only_abnormal_evidence_is_the_drivers_agrees(driver):
    gold = read(chart(driver=driver))
    assert gold.drivers == (driver,)
    assert places(planned(driver), gold) == []


@pytest.mark.parametrize("driver", OBSERVABLE)
def test_evidence_that_moves_only_after_the_index_day_or_is_not_charted_disagrees(driver):
    assert places(planned(driver), read(chart(driver=driver, moves_from=T + 1))) == ["drivers"]
    assert places(planned(driver), read(chart(driver=driver, left_out=(driver,)))) == ["drivers"]


@pytest.mark.parametrize("driver", OBSERVABLE)
def test_evidence_of_a_second_driver_disagrees(driver):
    other = next(name for name in OBSERVABLE if name != driver)
    gold = read(chart(driver=driver, others=(other,)))
    assert set(gold.drivers) == {driver, other}
    assert places(planned(driver), gold) == ["drivers"]
    assert places(planned("unknown_or_multifactorial"), gold) == ["drivers"]


def test_every_driver_that_a_stream_shows_is_covered_by_these_tests():
    shown = {key for key, row in knowledge().drivers.items() if evidence_stream(row, knowledge()) is not None}
    assert shown == set(OBSERVABLE)


def test_a_driver_that_nothing_measures_stays_possible_only_while_all_evidence_is_normal():
    quiet = read(chart(driver=""))
    assert "unknown_or_multifactorial" in quiet.drivers and not set(quiet.drivers) & set(OBSERVABLE)
    assert places(planned("unknown_or_multifactorial"), quiet) == []
    assert places(planned("unknown_or_multifactorial"), read(chart(driver="calorie_intake_change"))) == ["drivers"]


@pytest.mark.parametrize(
    ("told", "kind", "is_possible"),
    [
        (None, "real", False),
        (50, "real", True),
        (T, "real", True),
        (T + 1, "real", False),
        (50, "benign", False),
        (50, "look_alike", False),
    ],
)
def test_a_driver_read_from_symptoms_needs_a_real_one_by_the_index_day(told, kind, is_possible):
    notes = () if told is None else (note(told),)
    gold = read(chart(driver="", notes=notes), origins=(NoteOrigin("E000001", kind, ""),))
    assert ("acute_illness" in gold.drivers) is is_possible
    assert (places(planned("acute_illness"), gold) == []) is is_possible


def test_a_chart_changed_so_that_it_implies_the_other_outcome_disagrees():
    flat, rising = read(chart(regains=False)), read(chart(regains=True))
    assert places(planned(), rising) == []
    assert places(planned(), flat) == ["event_occurs", "turning point reversal"]
    assert places(planned("unknown_or_multifactorial", regains=False), flat) == []
    assert places(planned("unknown_or_multifactorial", regains=False), rising) == ["event_occurs"]


def test_a_driver_is_not_compared_where_nothing_happens():
    assert places(planned("activity_decline", regains=False), read(chart(regains=False, driver=""))) == []


def test_a_reversal_far_from_the_charted_rise_disagrees():
    gold = read(chart())
    tolerance = int(knowledge().parameter("gold_turn_tolerance_days"))
    for shift, found in (
        (0, []),
        (tolerance - 14, []),
        (tolerance + 14, ["turning point reversal"]),
        (-tolerance - 14, ["turning point reversal"]),
    ):
        moved = replace(planned(), turning_points=(TurningPoint(REVERSAL + shift, "real", "reversal"),))
        assert places(moved, gold) == found, shift


def test_a_planned_trap_must_be_among_the_charted_faults_near_its_day():
    trap = TurningPoint(56, "trap", "transient_spike")
    spike = ChartFault("transient_spike", "weight", (58,), 3.6)
    gold = planned(points=(trap,))
    assert places(gold, read(chart(), faults=(spike,))) == []
    assert places(gold, read(chart())) == ["turning point transient_spike"]
    assert places(gold, read(chart(), faults=(replace(spike, days=()),))) == ["turning point transient_spike"]
    assert places(gold, read(chart(), faults=(replace(spike, days=(200,)),))) == ["turning point transient_spike"]
    assert places(gold, read(chart(), faults=(replace(spike, kind="unit_error"),))) == ["turning point transient_spike"]


def test_known_faulty_readings_make_no_event_and_unknown_ones_do():
    days = np.arange(END + 1)
    home = weight(days, regains=False) + np.where((days >= 100) & (days < 190), 2.2, 0.0)
    fault = ChartFault("context_confound", "weight", tuple(range(100, 190)), 2.2)
    assert not read(chart(regains=False, home=home), faults=(fault,)).event_occurs
    assert read(chart(regains=False, home=home)).event_occurs


def test_a_lasting_scale_offset_is_read_on_the_clinic_scale_unsmoothed():
    days = np.arange(END + 1)
    home = weight(days, regains=False) + np.where(days >= 100, 3.2, 0.0)
    record = chart(regains=False, home=home)
    fault = ChartFault("device_switch", "weight", tuple(range(100, END + 1)), 3.2)
    reading = read_outcome(record, (fault,), knowledge().outcomes["weight_regain"], knowledge())
    assert reading.rule.smoothing_readings == 1 and len(reading.days) == len(record.find("weight_clinic").days)
    assert not read(record, faults=(fault,)).event_occurs and read(record).event_occurs
    regained = chart(home=weight(days, regains=True) + np.where(days >= 100, 3.2, 0.0))
    assert places(planned(points=(TurningPoint(100, "trap", "device_switch"),)), read(regained, faults=(fault,))) == []


def test_a_near_call_on_the_home_scale_is_decided_on_the_clinic_scale():
    days = np.arange(END + 1)
    near = weight(days, regains=False) + np.where(days > 200, 0.85, 0.0)
    clear = weight(days, regains=False) + np.where(days > 200, 2.0, 0.0)
    assert not read(chart(regains=False, home=near)).event_occurs
    assert read(chart(regains=False, home=clear)).event_occurs
    assert read(chart(regains=True, home=near)).event_occurs


def test_a_low_adherence_reading_names_its_driver_unless_it_is_a_known_gap():
    steady = chart(driver="")
    low = steady.find("med_adherence")
    ticks = low.ticks.copy()
    ticks[2] = 45  # the last reading up to T
    gap = replace(steady, series=tuple(replace(s, ticks=ticks) if s.name == "med_adherence" else s for s in steady.series))
    assert read(gap).drivers == ("poor_medication_adherence",)
    assert "poor_medication_adherence" not in read(gap, faults=(ChartFault("adherence_gap", "med_adherence", (82,), 0.45),)).drivers


def test_a_shift_counts_by_size_and_by_noise():
    row = knowledge().drivers["activity_decline"]
    stream = evidence_stream(row, knowledge())
    for regained, least_moved, is_abnormal in ((chart(driver="activity_decline"), 0.3, True), (chart(driver=""), -1.0, False)):
        shift = read_shift(row, stream, regained.until(T), (), knowledge())
        assert shift.moved > least_moved and shift.is_abnormal is is_abnormal
        assert shift.least > 0.1 * np.log(7300 / 4000)
    empty = replace(chart(), series=())
    assert read_shift(row, stream, empty, (), knowledge()) is None


def test_a_chart_without_weights_holds_no_event():
    assert not read(replace(chart(), series=())).event_occurs


@pytest.mark.parametrize("slope", [0.25, 0.35, 0.7])
def test_the_turn_is_found_within_weeks_whatever_the_pace(slope):
    days = np.arange(END + 1)
    for n in range(12):
        home = weight(days, regains=True, slope=slope) + 0.42 * Rng(n).at("noise").normal(END + 1)
        record = chart(home=home)
        reading = read_outcome(record, (), knowledge().outcomes["weight_regain"], knowledge())
        assert abs(estimate_turn(reading, knowledge()) - REVERSAL) <= 24


def test_the_two_derivations_share_no_module_but_schema_knowledge_and_the_label_rule():
    folder = Path(forecast.__file__).parent
    imported = {}
    for name in ("plan", "gold"):
        tree = ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))
        imported[name] = {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("clinworld")
        }
    shared = imported["plan"] & imported["gold"]
    assert all(name.startswith(("clinworld.schema.", "clinworld.knowledge.")) for name in shared), shared
    allowed = ("clinworld.schema.", "clinworld.knowledge.", "clinworld.core.", "clinworld.world.label")
    assert all(name.startswith(allowed) for name in imported["plan"] | imported["gold"])


@pytest.mark.parametrize("outcome", ["regain", "maintain"])
@pytest.mark.parametrize("driver", ["poor_medication_adherence", "medication_intolerance", "unknown_or_multifactorial"])
def test_built_worlds_agree_with_their_premise(outcome, driver):
    refused, spike = [], PlannedArtifact("transient_spike", 56, 66, 3.6)
    for n in range(20):
        premise = premises().make_premise(case_id=f"agree-{n}", outcome=outcome, driver=driver, artifacts=(spike,))
        _, built = build_world(premise, knowledge(), Rng(11))
        refused += agrees(derive_gold(premise, knowledge()), read_built(built, premise.index_day))
    assert len(refused) <= 2, [str(finding) for finding in refused]


def read_built(built: Chart, index_day: int) -> ForecastGold:
    return read_gold(built.record, built.faults, built.origins, index_day, knowledge())
