"""The rows of the two data sets: gold tasks to train on, and for evaluation one labelled row a case with its scripted completion.

A row is found again from its arguments and its id alone, so a saved trace can be judged anew. No library of environments is needed here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.faults.registry import find_server_faults
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision
from clinworld.packs.emr_write.tasks.records import KINDS, draw_record_task
from clinworld.packs.emr_write.tasks.single_create import TaskArguments, draw_labelled, draw_single_creates, scripted_report
from clinworld.packs.emr_write.tasks.task import Task

Mode = Literal["report", "tools"]
Part = Literal["train", "eval"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """Everything an environment can be asked for. Raises UsageError for what it cannot be, a screen to score from above all.

    `envs`, `num_tasks`, `seed`, `include_hacking_cases` and `score_from_screen` are those of the published environment. `kinds` adds
    record and decision tasks, `num_tasks` each. `mode` report takes one reply, tools a conversation on the live record system.
    `chart_rows` are rows of patients nobody asks about. `server_faults` break the record system on purpose, in each row whose place is a
    multiple of `fault_every`, to see what becomes of it.
    """

    envs: tuple[str, ...] = ("mockmed",)
    num_tasks: int = 8
    seed: int = 0
    include_hacking_cases: bool = True
    score_from_screen: object = False
    kinds: tuple[str, ...] = ()
    language: Language = "en"
    mode: Mode = "report"
    max_turns: int = 12
    chart_rows: int = 1000
    server_faults: tuple[str, ...] = ()
    fault_every: int = 1

    def __post_init__(self) -> None:
        for name, number, least in (
            ("num_tasks", self.num_tasks, 1),
            ("seed", self.seed, 0),
            ("max_turns", self.max_turns, 1),
            ("chart_rows", self.chart_rows, 1),
            ("fault_every", self.fault_every, 1),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise UsageError(name, repr(number), f"a whole number from {least} on")
        if not isinstance(self.include_hacking_cases, bool):
            raise UsageError("include_hacking_cases", repr(self.include_hacking_cases), "true or false")
        self.single_creates()
        for name, found, known in (
            ("kinds", self.kinds, (*KINDS, *DECISIONS)),
            ("language", (self.language,), get_args(Language)),
            ("mode", (self.mode,), get_args(Mode)),
        ):
            for each in found:
                if each not in known:
                    raise UsageError(name, repr(each), allowed_values(known, most=20), nearest=nearest_match(str(each), known))
        find_server_faults(self.server_faults)

    def single_creates(self) -> TaskArguments:
        """The part that the pack's single creates are drawn from."""
        return TaskArguments(tuple(self.envs), self.num_tasks, self.seed, self.include_hacking_cases, self.score_from_screen)

    def as_json(self) -> dict[str, Any]:
        """The arguments as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `case` names a labelled row, "" a gold one; `scripted_completion` is the reply of that case; `faults` are the server's."""

    row_id: str
    task: Task
    case: str = ""
    scripted_completion: str = ""
    faults: tuple[str, ...] = ()


def read_arguments(values: Mapping[str, Any]) -> Arguments:
    """Arguments from JSON values or keywords. Raises UsageError, also for a name there is not."""
    known = tuple(Arguments.__dataclass_fields__)
    for name in values:
        if name not in known:
            raise UsageError("argument", repr(name), allowed_values(known, most=20), nearest=nearest_match(name, known))
    plain: dict[str, Any] = {
        name: tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value for name, value in values.items()
    }
    for name in ("envs", "kinds", "server_faults"):
        if isinstance(plain.get(name), str):
            raise UsageError(name, repr(plain[name]), "a list of names")
    return Arguments(**plain)


@lru_cache(maxsize=16)
def draw_rows(arguments: Arguments, part: Part) -> tuple[Row, ...]:
    """`num_tasks` gold rows a store and a kind; for evaluation, drawn apart, the control and the labelled cases as well."""
    rows = [Row(task.task_id, task) for task in draw_single_creates(arguments.single_creates(), language=arguments.language, part=part)]
    rng = Rng(arguments.seed)
    for kind in arguments.kinds:
        for i in range(arguments.num_tasks):
            case_id = f"{part}-{kind}-{i}"
            if kind in KINDS:
                task = draw_record_task(kind, rng, case_id, load_knowledge(), arguments.language)
            else:
                task = draw_decision(kind, rng, case_id, arguments.language)
            rows.append(Row(case_id, task))
    if part == "eval":
        for case, task in draw_labelled(arguments.single_creates(), language=arguments.language):
            rows.append(Row(task.task_id, task, case, scripted_report(case, task)))
    return tuple(row if i % arguments.fault_every else replace(row, faults=arguments.server_faults) for i, row in enumerate(rows))


def find_row(arguments: Arguments, row_id: str) -> Row:
    """A row by its id, in whichever part it is. Raises UsageError for one there is not."""
    for part in get_args(Part):
        for row in draw_rows(arguments, part):
            if row.row_id == row_id:
                return row
    raise UsageError("row_id", repr(row_id), "a row of these arguments")
