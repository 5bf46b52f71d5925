"""Replies from a recorded responses.jsonl: the same text again, labelled as a replay. It never asks anyone."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from clinworld.core.errors import ModelFailure, UsageError, allowed_values, nearest_match
from clinworld.core.store import read_rows
from clinworld.models.backend import Reply, Request
from clinworld.schema.cell import Response, response_from_row


@dataclass(frozen=True, slots=True)
class ReplayBackend:
    """Recorded replies by (item, turn, repeat, prompt digest). A prompt that was never recorded is a ModelFailure, not a guess."""

    name: str
    recorded: Mapping[tuple[str, int, int, str], Response]

    async def send(self, request: Request) -> Reply:
        """The recorded reply to this very prompt. `settings["repeat"]` says which repeat, 0 when it is not there."""
        digest = sha256(request.messages[-1].text.encode()).hexdigest()
        key = (request.item_id, request.turn, int(request.settings.get("repeat", 0)), digest)
        found = self.recorded.get(key)
        if found is None:
            where = f"replay {self.name}, item {request.item_id}, turn {request.turn}"
            raise ModelFailure(
                where, f"no recorded reply to prompt {digest[:16]}", do="Ask the agent itself, or replay a recording of this exam."
            )
        return Reply(found.reply, found.reasoning, found.usage, found.finish_reason)


def load_replay(path: Path, agent: str | None = None) -> ReplayBackend:
    """The recording in a responses.jsonl file; `agent` picks one of several.

    Raises UsageError when the file holds no such agent, or several and none is named.
    """
    rows = [response_from_row(row) for row in read_rows(path)]
    agents = sorted({row.cell.agent for row in rows})
    if agent is None and len(agents) == 1:
        agent = agents[0]
    if agent not in agents:
        found = f"no agent {agent!r}" if agent else f"{len(agents)} agents"
        do = f"Write replay:{path}#AGENT."
        raise UsageError(str(path), found, allowed_values(agents), nearest=nearest_match(agent or "", agents), do=do)
    recorded = {
        (row.cell.item_id, row.turn, row.cell.repeat, row.prompt_sha256): row for row in rows if row.cell.agent == agent and not row.failure
    }
    return ReplayBackend(f"replay:{agent}", recorded)
