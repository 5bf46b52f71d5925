"""All four verbs on the public wheel's own job files, unchanged. Every refusal must state a contradiction a reader can check by hand."""

import json
import tempfile
from pathlib import Path

from common import clinworld_bin, print_table, reference_jobs, run_timed, save


def main() -> None:
    program = str(clinworld_bin() / "clinworld")
    rows, refusals, numbers = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, job in reference_jobs().items():
            codes, cpu = {}, {}
            emitted = cases = 0
            for verb in ("build", "verify", "run", "report"):
                extra = ["--offline"] if verb == "run" else []
                done = run_timed([program, verb, str(job), *extra, "--json"], cwd=Path(folder))
                codes[verb], cpu[verb] = done.code, round(done.cpu_s, 2)
                if verb == "build":
                    document = json.loads(done.out)
                    emitted, cases = document["counts"]["emitted"], document["counts"]["cases"]
                    refusals += [(name, each["case_id"], each["reason"]) for each in document["refusals"]]
                if done.code not in (0, 4):
                    print(f"{name} {verb}: exit {done.code}\n{done.err[-2000:]}")
            rows.append((name, cases, emitted, *(f"{codes[verb]} / {cpu[verb]}" for verb in codes)))
            numbers[name] = {"cases": cases, "emitted": emitted, "exit_codes": codes, "cpu_s": cpu}
    print_table(("job", "cases", "emitted", "build exit/CPU s", "verify", "run", "report"), rows)
    print("\nrefusals:")
    for name, case, reason in refusals:
        print(f"  {name} {case}: {reason}")
    save("reference_jobs", {"jobs": numbers, "refusals": refusals})


if __name__ == "__main__":
    main()
