"""CPU milliseconds of our own stages, warm, best of several: a case built, a cell answered and judged, the stamps, the knowledge."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import print_table, save

from clinworld.cli.target import open_job
from clinworld.core.rng import Rng
from clinworld.knowledge.check import check_knowledge
from clinworld.knowledge.load import Knowledge
from clinworld.provenance import source_text
from clinworld.provenance.stamps import compute_stamps
from clinworld.run.build import build_batch
from clinworld.run.build_case import build_case
from clinworld.run.run_batch import run_batch
from clinworld.run.verify import verify_batch

JOBS = ("example-ew", "early_warning-20", "tracking_review-20")


def best_ms(work: Callable[[], object], *, times: int = 3) -> float:
    """The least CPU time of several runs, in ms; the least is what other work on the machine disturbed least."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(1000 * (time.process_time() - began))
    return round(min(taken), 2)


def cold_load_ms(*, times: int = 5) -> float:
    """The least CPU time in which a fresh process reads every row, imports left out; it may take 400 ms."""
    code = (
        "import time; from clinworld.knowledge.load import KINDS, load_knowledge\n"
        "began = time.process_time(); knowledge = load_knowledge()\n"
        "for kind in KINDS: list(knowledge.table(kind).values())\n"
        "print(1000 * (time.process_time() - began))"
    )
    told = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(times)]
    return round(min(float(line) for line in told), 2)


def main() -> None:
    rows: list[tuple[str, float, str]] = []
    for name in JOBS:
        setting, job = open_job(name)
        rng = Rng(job.seed)

        def build_all(setting=setting, job=job, rng=rng) -> None:
            for case in job.cases:
                build_case(case, job, setting.pack, setting.knowledge, rng)

        rows.append((f"build a case, {name}", round(best_ms(build_all) / len(job.cases), 2), "ms"))
        with tempfile.TemporaryDirectory() as folder:
            batch = build_batch(job, setting.pack, setting.knowledge, Path(folder)).batch
            items = len(batch.items())
            verified = best_ms(lambda batch=batch, setting=setting: verify_batch(batch, setting.pack, setting.knowledge), times=2)
            rows.append((f"verify an item, {name}", round(verified / items, 2), "ms"))
            began = time.process_time()
            summary = run_batch(batch, (), setting.pack, setting.knowledge, offline=True)
            rows.append((f"answer and judge a cell, {name}", round(1000 * (time.process_time() - began) / summary.cells, 2), "ms"))
    folder = setting.pack.pack.folder

    def stamps() -> None:
        source_text.python_form.cache_clear()
        compute_stamps(folder)

    rows.append(("stamps of the program", best_ms(stamps), "ms"))
    rows.append(("read all knowledge, cold", cold_load_ms(), "ms"))
    rows.append(("load and check all knowledge", best_ms(lambda: list(check_knowledge(Knowledge()))), "ms"))
    print_table(("stage", "CPU", ""), rows)
    save("speed", {"table": rows})


if __name__ == "__main__":
    main()
