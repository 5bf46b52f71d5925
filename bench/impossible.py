"""Random patients in whom nothing impossible may be found: half as forecasting draws them, half with a hidden condition, every part built.

Each check of `gates/impossible.py` counts the patients it looked at and those with a finding; the first findings are printed with place
and value. Draws that the world refuses because their values contradict each other are counted apart.
"""

import argparse
import sys
import time
from collections import Counter

from common import print_table, save

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.gates.impossible import CHECKS, World, find_impossible
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.job import Job
from clinworld.schema.premise import Premise
from clinworld.world.build import PARTS, build_world
from clinworld.world.draw import draw_case
from clinworld.world.plan_presenting import plan_presenting
from clinworld.world.premise import check_premise, derive_premise

SHOWN = 5  # findings of a check that are printed


def plan_patient(place: int, conditions: tuple[str, ...], job: Job, knowledge: Knowledge, rng: Rng) -> Premise:
    """Patient number `place`: at even places drawn as for forecasting, at odd ones with a hidden condition, each in turn."""
    if place % 2:
        return plan_presenting(f"random.{place}", conditions[place // 2 % len(conditions)], job, knowledge, rng)
    case = draw_case(f"random.{place}", {}, knowledge, rng)
    premise = derive_premise(case, job, knowledge, rng)
    for conflict in check_premise(premise, case, knowledge):
        raise PremiseConflict(conflict.place, conflict.found, conflict.limit, do=conflict.do, kind=conflict.kind)
    return premise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=50_000)
    parser.add_argument("--seed", default="impossible")
    options = parser.parse_args()
    knowledge, rng, job = load_knowledge(), Rng(options.seed), drawn_job(options.seed)
    conditions = tuple(name for name, row in knowledge.conditions.items() if not row.is_name_only)
    looked, refused = 0, Counter[str]()
    with_finding, kinds = Counter[str](), Counter[str]()
    shown: dict[str, list[str]] = {name: [] for name in CHECKS}
    began = time.process_time()
    for place in range(options.patients):
        try:
            premise = plan_patient(place, conditions, job, knowledge, rng)
            course, chart = build_world(premise, knowledge, rng, frozenset(PARTS))
        except PremiseConflict as conflict:
            refused[str(conflict.kind)] += 1
            continue
        looked += 1
        for name, findings in find_impossible(World(premise, course, chart, knowledge, rng)).items():
            with_finding[name] += bool(findings)
            for finding in findings:
                kinds[f"{name}: {finding.place.split(',')[0]}"] += 1
            if findings and len(shown[name]) < SHOWN:
                hidden = f" with {premise.presenting.condition}" if premise.presenting else ""
                shown[name].append(f"{premise.case_id}{hidden}: {findings[0]}")
                print(f"{name}: {shown[name][-1]}", file=sys.stderr, flush=True)
        if (place + 1) % 1000 == 0:
            print(f"{place + 1} patients, {sum(with_finding.values())} with a finding", file=sys.stderr, flush=True)
    print_table(("check", "patients", "with a finding"), [(name, looked, with_finding[name]) for name in CHECKS])
    for name, texts in shown.items():
        for text in texts:
            print(f"{name}: {text}")
    cpu = time.process_time() - began
    print(f"\n{looked} patients looked at, {refused.total()} draws refused by the world ({dict(refused)}), {cpu:.0f} CPU s")
    counts = {name: with_finding[name] for name in CHECKS}
    save(
        "impossible",
        {"patients": looked, "refused": dict(refused), "with_finding": counts, "shown": shown, "kinds": dict(kinds.most_common(40))},
    )


if __name__ == "__main__":
    main()
