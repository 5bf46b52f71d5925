"""The rows of a run: what was asked and answered (responses.jsonl), and what the judges said (eval.jsonl)."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from clinworld.schema.verdict import GateVerdict, Verdict

ReplySource = Literal["agent", "control", "oracle", "replay"]
CellState = Literal["judged", "unanswered", "undetermined", "unjudged"]


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One thing to be done once: item × agent × episode × probe set × repeat. `probe_set` is "none" or "all"."""

    item_id: str
    agent: str
    episode: str
    probe_set: str
    repeat: int


@dataclass(frozen=True, slots=True)
class Response:
    """One turn of a cell. `reply` is the raw text; `request` the settings sent; unknown usage is None, never 0.

    `failure` is "" or why the infrastructure gave no reply; such a turn is asked again on resume.
    """

    cell: Cell
    turn: int
    day: int
    prompt_sha256: str
    request: dict[str, Any]
    reply: str
    reasoning: str
    usage: dict[str, int] | None
    finish_reason: str
    source: ReplySource
    failure: str
    exam_stamp: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All verdicts on one cell. `strata` are what a dimension may be averaged within, such as {"outcome": "event"}.

    `cause` says why an "unanswered" cell has no usable answer, or why it is undetermined or unjudged.
    """

    cell: Cell
    state: CellState
    cause: str
    verdicts: tuple[Verdict, ...]
    gates: tuple[GateVerdict, ...]
    strata: dict[str, str]
    source: ReplySource
    stamps: dict[str, str]  # world, exam, judge, score, and "judge:NAME" for each judge


_RESPONSE = tuple(field.name for field in fields(Response) if field.name != "cell")
_EVALUATION = tuple(field.name for field in fields(Evaluation) if field.name != "cell")


def response_to_row(response: Response) -> dict[str, Any]:
    """The JSON form of a response; the cell's fields stand at the top level."""
    return {**_fields(response.cell), **{name: getattr(response, name) for name in _RESPONSE}}


def response_from_row(row: dict[str, Any]) -> Response:
    """The response in a JSON row; other keys are not read."""
    return Response(
        cell=_cell(row),
        turn=row["turn"],
        day=row["day"],
        prompt_sha256=row["prompt_sha256"],
        request=row["request"],
        reply=row["reply"],
        reasoning=row["reasoning"],
        usage=row["usage"],
        finish_reason=row["finish_reason"],
        source=row["source"],
        failure=row["failure"],
        exam_stamp=row["exam_stamp"],
    )


def evaluation_to_row(evaluation: Evaluation) -> dict[str, Any]:
    """The JSON form of an evaluation; the cell's fields stand at the top level."""
    row = {**_fields(evaluation.cell), **{name: getattr(evaluation, name) for name in _EVALUATION}}
    row["verdicts"] = [_fields(verdict) for verdict in evaluation.verdicts]
    row["gates"] = [_fields(gate) for gate in evaluation.gates]
    return row


def evaluation_from_row(row: dict[str, Any]) -> Evaluation:
    """The evaluation in a JSON row; other keys are not read."""
    return Evaluation(
        cell=_cell(row),
        state=row["state"],
        cause=row["cause"],
        verdicts=tuple(Verdict(**verdict) for verdict in row["verdicts"]),
        gates=tuple(GateVerdict(**{**gate, "unit_days": tuple(gate["unit_days"])}) for gate in row["gates"]),
        strata=row["strata"],
        source=row["source"],
        stamps=row["stamps"],
    )


def _fields(row: Cell | Verdict | GateVerdict) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}  # asdict would copy every value, which costs more than judging


def _cell(row: dict[str, Any]) -> Cell:
    return Cell(row["item_id"], row["agent"], row["episode"], row["probe_set"], row["repeat"])
