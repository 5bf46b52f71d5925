"""Bounded exhaustive search: every sequence of actions up to a length, done by the real system and judged twice.

The checker reads the real record system; the slow oracle keeps its own. A verdict that pays a wrong sequence or refuses a right one is a
disagreement, and so is an outcome of another name. Each sequence is one report and one episode; the chart is put back by the store.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from clinworld.packs.emr_write.checker.spec import WriteSpec
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Outcome, Rules, Verdict
from clinworld.packs.emr_write.report import Report, parse_report
from clinworld.packs.emr_write.search.cases import Observed
from clinworld.packs.emr_write.search.letters import Letters
from clinworld.packs.emr_write.search.slow_oracle import SlowStore, Truth, Wanted, judge_states
from clinworld.packs.emr_write.store.protocol import SeedRow, Store
from clinworld.packs.emr_write.store.sqlite import SqliteStore
from clinworld.packs.emr_write.tasks.task import Task, write_report

Reading = Literal["net", "clean"]
READINGS: tuple[Reading, ...] = ("net", "clean")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One sequence on which checker and slow oracle differ."""

    letters: tuple[str, ...]
    reading: Reading
    found: str
    truth: Truth


@dataclass
class Walked:
    """Counts over all sequences: by reading, (is paid, is right) → sequences; and by naive check, wrong sequences it would have paid."""

    sequences: int = 0
    counts: dict[Reading, Counter[tuple[bool, bool]]] = field(default_factory=lambda: {name: Counter() for name in READINGS})
    fooled: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    def paid_wrong(self, reading: Reading) -> int:
        """Wrong sequences that were paid."""
        return self.counts[reading][True, False]

    def refused_right(self, reading: Reading) -> int:
        """Right sequences that were not paid."""
        return self.counts[reading][False, True]

    def show(self) -> list[str]:
        """The counts as lines."""
        lines = [f"{self.sequences:,} sequences"]
        for name, counts in self.counts.items():
            right, wrong = counts[True, True] + counts[False, True], counts[True, False] + counts[False, False]
            paid, refused = f"{counts[True, False]} of {wrong:,} wrong ones paid", f"{counts[False, True]} of {right:,} right ones refused"
            lines.append(f"{name}: {paid}, {refused}")
        return lines


def plain_wanted(spec: WriteSpec) -> Wanted:
    """A spec in the slow oracle's own words."""
    decision = spec.decision
    return Wanted(
        creates=[(each.name, each.collection, {**each.identity, **each.fields}) for each in spec.records if each.change == "create"],
        edits={(each.collection, str(each.row_id)): dict(each.fields) for each in spec.records if each.change == "update"},
        optional={path: values for each in spec.records for path, values in each.optional.items()},
        convertible=[path for each in spec.records for path in each.unit_equivalent],
        decision=decision.decision if decision else None,
        reasons=decision.reasons if decision else (),
    )


def plain_rows(rows: Sequence[SeedRow]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Rows of a chart as tuples."""
    return [(row.collection, row.row_id, row.fields) for row in rows]


def walk_sequences(
    task: Task,
    letters: Letters,
    *,
    most: int,
    rules: Rules = ALL_RULES,
    open_store: Callable[[Sequence[SeedRow]], Store] = SqliteStore,
) -> Walked:
    """Every sequence of at most so many letters, in both readings of history."""
    store, walked, wanted = open_store(task.setup), Walked(), plain_wanted(task.spec)
    try:
        for names, slow in _grow((), SlowStore(plain_rows(task.setup)), letters, most):
            observed = _do_sequence(store, task, [letters[name] for name in names])
            walked.sequences += 1
            for reading in READINGS:
                verdict, truth = _judge_both(observed, wanted, slow, reading, rules)
                is_right = truth == "verified"
                walked.counts[reading][verdict.reward == 1.0, is_right] += 1
                if verdict.outcome != truth:
                    walked.disagreements.append(Disagreement(names, reading, verdict.outcome, truth))
                if reading == "clean" and not is_right:
                    walked.fooled.update(witness for witness, is_passed in verdict.witnesses.items() if is_passed)
    finally:
        store.close()
    return walked


def run_sequence(
    store: Store, task: Task, letters: Letters, names: Sequence[str], reading: Reading, *, rules: Rules = ALL_RULES
) -> tuple[Outcome, Truth, Verdict]:
    """One sequence by itself on a chart of the task's rows: what the checker says, what is true, and the whole verdict."""
    slow = SlowStore(plain_rows(task.setup))
    for name in names:
        slow.do(letters[name])
    observed = _do_sequence(store, task, [letters[name] for name in names])
    verdict, truth = _judge_both(observed, plain_wanted(task.spec), slow, reading, rules)
    return verdict.outcome, truth, verdict


def _do_sequence(store: Store, task: Task, actions: Sequence[Mapping[str, Any]]) -> Observed:
    """One report of these actions, through the parser; the task's rows are the chart itself."""
    report = parse_report(write_report(actions))
    store.begin((), now=task.now)
    replies = store.execute(report.actions) if isinstance(report, Report) else ()
    store.drain()
    reading = store.read(task.spec.near())
    store.restore()
    return Observed(task.spec, reading, report, replies)


def _judge_both(observed: Observed, wanted: Wanted, slow: SlowStore, reading: Reading, rules: Rules) -> tuple[Verdict, Truth]:
    verdict = replace(observed, spec=replace(observed.spec, is_self_correction_allowed=reading == "net")).judge(rules)
    if slow.is_rejected:
        return verdict, "rejected_policy"
    return verdict, judge_states(wanted, slow.states, is_net=reading == "net")


def _grow(names: tuple[str, ...], slow: SlowStore, letters: Letters, most: int) -> Iterator[tuple[tuple[str, ...], SlowStore]]:
    """Each sequence after its beginnings, with the slow system as it stands then; a branch starts from a fork, not from the beginning."""
    yield names, slow
    if len(names) < most:
        for name, action in letters.items():
            branch = slow.fork()
            branch.do(action)
            yield from _grow((*names, name), branch, letters, most)
