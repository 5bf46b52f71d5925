"""Small jobs for the tests of build and verify, and ways to edit a batch on disk by hand."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.load import LoadedPack, load_pack, pack_names
from clinworld.run.batch_files import Batch
from clinworld.run.build import BuildSummary, build_batch
from clinworld.run.verify import VerifySummary, verify_batch
from clinworld.schema.job import Job
from clinworld.world.job_file import read_job

KEEPS = """\
  - case_id: {name}
    raw: {{disease: obesity, drug: semaglutide, dose_steps: [0.25, 0.5, 1], sex: F, age_range: 40-44, devices: [{devices}],
          start_weight: {start}, nadir_weight: {low}}}
    latent: {{outcome: maintain, adherence_low: 0.95, event_density: {{symptom_rate: 0.4, life_event_rate: 0.1}}}}
"""
REGAINS = """\
  - case_id: {name}
    raw: {{disease: obesity, drug: tirzepatide, dose_steps: [2.5, 5, 7.5], sex: M, age_range: 50-54, devices: [{devices}],
          start_weight: {start}, nadir_weight: {low}}}
    latent: {{outcome: regain, driver: poor_medication_adherence, reversal_week: 22, adherence_low: 0.62,
              event_density: {{symptom_rate: 0.4, life_event_rate: 0.1}}}}
"""
REFUSED = """\
  - case_id: {name}
    raw: {{}}
    latent: {{distractor_level: high, event_density: {{symptom_rate: 0.1}}}}
"""
BOTH = "smart_scale, wearable"


@lru_cache
def knowledge() -> Knowledge:
    return load_knowledge()


@lru_cache
def pack(name: str = "early_warning") -> LoadedPack:
    return load_pack(name)


def make_job(folder: Path, cases: str, *, name: str = "toy", language: str = "en", task: str = "early_warning") -> Job:
    path = folder / f"{name}.yaml"
    path.write_text(f"job_id: {name}\ntask: {task}\nlanguage: {language}\ncases:\n{cases}")
    return read_job(path, knowledge(), tasks=pack_names())


def two_patients() -> str:
    return KEEPS.format(name="T-1", devices=BOTH, start=96, low=86) + REGAINS.format(name="T-2", devices=BOTH, start=104, low=92)


def devices_that_follow_the_outcome(n: int = 16) -> str:
    """Only patients whose weight comes back have a cuff: a shortcut that no clinical fact explains."""
    keeps = (KEEPS.format(name=f"K-{i}", devices=BOTH, start=90 + i, low=80 + i) for i in range(n))
    return "".join(keeps) + "".join(REGAINS.format(name=f"R-{i}", devices=BOTH + ", bp_cuff", start=98 + i, low=87 + i) for i in range(n))


def build(job: Job, out: Path, **more: Any) -> BuildSummary:
    return build_batch(job, pack(job.task), knowledge(), out, **more)


def verify(batch: Batch) -> VerifySummary:
    return verify_batch(batch, pack(batch.facts().pack), knowledge())


def edit_rows(path: Path, edit: Callable[[list[dict]], list[dict] | None]) -> None:
    """Change the rows of a JSONL file by hand."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    rows = edit(rows) or rows
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def find(entries: list[dict], name: str) -> dict:
    return next(entry for entry in entries if entry["name"] == name)
