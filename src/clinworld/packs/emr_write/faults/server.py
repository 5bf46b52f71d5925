"""A record system that misbehaves: any `Store` behind one fault of its server, its network or its readers.

A fault replaces some steps of an episode. Several are nested, so each sees the others as its record system; the checker knows none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from clinworld.core.errors import UsageError
from clinworld.packs.emr_write.actions import Action, Row
from clinworld.packs.emr_write.store.protocol import Reading, Reply, SeedRow, Store


@runtime_checkable
class TamperedStore(Protocol):
    """A record system whose tables can be changed behind its API."""

    def tamper(self, sql: str, values: Sequence[Any] = (), *, is_recorded: bool = True) -> None:
        """Run SQL as the owner of the tables; unrecorded changes leave no journal line."""


@dataclass(frozen=True, slots=True)
class ServerFault:
    """What a fault does in place of a step; None leaves the step as it is.

    `begins` gives the instant the system believes in. `stores` is what the server makes of a write. `sends` delivers the actions.
    `settles` happens after the queue was drained. `reads` makes a reading of the right one, or raises.
    """

    begins: Callable[["FaultyStore", str], str] | None = None
    stores: Callable[[Action], Action] | None = None
    sends: Callable[["FaultyStore", Sequence[Action]], tuple[Reply, ...]] | None = None
    settles: Callable[["FaultyStore"], None] | None = None
    reads: Callable[["FaultyStore", Reading], Reading] | None = None


class FaultyStore:
    """A `Store` with one fault. `now` is the true instant of the episode, `held` are writes accepted and not done."""

    def __init__(self, inner: Store, fault: ServerFault) -> None:
        self.inner, self.fault = inner, fault
        self.now, self.held = "", list[Action]()

    def begin(self, setup: Sequence[SeedRow] = (), *, now: str) -> None:
        """As the inner system, at the instant the fault says."""
        self.now, self.held = now, []
        self.inner.begin(setup, now=self.fault.begins(self, now) if self.fault.begins else now)

    def execute(self, actions: Sequence[Action], *, is_atomic: bool = False) -> tuple[Reply, ...]:
        """Deliver the actions the way the fault does."""
        kept = tuple(self.fault.stores(action) for action in actions) if self.fault.stores else tuple(actions)
        return self.fault.sends(self, kept) if self.fault.sends else self.inner.execute(kept, is_atomic=is_atomic)

    def drain(self, *, most: int = 1000) -> int:
        """Drain the inner system, then what the fault does."""
        waiting = self.inner.drain(most=most)
        if self.fault.settles:
            self.fault.settles(self)
        return waiting + len(self.held)

    def read(self, near: Sequence[tuple[str, Row]] = (), *, is_full: bool = False) -> Reading:
        """The inner reading, or what the fault makes of it."""
        reading = self.inner.read(near, is_full=is_full)
        return self.fault.reads(self, reading) if self.fault.reads else reading

    def restore(self) -> None:
        """As the inner system; nothing of the fault is left."""
        self.held = []
        self.inner.restore()

    def close(self) -> None:
        """Close the inner system."""
        self.inner.close()

    def tamper(self, sql: str, values: Sequence[Any] = (), *, is_recorded: bool = True) -> None:
        """Change tables behind the API. Raises UsageError for a system that does not let anyone."""
        if not isinstance(self.inner, TamperedStore):
            raise UsageError("fault", type(self.inner).__name__, "a system with `tamper`", do="Leave out the faults behind the API.")
        self.inner.tamper(sql, values, is_recorded=is_recorded)


def wrap_store(inner: Store, faults: Sequence[ServerFault]) -> Store:
    """The system behind several faults, the first one outermost: what it does at the end of an episode happens last."""
    for fault in reversed(faults):
        inner = FaultyStore(inner, fault)
    return inner
