"""The numbers of a report as CSV. Every row carries its stamps and the canary; a state is a word, a number is a number."""

import csv
import io
from collections.abc import Iterable, Mapping

from clinworld.core.canary import CANARY
from clinworld.report.content import BoardPart, ReportContent, ReportPart
from clinworld.report.plots import list_lines
from clinworld.report.wording import make_visible
from clinworld.schema.cell import Evaluation
from clinworld.schema.verdict import GateVerdict
from clinworld.scores.rows import AgentScore, DimensionScore

Row = dict[str, object]
STAMPS = ("world", "exam", "judge")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
MOST_TEXT = 1000


def render_tables(content: ReportContent) -> dict[str, str]:
    """File name → text of every table: scores, gates, probes, cells, refusals."""
    makers = {"scores": _scores, "gates": _gates, "probes": _probes, "cells": _cells, "refusals": _refusals}
    tables = {}
    for name, make in makers.items():
        rows = [{**row, "stamps": _stamps(part.stamps), "canary": CANARY} for part in content.parts for row in make(part)]
        tables[f"{name}.csv"] = _write(rows, HEADS[name])
    return tables


_BOARD = ("pack", "episode", "probe_set", "agent", "kind")
HEADS: Mapping[str, tuple[str, ...]] = {
    "scores": (
        *_BOARD,
        *(
            "source",
            "cells",
            "answered",
            "dimension",
            "role",
            "direction",
            "state",
            "reason",
            "value",
            "low",
            "high",
            "n",
            "floor",
            "ceiling",
        ),
        *("margin", "skill", "credit", "omitted", "abstained", "not_applicable", "unmeasured", "unscored"),
        *("multiplier", "headline", "headline_reason", "rank", "tier"),
    ),
    "gates": (*_BOARD, "gate", "role", "units", "hit", "unknown", "cannot_fire", "rate", "low", "high", "note"),
    "probes": (*_BOARD, "probe", "variant", "state", "reason", "value", "n", "floor", "ceiling"),
    "cells": ("pack", "item", "agent", "episode", "probe_set", "repeat", "source", "state", "cause"),
    "refusals": ("pack", "job", "batch", "case", "kind", "reason"),
}


def _write(rows: list[Row], head: tuple[str, ...]) -> str:
    further = sorted({name for row in rows for name in row} - {*head, "stamps", "canary"})
    columns = [*head, *further, "stamps", "canary"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column, "")) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """Text that a spreadsheet takes for text; a number stays one."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = make_visible(value[:MOST_TEXT])
    return "'" + text if text.startswith(FORMULA_STARTS) else text


def _stamps(stamps: Mapping[str, str]) -> str:
    return " ".join(f"{name}:{stamps[name]}" for name in STAMPS if name in stamps)


def _convention(part: ReportPart, board: BoardPart) -> Row:
    return {"pack": part.pack.name, "episode": board.board.episode, "probe_set": board.board.probe_set}


def _scores(part: ReportPart) -> Iterable[Row]:
    for board in part.boards:
        for line in list_lines(board.board):
            for score in line.dimensions:
                yield {**_convention(part, board), **_agent(line), **_dimension(score)}


def _agent(line: AgentScore) -> Row:
    return {
        "agent": line.agent,
        "kind": line.kind,
        "source": line.source,
        "cells": line.cells,
        "answered": line.answered,
        "multiplier": line.multiplier,
        "headline": line.headline,
        "headline_reason": line.headline_reason,
        "rank": line.rank,
        "tier": line.tier,
    }


def _dimension(score: DimensionScore) -> Row:
    return {
        "dimension": score.verdict,
        "role": score.role,
        "direction": score.direction,
        "state": score.state,
        "reason": score.reason,
        "value": score.value if score.value is not None else score.state,
        "low": score.interval.low if score.interval else None,
        "high": score.interval.high if score.interval else None,
        "n": score.n,
        "floor": score.floor,
        "ceiling": score.ceiling,
        "margin": score.margin,
        "skill": score.skill,
        "credit": score.credit,
        "omitted": score.omitted,
        "abstained": score.abstained,
        "not_applicable": score.not_applicable,
        "unmeasured": score.unmeasured,
        "unscored": score.unscored,
    }


def _gates(part: ReportPart) -> Iterable[Row]:
    for board in part.boards:
        for line in list_lines(board.board):
            for gate in line.gates:
                yield {
                    **_convention(part, board),
                    "agent": line.agent,
                    "kind": line.kind,
                    "gate": gate.gate,
                    "role": gate.role,
                    "units": gate.units,
                    "hit": gate.failed,
                    "unknown": gate.unknown,
                    "cannot_fire": gate.cannot_fire,
                    "rate": gate.rate if gate.rate is not None else gate.note or "unmeasured",
                    "low": gate.interval.low if gate.interval else None,
                    "high": gate.interval.high if gate.interval else None,
                    "note": gate.note,
                }


def _probes(part: ReportPart) -> Iterable[Row]:
    for board in part.boards:
        kinds = {verdict: kind for kind, verdict in board.probes}
        for line in list_lines(board.reported) if board.reported else ():
            for score in line.dimensions:
                if score.verdict in kinds:
                    yield from _probe(
                        score, {**_convention(part, board), "agent": line.agent, "kind": line.kind, "probe": kinds[score.verdict]}
                    )


def _probe(score: DimensionScore, start: Row) -> Iterable[Row]:
    for variant, (mean, n) in score.by_class.items():
        yield {**start, "variant": variant, "state": "scored", "value": mean, "n": n}
    yield {
        **start,
        "variant": "all",
        "state": score.state,
        "reason": score.reason,
        "value": score.value if score.value is not None else score.state,
        "n": score.n,
        "floor": score.floor,
        "ceiling": score.ceiling,
    }


def _cells(part: ReportPart) -> Iterable[Row]:
    for row in part.evaluations:
        verdicts = {f"verdict:{verdict.name}": verdict.value if verdict.value is not None else verdict.state for verdict in row.verdicts}
        gates = {f"gate:{gate.name}": _gate_word(gate) for gate in row.gates}
        yield {**_cell_of(row, part), **verdicts, **gates}


def _cell_of(row: Evaluation, part: ReportPart) -> Row:
    cell = row.cell
    return {
        "pack": part.pack.name,
        "item": cell.item_id,
        "agent": cell.agent,
        "episode": cell.episode,
        "probe_set": cell.probe_set,
        "repeat": cell.repeat,
        "source": row.source,
        "state": row.state,
        "cause": row.cause,
    }


def _gate_word(gate: GateVerdict) -> str:
    if gate.hit is None:
        return "unknown"
    if gate.hit:
        return "hit"
    return "clear" if gate.units else "cannot_fire"


def _refusals(part: ReportPart) -> Iterable[Row]:
    for batch in part.batches:
        for refusal in batch.facts.refusals:
            yield {
                "pack": part.pack.name,
                "job": batch.job_id,
                "batch": batch.stamp,
                "case": refusal.case_id,
                "kind": refusal.kind,
                "reason": refusal.reason,
            }
