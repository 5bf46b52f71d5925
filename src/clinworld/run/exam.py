"""What every cell of a run shares: pack, episode, probe set and stamps; and the prompts they make, checked before anyone sees them."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from clinworld.access.episodes import PROBE_SETS, Turn, next_turn
from clinworld.access.leaks import check_delivery
from clinworld.core.errors import StampMismatch, UsageError, allowed_values, nearest_match
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.schema.finding import Finding
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind

_KEPT_OPENINGS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Exam:
    """The convention of a run. `stamps` is the row of `provenance.stamps` for the pack, with the batch's own world stamp.

    `built_prompts` are the digests of opening prompts by item as the batch recorded them; empty when it was built under another exam
    stamp, so that they cannot be compared. `drift` says what else differs from the build, "" when nothing does.
    """

    pack: LoadedPack
    knowledge: Knowledge
    episode: EpisodeKind
    probe_set: str
    stamps: Mapping[str, str]
    built_prompts: Mapping[str, str] = field(default_factory=dict)
    drift: str = ""
    deadline_s: float = 120.0

    @property
    def stamp(self) -> str:
        """The exam stamp."""
        return self.stamps["exam"]


class Shown(NamedTuple):
    """A turn as it would be delivered: its prompt's sha256, and what the leak guard found in it."""

    turn: Turn
    digest: str
    findings: tuple[Finding, ...]


class Prompts:
    """Turns of an exam. Opening turns are the same for every agent and are kept, the latest few hundred of them."""

    def __init__(self, exam: Exam) -> None:
        self._exam = exam
        self._openings: OrderedDict[str, Shown | None] = OrderedDict()

    def next(self, item: Item, replies: Sequence[str]) -> Shown | None:
        """The turn after these replies, or None when the episode is over.

        Raises StampMismatch when an opening prompt is not the one the batch recorded under the same exam stamp.
        """
        if replies:
            return self._render(item, replies)
        if item.item_id not in self._openings:
            shown = self._render(item, ())
            self._check_built(item, shown)
            self._openings[item.item_id] = shown
            if len(self._openings) > _KEPT_OPENINGS:
                self._openings.popitem(last=False)
        return self._openings[item.item_id]

    def _render(self, item: Item, replies: Sequence[str]) -> Shown | None:
        exam = self._exam
        turn = next_turn(item, exam.pack.pack, exam.knowledge, exam.episode, exam.probe_set, replies)
        if turn is None:
            return None
        findings = tuple(check_delivery(turn.prompt, item=item, day=turn.day))
        return Shown(turn, sha256(turn.prompt.encode()).hexdigest(), findings)

    def _check_built(self, item: Item, shown: Shown | None) -> None:
        built = self._exam.built_prompts.get(item.item_id)
        if shown is None or built is None or shown.digest.startswith(built):
            return
        changed = f" ({self._exam.drift})" if self._exam.drift else ""
        raise StampMismatch(
            f"item {item.item_id}, {self._exam.episode}/{self._exam.probe_set}",
            f"its prompt is {shown.digest[:16]}, the batch was built with {built}{changed}",
            "a batch is asked with the prompts it was built with",
            do="Nothing was asked. Build the batch again.",
            kind="prompt_drift",
        )


def choose_probe_set(name: str) -> str:
    """A probe set, or a UsageError naming them."""
    if name not in PROBE_SETS:
        raise UsageError("--probes", f"{name!r}", allowed_values(PROBE_SETS), nearest=nearest_match(name, PROBE_SETS))
    return name


def choose_episode(name: str | None, pack: LoadedPack, items: Sequence[Item]) -> EpisodeKind:
    """The episode asked for, or the items' own (the first they carry). One the pack does not declare is a UsageError."""
    declared = pack.pack.episodes
    if name is None:
        return items[0].episodes[0] if items else declared[0]
    for episode in declared:
        if episode == name:
            return episode
    raise UsageError("--episode", f"{name!r}", f"{allowed_values(declared)} (pack {pack.pack.name})", nearest=nearest_match(name, declared))
