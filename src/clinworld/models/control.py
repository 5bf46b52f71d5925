"""A control as a backend: a function of the request, answered at once. Ships beside the real backends; tests need no mock."""

from collections.abc import Callable
from dataclasses import dataclass

from clinworld.models.backend import Reply, Request


@dataclass(frozen=True, slots=True)
class ControlBackend:
    """Answers with what a function says. It never waits, so a run of controls needs no event loop; its usage is unknown."""

    name: str
    answer: Callable[[Request], str]

    async def send(self, request: Request) -> Reply:
        """The function's text as a reply."""
        return Reply(self.answer(request))
