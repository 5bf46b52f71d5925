"""Stores, tasks and episodes for the tests of emr_write."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from clinworld.core.rng import Rng
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.spec import WriteSpec
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Rules, Verdict
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.report import Report, parse_report
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.decisions import draw_decision
from clinworld.packs.emr_write.tasks.records import draw_record_task
from clinworld.packs.emr_write.tasks.single_create import TaskArguments, draw_single_creates
from clinworld.packs.emr_write.tasks.task import Task, gold_actions, gold_report, write_report

__all__ = [
    "ALL_RULES",
    "Decimal",
    "actions",
    "decision",
    "fields",
    "gold_report",
    "judge",
    "knowledge",
    "mockmed",
    "openemr",
    "record",
    "run",
]
__all__ += ["store", "with_spec", "write_report"]


@lru_cache(maxsize=1)
def store() -> SqliteStore:
    """A small chart; every episode puts it back."""
    return SqliteStore(draw_bulk(seed=1, rows=300))


@lru_cache(maxsize=1)
def knowledge() -> Knowledge:
    return load_knowledge()


@lru_cache
def mockmed(language: str = "en") -> Task:
    return draw_single_creates(TaskArguments(num_tasks=1, seed=3), language=language)[0]  # type: ignore[arg-type]


@lru_cache
def openemr() -> Task:
    return draw_single_creates(TaskArguments(envs=("openemr",), num_tasks=1, seed=3))[0]


@lru_cache
def record(kind: str, case_id: str = "case", language: str = "en") -> Task:
    return draw_record_task(kind, Rng(9), case_id, knowledge(), language)  # type: ignore[arg-type]


@lru_cache
def decision(kind: str, scenario: str, language: str = "en") -> Task:
    return draw_decision(kind, Rng(9), f"case-{scenario}", language, scenario=scenario)  # type: ignore[arg-type]


def actions(task: Task) -> list[dict[str, Any]]:
    """The gold actions of a task, free to change."""
    return [dict(action) for action in gold_actions(task.spec)]


def fields(task: Task, **changed: Any) -> dict[str, Any]:
    """The first gold action with other fields; None takes a field out."""
    action = actions(task)[0]
    kept = {**action["fields"], **changed}
    return {**action, "fields": {name: value for name, value in kept.items() if value is not None}}


def run(task: Task, *listed: Any, rules: Rules = ALL_RULES, is_full: bool = True, **more: Any) -> Verdict:
    """The verdict on a report of these actions."""
    return run_report(store(), task, write_report(listed, None, **more), rules=rules, is_full=is_full)


def with_spec(task: Task, *, is_self_correction_allowed: bool = False, **changed: Any) -> Task:
    """The task with its first record changed."""
    records = (replace(task.spec.records[0], **changed), *task.spec.records[1:])
    return replace(task, spec=WriteSpec(records, task.spec.decision, is_self_correction_allowed))


def judge(
    task: Task, text: str, tampers: Sequence[tuple[Any, ...]] = (), *, rules: Rules = ALL_RULES, is_recorded: bool = True, most: int = 100
) -> Verdict:
    """An episode in which something happens behind the API after the report was executed."""
    system, report = store(), parse_report(text)
    try:
        system.begin(task.setup, now=task.now)
        if isinstance(report, Report) and report.is_submitted:
            system.execute(report.actions)
        for sql, *values in tampers:
            system.tamper(sql, values, is_recorded=is_recorded)
        system.drain(most=most)
        try:
            reading: Reading | OracleUnreadable = system.read(task.spec.near(), is_full=True)
        except OracleUnreadable as problem:
            reading = problem
    finally:
        system.restore()
    return check_write(task.spec, reading, report, rules=rules)
