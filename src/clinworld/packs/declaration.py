"""Reads a `pack.yaml`: closed keys, plain types, every mistake named with its line and the nearest right word."""

from pathlib import Path
from typing import Any, get_args

from clinworld.core.errors import PackError, allowed_values, nearest_match
from clinworld.core.tables import Place, load_yaml, place_text
from clinworld.core.text import LANGUAGES, Wording
from clinworld.schema.job import EpisodeKind
from clinworld.schema.pack import Dimension, JudgeUse, Pack, PackCard
from clinworld.schema.record import ALWAYS_SHOWN, PARTS

BLOCKS = (
    "pack",
    "version",
    "asks",
    "episodes",
    "sees",
    "gates",
    "probes",
    "judges",
    "hard_gates",
    "propensity_gates",
    "reported_gates",
    "score",
    "languages",
    "controls",
    "canary",
)
NEEDED = ("pack", "version", "asks", "episodes", "sees", "gates", "judges", "score", "languages")
WRITES_BLOCKS = ("pack", "kind", "version", "asks", "languages", "used_by", "canary")
WRITES_NEEDED = WRITES_BLOCKS[:-1]
WRITES_KINDS = ("record_writes",)
SCORE_KEYS = ("profile", "dimensions")
DIMENSION_WORDS: dict[str, tuple[str, ...]] = {
    "direction": ("higher", "lower", "none"),
    "join": ("mean", "mean_by_outcome"),
    "role": ("skill", "deduct"),
    "floor": ("best_constant", "none"),
}


def read_declaration(folder: Path) -> Pack:
    """The declaration of a pack of questions. Raises PackError with file and line for anything unclear, and for a pack of another kind."""
    reading = _open(folder)
    if reading.names_kind():
        raise refuse_kind(reading.read_card())
    return reading.read()


def read_card(folder: Path) -> PackCard:
    """What a pack of any kind says of itself. Raises PackError with file and line for anything unclear."""
    reading = _open(folder)
    if reading.names_kind():
        return reading.read_card()
    pack = reading.read()
    return PackCard(pack.name, "questions", pack.version, pack.folder, pack.asks, pack.languages)


def refuse_kind(card: PackCard) -> PackError:
    """The error for a pack without questions where they are needed: what it is, and what it is used by."""
    found = f"a pack of kind {card.kind}: it asks no questions, it is rewarded on a live record system"
    used = ", ".join(f"`{each}`" for each in card.used_by)
    return PackError(f"pack {card.name}", found, "a pack of questions is needed here", do=f"Use {used}.", kind="pack_without_questions")


def _open(folder: Path) -> "_Reading":
    path = folder / "pack.yaml"
    document = load_yaml(path, error=PackError)
    return _Reading(path, document.value, document.lines)


class _Reading:
    def __init__(self, path: Path, value: Any, lines: dict[Place, int]) -> None:
        self.path, self.value, self.lines = path, value, lines

    def fail(self, place: Place, found: str, allowed: str = "", *, nearest: str | None = None, do: str = "") -> PackError:
        line = self.lines.get(place, 1)
        return PackError(f"{self.path}, line {line}, {place_text(place) or 'top'}", found, allowed, nearest=nearest, do=do)

    def names_kind(self) -> bool:
        return isinstance(self.value, dict) and "kind" in self.value

    def read_card(self) -> PackCard:
        """The declaration of a pack that names its kind."""
        kind = self.value["kind"]
        if kind not in WRITES_KINDS:
            nearest, do = nearest_match(str(kind), WRITES_KINDS), "Leave it out for a pack of questions."
            raise self.fail(("kind",), f"{kind!r}"[:60], allowed_values(WRITES_KINDS), nearest=nearest, do=do)
        blocks = self.blocks(WRITES_BLOCKS, WRITES_NEEDED)
        used_by = blocks["used_by"]
        if not isinstance(used_by, list) or not used_by or not all(isinstance(each, str) and each for each in used_by):
            raise self.fail(("used_by",), f"{used_by!r}"[:60], "a list of commands and places is expected")
        languages = self.choices("languages", blocks, LANGUAGES)
        return PackCard(self.name(blocks), kind, self.version(blocks), self.path.parent, self.asks(blocks), languages, tuple(used_by))

    def read(self) -> Pack:
        blocks = self.blocks(BLOCKS, NEEDED)
        languages = self.choices("languages", blocks, LANGUAGES)
        for language in languages:
            if not (self.path.parent / f"prompt.{language}.md").is_file():
                raise self.fail(("languages",), f"{language!r} without prompt.{language}.md", "a declared language has a prompt file")
        return Pack(
            name=self.name(blocks),
            version=self.version(blocks),
            folder=self.path.parent,
            asks=self.asks(blocks),
            episodes=self.choices("episodes", blocks, get_args(EpisodeKind)),
            sees=self.sees(blocks),
            languages=languages,
            gates=self.words("gates", blocks),
            probes=tuple(self.mapping(("probes",), blocks.get("probes") or {}, None).items()),
            judges=self.judges(blocks["judges"]),
            hard_gates=self.words("hard_gates", blocks),
            propensity_gates=self.words("propensity_gates", blocks),
            reported_gates=self.words("reported_gates", blocks),
            dimensions=self.dimensions(blocks["score"]),
            controls=self.words("controls", blocks),
            blocks=tuple(blocks.items()),
        )

    def blocks(self, known: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
        blocks = self.mapping((), self.value, known)
        for key in needed:
            if key not in blocks:
                raise self.fail((), f"no {key!r}", allowed_values(needed), do="Add the block.")
        return blocks

    def name(self, blocks: dict[str, Any]) -> str:
        return self.word(("pack",), blocks["pack"])

    def version(self, blocks: dict[str, Any]) -> int:
        version = blocks["version"]
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self.fail(("version",), f"{version!r}", "a whole number from 1 on")
        return version

    def asks(self, blocks: dict[str, Any]) -> Wording:
        asks = self.mapping(("asks",), blocks["asks"], LANGUAGES)
        for language in LANGUAGES:
            if not isinstance(asks.get(language), str):
                raise self.fail(("asks",), f"no text for {language!r}", allowed_values(LANGUAGES), do="Ask in both languages.")
        return Wording(asks["en"], asks["zh"])

    def mapping(self, place: Place, value: Any, keys: tuple[str, ...] | None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail(place, f"{value!r}"[:60], "a mapping is expected")
        for key in value:
            if keys is not None and key not in keys:
                raise self.fail((*place, key), f"the key {key!r}", allowed_values(keys, most=20), nearest=nearest_match(key, keys))
        return value

    def word(self, place: Place, value: Any) -> str:
        if not isinstance(value, str) or not value.isidentifier() or not value.islower():
            raise self.fail(place, f"{value!r}"[:60], "a lower-case word is expected")
        return value

    def words(self, key: str, blocks: dict[str, Any]) -> tuple[str, ...]:
        value = blocks.get(key) or []
        if not isinstance(value, list):
            raise self.fail((key,), f"{value!r}"[:60], "a list of words is expected")
        found = tuple(self.word((key, i), each) for i, each in enumerate(value))
        for i, each in enumerate(found):
            if each in found[:i]:
                raise self.fail((key, i), f"{each!r} twice", "each stands once")
        return found

    def choices(self, key: str, blocks: dict[str, Any], allowed: tuple[Any, ...]) -> tuple[Any, ...]:
        found = self.words(key, blocks)
        for i, each in enumerate(found):
            if each not in allowed:
                raise self.fail((key, i), f"{each!r}", allowed_values(allowed), nearest=nearest_match(each, allowed))
        if not found:
            raise self.fail((key,), "nothing", allowed_values(allowed), do="Name at least one.")
        return found

    def sees(self, blocks: dict[str, Any]) -> tuple[str, ...]:
        seen = self.choices("sees", blocks, (*ALWAYS_SHOWN, *PARTS))
        if missing := [part for part in ALWAYS_SHOWN if part not in seen]:
            raise self.fail(("sees",), f"no {missing[0]!r}", "every record shows " + ", ".join(ALWAYS_SHOWN), do=f"Add {missing[0]}.")
        return seen

    def judges(self, value: Any) -> tuple[JudgeUse, ...]:
        uses: list[JudgeUse] = []
        for name, settings in self.mapping(("judges",), value, None).items():
            place = ("judges", name)
            settings = dict(self.mapping(place, settings, None))
            if "use" not in settings:
                raise self.fail(place, "no 'use'", "a judge names the file it uses", nearest=nearest_match("use", settings))
            uses.append(JudgeUse(self.word(place, name), self.word((*place, "use"), settings.pop("use")), tuple(settings.items())))
        return tuple(uses)

    def dimensions(self, value: Any) -> tuple[Dimension, ...]:
        listed = self.mapping(("score", "dimensions"), self.mapping(("score",), value, SCORE_KEYS).get("dimensions"), None)
        found: list[Dimension] = []
        for name, settings in listed.items():
            place = ("score", "dimensions", name)
            entry = self.mapping(place, settings, ("verdict", *DIMENSION_WORDS, "paired_with"))
            for key, allowed in DIMENSION_WORDS.items():
                if entry.get(key) not in allowed:
                    raise self.fail(
                        (*place, key), f"{entry.get(key)!r}", allowed_values(allowed), nearest=nearest_match(str(entry.get(key)), allowed)
                    )
            paired = entry.get("paired_with")
            if paired is not None and paired not in listed:
                raise self.fail((*place, "paired_with"), f"{paired!r}", allowed_values(listed), nearest=nearest_match(str(paired), listed))
            verdict = self.word((*place, "verdict"), entry.get("verdict", name))
            found.append(Dimension(verdict, entry["direction"], entry["join"], entry["role"], paired, entry["floor"]))
        return tuple(found)
