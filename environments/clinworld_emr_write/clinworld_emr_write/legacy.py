"""The environment under verifiers 0.3.1: data sets, rubric, one reply or a conversation with tools.

That version has no value for "unscored": a reward is a number. So an unscored rollout carries an error, takes no part in its group's
mean or in any advantage, and `generate` (what `vf-eval` and `evaluate` use) keeps it out of the results and of every average.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import verifiers.legacy as vf
from datasets import Dataset
from verifiers.legacy.types import Tool, ToolMessage
from verifiers.legacy.utils.metric_utils import PassAtKMetric
from verifiers.legacy.utils.save_utils import save_metadata, save_outputs

from clinworld.packs.emr_write.checker.verdict import Verdict

from .certification import METRICS, certify, read_metrics, summarize
from .rows import Arguments, Part, Row, draw_rows, find_row, read_arguments
from .session import list_tools, render_tool_prompt
from .stores import Stores

UNSCORED_FILE = "unscored.jsonl"


def load(values: Mapping[str, Any]) -> vf.Environment:
    """The environment of these arguments. Raises UsageError for wrong ones, a screen to score from above all."""
    arguments = read_arguments(values)
    return EmrToolEnv(arguments) if arguments.mode == "tools" else EmrReportEnv(arguments)


def _make_dataset(arguments: Arguments, part: Part) -> Dataset:
    rows = []
    for row in draw_rows(arguments, part):
        prompt = render_tool_prompt(row.task) if arguments.mode == "tools" else row.task.prompt
        info = {"row_id": row.row_id, "kind": row.task.kind, "case": row.case, "scripted_completion": row.scripted_completion}
        rows.append({"prompt": [{"role": "user", "content": prompt}], "answer": "", "info": json.dumps(info, ensure_ascii=False)})
    return Dataset.from_list(rows)


def _read_certification(state: vf.State) -> dict[str, Any] | None:
    return state.get("certification")


async def verified(state: vf.State) -> float:
    """1.0 for a verified write, else 0.0; only asked for scored rollouts."""
    return float(state["certification"]["reward"])


async def num_turns(state: vf.State) -> int:
    """Model calls of the rollout."""
    return len(state["trajectory"])


def _make_metric(name: str) -> Any:
    async def metric(state: vf.State) -> float:
        return read_metrics(state["certification"])[name]

    metric.__name__ = name
    return metric


class EmrRubric(vf.Rubric):
    """The reward and the published metrics. Rollouts with an error are not scored, and are in no group's mean."""

    def __init__(self) -> None:
        super().__init__(funcs=[verified], weights=[1.0])
        for name in METRICS:
            self.add_metric(_make_metric(name))
        self.add_metric(num_turns)

    async def score_rollout(self, state: vf.State) -> None:
        """Score one rollout, or leave it without a score."""
        if state.get("error") is None:
            await super().score_rollout(state)
        else:
            _leave_unscored(state, 0.0)

    async def score_group(self, states: list[vf.State]) -> None:
        """Score those of a group that can be scored; the others get the mean of these, so that no trainer learns from them."""
        scored = [state for state in states if state.get("error") is None]
        if scored:
            await super().score_group(scored)
        mean = summarize([state["reward"] for state in scored])["mean"]
        for state in states:
            if state.get("error") is not None:
                _leave_unscored(state, float(mean or 0.0))


def _leave_unscored(state: vf.State, neutral: float) -> None:
    certification = _read_certification(state)
    state["reward"], state["advantage"] = neutral, 0.0
    state["metrics"] = read_metrics(certification) if certification else {}
    for step in state["trajectory"]:
        step["reward"], step["advantage"] = neutral, 0.0


class _EmrEnv(vf.MultiTurnEnv):
    """What both modes share."""

    def __init__(self, arguments: Arguments, **more: Any) -> None:
        self.arguments, self.stores = arguments, Stores(arguments)
        super().__init__(dataset=_make_dataset(arguments, "train"), eval_dataset=_make_dataset(arguments, "eval"), **more)
        self.rubric = EmrRubric()  # in place of the group of rubrics that the base class makes

    def _find_row(self, state: vf.State) -> Row:
        info = state["info"]
        return find_row(self.arguments, (json.loads(info) if isinstance(info, str) else info)["row_id"])

    def _judge(self, state: vf.State, text: str) -> Verdict:
        row = self._find_row(state)
        return self.stores.judge_report(row.task, text, faults=row.faults)

    @vf.cleanup(priority=-10)
    async def certify_rollout(self, state: vf.State) -> None:
        """Judge what was done; a rollout nothing can be said about gets an error. Runs before any scoring."""
        if state.get("error") is None:
            verdict = self._judge(state, _last_text(state["completion"]))
            state["certification"] = certify(verdict, self.arguments.language)
            if verdict.reward is None:
                state["error"] = vf.InfraError(f"unscored, {verdict.outcome}: {'; '.join(verdict.reasons())}")

    async def generate(self, *args: Any, **named: Any) -> Any:
        """As ever, but unscored rollouts are in a file of their own, and neither in the results nor in any average of them."""
        if (path := named.get("results_path")) is not None:
            _set_apart(Path(path))  # of a run that broke off; a resumed one does them again
        results = await super().generate(*args, **named)
        path = Path(results["metadata"]["path_to_save"])
        scored = [output for output in results["outputs"] if output.get("error") is None]
        unscored = len(results["outputs"]) - len(scored)
        results["outputs"] = scored
        told = results["metadata"]
        told.update(_average(scored, told["rollouts_per_example"], self.pass_threshold), num_unscored=unscored)
        if named.get("save_results"):
            _set_apart(path)
            save_metadata(told, path)
        if not scored:
            raise vf.InfraError(f"none of {unscored} rollouts could be scored")
        return results


class EmrReportEnv(_EmrEnv, vf.SingleTurnEnv):
    """One reply, which is a report."""


class EmrToolEnv(_EmrEnv):
    """A conversation with tools on the live record system."""

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments, max_turns=arguments.max_turns, tool_defs=[Tool(**tool) for tool in list_tools(arguments.language)])

    async def setup_state(self, state: vf.State) -> vf.State:
        """The rollout's own record system."""
        state["session"] = self.stores.open_session(self._find_row(state))
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> list[ToolMessage]:
        """What the tools say to the calls of the last message."""
        session = state["session"]
        said = [
            ToolMessage(role="tool", tool_call_id=call.id, content=session.call(call.name, call.arguments))
            for call in messages[-1].tool_calls or []
        ]
        if session.is_finished:
            state["final_env_response"] = said
        return said

    @vf.stop
    async def has_stopped_calling(self, state: vf.State) -> bool:
        """An answer in words ends the conversation."""
        steps = state["trajectory"]
        return bool(steps) and not getattr(steps[-1]["completion"][-1], "tool_calls", None)

    def _judge(self, state: vf.State, text: str) -> Verdict:
        return state["session"].judge(text)

    @vf.cleanup(priority=-20)
    async def free_record_system(self, state: vf.State) -> None:
        """Put the record system back, however the rollout ended."""
        session = state.pop("session", None)
        if session is not None:
            self.stores.close_session(session)


def _last_text(completion: Any) -> str:
    for message in reversed(completion if isinstance(completion, list) else []):
        role, content = (getattr(message, name, None) for name in ("role", "content"))
        if role == "assistant":
            return content if isinstance(content, str) else ""
    return completion if isinstance(completion, str) else ""


def _average(outputs: Sequence[Mapping[str, Any]], rollouts_per_example: int, threshold: float) -> dict[str, Any]:
    """Averages over scored outputs; None for a mean over none. Rates of passing are over examples whose every rollout is scored."""
    names = dict.fromkeys(name for output in outputs for name in output["metrics"])
    metrics = {name: summarize([output["metrics"][name] for output in outputs if name in output["metrics"]])["mean"] for name in names}
    passing = PassAtKMetric(rollouts_per_example, threshold=threshold)
    passing.add_outputs(list(outputs))
    at_k, all_k = passing.compute()
    mean = summarize([output["reward"] for output in outputs])["mean"]
    return {"avg_reward": mean, "avg_metrics": metrics, "pass_at_k": at_k, "pass_all_k": all_k}


def _set_apart(path: Path) -> None:
    """Move rows with an error out of results.jsonl, where a resumed run would take them for done; their reward becomes null."""
    file, apart = path / "results.jsonl", path / UNSCORED_FILE
    if not file.is_file():
        return
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    unscored = [{**row, "reward": None} for row in rows if row.get("error") is not None]
    if unscored:
        save_outputs([row for row in rows if row.get("error") is None], path, "w")
        apart.write_text("".join(json.dumps(row) + "\n" for row in unscored), encoding="utf-8")
    else:
        apart.unlink(missing_ok=True)
