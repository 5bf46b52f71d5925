"""One prompt: the pack's text in the item's language with the record in it, and appended questions after it.

A prompt file holds `{{name}}` places, `{{> file.md}}` inclusions, and parts `{{#rounds}}…{{/rounds}}` that stay only in that episode. An
inclusion is looked for beside the file, then among the packs of the package. An unknown place and a missing file are errors; what fills
a place is not filled again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clinworld.access.record_text import LABELS, render_record
from clinworld.access.view import cut_view
from clinworld.core.errors import PackError, nearest_match
from clinworld.core.text import Language, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.schema.item import Item, ProbeQuestion
from clinworld.schema.pack import Pack

PACKS = Path(__file__).parent.parent / "packs"
PROBES = Path(__file__).with_name("probes.csv")
OUTPUT_TOKENS = 4096  # what a prompt promises, and what a request allows

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_INCLUDE = re.compile(r"\{\{> ([\w./]+\.md)\}\}")
_SECTION = re.compile(r"\{\{#(\w+)\}\}\n?(.*?)\{\{/\1\}\}\n?", re.DOTALL)
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """What the agent is reminded of from its last usable answer. Every value is a printed number or a word of a closed set."""

    day: int
    risk: str
    category: str
    driver: str
    action: str


@dataclass(frozen=True, slots=True)
class RoundPlace:
    """Where a turn stands among the rounds of its episode; `number` counts from 1."""

    number: int
    rounds: int
    earlier: EarlierAnswer | None


def render_prompt(item: Item, pack: Pack, knowledge: Knowledge, *, day: int, with_probes: bool, earlier: RoundPlace | None) -> str:
    """The whole text of one turn, on the record up to `day`. `earlier` is None for the single episode.

    With and without probes the text is the same up to the appended questions.
    """
    rule = knowledge.outcomes[item.target_event]
    labels = load_labels(LABELS)
    language = item.language
    values = {
        "today": day,
        "index_day": item.index_day,
        "window_end": item.index_day + item.window_days,
        "target_event": rule.names.say(language),
        "target_id": item.target_event,
        "min_change_pct": f"{100 * rule.min_change_frac:g}",
        "min_change_kg": f"{rule.min_change_kg:g}",
        "smoothing_readings": rule.smoothing_readings,
        "persist_days": rule.persist_days,
        "drivers": "\n".join(
            labels.say("driver_line", language, id=row.id, name=row.names.say(language)) for row in knowledge.drivers.values()
        ),
        "how_to_read": labels.say("how_to_read", language),
        "remarks": "\n".join(labels.say(f"remark:{remark}", language) for remark in item.remarks),
        "output_tokens": OUTPUT_TOKENS,
        "record": render_record(cut_view(item.record, day), language, knowledge, whole=item.record),
        **_round_values(item, earlier),
    }
    text = fill_template(load_template(pack.folder / f"prompt.{language}.md"), values, _sections(earlier))
    return text + (render_probes(item.probes, language, knowledge) if with_probes else "")


def _sections(place: RoundPlace | None) -> tuple[str, ...]:
    if place is None:
        return ("single",)
    return ("rounds", "earlier") if place.earlier else ("rounds",)


def _round_values(item: Item, place: RoundPlace | None) -> dict[str, object]:
    if place is None:
        return {}
    values: dict[str, object] = {"round": place.number, "rounds": place.rounds, "cadence_days": item.cadence_days}
    if place.earlier is None:
        return values
    said = place.earlier
    return values | {"earlier_day": said.day, "risk": said.risk, "category": said.category, "driver": said.driver, "action": said.action}


def render_probes(probes: tuple[ProbeQuestion, ...], language: Language, knowledge: Knowledge) -> str:
    """The appended questions, or nothing when the item has none."""
    if not probes:
        return ""
    labels = load_labels(PROBES)
    zone = f"{100 * knowledge.parameter('probe.dead_zone'):g}"
    lines = ["", labels.say("heading", language), labels.say("intro", language)]
    for number, probe in enumerate(probes, start=1):
        label = f"{probe.kind}:{probe.variant}" if f"{probe.kind}:{probe.variant}" in labels else probe.kind
        first, last = probe.days if probe.days else ("", "")
        claim = probe.claim.say(language) if probe.claim else ""
        text = labels.say(label, language, about=probe.about, first=first, last=last, dead_zone_pct=zone, claim=claim)
        lines.append(f"({number}) {text}")
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=64)
def load_template(path: Path) -> str:
    """The text of a prompt file with its inclusions in place.

    Raises PackError, naming file and line, when one is missing or includes itself.
    """
    return _expand(path, (path.resolve(),))


def _expand(path: Path, within: tuple[Path, ...]) -> str:
    try:
        text = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    except OSError:
        nearest = nearest_match(path.name, [each.name for each in path.parent.glob("*.md")])
        raise PackError(str(path), "no such prompt file", nearest=nearest, do="Write it, or correct the inclusion.") from None

    def included(match: re.Match[str]) -> str:
        place = f"{path}, line {text.count(chr(10), 0, match.start()) + 1}"
        file = _find_inclusion(path, match[1], place)
        if file in within:
            raise PackError(place, f"the inclusion {match[1]!r}", "a file does not include itself", do="Include another file.")
        return _expand(file, (*within, file)).rstrip("\n")

    return _INCLUDE.sub(included, text)


def _find_inclusion(path: Path, name: str, place: str) -> Path:
    """The file an inclusion means. `../forecast/x.md` means the package's where there is no such folder beside the pack."""
    inside = name.removeprefix("../")
    tried = [(path.parent / name).resolve(), *([] if ".." in inside.split("/") else [PACKS / inside])]
    for file in tried:
        if file.is_file():
            return file
    beside = [each.relative_to(folder).as_posix() for folder in (path.parent, PACKS) for each in sorted(folder.glob("**/*.md"))]
    allowed = f"looked for as {' and '.join(map(str, tried))}"
    raise PackError(place, f"no file {name!r}", allowed, nearest=nearest_match(inside, beside), do="Write it, or correct the inclusion.")


def fill_template(template: str, values: Mapping[str, object], sections: Iterable[str] = ()) -> str:
    """The template with every `{{name}}` replaced once. A part `{{#name}}…{{/name}}` stays only when `sections` has its name.

    Raises PackError for a name without a value.
    """
    kept = set(sections)

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise PackError("prompt", f"the place {{{{{match[1]}}}}}", "no value has that name", nearest=nearest_match(match[1], values))
        return str(values[match[1]]).rstrip("\n")

    template = _SECTION.sub(lambda match: match[2] if match[1] in kept else "", template)
    # Blank lines are tidied in the template, never in what fills it: a record is delivered as it was rendered.
    return _PLACE.sub(value_of, _BLANK_LINES.sub("\n\n", template))
