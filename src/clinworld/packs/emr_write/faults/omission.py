"""Policy faults of leaving out: an element, a record, the submission, or everything but the claim."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from clinworld.packs.emr_write.faults.draft import Draft, change_at, find_places, free_elements, is_text
from clinworld.packs.emr_write.tasks.task import REASONS


def omit_element(draft: Draft) -> Draft:
    """The first record without its last element."""
    last = free_elements(draft)[-1]
    first = draft.actions[0]
    kept = {name: value for name, value in first["fields"].items() if name != last}
    return replace(draft, actions=({**first, "fields": kept}, *draft.actions[1:]))


def empty_element(draft: Draft) -> Draft:
    """A text that is there and says nothing."""
    return change_at(draft, find_places(draft, is_text)[0], "")


def null_element(draft: Draft) -> Draft:
    """A text that is null."""
    return change_at(draft, find_places(draft, is_text)[0], None)


def omit_record(draft: Draft) -> Draft:
    """All records but the last."""
    return replace(draft, actions=draft.actions[:-1])


def last_record_refused(draft: Draft) -> Draft:
    """A last record that the server refuses, after the others were written."""
    last = draft.actions[-1]
    refused = {**last, "fields": {**last["fields"], "subject": {"reference": "Patient/nobody"}}}
    return replace(draft, actions=(*draft.actions[:-1], refused))


def unsubmitted(draft: Draft) -> Draft:
    """Everything filled in and nothing submitted."""
    return replace(draft, more={**draft.more, "submitted": False})


def claim(draft: Draft) -> Draft:
    """Nothing done and success reported."""
    return replace(draft, actions=(), more={**draft.more, "message": "Saved", "success": True})


def silence(draft: Draft) -> Draft:
    """Nothing done and nothing said."""
    return replace(draft, actions=(), more={})


def decided_against(draft: Draft) -> Draft:
    """A decision to write nothing where something is to be written."""
    return replace(draft, actions=(), more={"decision": "no_write", "reason": REASONS[0]})


def other_reason(draft: Draft) -> Draft:
    """Nothing written, rightly, for a reason that is not the reason."""
    return replace(draft, more={**draft.more, "reason": next(reason for reason in REASONS if reason != draft.more["reason"])})


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        omit_element,
        empty_element,
        null_element,
        omit_record,
        last_record_refused,
        unsubmitted,
        claim,
        silence,
        decided_against,
        other_reason,
    )
}
