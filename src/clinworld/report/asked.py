"""What a few items asked and what was replied: the opening prompt as it is rendered, and each agent's last reply with its verdicts."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from clinworld.access.episodes import next_turn
from clinworld.knowledge.load import Knowledge
from clinworld.report.content import AskedItem, ReplyPart
from clinworld.schema.cell import Cell, Evaluation, Response
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.pack import Pack

MOST_ITEMS, MOST_REPLIES = 3, 20
_FIRST = {"agent": 0, "replay": 1, "control": 2, "oracle": 3}


def choose_asked(
    items: Mapping[str, Item],
    gold: Mapping[str, GoldRow],
    rows: Sequence[Evaluation],
    responses: Sequence[Response],
    digests: Mapping[Cell, str],
    pack: Pack,
    knowledge: Knowledge,
) -> tuple[AskedItem, ...]:
    """A few items with both outcomes among them where there are, each with the replies of the first agents, real ones first."""
    last = {response.cell: response for response in sorted(responses, key=lambda each: each.turn) if not response.failure}
    asked: list[AskedItem] = []
    for item_id in _choose_items(items, gold, rows):
        cells = sorted((row for row in rows if row.cell.item_id == item_id and row.cell.repeat == 0), key=_order)
        first = cells[0].cell
        convention = [row for row in cells if (row.cell.episode, row.cell.probe_set) == (first.episode, first.probe_set)]
        turn = next_turn(items[item_id], pack, knowledge, first.episode, first.probe_set, ())
        if turn is None:
            continue
        digest = sha256(turn.prompt.encode()).hexdigest()
        sent = {digests[row.cell] for row in convention if row.cell in digests}
        asked.append(
            AskedItem(
                item_id=item_id,
                case_id=gold[item_id].case_id if item_id in gold else item_id,
                episode=first.episode,
                probe_set=first.probe_set,
                day=turn.day,
                prompt=turn.prompt,
                digest=digest,
                is_as_sent=sent == {digest} if sent else None,
                replies=tuple(_reply(row, last.get(row.cell)) for row in convention[:MOST_REPLIES]),
                left_out=max(0, len(convention) - MOST_REPLIES),
            )
        )
    return tuple(asked)


def _choose_items(items: Mapping[str, Item], gold: Mapping[str, GoldRow], rows: Sequence[Evaluation]) -> list[str]:
    answered = {row.cell.item_id for row in rows}
    order = [item_id for item_id in items if item_id in answered]
    firsts = {gold[item_id].gold.event_occurs: item_id for item_id in reversed(order) if item_id in gold}
    chosen = [item_id for item_id in order if item_id in firsts.values()]
    chosen += [item_id for item_id in order if item_id not in chosen]
    return [item_id for item_id in order if item_id in chosen[:MOST_ITEMS]]


def _order(row: Evaluation) -> tuple[int, str, str, str]:
    return _FIRST[row.source], row.cell.agent, row.cell.episode, row.cell.probe_set


def _reply(row: Evaluation, response: Response | None) -> ReplyPart:
    return ReplyPart(
        agent=row.cell.agent,
        source=row.source,
        state=row.state,
        cause=row.cause,
        turns=response.turn + 1 if response else 0,
        reply=response.reply if response else "",
        verdicts=row.verdicts,
        hits=tuple(gate.name for gate in row.gates if gate.hit),
    )
