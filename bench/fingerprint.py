"""Whether anything but medicine tells a condition from those that share a symptom with it: every condition, with planted constants.

For each condition, pairs of patients alike in age band, sex, what is treated, tempo and number of things told; the largest
cross-validated AUC of two detectors against its null from label permutations. The rule, for all conditions together:

- a condition passes where p > 0.01. One in a hundred fails that by chance alone, so
- where p is at most 0.01, the permutations are raised, and Holm's adjustment over all conditions says whether any is told family-wise;
- each of these is drawn once more, with fresh patients and three times as many pairs, which nobody looked at before: a trace that is
  real is found again (p <= 0.01), one of chance is not. What is found again is told, whatever Holm says.
- a condition in which a planted constant is missed is unmeasured.

With `--conditions` only these are measured, and the run is added to the result file beside the run over all.
"""

import argparse
import json
import sys
import time
from functools import partial
from multiprocessing import Pool
from typing import Any

from common import RESULTS, print_table, save

from clinworld.cohort.patient import drawn_job
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.gates.fingerprint import Checked, check_fingerprint, find_fingerprint, holm, read_marks
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.schema.job import Job
from clinworld.schema.record import PARTS, Record
from clinworld.world.build import build_world
from clinworld.world.plan_presenting import list_peers, plan_pair

PERMUTATIONS, REFINED, LIMIT = 999, 19_999, 0.01
MOST_TRIES = 5  # draws of a pair for each pair wanted
CONFIRM, TIMES = " again", 3  # the fresh sample: what its seed adds to the run's, and how many times as many pairs it has
NAME = "fingerprint"
WORKER: dict[str, Any] = {}  # knowledge, rng and job of a worker process


def build_pairs(condition: str, pairs: int, job: Job, knowledge: Knowledge, rng: Rng) -> tuple[list[Record], list[Record]]:
    """Records up to the index day of patients with a condition and of their partners."""
    one: list[Record] = []
    other: list[Record] = []
    for place in range(MOST_TRIES * pairs):
        if len(one) == pairs:
            break
        try:
            planned = plan_pair(f"{condition}.{place}", condition, job, knowledge, rng)
            if planned is None:
                continue
            built = [build_world(premise, knowledge, rng, frozenset(PARTS))[1].record.until(premise.index_day) for premise in planned]
        except PremiseConflict:
            continue
        one.append(built[0])
        other.append(built[1])
    return one, other


def refine(checked: Checked, one: list[Record], other: list[Record], knowledge: Knowledge) -> float:
    """The p value, from more permutations where few gave a small one."""
    if checked.found.p > LIMIT:
        return checked.found.p
    return find_fingerprint(read_marks([*one, *other], knowledge), REFINED).p


def start(seed: str) -> None:
    """What every worker keeps."""
    WORKER.update(knowledge=load_knowledge(), rng=Rng(seed), job=drawn_job(seed))


def measure(condition: str, *, pairs: int) -> dict[str, Any]:
    """The row of one condition; without a p value where there are too few pairs."""
    knowledge, began = WORKER["knowledge"], time.process_time()
    one, other = build_pairs(condition, pairs, WORKER["job"], knowledge, WORKER["rng"])
    row = {"condition": condition, "peers": len(list_peers(condition, knowledge)), "pairs": len(one)}
    if len(one) < pairs:
        return row
    checked = check_fingerprint(one, other, knowledge, PERMUTATIONS, LIMIT)
    row |= {**checked.found._asdict(), "p_refined": refine(checked, one, other, knowledge), "measured": checked.is_measured}
    row |= {f"planted: {what}": {"mark": each.mark, "p": each.p} for what, each in checked.planted}
    return {**row, "cpu_s": round(time.process_time() - began, 1)}


def measure_all(names: list[str], pairs: int, seed: str, workers: int) -> list[dict[str, Any]]:
    """The rows of some conditions, those with enough pairs, with Holm's adjustment over them."""
    rows: list[dict[str, Any]] = []
    if not names:
        return rows
    with Pool(workers, initializer=start, initargs=(seed,)) as pool:
        for row in pool.imap(partial(measure, pairs=pairs), names):
            if "p" in row:
                rows.append(row)
                print("{condition}: {detector} {auc:.3f} ({mark}), p {p_refined:.4f}".format(**row), file=sys.stderr, flush=True)
            else:
                print("{condition}: only {pairs} pairs".format(**row), file=sys.stderr, flush=True)
    for row, p in zip(rows, holm([row["p_refined"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows


def print_rows(rows: list[dict[str, Any]]) -> None:
    """The table of some rows."""
    header = ("condition", "peers", "n a side", "classifier", "best mark", "AUC", "p", "Holm", "measured")
    keys = ("condition", "peers", "pairs", "auc_classifier", "mark", "auc_mark", "p_refined", "p_holm", "measured")
    print_table(header, [tuple(row[key] for key in keys) for row in rows])


def add_run(run: dict[str, Any]) -> None:
    """Add a run over some conditions to the result file of the run over all."""
    path = RESULTS / f"{NAME}.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    kept["further_runs"] = [*kept.get("further_runs", []), run]
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="patients a side")
    parser.add_argument("--seed", default=NAME)
    parser.add_argument("--conditions", nargs="*", help="these only")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    knowledge = load_knowledge()
    every = [name for name, row in knowledge.conditions.items() if not row.is_name_only and list_peers(name, knowledge)]
    rows = measure_all(options.conditions or every, options.pairs, options.seed, options.workers)
    print_rows(rows)
    if options.conditions:
        add_run({"seed": options.seed, "pairs": options.pairs, "rows": rows})
        return
    small = [row["condition"] for row in rows if row["p"] <= LIMIT]
    again = measure_all(small, TIMES * options.pairs, options.seed + CONFIRM, options.workers)
    print("\nfresh samples of those with a small p:")
    print_rows(again)
    found_again = [row["condition"] for row in again if row["p_refined"] <= LIMIT]
    told = [row["condition"] for row in rows if row["p_holm"] <= LIMIT or row["condition"] in found_again]
    unmeasured = [row["condition"] for row in rows if not row["measured"]]
    print(f"\n{len(rows)} conditions with {options.pairs} patients a side (wanted: 80); p <= {LIMIT:g} in {len(small)} of them")
    print(f"({', '.join(small) or 'none'}), {LIMIT * len(rows):.1f} expected by chance; found again in a fresh sample: ")
    print(f"{', '.join(found_again) or 'none'}; told, by Holm or again: {', '.join(told) or 'none'};")
    print(f"a planted constant missed in: {', '.join(unmeasured) or 'none'}; {sum(row['cpu_s'] for row in (*rows, *again)):.0f} CPU s")
    rule = f"p > {LIMIT:g} in each condition; family-wise by Holm; a small p again in a fresh sample of {TIMES} times as many pairs"
    numbers = {"rule": rule, "permutations": PERMUTATIONS, "refined": REFINED, "limit": LIMIT}
    save(NAME, {**numbers, "small": small, "found_again": found_again, "told": told, "rows": rows, "fresh_samples": again})


if __name__ == "__main__":
    main()
