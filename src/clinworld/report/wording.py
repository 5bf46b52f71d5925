"""Words of the report: its label table, names of knowledge rows, the program's own reasons in the page's language, and safe text.

Text that came from outside (a reply, a case id, a file name) is shortened and made inert here; HTML escaping is the template's.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clinworld.core.tables import load_csv
from clinworld.core.text import Labels, Language, load_labels
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
    """A reason the program gave, in the page's language where the table has it, else as it stands."""
    if language == "en" or not text:
        return Said(text, True)
    parts = text.split("; ")
    said = [_say_one(part) for part in (parts if all(_say_one(part) for part in parts) else [text])]
    return Said(say("reason_joiner", language).join(part or "" for part in said), True) if all(said) else Said(text, False)


def _say_one(text: str) -> str | None:
    for pattern, wording in _reasons():
        if found := pattern.fullmatch(text):
            for name, value in found.groupdict().items():
                wording = wording.replace("{" + name + "}", _say_one(value) or value)
            return wording
    return None


@lru_cache(maxsize=1)
def _reasons() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = load_csv(HERE / "reasons.csv", ("en", "zh"))
    return tuple((re.compile(_PLACE.sub(r"(?P<\1>.+?)", re.escape(row["en"]))), row["zh"]) for row in rows)
