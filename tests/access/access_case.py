"""A small record and item for the tests of what reaches an agent; made by hand, without the world."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.load import LoadedPack, load_pack
from clinworld.schema.item import Item, ProbeQuestion
from clinworld.schema.record import Note, Prescription, Profile, Record, Series

LAST_DAY = 365
INDEX_DAY = 84


@lru_cache
def knowledge() -> Knowledge:
    return load_knowledge()


@lru_cache
def pack(name: str = "early_warning") -> LoadedPack:
    return load_pack(name)


def make_series(name: str, days: list[int], values: list[float]) -> Series:
    row = knowledge().streams.get(name) or knowledge().analytes[name]
    setting = getattr(row, "setting", "laboratory")
    ticks = np.rint(np.array(values) * 10**row.decimals).astype(np.int64)
    return Series(name, setting, row.ucum, row.decimals, np.array(days, dtype=np.int32), ticks)


def daily(
    name: str, mean: float, *, last_day: int = LAST_DAY, step: int = 1, keep: float = 0.9, shift: float = 0.0, shift_from: int = 999
) -> Series:
    draw = np.random.default_rng(len(name))
    days = [day for day in range(0, last_day + 1, step) if draw.random() < keep]
    values = [mean * (1 + 0.01 * draw.standard_normal()) + (shift if day >= shift_from else 0.0) for day in days]
    return make_series(name, days, values)


def make_record(**changes: Series) -> Record:
    """A year of one patient. `changes` replace or add series by name."""
    series = {
        "weight": daily("weight", 92.0, keep=0.6),
        "weight_clinic": daily("weight_clinic", 92.0, step=28, keep=1.0),
        "steps": daily("steps", 7000.0),
        "resting_hr": daily("resting_hr", 64.0),
        "sleep_hours": daily("sleep_hours", 6.8),
        "spo2_night": daily("spo2_night", 95.0, keep=0.3),
        "gi_symptom_score": daily("gi_symptom_score", 1.2, step=7),
        "carb_pct": daily("carb_pct", 45.0, step=7),
        "med_adherence": daily("med_adherence", 90.0),
        "hba1c": make_series("hba1c", [0, 45, 84, 85, 200], [5.6, 5.5, 5.5, 5.4, 5.4]),
        "alt": make_series("alt", [0, 84, 200], [31, 28, 26]),
    } | changes
    notes = (
        Note(
            "q7f2",
            12,
            "patient_reported_symptom",
            Wording("Mild headache in the evening.", "傍晚有点头痛。"),
            Wording("no fever", "没有发热"),
        ),
        Note("b3k9", 84, "patient_reported_context", Wording("Two weeks of visitors at home.", "家里来了两周客人。"), None),
        Note("m1z5", 85, "patient_reported_symptom", Wording("Sore knee after a walk.", "散步后膝盖酸。"), None),
    )
    profile = Profile(45, 49, "F", 34.1, ("obesity", "hypertension"), ("sustained_weight_loss",), ("smart_scale", "wearable", "lab_panel"))
    prescriptions = (Prescription(0, "tirzepatide", 2.5, "mg", "weekly"), Prescription(90, "tirzepatide", 5.0, "mg", "weekly"))
    return Record(profile, LAST_DAY, tuple(series.values()), notes, prescriptions)


PROBES = (
    ProbeQuestion(
        "false_premise",
        "claim",
        "hba1c",
        (45, 45),
        Wording("I remember my A1c on day 45 was 7.9 %.", "我记得第45天我的糖化血红蛋白是7.9 %。"),
    ),
    ProbeQuestion("no_op", "window", "steps", (10, 23), None),
    ProbeQuestion("quant", "trend", "weight", (0, 84), None),
)


def make_item(**changes: object) -> Item:
    item = Item(
        item_id="0a1b2c3d4e5f",
        pack="early_warning",
        pack_version=1,
        language="en",
        episodes=("rounds", "single"),
        index_day=INDEX_DAY,
        window_days=LAST_DAY - INDEX_DAY,
        cadence_days=28,
        target_event="weight_regain",
        record=make_record(),
        probes=PROBES,
        rows_used=(),
        remarks=(),
    )
    return replace(item, **changes)  # type: ignore[arg-type]
