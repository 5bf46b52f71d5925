"""Named cases: a task of a fixed seed, and what happens to it, in words that survive a change of the charts.

A case is letters of an alphabet, or faults of the registry. Nothing in it is a row id or a text of a task.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.checker.check import check_write
from clinworld.packs.emr_write.checker.spec import WriteSpec
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Rules, Verdict
from clinworld.packs.emr_write.faults.draft import Draft, draft_gold
from clinworld.packs.emr_write.faults.registry import draft_report, find_server_faults
from clinworld.packs.emr_write.faults.server import wrap_store
from clinworld.packs.emr_write.report import Rejection, Report, parse_report
from clinworld.packs.emr_write.search.letters import Letters, spell_flat, spell_order, spell_pair
from clinworld.packs.emr_write.store.protocol import OracleUnreadable, Reading, Reply, Store
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision, list_scenarios
from clinworld.packs.emr_write.tasks.records import KINDS, draw_record_task
from clinworld.packs.emr_write.tasks.single_create import STORE_KINDS, TaskArguments, draw_single_creates
from clinworld.packs.emr_write.tasks.task import Task, write_report

SEED = 7
_ACCENT = "\N{LATIN SMALL LETTER E WITH ACUTE}"


@dataclass(frozen=True, slots=True)
class Case:
    """`task` is a name of `list_tasks`. `letters` are of its alphabet, `faults` of the registry; one of the two is empty."""

    task: str
    letters: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    is_self_correction_allowed: bool = False

    @property
    def case_id(self) -> str:
        """The case in one word."""
        mark = "~" if self.is_self_correction_allowed else ""
        return f"{self.task}{mark}:{'+'.join(self.letters or self.faults) or 'control'}"


@dataclass(frozen=True, slots=True)
class Observed:
    """One episode before it is judged, so that it can be judged in many ways."""

    spec: WriteSpec
    reading: Reading | OracleUnreadable
    report: Report | Rejection
    replies: tuple[Reply, ...]

    def judge(self, rules: Rules = ALL_RULES) -> Verdict:
        """The verdict with these rules."""
        return check_write(self.spec, self.reading, self.report, self.replies, rules=rules)


def list_tasks() -> tuple[str, ...]:
    """Names of every task a case may have: each kind, decisions by what is right, and three that need a value of their own."""
    decisions = tuple(f"{kind}_{side}" for kind in DECISIONS for side in ("acts", "rests"))
    return (*STORE_KINDS, *KINDS, *decisions, "accented", "words_or_number", "one_unit")


@lru_cache(maxsize=256)
def build_task(name: str, language: Language = "en") -> Task:
    """A task by name. Raises UsageError for one there is not."""
    if name in STORE_KINDS:
        return draw_single_creates(TaskArguments(envs=(name,), num_tasks=1, seed=SEED), language=language)[0]
    if name in KINDS:
        return draw_record_task(name, Rng(SEED), f"case-{name}", load_knowledge(), language)
    kind, _, side = name.rpartition("_")
    if kind in DECISIONS and side in ("acts", "rests"):
        drawn = (draw_decision(kind, Rng(SEED), f"case-{scenario}", language, scenario=scenario) for scenario in list_scenarios(kind))
        return next(task for task in drawn if bool(task.spec.records) == (side == "acts"))
    match name:
        case "accented":
            return _change(build_task("mockmed", language), lambda fields: {**fields, "note": f"{fields['note']} {_ACCENT}"})
        case "words_or_number":
            task = build_task("observation", language)
            return _change(task, dict, optional={"valueString": ("1",)})
        case "one_unit":
            task = build_task("observation", language)
            return _change(task, lambda fields: {**fields, "valueQuantity": {"value": 1, "unit": "L"}})
    raise UsageError("task", repr(name), allowed_values(list_tasks(), most=40), nearest=nearest_match(name, list_tasks()))


def _change(task: Task, edit: Callable[[Mapping[str, Any]], dict[str, Any]], **changed: Any) -> Task:
    record = task.spec.records[0]
    return replace(task, spec=replace(task.spec, records=(replace(record, fields=edit(record.fields), **changed),)))


def spell(name: str) -> Letters:
    """The alphabet of a task; empty for tasks that are only met by faults."""
    task = build_task(name)
    if name in (*STORE_KINDS, "accented"):
        return spell_flat(task)
    if name == "medication_request":
        return spell_order(task)
    if name == "visit_with_observation":
        return spell_pair(task)
    gold = draft_gold(task)
    match name:
        case "words_or_number":
            return _with_fields(gold, number_and_words={"valueString": "1"})
        case "one_unit":
            return _with_fields(gold, true_for_one={"valueQuantity": {"value": True, "unit": "L"}})
    return {}


def _with_fields(gold: Draft, **letters: Mapping[str, Any]) -> Letters:
    first = gold.actions[0]
    return {"gold": first, **{name: {**first, "fields": {**first["fields"], **changed}} for name, changed in letters.items()}}


def build_case(case: Case) -> tuple[Task, str]:
    """The task as it stands before the episode, and the report that is sent."""
    task = build_task(case.task)
    if case.is_self_correction_allowed:
        task = replace(task, spec=replace(task.spec, is_self_correction_allowed=True))
    if case.letters:
        letters = spell(case.task)
        return task, write_report([letters[each] for each in case.letters])
    draft = draft_report(task, case.faults)
    return draft.staged_task(), draft.text()


def observe_case(store: Store, case: Case) -> Observed:
    """One episode of a case, not yet judged."""
    task, text = build_case(case)
    report, replies = parse_report(text), tuple[Reply, ...]()
    system = wrap_store(store, find_server_faults(case.faults))
    reading: Reading | OracleUnreadable
    try:
        system.begin(task.setup, now=task.now)
        if isinstance(report, Report) and report.is_submitted:
            replies = system.execute(report.actions)
        system.drain()
        reading = system.read(task.spec.near(), is_full=True)
    except OracleUnreadable as problem:
        reading = problem
    finally:
        system.restore()
    return Observed(task.spec, reading, report, replies)
