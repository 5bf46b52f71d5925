"""`python -m clinworld_emr_write.fails_closed`: every labelled case through the installed `vf-eval`, against scripted policies.

Exits with 1 when a case that fakes it averages above 0, the control below 1, or a rollout is missing or could not be scored. `vf-eval`
itself exits with 0 whatever happened, so the saved rollouts are read. With `--drills` the record system fails in every other row, and the
mean must not move.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from clinworld.core.errors import ClinworldError
from clinworld.packs.emr_write.tasks.single_create import ALSO, CASES, CONTROL
from clinworld.serve.policy.server import PREFIX, PolicyServer

from .certification import summarize
from .rows import read_arguments

MODULE = "clinworld_emr_write"
KEY = "SCRIPTED_POLICY_KEY"  # a client insists on a key; nobody reads it
DRILLS: Mapping[str, str] = {"oracle outage": "read_outage", "pending queue": "never_applied"}
_LEGACY = "0.3."


class Run(NamedTuple):
    """What one `vf-eval` came to: the mean over scored rollouts (None over none), and how many were and were not scored."""

    name: str
    mean: float | None
    scored: int
    unscored: int
    verdicts: tuple[str, ...]
    holds: bool


def main() -> int:
    """Read what is asked, run every case and print one line each."""
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}.fails_closed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modes", nargs="+", default=["report"], choices=("report", "tools"))
    parser.add_argument("--envs", nargs="+", default=["mockmed", "openemr"])
    parser.add_argument("--tasks", type=int, default=4, help="gold rows a store")
    parser.add_argument("--drills", action="store_true", help="the record system fails in every other row")
    parser.add_argument("--also", action="store_true", help="wrong_record as well")
    parser.add_argument("--json", type=Path, help="file to write what was seen to")
    given = parser.parse_args()
    try:
        return run_all(given)
    except (ClinworldError, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2


def run_all(given: argparse.Namespace) -> int:
    """Every run that is asked for."""
    read_arguments({"envs": given.envs, "num_tasks": given.tasks})
    runs: list[Run] = []
    with _serve() as url, tempfile.TemporaryDirectory() as folder:
        for mode in given.modes:
            base = {"mode": mode, "envs": given.envs, "num_tasks": given.tasks}
            for case in (CONTROL, *CASES, *(ALSO if given.also else ())):
                wanted = 1.0 if case == CONTROL else 0.0
                runs.append(_run(f"{mode} {case}", case, base, url, Path(folder), wanted))
                _show(runs[-1])
            for name, fault in DRILLS.items() if given.drills else ():
                broken = {**base, "server_faults": [fault], "fault_every": 2}
                runs.append(_run(f"{mode} {name}", CONTROL, broken, url, Path(folder), 1.0, is_broken=True))
                _show(runs[-1])
    kept = sum(run.holds for run in runs)
    print(f"verifiers {version('verifiers')}: {kept} of {len(runs)} runs as they must be")
    if given.json:
        document = {"verifiers": version("verifiers"), "runs": [run._asdict() for run in runs]}
        given.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0 if kept == len(runs) else 1


@contextmanager
def _serve() -> Iterator[str]:
    server = PolicyServer()
    thread = threading.Thread(target=server.serve_for, args=(3600,), daemon=True)
    thread.start()
    try:
        yield server.url
    finally:
        server.shutdown()
        thread.join()


def _run(name: str, case: str, arguments: Mapping[str, Any], url: str, folder: Path, wanted: float, *, is_broken: bool = False) -> Run:
    """One `vf-eval`; in a broken one half of the rollouts must be unscored and in no mean."""
    place = folder / name.replace(" ", "_")
    is_legacy = version("verifiers").startswith(_LEGACY)
    command = _command_031(case, arguments, url, place) if is_legacy else _command_040(case, arguments, url, place)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, KEY: "scripted"}, timeout=1200)
    rows = _read_031(place) if is_legacy else _read_040(place)
    if not rows:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    summary = summarize([reward for reward, _ in rows])
    scored, unscored = int(summary["scored"] or 0), int(summary["unscored"] or 0)
    mean = None if summary["mean"] is None else float(summary["mean"])
    counted = unscored * 2 in (len(rows), len(rows) + 1) if is_broken else unscored == 0
    told = _told_031(place) if is_legacy else mean  # what verifiers itself saved as the mean
    holds = mean == wanted == told and counted and len(rows) == _count_rows(arguments)
    return Run(name, mean, scored, unscored, tuple(dict.fromkeys(verdict for _, verdict in rows)), holds)


def _count_rows(arguments: Mapping[str, Any]) -> int:
    """Evaluation rows: the gold ones, and one more a labelled case, in each store."""
    return int(len(arguments["envs"]) * (arguments["num_tasks"] + 1 + len(CASES)))


def _show(run: Run) -> None:
    mean = "-" if run.mean is None else f"{run.mean:.3f}"
    mark = "ok" if run.holds else "NOT AS IT MUST BE"
    print(f"{run.name:28} mean {mean:>6}  scored {run.scored:3}  unscored {run.unscored:3}  {mark}  {', '.join(run.verdicts)}", flush=True)


def _command_040(case: str, arguments: Mapping[str, Any], url: str, place: Path) -> list[str]:
    asked = [word for name, value in arguments.items() for word in (f"--env.taskset.{name.replace('_', '-')}", _as_word(value))]
    where = ["--client.base-url", url, "--client.api-key-var", KEY, "-o", str(place.parent), "--run.name", place.name]
    asked += ["--env.taskset.part", "eval"]
    return [_find("vf-eval"), MODULE, "-m", PREFIX + case, *where, "-r", "1", "--no-push", "--no-rich", *asked]


def _command_031(case: str, arguments: Mapping[str, Any], url: str, place: Path) -> list[str]:
    where = ["-b", url, "-k", KEY, "-o", str(place), "-C", "certification"]
    return [
        _find("vf-eval"),
        MODULE,
        "-m",
        PREFIX + case,
        *where,
        "-n",
        str(_count_rows(arguments)),
        "-r",
        "1",
        "-s",
        "-d",
        "-a",
        json.dumps(dict(arguments)),
    ]


def _find(program: str) -> str:
    return str(Path(sys.executable).parent / program)


def _as_word(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (list, int)) else str(value)


def _read_040(place: Path) -> list[tuple[float | None, str]]:
    rows = [row for episode in _read_lines(place / "traces.jsonl") for row in episode.get("traces", [episode])]
    return [(_reward_040(row), (row["info"].get("certification") or {}).get("verdict", "no verdict")) for row in rows]


def _reward_040(row: Mapping[str, Any]) -> float | None:
    given = row["rewards"].get("verified") if row["ok"] else None
    return None if given is None else float(given["score"])


def _read_031(place: Path) -> list[tuple[float | None, str]]:
    rows = [row for file in sorted(place.rglob("*.jsonl")) for row in _read_lines(file)]
    return [(row["reward"], (row.get("certification") or {}).get("verdict", "no verdict")) for row in rows]


def _told_031(place: Path) -> float | None:
    files = list(place.rglob("metadata.json"))
    return json.loads(files[0].read_text(encoding="utf-8"))["avg_reward"] if files else None


def _read_lines(file: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()] if file.is_file() else []


if __name__ == "__main__":
    sys.exit(main())
