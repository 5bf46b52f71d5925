"""One patient at three difficulties: nothing in the way, as it was asked, and everything its devices allow. The truth stays the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from clinworld.core.errors import PremiseConflict
from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.report.content import Setting, Settings
from clinworld.report.timelines import Drawn, draw_timeline, find_bounds
from clinworld.report.wording import say
from clinworld.schema.course import Course
from clinworld.schema.gold import GoldRow, TurningPoint
from clinworld.schema.item import Item
from clinworld.schema.premise import PlannedArtifact, Premise
from clinworld.schema.record import PARTS, Chart, Record
from clinworld.world.artifact_sizes import draw_artifact
from clinworld.world.build import build_world
from clinworld.world.conflicts_course import check_noise
from clinworld.world.notes import count_distractors, count_events

MOST_TRIES = 4
SLOTS = 7  # the faults of the hard setting stand in the first six sevenths of the time before T
RATE_STEP = 0.05
PRIVATE = "sha256:"  # how the premise writes a seed that may not be stored


@dataclass(frozen=True, slots=True, eq=False)
class _World:
    name: str
    course: Course
    chart: Chart


def draw_settings(pairs: Sequence[tuple[Item, GoldRow]], knowledge: Knowledge, language: Language) -> Settings:
    """The three pictures of the first item they can be made for, on one scale; without one, the reason.

    A private seed is not known here: then all three are drawn from its digest and `reason` says so.
    """
    reason = say("settings:no_item", language)
    for item, gold in sorted(pairs, key=lambda pair: _worth(pair[1], knowledge))[:MOST_TRIES]:
        try:
            worlds = _build_worlds(gold.premise, knowledge, list_parts(gold.chart))
        except PremiseConflict as conflict:
            reason = f"{gold.case_id}: {conflict}"
            continue
        return _draw(worlds, item, gold, knowledge, language)
    return Settings("", "", (), False, reason)


def _worth(gold: GoldRow, knowledge: Knowledge) -> tuple[bool, int, bool, str]:
    """Patients with something in the way come first, then those whose devices allow most, of these one whose weight turns."""
    is_plain = not gold.premise.artifacts and gold.premise.distractor_level == "none"
    return is_plain, -len(_allowed(gold.premise, knowledge)), not gold.gold.event_occurs, gold.case_id


def list_parts(chart: Record) -> frozenset[str]:
    """The parts on request that a chart was made with. One that nothing came of is missed, and then changes nothing."""
    charted = {
        "history": chart.history is not None,
        "specimens": bool(chart.specimens),
        "findings": bool(chart.findings),
        "dispensing": bool(chart.dispensing),
    }
    return frozenset(part for part in PARTS if charted[part])


def _build_worlds(premise: Premise, knowledge: Knowledge, parts: frozenset[str]) -> tuple[_World, ...]:
    rng = Rng(premise.seed)
    quiet = replace(premise, artifacts=(), distractor_level="none")
    built = [("quiet", quiet), ("as_asked", premise), ("hard", make_hard(premise, knowledge))]
    return tuple(_World(name, *build_world(each, knowledge, rng, parts)) for name, each in built)


def make_hard(premise: Premise, knowledge: Knowledge) -> Premise:
    """The premise with every class of fault its devices allow before T, and a high distractor level with the events to carry it."""
    artifacts = _allowed(premise, knowledge)
    loud = replace(premise, artifacts=artifacts, distractor_level="high")
    for step in count():
        rate = round(premise.density.symptom_rate + step * RATE_STEP, 6)
        raised = replace(loud, density=replace(premise.density, symptom_rate=rate))
        if count_events(rate, premise.index_day) >= count_distractors(raised, knowledge):
            return raised
    raise AssertionError("a rising rate carries any number of events")


def _allowed(premise: Premise, knowledge: Knowledge) -> tuple[PlannedArtifact, ...]:
    """One fault of each class that this patient's measurements can show, spread over the time before T in the table's order."""
    planned, rng = [], Rng(premise.seed)
    slot = max(1, premise.index_day // SLOTS)
    for place, row in enumerate(knowledge.artifacts.values()):
        first = slot * (place + 1) - slot // 2
        lasts = row.id == "device_switch"
        first, last = (premise.index_day - slot, premise.course_end_day) if lasts else (first, first + max(1, slot - 2))
        fault = draw_artifact(row.id, first, last, premise, knowledge, rng)  # type: ignore[arg-type]  # rows are exactly the classes
        if not list(check_noise(replace(premise, artifacts=(fault,)), knowledge)):
            planned.append(fault)
    return tuple(sorted(planned, key=lambda each: (each.first_day, each.kind)))


def _draw(worlds: Sequence[_World], item: Item, gold: GoldRow, knowledge: Knowledge, language: Language) -> Settings:
    drawn = [_drawn(world, item, gold) for world in worlds]
    bounds = find_bounds(drawn)
    settings = []
    for world, each in zip(worlds, drawn, strict=True):
        title = say("settings:title", language, case=gold.case_id, setting=say(f"setting:{world.name}", language))
        record = world.chart.record
        settings.append(
            Setting(
                name=world.name,
                timeline=draw_timeline(each, knowledge, language, title=title, bounds=bounds),
                faults=sum(fault.kind in knowledge.artifacts for fault in world.chart.faults),
                events=sum(note.day <= item.index_day for note in record.notes),
                series=len(record.series),
            )
        )
    same = all(np.array_equal(world.course.weight_kg, worlds[0].course.weight_kg) for world in worlds)
    note = say("settings:private", language) if gold.premise.seed.startswith(PRIVATE) else ""
    return Settings(gold.case_id, item.item_id, tuple(settings), same, note)


def _drawn(world: _World, item: Item, gold: GoldRow) -> Drawn:
    turns: tuple[TurningPoint, ...] = tuple(point for point in gold.gold.turning_points if point.kind == "real")
    return Drawn(
        truth_kg=world.course.weight_kg,
        chart=world.chart.record,
        faults=world.chart.faults,
        origins=world.chart.origins,
        turning_points=turns,
        index_day=item.index_day,
        driver=gold.premise.driver,
        does_turn=gold.gold.event_occurs,
    )
