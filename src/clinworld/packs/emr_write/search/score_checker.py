"""A checker of somebody else's, scored on our corpus: what it pays that is wrong, and what it refuses that is right.

`export_cases` gives what a checker may look at, under ids and in an order that say nothing; its verdicts come back as
`{"name": …, "paid": {id: true, false, or null for unscored}}`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinworld.core.errors import StoreError, nearest_match
from clinworld.core.tables import read_text
from clinworld.packs.emr_write.search.cases import build_case, observe_case
from clinworld.packs.emr_write.search.corpus import CORPUS, Line, read_corpus
from clinworld.packs.emr_write.store.protocol import Reading, Store
from clinworld.packs.emr_write.store.rows import encode_json


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a checker paid, by case."""

    name: str
    paid: Mapping[str, bool | None]


@dataclass(frozen=True, slots=True)
class CheckerScore:
    """`paid_wrong` and `refused_right` are cases in words; the counts are what they are out of.

    Unscored cases count as wrong when they are paid. A right case that the checker left unscored was not paid and stands in
    `refused_right`; `unscored` counts what it left unscored on either side.
    """

    paid_wrong: tuple[str, ...]
    refused_right: tuple[str, ...]
    wrong: int
    right: int
    unscored: int = 0

    @property
    def is_sound(self) -> bool:
        """True when nothing wrong was paid and nothing right refused."""
        return not self.paid_wrong and not self.refused_right

    def show(self) -> list[str]:
        """The score as lines."""
        paid, refused = (
            f"{len(self.paid_wrong)} of {self.wrong} wrong cases paid",
            f"{len(self.refused_right)} of {self.right} right cases refused",
        )
        unscored = f"{self.unscored} of {self.wrong + self.right} cases left unscored"
        return [paid, *(f"  {case}" for case in self.paid_wrong), refused, *(f"  {case}" for case in self.refused_right), unscored]


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise StoreError("verdicts", "a key that stands twice", do="Give one verdict a case.")
    return value


def read_verdicts(path: Path) -> Verdicts:
    """The verdicts in a file. Raises StoreError for anything but a name and an object of verdicts by id."""
    if not path.exists():
        raise StoreError(str(path), "no such file", do="Check the path.")
    text = read_text(path, StoreError)
    try:
        value = json.loads(text, object_pairs_hook=_read_object)
    except json.JSONDecodeError as problem:
        raise StoreError(f"{path.name}:{problem.lineno}", f"not JSON ({problem.msg})", "one JSON object is expected") from None
    except (ValueError, RecursionError):  # a number or a depth nobody reads
        raise StoreError(path.name, "a number or a nesting that is too long to be read", "one JSON object is expected") from None
    if not isinstance(value, dict) or sorted(value) != ["name", "paid"]:
        found = ", ".join(value) if isinstance(value, dict) else type(value).__name__
        raise StoreError(path.name, f"keys {found}", "exactly name and paid are expected")
    if not isinstance(value["name"], str) or not value["name"] or not value["name"].isprintable():
        raise StoreError(f"{path.name}, name", repr(value["name"])[:80], "a text is expected, printable and on one line")
    if not isinstance(value["paid"], dict):
        raise StoreError(f"{path.name}, paid", type(value["paid"]).__name__, "an object of booleans by case is expected")
    return Verdicts(value["name"], value["paid"])


def score(verdicts: Mapping[str, bool | None], *, corpus: Path = CORPUS) -> CheckerScore:
    """The verdicts against the corpus, by the ids of the exported cases.

    Raises StoreError for a case there is not, one left out, or a verdict that is none of true, false and null.
    """
    lines = {line.shown_id: line for line in read_corpus(corpus)}
    for name, verdict in verdicts.items():
        if name not in lines:
            nearest = nearest_match(name, lines)
            raise StoreError("paid", f"no case {name!r}", "ids of the exported cases", nearest=nearest, do="Export again.")
        if verdict is not None and not isinstance(verdict, bool):
            raise StoreError(f"paid, {name}", repr(verdict)[:80], "true, false, or null for unscored is expected")
    if missing := [name for name in lines if name not in verdicts]:
        raise StoreError("paid", f"{len(missing)} of {len(lines)} cases without a verdict, first {missing[0]!r}", do="Give each case one.")
    wrong = [name for name, line in lines.items() if not line.is_right]
    right = [name for name, line in lines.items() if line.is_right]
    paid_wrong = tuple(lines[name].case.case_id for name in wrong if verdicts[name])
    refused_right = tuple(lines[name].case.case_id for name in right if not verdicts[name])
    return CheckerScore(paid_wrong, refused_right, len(wrong), len(right), sum(verdict is None for verdict in verdicts.values()))


def list_shown(corpus: Path = CORPUS) -> list[Line]:
    """The kept cases in the order in which they are exported: by their ids."""
    return sorted(read_corpus(corpus), key=lambda line: line.shown_id)


def export_cases(store: Store, path: Path, *, corpus: Path = CORPUS) -> int:
    """Write what a checker may look at, one line a case, without the outcome; how many lines."""
    rows = [show_case(store, line) for line in list_shown(corpus)]
    path.write_text("".join(encode_json(row) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def show_case(store: Store, line: Line) -> dict[str, Any]:
    """A case in plain values: prompt, what is wanted, rows before, the report, answers, and what the record system holds afterwards.

    `after` is null where it could not be read.
    """
    task, text = build_case(line.case)
    observed = observe_case(store, line.case)
    reading = observed.reading if isinstance(observed.reading, Reading) else None
    record = [
        {"change": each.change, "collection": each.collection, "id": each.row_id, "keys": dict(each.identity), "fields": dict(each.fields)}
        for each in task.spec.records
    ]
    decision = task.spec.decision
    return {
        "case": line.shown_id,
        "prompt": task.prompt,
        "now": task.now,
        "wanted": record,
        "wanted_decision": list(decision.reasons) if decision else None,
        "self_correction": line.case.is_self_correction_allowed,
        "before": [{"collection": row.collection, "id": row.row_id, "fields": dict(row.fields)} for row in task.setup],
        "report": text,
        "answers": [reply.status for reply in observed.replies],
        "after": _show_reading(reading) if reading else None,
    }


def _show_reading(reading: Reading) -> dict[str, Any]:
    def show(row: Any) -> Any:
        return None if row is None else dict(row)

    return {
        "changes": [
            {"collection": each.collection, "id": each.row_id, "before": show(each.before), "after": show(each.after)}
            for each in reading.changes
        ],
        "journal": [
            {
                "collection": each.collection,
                "id": each.row_id,
                "change": each.change,
                "before": show(each.before),
                "after": show(each.after),
            }
            for each in reading.journal
        ],
        "unexplained": [label for label, _ in reading.frame_faults],
        "waiting": reading.pending,
        "clock": reading.clock,
    }
