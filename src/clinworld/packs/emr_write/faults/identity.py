"""Policy faults of identity: the right content for somebody or somewhere else."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from clinworld.packs.emr_write.faults.draft import (
    Draft,
    Place,
    change_at,
    find_places,
    neighbour,
    other_patient,
    patient_of,
    seeded,
    value_at,
)

_ZERO_WIDTH = "\u200b"


def _put_patient(draft: Draft, to: str, *, only_last: bool = False) -> Draft:
    """The creates of the draft (or the last one) under another key of a patient; references are rewritten with it."""
    own = patient_of(draft)

    def names_it(_place: Place, value: Any) -> bool:
        return value in (own, f"Patient/{own}")

    for place in find_places(draft, names_it):
        if not only_last or place[0] == len(draft.actions) - 1:
            draft = change_at(draft, place, str(value_at(draft, place)).replace(own, to))
    return draft


def wrong_patient(draft: Draft) -> Draft:
    """Another patient who is there."""
    is_registry = "pubpid" in draft.actions[0]["fields"]
    return _put_patient(draft, str(neighbour(draft).fields["pubpid"]) if is_registry else other_patient(draft).row_id)


def pair_torn_apart(draft: Draft) -> Draft:
    """The last of two records under another patient."""
    return _put_patient(draft, other_patient(draft).row_id, only_last=True)


def unknown_patient(draft: Draft) -> Draft:
    """A patient id with one more digit, which names nobody."""
    return _put_patient(draft, f"{patient_of(draft)}0")


def leading_zero(draft: Draft) -> Draft:
    """A record number with a zero before it."""
    return _put_patient(draft, f"0{patient_of(draft)}")


def hidden_character_in_number(draft: Draft) -> Draft:
    """A record number that looks right and holds a character without width."""
    return _put_patient(draft, patient_of(draft) + _ZERO_WIDTH)


def full_width_digit(draft: Draft) -> Draft:
    """A record number whose last digit is its full-width form."""
    number = patient_of(draft)
    return _put_patient(draft, number[:-1] + chr(ord(number[-1]) + ord("\uff10") - ord("0")))


def wrong_encounter(draft: Draft) -> Draft:
    """Another visit than the one it belongs to."""
    other = other_patient(draft).row_id
    visit = next(row.row_id for row in seeded(draft, "Encounter") if row.fields["patientId"] == other)
    for i, action in enumerate(draft.actions):
        if "encounter" in action["fields"]:
            draft = change_at(draft, (i, "fields", "encounter"), {"reference": f"Encounter/{visit}"})
    return draft


def wrong_row(draft: Draft) -> Draft:
    """The neighbour of the row that is to be updated."""
    edit = draft.actions[0]
    row_id = next(row.row_id for row in seeded(draft, edit["collection"]) if row.row_id != edit["id"])
    return replace(draft, actions=({**edit, "id": row_id}, *draft.actions[1:]))


def retract_and_reorder(draft: Draft) -> Draft:
    """First for another patient, taken back, then for the right one."""
    slip = {**wrong_patient(replace(draft, actions=draft.actions[:1])).actions[0], "full_url": "urn:uuid:slip"}
    back = {"op": "delete", "collection": slip["collection"], "full_url": "urn:uuid:slip"}
    return replace(draft, actions=(slip, back, *draft.actions))


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        wrong_patient,
        pair_torn_apart,
        unknown_patient,
        leading_zero,
        hidden_character_in_number,
        full_width_digit,
        wrong_encounter,
        wrong_row,
        retract_and_reorder,
    )
}
