"""Runs the gates a pack names, on one item or on a batch. The folder is the registry: a gate's name is its file's name."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from clinworld.core.errors import PackError, allowed_values, nearest_match
from clinworld.gates.case import CaseUnderCheck, GoldReader, Outcome, Prompt
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import GateResult
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

__all__ = ["Prompt", "check_batch", "check_item", "gate_names"]


@lru_cache
def gate_names(level: str) -> tuple[str, ...]:
    """Names of all gates of a level, "item" or "batch"."""
    folder = Path(__file__).parent / level
    return tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"))


@lru_cache
def find_gate(level: str, name: str) -> Callable[[Any], Outcome]:
    """The `check` function of a gate; an unknown name is a PackError."""
    if name not in gate_names(level):
        raise PackError(
            f"{level} gates",
            f"no gate {name!r}",
            allowed_values(gate_names(level), most=30),
            nearest=nearest_match(name, gate_names(level)),
        )
    check: Callable[[Any], Outcome] = import_module(f"clinworld.gates.{level}.{name}").check
    return check


def check_item(
    item: Item, gold: GoldRow, knowledge: Knowledge, gates: Sequence[str], *, pack: GoldReader, prompts: Sequence[Prompt]
) -> tuple[GateResult, ...]:
    """The state of each named gate on one item."""
    case = CaseUnderCheck(item, gold, knowledge, pack, tuple(prompts))
    return tuple(read_outcome(name, find_gate("item", name)(case)) for name in gates)


def check_batch(pairs: Sequence[tuple[Item, GoldRow]], knowledge: Knowledge) -> tuple[GateResult, ...]:
    """The state of every batch gate on the emitted items of a batch."""
    return tuple(read_outcome(name, find_gate("batch", name)((pairs, knowledge))) for name in gate_names("batch"))


def read_outcome(name: str, outcome: Outcome) -> GateResult:
    """A gate's answer as a state."""
    state = "failed" if outcome.findings else ("passed" if outcome.checked else "unmeasured")
    reason = outcome.told if outcome.checked else outcome.reason
    return GateResult(name, state, outcome.findings, reason, outcome.checked)  # type: ignore[arg-type]  # one of the literals
