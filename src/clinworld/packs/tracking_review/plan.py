"""The cases this pack draws, patients who are followed on, and their gold from the premise as in every forecasting question."""

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.packs.forecast.plan import derive_gold
from clinworld.schema.job import Case, Job
from clinworld.world import draw

__all__ = ["derive_gold", "draw_cases"]


def draw_cases(job: Job, knowledge: Knowledge, rng: Rng) -> tuple[Case, ...]:
    """The drawn cases of a job; weight turns after T, and often for a cause that only the weight shows."""
    return draw.draw_cases(job, knowledge, rng, is_followed=True)
