"""The pack proves itself, and says what it holds: tasks, faults, rules and outcomes, each read from where it lives.

`CHECKS` are made by `clinworld verify emr_write`; the labelled cases through a trainer's own evaluation are the environment's part.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import NamedTuple, get_args

from clinworld.core.text import LANGUAGES
from clinworld.packs.emr_write.certificate.draw import SORTS
from clinworld.packs.emr_write.certificate.measure import count_trials, judge_with_checker, open_store
from clinworld.packs.emr_write.certificate.published import draw_published
from clinworld.packs.emr_write.checker.verdict import OUTCOMES, Rule
from clinworld.packs.emr_write.checker.witnesses import WITNESSES
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.faults.registry import CLASSES, list_applying, load_faults, run_faults
from clinworld.packs.emr_write.search.cases import build_task, list_tasks, observe_case, spell
from clinworld.packs.emr_write.search.corpus import judge_case, read_corpus
from clinworld.packs.emr_write.search.walk import READINGS, walk_sequences
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.task import gold_report, write_report
from clinworld.schema.finding import Finding

SEED = "verify"
WALKED = ("mockmed", "openemr", "medication_request", "visit_with_observation")
LONGEST = 2


class Check(NamedTuple):
    """A check by name: what it finds, and what it looks at."""

    name: str
    find: Callable[[], Iterable[Finding]]
    detail: str


def list_contents() -> Mapping[str, tuple[str, ...]]:
    """What the pack holds by sort, as names."""
    return {"tasks": SORTS, "fault_families": CLASSES, "faults": tuple(load_faults()), "rules": get_args(Rule), "outcomes": OUTCOMES}


def check_tasks() -> Iterator[Finding]:
    """Findings for tasks whose gold report is not paid, or whose silence is."""
    with closing(open_store("sqlite")) as store:
        for name in list_tasks():
            for language in LANGUAGES:
                task = build_task(name, language)
                for said, text, wanted in (("gold", gold_report(task), 1.0), ("silence", write_report([]), 0.0)):
                    reward = run_report(store, task, text, is_full=True).reward
                    if reward != wanted:
                        yield Finding("tasks", f"{name}, {language}, {said}", str(reward), str(wanted))


def check_faults() -> Iterator[Finding]:
    """Findings for faults that come to another outcome than their row says, or that no task lets act."""
    left = dict(load_faults())
    with closing(open_store("sqlite")) as store:
        for name in list_tasks():
            task = build_task(name)
            for fault in list_applying(task):
                if left.pop(fault.fault_id, None) is not None:
                    outcome = run_faults(store, task, [fault.fault_id], is_full=True).outcome
                    if outcome != fault.expected:
                        yield Finding("faults", f"{fault.fault_id} on {name}", outcome, fault.expected)
    yield from (Finding("faults", fault_id, "no task it acts on", "each fault acts") for fault_id in left)


def check_corpus() -> Iterator[Finding]:
    """Findings for kept counterexamples that are judged otherwise, and for rules and naive checks that no line tells apart."""
    lines = read_corpus()
    with closing(SqliteStore()) as store:
        for line in lines:
            found = judge_case(line.case, observe_case(store, line.case))
            if found != line:
                yield Finding("corpus", line.case.case_id, f"{found.outcome}, {found.fools}, {found.kills}", f"{line.outcome}, as kept")
    for rule in sorted(set(get_args(Rule)) - {rule for line in lines for rule in line.kills}):
        yield Finding("corpus", rule, "no case that only this rule decides", "each rule is needed")
    for name in sorted(set(WITNESSES) - {name for line in lines for name in line.fools}):
        yield Finding("corpus", name, "no case that fools it", "each naive check is fooled")


def check_labelled() -> Iterator[Finding]:
    """Findings for labelled ways of faking a write that are paid, and for controls that are not."""
    with closing(open_store("sqlite")) as store:
        counts = count_trials(draw_published(SEED), judge_with_checker(store))
    for family, tally in counts.tallies.items():
        yield from (Finding("labelled", family, surprise) for surprise in tally.surprises)


def check_walk(name: str) -> Iterator[Finding]:
    """Findings for sequences of actions on which the checker and the slow oracle differ."""
    walked = walk_sequences(build_task(name), spell(name), most=LONGEST)
    for each in walked.disagreements:
        yield Finding("sequences", f"{name}, {each.reading}: {' '.join(each.letters)}", each.found, each.truth)
    for reading in READINGS:
        if not walked.counts[reading][True, True]:
            yield Finding("sequences", f"{name}, {reading}", "no right sequence", "at least one")


CHECKS: tuple[Check, ...] = (
    Check("tasks", check_tasks, "gold is paid and silence is not, for every sort of task in both languages"),
    Check("faults", check_faults, "each fault comes to the outcome of its row"),
    Check("corpus", check_corpus, "each kept counterexample comes to its outcome, fools whom it says and is decided by the rules it says"),
    Check("labelled", check_labelled, "six ways of faking a write and the control, on every variant in two stores"),
    *(
        Check(f"sequences_{name}", partial(check_walk, name), f"every sequence of at most {LONGEST} actions, judged twice")
        for name in WALKED
    ),
)
