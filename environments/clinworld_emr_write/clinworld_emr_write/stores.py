"""Record systems for rollouts: one chart, as many copies of it as conversations are open, each put back before it is used again."""

from collections.abc import Sequence
from typing import Self

from clinworld.packs.emr_write.checker.verdict import Verdict
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.faults.registry import find_server_faults, run_faults
from clinworld.packs.emr_write.faults.server import wrap_store
from clinworld.packs.emr_write.store.chart import draw_bulk
from clinworld.packs.emr_write.store.protocol import Store
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.task import Task

from .rows import Arguments, Row
from .session import LiveSession


class Stores:
    """The record systems of one environment; made when first needed. Not for several threads at once."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self._idle: list[Store] = []

    def __deepcopy__(self, _memo: object) -> Self:
        return self  # connections are shared, never copied

    def judge_report(self, task: Task, text: str, *, faults: Sequence[str] = ()) -> Verdict:
        """One whole episode of a report, behind faults of the server where any are named."""
        store = self._take()
        try:
            return run_report(wrap_store(store, find_server_faults(faults)), task, text)
        finally:
            self._idle.append(store)

    def judge_fault(self, task: Task, fault_id: str) -> Verdict:
        """One whole episode of the gold report spoilt by one fault of the pack's registry."""
        store = self._take()
        try:
            return run_faults(store, task, (fault_id,))
        finally:
            self._idle.append(store)

    def open_session(self, row: Row) -> LiveSession:
        """A conversation on a record system of its own; hand it back with `close_session`."""
        store = self._take()
        return LiveSession(store, wrap_store(store, find_server_faults(row.faults)), row.task)

    def close_session(self, session: LiveSession) -> None:
        """The record system is put back, if it is not, and free again."""
        session.abandon()
        self._idle.append(session.store)

    def _take(self) -> Store:
        if self._idle:
            return self._idle.pop()
        return SqliteStore(draw_bulk(seed=self.arguments.seed, rows=self.arguments.chart_rows))
