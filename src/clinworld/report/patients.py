"""The patients of a report: a full picture and the facts behind it for the first few, a small picture for the rest."""

from collections.abc import Sequence

from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.report.content import PatientPart
from clinworld.report.timelines import draw_compact, draw_timeline, drawn_from_gold
from clinworld.report.wording import say, say_fault, say_name
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

MOST_PICTURES = 6


def tell_patients(pairs: Sequence[tuple[Item, GoldRow]], knowledge: Knowledge, language: Language) -> tuple[PatientPart, ...]:
    """Every item that has gold, in batch order; only the first few carry a full timeline."""
    return tuple(_patient(item, gold, knowledge, language, is_full=n < MOST_PICTURES) for n, (item, gold) in enumerate(pairs))


def _patient(item: Item, gold: GoldRow, knowledge: Knowledge, language: Language, *, is_full: bool) -> PatientPart:
    title = say("patient:title", language, case=gold.case_id)
    return PatientPart(
        item_id=item.item_id,
        case_id=gold.case_id,
        facts=_facts(item, gold, knowledge, language),
        timeline=draw_timeline(drawn_from_gold(item, gold), knowledge, language, title=title) if is_full else None,
        compact=draw_compact(gold, item.index_day, title=title),
    )


def _facts(item: Item, gold: GoldRow, knowledge: Knowledge, language: Language) -> tuple[tuple[str, str], ...]:
    premise, patient = gold.premise, gold.premise.patient
    joiner = say("joiner", language)
    conditions = joiner.join(say_name(knowledge, "conditions", name, language) for name in (patient.disease, *patient.comorbidities))
    sex = say(f"sex:{patient.sex}", language)
    who = say("patient:who", language, low=patient.age_low, high=patient.age_high, sex=sex, conditions=conditions)
    outcome = say("patient:event" if gold.gold.event_occurs else "patient:no_event", language, **_event(item, knowledge, language))
    facts = [
        ("who", who),
        ("drug", say_name(knowledge, "drugs", premise.drug, language)),
        ("asked", say("patient:asked", language, day=item.index_day, end=item.index_day + item.window_days)),
        ("outcome", outcome),
    ]
    if gold.gold.event_occurs:
        facts.append(("driver", say_name(knowledge, "drivers", premise.driver, language)))
    facts += [("turn", say("patient:turn", language, day=day)) for day in _days(gold, "real")]
    for name, counted in _count_faults(gold, knowledge).items():
        said = (say("fault_days", language, name=say_fault(knowledge, kind, language), count=count) for kind, count in counted.items())
        facts.append((name, joiner.join(said)))
    return tuple((say(f"fact:{name}", language), value) for name, value in facts)


def _count_faults(gold: GoldRow, knowledge: Knowledge) -> dict[str, dict[str, int]]:
    """Faults of home readings, then of the laboratory: days each kind touched; neither where it has none."""
    found: dict[str, dict[str, set[int]]] = {"faults": {}, "lab_faults": {}}
    for fault in gold.faults:
        place = found["lab_faults" if fault.kind in knowledge.factors else "faults"]
        place.setdefault(fault.kind, set()).update(fault.days)
    return {name: {kind: len(days) for kind, days in kinds.items()} for name, kinds in found.items() if kinds}


def _event(item: Item, knowledge: Knowledge, language: Language) -> dict[str, str]:
    return {"event": knowledge.outcomes[item.target_event].names.say(language)}


def _days(gold: GoldRow, kind: str) -> list[int]:
    return [point.day for point in gold.gold.turning_points if point.kind == kind]
