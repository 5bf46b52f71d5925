"""Identity of content: canonical JSON and digests of values and bytes."""

import hashlib
import json
from typing import Any

import orjson


def canonical_json(value: Any) -> bytes:
    """Compact JSON with sorted keys; the bytes every digest of a value is taken over.

    >>> canonical_json({"b": 2**70, "a": 1})
    b'{"a":1,"b":1180591620717411303424}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a whole number beyond 64 bits or a lone surrogate
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest_value(value: Any, *, length: int = 16) -> str:
    """Hex digest of a JSON value, `length` characters."""
    return digest_bytes(canonical_json(value), length=length)


def digest_bytes(raw: bytes, *, length: int = 16) -> str:
    """Hex sha256 of bytes, cut to `length` characters."""
    return hashlib.sha256(raw).hexdigest()[:length]
