"""Policy faults of number: the right record, but not once."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from clinworld.packs.emr_write.faults.draft import Draft, find_places, free_elements, is_text, put_value, seeded, value_at


def duplicate(draft: Draft) -> Draft:
    """The first record twice."""
    return replace(draft, actions=(draft.actions[0], *draft.actions))


def triplicate(draft: Draft) -> Draft:
    """The first record three times."""
    return replace(draft, actions=(draft.actions[0], draft.actions[0], *draft.actions))


def duplicate_twisted(draft: Draft) -> Draft:
    """The record again, its text with a space at the end, so that a search for the same text does not find it."""
    place = find_places(draft, is_text)[0]
    twin = put_value(draft.actions[int(place[0])], place[1:], f"{value_at(draft, place)} ")
    return replace(draft, actions=(*draft.actions, {**twin, "full_url": "urn:uuid:twin"}))


def duplicate_under_two_keys(draft: Draft) -> Draft:
    """The same record under two keys of repeated writes, so that the server cannot know."""
    twins = tuple({**draft.actions[0], "key": f"try-{i}"} for i in (1, 2))
    return replace(draft, actions=(*twins, *draft.actions[1:]))


def split(draft: Draft) -> Draft:
    """One record over two rows, each with half of its elements."""
    first, names = draft.actions[0], free_elements(draft)
    halves = tuple(
        {**first, "fields": {name: value for name, value in first["fields"].items() if name not in left_out}}
        for left_out in (names[0::2], names[1::2])
    )
    return replace(draft, actions=(*halves, *draft.actions[1:]))


def taken_id(draft: Draft) -> Draft:
    """The record under the id of a row that is there, which hides it from a search for new ids."""
    first = draft.actions[0]
    taken = seeded(draft, "patient_data")[0].row_id
    return replace(draft, actions=({**first, "fields": {**first["fields"], "id": taken}}, *draft.actions[1:]))


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        duplicate,
        triplicate,
        duplicate_twisted,
        duplicate_under_two_keys,
        split,
        taken_id,
    )
}
