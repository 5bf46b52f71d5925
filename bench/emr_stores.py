"""One verdict from three record systems: SQLite, PostgreSQL and the HTTP facade, over the corpus, every fault and every first action.

Outcome, reward, findings, naive checks and counts must all be the same. PostgreSQL is started here, on a unix socket, and stopped again;
where its binaries or its driver are absent it is reported as not run, never as passed. Exits with 1 where anything differs.
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from common import print_table, save

from clinworld.packs.emr_write.checker.verdict import Verdict
from clinworld.packs.emr_write.search.cases import Case, list_tasks, observe_case
from clinworld.packs.emr_write.search.corpus import list_candidates, read_corpus
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.facade_store import FacadeStore
from clinworld.packs.emr_write.store.postgres import PostgresStore
from clinworld.packs.emr_write.store.postgres_cluster import find_postgres, start_postgres
from clinworld.packs.emr_write.store.protocol import SeedRow, Store
from clinworld.packs.emr_write.store.sqlite import SqliteStore

Chart = tuple[SeedRow, ...]


@contextmanager
def open_postgres(chart: Chart) -> Iterator[Store | str]:
    """The store on a cluster of its own, or why there is none."""
    binaries = find_postgres()
    if binaries is None or importlib.util.find_spec("psycopg") is None:
        yield "not run: no PostgreSQL binaries" if binaries is None else "not run: psycopg is not installed"
        return
    with start_postgres(binaries) as conninfo:
        store = PostgresStore(chart, conninfo=conninfo)
        yield store
        store.close()


def show(verdict: Verdict) -> tuple[Any, ...]:
    """All of a verdict that must be the same."""
    found = sorted((finding.rule, finding.label) for finding in verdict.findings)
    return verdict.outcome, verdict.reward, found, dict(verdict.witnesses), dict(verdict.metrics)


def compare(store: Store, cases: list[Case], wanted: Mapping[Case, tuple[Any, ...]]) -> dict[str, Any]:
    """How many verdicts differ, and how long an episode takes."""
    began = time.perf_counter()
    verdicts = {case: show(observe_case(store, case).judge()) for case in cases}
    seconds = time.perf_counter() - began
    differing = [case.case_id for case in cases if wanted and verdicts[case] != wanted[case]]
    row = {
        "state": "run",
        "cases": len(cases),
        "differing": len(differing),
        "first": differing[:10],
        "ms_a_case": 1000 * seconds / len(cases),
    }
    return {**row, "verdicts": verdicts}


def main() -> int:
    """Compare, print one table, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--rows", type=int, default=300, help="rows of the chart that nobody asks about")
    given = parser.parse_args()
    first = [case for task in list_tasks() for case in list_candidates(task, 1)]
    cases = list(dict.fromkeys([line.case for line in read_corpus()] + first))[:: given.every]
    outcomes = {line.case: line.outcome for line in read_corpus()}
    chart = draw_bulk(seed=1, rows=given.rows)
    makers: Mapping[str, Callable[[Chart], Any]] = {"sqlite": SqliteStore, "facade": FacadeStore, "postgresql": open_postgres}
    results: dict[str, Any] = {}
    wanted: Mapping[Case, tuple[Any, ...]] = {}
    for name, make in makers.items():
        with ExitStack() as stack:
            made = make(chart)
            store = stack.enter_context(made) if name == "postgresql" else made
            if isinstance(store, str):
                results[name] = {"state": store}
                continue
            results[name] = compare(store, cases, wanted)
            verdicts = results[name].pop("verdicts")
            wanted = wanted or verdicts
            results[name]["off_corpus"] = sum(verdicts[case][0] != outcomes[case] for case in cases if case in outcomes)
            if name != "postgresql":
                store.close()
    header = ("store", "state", "cases", "differing", "not as the corpus says", "ms a case")
    shown = ("state", "cases", "differing", "off_corpus", "ms_a_case")
    print_table(header, [(name, *(row.get(key, "-") for key in shown)) for name, row in results.items()])
    save("emr_stores", {"stores": results, "corpus": len(outcomes)})
    return 1 if any(row.get("differing") or row.get("off_corpus") for row in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
