"""From the raw text of a reply to an answer: what could be read, what was left out and why there is none.

Reading never raises and takes bounded time, whatever the text. Reasoning is not an answer. What the fields mean is the pack's
answer model; what they are worth is the judges' business.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from json import JSONDecoder
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

import orjson

from clinworld.core.printing import mend_text
from clinworld.schema.answer import Answer, UnansweredCause

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_CHARS = 2_000_000
MAX_ENTRIES = 200
_MAX_CANDIDATES = 8
_MAX_SHOWN = 80
_EXACT_DIGITS = 18  # of a whole number that is read exactly

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_ABSENT = object()


def strip_reasoning(text: str) -> str:
    """The text outside reasoning blocks. A block that never closes runs to the end; a close without an open began at the start."""
    kept: list[str] = []
    cursor, inside = 0, False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            if not inside:
                kept.clear()
            inside, cursor = False, tag.end()
        elif not inside:
            kept.append(text[cursor : tag.start()])
            inside = True
    if not inside:
        kept.append(text[cursor:])
    return "".join(kept)


def extract_json(text: str) -> dict[str, Any] | None:
    """The JSON object of a reply, or None when there is none.

    Looked for in the last fenced block, then from the first `{` to the last `}`, then in blocks and lines of their own. A number that is
    not finite (NaN, 1e400) stands in it as `NotFinite`, which no field takes. Only the last two million characters are looked at.
    """
    text = strip_reasoning(text[-MAX_CHARS:])
    fenced = [part for part in text.split("```")[1::2] if "{" in part]
    for part in [*reversed(fenced[-_MAX_CANDIDATES:]), text]:
        found = _parse(part[part.find("{") : part.rfind("}") + 1])
        if found is not None:
            return found
    return _from_blocks(text)


def _from_blocks(text: str) -> dict[str, Any] | None:
    starts = [match.start() for match in re.finditer(r"^\{", text, re.MULTILINE)]
    for start in reversed(starts[-_MAX_CANDIDATES:]):
        close, line = text.find("\n}", start), text.find("\n", start)
        for end in (close + 2 if close > 0 else -1, line if line > 0 else len(text)):
            found = _parse(text[start:end].strip()) if end > start else None
            if found is not None:
                return found
    return None


def _parse(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _parse_leniently(text)
    return value if isinstance(value, dict) else None


def _parse_leniently(text: str) -> Any:
    """The value of JSON that strict reading refuses for one number or one character in it; None when it is no JSON at all."""
    try:
        return _mend(_LENIENT.decode(text.strip()))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A number of a reply that no computer number holds, as it was written."""

    written: str


def _read_number(written: str) -> float | NotFinite:
    value = float(written)
    return value if math.isfinite(value) else NotFinite(written[:_MAX_SHOWN])


def _read_whole(written: str) -> int | float | NotFinite:
    return int(written) if len(written) <= _EXACT_DIGITS else _read_number(written)


_LENIENT = JSONDecoder(parse_float=_read_number, parse_int=_read_whole, parse_constant=NotFinite, strict=False)


def _mend(value: Any) -> Any:
    """The value with lone surrogates in its texts replaced."""
    if isinstance(value, str):
        return mend_text(value)
    if isinstance(value, list):
        return [_mend(each) for each in value]
    return {mend_text(key): _mend(each) for key, each in value.items()} if isinstance(value, dict) else value


def read_answer(text: str, finish_reason: str, model: "type[BaseModel]", *, reasoning: str = "") -> Answer:
    """One reply, read field by field against the pack's answer model.

    A field of the wrong type or outside its closed set is in `left_out` with what was found; a field the model does not know is in
    `unknown`. Neither voids the rest. JSON null is the same as not said.
    """
    outside = strip_reasoning(text[-MAX_CHARS:]).strip()
    found = extract_json(text)
    if found is None:
        return Answer({}, (), (), _why_unanswered(text, outside, finish_reason, reasoning), text)
    reading = _Reading()
    fields = reading.read_model(model, found, "")
    cause: UnansweredCause | None = None if fields else ("unparsable" if found else "empty")
    return Answer(fields, tuple(reading.left_out), tuple(reading.unknown), cause, text)


def _why_unanswered(text: str, outside: str, finish_reason: str, reasoning: str) -> UnansweredCause:
    if finish_reason == "length":
        return "cut_off"
    if outside:
        return "unparsable"
    return "reasoning_only" if text.strip() or reasoning.strip() else "empty"


class _Reading:
    """One pass over a reply; collects what could not be used."""

    def __init__(self) -> None:
        self.left_out: list[tuple[str, str]] = []
        self.unknown: list[str] = []

    def read_model(self, model: "type[BaseModel]", found: dict[str, Any], place: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        shapes = _list_shapes(model)
        for name, value in found.items():
            here = f"{place}.{name}" if place else name
            if name not in shapes:
                if len(self.unknown) < MAX_ENTRIES:
                    self.unknown.append(here[:_MAX_SHOWN])
            elif value is not None:
                read = self.read_value(shapes[name], value, here)
                if read is not _ABSENT:
                    fields[name] = read
        return fields

    def read_value(self, shape: "_Shape", value: Any, place: str) -> Any:
        if isinstance(value, NotFinite):
            return self._leave_out(place, value)
        if shape.validate is not None:
            return self._read_leaf(shape.validate, value, place)
        if shape.model is not None and isinstance(value, dict):
            return self.read_model(shape.model, value, place) or _ABSENT
        if shape.entry is not None and shape.holder is list and isinstance(value, list):
            return self._read_list(shape.entry, value, place)
        if shape.entry is not None and shape.holder is dict and isinstance(value, dict):
            kept = {key: self.read_value(shape.entry, entry, f"{place}.{key}") for key, entry in _few(value.items())}
            return {key: entry for key, entry in kept.items() if entry is not _ABSENT}
        return self._leave_out(place, value)

    def _read_list(self, shape: "_Shape", value: list[Any], place: str) -> list[Any]:
        if len(value) > MAX_ENTRIES:
            self.left_out.append((place, f"{len(value)} entries; the first {MAX_ENTRIES} are read"))
        kept = (self.read_value(shape, entry, f"{place}[{i}]") for i, entry in enumerate(value[:MAX_ENTRIES]))
        return [entry for entry in kept if entry is not _ABSENT]

    def _read_leaf(self, validate: Callable[[Any], Any], value: Any, place: str) -> Any:
        try:
            return validate(value)
        except ValueError:  # pydantic's ValidationError is one
            return self._leave_out(place, value)

    def _leave_out(self, place: str, value: Any) -> Any:
        self.left_out.append((place[:_MAX_SHOWN], _shown(value)))
        return _ABSENT


class _Shape(NamedTuple):
    """How a field is read: as a model, as a list or dict (`holder`) with one shape an entry, or whole, by `validate`."""

    model: "type[BaseModel] | None" = None
    holder: Any = None
    entry: "_Shape | None" = None
    validate: Callable[[Any], Any] | None = None


@lru_cache(maxsize=64)
def _list_shapes(model: "type[BaseModel]") -> dict[str, _Shape]:
    return {name: _read_shape(field.annotation) for name, field in model.model_fields.items()}


def _read_shape(annotation: Any) -> _Shape:
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415 - heavy, loaded at use

    annotation = _without_none(annotation)
    holder, inside = get_origin(annotation), get_args(annotation)
    if holder in (list, dict):
        return _Shape(holder=holder, entry=_read_shape(inside[-1]))
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        return _Shape(model=annotation)
    adapter: TypeAdapter[Any] = TypeAdapter(annotation, config=ConfigDict(strict=True))
    return _Shape(validate=adapter.validate_python)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        return parts[0] if len(parts) == 1 else annotation
    return annotation


def _few(pairs: Any) -> list[tuple[str, Any]]:
    return list(pairs)[:MAX_ENTRIES]


def _shown(value: Any) -> str:
    if isinstance(value, NotFinite):
        return f"{value.written if len(value.written) < _MAX_SHOWN else value.written + '…'} (number)"
    kinds = {str: "text", bool: "true/false", int: "number", float: "number", list: "list", dict: "object", NoneType: "null"}
    text = repr(value if not isinstance(value, (list, dict)) else f"{len(value)} entries")
    return f"{text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + '…'} ({kinds[type(value)]})"
