"""Policies that decide nothing: what each of them earns on decision tasks, where the right act has to be found in the chart.

Their shares say what a reward is worth before anything is learnt. None of them knows the laboratory results.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from clinworld.core.rng import Rng, Series
from clinworld.core.text import LANGUAGES
from clinworld.packs.emr_write.actions import OPS
from clinworld.packs.emr_write.certificate.draw import RIGHT
from clinworld.packs.emr_write.faults.registry import draft_report, list_applying
from clinworld.packs.emr_write.store.layout import load_layout
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision, list_scenarios
from clinworld.packs.emr_write.tasks.task import REASONS, Task, gold_report, write_report

NEVER_WRITE = "never_write"

# A policy gets the task, draws of its own, and the same task under any other scenario; it gives a reply.
Policy = Callable[[Task, Series, Callable[[str], Task]], str]


def silence(task: Task, series: Series, under: Callable[[str], Task]) -> str:
    """Nothing done and nothing said."""
    return write_report([])


def never_write(reason: str) -> Policy:
    """Always the decision to write nothing, for one reason."""
    return lambda task, series, under: write_report([], decision="no_write", reason=reason)


def always_order(task: Task, series: Series, under: Callable[[str], Task]) -> str:
    """Always the order that would be right in the first scenario that needs one."""
    others = (under(scenario) for scenario in list_scenarios(task.kind))
    return gold_report(next(other for other in others if other.spec.records))


def gold_then_noise(task: Task, series: Series, under: Callable[[str], Task]) -> str:
    """The right report, and one more write beside it."""
    noise = [
        fault.fault_id
        for fault in list_applying(task)
        if (fault.fault_class, fault.side, fault.parts) == ("frame", "policy", ("actions",)) and fault.expected != RIGHT
    ]
    return draft_report(task, (series.pick(noise, index=2),)).text()


def random_write(task: Task, series: Series, under: Callable[[str], Task]) -> str:
    """One action drawn blindly: a row of the chart written again, changed or deleted, or a decision for any reason."""
    op = series.pick((*OPS, None), index=2)
    if op is None:
        return write_report([], decision="no_write", reason=series.pick(REASONS, index=3))
    row, other = series.pick(task.setup, index=3), series.pick(task.setup, index=4)
    layout = load_layout()
    fields = {name: value for name, value in row.fields.items() if layout.owner(row.collection, name) == "policy"}
    action: dict[str, Any] = {"op": op, "collection": row.collection}
    if op != "delete":
        action["fields"] = fields
    if op != "create":
        action["id"] = other.row_id if other.collection == row.collection else row.row_id
    return write_report([action])


def copy_prompt(task: Task, series: Series, under: Callable[[str], Task]) -> str:
    """The prompt, word for word."""
    return task.prompt


POLICIES: Mapping[str, Policy] = {
    "silence": silence,
    **{f"{NEVER_WRITE}:{reason}": never_write(reason) for reason in REASONS},
    "always_order": always_order,
    "gold_then_noise": gold_then_noise,
    "random_write": random_write,
    "copy_prompt": copy_prompt,
}


def draw_replies(count: int, seed: str) -> Iterator[tuple[str, Task, str]]:
    """(policy, task, reply) for `count` decision tasks, the same tasks for every policy."""
    rng = Rng(seed)
    for number in range(count):
        address = f"policies-{number}"
        series = rng.at(address, "trial")
        kind, language = series.pick(DECISIONS), series.pick(LANGUAGES, index=1)
        task = draw_decision(kind, rng, address, language)

        def under(scenario: str, kind: str = kind, address: str = address, task: Task = task) -> Task:
            return draw_decision(kind, rng, address, task.language, scenario=scenario)

        for name, policy in POLICIES.items():
            yield name, task, policy(task, series, under)
