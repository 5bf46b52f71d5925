"""What a gate looks at, and how it answers. A gate reads; it never edits an item."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.rows import Analyte, Stream
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, GoldRow
from clinworld.schema.item import Item
from clinworld.schema.pack import Pack
from clinworld.schema.record import ChartFault, Note, NoteOrigin, Record, Series


class Prompt(NamedTuple):
    """A text that would be delivered: its name (episode/probe set/turn), the last day it may show, and the text."""

    name: str
    day: int
    text: str


class GoldReader(Protocol):
    """The part of a pack that derives gold a second time, from charted facts, and the declaration its prompts come from."""

    @property
    def pack(self) -> Pack:
        """The pack's declaration."""
        ...

    @property
    def read_gold(self) -> Callable[[Record, Sequence[ChartFault], Sequence[NoteOrigin], int, Knowledge], ForecastGold]:
        """Gold as the charted facts have it."""
        ...

    @property
    def agrees(self) -> Callable[..., list[Finding]]:
        """What keeps the two derivations apart; empty when they agree."""
        ...


@dataclass(frozen=True, eq=False)
class CaseUnderCheck:
    """One item with its gold and every text it can cause."""

    item: Item
    gold: GoldRow
    knowledge: Knowledge
    reader: GoldReader
    prompts: tuple[Prompt, ...]

    @cached_property
    def shown_notes(self) -> tuple[Note, ...]:
        """The notes an agent sees at T."""
        return tuple(note for note in self.item.record.notes if note.day <= self.item.index_day)

    def find_shown(self, name: str) -> Series | None:
        """What an agent sees of a series at T, or None when nothing of it is charted by then."""
        series = self.item.record.find(name)
        part = series.until(self.item.index_day) if series is not None else None
        return part if part is not None and len(part.days) else None

    @cached_property
    def kinds(self) -> dict[str, NoteOrigin]:
        """Why each note stands in the chart, by its id."""
        return {origin.note_id: origin for origin in self.gold.origins}

    @cached_property
    def everyday_notes(self) -> tuple[Note, ...]:
        """Notes of the whole chart that are neither a real symptom nor a laboratory line."""
        kept = ("benign", "life", "look_alike", "distractor")
        return tuple(note for note in self.gold.chart.notes if (o := self.kinds.get(note.note_id)) is not None and o.kind in kept)

    @cached_property
    def real_days(self) -> frozenset[int]:
        """Days on which a real symptom is told, in the whole chart."""
        return frozenset(note.day for note in self.gold.chart.notes if (o := self.kinds.get(note.note_id)) is not None and o.kind == "real")

    @cached_property
    def shown_topics(self) -> Counter[str]:
        """How many of the events an agent sees at T are of each topic."""
        rows = (self.knowledge.events.get(o.row) for note in self.shown_notes if (o := self.kinds.get(note.note_id)) is not None)
        return Counter(row.topic for row in rows if row is not None)

    @cached_property
    def viewed_notes(self) -> dict[str, Note]:
        """The notes of the item's view by id, the first of each id."""
        return {note.note_id: note for note in reversed(self.item.record.notes)}

    def row(self, name: str) -> Analyte | Stream | None:
        """The knowledge row of a series, or None when there is none."""
        return self.knowledge.streams.get(name) or self.knowledge.analytes.get(name)


class Outcome(NamedTuple):
    """What a gate saw: how many things it looked at, and what was wrong. Nothing looked at is unmeasured, with the reason.

    `told` is what a reader is owed when something was looked at: sizes, p, power.
    """

    checked: int
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    told: str = ""
