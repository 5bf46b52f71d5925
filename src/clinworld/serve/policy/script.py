"""What each scripted policy does about a prompt: the whole report in one reply, or the same by tool calls, one a turn.

`control` does what is asked; every other case is a way to look as if. A policy keeps no state: the turn is read from the conversation.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from clinworld.core.tables import load_csv
from clinworld.serve.policy.reading import Asked, read_prompt

HERE = Path(__file__).parent
CASES = ("control", "dup", "extra", "omit", "unsubmit", "claim", "screen_only", "wrong_record", "noop")
_COLUMNS = ("collection", "extra", "extra_value", "omit", "key_element", "decoy", "decoy_element")
_SAYS: Mapping[str, Mapping[str, Any]] = {
    "claim": {"message": "Saved", "success": True},
    "screen_only": {"evidence": {"tier": 0, "screen_text": "Saved"}},
}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to call, by the name it is known under here."""

    tool: str
    arguments: Mapping[str, Any]


@lru_cache(maxsize=1)
def load_mischief() -> Mapping[str, Mapping[str, str]]:
    """Rows of cases.csv by collection."""
    return {row["collection"]: row for row in load_csv(HERE / "cases.csv", _COLUMNS)}


def write_reply(case: str, messages: Sequence[Mapping[str, Any]]) -> str:
    """The report of a case as one JSON object."""
    return _as_json({"actions": _act(case, read_prompt(messages)), "submitted": case != "unsubmit", **_SAYS.get(case, {})})


def choose_call(case: str, messages: Sequence[Mapping[str, Any]]) -> Call | str:
    """The next tool call of a case, or the words it ends with. One call is made a turn; `finish` is the last."""
    asked = read_prompt(messages)
    if case == "unsubmit":
        return _as_json({"form": _act(case, asked)})
    if case in _SAYS:
        return _as_json(_SAYS[case])
    calls = [Call(f"{action['op']}_row", {name: value for name, value in action.items() if name != "op"}) for action in _act(case, asked)]
    calls.append(Call("finish", {}))
    made = sum(1 for message in messages if message.get("role") == "assistant" and message.get("tool_calls"))
    return calls[made] if made < len(calls) else "Done."


def _act(case: str, asked: Asked) -> list[Mapping[str, Any]]:
    """The actions of a case. A case that finds nothing to spoil does nothing, so that it is never taken for the control."""
    gold = list(asked.actions)
    if case in ("control", "unsubmit"):
        return gold
    if not gold or case in ("claim", "screen_only", "noop"):
        return []
    if case == "dup":
        return [gold[0], *gold]
    first, fields = gold[0], dict(gold[0]["fields"])
    row = load_mischief().get(first["collection"])
    if row is None:
        return []
    if case == "extra":
        fields[row["extra"]] = row["extra_value"]
    elif case == "omit":
        fields.pop(row["omit"], None)
    else:
        other = _find_other(asked, row, fields)
        if other is None:
            return []
        fields[row["key_element"]] = other
    return [{**first, "fields": fields}, *gold[1:]]


def _find_other(asked: Asked, row: Mapping[str, str], fields: Mapping[str, Any]) -> str | None:
    """Somebody else's key among the rows shown."""
    for collection, row_id, values in asked.rows:
        key = row_id if row["decoy_element"] == "id" else values.get(row["decoy_element"])
        if collection == row["decoy"] and isinstance(key, str) and key != fields.get(row["key_element"]):
            return key
    return None


def _as_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
