"""Results kept between commands under the digest of everything they were computed from. A cache is never required and never believed
beyond that: what cannot be read or written is computed again."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import orjson

from clinworld.core.settings import cache_folder

MOST_KEPT = 32  # files of one kind; the oldest go first

T = TypeVar("T")


def remember(kind: str, key: str, compute: Callable[[], T], read: Callable[[object], T]) -> T:
    """What `compute` gives, from the cache when it holds it. The value is JSON; `read` makes it from JSON and refuses another shape.

    `key` is a digest of every byte the value depends on. `read` raises KeyError, TypeError or ValueError for what it does not know.
    """
    try:
        path = cache_folder() / kind / f"{key}.json"
        return read(orjson.loads(path.read_bytes()))
    except (OSError, RuntimeError, KeyError, TypeError, ValueError):  # RuntimeError: no home folder
        value = compute()
    with contextlib.suppress(OSError, RuntimeError):
        _keep(cache_folder() / kind, f"{key}.json", orjson.dumps(value, option=orjson.OPT_SERIALIZE_DATACLASS))
    return value


def _keep(folder: Path, name: str, raw: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{name}.{os.getpid()}"
    temporary.write_bytes(raw)
    temporary.replace(folder / name)
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)[:-MOST_KEPT]:
        path.unlink(missing_ok=True)
