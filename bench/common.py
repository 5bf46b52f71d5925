"""What the benches share: environments, timed commands, tables, results on disk."""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
CACHE = Path(tempfile.gettempdir()) / "clinworld-bench"
PEER = "haenv==1.3.2"
JOBS = ("example-ew", "example-tr", "early_warning-20", "tracking_review-20", "early_warning-t2d-glp1")


class Timed(NamedTuple):
    """One finished command: CPU seconds of it and its children, wall seconds, peak memory in MB."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    code: int
    out: str
    err: str


def run_timed(command: list[str], *, cwd: Path, env: dict[str, str] | None = None) -> Timed:
    """Run a command and measure it alone (a forked waiter reads its resource usage)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=err, env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        texts = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    return Timed(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, process.returncode, *texts)


def make_environment(name: str, packages: list[str]) -> Path:
    """A virtual environment with packages, made once and kept; its `bin` folder. Bytecode is compiled at installation."""
    folder = CACHE / name
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *packages], check=True)
        subprocess.run([str(folder / "bin" / "python"), "-m", "compileall", "-q", str(folder / "lib")], check=False)
        (folder / "ready").touch()
    return folder / "bin"


def clinworld_bin() -> Path:
    """The environment this script runs in, with our bytecode compiled."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "src")], check=False)
    return Path(sys.executable).parent


def reference_jobs() -> dict[str, Path]:
    """The public wheel's own job files by name, unchanged."""
    folder = CACHE / "wheel"
    if not list(folder.glob("*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), PEER], check=True)
    jobs: dict[str, Path] = {}
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        for entry in wheel.namelist():
            name = Path(entry).name.removesuffix(".job.yaml")
            if entry.endswith(".job.yaml") and name in JOBS:
                target = folder / Path(entry).name
                target.write_bytes(wheel.read(entry))
                jobs[name] = target
    return {name: jobs[name] for name in JOBS}


def print_table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """A plain aligned table."""
    text = [header, *[tuple(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows]]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    for row in text:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def save(name: str, numbers: dict[str, Any]) -> None:
    """Write results/NAME.json with the date and the machine."""
    RESULTS.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "machine": platform.machine()}
    document = {
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", "bench/" + Path(sys.argv[0]).name, *sys.argv[1:]]),
        **machine,
        **numbers,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    print(f"\nwritten: bench/results/{name}.json (peak of this script {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB)")
