"""The tasks under verifiers 0.4 (`verifiers.v1`): rows, what a rollout is judged by, and what an unscored one does.

A reward that cannot be given is raised, not returned: the rollout then has none and is not ok, and no mean counts it.
"""

from collections.abc import Iterable
from typing import Any

import verifiers.v1 as vf
from pydantic import Field, PrivateAttr, field_validator, model_validator

from clinworld.packs.emr_write.faults.registry import list_applying
from clinworld.packs.emr_write.tasks.single_create import ALSO, CASES, STORE_KINDS, scripted_report
from clinworld.packs.emr_write.tasks.task import gold_report

from .certification import certify, read_metrics
from .rows import Arguments, Mode, Part, Row, draw_rows, find_row, read_arguments
from .session import LiveSession, render_tool_prompt
from .stores import Stores


class Unscored(Exception):
    """Nothing can be said about this rollout; it has no reward."""


class EmrData(vf.TaskData):
    """A row as it is saved with a trace. `case` and `scripted_completion` are of labelled rows only."""

    row_id: str
    part: Part
    arguments: dict[str, Any]
    case: str = ""
    info: dict[str, Any] = Field(default_factory=dict)


class EmrState(vf.State):
    """What belongs to one rollout and is never saved: its conversation with the record system."""

    _session: LiveSession | None = PrivateAttr(None)
    _stores: Stores | None = PrivateAttr(None)
    _row: Row | None = PrivateAttr(None)

    def prepare(self, stores: Stores, row: Row) -> None:
        """Say on which record systems, and what about, a conversation would be."""
        self._stores, self._row = stores, row

    def open_session(self) -> LiveSession:
        """The rollout's conversation, begun when first asked for."""
        assert self._stores is not None and self._row is not None, "the task was set up"
        if self._session is None:
            self._session = self._stores.open_session(self._row)
        return self._session

    def close_session(self) -> None:
        """Put the record system back, where a conversation was begun. May be called again."""
        if self._session is not None and self._stores is not None:
            self._stores.close_session(self._session)
            self._session = None


class EmrTasksetConfig(vf.TasksetConfig):
    """`--env.taskset.<name>`: the published arguments and ours. A screen to score from is refused here, before anything runs."""

    part: Part = "train"
    """train: gold rows. eval: gold rows drawn apart, and one labelled row a case."""
    envs: list[str] = Field(default_factory=lambda: ["mockmed"])
    """mockmed, openemr, or both."""
    num_tasks: int = 8
    """Gold rows a store, and a kind."""
    seed: int = 0
    include_hacking_cases: bool = True
    """Add the six labelled ways of faking it to the evaluation rows."""
    score_from_screen: Any = False
    """Anything true is refused. There is no screen scorer."""
    kinds: list[str] = Field(default_factory=list)
    """Record and decision tasks to add, by name."""
    language: str = "en"
    mode: Mode = "report"
    """report: one reply. tools: a conversation on the live record system."""
    chart_rows: int = 1000
    """Rows of patients nobody asks about."""
    server_faults: list[str] = Field(default_factory=list)
    """Faults of the record system to run behind, by name; for drills."""
    fault_every: int = 1
    """Only in each row whose place is a multiple of this."""

    @field_validator("score_from_screen")
    @classmethod
    def _refuse_screen(cls, value: Any) -> Any:
        if value:
            raise ValueError("there is no screen scorer; the record system is read, and false is the only value")
        return value

    @model_validator(mode="after")
    def _check(self) -> "EmrTasksetConfig":
        try:
            self.arguments()
        except Exception as problem:
            raise ValueError(str(problem)) from None
        return self

    def arguments(self) -> Arguments:
        """The arguments of the rows."""
        names = [name for name in Arguments.__dataclass_fields__ if name in type(self).model_fields]
        return read_arguments({name: getattr(self, name) for name in names})


class EmrTask(vf.Task[EmrData, EmrState, vf.TaskConfig]):
    """One row at work. The certification is written when the rollout ends; metrics and reward are read from it."""

    stores: Stores | None = None

    @property
    def arguments(self) -> Arguments:
        """The arguments the row was drawn with."""
        return read_arguments(self.data.arguments)

    @property
    def row(self) -> Row:
        """The row itself, found again by its id."""
        return find_row(self.arguments, self.data.row_id)

    def _stores(self) -> Stores:
        if self.stores is None:
            self.stores = Stores(self.arguments)
        return self.stores

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """The rollout may open its conversation; nothing is opened yet. Raises where another program would play without the tools."""
        harness = trace.agent.config.harness if trace.agent else None
        if self.arguments.mode == "tools" and harness is not None and not _is_ours(harness.id):
            raise Unscored(f"the tools are offered by this package's own harness, not by {harness.id!r}")
        trace.state.prepare(self._stores(), self.row)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Judge what was done, and write the certification."""
        row = self.row
        if self.arguments.mode == "tools":
            verdict = trace.state.open_session().judge(trace.last_reply)
            trace.state.close_session()
        else:
            verdict = self._stores().judge_report(row.task, trace.last_reply, faults=row.faults)
        trace.info["certification"] = certify(verdict, row.task.language)

    @vf.metric
    async def published_metrics(self, trace: vf.Trace) -> dict[str, float]:
        """evidence_tier, sor_new_count, halted, inadmissible_evidence_offered; without the first three where nothing can be said."""
        return read_metrics(trace.info["certification"])

    @vf.reward
    async def verified(self, trace: vf.Trace) -> float:
        """1.0 for a verified write, else 0.0. Raises Unscored where nothing can be said."""
        certification = trace.info["certification"]
        if certification["reward"] is None:
            raise Unscored(f"{certification['verdict']}: {'; '.join(certification['reasons'])}")
        return float(certification["reward"])

    async def validate(self, runtime: vf.Runtime) -> bool:
        """The gold report is paid, every labelled case is not, and every fault of a policy comes to what it must."""
        stores, task = Stores(self.arguments), self.row.task
        if stores.judge_report(task, gold_report(task)).reward != 1.0:
            return False
        cases = (*CASES, *ALSO) if task.kind in STORE_KINDS else ()
        if any(stores.judge_report(task, scripted_report(case, task)).reward != 0.0 for case in cases):
            return False
        faults = [fault for fault in list_applying(task) if fault.side == "policy"]
        return all(stores.judge_fault(task, fault.fault_id).outcome == fault.expected for fault in faults)


def _is_ours(harness_id: str) -> bool:
    return harness_id.rpartition("/")[2].partition("@")[0].replace("-", "_").lower() == __package__


class EmrTaskset(vf.Taskset[EmrTask, EmrTasksetConfig]):
    """The rows of one part."""

    def load(self) -> Iterable[EmrTask]:
        """Every row, gold ones first."""
        arguments = self.config.arguments()
        stores = Stores(arguments)
        for row in draw_rows(arguments, self.config.part):
            task = EmrTask(_row_data(row, arguments, self.config.part), self.config.task)
            task.stores = stores
            yield task


def _row_data(row: Row, arguments: Arguments, part: Part) -> EmrData:
    prompt = render_tool_prompt(row.task) if arguments.mode == "tools" else row.task.prompt
    info = {"case": row.case, "scripted_completion": row.scripted_completion} if row.case else {}
    return EmrData(
        id=row.row_id,
        name=f"{row.task.kind} {row.case or row.task.scenario}",
        prompt=prompt,
        row_id=row.row_id,
        part=part,
        arguments=arguments.as_json(),
        case=row.case,
        info=info,
    )
