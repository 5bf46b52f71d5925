"""Trials: one task, the faults of one family, and what they must come to. Independent draws, each addressed by family and number.

A trial draws a task evenly among all sorts in both languages, then evenly one fault of its family among those that apply; where none
applies, it draws another task. So the shares of a family are shares of this generator's draws and of nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

from clinworld.core.digest import digest_bytes, digest_value
from clinworld.core.errors import NothingEmitted
from clinworld.core.rng import Rng, Series
from clinworld.core.text import LANGUAGES
from clinworld.knowledge.load import Knowledge
from clinworld.packs.emr_write.certificate.settings import whole_setting
from clinworld.packs.emr_write.checker.verdict import Outcome
from clinworld.packs.emr_write.faults.registry import CLASSES, Fault, draft_report, expected_outcome, list_applying, load_faults
from clinworld.packs.emr_write.tasks.decisions import DECISIONS, draw_decision
from clinworld.packs.emr_write.tasks.records import KINDS, draw_record_task
from clinworld.packs.emr_write.tasks.single_create import STORE_KINDS, TaskArguments, draw_single_creates
from clinworld.packs.emr_write.tasks.task import Task

SORTS: tuple[str, ...] = (*STORE_KINDS, *KINDS, *DECISIONS)
RIGHT: Outcome = "verified"
GOLD, OTHER_FORM, TWO_FAULTS = "gold", "right_in_another_form", "two_faults"

Side = Literal["wrong", "right"]


@dataclass(frozen=True, slots=True)
class Family:
    """Trials that are counted together. Each has one of `faults`; with `together` two, any that go together; gold has none."""

    name: str
    side: Side
    faults: tuple[str, ...] = ()
    together: int = 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One draw: a task as its chart stands, the reply that is sent, what the server does wrong, and the outcome that is right.

    `template` is what trials share that differ in values only; `shape` digests the structure of what is written, without values.
    """

    trial_id: str
    family: str
    template: str
    shape: str
    task: Task
    text: str
    server_faults: tuple[str, ...]
    expected: Outcome

    @property
    def is_right(self) -> bool:
        """True when the trial is to be paid."""
        return self.expected == RIGHT


@lru_cache(maxsize=1)
def list_families() -> tuple[Family, ...]:
    """The wrong families: each class of faults on each side, and two faults at once. A fault that is right belongs to none of them."""
    wrong = [fault for fault in load_faults().values() if fault.expected != RIGHT]
    named = [(kind, side) for kind in CLASSES for side in ("policy", "server")]
    grouped = [Family(f"{kind}_{side}", "wrong", _ids(wrong, kind, side)) for kind, side in named]
    return (*(family for family in grouped if family.faults), Family(TWO_FAULTS, "wrong", tuple(load_faults()), together=2))


@lru_cache(maxsize=1)
def list_right_families() -> tuple[Family, ...]:
    """The right families: the gold report as it is, and gold done in another form or met by a fault that must not matter."""
    harmless = tuple(fault.fault_id for fault in load_faults().values() if fault.expected == RIGHT)
    return (Family(GOLD, "right", together=0), Family(OTHER_FORM, "right", harmless))


def _ids(faults: Sequence[Fault], kind: str, side: str) -> tuple[str, ...]:
    return tuple(fault.fault_id for fault in faults if (fault.fault_class, fault.side) == (kind, side))


def draw_trials(families: Sequence[Family], counts: Mapping[str, int], seed: str, knowledge: Knowledge) -> Iterator[Trial]:
    """So many trials of each family; trial i is the same whatever else is drawn."""
    rng = Rng(seed)
    for family in families:
        for number in range(counts[family.name]):
            yield draw_trial(family, number, rng, knowledge)


def draw_trial(family: Family, number: int, rng: Rng, knowledge: Knowledge) -> Trial:
    """One trial of a family. Raises NothingEmitted when no task offers any of its faults what it works on."""
    for attempt in range(whole_setting("most_redraws")):
        address = f"{family.name}-{number}-{attempt}"
        series = rng.at(address, "trial")
        task = draw_task(series, address, rng, knowledge)
        faults = _draw_faults(family, task, series)
        if faults is not None:
            return _make_trial(digest_value([rng.seed, family.name, number], length=12), family.name, task, faults)
    raise NothingEmitted(f"family {family.name}", "no task offers its faults what they work on", do="Leave its faults out of the table.")


def _make_trial(trial_id: str, family: str, task: Task, faults: tuple[str, ...]) -> Trial:
    expected, draft = expected_outcome(faults), draft_report(task, faults)
    assert expected is not None, "faults that do not go together are not drawn"
    server = tuple(name for name in faults if load_faults()[name].side == "server")
    unseen = [name for name in faults if name in server or "text" in load_faults()[name].parts]
    template = " ".join((task.kind, task.scenario, *faults))
    shape = digest_shape(draft.actions, draft.more, unseen)
    return Trial(trial_id, family, template, shape, draft.staged_task(), draft.text(), server, expected)


def draw_task(series: Series, address: str, rng: Rng, knowledge: Knowledge) -> Task:
    """A task of any sort, evenly, in either language."""
    kind, language = series.pick(SORTS), series.pick(LANGUAGES, index=1)
    if kind in KINDS:
        return draw_record_task(kind, rng, address, knowledge, language)
    if kind in DECISIONS:
        return draw_decision(kind, rng, address, language)
    arguments = TaskArguments(envs=(kind,), num_tasks=1, seed=whole_seed(rng.seed))
    return draw_single_creates(arguments, language=language, part=address)[0]


def whole_seed(seed: str) -> int:
    """A seed as the whole number that single creates take."""
    return int(digest_value(["single creates", seed]), 16)


def _draw_faults(family: Family, task: Task, series: Series) -> tuple[str, ...] | None:
    """The faults of a trial by the table's order; None where the task offers the family nothing."""
    if not family.together:
        return ()
    applying = [fault.fault_id for fault in list_applying(task) if fault.fault_id in family.faults]
    chosen = [each for each in combinations(applying, family.together) if family.side == "right" or _is_wrong(each)]
    return series.pick(chosen, index=2) if chosen else None


@lru_cache(maxsize=65536)
def _is_wrong(faults: tuple[str, ...]) -> bool:
    return expected_outcome(faults) not in (RIGHT, None)


def show_identity(trial: Trial) -> list[str]:
    """What the digest of a corpus is taken over, trial by trial."""
    report = digest_bytes(trial.text.encode("utf-8", "surrogatepass"))
    return [trial.trial_id, trial.family, trial.template, trial.task.language, trial.expected, report]


def digest_shape(actions: Sequence[Any], more: Mapping[str, Any], unseen: Sequence[str] = ()) -> str:
    """The structure of a report: actions and keys without their values, and the names of faults that no key shows."""
    kept = {name: value if name in ("submitted", "decision") else _shape(value) for name, value in more.items()}
    return digest_value([[_shape(action, is_action=True) for action in actions], kept, list(unseen)])


def _shape(value: Any, *, is_action: bool = False) -> Any:
    """A value with each leaf replaced by its type; an action keeps what it does and where."""
    if isinstance(value, dict):
        return {name: each if is_action and name in ("op", "collection") else _shape(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shape(each) for each in value]
    return type(value).__name__
