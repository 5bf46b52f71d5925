"""Server faults of delivery: answers that are lost, writes that are repeated, late, halved, reordered, or not done at all.

Where a client sends again it sends the same action; with a key it may, without one it must not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from clinworld.packs.emr_write.actions import Action
from clinworld.packs.emr_write.faults.server import FaultyStore, ServerFault
from clinworld.packs.emr_write.store.protocol import Reply


def _give_keys(actions: Sequence[Action]) -> tuple[Action, ...]:
    return tuple(action if action.key else replace(action, key=f"write-{i}") for i, action in enumerate(actions))


def _send_again(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """Each action is done, its answer is lost, and it is sent again; names of new rows stay known, as in one report."""
    twice = [each for action in actions for each in (action, action)]
    return line.inner.execute(twice)[1::2]


def lost_answer_keyed(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The answer is lost and the client sends again under the same key."""
    return _send_again(line, _give_keys(actions))


def lost_answer_unkeyed(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The answer is lost and the client sends again, as a new write."""
    return _send_again(line, actions)


def keys_ignored(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The client sends again under the same key, to a server that does not look at keys."""
    return _send_again(line, [replace(action, key=None) for action in actions])


def key_with_other_payload(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The client sends something else under a key that was used: the server refuses it."""
    keyed = _give_keys(actions)
    others = [replace(action, fields={**action.fields, "status": "draft"}) for action in keyed]
    return line.inner.execute([each for pair in zip(keyed, others, strict=True) for each in pair])[0::2]


def error_after_commit(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The write is done and the server answers that it failed."""
    return tuple(Reply(500, None, "failed") for _ in line.inner.execute(actions))


def error_after_commit_and_again(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The write is done, the server answers that it failed, and the client believes it."""
    error_after_commit(line, actions)
    return line.inner.execute(actions)


def refused_then_again(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The server is busy and says so, and the client sends again."""
    return line.inner.execute(actions)


def done_by_two_workers(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """Two workers take the same write from the queue."""
    line.inner.execute(actions)
    return line.inner.execute(actions)


def raced_condition(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """Two clients ask for the record on condition that there is none; both look before either writes."""
    line.inner.execute([replace(action, if_none_exist=None) for action in actions])
    return line.inner.execute([replace(action, if_none_exist=None) for action in actions])


def condition_in_turn(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The same two clients, one after the other: the second finds the first one's record."""
    asked = [replace(action, if_none_exist=action.fields) if action.op == "create" else action for action in actions]
    line.inner.execute(asked)
    return line.inner.execute(asked)


def stale_read_and_again(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The client reads from a copy that is behind, does not find its record and writes it again."""
    line.inner.execute(actions)
    return line.inner.execute(actions)


def answered_not_done(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The server answers that it is done and does nothing."""
    return tuple(Reply(201, f"promised-{i}") for i, _ in enumerate(actions))


def only_first_done(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """A transaction of which only the first part lasts."""
    return (*line.inner.execute(actions[:1]), *(Reply(201) for _ in actions[1:]))


def last_first(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The actions arrive the other way round."""
    return line.inner.execute(actions[::-1])[::-1]


def held_back(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """The server accepts the writes and does them later."""
    line.held.extend(actions)
    return tuple(Reply(202) for _ in actions)


def do_held(line: FaultyStore) -> None:
    """The writes that were held back are done."""
    line.inner.execute(tuple(line.held))
    line.held.clear()


def deleted_by_another(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """Another client deletes what was just written."""
    replies = line.inner.execute(actions)
    if replies and replies[0].row_id:
        line.inner.execute([Action("delete", actions[0].collection, {}, row_id=replies[0].row_id)])
    return replies


def overwritten_by_another(line: FaultyStore, actions: Sequence[Action]) -> tuple[Reply, ...]:
    """Another client that read the row earlier writes back what it had read."""
    replies = line.inner.execute(actions)
    if actions:
        line.inner.execute([replace(actions[0], op="update", fields={"status": "active"}, key=None, if_version=None)])
    return replies


FAULTS: Mapping[str, ServerFault] = {
    each.__name__: ServerFault(sends=each)
    for each in (
        lost_answer_keyed,
        lost_answer_unkeyed,
        keys_ignored,
        key_with_other_payload,
        error_after_commit,
        error_after_commit_and_again,
        refused_then_again,
        done_by_two_workers,
        raced_condition,
        condition_in_turn,
        stale_read_and_again,
        answered_not_done,
        only_first_done,
        last_first,
        deleted_by_another,
        overwritten_by_another,
    )
} | {
    "late_commit": ServerFault(sends=held_back, settles=do_held),
    "never_applied": ServerFault(sends=held_back, reads=lambda line, reading: replace(reading, pending=reading.pending + len(line.held))),
    "lost_answer_update": ServerFault(sends=lost_answer_unkeyed),
    "last_first_linked": ServerFault(sends=last_first),
}
