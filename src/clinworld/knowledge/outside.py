"""A folder of knowledge from outside: everything in it is read, or named before anything is."""

from collections.abc import Iterator
from pathlib import Path

from clinworld.core.errors import KnowledgeError, allowed_values, nearest_match


def check_folder(folder: Path, tables: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raises KnowledgeError for what would be passed over in silence: another name, another ending, a link, a folder where a file belongs.

    `tables` are the names of CSV tables (a folder of them has no ending), `kinds` the folders of one file a row. Hidden files are nobody's.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "no such folder"
        raise KnowledgeError(str(folder), found, "a folder of knowledge files is expected", do="Check --knowledge.")
    for path in _visible(folder):
        _check_top(path, (*tables, *kinds))
        for inside in _visible(path) if path.is_dir() else ():
            _check_inside(inside, ".yaml" if path.name in kinds else ".csv")


def visible_files(folder: Path, ending: str) -> list[Path]:
    """The files of a folder with an ending, by name, without hidden ones; none where there is no folder."""
    return [path for path in sorted(folder.glob(f"*{ending}")) if not path.name.startswith(".")]


def _visible(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            what = "a link" if path.is_symlink() else "not a regular file"
            raise KnowledgeError(str(path), what, "regular files of the folder itself are read", do="Copy the file into the folder.")
        if not path.name.startswith("."):
            yield path


def _check_top(path: Path, known: tuple[str, ...]) -> None:
    if path.name not in known:
        nearest, do = nearest_match(path.name, known), "Rename it, or take it out of the folder."
        raise KnowledgeError(str(path), "not a knowledge file", allowed_values(known, most=40), nearest=nearest, do=do)
    is_table = "." in path.name
    if path.is_dir() and is_table:
        do = f"Put the rows in a file {path.name}."
        raise KnowledgeError(str(path), f"a folder called {path.name}", "a file of that name", do=do)
    if path.is_file() and not is_table:
        do = f"Put the file into a folder {path.name}."
        raise KnowledgeError(str(path), f"a file called {path.name}", "a folder of that name", do=do)


def _check_inside(path: Path, ending: str) -> None:
    if path.is_dir():
        raise KnowledgeError(str(path), f"a folder inside {path.parent.name}", f"files that end in {ending}", do="Move the files up.")
    if path.suffix != ending:
        right = f"{path.stem}{ending}"
        do = f"Rename it {right}, or take it out of the folder."
        raise KnowledgeError(str(path), f"{path.name}, which is not read", f"files that end in {ending}", nearest=right, do=do)
