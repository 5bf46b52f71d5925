"""A small batch for the tests of runs: three patients made by hand, without the world, written by the real draft."""

from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from clinworld.access.episodes import next_turn
from clinworld.core.text import Wording
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.load import LoadedPack, load_pack
from clinworld.provenance.stamps import compute_stamps
from clinworld.run.batch_files import Batch, BatchFacts, new_batch_folder
from clinworld.schema.finding import Finding, GateResult
from clinworld.schema.gold import ForecastGold, GoldRow, ProbeGold, TurningPoint
from clinworld.schema.item import Item, ProbeQuestion
from clinworld.schema.job import EventDensity
from clinworld.schema.premise import Patient, Premise
from clinworld.schema.record import Note, NoteOrigin, Prescription, Profile, Record, Series

INDEX_DAY, LAST_DAY = 84, 196
CONTROLS = ("control:slope_rule", "control:noise_aware_reader", "control:constant", "control:oracle", "control:anti_oracle")


@lru_cache
def knowledge() -> Knowledge:
    return load_knowledge()


@lru_cache
def pack() -> LoadedPack:
    return load_pack("early_warning")


@lru_cache
def stamps() -> dict[str, str]:
    return compute_stamps(pack().pack.folder).to_row()


def series(name: str, every: int, level: float, slope: float, salt: int) -> Series:
    row = knowledge().streams.get(name) or knowledge().analytes[name]
    days = np.arange(0, LAST_DAY + 1, every, dtype=np.int32)
    wobble = np.sin(days * 1.7 + salt) * 0.004 * level
    ticks = np.rint((level + slope * days + wobble) * 10**row.decimals).astype(np.int64)
    return Series(name, getattr(row, "setting", "laboratory"), row.ucum, row.decimals, days, ticks)


def make_item(number: int, *, language: str = "en", episodes: tuple[str, ...] = ("rounds", "single")) -> Item:
    regains = number % 2 == 1
    record = Record(
        profile=Profile(45, 49, "F", 34.1, ("obesity",), ("sustained_weight_loss",), ("smart_scale", "wearable")),
        last_day=LAST_DAY,
        series=(
            series("weight", 2, 92.0, 0.03 if regains else -0.03, number),
            series("weight_clinic", 28, 92.0, 0.03 if regains else -0.03, number),
            series("steps", 1, 7000, 0, number),
            series("med_adherence", 1, 70 if regains else 96, 0, number),
        ),
        notes=(Note(f"q{number}f2", 12, "patient_reported_symptom", Wording("Mild headache.", "傍晚有点头痛。"), None),),
        prescriptions=(Prescription(0, "tirzepatide", 2.5, "mg", "weekly"),),
    )
    return Item(
        item_id=f"{number:03d}b2c3d4e5f",
        pack="early_warning",
        pack_version=1,
        language=language,  # type: ignore[arg-type]
        episodes=episodes,  # type: ignore[arg-type]
        index_day=INDEX_DAY,
        window_days=LAST_DAY - INDEX_DAY,
        cadence_days=56,
        target_event="weight_regain",
        record=record,
        probes=(ProbeQuestion("no_op", "window", "steps", (10, 23), None),),
        rows_used=("streams:weight",),
        remarks=(),
    )


def make_gold(item: Item) -> GoldRow:
    regains = item.record.series[0].ticks[-1] > item.record.series[0].ticks[0]
    driver = "poor_medication_adherence" if regains else "unknown_or_multifactorial"
    return GoldRow(
        item_id=item.item_id,
        case_id=f"C-{item.item_id}",
        gold=ForecastGold(
            event_occurs=bool(regains),
            drivers=(driver,),
            turning_points=(TurningPoint(112, "real", "reversal"),) if regains else (),
            has_red_flag=False,
            is_action_warranted=bool(regains),
        ),
        probes=(ProbeGold("no_op", "window", "steps", ("present",)),),
        premise=make_premise(f"C-{item.item_id}"),
        chart=item.record,
        origins=tuple(NoteOrigin(note.note_id, "benign", "") for note in item.record.notes),
        faults=(),
        acted=(),
        truth_weight_ticks=(9200, 9190),
        truth_digest="0" * 16,
    )


def make_premise(case_id: str) -> Premise:
    return Premise(
        case_id=case_id,
        seed="7",
        patient=Patient("obesity", (), "F", 45, 49, 34.1, ("smart_scale",), (), ()),
        drug="tirzepatide",
        dose_steps=(2.5,),
        start_weight_kg=92.0,
        nadir_weight_kg=86.0,
        nadir_day=INDEX_DAY,
        index_day=INDEX_DAY,
        course_end_day=LAST_DAY,
        outcome="maintain",
        driver="unknown_or_multifactorial",
        reversal_day=None,
        regain_kg_per_week=0.35,
        regain_end_kg=None,
        adherence_low=0.9,
        adherence_course=((0, 0.95),),
        drug_response=1.0,
        missingness="MAR",
        sampling_days=1,
        density=EventDensity(7.0, 1.0, 0.1, 0.05),
        artifacts=(),
        distractor_level="none",
        distractor_axes=(),
        symptoms=(),
        target_event="weight_regain",
        has_findings=False,
        has_physiology=True,
        withheld_contexts=(),
    )


def prompt_digests(item: Item) -> dict[str, str]:
    found = {}
    for episode in item.episodes:
        for probe_set in ("none", "all"):
            turn = next_turn(item, pack().pack, knowledge(), episode, probe_set, ())
            assert turn is not None
            found[f"{episode}/{probe_set}"] = sha256(turn.prompt.encode()).hexdigest()[:16]
    return found


def make_facts(**changes: object) -> BatchFacts:
    facts = BatchFacts(
        job_id="toy", job_digest="a1b2c3d4", pack="early_warning", language="en", seed_digest="00", stamps=dict(stamps()), created_at="now"
    )
    return replace(facts, **changes)  # type: ignore[arg-type]


def make_batch(
    out: Path, *, items: int = 3, episodes: tuple[str, ...] = ("rounds", "single"), gates: tuple[GateResult, ...] = (), **facts: object
) -> Batch:
    with new_batch_folder(out, "toy") as draft:
        for number in range(items):
            item = make_item(number, episodes=episodes)
            draft.add(item, make_gold(item), prompt_digests(item))
            draft.add_audit({"case_id": f"C-{number}", "is_emitted": True})
        return draft.finish(make_facts(**facts), gates)


REFUSING = GateResult("shortcut_scan", "failed", (Finding("shortcut_scan", "batch", "devices give gold away, n 40, p 0.001"),))


def rows(path: Path) -> list[dict]:  # type: ignore[type-arg]
    import orjson

    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
