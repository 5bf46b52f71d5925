"""Dataclasses as plain JSON values: what `dataclasses.asdict` gives, many times faster, because nothing is copied."""

from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

_WHOLE = (str, int, float, bool, type(None))


def as_row(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, dataclasses inside it likewise, tuples as lists.

    >>> from clinworld.core.text import Wording
    >>> as_row(Wording("one", "two"))
    {'en': 'one', 'zh': 'two'}
    """
    kind: type = type(value)
    return {name: _plain(getattr(value, name)) for name in _field_names(kind)}


def _plain(value: Any) -> Any:
    if isinstance(value, _WHOLE):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return as_row(value) if is_dataclass(value) else value


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
