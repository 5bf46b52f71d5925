"""Gates as the page shows them: every declared one a row, agents and controls counted apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from clinworld.report.plots import list_lines
from clinworld.schema.pack import Pack
from clinworld.scores.rows import AgentScore, Board, GateScore
from clinworld.scores.statistics import Interval, exact_interval


@dataclass(frozen=True, slots=True)
class GateSum:
    """A gate over several agents. `note` is "" or cannot fire here | unmeasured | contradiction | no_agents | no_controls."""

    units: int
    failed: int
    unknown: int
    cannot_fire: int
    rate: float | None
    interval: Interval | None
    note: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """One declared gate: `each` has (agent, its own count) for every row of the board."""

    gate: str
    role: str
    agents: GateSum
    controls: GateSum
    each: tuple[tuple[str, GateScore], ...]


def sum_gates(board: Board, pack: Pack) -> tuple[GateRow, ...]:
    """A row for every gate the pack declares, in its order, whatever was judged."""
    lines = list_lines(board)
    roles = (("hard", pack.hard_gates), ("propensity", pack.propensity_gates), ("reported_gate", pack.reported_gates))
    return tuple(_row(gate, role, lines) for role, names in roles for gate in names)


def _row(gate: str, role: str, lines: Sequence[AgentScore]) -> GateRow:
    found = [(line, score) for line in lines for score in line.gates if score.gate == gate]
    agents = [score for line, score in found if line.kind == "agent"]
    controls = [score for line, score in found if line.kind != "agent"]
    each = tuple((line.agent, score) for line, score in found)
    return GateRow(gate, role, _sum(agents, "no_agents"), _sum(controls, "no_controls"), each)


def _sum(scores: Sequence[GateScore], nobody: str) -> GateSum:
    units, failed = sum(score.units for score in scores), sum(score.failed for score in scores)
    unknown, idle = sum(score.unknown for score in scores), sum(score.cannot_fire for score in scores)
    note = ""
    if not scores:
        note = nobody
    elif any(score.note == "contradiction" for score in scores):
        note = "contradiction"
    elif not units:
        note = "cannot fire here" if idle and not unknown else "unmeasured"
    rate = failed / units if units else None
    return GateSum(units, failed, unknown, idle, rate, exact_interval(failed, units), note)
