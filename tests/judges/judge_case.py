"""Small items, gold and subjects for judge tests: one hand-made patient, varied by keyword."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clinworld.core.text import Wording
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.subject import Subject
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.gold import ForecastGold, GoldRow, ProbeGold, TurningPoint
from clinworld.schema.item import Item
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import Patient, Premise
from clinworld.schema.record import ChartFault, Note, NoteOrigin, Prescription, Profile, Record, Series

T, CADENCE, WINDOW = 140, 28, 140
Fields = dict[str, Any]


@lru_cache
def knowledge() -> Knowledge:
    return load_knowledge()


def series(name: str, days: Sequence[int], *, setting: str = "home") -> Series:
    return Series(name, setting, "kg", 1, np.array(days, dtype=np.int32), np.array([900 - day for day in days], dtype=np.int64))  # type: ignore[arg-type]


RECORD = Record(
    profile=Profile(45, 49, "F", 31.0, ("obesity",), (), ("smart_scale",)),
    last_day=T + WINDOW,
    series=(series("weight", range(0, T + WINDOW + 1, 7)), series("hba1c", (0, 90, 180), setting="laboratory")),
    notes=(
        Note("n-4f2a-71", 30, "patient_reported_symptom", Wording("headache", "头痛"), None),
        Note("n-4f2a-72", 200, "patient_reported_symptom", Wording("nausea", "恶心"), None),
        Note("m-91bc-72", 60, "patient_reported_context", Wording("travel", "旅行"), None),
    ),
    prescriptions=(Prescription(0, "tirzepatide", 2.5, "mg", "weekly"),),
)
ORIGINS = (NoteOrigin("n-4f2a-71", "benign", ""), NoteOrigin("n-4f2a-72", "real", ""), NoteOrigin("m-91bc-72", "life", ""))
PREMISE = Premise(
    case_id="C1",
    seed="1",
    patient=Patient("obesity", (), "F", 45, 49, 31.0, ("smart_scale",), (), ()),
    drug="tirzepatide",
    dose_steps=(2.5,),
    start_weight_kg=90,
    nadir_weight_kg=80,
    nadir_day=100,
    index_day=T,
    course_end_day=T + WINDOW,
    outcome="regain",
    driver="sleep_decline",
    reversal_day=170,
    regain_kg_per_week=0.2,
    regain_end_kg=None,
    adherence_low=0.6,
    adherence_course=(),
    drug_response=1.0,
    missingness="MCAR",
    sampling_days=7,
    density=EventDensity(1, 1, 0.1, 0.05),
    artifacts=(),
    distractor_level="none",
    distractor_axes=(),
    symptoms=(),
    target_event="weight_regain",
    has_findings=False,
    has_physiology=True,
    withheld_contexts=(),
)
PROBES = (
    ProbeGold("no_op", "gap", "hba1c", ("no_data_in_window",)),
    ProbeGold("false_premise", "false", "hba1c", ("contradicts_record",)),
    ProbeGold("quant", "peak_day", "weight", ("7", "14")),
)
REVERSAL = TurningPoint(196, "real", "reversal")  # the third round of six
TRAP = TurningPoint(170, "trap", "transient_spike")  # shown first by the second round... on day 196


def subject(
    *answers: Answer | Fields | None,
    occurs: bool = True,
    drivers: tuple[str, ...] = ("sleep_decline",),
    points: tuple[TurningPoint, ...] = (REVERSAL,),
    red_flag: bool = False,
    warranted: bool | None = None,
    probes: tuple[ProbeGold, ...] = PROBES,
    probe_set: str = "all",
    episode: str = "single",
    faults: tuple[ChartFault, ...] = (),
    origins: tuple[NoteOrigin, ...] = ORIGINS,
    record: Record = RECORD,
    item_id: str = "i-1",
) -> Subject:
    """A subject whose answers stand on T, T + 28, …; None is an empty reply."""
    item = Item(item_id, "early_warning", 1, "en", ("single", "rounds"), T, WINDOW, CADENCE, "weight_regain", record, (), (), ())
    gold = ForecastGold(occurs, drivers, points, red_flag, occurs if warranted is None else warranted)
    row = GoldRow(item_id, "C1", gold, probes, PREMISE, record, origins, faults, (), (), "")
    turns = tuple(RoundAnswer(T + CADENCE * turn, read(each)) for turn, each in enumerate(answers or (None,)))
    return Subject(item, row, turns, read_delivered_ids(record, knowledge()), episode, probe_set, knowledge())  # type: ignore[arg-type]


def read(answer: Answer | Fields | None) -> Answer:
    if isinstance(answer, Answer):
        return answer
    return Answer({}, (), (), "empty", "") if answer is None else Answer(answer, (), (), None, "{}")


def answered_by(base: Subject, control: Callable[[Subject, int], Fields]) -> Subject:
    """The subject with the answers a control gives on its days."""
    from dataclasses import replace

    return replace(base, answers=tuple(RoundAnswer(each.day, read(control(base, each.day))) for each in base.answers))


def rounds(*answers: Answer | Fields | None, **changes: Any) -> Subject:
    return subject(*answers, episode="rounds", **changes)


def sides(*categories: str | None) -> list[Fields | None]:
    return [None if category is None else {"forecast": {"risk_category": category}} for category in categories]
