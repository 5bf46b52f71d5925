"""One whole episode: the chart is set, the report is parsed and executed, the oracle reads, the checker judges, the chart is put back."""

from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Rules, Verdict
from clinworld.packs.emr_write.report import Report, parse_report
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, Store
from clinworld.packs.emr_write.tasks.task import Task


def run_report(store: Store, task: Task, text: object, *, rules: Rules = ALL_RULES, is_full: bool = False) -> Verdict:
    """The verdict on a reply to a task. `is_full` reads every row of every table, not only those the journal names."""
    report = parse_report(text)
    replies: tuple[Reply, ...] = ()
    reading: Reading | OracleUnreadable
    try:
        store.begin(task.setup, now=task.now)
        if isinstance(report, Report) and report.is_submitted:
            replies = store.execute(report.actions)
        store.drain()
        reading = store.read(task.spec.near(), is_full=is_full)
    except OracleUnreadable as problem:
        reading = problem
    finally:
        store.restore()
    return check_write(task.spec, reading, report, replies, rules=rules)
