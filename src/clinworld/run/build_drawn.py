"""Builds the cases of a job, and draws again those drawn ones that were refused. A written case is never drawn again.

A drawn case is nobody's wish, so one that the gates refuse is replaced by another patient with the same labels of the mix. Each further
draw has its own ids and is a function of seed, place and number alone; the refused draws stay in the audit.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from clinworld.core.digest import digest_value
from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.build_case import BuiltCase
from clinworld.schema.job import Case, Job

Draws = tuple[BuiltCase, ...]  # what became of one place in a job: the last draw counts, those before it were refused


def build_with_redraws(
    cases: Sequence[Case],
    job: Job,
    pack: LoadedPack,
    knowledge: Knowledge,
    build: Callable[[Sequence[Case]], Iterator[BuiltCase]],
    advance: Callable[[], None] = lambda: None,
) -> list[Draws]:
    """For each case its draws, in the order of `cases`. `advance` is called once a place, after its first draw."""
    draws: list[Draws] = []
    for built in build(cases):
        draws.append((built,))
        advance()
    taken = {case.case_id for case in cases}
    for number in range(1, int(knowledge.parameter("build.most_redraws")) + 1):
        refused = [place for place in range(len(job.cases), len(cases)) if not draws[place][-1].is_emitted]
        if not refused:
            break
        again = redraw_cases(job, pack, knowledge, number, refused, taken)
        taken |= {case.case_id for case in again.values()}
        for place, built in zip(again, build(list(again.values())), strict=True):
            draws[place] = (*draws[place], built)
    return draws


def redraw_cases(
    job: Job, pack: LoadedPack, knowledge: Knowledge, number: int, places: Iterable[int], taken: Collection[str]
) -> dict[int, Case]:
    """Place → another case with the same labels of the mix; a place whose id is taken is left out, and has its turn in the next draw."""
    # Ids come from the job's seed and labels from the generator, so another seed beside the same generator keeps the labels of a place.
    other = replace(job, seed=digest_value([job.seed, "drawn again", number]))
    cases = pack.draw_cases(other, knowledge, Rng(job.seed))
    found = {place: cases[place - len(job.cases)] for place in places}
    return {place: case for place, case in found.items() if case.case_id not in taken}
