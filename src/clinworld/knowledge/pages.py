"""The reference pages: everything that is believed of a condition, drug, analyte, stream, test, event or protocol on a page each.

`clinworld inputs --pages DIR` writes them, in either language. They are built from the rows and never edited.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

from clinworld.core.errors import StoreError
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.markdown import escape
from clinworld.knowledge.page_conditions import render_condition
from clinworld.knowledge.page_drugs import render_drug
from clinworld.knowledge.page_home import render_event, render_stream
from clinworld.knowledge.page_labs import render_analyte, render_test
from clinworld.knowledge.page_protocols import render_protocol_page
from clinworld.knowledge.page_text import PAGE_KINDS, Book
from clinworld.knowledge.rows import STATUSES

__all__ = ["PAGE_KINDS", "build_pages", "write_pages"]

INDEX = "index.md"
MARK = "clinworld-pages.txt"  # a folder that holds it was written here and may be replaced
UNFINISHED, MADE, REPLACED = ".pages-", "made", "replaced"
ALLOWED = "a folder that is new or empty, or holds earlier pages"
_RENDER: dict[str, Callable[[Book, Any], str]] = {
    "conditions": render_condition,
    "drugs": render_drug,
    "analytes": render_analyte,
    "streams": render_stream,
    "tests": render_test,
    "events": render_event,
    "protocols": render_protocol_page,
}


def build_pages(knowledge: Knowledge, language: Language) -> dict[str, str]:
    """Every page in Markdown by its path, `conditions/masld.md` for example; first the index."""
    book = Book(knowledge, language)
    pages = {INDEX: _render_index(book)}
    for kind in PAGE_KINDS:
        for name, row in knowledge.table(kind).items():
            pages[f"{kind}/{name}.md"] = _RENDER[kind](book, row)
    return pages


def write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    """Put the pages into a folder, whole or not at all; what an earlier call put there is replaced.

    Raises StoreError for a folder that holds anything else, that another run is writing, and where nothing can be written.
    """
    folder = folder.absolute()
    _check_is_folder(folder)
    is_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _hold(folder):
            _take_over(folder)
            _write(folder, pages)
    except OSError as problem:
        if not is_there and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        told, allowed = f"cannot be written ({problem.strerror or problem})", "a folder that can be written"
        raise StoreError(str(folder), told, allowed, do="Choose another folder for --pages.") from None


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Hold a folder as its only writer, without a file in it. The lock dies with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        do = "Wait for it to end, or choose another folder for --pages."
        raise StoreError(str(folder), "another clinworld run is writing pages here", "one run at a time", do=do) from None
    finally:
        os.close(handle)


def _write(folder: Path, pages: Mapping[str, str]) -> None:
    with TemporaryDirectory(prefix=UNFINISHED, dir=folder) as beside:
        made, aside = Path(beside) / MADE, Path(beside) / REPLACED
        for path in dict.fromkeys((made / name).parent for name in pages):
            path.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (made / name).write_text(text, encoding="utf-8")
        (made / MARK).write_text("".join(f"{name}\n" for name in pages), encoding="utf-8")
        aside.mkdir()
        _swap(folder, made, aside)


def _check_is_folder(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        found = "a link, not a folder" if folder.is_symlink() else "no folder"
        raise StoreError(str(folder), found, ALLOWED, do="Choose another folder for --pages.")
    above = next((parent for parent in folder.resolve().parents if (parent / MARK).is_file()), None)
    if above is not None:
        allowed = f"{ALLOWED}, and lies in no folder of pages"
        raise StoreError(str(folder), f"lies in {above}, which holds pages", allowed, do="Choose another folder for --pages.")


def _take_over(folder: Path) -> None:
    """Take away what a stopped run left. Raises StoreError for a folder that holds anything but pages written earlier.

    Whoever holds the lock is the only writer: a folder of unfinished pages is then nobody's.
    """
    try:
        left = [path for path in folder.glob(f"{UNFINISHED}*") if _is_left(path)]
        marks = [folder / MARK, *(path / part / MARK for path in left for part in (MADE, REPLACED))]
        ours = {MARK, *(line for mark in marks if mark.is_file() for line in mark.read_text(encoding="utf-8").splitlines())}
        found = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
        beside = [path.relative_to(folder).as_posix() for path in found if not any(path.is_relative_to(each) for each in left)]
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(str(folder), f"cannot be read ({problem})", ALLOWED, do="Choose another folder for --pages.") from None
    foreign = next((name for name in beside if name not in ours), None)
    is_ours = any(mark.is_file() for mark in marks)
    if foreign is not None or (not is_ours and any(path not in left for path in folder.iterdir())):
        found_text = f"holds {foreign or 'something'!r}, which is no page written here"
        raise StoreError(str(folder), found_text, ALLOWED, do="Choose another folder for --pages.")
    for path in left:
        rmtree(path)


def _is_left(path: Path) -> bool:
    """Whether a folder is one in which a run makes pages before they are put in place."""
    return path.is_dir() and not path.is_symlink() and {child.name for child in path.iterdir()} <= {MADE, REPLACED}


def _swap(folder: Path, made: Path, aside: Path) -> None:
    """Move what was made into a folder and what it replaces aside, or everything back where a move fails.

    The folder itself stays, as it may be a mount or somebody's working folder.
    """
    moves: list[tuple[Path, Path]] = []
    earlier = [(child, aside / child.name) for child in sorted(folder.iterdir()) if child != made.parent]
    try:
        for old, new in (*earlier, *((child, folder / child.name) for child in sorted(made.iterdir()))):
            old.rename(new)
            moves.append((old, new))
    except OSError:
        for old, new in reversed(moves):
            new.rename(old)
        raise


def _render_index(book: Book) -> str:
    lines = [f"# {book.say('index.title')}", "", book.say("index.about"), "", book.say("index.dispute"), ""]
    lines += [f"## {book.say('index.statuses')}", ""]
    words = ((book.word("status", status), book.say(f"status_means.{status}")) for status in STATUSES)
    lines += [book.say("index.status", status=status, meaning=meaning) for status, meaning in words]
    for kind in PAGE_KINDS:
        names = sorted((book.name(kind, name).casefold(), name) for name in book.knowledge.table(kind))
        lines += ["", f"## {book.say('index.kind', kind=book.say(f'index.{kind}'), rows=len(names))}", ""]
        lines += [f"- [{escape(book.name(kind, name))}]({kind}/{name}.md)" for _, name in names]
    return "\n".join(lines) + "\n"
