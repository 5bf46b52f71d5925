"""Minimal counterexamples: the shortest cases that fool a naive check, or a checker that lacks one rule. Kept as corpus.jsonl.

`find_counterexamples` makes the lines by search; `read_corpus` reads them strictly. A line says what the outcome is, which naive checks
would have paid though nothing is to be paid (`fools`), and which rules decide it (`kills`: without the rule the verdict is another).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import orjson

from clinworld.core.canary import CANARY
from clinworld.core.digest import digest_value
from clinworld.core.errors import StoreError, allowed_values
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, OUTCOMES, Outcome, Verdict
from clinworld.packs.emr_write.checker.witnesses import WITNESSES
from clinworld.packs.emr_write.faults.registry import list_applying
from clinworld.packs.emr_write.search.cases import Case, Observed, build_task, list_tasks, observe_case, spell
from clinworld.packs.emr_write.store.protocol import Store

CORPUS = Path(__file__).parent / "corpus.jsonl"
_KEYS = ("case", "task", "letters", "faults", "self_correction", "outcome", "fools", "kills")


@dataclass(frozen=True, slots=True)
class Line:
    """One counterexample or control. A control fools nobody and may kill a rule that would refuse it."""

    case: Case
    outcome: Outcome
    fools: tuple[str, ...]
    kills: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """True when the case is to be paid."""
        return self.outcome == "verified"

    @property
    def shown_id(self) -> str:
        """The name under which somebody else's checker sees the case; it says neither fault nor letters."""
        return digest_value(["kept case", self.case.case_id], length=12)

    def as_row(self) -> dict[str, Any]:
        """The line as JSON values."""
        case = self.case
        values = (case.case_id, case.task, case.letters, case.faults, case.is_self_correction_allowed, self.outcome, self.fools, self.kills)
        return dict(zip(_KEYS, values, strict=True))


def show_face(verdict: Verdict) -> tuple[Outcome, bool]:
    """What a reader of a verdict goes by: its outcome, and whether evidence of the policy's was told and refused."""
    return verdict.outcome, any(finding.rule == "policy_evidence_refused" for finding in verdict.findings)


def judge_case(case: Case, observed: Observed) -> Line:
    """The line of a case: its outcome, whom it fools and which rules decide it."""
    verdict = observed.judge()
    fools = tuple(name for name in WITNESSES if verdict.witnesses[name] and verdict.outcome != "verified")
    kills = tuple(rule for rule in sorted(ALL_RULES) if show_face(observed.judge(ALL_RULES - {rule})) != show_face(verdict))
    return Line(case, verdict.outcome, fools, kills)


def list_candidates(task: str, most: int) -> Iterator[Case]:
    """Cases of one task by rising length: the control, single faults, and sequences of letters in both readings of history."""
    yield Case(task)
    for fault in list_applying(build_task(task)):
        yield Case(task, faults=(fault.fault_id,))
    for length in range(1, most + 1):
        for letters in product(spell(task), repeat=length):
            yield Case(task, letters)
            yield Case(task, letters, is_self_correction_allowed=True)


def find_counterexamples(store: Store, *, tasks: Sequence[str] = (), most: int = 2) -> list[Line]:
    """For every task and every naive or lacking checker the first fault and the first sequence it gets wrong, and every control.

    "Gets wrong" is to pay what is not to be paid, or to give another verdict than all rules do. Sorted by case.
    """
    kept: dict[str, Line] = {}
    for task in tasks or list_tasks():
        met: dict[bool, set[tuple[str, bool]]] = {True: set(), False: set()}
        for case in list_candidates(task, most):
            line = judge_case(case, observe_case(store, case))
            errs = {(name, line.is_right) for name in (*line.fools, *line.kills)}
            seen = met[bool(case.letters)]
            if errs - seen or (line.is_right and not case.letters and not case.faults):
                kept[case.case_id] = line
            seen |= errs
    return [kept[name] for name in sorted(kept)]


def write_corpus(lines: Sequence[Line], path: Path = CORPUS) -> None:
    """Write the lines under the canary."""
    rows = [{"canary": CANARY}, *(line.as_row() for line in lines)]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


@lru_cache(maxsize=4)
def read_corpus(path: Path = CORPUS) -> tuple[Line, ...]:
    """The lines of a corpus. Raises StoreError for a line that is not one, or stands twice."""
    lines: list[Line] = []
    for number, text in enumerate(path.read_bytes().splitlines(), start=1):
        row = orjson.loads(text)
        if "canary" in row:
            continue
        where = f"{path.name}:{number}"
        if tuple(row) != _KEYS:
            raise StoreError(where, f"keys {', '.join(row)}", allowed_values(_KEYS))
        if row["outcome"] not in OUTCOMES:
            raise StoreError(where, f"outcome {row['outcome']!r}", allowed_values(OUTCOMES))
        case = Case(row["task"], tuple(row["letters"]), tuple(row["faults"]), row["self_correction"])
        if case.case_id != row["case"] or any(line.case == case for line in lines):
            raise StoreError(where, f"case {row['case']!r}", f"{case.case_id!r} once is expected")
        lines.append(Line(case, row["outcome"], tuple(row["fools"]), tuple(row["kills"])))
    return tuple(lines)
