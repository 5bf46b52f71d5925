"""The certificates at full size: every family of wrong writes bounded at a half percent at once; what blind policies earn on the packs."""

import argparse
import json
import tempfile
from pathlib import Path

from common import clinworld_bin, print_table, run_timed, save

EPSILON, LEAST_FAMILIES, LEAST_TRIALS, LEAST_GOLD = 0.005, 12, 1100, 3000
PACKS = {"early_warning": 200, "tracking_review": 80}


def certify(name: str, option: str, count: int, out: Path) -> tuple[dict[str, object], float]:
    """The certificate of one run of the verb, and its CPU seconds."""
    done = run_timed([str(clinworld_bin() / "clinworld"), "certify", name, option, str(count), "--out", str(out), "--json"], cwd=out)
    if done.code not in (0, 3):
        raise SystemExit(f"certify {name}: exit {done.code}\n{done.err}")
    document = json.loads(done.out)
    checked = run_timed([str(clinworld_bin() / "clinworld"), "certificate", "check", document["path"]], cwd=out)
    document["check_code"] = checked.code
    return document, done.cpu_s


def measure_writes(trials: int, out: Path) -> dict[str, object]:
    """The write checker: what must hold, and the numbers."""
    found, cpu_s = certify("emr_write", "--trials", trials, out)
    families, right = found["families"], {each["name"]: each for each in found["right"]}
    published = {each["name"]: each for each in found["published"]}
    rows = [(each["name"], each["count"], each["trials"], each["distinct"], each["bound"], each["bound_simultaneous"]) for each in families]
    print_table(("family", "paid", "trials", "distinct", "bound", "all at once"), rows)
    witnesses = {
        name: sum(each["witnesses"].get(name, 0) for each in families)
        for name in sorted({n for each in families for n in each["witnesses"]})
    }
    verdicts = sum(each["trials"] for each in (*families, *found["right"], *found["published"], *found["baselines"]))
    is_met = (
        len(families) >= LEAST_FAMILIES
        and all(each["count"] == 0 and each["trials"] >= LEAST_TRIALS and each["bound_simultaneous"] <= EPSILON for each in families)
        and right["gold"]["trials"] >= LEAST_GOLD
        and all(each["count"] == 0 for each in found["right"])
        and (published["published_cases"]["count"], published["published_cases"]["trials"]) == (0, 600)
        and (published["published_control"]["count"], published["published_control"]["trials"]) == (0, 100)
        and found["check_code"] == 0
    )
    wrong = sum(each["trials"] for each in families)
    print(f"\n{verdicts:,} verdicts in {cpu_s:.0f} CPU s; epsilon {found['epsilon']}; gold {right['gold']}")
    print(f"wrong writes each naive check would have paid, of {wrong:,}: {witnesses}")
    return {"is_met": is_met, "cpu_s": round(cpu_s, 1), "verdicts": verdicts, "naive_checks_paid": witnesses, **_kept(found)}


def _kept(found: dict[str, object]) -> dict[str, object]:
    names = (
        "epsilon",
        "delta",
        "families",
        "right",
        "advantage",
        "pooled",
        "independence",
        "published",
        "baselines",
        "left_out",
        "seed",
        "plan",
    )
    return {name: found[name] for name in names} | {"certificate_check": found["check_code"]}


def measure_pack(name: str, items: int, out: Path) -> dict[str, object]:
    """One decision pack: what policies that never read it earn."""
    found, cpu_s = certify(name, "--items", items, out)
    print(f"\n{name}: {items} items in {cpu_s:.0f} CPU s")
    shares = sorted((*found["families"], *found["baselines"]), key=lambda each: -each["count"])
    print_table(("policy", "paid", "items", "all at once"), [(s["name"], s["count"], s["trials"], s["bound_simultaneous"]) for s in shares])
    oracle = found["right"][0]
    is_met = oracle["count"] == 0 and found["check_code"] == 0
    return {"is_met": is_met, "cpu_s": round(cpu_s, 1), **_kept(found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1150, help="draws of each family")
    parser.add_argument("--share", type=float, default=1.0, help="share of the items of each pack")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = {"emr_write": measure_writes(arguments.trials, Path(folder))}
        for name, items in PACKS.items():
            numbers[name] = measure_pack(name, max(1, int(items * arguments.share)), Path(folder))
    print_table(("what", "holds"), [(name, each["is_met"]) for name, each in numbers.items()])
    save("certify", numbers)
    if not all(each["is_met"] for each in numbers.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
