"""Job files for tests: a usual one, and the same with one thing changed."""

from pathlib import Path

from clinworld.core.rng import Rng
from clinworld.knowledge.load import load_knowledge
from clinworld.schema.job import Case, Job
from clinworld.schema.premise import Conflict, Premise
from clinworld.world.job_file import read_job
from clinworld.world.premise import check_premise, derive_premise

KNOWLEDGE = load_knowledge()

USUAL = """\
job_id: j
task: early_warning
cases:
  - case_id: A-1
    raw:
      disease: obesity
      drug: tirzepatide
      dose_steps: [2.5, 5, 7.5]
      age_range: 45-49
      sex: F
      devices: [smart_scale, wearable]
      start_weight: 98
      nadir_weight: 86
    latent:
      outcome: regain
      driver: poor_medication_adherence
      reversal_week: 20
"""


def case_text(raw: str = "{}", latent: str = "{}") -> str:
    """A job of one case, `raw` and `latent` in flow style."""
    return f"job_id: j\ncases:\n  - case_id: A-1\n    raw: {raw}\n    latent: {latent}\n"


def read_text(folder: Path, text: str) -> Job:
    """The job of a text."""
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return read_job(path, KNOWLEDGE)


def read_case(folder: Path, raw: str = "{}", latent: str = "{}") -> tuple[Job, Case]:
    """The job and its one case."""
    job = read_text(folder, case_text(raw, latent))
    return job, job.cases[0]


def premise_of(folder: Path, raw: str = "{}", latent: str = "{}") -> Premise:
    """The premise of one case."""
    job, case = read_case(folder, raw, latent)
    return derive_premise(case, job, KNOWLEDGE, Rng(job.seed))


def conflicts_of(folder: Path, raw: str = "{}", latent: str = "{}") -> tuple[Conflict, ...]:
    """What contradicts itself in one case."""
    job, case = read_case(folder, raw, latent)
    return check_premise(derive_premise(case, job, KNOWLEDGE, Rng(job.seed)), case, KNOWLEDGE)
