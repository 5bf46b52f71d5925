"""References between resources: relative, absolute and urn:uuid forms of the same row."""

import re
from collections.abc import Mapping
from typing import Any

BASE_URL = "https://emr.example.org/fhir"
_RELATIVE = re.compile(r"([A-Za-z_]+)/([A-Za-z0-9.\-]{1,64})")


def resolve_reference(text: str, urls: Mapping[str, str] | None = None) -> str | None:
    """`Type/id` of a reference, or None for one that names no row of this system. `urls` gives the row of each urn:uuid.

    >>> resolve_reference("https://emr.example.org/fhir/Patient/p1"), resolve_reference("Patient/p1/extra")
    ('Patient/p1', None)
    """
    if text.startswith("urn:"):
        return (urls or {}).get(text)
    match = _RELATIVE.fullmatch(text.removeprefix(BASE_URL + "/"))
    return f"{match[1]}/{match[2]}" if match else None


def place_references(value: Any, urls: Mapping[str, str]) -> Any:
    """The value with every urn:uuid reference that `urls` knows replaced by the row it stands for."""
    if isinstance(value, dict):
        return {
            key: urls.get(each, each) if key == "reference" and isinstance(each, str) else place_references(each, urls)
            for key, each in value.items()
        }
    return [place_references(each, urls) for each in value] if isinstance(value, list) else value


def find_references(value: Any, kind: str) -> list[str]:
    """Every `Type/id` of one type that a value refers to, in order."""
    if isinstance(value, dict):
        found: list[str] = []
        for key, each in value.items():
            if key == "reference" and isinstance(each, str):
                resolved = resolve_reference(each)
                found += [resolved] if resolved and resolved.startswith(f"{kind}/") else []
            else:
                found += find_references(each, kind)
        return found
    return [found for each in value for found in find_references(each, kind)] if isinstance(value, list) else []
