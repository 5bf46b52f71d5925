"""Real items for the tests of gates, built in memory from the packaged jobs, and ways to tamper with them."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.gates.case import CaseUnderCheck, Outcome, Prompt
from clinworld.gates.run_gates import find_gate
from clinworld.knowledge.load import Knowledge, load_knowledge
from clinworld.packs.load import LoadedPack, load_pack, pack_names
from clinworld.run.build import list_cases
from clinworld.run.build_case import BuiltCase, build_case, render_prompts
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Note, Record, Series
from clinworld.world.job_file import find_job, read_job

SINGLE, ROUNDS = "early_warning-20", "tracking_review-20"
FEW = 4  # cases in rounds have many prompts each


@lru_cache
def knowledge() -> Knowledge:
    return load_knowledge()


@lru_cache
def pack(name: str = "early_warning") -> LoadedPack:
    return load_pack(name)


@lru_cache
def built(job_name: str = SINGLE, most: int | None = None) -> tuple[BuiltCase, ...]:
    """Cases of a packaged job, the first `most` of them."""
    job = read_job(find_job(job_name), knowledge(), tasks=pack_names())
    return tuple(build_case(case, job, pack(job.task), knowledge(), Rng(job.seed)) for case in job.cases[:most])


def write_job(folder: Path, items: int, *, task: str = "early_warning", language: str = "en", seed: int = 11, name: str = "drawn") -> Path:
    path = folder / f"{name}.yaml"
    lines = (f"job_id: {name}", f"task: {task}", f"language: {language}", f"seed: {seed}", f"items: {items}", "mix: {outcome: balanced}")
    path.write_text("\n".join(lines) + "\n")
    return path


@lru_cache
def drawn(items: int, language: str = "en", task: str = "early_warning") -> tuple[BuiltCase, ...]:
    """Drawn cases, emitted or not."""
    with TemporaryDirectory() as folder:
        job = read_job(write_job(Path(folder), items, language=language, task=task), knowledge(), tasks=pack_names())
    cases = list_cases(job, pack(task), knowledge())
    return tuple(build_case(case, job, pack(task), knowledge(), Rng(job.seed)) for case in cases)


def pairs_of(cases: tuple[BuiltCase, ...]) -> list[tuple[Item, GoldRow]]:
    return [(case.item, case.gold) for case in cases if case.is_emitted and case.item and case.gold]


def under_check(case: BuiltCase) -> CaseUnderCheck:
    assert case.item is not None and case.gold is not None, case.reasons()
    loaded = pack(case.item.pack)
    return CaseUnderCheck(case.item, case.gold, knowledge(), loaded, render_prompts(case.item, loaded, knowledge())[0])


@lru_cache
def cases(job_name: str = SINGLE) -> tuple[CaseUnderCheck, ...]:
    return tuple(under_check(case) for case in built(job_name, FEW if job_name == ROUNDS else None))


def run(gate: str, case: CaseUnderCheck) -> Outcome:
    return find_gate("item", gate)(case)


def find_case(gate: str, wanted: Callable[[CaseUnderCheck], bool] = lambda case: True, *, job_name: str = SINGLE) -> CaseUnderCheck:
    """The first packaged case that the gate has something to look at in, and that is as wanted."""
    for case in cases(job_name):
        outcome = run(gate, case)
        if outcome.checked and not outcome.findings and wanted(case):
            return case
    raise AssertionError(f"no case of {job_name} passes {gate} with something to look at")


def with_gold(case: CaseUnderCheck, **changes: Any) -> CaseUnderCheck:
    return CaseUnderCheck(case.item, replace(case.gold, **changes), case.knowledge, case.reader, case.prompts)


def with_item(case: CaseUnderCheck, **changes: Any) -> CaseUnderCheck:
    return CaseUnderCheck(replace(case.item, **changes), case.gold, case.knowledge, case.reader, case.prompts)


def with_premise(case: CaseUnderCheck, **changes: Any) -> CaseUnderCheck:
    return with_gold(case, premise=replace(case.gold.premise, **changes))


def with_answer(case: CaseUnderCheck, **changes: Any) -> CaseUnderCheck:
    return with_gold(case, gold=replace(case.gold.gold, **changes))


def with_chart(case: CaseUnderCheck, **changes: Any) -> CaseUnderCheck:
    """The chart changed, and the view with it: what a generator with that fault would have made."""
    chart = replace(case.gold.chart, **changes)
    return with_item(with_gold(case, chart=chart), record=chart.until(case.item.record.last_day))


def with_series(case: CaseUnderCheck, *changed: Series) -> CaseUnderCheck:
    by_name = {series.name: series for series in changed}
    return with_chart(case, series=tuple(by_name.get(series.name, series) for series in case.gold.chart.series))


def without_series(case: CaseUnderCheck, names: set[str]) -> CaseUnderCheck:
    return with_chart(case, series=tuple(series for series in case.gold.chart.series if series.name not in names))


def series_of(case: CaseUnderCheck, name: str) -> Series:
    series = case.gold.chart.find(name)
    assert series is not None, f"no {name} is charted"
    return series


def change(series: Series, places: Any, ticks: Any) -> Series:
    """A series with some values replaced; `ticks` is a value, an array, or a function of the old ones."""
    new = series.ticks.copy()
    new[places] = ticks(new[places]) if callable(ticks) else ticks
    return replace(series, ticks=new)


def keep(series: Series, kept: Any) -> Series:
    return replace(series, days=series.days[kept], ticks=series.ticks[kept])


def with_notes(case: CaseUnderCheck, notes: tuple[Note, ...]) -> CaseUnderCheck:
    return with_chart(case, notes=tuple(sorted(notes, key=lambda note: (note.day, note.note_id))))


def is_kind(case: CaseUnderCheck, note: Note, *kinds: str) -> bool:
    return case.kinds[note.note_id].kind in kinds


def retell(case: CaseUnderCheck, kind: str, en: str, zh: str) -> CaseUnderCheck:
    """The first note of a kind told in other words."""
    chosen = next(note for note in case.gold.chart.notes if is_kind(case, note, kind))
    told = replace(chosen, text=Wording(en, zh))
    return with_notes(case, tuple(told if note is chosen else note for note in case.gold.chart.notes))


def move_notes(case: CaseUnderCheck, days: dict[str, int]) -> CaseUnderCheck:
    """Notes on other days, by id."""
    return with_notes(case, tuple(replace(note, day=days.get(note.note_id, note.day)) for note in case.gold.chart.notes))


def replace_text(case: CaseUnderCheck, edit: Callable[[str], str]) -> CaseUnderCheck:
    """The last prompt said differently."""
    *others, last = case.prompts
    return CaseUnderCheck(case.item, case.gold, case.knowledge, case.reader, (*others, Prompt(last.name, last.day, edit(last.text))))


def from_day(series: Series, day: int) -> Any:
    return np.flatnonzero(series.days >= day)


def with_record(pair: tuple[Item, GoldRow], record: Record) -> tuple[Item, GoldRow]:
    return replace(pair[0], record=record), pair[1]
