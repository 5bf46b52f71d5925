"""The same action sequences judged by emr_write, by the published kit (openadapt-evals 0.98.0, in its own environment), and truly.

The kit is asked in two ways: with its own store, on which a report's creates are replayed as its README says, and at its best, with the
true rows of the table before and after from our record system. Truth is the slow oracle, which shares no code with the checker. Nothing of
the kit is in this repository; it is installed and called.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from common import make_environment, print_table, save

from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.report import Report, parse_report
from clinworld.packs.emr_write.search.cases import build_task, spell
from clinworld.packs.emr_write.search.slow_oracle import SlowStore, judge_states
from clinworld.packs.emr_write.search.walk import plain_rows, plain_wanted
from clinworld.packs.emr_write.store.rows import encode_json, is_live
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.single_create import ALSO, CASES, CONTROL, STORE_KINDS, scripted_report
from clinworld.packs.emr_write.tasks.task import Task, write_report

KIT = "openadapt-evals==0.98.0"
OWNED = ("version", "recordedAt", "deleted")  # columns that only our record system has; the kit would call them extra
PEER = """
import json, sys
from openadapt_evals.extradup import WriteSpec, checkers, seal_verdict
from openadapt_evals.extradup.store import store_for

def judge(spec, before, after):
    return {
        "paid": seal_verdict(spec, before, after) == "VERIFIED",
        "field_inclusion": checkers.field_inclusion_check(spec, after).ok,
        "content_only": checkers.content_only_check(spec, after).ok,
        "identity": checkers.identity_check(spec, before, after).ok,
    }

for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    said = case["spec"]
    spec = WriteSpec(
        env=said["env"], collection=said["collection"], fields=said["fields"], expected_new=1,
        allowed_fields=frozenset(said["allowed"]), extra_field="", extra_value="", omit_field="",
        identity_fields=frozenset(said["identity"]), decoy_identity={},
    )
    store = store_for(said["env"])
    store.reset()
    before = store.snapshot()
    for fields in case["creates"]:
        store.write(fields)
    print(json.dumps({"case": case["case"], "replayed": judge(spec, before, store.snapshot()),
                      "on_tables": judge(spec, case["before"], case["after"])}))
"""


def build_cases(store_kind: str, most: int) -> Iterator[dict[str, Any]]:
    """Every sequence up to a length and every labelled case: what we say, what is true, and what the kit gets to see."""
    task, letters = build_task(store_kind), spell(store_kind)
    store = SqliteStore(task.setup)
    try:
        for length in range(most + 1):
            for names in product(letters, repeat=length):
                slow = SlowStore(plain_rows(task.setup))
                for name in names:
                    slow.do(letters[name])
                truth = "rejected_policy" if slow.is_rejected else judge_states(plain_wanted(task.spec), slow.states, is_net=False)
                name = "+".join(names) or "nothing"
                yield observe(store, task, f"{store_kind} {name}", write_report([letters[each] for each in names]), truth == "verified")
        for case in (CONTROL, *CASES, *ALSO):
            yield observe(store, task, f"{store_kind} case {case}", scripted_report(case, task), case == CONTROL)
    finally:
        store.close()


def observe(store: SqliteStore, task: Task, name: str, text: str, is_right: bool) -> dict[str, Any]:
    """One episode: our verdict, and the rows of the task's table before and after."""
    report, record = parse_report(text), task.spec.records[0]
    store.begin((), now=task.now)
    replies = store.execute(report.actions) if isinstance(report, Report) and report.is_submitted else ()
    reading = store.read(task.spec.near())
    verdict = check_write(task.spec, reading, report, replies)
    store.restore()
    before = {row.row_id: {"id": row.row_id, **row.fields} for row in task.setup if row.collection == record.collection}
    after = dict(before)
    for change in reading.changes:
        if change.collection == record.collection:
            after.pop(change.row_id, None)
            if change.after is not None and is_live(change.after):
                after[change.row_id] = {key: value for key, value in change.after.items() if key not in OWNED}
    actions = report.actions if isinstance(report, Report) and report.is_submitted else ()
    fields = {**record.identity, **record.fields}
    known = {"encounters": ["id", "source", "key"], "patient_data": ["id", "pid", "source"]}[record.collection]
    return {
        "case": name,
        "ours": verdict.reward == 1.0,
        "truth": is_right,
        "spec": {
            "env": "mockmed" if record.collection == "encounters" else "openemr_local",
            "collection": record.collection,
            "fields": fields,
            "allowed": [*fields, *known],
            "identity": list(record.identity),
        },
        "creates": [dict(action.fields) for action in actions if action.op == "create" and action.collection == record.collection],
        "before": list(before.values()),
        "after": list(after.values()),
    }


def ask_kit(python: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The kit's verdicts on the cases, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.jsonl"
        shown = ("case", "spec", "creates", "before", "after")
        file.write_text("".join(encode_json({key: case[key] for key in shown}) + "\n" for case in cases), encoding="utf-8")
        out = subprocess.check_output([str(python), "-c", PEER, str(file)], text=True)
    return [json.loads(line) for line in out.splitlines()]


def count(pairs: list[tuple[bool, bool]]) -> dict[str, int]:
    """(is paid, is right) pairs as four counts."""
    found = Counter(pairs)
    return {
        "paid_right": found[True, True],
        "paid_wrong": found[True, False],
        "refused_right": found[False, True],
        "refused_wrong": found[False, False],
    }


def main() -> int:
    """Judge, print one table, save; 1 where our verdict is not the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=3, help="longest sequence")
    given = parser.parse_args()
    python = make_environment("openadapt-evals-0.98.0", [KIT]) / "python"
    numbers: dict[str, Any] = {"kit": KIT, "longest": given.most, "stores": {}}
    table: list[tuple[Any, ...]] = []
    is_sound = True
    for store_kind in STORE_KINDS:
        cases = list(build_cases(store_kind, given.most))
        kit = ask_kit(python, cases)
        checkers: Mapping[str, list[bool]] = {
            "emr_write": [case["ours"] for case in cases],
            "kit, replayed on its own store": [row["replayed"]["paid"] for row in kit],
            "kit, on the true table": [row["on_tables"]["paid"] for row in kit],
            "kit field inclusion": [row["on_tables"]["field_inclusion"] for row in kit],
            "kit content only": [row["on_tables"]["content_only"] for row in kit],
            "kit identity": [row["on_tables"]["identity"] for row in kit],
        }
        labelled = [
            {
                "case": case["case"],
                "truth": case["truth"],
                "ours": case["ours"],
                "kit_replayed": row["replayed"]["paid"],
                "kit_on_table": row["on_tables"]["paid"],
            }
            for case, row in zip(cases, kit, strict=True)
            if " case " in case["case"]
        ]
        counts = {name: count(list(zip(paid, [case["truth"] for case in cases], strict=True))) for name, paid in checkers.items()}
        both = zip(cases, kit, strict=True)
        first = [case["case"] for case, row in both if row["on_tables"]["paid"] and not (case["truth"] or case["ours"])][:12]
        kept = {"sequences": len(cases), "counts": counts, "labelled": labelled, "kit_paid_wrong_first": first}
        numbers["stores"][store_kind] = kept
        is_sound = is_sound and counts["emr_write"]["paid_wrong"] == counts["emr_write"]["refused_right"] == 0
        for name, each in counts.items():
            table.append((store_kind, name, len(cases), *each.values()))
    print_table(("store", "checker", "sequences", "paid, right", "paid, wrong", "refused, right", "refused, wrong"), table)
    save("emr_peers", numbers)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
