"""What a judge looks at: one item, its gold, and what one agent answered on it. A judge reads nothing else."""

from dataclasses import dataclass

from clinworld.judges.delivered_ids import DeliveredIds
from clinworld.knowledge.load import Knowledge
from clinworld.schema.answer import Answer, RoundAnswer
from clinworld.schema.gold import ForecastGold, GoldRow
from clinworld.schema.item import Item
from clinworld.schema.job import EpisodeKind
from clinworld.schema.verdict import Verdict, scored


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One cell, as judges see it.

    `answers` holds one entry a turn that was asked, ascending days, unanswered ones included; at least one. `probe_set` is the
    cell's: with "none" no question was appended.
    """

    item: Item
    gold: GoldRow
    answers: tuple[RoundAnswer, ...]
    delivered: DeliveredIds
    episode: EpisodeKind
    probe_set: str
    knowledge: Knowledge

    @property
    def last(self) -> RoundAnswer:
        """The answer on the longest record shown."""
        return self.answers[-1]

    @property
    def answered(self) -> tuple[RoundAnswer, ...]:
        """The turns that have a usable answer."""
        return tuple(each for each in self.answers if each.answer.unanswered is None)

    def parameter(self, name: str) -> float:
        """A judge's number, `judges_` left off."""
        return self.knowledge.parameter(f"judges_{name}")


def gold_kind(gold: GoldRow) -> str:
    """What kind of right answer an item carries; judges attach by it."""
    return {ForecastGold: "forecast"}[type(gold.gold)]


def read_strata(subject: Subject) -> dict[str, str]:
    """What a dimension may be averaged within: facts of the gold, the same for every agent."""
    gold = subject.gold.gold
    strata = {
        "outcome": "event" if gold.event_occurs else "no_event",
        "review": "warranted" if gold.is_action_warranted else "not_warranted",
    }
    if subject.probe_set != "none":
        strata |= {probe.kind: probe.variant for probe in subject.gold.probes}
    return strata


def no_answer(name: str, answer: Answer) -> Verdict:
    """The verdict on silence where an answer was due: nothing earned, and the cause kept."""
    return scored(name, 0.0, no_answer=answer.unanswered)
