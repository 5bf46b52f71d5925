"""The item-by-item ledger of `verify`: one row for each stream, laboratory series, note and case, with the state of each check.

A check says passed, failed or not_applicable with the reason; a laboratory line is checked like any other.
"""

from collections.abc import Sequence
from typing import Any

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.ledger_check import LedgerCheck
from clinworld.gates.note_checks import check_note
from clinworld.gates.stream_checks import check_series
from clinworld.schema.finding import GateResult

STATES = {"passed": "passed", "failed": "failed"}


def ledger_rows(case: CaseUnderCheck, gates: Sequence[GateResult]) -> list[dict[str, Any]]:
    """All rows of one item, ready to be written."""
    rows = [
        _row(case, "laboratory" if series.setting == "laboratory" else "stream", series.name, None, check_series(series, case))
        for series in case.gold.chart.series
    ]
    for note in case.gold.chart.notes:
        origin = case.kinds.get(note.note_id)
        rows.append(_row(case, origin.kind if origin else "unknown", note.note_id, note.day, check_note(note, origin, case)))
    on_case = [
        LedgerCheck(gate.gate, STATES.get(gate.state, "not_applicable"), "; ".join(map(str, gate.findings)) or gate.reason)  # type: ignore[arg-type]  # values are states
        for gate in gates
    ]
    rows.append(_row(case, "case", case.item.item_id, None, on_case))
    return rows


def _row(case: CaseUnderCheck, kind: str, what: str, day: int | None, checks: Sequence[LedgerCheck]) -> dict[str, Any]:
    return {
        "item_id": case.item.item_id,
        "kind": kind,
        "what": what,
        "day": day,
        "ok": all(check.state != "failed" for check in checks),
        "checks": {check.name: [check.state, check.detail] for check in checks},
    }
