"""What a scripted policy reads of a prompt, of delivered text alone: the machine-readable last line, listed elements, rows shown."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_HEAD = re.compile(r"(create|update|delete) ([A-Za-z_]+)(?:/([A-Za-z0-9.\-]+)| \(([a-z_]+)\)):")
_LEAF = re.compile(r"- ([A-Za-z_][A-Za-z0-9_.\[\]]*) = (.+)")
_STEP = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]{1,4})\]")
_ROW = re.compile(r"([A-Za-z_]+)/([A-Za-z0-9.\-]+) (\{.*\})")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a prompt asks for, as actions of a report, and the rows it shows by collection and id."""

    actions: tuple[Mapping[str, Any], ...]
    rows: tuple[tuple[str, str, Mapping[str, Any]], ...]


def read_prompt(messages: Sequence[Mapping[str, Any]]) -> Asked:
    """What the newest message that asks for something asks for; no actions where none does."""
    for message in reversed(messages):
        text = _text(message)
        if message.get("role") == "user" and (actions := tuple(_read_machine(text) or _read_listed(text))):
            return Asked(actions, tuple(_read_rows(text)))
    return Asked((), ())


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_machine(text: str) -> list[dict[str, Any]]:
    """The create named by the last line, where it names one whole."""
    lines = [line for line in text.splitlines() if line.strip()]
    value = _parse(lines[-1]) if lines else None
    if not isinstance(value, dict) or not isinstance(value.get("fields"), dict) or not isinstance(value.get("collection"), str):
        return []
    return [{"op": "create", "collection": value["collection"], "fields": value["fields"]}]


def _read_listed(text: str) -> Iterator[dict[str, Any]]:
    """The records listed element by element; none at all where an element is left open."""
    actions: list[dict[str, Any]] = []
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            actions.append({"op": head[1], "collection": head[2], **({"id": head[3]} if head[3] else {"full_url": f"urn:uuid:{head[4]}"})})
        elif actions and (leaf := _LEAF.fullmatch(line)):
            value = _parse(leaf[2])
            if value is None and leaf[2] != "null":
                return
            try:
                _place(actions[-1].setdefault("fields", {}), [name or int(at) for name, at in _STEP.findall(leaf[1])], value)
            except (IndexError, AttributeError, TypeError):  # a path that does not fit those before it
                return
    if len(actions) == 1:
        actions[0].pop("full_url", None)
    yield from actions


def _place(into: Any, path: list[str | int], value: Any) -> None:
    for step, following in pairwise(path):
        into = _child(into, step, [] if isinstance(following, int) else {})
    _child(into, path[-1], value)


def _child(into: Any, step: str | int, empty: Any) -> Any:
    if isinstance(step, int):
        if step == len(into):  # elements are listed in order
            into.append(empty)
    else:
        into.setdefault(step, empty)
    return into[step]


def _read_rows(text: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for line in text.splitlines():
        if row := _ROW.fullmatch(line):
            value = _parse(row[3])
            if isinstance(value, dict):
                yield row[1], row[2], value
