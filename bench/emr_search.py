"""Every sequence of actions on emr_write up to a length, judged by the checker and by the slow oracle, and by the naive checks beside them.

`--most 3` is shorter; `--corpus` also searches the minimal counterexamples again and writes them into the package.
"""

import argparse
import time
from typing import Any

from common import print_table, save

from clinworld.packs.emr_write.checker.witnesses import WITNESSES
from clinworld.packs.emr_write.search.cases import build_task, spell
from clinworld.packs.emr_write.search.corpus import find_counterexamples, write_corpus
from clinworld.packs.emr_write.search.walk import READINGS, Walked, walk_sequences
from clinworld.packs.emr_write.store.sqlite import SqliteStore

TASKS = ("mockmed", "openemr", "visit_with_observation", "medication_request")
SHORTER = ("medication_request",)  # nineteen letters; one letter less keeps the bench within minutes


def tell(task: str, most: int, walked: Walked, seconds: float) -> dict[str, Any]:
    """One walk as numbers."""
    numbers: dict[str, Any] = {"task": task, "letters": len(spell(task)), "longest": most, "sequences": walked.sequences}
    for reading in READINGS:
        counts = walked.counts[reading]
        numbers[reading] = {
            "right": counts[True, True] + counts[False, True],
            "wrong": counts[True, False] + counts[False, False],
            "paid_wrong": walked.paid_wrong(reading),
            "refused_right": walked.refused_right(reading),
        }
    numbers["other_outcome"] = len(walked.disagreements)
    numbers["naive_paid_wrong"] = {name: walked.fooled[name] for name in WITNESSES}
    return numbers | {"seconds": round(seconds, 1)}


def main() -> None:
    """Walk, print, save; exit 1 where checker and slow oracle differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=4, help="longest sequence")
    parser.add_argument("--corpus", action="store_true", help="search the corpus again and write it")
    options = parser.parse_args()
    results = []
    for task in TASKS:
        most = options.most - 1 if task in SHORTER else options.most
        began = time.perf_counter()
        walked = walk_sequences(build_task(task), spell(task), most=most)
        results.append(tell(task, most, walked, time.perf_counter() - began))
        print(f"{task}, length <= {most}: " + "; ".join(walked.show()), flush=True)
    header = (
        "task",
        "letters",
        "longest",
        "sequences",
        "net wrong paid",
        "net right refused",
        "clean wrong paid",
        "clean right refused",
        "s",
    )
    table = [
        (
            each["task"],
            each["letters"],
            each["longest"],
            each["sequences"],
            *(f"{each[reading][name]}/{each[reading][of]}" for reading in READINGS for name, of in _OF),
            each["seconds"],
        )
        for each in results
    ]
    print_table(header, table)
    print_table(("wrong sequences paid by", *TASKS), [(name, *(each["naive_paid_wrong"][name] for each in results)) for name in WITNESSES])
    if options.corpus:
        store = SqliteStore()
        lines = find_counterexamples(store)
        write_corpus(lines)
        print(f"{len(lines)} counterexamples and controls written")
    save("emr_search", {"walks": results})
    raise SystemExit(any(each["other_outcome"] for each in results))


_OF = (("paid_wrong", "wrong"), ("refused_right", "right"))

if __name__ == "__main__":
    main()
