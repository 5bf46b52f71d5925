"""From what was written after --agent to agents that can be asked: offline controls of the pack, a user's function, a recording."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import orjson

from clinworld.access.delivered import Delivered, parse_delivered
from clinworld.access.replies import extract_json
from clinworld.core.errors import UsageError, allowed_values, nearest_match
from clinworld.core.text import Language
from clinworld.models.backend import Backend, Request
from clinworld.models.control import ControlBackend
from clinworld.models.function_agent import load_function_agent
from clinworld.models.replay import load_replay
from clinworld.packs.load import LoadedPack
from clinworld.schema.cell import ReplySource

CONTROL = "control:"
REPLAY = "replay:"

FromGold = Callable[..., Any]  # (item, gold row, day shown, last day of the episode) -> fields of an answer, or raw text


@dataclass(frozen=True, slots=True)
class Agent:
    """Something that answers. `backend` is None for a control that reads gold: `from_gold` answers for it when judging.

    `waits`: a call takes time, so that several are made at once.
    """

    name: str
    source: ReplySource
    backend: Backend | None
    waits: bool
    from_gold: FromGold | None = None


def resolve_agents(specs: Sequence[str], pack: LoadedPack, *, episode: str, offline: bool = False) -> tuple[Agent, ...]:
    """The agents meant, each once, in the order written; `offline` adds every control the episode can use.

    Raises UsageError for a form that is none of `control:NAME`, `module:function`, `replay:PATH`, and for a control there is not.
    """
    wanted = [*specs, *(CONTROL + name for name in usable_controls(pack, episode) if offline)]
    if not wanted:
        raise UsageError("--agent", "no agent", "name one with --agent, or ask the pack's controls with --offline")
    return tuple(resolve_agent(spec, pack, episode=episode) for spec in dict.fromkeys(wanted))


def usable_controls(pack: LoadedPack, episode: str) -> tuple[str, ...]:
    """Names of the controls an episode can use, in the pack's order."""
    return tuple(name for name, control in pack.controls.items() if episode in control.episodes)


def resolve_agent(spec: str, pack: LoadedPack, *, episode: str) -> Agent:
    """One agent from what was written after --agent."""
    if spec.startswith(CONTROL):
        return _control(spec.removeprefix(CONTROL), pack, episode)
    if spec.startswith(REPLAY):
        path, _, agent = spec.removeprefix(REPLAY).partition("#")
        backend = load_replay(Path(path), agent or None)
        return Agent(backend.name, "replay", backend, waits=False)
    if ":" not in spec:
        nearest = nearest_match(spec, usable_controls(pack, episode))
        allowed = "control:NAME, module:function or replay:PATH is expected"
        raise UsageError(f"--agent {spec}", "not an agent", allowed, nearest=f"{CONTROL}{nearest}" if nearest else None)
    return Agent(spec, "agent", load_function_agent(spec), waits=True)


def _control(name: str, pack: LoadedPack, episode: str) -> Agent:
    usable = usable_controls(pack, episode)
    if name not in usable:
        found = f"no control {name!r}" if name not in pack.controls else f"control {name!r} cannot answer the episode {episode!r}"
        allowed = allowed_values(usable, most=30)
        raise UsageError(f"--agent {CONTROL}{name}", f"{found} in pack {pack.pack.name}", allowed, nearest=nearest_match(name, usable))
    control = pack.controls[name]
    if control.reads_gold:
        return Agent(CONTROL + name, "oracle", None, waits=False, from_gold=control.function)
    return Agent(CONTROL + name, "control", ControlBackend(name, _reading(control.function)), waits=False)


def _reading(function: Callable[..., Any]) -> Callable[[Request], str]:
    """A control's function as an answer to a request: it gets what the prompt says, and nothing else."""

    def answer(request: Request) -> str:
        language = cast(Language, request.language)
        earlier = [extract_json(reply) or {} for reply in request.settings["earlier"]]
        return speak(function(_delivered(request.messages[-1].text, language), language, request.turn, earlier))

    return answer


@lru_cache(maxsize=4)
def _delivered(text: str, language: Language) -> Delivered:
    return parse_delivered(text, language)


def speak(answer: Any) -> str:
    """The reply a control gives: an answer's fields as JSON, or text as it is."""
    return answer if isinstance(answer, str) else orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()
