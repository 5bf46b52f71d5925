"""Policy faults of evidence and form: proof that nobody asked for, and reports that are not plainly one report."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from clinworld.packs.emr_write.faults.draft import Draft


def _offer(draft: Draft, **evidence: object) -> Draft:
    return replace(draft, more={**draft.more, "evidence": evidence})


def _wrap(draft: Draft, wrap: Callable[[str], str]) -> Draft:
    return replace(draft, wraps=(*draft.wraps, wrap))


def screen_evidence(draft: Draft) -> Draft:
    """A screen that says it is saved, beside the right report."""
    return _offer(draft, tier=0, screen_text="Saved")


def second_session_evidence(draft: Draft) -> Draft:
    """A second session that saw it, beside the right report."""
    return _offer(draft, tier=1)


def database_evidence(draft: Draft) -> Draft:
    """A claim to have read the database, beside the right report."""
    return _offer(draft, tier=2)


def evidence_of_words(draft: Draft) -> Draft:
    """Evidence that names its tier in no readable way."""
    return _offer(draft, tier="2", transcript="201 Created")


def evidence_alone(draft: Draft) -> Draft:
    """The highest evidence there is, and nothing written."""
    return replace(_offer(draft, tier=2, receipt="201 Created"), actions=())


def tool_transcript(draft: Draft) -> Draft:
    """The transcript of a tool that was never called."""
    return replace(_wrap(draft, lambda text: f"POST 201 Created\n{text}"), actions=())


def prose_around(draft: Draft) -> Draft:
    """Words before and after the report."""
    return _wrap(draft, lambda text: f"201\n{text}\n.")


def fenced(draft: Draft) -> Draft:
    """The report in a fence."""
    return _wrap(draft, lambda text: f"```json\n{text}\n```")


def thought_first(draft: Draft) -> Draft:
    """Thinking with an object in it, then the report."""
    return _wrap(draft, lambda text: '<think>{"actions": [], "submitted": false}</think>' + text)


def byte_order_mark(draft: Draft) -> Draft:
    """A byte order mark before the report."""
    return _wrap(draft, lambda text: "\ufeff" + text)


def two_objects(draft: Draft) -> Draft:
    """The report twice in one reply."""
    return _wrap(draft, lambda text: f"{text}\n{text}")


def two_fences(draft: Draft) -> Draft:
    """Two reports, each in a fence."""
    return _wrap(draft, lambda text: f"```\n{text}\n```\n```\n{text}\n```")


def repeated_key(draft: Draft) -> Draft:
    """A key that stands twice."""
    return _wrap(draft, lambda text: text[:-1] + ',"submitted":true}')


def cut_off(draft: Draft) -> Draft:
    """A report that ends too early."""
    return _wrap(draft, lambda text: text[:-1])


def deep_nesting(draft: Draft) -> Draft:
    """Values nested without end."""
    return _wrap(draft, lambda text: text[:-1] + ',"x":' + "[" * 100 * 100 + "}")


def not_a_number(draft: Draft) -> Draft:
    """A number that is none."""
    return _wrap(draft, lambda text: text[:-1] + ',"x":NaN}')


def endless_number(draft: Draft) -> Draft:
    """A number of thousands of digits."""
    return _wrap(draft, lambda text: text[:-1] + ',"x":' + "1" * 100 * 100 + "}")


def half_character(draft: Draft) -> Draft:
    """Half of a character."""
    return _wrap(draft, lambda text: text[:-1] + ',"x":"\\ud800"}')


def text_for_boolean(draft: Draft) -> Draft:
    """Words for true."""
    return replace(draft, more={**draft.more, "submitted": "false"})


def unknown_action(draft: Draft) -> Draft:
    """An action there is not, beside the right ones."""
    return replace(draft, actions=(*draft.actions, {"op": "drop", "collection": "Patient"}), more={"submitted": True})


FAULTS: Mapping[str, Callable[[Draft], Draft]] = {
    each.__name__: each
    for each in (
        screen_evidence,
        second_session_evidence,
        database_evidence,
        evidence_of_words,
        evidence_alone,
        tool_transcript,
        prose_around,
        fenced,
        thought_first,
        byte_order_mark,
        two_objects,
        two_fences,
        repeated_key,
        cut_off,
        deep_nesting,
        not_a_number,
        endless_number,
        half_character,
        text_for_boolean,
        unknown_action,
    )
}
