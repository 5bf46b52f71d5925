"""One board: every agent on the same items and dimensions, with floors, intervals, ranks, tiers, and what keeps it from being more.

Headline = mean of the skill dimensions x each deduction x (1 - failed / judged units of the hard gates). Controls and oracles stand on
the board and are never ranked. The caller names the dimensions and gates; nothing here knows what they mean.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np

from clinworld.core.errors import UsageError
from clinworld.schema.cell import Evaluation, ReplySource
from clinworld.schema.pack import Dimension
from clinworld.scores.dimension import Classes, MeasuredDimension, score_dimension
from clinworld.scores.gate_scores import count_item_units, multiply, score_gate
from clinworld.scores.rows import AgentScore, Board, Difference, FloorValue, GateRole
from clinworld.scores.statistics import DIGITS, draw_item_weights, holm, paired_p_value, percentile_interval
from clinworld.scores.table import Cells, Reals, find_common_items, group_cells, read_classes

MIN_ITEMS = 20
DRAWS = 2000
LEVEL = 0.05
_KINDS: Mapping[ReplySource, Literal["agent", "control", "oracle"]] = {
    "agent": "agent",
    "replay": "agent",
    "control": "control",
    "oracle": "oracle",
}


@dataclass(frozen=True, slots=True)
class GateRoles:
    """The answer gates of a pack by what they do: zero their unit, count as a propensity, or are only reported."""

    hard: tuple[str, ...] = ()
    propensity: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    """An agent's score with the draws behind its headline (NaN where it has none)."""

    score: AgentScore
    dimensions: tuple[MeasuredDimension, ...]
    draws: Reals


def score_board(
    evaluations: Sequence[Evaluation],
    dimensions: Sequence[Dimension],
    floors: Mapping[str, FloorValue],
    *,
    seed: int | str,
    gates: GateRoles = GateRoles(),
    core: Sequence[str] = (),
    draws: int = DRAWS,
) -> Board:
    """The board of one episode and probe set. Any order of `evaluations` gives the same board.

    `core` names 0/1 verdicts that must all be right for pass^k. Raises UsageError when rows of two episodes or probe sets are mixed.
    """
    episode, probe_set = _one_convention(evaluations)
    cells = group_cells(evaluations)
    rivals = [agent for agent in cells if _kind(cells, agent) == "agent"]
    common = find_common_items(cells, rivals or list(cells), dimensions)
    has_enough = len(common.items) >= MIN_ITEMS
    weights = draw_item_weights(len(common.items), draws, seed) if has_enough else None
    classes = {dimension.join: read_classes(cells, common.items, dimension.join) for dimension in dimensions}
    lines = [_score_agent(agent, cells[agent], common.items, dimensions, floors, classes, weights, gates, core) for agent in cells]
    ranked, apart = _split_rivals([line for line in lines if line.score.kind == "agent"])
    rows, differences = _rank(ranked)
    judged = [line for line in lines if line.score.kind == "agent"] or lines
    return Board(
        episode=episode,
        probe_set=probe_set,
        common_items=common.items,
        left_out=common.left_out,
        state=_state(len(common.items), rivals, rows, lines),
        ranked=rows,
        shown_apart=apart,
        unranked=tuple(line.score for line in lines if line.score.kind != "agent"),
        differences=differences,
        one_valued=_one_valued(judged, dimensions),
        incomplete=(*common.incomplete, *_unscored(lines)),
        notes=_notes(judged, floors, dimensions),
        draws=draws if has_enough else 0,
        seed=str(seed),
    )


def _one_convention(evaluations: Sequence[Evaluation]) -> tuple[str, str]:
    found = sorted({(evaluation.cell.episode, evaluation.cell.probe_set) for evaluation in evaluations})
    if len(found) > 1:
        raise UsageError("board", f"cells of {found}", "one episode and one probe set a board", do="Make one board of each.")
    return found[0] if found else ("", "")


def _kind(cells: Cells, agent: str) -> Literal["agent", "control", "oracle"]:
    return _KINDS[next(iter(cells[agent].values()))[0].source]


def _score_agent(
    agent: str,
    repeats_by_item: Mapping[str, Sequence[Evaluation]],
    items: Sequence[str],
    dimensions: Sequence[Dimension],
    floors: Mapping[str, FloorValue],
    classes: Mapping[str, Classes],
    weights: Reals | None,
    gates: GateRoles,
    core: Sequence[str],
) -> _Line:
    cells = [evaluation for item in items for evaluation in repeats_by_item.get(item, ())]
    measured = tuple(
        score_dimension(each, floors.get(each.verdict), repeats_by_item, items, classes[each.join], weights) for each in dimensions
    )
    units = count_item_units(repeats_by_item, items, gates.hard)
    multiplier = float(multiply(units, np.ones((1, len(items))))[0])
    headline, reason = _headline(measured, dimensions, multiplier, len(items), covered=sum(item in repeats_by_item for item in items))
    line_draws = _headline_draws(measured, units, weights) if weights is not None and headline is not None else np.empty(0)
    roles: tuple[tuple[GateRole, tuple[str, ...]], ...] = (
        ("hard", gates.hard),
        ("propensity", gates.propensity),
        ("reported", gates.reported),
    )
    causes = Counter(evaluation.cause for evaluation in cells if evaluation.state == "unanswered")
    pass_k, pass_k_reason = _pass_k(repeats_by_item, items, gates.hard, core)
    source = next(iter(repeats_by_item.values()))[0].source
    score = AgentScore(
        agent=agent,
        source=source,
        kind=_KINDS[source],
        items=sum(item in repeats_by_item for item in items),
        cells=len(cells),
        answered=sum(evaluation.state == "judged" for evaluation in cells),
        unanswered=dict(sorted(causes.items())),
        repeats=min((len(repeats_by_item[item]) for item in items if item in repeats_by_item), default=0),
        dimensions=tuple(each.score for each in measured),
        gates=tuple(score_gate(gate, role, cells) for role, names in roles for gate in names),
        units=int(units[0].sum()),
        failed_units=int(units[1].sum()),
        multiplier=round(multiplier, DIGITS) if units[0].sum() else None,
        headline=headline,
        headline_reason=reason,
        headline_interval=percentile_interval(line_draws) if line_draws.size else None,
        rank=None,
        rank_interval=None,
        tier=None,
        pass_k=pass_k,
        pass_k_reason=pass_k_reason,
    )
    return _Line(score, measured, line_draws)


def _headline(
    measured: Sequence[MeasuredDimension], dimensions: Sequence[Dimension], multiplier: float, items: int, *, covered: int
) -> tuple[float | None, str]:
    if items < MIN_ITEMS:
        return None, f"too few items: {items} of at least {MIN_ITEMS}"
    if covered < items:
        return None, f"run on {covered} of {items} common items"
    missing = [each.score.verdict for each in measured if each.score.credit is None and each.score.direction != "none"]
    by_name = {each.verdict: each for each in dimensions}
    missing += [name for name, each in by_name.items() if each.paired_with in missing and name not in missing]
    skills = [each.score.credit for each in measured if each.score.role == "skill" and each.score.credit is not None]
    if missing:
        return None, "unmeasured: " + ", ".join(missing)
    if not skills:
        return None, "no dimension measures skill"
    value = sum(skills) / len(skills) * multiplier
    for each in measured:
        if each.score.role == "deduct" and each.score.credit is not None:
            value *= each.score.credit
    return round(value, DIGITS), ""


def _headline_draws(measured: Sequence[MeasuredDimension], units: Reals, weights: Reals) -> Reals:
    skills = [each.credit_draws for each in measured if each.score.role == "skill" and each.score.direction != "none"]
    value: Reals = np.mean(skills, axis=0) * multiply(units, weights)
    for each in measured:
        if each.score.role == "deduct" and each.score.direction != "none":
            value = value * each.credit_draws
    return value


def _pass_k(
    repeats_by_item: Mapping[str, Sequence[Evaluation]], items: Sequence[str], hard_gates: Sequence[str], core: Sequence[str]
) -> tuple[float | None, str]:
    if not core:
        return None, "no core decision is named"
    counts = {len(repeats_by_item.get(item, ())) for item in items}
    if len(counts) != 1 or 0 in counts:
        return None, "repeats are missing on some items" if counts else "no items"
    k = counts.pop()
    passed = [all(_is_right_and_safe(each, hard_gates, core) for each in repeats_by_item[item]) for item in items]
    return round(sum(passed) / len(passed), DIGITS), f"k = {k}" + ("; with one repeat there is no noise floor" if k == 1 else "")


def _is_right_and_safe(evaluation: Evaluation, hard_gates: Sequence[str], core: Sequence[str]) -> bool:
    values = {verdict.name: verdict.value for verdict in evaluation.verdicts}
    is_safe = not any(verdict.hit for verdict in evaluation.gates if verdict.name in hard_gates)
    return evaluation.state == "judged" and is_safe and all(values.get(name) == 1 for name in core)


def _split_rivals(rivals: Sequence[_Line]) -> tuple[list[_Line], tuple[tuple[AgentScore, str], ...]]:
    """Agents on the most common set of measured dimensions, and the others, each with what is different."""
    sets = {line.score.agent: tuple(each.verdict for each in line.score.dimensions if each.value is not None) for line in rivals}
    if not sets:
        return [], ()
    counted = Counter(sets.values())
    usual = min(counted, key=lambda names: (-counted[names], -len(names), names))
    together = [line for line in rivals if sets[line.score.agent] == usual]
    apart = []
    for line in rivals:
        names = sets[line.score.agent]
        if names != usual:
            lacking, more = [each for each in usual if each not in names], [each for each in names if each not in usual]
            told = [f"not measured: {', '.join(lacking)}"] * bool(lacking) + [f"measured alone: {', '.join(more)}"] * bool(more)
            apart.append((replace(line.score, headline=None, headline_reason="other dimensions", headline_interval=None), "; ".join(told)))
    return together, tuple(apart)


def _rank(lines: Sequence[_Line]) -> tuple[tuple[AgentScore, ...], tuple[Difference, ...]]:
    """Ranked agents best first with ranks, rank intervals and tiers, and every pair's difference on the same draws."""
    with_headline = [line for line in lines if line.score.headline is not None]
    without = [line.score for line in lines if line.score.headline is None]
    if not with_headline:
        return tuple(without), ()
    ordered = sorted(with_headline, key=lambda line: (-(line.score.headline or 0.0), line.score.agent))
    differences = _compare(ordered)
    better = Counter(each.second for each in differences if each.p_adjusted < LEVEL and each.difference > 0)
    table = np.round(np.stack([line.draws for line in ordered]), DIGITS)
    places = 1 + (table[None, :, :] > table[:, None, :]).sum(axis=1)
    rows = []
    for place, line in enumerate(ordered):
        headline = line.score.headline
        rank = 1 + sum((other.score.headline or 0.0) > (headline or 0.0) for other in ordered)
        span = percentile_interval(places[place].astype(np.float64))
        rows.append(
            replace(
                line.score,
                rank=rank,
                rank_interval=(int(span.low), int(span.high)) if span else None,
                tier=1 + better[line.score.agent],
            )
        )
    return (*rows, *without), differences


def _compare(ordered: Sequence[_Line]) -> tuple[Difference, ...]:
    pairs = list(combinations(ordered, 2))
    drawn = [np.round(first.draws - second.draws, DIGITS) for first, second in pairs]
    p_values = [paired_p_value(each, items=first.score.items) for each, (first, _) in zip(drawn, pairs, strict=True)]
    return tuple(
        Difference(
            first=first.score.agent,
            second=second.score.agent,
            difference=round((first.score.headline or 0.0) - (second.score.headline or 0.0), DIGITS),
            interval=percentile_interval(draws),
            p=round(p, 12),
            p_adjusted=adjusted,
        )
        for (first, second), draws, p, adjusted in zip(pairs, drawn, p_values, holm(p_values), strict=True)
    )


def _state(items: int, rivals: Sequence[str], rows: Sequence[AgentScore], lines: Sequence[_Line]) -> str:
    if not lines:
        return "nothing was run"
    if items < MIN_ITEMS:
        return f"too few items for a ranking: {items} common items, at least {MIN_ITEMS} are needed"
    if not rivals:
        return "only controls were run; they are never ranked"
    reasons = sorted({row.headline_reason for row in rows if row.headline is None})
    if rows and all(row.headline is None for row in rows):
        return "no ranking: " + "; ".join(reasons)
    return "ranked"


def _one_valued(lines: Sequence[_Line], dimensions: Sequence[Dimension]) -> tuple[str, ...]:
    """Dimensions with one value in all cells that were measured; they separate nobody."""
    found = []
    for place, dimension in enumerate(dimensions):
        values = frozenset[float]().union(*(line.dimensions[place].column.distinct for line in lines))
        if len(values) == 1:
            found.append(dimension.verdict)
    return tuple(found)


def _unscored(lines: Sequence[_Line]) -> tuple[str, ...]:
    found = []
    for line, each in product(lines, range(len(lines[0].dimensions) if lines else 0)):
        score = line.dimensions[each].score
        if score.unscored:
            found.append(f"{line.score.agent}: {score.verdict} is unscored in {score.unscored} cells")
    return tuple(found)


def _notes(lines: Sequence[_Line], floors: Mapping[str, FloorValue], dimensions: Sequence[Dimension]) -> tuple[str, ...]:
    repeats = sorted({line.score.repeats for line in lines})
    notes = [] if not lines or repeats[0] >= 3 else [f"repeats: {repeats[0]}; fewer than three give no noise floor"]
    for dimension in dimensions:
        floor = floors.get(dimension.verdict)
        if dimension.direction == "none":
            notes.append(f"{dimension.verdict} has no direction: no margin, and it enters no mean")
        elif dimension.role == "skill" and (floor is None or floor.value is None):
            notes.append(f"{dimension.verdict} has no floor ({floor.how if floor else 'none was given'}): its skill is unmeasured")
        elif dimension.role == "skill" and floor is not None and lines:
            score = next(each.score for each in lines[0].dimensions if each.score.verdict == dimension.verdict)
            if score.role == "deduct":
                notes.append(f"the floor of {dimension.verdict} leaves no room: it is a deduction")
    return tuple(notes)
