"""The emr_write environment under verifiers 0.4.0 and 0.3.1: self test, corpus, every labelled case through `vf-eval`, and `vf-validate`.

Everything on this machine, against scripted policies. Exits with 1 where a case that fakes it is paid, the control is not, a row is not
valid, or a rollout nothing can be said about entered a mean. Each verifiers has an environment of its own, made once.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import ROOT, make_environment, print_table, save

ENVIRONMENT = ROOT / "environments" / "clinworld_emr_write"
KINDS = ("medication_request", "order_with_follow_up", "stop_order", "magnesium", "potassium", "hba1c", "allergy", "duplicate")
GROUP = """
import asyncio, json
import verifiers.legacy as vf
from clinworld_emr_write.legacy import EmrRubric
def state(reward):
    made = vf.State(prompt=[], completion=[], answer="", info={}, trajectory=[{"reward": None, "advantage": None}], error=None)
    if reward is None:
        made["error"] = vf.InfraError("unscored")
    else:
        shown = {"reward": reward, "new": 1, "halted": False, "offers_evidence": False}
        made["certification"] = shown
    return made
group = [state(reward) for reward in (1.0, 0.0, None, None, 1.0)]
asyncio.run(EmrRubric().score_group(group))
print(json.dumps([[each["reward"], each["advantage"], each["trajectory"][0]["advantage"]] for each in group]))
"""


def prepare(version: str) -> Path:
    """The interpreter of an environment with one verifiers, this package and the environment of this checkout."""
    python = make_environment(f"verifiers-{version}", [f"verifiers=={version}"]) / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", "-e", str(ROOT), "-e", str(ENVIRONMENT)], check=True)
    return python


def run_module(python: Path, module: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Run one of the environment's own commands; its exit code and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbers.json"
        done = subprocess.run([str(python), "-m", module, "--json", str(file), *words], cwd=folder)
        return done.returncode, json.loads(file.read_text()) if file.exists() else {}


def validate(python: Path, tasks: int) -> dict[str, Any]:
    """Gold and untouched checks of `vf-validate` on both stores and further kinds, in both modes; rows valid by mode."""
    found: dict[str, Any] = {}
    for mode in ("report", "tools"):
        with tempfile.TemporaryDirectory() as folder:
            asked = ["--taskset.envs", '["mockmed","openemr"]', "--taskset.kinds", json.dumps(KINDS), "--taskset.mode", mode]
            command = [str(python.parent / "vf-validate"), "clinworld_emr_write", "--runtime.type", "subprocess", "--no-rich", "-o", folder]
            done = subprocess.run([*command, *asked, "--taskset.num-tasks", str(tasks)], capture_output=True, text=True, cwd=folder)
            files = list(Path(folder).rglob("summary.json"))
            summary = json.loads(files[0].read_text()) if files else {}
            checks = {name: each["valid"] for name, each in summary.get("checks", {}).items()}
            found[mode] = {"exit": done.returncode, "total": summary.get("total", 0), "gold": 0, "noop": 0, **checks}
    return found


def main() -> int:
    """Run everything, print one table, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=4, help="gold rows a store")
    given = parser.parse_args()
    faults: list[str] = []
    numbers: dict[str, Any] = {"corpus": None, "runs": {}, "validate": {}}
    table: list[tuple[Any, ...]] = []
    for version in ("0.4.0", "0.3.1"):
        python = prepare(version)
        if not numbers["corpus"]:
            code, found = run_module(python, "clinworld_emr_write")
            numbers["corpus"] = found.get("corpus")
            faults += [f"corpus: exit {code}"] if code else []
        words = ["--modes", "report", "tools", "--drills", "--also", "--tasks", str(given.tasks)]
        code, found = run_module(python, "clinworld_emr_write.fails_closed", *words)
        faults += [f"verifiers {version}: exit {code}"] if code else []
        numbers["runs"][version] = found.get("runs", [])
        for run in found.get("runs", []):
            table.append((version, run["name"], "-" if run["mean"] is None else run["mean"], run["scored"], run["unscored"], run["holds"]))
        if version == "0.4.0":
            numbers["validate"] = validate(python, given.tasks)
            for mode, row in numbers["validate"].items():
                is_valid = row["exit"] == 0 and row["gold"] == row["noop"] == row["total"] > 0
                faults += [] if is_valid else [f"vf-validate {mode}: {row}"]
                table.append((version, f"validate {mode}", f"gold {row['gold']}, noop {row['noop']}", row["total"], 0, is_valid))
        else:
            numbers["group_of_1_0_none_none_1"] = group = json.loads(subprocess.check_output([str(python), "-c", GROUP]))
            is_right = [round(row[1], 6) for row in group] == [0.333333, -0.666667, 0.0, 0.0, 0.333333]
            faults += [] if is_right else [f"group: {group}"]
            table.append((version, "advantages of a group", "unscored 0", 3, 2, is_right))
    numbers["faults"] = faults
    print()
    print_table(("verifiers", "run", "mean", "scored", "unscored", "holds"), table)
    if seen := numbers["corpus"]:
        paid = seen["gold_trials"] - seen["gold_refused"]
        print(f"\ncorpus: {seen['hacking_paid']} of {seen['hacking_trials']} paid (at most {seen['false_accept_bound_printed']})", end="")
        print(f", control {paid} of {seen['gold_trials']}")
    save("emr_environment", numbers)
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
