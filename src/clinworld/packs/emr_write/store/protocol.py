"""What a record system offers an episode, whatever it runs on. SQLite is here; PostgreSQL and HTTP can be added behind the same shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from clinworld.core.errors import StoreError
from clinworld.packs.emr_write.actions import Action, Row

JournalChange = Literal["insert", "update", "delete"]


class OracleUnreadable(StoreError):
    """The record system could not be read, so nothing can be said about the write."""


@dataclass(frozen=True, slots=True)
class SeedRow:
    """A row that stands in the chart before the episode. `fields` holds policy fields and keys; the server's columns are added."""

    collection: str
    row_id: str
    fields: Row


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server said to one action: an HTTP status and the row it concerns. Evidence of nothing; the oracle never reads it."""

    status: int
    row_id: str | None = None
    said: str = ""

    @property
    def is_refused(self) -> bool:
        """True when the server did nothing."""
        return self.status >= 400


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: a row before and after one change, None where there is none."""

    seq: int
    collection: str
    row_id: str
    change: JournalChange
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Change:
    """A row that is not as it was before the episode: net, all columns, deleted rows still with their mark."""

    collection: str
    row_id: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the oracle found after an episode.

    `frame_faults` are signs of a change the journal does not explain, each a (label, values) pair. `near` are the live rows that
    existed before under the asked identities. `pending` counts writes not yet applied. `clock` is the system's declared instant.
    """

    changes: tuple[Change, ...]
    journal: tuple[Entry, ...]
    near: tuple[tuple[str, Row], ...]
    pending: int
    clock: str
    frame_faults: tuple[tuple[str, Mapping[str, Any]], ...] = ()


class Store(Protocol):
    """One record system. An episode is begin, any number of execute, drain, read, restore."""

    def begin(self, setup: Sequence[SeedRow] = (), *, now: str) -> None:
        """Put the task's own rows into the chart and mark it: what comes after is the episode. `now` is the system's instant."""

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Do the actions in order, each in its own transaction, or all in one."""

    def drain(self, *, most: int = 1000) -> int:
        """Apply waiting writes; how many still wait."""

    def read(self, near: Sequence[tuple[str, Row]] = (), *, is_full: bool = False) -> Reading:
        """Read over a connection that cannot write. `is_full` reads every row of every table. Raises OracleUnreadable."""

    def restore(self) -> None:
        """Put the chart back as `begin` left it; the next `begin` of another setup takes this one's rows out."""

    def close(self) -> None:
        """Let go of the system."""
