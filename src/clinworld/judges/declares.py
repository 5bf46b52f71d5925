"""What a judge and a gate say of themselves: what they read, which way is better, where they do not apply, and both controls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clinworld.judges.subject import Subject

Fields = dict[str, Any]
Control = Callable[[Subject, int], Fields]  # the answer's fields on one shown day

NO_SLICES = "slices are separate questions; no pack asks a forecast in slices"
ONE_ANSWER = "one answer is asked for; there is no later one to compare it with"


@dataclass(frozen=True, slots=True)
class Constant:
    """An answer that looks at nothing: what it always says, in words and in fields."""

    how: str
    answer: Control


@dataclass(frozen=True, slots=True)
class Declares:
    """A judge's declaration.

    `outputs` are the verdicts it gives; the first is named like the judge. `not_in` maps an episode to the reason why the judge is not
    mounted there. `passes` answers in a way that must earn full marks, `fails` in one that must earn nothing or less.
    `grows_with_output` names outputs which saying more alone improves. `constants` are the answers whose best is the floor, in the
    same order for every subject; subjects of equal `alike_by` earn the same with each.
    """

    reads: tuple[str, ...]
    outputs: tuple[str, ...]
    direction: Literal["higher", "lower", "none"]
    passes: Control
    fails: Control
    not_in: Mapping[str, str] = field(default_factory=lambda: {"slices": NO_SLICES})
    gold: tuple[str, ...] = ("forecast",)
    settings: tuple[str, ...] = ()
    grows_with_output: tuple[str, ...] = ()
    constants: Callable[[Subject], tuple[Constant, ...]] | None = None
    alike_by: Callable[[Subject], object] = id


@dataclass(frozen=True, slots=True)
class GateDeclares:
    """A gate's declaration: what it reads, when it cannot fire, an answer it must let pass and one it must stop."""

    reads: tuple[str, ...]
    needs: str  # the fact of the item without which it cannot fire, "" when it always can
    passes: Control
    fails: Control
    not_in: Mapping[str, str] = field(default_factory=dict)
    gold: tuple[str, ...] = ("forecast",)
