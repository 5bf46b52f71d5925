"""CPU seconds, peak memory and prompt bytes beside haenv 1.3.2 in its own environment.

Same job files, one run, bytecode compiled on both sides, tries in turns; the least of two tries counts. A try of ours is the median of
three, because a run so short takes a change of the machine's speed whole.

Marginal cost is (all cases − the first case alone) / (cases − 1). A ratio is theirs divided by ours; for bytes, ours divided by theirs.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from common import PEER, clinworld_bin, make_environment, print_table, reference_jobs, run_timed, save

VERBS = ("build", "verify", "run")
TIMES = 2
RUNS = 3
PEER_PROMPTS = """
import json, sys, glob
from haenv.interaction.prompts import PROMPT
out = []
for path in glob.glob(sys.argv[1] + "/results/*/*/*/payloads.jsonl"):
    for line in open(path):
        shown = json.loads(line)["sp"]
        points = sum(len(series) for series in shown["longitudinal_data"].values()) + len(shown["evidence_ledger"])
        record = len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode())
        out.append([points, record, record + len(PROMPT.encode())])
print(json.dumps(out))
"""


class Side(NamedTuple):
    """What one program used on one job: CPU seconds and peak MB by verb, cells of the run, cases."""

    cpu_s: dict[str, float]
    peak_mb: dict[str, float]
    cells: int
    cases: int
    emitted: int
    out: Path


def measure_ours(job: Path, folder: Path) -> Side:
    """Our three verbs."""
    program = str(clinworld_bin() / "clinworld")
    cpu, peak, cells, cases, emitted = {}, {}, 0, 0, 0
    for verb in VERBS:
        done = run_timed([program, verb, str(job), "--json", *(["--offline"] if verb == "run" else [])], cwd=folder)
        if done.code not in (0, 4):
            raise SystemExit(f"clinworld {verb} {job.name}: exit {done.code}\n{done.err[-2000:]}")
        cpu[verb], peak[verb] = done.cpu_s, done.peak_mb
        document = json.loads(done.out)
        if verb == "build":
            cases, emitted = document["counts"]["cases"], document["counts"]["emitted"]
        if verb == "run":
            cells = document["cells"]
    return Side(cpu, peak, cells, cases, emitted, folder / "artifacts")


def measure_ours_well(job: Path, folder: Path) -> Side:
    """The median of several runs, each in a folder of its own; what was made is that of the first."""
    sides = []
    for number in range(RUNS):
        own = folder / f"run{number}"
        own.mkdir()
        sides.append(measure_ours(job, own))
    return sides[0]._replace(cpu_s={verb: median(side.cpu_s[verb] for side in sides) for verb in VERBS})


def measure_peer(job: Path, folder: Path) -> Side:
    """The peer's three verbs, deterministic generator, offline."""
    program = str(make_environment("haenv", [PEER]) / "haenv")
    cpu, peak = {}, {}
    out = folder / "peer"
    for verb in VERBS:
        done = run_timed([program, "--gen", "deterministic", "--offline", verb, str(job)], cwd=folder, env={"HAENV_OUTPUT_ROOT": str(out)})
        if done.code != 0:
            print(f"haenv {verb} {job.name}: exit {done.code}: {done.err[-300:]}")
        cpu[verb], peak[verb] = done.cpu_s, done.peak_mb
    rows = [path.read_text().splitlines() for path in out.glob("results/*/*/*/eval.jsonl")]
    emitted = [path.read_text().splitlines() for path in out.glob("results/*/*/*/payloads.jsonl")]
    cases = [path.read_text().splitlines() for path in out.glob("results/*/*/*/audit.jsonl")]
    return Side(cpu, peak, sum(map(len, rows)), sum(map(len, cases)), sum(map(len, emitted)), out)


def best(tries: list[Side]) -> Side:
    """The first try with the least CPU of each verb over all tries: the least is what other work on the machine disturbed least."""
    return tries[0]._replace(cpu_s={verb: min(side.cpu_s[verb] for side in tries) for verb in VERBS})


def first_case(job: Path, folder: Path) -> Path:
    """The job with its first case only, under another id."""
    import yaml

    document = yaml.safe_load(job.read_text())
    document["cases"] = document["cases"][:1]
    document["job_id"] += "-one"
    path = folder / f"{job.stem.removesuffix('.job')}-one.job.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True))
    return path


def prompt_bytes_ours(out: Path) -> list[tuple[int, int, int]]:
    """(points delivered, record bytes, prompt bytes) of each opening prompt, the prompt parsed again to count."""
    from clinworld.access.delivered import parse_delivered
    from clinworld.access.episodes import next_turn
    from clinworld.access.record_text import render_record
    from clinworld.knowledge.load import load_knowledge
    from clinworld.packs.load import load_pack
    from clinworld.run.batch_files import Batch

    knowledge, counts = load_knowledge(), []
    for path in sorted(out.glob("*/2*")):
        for item in Batch(path).items():
            turn = next_turn(item, load_pack(item.pack).pack, knowledge, "single", "none", [])
            assert turn is not None
            delivered = parse_delivered(turn.prompt, item.language)
            points = sum(len(series.days) for series in delivered.series.values()) + len(delivered.notes)
            record = render_record(item.record.until(item.index_day), item.language, knowledge)
            counts.append((points, len(record.encode()), len(turn.prompt.encode())))
    return counts


def prompt_bytes_peer(out: Path) -> list[tuple[int, int, int]]:
    """The same of the peer's prompts."""
    python = str(make_environment("haenv", [PEER]) / "python")
    done = subprocess.run([python, "-c", PEER_PROMPTS, str(out)], capture_output=True, text=True, check=True)
    return [(points, record, prompt) for points, record, prompt in json.loads(done.stdout.splitlines()[-1])]


def per_point(counts: list[tuple[int, int, int]], column: int) -> float:
    """Bytes per delivered data point and event."""
    return sum(count[column] for count in counts) / sum(count[0] for count in counts)


def main() -> None:
    jobs, rows, numbers = reference_jobs(), [], {}
    with tempfile.TemporaryDirectory() as temporary:
        sides: dict[str, tuple[Side, Side]] = {}
        for name in ("example-ew", "early_warning-20"):
            both_jobs = {name: jobs[name], f"{name}-one": first_case(jobs[name], Path(temporary))}
            tries: dict[str, list[tuple[Side, Side]]] = {label: [] for label in both_jobs}
            for number in range(TIMES):
                for label, job in both_jobs.items():
                    folder = Path(temporary) / f"{label}{number}"
                    folder.mkdir()
                    tries[label].append((measure_peer(job, folder), measure_ours_well(job, folder)))
            sides |= {label: (best([theirs for theirs, _ in each]), best([ours for _, ours in each])) for label, each in tries.items()}
        theirs, ours = sides["example-ew"]
        rows.append(
            (
                "build+verify example-ew, CPU s",
                *compare(theirs.cpu_s["build"] + theirs.cpu_s["verify"], ours.cpu_s["build"] + ours.cpu_s["verify"]),
                "8",
            )
        )
        marginal = [margin(sides["early_warning-20"][i], sides["early_warning-20-one"][i]) for i in (0, 1)]
        rows.append(("build+verify per further case of early_warning-20, CPU s", *compare(marginal[0], marginal[1]), "20 (aim 50)"))
        for name in ("example-ew", "early_warning-20"):
            theirs, ours = sides[name]
            rows.append(
                (f"offline run per cell, {name}, CPU s", *compare(theirs.cpu_s["run"] / theirs.cells, ours.cpu_s["run"] / ours.cells), "50")
            )
        theirs, ours = sides["early_warning-20"]
        rows.append(("peak memory, early_warning-20, MB", *compare(max(theirs.peak_mb.values()), max(ours.peak_mb.values())), "1"))
        for column, what in ((2, "whole prompt"), (1, "record alone")):
            both = per_point(prompt_bytes_peer(theirs.out), column), per_point(prompt_bytes_ours(ours.out), column)
            rows.append(
                (f"bytes per data point and event, {what}", both[0], both[1], f"{100 * both[1] / both[0]:.0f} %", "at most 50 % (aim 40 %)")
            )
        numbers = {name: [side._asdict() | {"out": ""} for side in pair] for name, pair in sides.items()}
    print_table(("measure", "haenv 1.3.2", "clinworld", "ratio", "wanted"), rows)
    save("peers", {"table": rows, "sides": numbers})


def compare(theirs: float, ours: float) -> tuple[float, float, str]:
    """Both numbers and theirs / ours."""
    return theirs, ours, f"{theirs / ours:.1f}x"


def margin(whole: Side, one: Side) -> float:
    """CPU seconds of build and verify for each case beyond the first."""
    return sum(whole.cpu_s[verb] - one.cpu_s[verb] for verb in ("build", "verify")) / (whole.cases - one.cases)


if __name__ == "__main__":
    main()
