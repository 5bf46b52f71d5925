"""A small real batch for the tests of reports, built and answered once; tests work on copies and rewrite its rows by hand."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from clinworld.cli.target import Setting, open_batch_target, open_job
from clinworld.core.store import read_rows, write_lines
from clinworld.core.text import Language
from clinworld.report.collect import ReportSource, collect_report
from clinworld.report.content import ReportContent
from clinworld.report.page import render_page
from clinworld.run.batch_files import EVAL, RESPONSES, Batch, with_canary
from clinworld.run.build import build_batch
from clinworld.run.run_batch import run_batch
from clinworld.schema.cell import Evaluation, Response, evaluation_from_row, evaluation_to_row, response_from_row, response_to_row

CONTROLS = tuple(f"control:{name}" for name in ("slope_rule", "noise_aware_reader", "humble", "gatetrip_hallucination", "oracle"))
AGENT = "my_agent:answer"


@lru_cache(maxsize=1)
def original() -> tuple[Setting, Path]:
    """The packaged example, built and answered by a few controls."""
    root = Path(mkdtemp(prefix="clinworld-report-"))
    setting, job = open_job("example-ew")
    built = build_batch(job, setting.pack, setting.knowledge, root)
    run_batch(built.batch, CONTROLS, setting.pack, setting.knowledge)
    return setting, built.folder


def copy_batch(place: Path) -> Batch:
    """A copy of the batch under `place`, which a test may change."""
    folder = place / "example-ew" / original()[1].name
    shutil.copytree(original()[1], folder)
    return Batch(folder)


def collect(*batches: Batch, language: Language | None = None, as_judged: str | None = None) -> ReportContent:
    """The report's content of these batches."""
    sources = []
    for batch in batches:
        setting, opened = open_batch_target(str(batch.folder))
        sources.append(ReportSource(opened, setting.pack, setting.knowledge))
    return collect_report(sources, language=language, as_judged=as_judged)


@lru_cache(maxsize=2)
def clean(language: Language) -> ReportContent:
    """The content of the batch as it was answered, which no test changes."""
    return collect(Batch(original()[1]), language=language)


@lru_cache(maxsize=2)
def clean_page(language: Language) -> str:
    """The page of the batch as it was answered."""
    return render_page(clean(language))


def page(*batches: Batch, language: Language = "en") -> str:
    """The page of these batches."""
    return render_page(collect(*batches, language=language))


def change_evaluations(batch: Batch, change: Callable[[Evaluation], Evaluation | None]) -> None:
    """Rewrite eval.jsonl; a row for which `change` gives None is left out."""
    changed = [change(evaluation_from_row(row)) for row in read_rows(batch.path(EVAL))]
    write_lines(batch.path(EVAL), [with_canary(evaluation_to_row(row)) for row in changed if row is not None])


def add_agent(batch: Batch, reply: str, *, name: str = AGENT, like: str = CONTROLS[1], **changes: Any) -> None:
    """Rows of an agent that replied `reply` and was judged as the control `like` was; `changes` go into its evaluations."""
    evaluations = [evaluation_from_row(row) for row in read_rows(batch.path(EVAL))]
    responses = [response_from_row(row) for row in read_rows(batch.path(RESPONSES))]
    judged: list[Evaluation] = [
        replace(row, cell=replace(row.cell, agent=name), source="agent", **changes) for row in evaluations if row.cell.agent == like
    ]
    said: list[Response] = [
        replace(row, cell=replace(row.cell, agent=name), source="agent", reply=reply) for row in responses if row.cell.agent == like
    ]
    write_lines(batch.path(EVAL), [with_canary(evaluation_to_row(row)) for row in [*evaluations, *judged]])
    write_lines(batch.path(RESPONSES), [with_canary(response_to_row(row)) for row in [*responses, *said]])
