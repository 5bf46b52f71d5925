"""Random patients in whom nothing impossible may be found: half as forecasting draws them, half with a hidden condition, every part built.

Each check of `gates/impossible.py` counts the patients it looked at and those with a finding; the first findings are printed with place
and value. Draws that the world refuses because their values contradict each other are counted apart.
"""

import argparse
import sys
from collections import Counter
from multiprocessing import Pool
from typing import Any, NamedTuple

from common import print_table, save

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.gates.impossible import CHECKS, World, find_impossible
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.job import Job
from clinworld.schema.premise import Premise
from clinworld.schema.record import PARTS
from clinworld.world.build import build_world
from clinworld.world.draw import draw_case
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.premise import check_premise, derive_premise

SHOWN = 5  # findings of a check that are kept
BLOCK = 100  # patients of one piece of work
WORKER: dict[str, Any] = {}  # knowledge, rng, job and conditions of a worker process


def plan_patient(place: int, conditions: tuple[str, ...], job: Job, knowledge: Knowledge, rng: Rng) -> Premise:
    """Patient number `place`: at even places drawn as for forecasting, at odd ones with a hidden condition, each in turn."""
    if place % 2:
        return plan_presenting(f"random.{place}", conditions[place // 2 % len(conditions)], job, knowledge, rng)
    case = draw_case(f"random.{place}", {}, knowledge, rng)
    premise = derive_premise(case, job, knowledge, rng)
    for conflict in check_premise(premise, case, knowledge):
        raise PremiseConflict(conflict.place, conflict.found, conflict.limit, do=conflict.do, kind=conflict.kind)
    return premise


class Looked(NamedTuple):
    """What was seen of one block of patients: how many, refusals of the world by kind, findings as (check, place, line to print)."""

    patients: int
    refused: dict[str, int]
    findings: list[tuple[str, str, str]]


def start(seed: str) -> None:
    """What every worker keeps."""
    knowledge = load_knowledge()
    conditions = tuple(name for name, row in knowledge.conditions.items() if not row.is_name_only)
    WORKER.update(knowledge=knowledge, rng=Rng(seed), job=drawn_job(seed), conditions=conditions)


def look(places: range) -> Looked:
    """All checks over the patients at some places; a patient counts once for each check that finds something."""
    knowledge, rng, looked, refused = WORKER["knowledge"], WORKER["rng"], 0, Counter[str]()
    seen: list[tuple[str, str, str]] = []
    for place in places:
        try:
            premise = plan_patient(place, WORKER["conditions"], WORKER["job"], knowledge, rng)
            course, chart = build_world(premise, knowledge, rng, frozenset(PARTS))
        except PremiseConflict as conflict:
            refused[str(conflict.kind)] += 1
            continue
        looked += 1
        hidden = f" with {premise.presenting.condition}" if premise.presenting else ""
        for name, findings in find_impossible(World(premise, course, chart, knowledge, rng)).items():
            if findings:
                seen.append((name, findings[0].place.split(",")[0], f"{premise.case_id}{hidden}: {findings[0]}"))
    return Looked(looked, dict(refused), seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=50_000)
    parser.add_argument("--seed", default="impossible")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    blocks = [range(first, min(first + BLOCK, options.patients)) for first in range(0, options.patients, BLOCK)]
    looked, refused, with_finding, kinds = 0, Counter[str](), Counter[str](), Counter[str]()
    shown: dict[str, list[str]] = {name: [] for name in CHECKS}
    with Pool(options.workers, initializer=start, initargs=(options.seed,)) as pool:
        for number, block in enumerate(pool.imap(look, blocks), 1):
            looked += block.patients
            refused.update(block.refused)
            for name, place, line in block.findings:
                with_finding[name] += 1
                kinds[f"{name}: {place}"] += 1
                shown[name] += [line] if len(shown[name]) < SHOWN else []
                print(f"{name}: {line}", file=sys.stderr, flush=True)
            if number % 10 == 0:
                print(f"{looked} patients, {with_finding.total()} findings", file=sys.stderr, flush=True)
    print_table(("check", "patients", "with a finding"), [(name, looked, with_finding[name]) for name in CHECKS])
    for name, lines in shown.items():
        for line in lines:
            print(f"{name}: {line}")
    print(f"\n{looked} patients looked at, {refused.total()} draws refused by the world ({dict(refused)})")
    counts = {name: with_finding[name] for name in CHECKS}
    told = {"refused": dict(refused), "with_finding": counts, "shown": shown, "kinds": dict(kinds.most_common(40))}
    save("impossible", {"patients": looked, "seed": options.seed, **told})


if __name__ == "__main__":
    main()
