"""kill -9 at random points of build and run. Afterwards the same command completes, and no row is lost or doubled."""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from common import clinworld_bin, print_table, save

JOB = "early_warning-20"
SHARE = (0.02, 0.95)  # of the undisturbed duration, when a kill falls
MOST_TRIES = 4  # for one hit, on average


def start_and_kill(command: list[str], folder: Path, after_s: float) -> bool:
    """True when the process was still running and was killed."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(timeout=after_s)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True


def rows(path: Path) -> list[dict[str, object]]:
    """All rows of a JSONL file; none when it is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def cell(row: dict[str, object]) -> tuple[object, ...]:
    """What identifies a turn of a cell."""
    return tuple(row.get(name) for name in ("item_id", "agent", "episode", "probe_set", "repeat", "turn"))


def same_content(batch: Path, other: Path, name: str) -> bool:
    """True when two batches hold the same rows, whatever their order."""
    return sorted((batch / name).read_text().splitlines()) == sorted((other / name).read_text().splitlines())


def measure(command: list[str], folder: Path) -> float:
    """Wall seconds of one undisturbed run of a command."""
    began = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def kill_until_hit(
    name: str, build: list[str], run: list[str], temporary: Path, base: Path, hits: int, duration_s: float, points: random.Random
) -> tuple[int, int, list[str]]:
    """Kill at random points until `hits` kills met a running process. (tries, hits, faults).

    The machine may be busier or idler than when the duration was measured: each command that ends before its kill shortens the delays
    to come, each that is killed lengthens them again, towards the measured duration.
    """
    command, faults, tries, hit, scale = (build if name == "build" else run), [], 0, 0, 1.0
    while hit < hits and tries < MOST_TRIES * hits:
        folder = temporary / f"{name}{tries}"
        folder.mkdir()
        if name == "run":
            subprocess.run(build, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        was_running = start_and_kill(command, folder, points.uniform(*SHARE) * duration_s * scale)
        scale = min(1.0, scale * 1.02) if was_running else scale * 0.9
        tries, hit = tries + 1, hit + was_running
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        faults += check(folder, base, name, done)
        shutil.rmtree(folder)
    return tries, hit, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="kills of a running process, for each verb")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    points = random.Random(asked.seed)
    program = str(clinworld_bin() / "clinworld")
    build, run = [program, "build", JOB, "--quiet"], [program, "run", JOB, "--offline", "--quiet"]
    table, faults = [], []
    with tempfile.TemporaryDirectory() as temporary:
        clean = Path(temporary) / "clean"
        clean.mkdir()
        durations = {"build": measure(build, clean), "run": measure(run, clean)}
        base = next((clean / "artifacts" / JOB).glob("2*"))
        for name, duration_s in durations.items():
            tries, hits, found = kill_until_hit(name, build, run, Path(temporary), base, asked.times, duration_s, points)
            table.append((name, round(duration_s, 2), tries, hits, len(found)))
            faults += found
    print_table(("verb", "undisturbed s", "tries", "killed while running", "faults"), table)
    for fault in faults:
        print("  " + fault)
    save("kills", {"columns": ["verb", "undisturbed_s", "tries", "hits", "faults"], "table": table, "faults": faults})
    raise SystemExit(1 if faults or any(row[3] < asked.times for row in table) else 0)


def check(folder: Path, base: Path, verb: str, done: subprocess.CompletedProcess[str]) -> list[str]:
    """What is wrong after the second try."""
    where = f"{verb} in {folder.name}"
    batches = sorted((folder / "artifacts" / JOB).glob("2*"))
    if done.returncode != 0:
        return [f"{where}: exit {done.returncode}: {done.stderr[-300:]}"]
    found = []
    for batch in batches:
        for name in ("items.jsonl", "gold.jsonl"):
            if not same_content(batch, base, name):
                found.append(f"{where}: {name} differs from an undisturbed build")
    if verb == "run":
        for name in ("responses.jsonl", "eval.jsonl"):
            keys = [cell(row) for row in rows(batches[-1] / name)]
            if len(keys) != len(set(keys)):
                found.append(f"{where}: {name} holds a row twice")
            if not same_content(batches[-1], base, name):
                found.append(f"{where}: {name} differs from an undisturbed run")
    leftovers = [path.name for path in (folder / "artifacts" / JOB).glob(".building-*")]
    if leftovers:
        found.append(f"{where}: left behind {leftovers}")
    return found


if __name__ == "__main__":
    main()
