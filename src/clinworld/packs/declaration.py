"""Reads a `pack.yaml`: closed keys, plain types, every mistake named with its line and the nearest right word."""

from pathlib import Path
from typing import Any, get_args

from clinworld.core.errors import PackError, allowed_values, nearest_match
from clinworld.core.tables import Place, load_yaml, place_text
from clinworld.core.text import LANGUAGES, Wording
from clinworld.schema.job import EpisodeKind
from clinworld.schema.pack import Dimension, JudgeUse, Pack

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
SCORE_KEYS = ("profile", "dimensions")
DIMENSION_WORDS: dict[str, tuple[str, ...]] = {
    "direction": ("higher", "lower", "none"),
    "join": ("mean", "mean_by_outcome"),
    "role": ("skill", "deduct"),
    "floor": ("best_constant", "none"),
}


def read_declaration(folder: Path) -> Pack:
    """The declaration of a pack folder. Raises PackError with file and line for anything unclear."""
    path = folder / "pack.yaml"
    document = load_yaml(path, error=PackError)
    return _Reading(path, document.value, document.lines).read()


class _Reading:
    def __init__(self, path: Path, value: Any, lines: dict[Place, int]) -> None:
        self.path, self.value, self.lines = path, value, lines

    def fail(self, place: Place, found: str, allowed: str = "", *, nearest: str | None = None, do: str = "") -> PackError:
        line = self.lines.get(place, 1)
        return PackError(f"{self.path}, line {line}, {place_text(place) or 'top'}", found, allowed, nearest=nearest, do=do)

    def read(self) -> Pack:
        blocks = self.mapping((), self.value, BLOCKS)
        for key in NEEDED:
            if key not in blocks:
                raise self.fail((), f"no {key!r}", allowed_values(NEEDED), do="Add the block.")
        name = self.word(("pack",), blocks["pack"])
        version = blocks["version"]
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self.fail(("version",), f"{version!r}", "a whole number from 1 on")
        asks = self.mapping(("asks",), blocks["asks"], LANGUAGES)
        languages = self.choices("languages", blocks, LANGUAGES)
        for language in LANGUAGES:
            if not isinstance(asks.get(language), str):
                raise self.fail(("asks",), f"no text for {language!r}", allowed_values(LANGUAGES), do="Ask in both languages.")
            if language in languages and not (self.path.parent / f"prompt.{language}.md").is_file():
                raise self.fail(("languages",), f"{language!r} without prompt.{language}.md", "a declared language has a prompt file")
        return Pack(
            name=name,
            version=version,
            folder=self.path.parent,
            asks=Wording(asks["en"], asks["zh"]),
            episodes=self.choices("episodes", blocks, get_args(EpisodeKind)),
            sees=self.words("sees", blocks),
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
