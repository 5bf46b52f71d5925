"""What a cohort costs: Parquet rows per CPU second end to end, CPU by number of patients and by days, peak memory, and peers beside it.

CPU is user and system time of one process on one core, the least of several tries. A peer's measurements are the numeric observations it
writes; rates are marginal, (more − fewer) / (CPU of more − CPU of fewer), so that nobody's start-up counts.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from common import PEER, RESULTS, ROOT, clinworld_bin, make_environment, print_table, reference_jobs, run_timed, save
from peers import first_case

TIMES = 2
DAILY, WITHOUT = (125, 250, 500, 1000), (250, 500, 1000, 2000)
MANY = (5_000, 200_000)  # without daily streams, once each: whether memory grows
PATIENTS_BY_DAYS = 500
PLOT = ROOT / "docs" / "images" / "cohort.png"


class Run(NamedTuple):
    """One size of one program: patients (or what it calls so), measurements or rows, CPU seconds, peak MB."""

    patients: int
    rows: int
    cpu_s: float
    peak_mb: float


def measure_ours(patients: int, *, has_daily: bool, times: int = TIMES) -> Run:
    """A cohort through the command line, start-up included."""
    tries = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            command = [str(clinworld_bin() / "python"), "-m", "clinworld", "cohort", "--patients", str(patients), "--seed", "1"]
            command += ["--out", folder + "/c", "--quiet", *([] if has_daily else ["--without-daily"])]
            done = run_timed(command, cwd=Path(folder))
            if done.code:
                raise SystemExit(done.err)
            rows = json.loads((Path(folder) / "c" / "cohort.json").read_text())["counts"]["rows"]
            tries.append(Run(patients, rows, done.cpu_s, done.peak_mb))
    return min(tries, key=lambda run: run.cpu_s)


def measure_memory() -> dict[str, Any]:
    """Peak memory of many patients."""
    runs = [measure_ours(n, has_daily=False, times=1) for n in MANY]
    for run in runs:
        print(f"{run.patients:,} patients without daily streams: {run.peak_mb:.0f} MB at most, {run.cpu_s:.0f} s CPU")
    return {"date": time.strftime("%Y-%m-%d"), "runs": [run._asdict() for run in runs]}


def measure_days() -> dict[int, float]:
    """Mean CPU ms of building a patient and its rows, by length of the course in days."""
    from clinworld.cohort.patient import Wanted, build_patient, drawn_job
    from clinworld.cohort.places import list_case_ids, name_case
    from clinworld.cohort.rows import RowBlock
    from clinworld.core.rng import Rng
    from clinworld.knowledge.load import load_knowledge

    knowledge, job, rng = load_knowledge(), drawn_job("1"), Rng("1")
    block, ids = RowBlock(knowledge), list_case_ids("1", 0, PATIENTS_BY_DAYS).tolist()
    best: dict[int, tuple[int, float]] = {}
    for _ in range(TIMES + 1):  # the first round also fills what is kept about knowledge
        for place, number in enumerate(ids):
            began = time.thread_time()
            built = build_patient(place, name_case(number), job, Wanted(), knowledge, rng)
            block.add(built.record)
            block.take()
            spent = 1000 * (time.thread_time() - began)
            best[place] = built.record.last_day, min(spent, best.get(place, (0, spent))[1])
    by_days: dict[int, list[float]] = defaultdict(list)
    for days, spent in best.values():
        by_days[days].append(spent)
    return {days: sum(spent) / len(spent) for days, spent in sorted(by_days.items())}


def fit_line(points: dict[float, float]) -> tuple[float, float, float]:
    """(slope, intercept, largest deviation of a point from the line as a share of the point)."""
    n, x, y = len(points), list(points), list(points.values())
    mean_x, mean_y = sum(x) / n, sum(y) / n
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    start = mean_y - slope * mean_x
    return slope, start, max(abs(start + slope * a - b) / b for a, b in zip(x, y, strict=True))


def marginal(fewer: Run, more: Run) -> float:
    """Rows per CPU second of what `more` makes beyond `fewer`."""
    return (more.rows - fewer.rows) / (more.cpu_s - fewer.cpu_s)


def count_observations(folder: Path) -> int:
    """Numeric observations and components in the FHIR files under a folder, bundles or one resource a line."""
    total = 0
    for path in [*folder.rglob("*.json"), *folder.rglob("*.ndjson")]:
        if path.suffix == ".ndjson" and "Observation" not in path.name:
            continue
        texts = path.read_text().splitlines() if path.suffix == ".ndjson" else [path.read_text()]
        for text in texts:
            row = json.loads(text)
            resources = [entry.get("resource", {}) for entry in row.get("entry", [])] if row.get("resourceType") == "Bundle" else [row]
            for resource in resources:
                if resource.get("resourceType") == "Observation":
                    total += "valueQuantity" in resource
                    total += sum("valueQuantity" in part for part in resource.get("component", []))
    return total


def run_peer(command: list[str], folder: Path, size: int, count: Callable[[Path], int]) -> Run:
    """One size of a peer."""
    done = run_timed(command, cwd=folder)
    if done.code:
        raise RuntimeError(f"exit {done.code}: {done.err[-300:]}")
    return Run(size, count(folder), done.cpu_s, done.peak_mb)


def measure_haenv(name: str, size: int, folder: Path) -> Run:
    """The `build` of its own job of 20 cases, its gates included; readings up to T, which is what it writes."""
    job = reference_jobs()["early_warning-20"]
    job = job if size > 1 else first_case(job, folder)
    command = [str(make_environment(name, [PEER]) / "haenv"), "--gen", "deterministic", "--offline", "build", str(job)]

    def count(where: Path) -> int:
        shown = [json.loads(line)["sp"] for path in where.rglob("payloads.jsonl") for line in path.read_text().splitlines()]
        return sum(len(series) for each in shown for series in each["longitudinal_data"].values())

    done = run_timed(command, cwd=folder, env={"HAENV_OUTPUT_ROOT": str(folder)})
    if done.code:
        raise RuntimeError(f"exit {done.code}: {done.err[-300:]}")
    return Run(size, count(folder), done.cpu_s, done.peak_mb)


def measure_clinosim(name: str, size: int, folder: Path) -> Run:
    """A catchment population of `size`, one year."""
    program = make_environment(name, ["clinosim"]) / "clinosim"
    command = [str(program), "simulate", "-p", str(size), "-s", "1", "-o", str(folder / "out"), "--format", "fhir"]
    return run_peer(command, folder, size, count_observations)


def measure_carebundle(name: str, size: int, folder: Path) -> Run:
    """Patients of mixed profiles, one encounter each."""
    program = make_environment(name, ["carebundle"]) / "carebundle"
    command = [str(program), "generate", "--count", str(size), "--profile", "mixed", "--format", "ndjson", "--out", str(folder / "out")]
    return run_peer(command, folder, size, count_observations)


def measure_synthea(name: str, size: int, folder: Path) -> Run:
    """Patients with the whole of their lives."""
    program = make_environment(name, ["tietai-synthea"]) / "synthea"
    return run_peer([str(program), "-p", str(size), "-s", "1", "-o", str(folder / "out")], folder, size, count_observations)


PEERS: dict[str, tuple[Callable[[str, int, Path], Run], tuple[int, int]]] = {
    "haenv": (measure_haenv, (1, 20)),
    "clinosim": (measure_clinosim, (40, 160)),
    "carebundle": (measure_carebundle, (50, 400)),
    "tietai-synthea": (measure_synthea, (2, 8)),
}


def compare_peers(ours: float) -> list[tuple[Any, ...]]:
    """(program, version, measurements per CPU second, ours as a multiple of it, what was run) or what kept it from being measured."""
    rows: list[tuple[Any, ...]] = [("clinworld", "this tree", round(ours), "", "A cohort with daily streams; no gate is run on it.")]
    for name, (measure, sizes) in PEERS.items():
        try:
            runs = []
            for size in sizes:
                with tempfile.TemporaryDirectory() as folder:
                    runs.append(measure(name, size, Path(folder)))
            rate = marginal(*runs)
            rows.append((name, installed_version(name), round(rate), f"{ours / rate:,.0f}x", measure.__doc__))
        except subprocess.CalledProcessError:
            rows.append((name, "", "did not install", "", ""))
        except (RuntimeError, OSError) as problem:
            rows.append((name, "", f"did not run: {problem}"[:80], "", ""))
    return rows


def installed_version(name: str) -> str:
    """The version in a peer's environment."""
    code = f"import importlib.metadata as m; print(m.version({name!r}))"
    return subprocess.run([str(make_environment(name, [name]) / "python"), "-c", code], capture_output=True, text=True).stdout.strip()


def plot(daily: list[Run], without: list[Run], by_days: dict[int, float]) -> None:
    """Cost by patients and by days, as a picture for the docs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for runs, label, colour in ((daily, "with daily streams", "#0b6e99"), (without, "without", "#c8553d")):
        slope, start, _ = fit_line({run.patients: run.cpu_s for run in runs})
        sizes = [run.patients for run in runs]
        left.plot(sizes, [start + slope * n for n in sizes], color=colour, linewidth=1)
        left.plot(sizes, [run.cpu_s for run in runs], "o", color=colour, label=f"{label}: {1000 * slope:.1f} ms a patient")
        right.plot(sizes, [run.peak_mb for run in runs], "o-", color=colour, label=label)
    slope, start, _ = fit_line({float(days): spent for days, spent in by_days.items()})
    middle.plot(list(by_days), [start + slope * days for days in by_days], color="#0b6e99", linewidth=1)
    middle.plot(list(by_days), list(by_days.values()), "o", color="#0b6e99", label=f"{start:.1f} ms + {365 * slope:.1f} ms a year")
    for axis, title, x, y in (
        (left, "CPU by patients", "patients", "CPU seconds, one core"),
        (middle, "CPU by length of the course", "days", "CPU ms a patient"),
        (right, "Peak memory", "patients", "MB"),
    ):
        axis.set(title=title, xlabel=x, ylabel=y, xlim=(0, None), ylim=(0, None))
        axis.legend(frameon=False)
        axis.spines[["top", "right"]].set_visible(False)
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOT, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-peers", action="store_true", help="leave out the peers")
    parser.add_argument("--keep-memory", action="store_true", help="keep the peak memory of many patients that the last results hold")
    parser.add_argument("--only-memory", action="store_true", help="measure that alone (half an hour) and put it into the last results")
    options = parser.parse_args()
    path = RESULTS / "cohort.json"
    written = json.loads(path.read_text()) if options.keep_memory or options.only_memory else {}
    if options.only_memory:
        path.write_text(json.dumps({**written, "memory": measure_memory()}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    daily = [measure_ours(n, has_daily=True) for n in DAILY]
    without = [measure_ours(n, has_daily=False) for n in WITHOUT]
    by_days = measure_days()
    rate = marginal(daily[0], daily[-1])
    rows = [
        (kind, run.patients, run.rows, round(run.cpu_s, 2), round(run.rows / run.cpu_s), round(run.peak_mb))
        for kind, runs in (("daily", daily), ("without daily", without))
        for run in runs
    ]
    print_table(("cohort", "patients", "rows", "CPU s", "rows / CPU s", "peak MB"), rows)
    fits = {
        "daily_by_patients": fit_line({float(run.patients): run.cpu_s for run in daily}),
        "without_daily_by_patients": fit_line({float(run.patients): run.cpu_s for run in without}),
        "by_days": fit_line({float(days): spent for days, spent in by_days.items()}),
    }
    print(f"\nrows per CPU second of a further patient with daily streams: {rate:,.0f} (wanted: 1,000,000)")
    for name, (slope, start, off) in fits.items():
        print(f"{name}: {slope:.3g} a unit + {start:.3g}, no point farther than {100 * off:.0f} % from the line")
    memory = written["memory"] if options.keep_memory else measure_memory()
    peers = [] if options.without_peers else compare_peers(rate)
    if peers:
        print()
        print_table(("program", "version", "measurements / CPU s", "clinworld", "what"), peers)
    plot(daily, without, by_days)
    save("cohort", {"runs": rows, "rows_per_cpu_s": round(rate), "ms_by_days": by_days, "lines": fits, "memory": memory, "peers": peers})


if __name__ == "__main__":
    sys.exit(main())
