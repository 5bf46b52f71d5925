"""The policy's report: one strict, bounded JSON object, or a rejection that says why. Never an exception, nothing executed on the way.

What is not plainly one thing is rejected whole: two objects, brackets in the words around one, a repeated key, text for a boolean, an
unknown action or a column that the server owns. Evidence a policy brings is kept to be counted and is never read by a rule.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from clinworld.core.errors import allowed_values, nearest_match
from clinworld.packs.emr_write.actions import OPS, Action, Op
from clinworld.packs.emr_write.store.layout import Layout, load_layout
from clinworld.packs.emr_write.strict_json import BadJson, is_whole, read_value

MAX_BYTES, MAX_ACTIONS, MAX_BULK, MAX_CONDITIONAL, MAX_WORD = 64 * 1024, 64, 4, 16, 200
_CLAIMS = ("banner", "message", "success", "evidence", "screen", "screen_text", "screenshot", "ocr", "pixels")
_SCREEN = ("screen", "screen_text", "banner", "screenshot", "ocr", "pixels")
_ACTION_KEYS = ("op", "collection", "fields", "id", "full_url", "where", "key", "if_version", "if_none_exist")


@dataclass(frozen=True, slots=True)
class Report:
    """A report that can be executed. `claims` is what it says about itself."""

    actions: tuple[Action, ...]
    is_submitted: bool
    decision: str | None = None
    reason: str | None = None
    claims: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def has_evidence(self) -> bool:
        """True when the policy offers evidence of its own, of whatever tier."""
        return "evidence" in self.claims or any(name in self.claims for name in _SCREEN)

    @property
    def evidence_tier(self) -> int | None:
        """The tier the evidence names; 0 for anything seen on a screen; None for none or an unreadable one."""
        evidence = self.claims.get("evidence")
        inside = evidence if isinstance(evidence, dict) else {}
        tier = inside.get("tier")
        if any(name in place for name in _SCREEN for place in (self.claims, inside)):
            return 0
        return tier if isinstance(tier, int) and not isinstance(tier, bool) else None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A report that is not executed, with the place, what was found and what is allowed. `claims` as far as they could be read."""

    place: str
    found: str
    allowed: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.place}: {self.found}" + (f"; {self.allowed}" if self.allowed else "")


class _Bad(Exception):
    def __init__(self, place: str, found: str, allowed: str = "") -> None:
        self.rejection = Rejection(place, found, allowed)
        super().__init__(found)


def parse_report(text: object, *, layout: Layout | None = None, is_prose_allowed: bool = True) -> Report | Rejection:
    """The report in a reply, or why there is none. Takes anything and never raises.

    `is_prose_allowed` False refuses words around the object; a byte order mark, white space, one fence and a leading block of thinking
    are always allowed.
    """
    claims: dict[str, Any] = {}
    try:
        if not isinstance(text, str):
            raise _Bad("report", f"{type(text).__name__}", "text is expected")
        value = _read_object(_find_object(text, is_prose_allowed))
        claims |= {name: value[name] for name in _CLAIMS if name in value}
        return _read_report(value, claims, layout or load_layout())
    except _Bad as bad:
        return Rejection(bad.rejection.place, bad.rejection.found, bad.rejection.allowed, claims)


def parse_object(text: object) -> dict[str, Any] | Rejection:
    """The JSON object that a text is, with nothing around it, or why it is none. Takes anything and never raises."""
    try:
        if not isinstance(text, str):
            raise _Bad("object", type(text).__name__, "text is expected")
        _check_size(text)
        value = read_value(text)
        if not isinstance(value, dict):
            raise _Bad("object", _show(value), "one JSON object is expected")
    except BadJson as bad:
        return Rejection("object", bad.found, bad.allowed)
    except _Bad as bad:
        return bad.rejection
    return value


def parse_action(value: Mapping[str, Any], *, layout: Layout | None = None) -> Action | Rejection:
    """The action that parsed values are, by the rules of a report, or why they are none. Never raises."""
    try:
        return _read_action("action", dict(value), layout or load_layout())
    except _Bad as bad:
        return bad.rejection


def _check_size(text: str) -> None:
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _Bad("report", f"more than {MAX_BYTES:,} bytes", f"at most {MAX_BYTES:,} are read")


def _find_object(text: str, is_prose_allowed: bool) -> str:
    _check_size(text)
    if not is_whole(text):
        raise _Bad("report", "half a character or a NUL", "whole characters are expected")
    _, is_thought, after_thinking = text.rpartition("</think>")
    if not is_thought and "<think>" in text:
        raise _Bad("report", "thinking that never ends", "one JSON object after it")
    body = after_thinking if is_thought else text
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise _Bad("report", "no JSON object", "exactly one is expected")
    before, after = body[:start].removeprefix("\ufeff").strip(), body[end + 1 :].strip()
    fences = before.count("```"), after.count("```")
    if fences not in ((0, 0), (1, 1)):
        raise _Bad("report", f"{sum(fences)} fence marks around the object", "one fence or none")
    if any(mark in place for mark in "[]{}" for place in (before, after)):
        raise _Bad("report", "brackets beside the object: another object or a list, whole or cut", "exactly one JSON object is expected")
    prose = before.partition("```")[0] + after.partition("```")[2] if fences == (1, 1) else before + after
    if prose and not is_prose_allowed:
        raise _Bad("report", "words around the object", "the object alone is expected")
    return body[start : end + 1]


def _read_object(text: str) -> dict[str, Any]:
    try:
        return cast("dict[str, Any]", read_value(text))  # the text begins with a brace
    except BadJson as bad:
        raise _Bad("report", bad.found, bad.allowed) from None


def _read_report(value: dict[str, Any], claims: dict[str, Any], layout: Layout) -> Report:
    if not isinstance(value.get("submitted"), bool):
        found = "nothing" if "submitted" not in value else _show(value["submitted"])
        raise _Bad("submitted", found, "true or false is expected")
    listed = value.get("actions")
    if not isinstance(listed, list):
        raise _Bad("actions", "nothing" if "actions" not in value else _show(listed), "a list is expected")
    if len(listed) > MAX_ACTIONS:
        raise _Bad("actions", f"{len(listed)} actions", f"at most {MAX_ACTIONS}")
    actions = tuple(_read_action(f"actions[{i}]", each, layout) for i, each in enumerate(listed))
    if sum(action.where is not None for action in actions) > MAX_BULK:
        raise _Bad("actions", f"more than {MAX_BULK} actions on rows found by their values", f"at most {MAX_BULK}")
    if sum(action.if_none_exist is not None for action in actions) > MAX_CONDITIONAL:
        raise _Bad("actions", f"more than {MAX_CONDITIONAL} conditional creates", f"at most {MAX_CONDITIONAL}")
    decision, reason = (_read_word(value, name, name) for name in ("decision", "reason"))
    if decision is not None and actions:
        raise _Bad("decision", f"{decision!r} beside {len(actions)} actions", "either writes or a decision to write nothing")
    known = ("actions", "submitted", "decision", "reason", *_CLAIMS)
    notes = tuple(f"{key[:40]} is not part of a report and was ignored" for key in value if key not in known)
    return Report(actions, value["submitted"], decision, reason, claims, notes)


def _read_action(place: str, value: Any, layout: Layout) -> Action:
    if not isinstance(value, dict):
        raise _Bad(place, _show(value), "an action is an object")
    for key in value:
        if key not in _ACTION_KEYS:
            raise _Bad(place, f"the key {key[:40]!r}", allowed_values(_ACTION_KEYS))
    op, collection = value.get("op"), value.get("collection")
    if op not in OPS:
        raise _Bad(f"{place}.op", _show(op), allowed_values(OPS))
    if not isinstance(collection, str) or collection not in layout.writable():
        nearest = nearest_match(collection[:40], layout.writable()) if isinstance(collection, str) else None
        meant = f", nearest is {nearest}" if nearest else ""
        raise _Bad(f"{place}.collection", _show(collection), allowed_values(layout.writable()) + meant)
    fields = _read_fields(f"{place}.fields", value.get("fields", {}), collection, layout)
    where = value.get("where")
    if where is not None and where != "*" and not isinstance(where, dict):
        raise _Bad(f"{place}.where", _show(where), 'an object or "*" is expected')
    if_none_exist = value.get("if_none_exist")
    if if_none_exist is not None and not isinstance(if_none_exist, dict):
        raise _Bad(f"{place}.if_none_exist", _show(if_none_exist), "an object is expected")
    row_id, full_url, key, version = (_read_word(value, name, f"{place}.{name}") for name in ("id", "full_url", "key", "if_version"))
    if op == "create" and (row_id is not None or where is not None or version is not None):
        raise _Bad(place, "a create that names a row", "the server gives a row its id")
    if op != "create" and sum(each is not None for each in (row_id, full_url, where)) != 1:
        raise _Bad(place, f"{op} of no one target", "exactly one of id, full_url and where")
    if (op == "delete") == bool(fields) or (op != "create" and if_none_exist is not None):
        raise _Bad(place, f"{op} with {len(fields)} fields", "create and update have fields, delete has none")
    return Action(cast("Op", op), collection, fields, row_id, full_url, where, key, version, if_none_exist)


def _read_fields(place: str, value: Any, collection: str, layout: Layout) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Bad(place, _show(value), "an object is expected")
    for name in value:
        if layout.owner(collection, name) != "policy" or name == "undeclared":
            raise _Bad(f"{place}.{name}", "a field of the server's", "a report may not set it")
    return value


def _read_word(value: dict[str, Any], name: str, place: str) -> str | None:
    word = value.get(name)
    if word is None:
        return None
    if not isinstance(word, str) or not 0 < len(word) <= MAX_WORD:
        raise _Bad(place, _show(word), f"text of 1 to {MAX_WORD} characters")
    return word


def _show(value: Any) -> str:
    """A value as a short word for a message."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    return json.dumps(value, ensure_ascii=True, default=str)[:60]
