"""Names what was changed by hand in a row of items.jsonl or gold.jsonl: the place, the value found and the value built.

A row's digest says that it was changed, not where. The world is a pure function of its premise, so the rows are made again from the
premise on disk; where that gives the digests the batch was sealed with, every difference is an edit. Nothing is repaired.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from clinworld.core.errors import ClinworldError
from clinworld.core.rng import Rng
from clinworld.core.store import encode_row
from clinworld.gates.probes.question_side import draw_probes
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.batch_files import GOLD, digest_row
from clinworld.run.build_case import make_gold, make_item, parts_seen
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow, gold_to_row
from clinworld.schema.item import Item, item_to_row
from clinworld.schema.job import Job
from clinworld.world.build import build_world

CHECK = "value_as_built"
MOST_NAMED = 3
NAMES = ("name", "note_id", "kind", "about")  # keys by which an entry of a list is called

Rows = tuple[dict[str, Any], dict[str, Any]]


def name_edits(
    item: Item, gold: GoldRow, sealed: tuple[str, str], items_file: str, pack: LoadedPack, knowledge: Knowledge
) -> list[Finding]:
    """The edited places of one item's two rows; `sealed` are the digests both had when built.

    Where the premise itself was changed the rows cannot be made again, and the premise is named.
    """
    if (digest_row(item_to_row(item)), digest_row(gold_to_row(gold))) == sealed:
        return []
    found = _rows(item, gold)
    try:
        built = rebuild_rows(item, gold, pack, knowledge)
    except (ClinworldError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as problem:
        return [_premise(gold, f"no world can be made from it ({problem})")]
    findings: list[Finding] = []
    for name, row, wanted, digest in zip((items_file, GOLD), found, built, sealed, strict=True):
        if digest_row(wanted) != digest:
            return [_premise(gold, "the world made from it is not the one the batch was built with")]
        differs = list(compare_rows(row, wanted))
        for place, value, was in differs[:MOST_NAMED]:
            findings.append(Finding(CHECK, f"{name}, item {item.item_id}, {place}", _short(value), f"built {_short(was)}"))
        if len(differs) > MOST_NAMED:
            more = f"{len(differs) - MOST_NAMED} more values"
            findings.append(Finding(CHECK, f"{name}, item {item.item_id}", more, "all as built"))
    return findings


def _premise(gold: GoldRow, why: str) -> Finding:
    return Finding(CHECK, f"{GOLD}, item {gold.item_id}, premise", why, "the premise is as built")


def _rows(item: Item, gold: GoldRow) -> Rows:
    # Through the file format, so that arrays and tuples compare as the lists they are written as.
    return orjson.loads(encode_row(item_to_row(item))), orjson.loads(encode_row(gold_to_row(gold)))


def rebuild_rows(item: Item, gold: GoldRow, pack: LoadedPack, knowledge: Knowledge) -> Rows:
    """Both rows as the premise makes them; language, rhythm and episode are the item's own."""
    premise, rng = gold.premise, Rng(gold.premise.seed)
    job = Job(
        job_id="",
        task=item.pack,
        language=item.language,
        seed=premise.seed,
        cases=(),
        episode=item.episodes[0],
        cadence_days=item.cadence_days,
        findings=premise.has_findings,
        physio=premise.has_physiology,
        items=None,
        mix=(),
        without_effect=(),
        digest="",
        path="",
    )
    course, chart = build_world(premise, knowledge, rng, parts_seen(pack))
    built = make_item(premise, chart, job, pack, rng)
    probes, answers = draw_probes(built.record.until(premise.index_day), premise.index_day, knowledge, rng, premise.case_id)
    answer = replace(make_gold(built.item_id, premise, course, chart, pack, knowledge), probes=answers)
    return _rows(replace(built, probes=probes), answer)


def compare_rows(found: Any, built: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(place, value found, value built) of every difference between two JSON values."""
    if isinstance(found, dict) and isinstance(built, dict):
        for key in {**built, **found}:
            yield from compare_rows(found.get(key), built.get(key), f"{place}.{key}" if place else key)
    elif isinstance(found, list) and isinstance(built, list) and len(found) == len(built):
        for i, (one, other) in enumerate(zip(found, built, strict=True)):
            if one != other:
                yield from compare_rows(one, other, f"{place}[{_call(other, i)}]")
    elif found != built:
        yield place, found, built


def _call(entry: Any, i: int) -> str:
    if not isinstance(entry, dict):
        return str(i)
    return next((str(entry[key]) for key in NAMES if isinstance(entry.get(key), str)), str(i))


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "…"
