"""The one thing an agent is to us: something that answers a request."""

from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `role` is system, user, assistant or tool."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `item_id` is opaque and `day` is the last day of the record shown; neither is part of the text."""

    item_id: str
    day: int
    turn: int
    language: str
    messages: tuple[Message, ...]
    max_output_tokens: int = 4096
    deadline_s: float = 120.0
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `usage` None: unknown, never 0. `finish_reason` stop | length | error."""

    text: str
    reasoning: str = ""
    usage: dict[str, int] | None = None
    finish_reason: str = "stop"


class Backend(Protocol):
    """An agent. `send` raises ModelFailure when the infrastructure, not the agent, is at fault."""

    @property
    def name(self) -> str:
        """What its rows are labelled with."""
        ...

    async def send(self, request: Request) -> Reply:
        """One reply to one request."""
        ...
