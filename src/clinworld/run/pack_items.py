"""Drawn items of a pack, built in memory, and what they show of it: leaks, both derivations of gold, languages, determinism."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.text import Language
from clinworld.knowledge.load import Knowledge
from clinworld.packs.load import LoadedPack
from clinworld.run.batch_files import digest_row
from clinworld.run.build_case import BuiltCase, build_case
from clinworld.run.verify import TEXT_GATES
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow, gold_to_row
from clinworld.schema.item import Item, item_to_row
from clinworld.schema.job import Case, Job
from clinworld.schema.record import Record, Series

SEED = "verify pack"
CADENCE_DAYS = 28
LEAST_EMITTED = 0.8
MOST_DISAGREEING = 0.1
REBUILT = 6
WEIGHTS = ("weight", "weight_clinic")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnItems:
    """Cases of a pack in one language, all of them and those emitted."""

    job: Job
    cases: tuple[Case, ...]
    built: tuple[BuiltCase, ...]

    @property
    def emitted(self) -> list[tuple[Item, GoldRow]]:
        """Items that passed their gates, with gold."""
        return [(case.item, case.gold) for case in self.built if case.is_emitted and case.item and case.gold]


def draw_items(pack: LoadedPack, knowledge: Knowledge, language: Language, n: int, *, first: int) -> DrawnItems:
    """The `first` cases of the pack's own fixed job of `n`, half of them events; the same cases in every language."""
    job = Job(
        job_id="verify-pack",
        task=pack.pack.name,
        language=language,
        seed=SEED,
        cases=(),
        episode=None,
        cadence_days=CADENCE_DAYS,
        findings=False,
        physio=True,
        items=n,
        mix=(("outcome", "balanced"),),
        without_effect=(),
        digest="",
        path="verify-pack",
    )
    cases = tuple(pack.draw_cases(job, knowledge, Rng(SEED)))[:first]
    rng = Rng(SEED)
    return DrawnItems(job, cases, tuple(build_case(case, job, pack, knowledge, rng) for case in cases))


def check_emitted(drawn: DrawnItems) -> Iterator[Finding]:
    """Text gates that failed, and too few items left."""
    failed: Counter[str] = Counter()
    first: dict[str, str] = {}
    for case in drawn.built:
        reasons = [(gate.gate, str(gate.findings[0])) for gate in case.gates if gate.findings]
        for name, reason in (*reasons, *((conflict.kind, str(conflict)) for conflict in case.conflicts)):
            failed[name] += 1
            first.setdefault(name, f"{case.case_id}: {reason}")
    n, language = len(drawn.built), drawn.job.language
    for name in (name for name in TEXT_GATES if failed[name]):
        yield Finding("leaks", f"{failed[name]} of {n} drawn items ({language})", first[name], "no delivered text leaks")
    share = len(drawn.emitted) / n
    if share < LEAST_EMITTED:
        why = "; ".join(f"{name} {times}: {first[name]}" for name, times in failed.most_common(3))
        yield Finding("items", f"drawn items ({language})", f"{share:.0%} emitted ({why})", f"at least {LEAST_EMITTED:.0%}")


def check_derivations(drawn: DrawnItems, pack: LoadedPack, knowledge: Knowledge) -> Iterator[Finding]:
    """Drawn items on which the two derivations of gold differ, and tampered charts on which they do not."""
    differs: list[str] = []
    blind: list[str] = []
    looked = [(case.item, case.gold) for case in drawn.built if case.item and case.gold]
    for _, gold in looked:
        found = _compare(gold, gold.chart, pack, knowledge)
        if found:
            differs.append(f"{gold.case_id}: {found[0]}")
        if gold.gold.event_occurs and not _compare(gold, without_regain(gold.chart), pack, knowledge):
            blind.append(gold.case_id)
    if len(differs) > MOST_DISAGREEING * len(looked):
        found_in = f"{len(differs)} of {len(looked)} differ ({differs[0]})"
        yield Finding("gold", "derivations of gold, drawn items", found_in, f"at most {MOST_DISAGREEING:.0%}")
    if blind:
        found_in = f"{len(blind)} charts without a rise still agree ({blind[0]})"
        yield Finding("gold", "derivations of gold, tampered charts", found_in, "a chart that implies another answer disagrees")


def _compare(gold: GoldRow, chart: Record, pack: LoadedPack, knowledge: Knowledge) -> list[Any]:
    read = pack.read_gold(chart, gold.faults, gold.origins, gold.premise.index_day, knowledge)
    found: list[Any] = pack.agrees(gold.gold, read)
    return found


def without_regain(chart: Record) -> Record:
    """A chart in which weight stays at its lowest value once that is reached."""

    def flatten(series: Series) -> Series:
        if series.name not in WEIGHTS:
            return series
        low = int(series.ticks.argmin())
        return replace(series, ticks=np.where(np.arange(len(series.ticks)) >= low, series.ticks[low], series.ticks))

    return replace(chart, series=tuple(map(flatten, chart.series)))


def check_rebuilt(drawn: DrawnItems, pack: LoadedPack, knowledge: Knowledge) -> Iterator[Finding]:
    """Items that come out otherwise when built again, alone and in another order."""
    rng = Rng(SEED)
    chosen = list(zip(drawn.cases, drawn.built, strict=True))[:REBUILT]
    for case, before in reversed(chosen):
        again = build_case(case, drawn.job, pack, knowledge, rng)
        if digest_case(again) != digest_case(before):
            yield Finding("determinism", case.case_id, "another item when built again", "the same case gives the same bytes")


def digest_case(case: BuiltCase) -> tuple[str, str, str]:
    """Digests of item, gold and prompts."""
    if case.item is None or case.gold is None:
        return "", "", str(case.conflicts)
    return digest_row(item_to_row(case.item)), digest_row(gold_to_row(case.gold)), str(sorted(case.prompt_digests.items()))


def check_languages(first: DrawnItems, other: DrawnItems) -> Iterator[Finding]:
    """Items that say something else in the other language: only wording may differ."""
    by_id = {case.case_id: case for case in first.built}
    for case in other.built:
        same = by_id[case.case_id]
        if case.item is None or same.item is None or case.gold is None or same.gold is None:
            continue
        one, two = (digest_row({**item_to_row(each), "language": ""}) for each in (case.item, same.item))
        if one != two or digest_row(gold_to_row(case.gold)) != digest_row(gold_to_row(same.gold)):
            found = f"differs between {first.job.language} and {other.job.language}"
            yield Finding("languages", f"item {case.item.item_id}", found, "gold, numbers, days and ids are equal")
            return


def halves(items: Sequence[tuple[Item, GoldRow]]) -> tuple[int, int]:
    """(events, others) among items."""
    events = sum(gold.gold.event_occurs for _, gold in items)
    return events, len(items) - events
