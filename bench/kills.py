"""kill -9 at random points of build and run. Afterwards the same command completes, and no row is lost or doubled."""

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from common import clinworld_bin, print_table, save

JOB = "early_warning-20"


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    points = random.Random(asked.seed)
    program = str(clinworld_bin() / "clinworld")
    build, run = [program, "build", JOB, "--quiet"], [program, "run", JOB, "--offline", "--quiet"]
    table, faults = [], []
    with tempfile.TemporaryDirectory() as temporary:
        clean = Path(temporary) / "clean"
        clean.mkdir()
        times = {}
        for name, command in (("build", build), ("run", run)):
            began = time.monotonic()
            subprocess.run(command, cwd=clean, check=True, stdout=subprocess.DEVNULL)
            times[name] = time.monotonic() - began
        base = next((clean / "artifacts" / JOB).glob("2*"))
        for name, command in (("build", build), ("run", run)):
            killed = 0
            for time_no in range(asked.times):
                folder = Path(temporary) / f"{name}{time_no}"
                folder.mkdir()
                if name == "run":
                    subprocess.run(build, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                killed += start_and_kill(command, folder, points.uniform(0.05, 1.0) * times[name])
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                faults += check(folder, base, name, done)
            table.append((name, asked.times, killed, len([fault for fault in faults if fault.startswith(name)])))
    print_table(("verb", "times", "killed while running", "faults"), table)
    for fault in faults:
        print("  " + fault)
    save("kills", {"table": table, "faults": faults})
    raise SystemExit(1 if faults else 0)


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
