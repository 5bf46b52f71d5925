"""What a verb prints: progress to stderr, results to stdout, one JSON document with `--json`, one last line saying what was made."""

import os
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from clinworld.core.printing import show_plain

PROGRESS_AFTER_S = 1.0
LEAST_WIDTH = 40


class Console:
    """The output of one verb. With `as_json` stdout holds the final document and nothing else; with `quiet` only the last line."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet

    def say(self, line: str = "") -> None:
        """A line of the result."""
        if not self.as_json and not self.quiet:
            print(show_plain(line))

    def tell(self, line: str, *, indent: int = 2) -> None:
        """A long line, whole: wrapped between words to the width of a terminal, on one line anywhere else."""
        width = _terminal_width()
        if width is None:
            self.say(" " * indent + line)
            return
        first, rest = " " * indent, " " * (indent + 4)
        for part in textwrap.wrap(line, max(LEAST_WIDTH, width), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False):
            self.say(part)

    def table(self, rows: list[tuple[str, ...]], *, most: int = 40) -> None:
        """Aligned columns, cut after `most` rows with the count of the rest."""
        if not rows:
            return
        shown = rows[:most]
        widths = [min(48, max(len(row[i]) for row in shown)) for i in range(len(shown[0]))]
        for row in shown:
            self.say("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if len(rows) > most:
            self.say(f"  and {len(rows) - most} more")

    def finish(self, line: str, document: dict[str, Any]) -> None:
        """The last line, or the document."""
        if self.as_json:
            sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")
        else:
            print(show_plain(line))


def _terminal_width() -> int | None:
    """Columns of the terminal that standard output is, None when it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


class Progress:
    """How far long work has come: `step` shows a line on a terminal once a second has passed, nothing elsewhere."""

    def __init__(self, what: str, total: int, *, quiet: bool) -> None:
        self.what, self.total, self.done = what, total, 0
        self._shown = not quiet and sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def step(self, count: int = 1) -> None:
        """`count` more are done."""
        self.done += count
        now = time.monotonic()
        if self._shown and now - self._began > PROGRESS_AFTER_S and (now - self._last > 0.1 or self.done == self.total):
            self._last = now
            share = self.done / max(1, self.total)
            left = (now - self._began) * (1 - share) / max(share, 1e-9)
            bar = ("#" * int(24 * share)).ljust(24, "-")
            sys.stderr.write(f"\r{self.what} [{bar}] {self.done}/{self.total}, about {left:.0f} s left  ")
            sys.stderr.flush()

    def reach(self, what: str, done: int, total: int) -> None:
        """`done` of `total` are done in the part of the work called `what`."""
        self.what, self.total, self.done = what, total, done
        self.step(0)

    def close(self) -> None:
        """Wipe the line."""
        if self._shown and time.monotonic() - self._began > PROGRESS_AFTER_S:
            sys.stderr.write("\r\x1b[K")


@contextmanager
def progress(what: str, total: int, *, quiet: bool) -> Iterator[Progress]:
    """A progress line for the length of a block."""
    shown = Progress(what, total, quiet=quiet)
    try:
        yield shown
    finally:
        shown.close()
