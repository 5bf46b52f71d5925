"""Words of the report: its label table, names of knowledge rows, the program's own reasons in the page's language, and safe text.

Text that came from outside (a reply, a case id, a file name) is shortened and made inert here; HTML escaping is the template's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from clinworld.core.tables import load_csv
from clinworld.core.text import Labels, Language, Wording, load_labels
from clinworld.knowledge.load import Knowledge
from clinworld.schema.record import Prescription

HERE = Path(__file__).parent

WIDE_FROM = 0x2E80  # from here on characters are about twice as wide
LATIN_PX, WIDE_PX = 5.9, 11.0

# Control characters, marks that reorder or hide text, and halves of surrogate pairs. Tab and line feed stay.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
    "|[\U000e0000-\U000e007f]"
)
_PLACE = re.compile(r"\\\{(\w+)\\\}")
_SEMICOLON, _SENTENCE = re.compile("; "), re.compile(r"(?<=[^.])\. (?=[A-Z])")
_ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")  # two words in a row: more than a name with its unit
_QUOTED = re.compile(r"'.*'|\".*\"")


def report_labels() -> Labels:
    """The label table of the report."""
    return load_labels(HERE / "labels.csv")


def say(label: str, language: Language, **values: object) -> str:
    """A label of the report in one language; `{space}` in the table is a space that would be stripped there."""
    return report_labels().say(label, language, space=" ", **values)


def make_visible(text: str) -> str:
    """Text with every character that is unseen or reorders its neighbours written out.

    >>> make_visible("a\\u202eb\\x00")
    'a<U+202E>b<U+0000>'
    """
    return _UNSEEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n").replace("\r", "\n"))


def shorten(text: str, most: int, language: Language) -> str:
    """The first `most` characters, made inert, with the count of those left out."""
    kept = make_visible(text[:most])
    return kept if len(text) <= most else kept + say("shortened", language, count=len(text) - most)


def text_width(text: str) -> float:
    """About how many pixels a text of 11 px is wide."""
    return sum(WIDE_PX if ord(character) >= WIDE_FROM else LATIN_PX for character in text)


def say_name(knowledge: Knowledge, kind: str, name: str, language: Language) -> str:
    """What a knowledge row is called; the id itself for one there is not."""
    rows = knowledge.table(kind)
    return str(rows[name].names.say(language)) if name in rows else name


def say_fault(knowledge: Knowledge, kind: str, language: Language) -> str:
    """What a fault is called: an artifact of home and wearable readings, or a factor of the laboratory."""
    return say_name(knowledge, "artifacts" if kind in knowledge.artifacts else "factors", kind, language)


def dose_text(step: Prescription, knowledge: Knowledge, language: Language) -> str:
    """A prescription in words."""
    drug = say_name(knowledge, "drugs", step.drug, language)
    often = say(f"frequency:{step.frequency}", language)
    return say("mark:dose", language, drug=drug, dose=f"{step.dose:g}", unit=step.unit, often=often, day=step.day)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence and whether it is in the page's language."""

    text: str
    is_native: bool


def say_reason(text: str, language: Language) -> Said:
    """A reason the program gave, in the page's language where a table has it, else as it stands.

    Each part between semicolons, and each sentence, is looked up; all or none are translated. Ids of verdicts become their names.
    """
    if not text:
        return Said(text, True)
    if whole := _say_one(text, language):
        return Said(whole, True)
    for separator, joiner in ((_SEMICOLON, "reason_joiner"), (_SENTENCE, "sentence_joiner")):
        parts = separator.split(text)
        said = [say_reason(part, language) for part in parts] if len(parts) > 1 else []
        if said and all(part.is_native for part in said):
            return Said(say(joiner, language).join(part.text for part in said), True)
    sentence = _say_one(text.removesuffix("."), language) if text.endswith(".") else None
    return Said(sentence + say("full_stop", language), True) if sentence else Said(text, language == "en")


def say_part(text: str, language: Language) -> Said:
    """A part of a finding in the page's language; a name, a path, a number or a quotation is in every language as it stands."""
    said = say_reason(text, language)
    return said if said.is_native or _say_value(text, language) is None else Said(text, True)


def _say_one(text: str, language: Language) -> str | None:
    for row in _load_patterns("reasons.csv"):
        if found := row.pattern.fullmatch(text):
            values = found.groupdict().items()
            return _fill(
                row.wording.say(language), {name: _say_one(value, language) or _say_name(value, language) for name, value in values}
            )
    for row in _load_patterns("findings.csv"):
        if found := row.pattern.fullmatch(text):
            said = {name: _say_value(value, language) for name, value in found.groupdict().items()}
            known = {name: value for name, value in said.items() if value is not None}
            if len(known) == len(said):
                return _fill(row.wording.say(language), known)
    return None


def _say_name(name: str, language: Language) -> str:
    """The name of a verdict or of a kind of question for a reader, anything else as it stands."""
    known = (label for kind in ("verdict", "probe") if (label := f"{kind}:{name}") in report_labels())
    return next((say(label, language) for label in known), name)


def _fill(wording: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda place: values[place[1]], wording)


def _say_value(value: str, language: Language) -> str | None:
    """What fills a place of a finding: a name, a number or a quotation as it stands, another finding in words; None for other English."""
    if _QUOTED.fullmatch(value):
        return value
    return _say_one(value, language) or (None if _ENGLISH.search(value) else value)


class _Row(NamedTuple):
    """A row of a table of messages, with the pattern its English is recognised by."""

    pattern: re.Pattern[str]
    wording: Wording


@lru_cache(maxsize=2)
def _load_patterns(table: str) -> tuple[_Row, ...]:
    rows = load_csv(HERE / table, ("en", "zh"))
    return tuple(_Row(re.compile(_PLACE.sub(r"(?P<\1>.+?)", re.escape(row["en"]))), Wording(row["en"], row["zh"])) for row in rows)
