"""Packs as folders: the declaration in `pack.yaml`, and the functions beside it. The folder is the registry; nothing registers itself.

A pack outside the package is read from its folder (`--pack DIR`) or from the entry-point group `clinworld.packs`, and never enters
`sys.modules`. What a declaration means to the stages that use it is theirs; its shape is checked here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clinworld.core.digest import digest_bytes
from clinworld.core.errors import PackError, allowed_values, nearest_match
from clinworld.core.store import read_rows
from clinworld.packs.declaration import read_card, read_declaration, refuse_kind
from clinworld.schema.pack import Pack, PackCard

if TYPE_CHECKING:
    from pydantic import BaseModel

HERE = Path(__file__).parent
ENTRY_POINTS = "clinworld.packs"
DECLARATION = "pack.yaml"


@dataclass(frozen=True)
class LoadedPack:
    """A pack's declaration and its functions; each file is imported when its function is first asked for."""

    pack: Pack

    @cached_property
    def derive_gold(self) -> Callable[..., Any]:
        """`derive_gold(premise, knowledge)`: gold as the premise fixes it."""
        function: Callable[..., Any] = self._function("plan", "derive_gold")
        return function

    @cached_property
    def draw_cases(self) -> Callable[..., Any]:
        """`draw_cases(job, knowledge, rng)`: the cases of a drawn job."""
        function: Callable[..., Any] = self._function("plan", "draw_cases")
        return function

    @cached_property
    def read_gold(self) -> Callable[..., Any]:
        """`read_gold(chart, faults, origins, index_day, knowledge)`: gold as the charted facts have it."""
        function: Callable[..., Any] = self._function("gold", "read_gold")
        return function

    @cached_property
    def agrees(self) -> Callable[..., Any]:
        """`agrees(planned, read)`: findings that keep the two apart, none when they agree."""
        function: Callable[..., Any] = self._function("gold", "agrees")
        return function

    @cached_property
    def answer_model(self) -> "type[BaseModel]":
        """The pydantic model of an answer. Loads pydantic."""
        model: type[BaseModel] = self._function("answer", "AnswerModel")
        return model

    @cached_property
    def controls(self) -> Mapping[str, Any]:
        """The offline controls the pack declares, by name; a declared one that there is not is a PackError."""
        if not self.pack.controls:
            return {}
        known: Mapping[str, Any] = self._function("controls", "CONTROLS")
        for name in self.pack.controls:
            if name not in known:
                place = f"{self.pack.folder / DECLARATION}, controls"
                raise PackError(place, f"no control {name!r}", allowed_values(known, most=30), nearest=nearest_match(name, known))
        return {name: known[name] for name in self.pack.controls}

    @cached_property
    def control_answers(self) -> tuple[dict[str, Any], ...]:
        """Rows of `controls.jsonl`: replies to a piece of gold, the verdicts they must get and the hard gates they must trip."""
        path = self.pack.folder / "controls.jsonl"
        return tuple(read_rows(path)) if path.is_file() else ()

    def _function(self, stem: str, name: str) -> Any:
        return _find_function(self.pack.folder, stem, name)


@dataclass(frozen=True)
class WritesPack:
    """A pack that is rewarded on a live record system: its card, and what its `proof.py` says."""

    card: PackCard

    def list_contents(self) -> Mapping[str, tuple[str, ...]]:
        """Names of what the pack holds, by sort."""
        contents: Mapping[str, tuple[str, ...]] = _find_function(self.card.folder, "proof", "list_contents")()
        return contents

    @property
    def checks(self) -> Sequence[tuple[str, Callable[[], Any], str]]:
        """The checks by which the pack proves itself: name, what gives its findings, and what it looks at."""
        checks: Sequence[tuple[str, Callable[[], Any], str]] = _find_function(self.card.folder, "proof", "CHECKS")
        return checks


def load_pack(name_or_dir: str | Path, *, extra_dirs: Sequence[Path] = ()) -> LoadedPack:
    """A pack of questions by its name, or by its folder.

    Raises PackError for one that is not there, is not well declared or asks no questions.
    """
    card = find_card(name_or_dir, extra_dirs=extra_dirs)
    if card is not None:
        if card.kind != "questions":
            raise refuse_kind(card)
        return LoadedPack(read_declaration(card.folder))
    folders = pack_folders(extra_dirs)
    nearest = nearest_match(str(name_or_dir), folders)
    raise PackError(
        "packs", f"no pack {str(name_or_dir)!r}", allowed_values(folders, most=20), nearest=nearest, do="Or name a pack folder."
    )


def pack_names(extra_dirs: Sequence[Path] = ()) -> tuple[str, ...]:
    """Names of all packs of questions, in name order."""
    return tuple(pack_folders(extra_dirs))


def pack_folders(extra_dirs: Sequence[Path] = ()) -> dict[str, Path]:
    """The folder of every pack of questions by name, in name order. Raises as `list_cards`."""
    return {name: card.folder for name, card in list_cards(extra_dirs).items() if card.kind == "questions"}


def find_card(name_or_dir: str | Path, *, extra_dirs: Sequence[Path] = ()) -> PackCard | None:
    """The card of a pack of any kind by its name, or by its folder; None for what is neither."""
    cards, folder = list_cards(extra_dirs), Path(name_or_dir)
    if str(name_or_dir) in cards:
        return cards[str(name_or_dir)]
    return read_card(folder.resolve()) if folder.is_dir() else None


def list_cards(extra_dirs: Sequence[Path] = ()) -> dict[str, PackCard]:
    """Every pack's card by name, in name order: the package's own, those of entry points, and `extra_dirs`.

    Raises PackError for an outside folder that adds nothing: without a declaration, or with a name that is taken.
    """
    found = {path.parent.name: read_card(path.parent) for path in HERE.glob(f"*/{DECLARATION}")}
    outside = [*_entry_point_folders(), *(Path(each).resolve() for each in extra_dirs)]
    for folder in sorted(set(outside)):
        if not (folder / DECLARATION).is_file():
            raise PackError(str(folder), f"no {DECLARATION}", "a pack is a folder with one", do="Add one, or leave this pack out.")
        card = read_card(folder)
        if card.name in found:
            place, taken = f"{folder / DECLARATION}, pack", f"the name {card.name!r}, which {found[card.name].folder} has"
            raise PackError(place, taken, "a pack has a name of its own", do="Give it another name.")
        found[card.name] = card
    return dict(sorted(found.items()))


def _entry_point_folders() -> list[Path]:
    folders: list[Path] = []
    for point in entry_points(group=ENTRY_POINTS):
        module = point.load()
        file = getattr(module, "__file__", None)
        if not file:
            raise PackError(f"entry point {point.name}", f"{point.value!r} is no module with a file", "a pack folder's package is expected")
        folders.append(Path(file).resolve().parent)
    return folders


def _find_function(folder: Path, stem: str, name: str) -> Any:
    module = _load_module(folder, stem)
    if not hasattr(module, name):
        nearest = nearest_match(name, [each for each in vars(module) if not each.startswith("_")])
        raise PackError(str(folder / f"{stem}.py"), f"no {name!r}", nearest=nearest, do="Define it; see the pack guide.")
    return getattr(module, name)


def _load_module(folder: Path, stem: str) -> ModuleType:
    if folder.parent == HERE:
        return import_module(f"clinworld.packs.{folder.name}.{stem}")
    path = folder / f"{stem}.py"
    if not path.is_file():
        raise PackError(str(path), "no such file", "a pack has plan, gold and answer", do="Write it; see the pack guide.")
    spec = spec_from_file_location(f"clinworld_outside_{digest_bytes(str(path).encode())}_{stem}", path)
    assert spec is not None and spec.loader is not None, "a .py file always has a loader"
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
