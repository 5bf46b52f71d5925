"""One case of a job becomes an item with its gold, or a refusal with its reasons. Pure; writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clinworld.access.episodes import Turn, next_turn
from clinworld.access.view import shown_days
from clinworld.core.digest import digest_bytes, digest_value
from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.units import to_ticks
from clinworld.gates.probes.question_side import draw_probes
from clinworld.gates.run_gates import Prompt, check_item
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.schema.course import Course
from clinworld.schema.finding import GateResult
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.job import Case, EpisodeKind, Job
from clinworld.schema.premise import Conflict, Premise
from clinworld.schema.record import PARTS, Chart
from clinworld.world.build import build_world
from clinworld.world.premise import check_premise, derive_premise

WEIGHT_DECIMALS = 2


@dataclass(frozen=True, slots=True)
class BuiltCase:
    """What became of one case. `item` and `gold` are None when it was refused before there was anything to look at."""

    case_id: str
    item: Item | None
    gold: GoldRow | None
    conflicts: tuple[Conflict, ...]
    gates: tuple[GateResult, ...]
    prompt_digests: dict[str, str]
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def is_emitted(self) -> bool:
        """True when the premise, every gate and the leak scan passed."""
        return self.item is not None and not self.conflicts and all(gate.state != "failed" for gate in self.gates)

    def reasons(self) -> list[str]:
        """Why the case was refused, one line each; empty when it was emitted."""
        return [str(conflict) for conflict in self.conflicts] + [str(finding) for gate in self.gates for finding in gate.findings]

    def kinds(self) -> list[str]:
        """The names of what refused the case, in order, each once."""
        names = [conflict.kind for conflict in self.conflicts] + [gate.gate for gate in self.gates if gate.state == "failed"]
        return list(dict.fromkeys(names))


def choose_episode(job: Job, pack: LoadedPack) -> EpisodeKind:
    """The episode a job asks for, or the pack's first."""
    return job.episode or pack.pack.episodes[0]


def build_case(case: Case, job: Job, pack: LoadedPack, knowledge: Knowledge, rng: Rng) -> BuiltCase:
    """One case, built and gated. The same bytes whatever else the job holds."""
    premise = derive_premise(case, job, knowledge, rng)
    notes: dict[str, Any] = {"withheld_contexts": premise.withheld_contexts}
    conflicts = check_premise(premise, case, knowledge)
    if conflicts:
        return BuiltCase(case.case_id, None, None, tuple(conflicts), (), {}, notes)
    try:
        course, chart = build_world(premise, knowledge, rng, parts_seen(pack))
    except PremiseConflict as refused:
        conflict = Conflict(refused.kind, refused.where, refused.found, refused.allowed, refused.do)
        return BuiltCase(case.case_id, None, None, (conflict,), (), {}, notes)
    notes["weight_course"] = dict(course.shape_notes)
    item = make_item(premise, chart, job, pack, rng)
    probes, probe_golds = draw_probes(item.record.until(premise.index_day), premise.index_day, knowledge, rng, case.case_id)
    item = replace(item, probes=probes)
    gold = make_gold(item.item_id, premise, course, chart, pack, knowledge)
    gold = replace(gold, probes=probe_golds)
    prompts, digests = render_prompts(item, pack, knowledge)
    gates = check_item(item, gold, knowledge, pack.pack.gates, pack=pack, prompts=prompts)
    return BuiltCase(case.case_id, item, gold, (), gates, digests, notes)


def parts_seen(pack: LoadedPack) -> frozenset[str]:
    """The parts of a record that are made on request and that the pack shows."""
    return frozenset(PARTS) & frozenset(pack.pack.sees)


def make_item(premise: Premise, chart: Chart, job: Job, pack: LoadedPack, rng: Rng) -> Item:
    """The question asked of a chart, without its appended probes."""
    episode = choose_episode(job, pack)
    window = premise.course_end_day - premise.index_day
    episodes: tuple[EpisodeKind, ...] = (episode,) if episode == "single" or "single" not in pack.pack.episodes else (episode, "single")
    remarks = ("symptoms_as_written",) if any(note.is_as_written for note in chart.record.notes) else ()
    item = Item(
        item_id=f"{int(rng.at(premise.case_id, 'item_id').words(1)[0]):016x}"[:12],
        pack=pack.pack.name,
        pack_version=pack.pack.version,
        language=job.language,
        episodes=episodes,
        index_day=premise.index_day,
        window_days=window,
        cadence_days=job.cadence_days,
        target_event=premise.target_event,
        record=chart.record,
        probes=(),
        rows_used=chart.rows_used,
        remarks=remarks,
    )
    return replace(item, record=chart.record.until(shown_days(item, episode)[-1]))


def make_gold(item_id: str, premise: Premise, course: Course, chart: Chart, pack: LoadedPack, knowledge: Knowledge) -> GoldRow:
    """The gold row of an item, from the premise; the probes' answers are added by the caller."""
    ticks = tuple(to_ticks(course.weight_kg, WEIGHT_DECIMALS).tolist())
    truth = {"weight": ticks, "dose": course.dose_changes, "outcome": premise.outcome, "driver": premise.driver}
    return GoldRow(
        item_id=item_id,
        case_id=premise.case_id,
        gold=pack.derive_gold(premise, knowledge),
        probes=(),
        premise=premise,
        chart=chart.record,
        origins=chart.origins,
        faults=chart.faults,
        acted=chart.acted,
        truth_weight_ticks=ticks,
        truth_digest=digest_value(truth),
    )


def render_prompts(item: Item, pack: LoadedPack, knowledge: Knowledge) -> tuple[tuple[Prompt, ...], dict[str, str]]:
    """Every prompt the item can cause before any reply, and the digest of each opening prompt.

    Later rounds are rendered as they are when the earlier replies were unusable. A prompt that only begins another is left out.
    """
    prompts: list[Prompt] = []
    digests: dict[str, str] = {}
    for episode in item.episodes:
        for probe_set in ("none", "all"):
            opening = _turn(item, pack, knowledge, episode, probe_set, ())
            digests[f"{episode}/{probe_set}"] = digest_bytes(opening.prompt.encode())
            if prompts and opening.prompt.startswith(prompts[-1].text):
                prompts.pop()
            prompts.append(Prompt(f"{episode}/{probe_set}/{opening.turn}", opening.day, opening.prompt))
        replies: list[str] = [""]
        while episode != "single" and (turn := next_turn(item, pack.pack, knowledge, episode, "all", replies)) is not None:
            prompts.append(Prompt(f"{episode}/all/{turn.turn}", turn.day, turn.prompt))
            replies.append("")
    return tuple(prompts), digests


def _turn(item: Item, pack: LoadedPack, knowledge: Knowledge, episode: str, probe_set: str, replies: Sequence[str]) -> Turn:
    turn = next_turn(item, pack.pack, knowledge, episode, probe_set, replies)
    assert turn is not None, "an episode has at least one turn"
    return turn
