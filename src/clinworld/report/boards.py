"""The boards of a report: scored dimensions, and beside them what judges say without its entering the headline.

Floors and ceilings come from the judges on these very items; no answer of an agent is looked at again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import cast

from clinworld.access.view import shown_days
from clinworld.judges.delivered_ids import read_delivered_ids
from clinworld.judges.floors import compute_floors
from clinworld.judges.mount import find_judge, verdict_names
from clinworld.judges.subject import Subject
from clinworld.knowledge.load import Knowledge
from clinworld.report.content import BoardPart, WeakBaseline
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.cell import Evaluation
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind
from clinworld.schema.pack import Dimension, Pack
from clinworld.scores.board import GateRoles, score_board

PROBE = "probe_"  # a judge of an appended question is called so after its kind
REPORTED = "reported"
BOARD_SEED = 0
SILENCE = Answer({}, (), (), "empty", "")


@dataclass(frozen=True, slots=True, eq=False)
class Judgeable:
    """Items that have gold, by id, and what judging them needs."""

    pack: Pack
    knowledge: Knowledge
    items: Mapping[str, Item]
    gold: Mapping[str, GoldRow]


def build_boards(evaluations: Sequence[Evaluation], material: Judgeable, current: Mapping[str, str]) -> tuple[BoardPart, ...]:
    """One board for each episode and probe set there is, in name order."""
    ordered = sorted(evaluations, key=lambda row: (row.cell.episode, row.cell.probe_set, row.cell))
    groups = groupby(ordered, key=lambda row: (row.cell.episode, row.cell.probe_set))
    return tuple(_build_board(list(rows), material, current) for _, rows in groups)


def _build_board(rows: Sequence[Evaluation], material: Judgeable, current: Mapping[str, str]) -> BoardPart:
    pack = material.pack
    others = _reported_dimensions(pack)
    floors = compute_floors(_subjects(rows, material), replace(pack, dimensions=(*pack.dimensions, *others))) if material.gold else {}
    gates = GateRoles(pack.hard_gates, pack.propensity_gates, pack.reported_gates)
    board = score_board(rows, pack.dimensions, floors, seed=BOARD_SEED, gates=gates)
    common = set(board.common_items)
    kept = [row for row in rows if row.cell.item_id in common and row.state in ("judged", "unanswered")]
    stale = sorted({use.name for use in pack.judges for row in rows[:1] if _is_stale(row, f"judge:{use.name}", current)})
    return BoardPart(
        board=board,
        reported=score_board(kept, others, floors, seed=BOARD_SEED) if kept and others else None,
        floors={name: (floor.how, floor.ceiling_how) for name, floor in floors.items()},
        probes=tuple((use.judge.removeprefix(PROBE), use.name) for use in pack.judges if use.judge.startswith(PROBE)),
        stale_judges=tuple(stale),
    )


def _is_stale(row: Evaluation, name: str, current: Mapping[str, str]) -> bool:
    return row.stamps.get(name) != current.get(name)


def _reported_dimensions(pack: Pack) -> tuple[Dimension, ...]:
    """Every verdict of the pack that no dimension scores, as a dimension of its own; a probe is kept apart by what was asked."""
    scored = {dimension.verdict for dimension in pack.dimensions}
    found: list[Dimension] = []
    for use in pack.judges:
        join = f"mean_by_{use.judge.removeprefix(PROBE)}" if use.judge.startswith(PROBE) else "mean"
        for name in verdict_names(use):
            if name not in scored:
                found.append(Dimension(name, find_judge(use.judge).DECLARES.direction, join, REPORTED, None))
    return tuple(found)


def _subjects(rows: Sequence[Evaluation], material: Judgeable) -> list[Subject]:
    """One subject an item, with silence for an answer: only the item, its gold and the days asked are read from it."""
    subjects = []
    by_item = {row.cell.item_id: row.cell for row in rows}
    for item_id, cell in sorted(by_item.items()):
        item, gold = material.items.get(item_id), material.gold.get(item_id)
        if item is None or gold is None:
            continue
        answers = tuple(RoundAnswer(day, SILENCE) for day in shown_days(item, cell.episode))
        delivered = read_delivered_ids(item.record, material.knowledge)
        subjects.append(Subject(item, gold, answers, delivered, cast(EpisodeKind, cell.episode), cell.probe_set, material.knowledge))
    return subjects


def find_weak_baselines(boards: Sequence[BoardPart], pack: Pack) -> tuple[WeakBaseline, ...]:
    """What the best answer that looks at nothing earns on each scored dimension, from the first board."""
    if not boards:
        return ()
    board = boards[0].board
    scores = {score.verdict: score for agent in (*board.ranked, *board.unranked)[:1] for score in agent.dimensions}
    return tuple(
        WeakBaseline(each.verdict, scores[each.verdict].floor, boards[0].floors.get(each.verdict, ("", ""))[0])
        for each in pack.dimensions
        if each.verdict in scores
    )
