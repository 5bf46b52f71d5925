"""Stamps: what a batch, a reply, a verdict and a score were made under, as digests of code and tables without their comments.

Which file belongs to which stamp is decided here and nowhere else. Files are read by path; nothing of the program is imported.
A pack's stamps depend on the shared stages and on its own folder, so another pack moves none of them.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from clinworld.core.cache import remember
from clinworld.core.errors import PackError
from clinworld.provenance.source_text import python_form, split_csv_columns, split_yaml_blocks, split_yaml_fields, yaml_form

PACKAGE = Path(__file__).parent.parent
RULES = tuple(str(Path(__file__).with_name(name)) for name in ("stamps.py", "source_text.py"))  # which file counts, and as what
LENGTH = 16

StampName = Literal["world", "exam", "judge", "score"]
STAMP_NAMES: tuple[StampName, ...] = ("world", "exam", "judge", "score")

_FOLDERS: tuple[tuple[str, StampName], ...] = (
    ("core/rng.py", "world"),
    ("core/digest.py", "world"),
    ("core/units.py", "world"),
    ("core/days.py", "world"),
    ("core/tables.py", "world"),
    ("core/plain_yaml.py", "world"),
    ("schema", "world"),
    ("knowledge", "world"),
    ("world", "world"),
    ("gates", "world"),
    ("access", "exam"),
    ("core/text.py", "exam"),
    ("judges", "judge"),
    ("scores", "score"),
)
_PACK_FILES: tuple[tuple[str, StampName | None], ...] = (
    ("plan.py", "world"),
    ("gold.py", "judge"),
    ("answer.py", "exam"),
    ("rubric*", "judge"),
    ("pack.yaml", None),  # enters by block
    ("control*", None),  # controls are agents: what they answer is in their replies
    ("*.py", None),  # counts where plan, gold or answer import it
    ("*", "exam"),
)
_BLOCKS: Mapping[str, StampName | None] = {
    "pack": "world",
    "version": "world",
    "gates": "world",
    "asks": "exam",
    "episodes": "exam",
    "sees": "exam",
    "languages": "exam",
    "judges": "judge",
    "hard_gates": "judge",
    "propensity_gates": "judge",
    "reported_gates": "judge",
    "score": "score",
    "probes": None,
    "controls": None,
    "canary": None,
}
_PARAMETERS: Mapping[str, StampName] = {"judges": "judge", "scores": "score", "access": "exam"}  # other areas belong to the world
JUDGE_FIELDS = frozenset({"aliases", "synonyms", "accepted_tests", "told_apart_by", "discriminator"})
_IMPORT = re.compile(r"^from (clinworld[\w.]*) import (\([^)]*\)|[^\n]*)|^import (clinworld[\w.]*)", re.MULTILINE)
_TABLE_NAME = re.compile(r"[\"']([\w-]+\.(?:csv|yaml|json))[\"']")
_MEANING: Mapping[str, str] = {
    "world": "items are made otherwise",
    "exam": "prompts or the reading of answers differ",
    "judge": "verdicts are given otherwise",
    "score": "numbers are put together otherwise",
}


@dataclass(frozen=True, slots=True)
class Stamps:
    """The four identities that concern one pack, and one for each judge it mounts (by the name the pack gives it)."""

    world: str
    exam: str
    judge: str
    score: str
    judges: Mapping[str, str]

    def to_row(self) -> dict[str, str]:
        """`{"world": …, "exam": …, "judge": …, "score": …, "judge:NAME": …}`."""
        four = {"world": self.world, "exam": self.exam, "judge": self.judge, "score": self.score}
        return four | {f"judge:{name}": stamp for name, stamp in self.judges.items()}


def compute_stamps(pack_folder: Path, *, knowledge: Sequence[Path] = (), package: Path = PACKAGE) -> Stamps:
    """The stamps of the program as it stands on disk, as far as they concern one pack.

    `knowledge` are folders of outside rows. Raises PackError when the folder has no pack.yaml. Kept between commands by the bytes of
    every file that could count.
    """
    if not (pack_folder / "pack.yaml").is_file():
        raise PackError(str(pack_folder), "no pack.yaml in it", do="Name a pack folder.")
    key = _digest_files([str(package), str(pack_folder), *map(str, knowledge), *RULES])
    return remember("stamps", key, lambda: _compute(pack_folder, knowledge, package), _read_stamps)


def _read_stamps(value: Any) -> Stamps:
    """Stamps out of their JSON form."""
    return Stamps(value["world"], value["exam"], value["judge"], value["score"], dict(value["judges"]))


def _digest_files(places: Sequence[str]) -> str:
    """One digest of the bytes of all files in some places, and of their paths inside the place."""
    total = sha256()
    for place in places:
        for path in _files(place):
            with open(path, "rb") as file:
                raw = file.read()
            for part in (path[len(place) :].encode("utf-8", "surrogateescape"), raw):
                total.update(len(part).to_bytes(8, "big") + part)
        total.update(b"\x00")
    return total.hexdigest()[: 2 * LENGTH]


def _compute(pack_folder: Path, knowledge: Sequence[Path], package: Path) -> Stamps:
    tree = _Tree(str(package))
    for place, stamp in _FOLDERS:
        tree.add_all(stamp, tree.root, f"{tree.root}/{place}")
    for number, folder in enumerate(knowledge):
        tree.add_all("world", str(folder), str(folder), label=f"knowledge+{number}/")
    for path in _shared_folders(tree, pack_folder):
        tree.add_pack(path, f"packs/{path.rpartition('/')[2]}/")
    tree.add_pack(str(pack_folder), "pack/")
    blocks = _pack_blocks(pack_folder)
    for name, text in blocks.items():
        block_stamp = _BLOCKS.get(name, "exam")
        if block_stamp:
            tree.parts[block_stamp][f"pack.yaml:{name}"] = text
    judges = _judge_stamps(tree, blocks.get("judges", ""))
    return Stamps(**{name: _digest(tree.parts[name]) for name in STAMP_NAMES}, judges=judges)


def describe_difference(former: Mapping[str, str], current: Mapping[str, str]) -> str:
    """Which stamps differ and what that means, "" when none does; both are rows made by `Stamps.to_row`."""
    told = []
    for name in STAMP_NAMES:
        if former.get(name) != current.get(name):
            told.append(f"{name} {former.get(name, 'none')} → {current.get(name, 'none')} ({_MEANING[name]})")
    judges = sorted(name[6:] for name in {*former, *current} if name.startswith("judge:") and former.get(name) != current.get(name))
    if judges:
        told.append("judges that differ: " + ", ".join(judges))
    return "; ".join(told)


class _Tree:
    """The package as text: `parts` holds, for each stamp, what enters it by name. Paths are strings, because pathlib is slow in bulk."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.parts: dict[StampName, dict[str, str]] = {name: {} for name in STAMP_NAMES}
        self._texts: dict[str, str] = {}
        self._imports: dict[str, tuple[str, ...]] = {}

    def text(self, path: str) -> str:
        """The text of a file, read once."""
        if path not in self._texts:
            with open(path, "rb") as file:
                self._texts[path] = file.read().decode("utf-8", "surrogateescape")
        return self._texts[path]

    def add_all(self, stamp: StampName, base: str, place: str, *, label: str = "") -> None:
        """Add every file of a folder, or the one file, under its path from `base`."""
        for path in _files(place):
            self.add(stamp, label + path[len(base) + 1 :], path)

    def add(self, stamp: StampName, name: str, path: str) -> None:
        """Add a file's form; knowledge that only judges read, or only scores, goes to their stamp instead."""
        folder, _, file = name.rpartition("/")
        if folder.endswith("/parameters"):
            stamp = _PARAMETERS.get(file.removesuffix(".csv"), stamp)
        if stamp == "world" and name.startswith("knowledge") and name.endswith((".csv", ".yaml")):
            rest, for_judges = self._split(path)
            self.parts["world"][name] = rest
            if for_judges:
                self.parts["judge"][name] = for_judges
        elif form := self.form(path):
            self.parts[stamp][name] = form

    def add_pack(self, folder: str, label: str) -> None:
        """Add a pack's own files, and what its plan, gold and answer import of other packs' folders."""
        for path in _files(folder):
            name = path.rpartition("/")[2]
            stamp = next(stamp for pattern, stamp in _PACK_FILES if fnmatchcase(name, pattern))
            if stamp is None:
                continue
            self.add(stamp, label + path[len(folder) + 1 :], path)
            for module in self.imported(path, "packs") if name.endswith(".py") else ():
                self.add(stamp, module[len(self.root) + 1 :], module)

    def form(self, path: str) -> str:
        """The file's normal form; anything but Python, YAML and CSV counts byte for byte."""
        text = self.text(path)
        if path.endswith(".py"):
            return python_form(text)
        if path.endswith(".yaml"):
            return yaml_form(text)
        return split_csv_columns(text, frozenset())[0] if path.endswith(".csv") else text

    def imported(self, path: str, area: str) -> list[str]:
        """Modules of one area of the package that a file imports, directly or through each other, in name order."""
        found: set[str] = set()
        waiting = [path]
        while waiting:
            for module in self._imported_by(waiting.pop()):
                if module.startswith(f"{self.root}/{area}/") and module not in found and module != path:
                    found.add(module)
                    waiting.append(module)
        return sorted(found)

    def _imported_by(self, path: str) -> tuple[str, ...]:
        if path not in self._imports:
            names = (name.split(".")[1:] for name in _module_names(self.text(path)))
            files = (f"{self.root}/{'/'.join(parts)}.py" for parts in names if parts)
            self._imports[path] = tuple(file for file in files if os.path.isfile(file))
        return self._imports[path]

    def _split(self, path: str) -> tuple[str, str]:
        if path.endswith(".csv"):
            return split_csv_columns(self.text(path), JUDGE_FIELDS)
        return split_yaml_fields(yaml_form(self.text(path)), JUDGE_FIELDS)


def _files(place: str) -> list[str]:
    """Files of a folder in name order, or the one file; compiled files, READMEs and hidden files are left out."""
    if os.path.isfile(place):
        return [place]
    found: list[str] = []
    for folder, inside, names in os.walk(place):
        inside[:] = [name for name in inside if not name.startswith((".", "__pycache__"))]
        found += [f"{folder}/{name}" for name in names if not name.startswith((".", "README")) and not name.endswith(".pyc")]
    return sorted(found)


def _shared_folders(tree: _Tree, pack_folder: Path) -> list[str]:
    """The folders of the package that packs share (they hold no pack.yaml) and this pack's modules import, in name order."""
    modules = [path for path in _files(str(pack_folder)) if path.endswith(".py")]
    folders = {module.rpartition("/")[0] for path in modules for module in tree.imported(path, "packs")}
    own = {str(pack_folder), f"{tree.root}/packs"}
    return sorted(folder for folder in folders - own if not os.path.isfile(f"{folder}/pack.yaml"))


def _pack_blocks(pack_folder: Path) -> dict[str, str]:
    return split_yaml_blocks(yaml_form((pack_folder / "pack.yaml").read_text(encoding="utf-8")))


def _judge_stamps(tree: _Tree, block: str) -> dict[str, str]:
    """A stamp for each judge: its mounting, its file, what that imports of judges/, the tables it names, and the pack's gold."""
    judge_parts = tree.parts["judge"]
    gold = {name: form for name, form in judge_parts.items() if name.endswith("gold.py")}
    rows = {name: form for name, form in judge_parts.items() if name.startswith("knowledge")}
    stamps: dict[str, str] = {}
    for name, mounting in _uses(block).items():
        used = re.search(r"\buse: *(\w+)", mounting)
        file = f"{tree.root}/judges/{used[1] if used else name}.py"
        parts = {**gold, "mounting": mounting}
        for module in [file, *tree.imported(file, "judges")] if os.path.isfile(file) else ():
            parts[module] = tree.form(module)
            text = tree.text(module)
            for table in set(_TABLE_NAME.findall(text)):
                path = f"{module.rpartition('/')[0]}/{table}"
                if os.path.isfile(path):
                    parts[table] = tree.form(path)
            if "\nfrom clinworld.knowledge" in text:
                parts |= rows
        stamps[name] = _digest({part.removeprefix(tree.root): form for part, form in parts.items()})
    return stamps


def _uses(block: str) -> dict[str, str]:
    """Entries of a `judges:` block, by name."""
    uses: dict[str, str] = {}
    depth = -1
    name = ""
    for line in block.split("\n")[1:]:
        indent = len(line) - len(line.lstrip())
        found = re.match(r" *(\w+):", line)
        if found and (depth < 0 or indent <= depth):
            depth, name = indent, found[1]
            uses[name] = line.strip()
        elif name:
            uses[name] += "\n" + line.strip()
    return uses


def _module_names(text: str) -> Iterable[str]:
    for base, names, plain in _IMPORT.findall(text):
        if plain:
            yield plain
            continue
        yield base
        for name in re.findall(r"\w+", names):
            yield f"{base}.{name}"


def _digest(parts: Mapping[str, str]) -> str:
    total = sha256()
    for name in sorted(parts):
        for text in (name, parts[name]):
            raw = text.encode("utf-8", "surrogateescape")
            total.update(len(raw).to_bytes(8, "big") + raw)
    return total.hexdigest()[:LENGTH]
