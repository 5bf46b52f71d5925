"""What a gate looks at, and how it answers. A gate reads; it never edits an item."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import ForecastGold, GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import ChartFault, NoteOrigin, Record


class Prompt(NamedTuple):
    """A text that would be delivered: its name (episode/probe set/turn), the last day it may show, and the text."""

    name: str
    day: int
    text: str


class GoldReader(Protocol):
    """The part of a pack that derives gold a second time, from charted facts."""

    @property
    def read_gold(self) -> Callable[[Record, Sequence[ChartFault], Sequence[NoteOrigin], int, Knowledge], ForecastGold]:
        """Gold as the charted facts have it."""
        ...

    @property
    def agrees(self) -> Callable[..., list[Finding]]:
        """What keeps the two derivations apart; empty when they agree."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CaseUnderCheck:
    """One item with its gold and every text it can cause."""

    item: Item
    gold: GoldRow
    knowledge: Knowledge
    reader: GoldReader
    prompts: tuple[Prompt, ...]

    def shown(self) -> Record:
        """The record an agent sees at T."""
        return self.item.record.until(self.item.index_day)


class Outcome(NamedTuple):
    """What a gate saw: how many things it looked at, and what was wrong. Nothing looked at is unmeasured, with the reason."""

    checked: int
    findings: tuple[Finding, ...] = ()
    reason: str = ""
