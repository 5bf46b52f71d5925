"""Files that survive a crash: append-only JSONL, atomic whole files, one writer at a time.

A torn last line is the row being written when the process died: it is dropped and written again. Any other damage is an error.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from clinworld.core.errors import StoreError

MAKE_AGAIN = "Restore the file, or choose another --out and make it again."


def encode_row(row: Any) -> bytes:
    """One JSONL line; NumPy arrays and dataclasses are written as lists and objects."""
    return orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)


class Appender:
    """An open JSONL file. Opening cuts a torn last line; `add` is durable up to the operating system."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            _cut_torn_line(path)
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - held open until close()
        except OSError as problem:
            raise StoreError(str(path), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None

    def add(self, row: Any) -> None:
        """Append one row in one write."""
        self.add_encoded(encode_row(row))

    def add_encoded(self, line: bytes) -> None:
        """Append one already encoded line (or several whole lines)."""
        view = memoryview(line)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as problem:
            raise StoreError(str(self.path), f"cannot be written ({problem.strerror})", do="Free some space and run again.") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "Appender":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _cut_torn_line(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    with open(path, "rb+") as file:
        raw = file.read()
        end = raw.rfind(b"\n") + 1
        if end != len(raw):
            file.truncate(end)


def read_rows(path: Path, *, do: str = MAKE_AGAIN) -> Iterator[Any]:
    """Rows of a JSONL file in order; a torn last line is skipped, any other bad line is an error with its number and what to do."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise StoreError(str(path), f"cannot be read ({problem.strerror})", do="Check the folder.") from None
    whole = raw[: raw.rfind(b"\n") + 1]
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            raise StoreError(f"{path}, line {number}", f"not JSON ({problem.msg})", do=do) from None


def write_atomic(path: Path, raw: bytes) -> None:
    """Write a whole file so that readers see the former content or all of the next, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise StoreError(str(path), f"cannot be written ({problem.strerror})", do="Choose another --out or free some space.") from None


def write_json(path: Path, value: Any) -> None:
    """Write a readable JSON file atomically."""
    write_atomic(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))


def read_json(path: Path, *, do: str = MAKE_AGAIN) -> Any:
    """The value in a JSON file; a missing or broken file is an error, and for a broken one `do` is what to do."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as problem:
        raise StoreError(str(path), f"cannot be read ({problem.strerror})", do="Check the folder.") from None
    except orjson.JSONDecodeError as problem:
        raise StoreError(str(path), f"not JSON ({problem.msg})", do=do) from None


@contextmanager
def hold_lock(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold a folder as its only writer. The lock dies with the process, so a killed run blocks nobody.

    Raises StoreError at once when another process holds it, unless `wait`.
    """
    try:
        handle = open(folder / ".lock", "a+b")  # noqa: SIM115 - closed by the with below
    except OSError as problem:
        raise StoreError(str(folder), f"cannot be locked ({problem.strerror})", do="Choose another --out.") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise StoreError(str(folder), "another clinworld process is writing here", do="Wait for it to end, then run again.") from None
        yield


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write a whole JSONL file atomically."""
    write_atomic(path, b"".join(encode_row(row) for row in rows))
