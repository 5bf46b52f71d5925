"""What a checker of somebody else's may look at: one trial in plain values, with neither its family nor the outcome that is right."""

from typing import Any

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.certificate.draw import Trial
from clinworld.packs.emr_write.faults.registry import find_server_faults
from clinworld.packs.emr_write.faults.server import wrap_store
from clinworld.packs.emr_write.report import Report, parse_report
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, Store


def show_trial(store: Store, trial: Trial) -> dict[str, Any]:
    """The trial's prompt, what is wanted, rows before, the reply, the server's answers, and what the record system holds afterwards.

    `after` is null where it could not be read.
    """
    task, decision = trial.task, trial.task.spec.decision
    report, replies = parse_report(trial.text), tuple[Reply, ...]()
    system = wrap_store(store, find_server_faults(trial.server_faults))
    reading: Reading | None = None
    try:
        system.begin(task.setup, now=task.now)
        if isinstance(report, Report) and report.is_submitted:
            replies = system.execute(report.actions)
        system.drain()
        reading = system.read(task.spec.near())
    except OracleUnreadable:
        reading = None
    finally:
        system.restore()
    wanted = [
        {"change": each.change, "collection": each.collection, "id": each.row_id, "keys": dict(each.identity), "fields": dict(each.fields)}
        for each in task.spec.records
    ]
    return {
        "trial": trial.trial_id,
        "prompt": task.prompt,
        "now": task.now,
        "wanted": wanted,
        "wanted_decision": list(decision.reasons) if decision else None,
        "before": [{"collection": row.collection, "id": row.row_id, "fields": dict(row.fields)} for row in task.setup],
        "report": trial.text,
        "answers": [reply.status for reply in replies],
        "after": None if reading is None else _show_reading(reading),
    }


def _show_reading(reading: Reading) -> dict[str, Any]:
    changes = [_show_change(each.collection, each.row_id, each.before, each.after) for each in reading.changes]
    journal = [{**_show_change(each.collection, each.row_id, each.before, each.after), "change": each.change} for each in reading.journal]
    unexplained = [label for label, _ in reading.frame_faults]
    return {"changes": changes, "journal": journal, "unexplained": unexplained, "waiting": reading.pending, "clock": reading.clock}


def _show_change(collection: str, row_id: str, before: Row | None, after: Row | None) -> dict[str, Any]:
    rows = {"before": None if before is None else dict(before), "after": None if after is None else dict(after)}
    return {"collection": collection, "id": row_id, **rows}
