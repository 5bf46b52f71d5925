"""Patient i of a seed: the drawn case at place i of an early warning job with that seed, built without what makes an exam of it.

What the exam alone asks for (gates, probes, a mix of answers) refuses nobody here. Pure: seed and place decide, nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from clinworld.core.digest import digest_value
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.schema.job import Case, Job
from clinworld.schema.premise import Premise
from clinworld.schema.record import PARTS, Record
from clinworld.world.build import follow_world
from clinworld.world.draw import draw_case, drawn_id
from clinworld.world.job_values import in_force
from clinworld.world.premise import check_premise, derive_premise
from clinworld.world.steps import Steps, run_alone, run_together

TASK = "early_warning"
SPECIMENS = "specimens"  # the part that moves results: what befalls a specimen, and methods that change


class Built(NamedTuple):
    """A patient: who, what was charted, and how many draws it took (1 but where values drawn contradict each other)."""

    case_id: str
    premise: Premise
    record: Record
    draws: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is charted of each patient. `has_daily`: streams by day; `has_notes`: what is told in words.

    `has_specimens`: the circumstances of laboratory draws, and results as these and methods that change move them. Everything else a
    record can hold is charted always, also what a record of the job's task leaves out.
    """

    has_daily: bool = True
    has_notes: bool = False
    has_specimens: bool = False

    def parts(self) -> frozenset[str]:
        """The parts of a world to ask for."""
        return frozenset(part for part in PARTS if part != SPECIMENS or self.has_specimens)


def drawn_job(seed: str, language: Language = "en") -> Job:
    """The job `{task: early_warning, seed: …}` with every other key at its default."""
    top = {key: in_force("top", {}, key) for key in ("cadence_days", "findings", "physio")}
    return Job(
        job_id="cohort",
        task=TASK,
        language=language,
        seed=seed,
        cases=(),
        episode=None,
        items=None,
        mix=(),
        without_effect=(),
        digest="",
        path="",
        **top,
    )


def build_patient(place: int, case_id: str, job: Job, wanted: Wanted, knowledge: Knowledge, rng: Rng) -> Built:
    """The patient at a place, whose drawn case has the id `case_id`.

    Where the values of a case contradict each other it is drawn again, as `clinworld build` does. Raises PremiseConflict when every
    further draw does so too.
    """
    return run_alone(_follow_patient(place, case_id, job, wanted, knowledge, rng))


def build_patients(first: int, case_ids: Sequence[str], job: Job, wanted: Wanted, knowledge: Knowledge, rng: Rng) -> list[Built]:
    """The patients at places in a row, whose drawn cases have these ids: each as `build_patient` gives it, for less.

    All of them are in memory at once. Raises what `build_patient` raises.
    """
    return run_together(_follow_patient(place, name, job, wanted, knowledge, rng) for place, name in enumerate(case_ids, first))


def _follow_patient(place: int, case_id: str, job: Job, wanted: Wanted, knowledge: Knowledge, rng: Rng) -> Steps[Built]:
    most = _most_redraws(knowledge)
    for number in range(most + 1):
        if number:
            case_id = drawn_id(digest_value([job.seed, "drawn again", number]), place)
        case = draw_case(case_id, {}, knowledge, rng)
        yield
        try:
            premise, record = yield from _follow_case(case, job, wanted, knowledge, rng)
        except PremiseConflict:
            if number == most:
                raise
            continue
        return Built(case_id, premise, record, number + 1)
    raise AssertionError("the last draw returns or raises")


def _follow_case(case: Case, job: Job, wanted: Wanted, knowledge: Knowledge, rng: Rng) -> Steps[tuple[Premise, Record]]:
    premise = derive_premise(case, job, knowledge, rng)
    for conflict in check_premise(premise, case, knowledge):
        raise PremiseConflict(conflict.place, conflict.found, conflict.limit, do=conflict.do, kind=conflict.kind)
    yield
    world = follow_world(premise, knowledge, rng, wanted.parts(), has_daily=wanted.has_daily, has_notes=wanted.has_notes)
    _, chart = yield from world
    return premise, chart.record


@lru_cache(maxsize=8)
def _most_redraws(knowledge: Knowledge) -> int:
    return int(knowledge.parameter("build.most_redraws"))
