"""`clinworld report`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clinworld.cli.console import Console
from clinworld.cli.target import OutFolder, Setting, check_language, choose_batch, is_batch, open_batch_target, open_job
from clinworld.core.errors import UsageError
from clinworld.core.printing import show_line
from clinworld.report.collect import ReportSource, collect_report
from clinworld.report.content import ReportContent, ReportPart
from clinworld.report.plots import list_lines
from clinworld.report.write import write_report
from clinworld.run.batch_files import Batch
from clinworld.scores.table import as_row

DEFAULT_OUT = Path("artifacts")
FOLDER = "report"
INCOMPLETE = 6
MOST_OPEN, MOST_LINES = 8, 24


def report(
    *targets: str,
    out: OutFolder | None = None,
    batch: str | None = None,
    as_judged: str | None = None,
    language: str | None = None,
    pack: tuple[Path, ...] = (),
    knowledge: Path | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Make the page, Markdown and tables of one or more batches from saved verdicts.

    Nothing is asked or judged again. Rows that stand under different stamps are refused (exit code 5) with how many stand under which;
    a batch refused by its own gates is exit code 4; cells that are open or not judged are exit code 6, with a page that says so.

    Parameters
    ----------
    targets
        Job files or packaged names (their newest batch), or batch folders; several are reported together.
    out
        With a job: the folder batches are under, artifacts when left out; the report goes into the batch. With batch folders: where
        the report goes, instead of into the batch. Several together go to OUT/report.
    batch
        The time stamp of the job's batch to report, instead of the newest.
    as_judged
        Read older verdicts that stand under this stamp (or its first characters), kept eval files included.
    language
        en or zh for the page, instead of the batch's own.
    pack
        A pack folder from outside the package; may be given several times.
    knowledge
        A folder of further knowledge rows.
    json
        One JSON document on standard output, nothing else.
    quiet
        Only the last line, and errors.
    """
    console = Console(as_json=json, quiet=quiet)
    if not targets:
        raise UsageError("report", "no target", "name a job or one or more batch folders")
    chosen = check_language(language) if language is not None else None
    sources = [_open(target, out or DEFAULT_OUT, batch, pack, knowledge) for target in dict.fromkeys(targets)]
    content = add_unasked(collect_report(sources, as_judged=as_judged, language=chosen), sources)
    page = write_report(content, choose_folder(targets, sources, out))
    _say(content, console)
    cells = sum(len(part.evaluations) for part in content.parts)
    console.finish(f"Reported {cells} cells of {len(sources)} batch{'es' if len(sources) > 1 else ''}: {page}", _document(content, page))
    return INCOMPLETE if content.incomplete else 0


def run_report(batches: Sequence[Batch], setting: Setting, console: Console, *, language: str | None = None) -> Path:
    """Report batches that are open already, into the first one's folder; the page's path."""
    sources = [source_of(setting, batch) for batch in batches]
    chosen = check_language(language) if language is not None else None
    content = add_unasked(collect_report(sources, language=chosen), sources)
    _say(content, console)
    return write_report(content, batches[0].folder / FOLDER)


def add_unasked(content: ReportContent, sources: Sequence[ReportSource]) -> ReportContent:
    """The report, with each item named that no agent of a board was run on: after `--limit` a sample never looks like the whole exam."""
    lines: list[str] = []
    for part in content.parts:
        items = [item for source in sources if source.pack.pack.name == part.pack.name for item in source.batch.items()]
        agents: dict[tuple[str, str], dict[str, None]] = {}
        asked: dict[tuple[str, str], set[str]] = {}
        for row in part.evaluations:
            board = (row.cell.episode, row.cell.probe_set)
            agents.setdefault(board, {})[row.cell.agent] = None
            asked.setdefault(board, set()).add(row.cell.item_id)
        lines += [
            f"{part.pack.name}: item {item.item_id}: {agent} was not run on it"
            for board, names in agents.items()
            for item in items
            if board[0] in item.episodes and item.item_id not in asked[board]
            for agent in names
        ]
    return replace(content, incomplete=(*content.incomplete, *lines))


def _say(content: ReportContent, console: Console) -> None:
    for part in content.parts:
        console.table(_board_lines(part), most=MOST_LINES)
    for line in content.incomplete[:MOST_OPEN]:
        console.say(f"  open: {show_line(line)}")
    if len(content.incomplete) > MOST_OPEN:
        console.say(f"  and {len(content.incomplete) - MOST_OPEN} more, on the page")


def source_of(setting: Setting, batch: Batch) -> ReportSource:
    """A batch with its setting, as a report reads it."""
    return ReportSource(batch, setting.pack, setting.knowledge)


def choose_folder(targets: Sequence[str], sources: Sequence[ReportSource], out: Path | None) -> Path:
    """Where the report goes."""
    if len(sources) > 1:
        return (out or DEFAULT_OUT) / FOLDER if any(not is_batch(target) for target in targets) or out is None else out
    return out if out is not None and is_batch(targets[0]) else sources[0].batch.folder / FOLDER


def _open(target: str, out: Path, stamp: str | None, packs: tuple[Path, ...], knowledge: Path | None) -> ReportSource:
    if is_batch(target):
        return source_of(*open_batch_target(target, packs=packs, knowledge_dir=knowledge))
    setting, job = open_job(target, packs=packs, knowledge_dir=knowledge)
    found = choose_batch(setting, job, out, stamp, in_any_language=True)
    if found is None:
        raise UsageError(
            f"report {target}", f"no batch of job {job.job_id} under {out}", do="Make one with `clinworld build`, then `clinworld run`."
        )
    return source_of(setting, found)


def _board_lines(part: ReportPart) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for each in part.boards:
        rows = list_lines(each.board)
        if rows:
            lines.append(("agent", "answered", "headline", *(score.verdict for score in rows[0].dimensions)))
        for row in rows:
            headline = f"{row.headline:.3f}" if row.headline is not None else "unmeasured"
            values = (f"{score.value:.2f}" if score.value is not None else score.state for score in row.dimensions)
            lines.append((row.agent, f"{row.answered}/{row.cells}", headline, *values))
    return lines


def _document(content: ReportContent, page: Path) -> dict[str, Any]:
    return {
        "page": str(page),
        "language": content.language,
        "incomplete": content.incomplete,
        "parts": [
            {
                "pack": part.pack.name,
                "batches": [f"{batch.job_id}/{batch.stamp}" for batch in part.batches],
                "stamps": dict(part.stamps),
                "knowledge": as_row(part.knowledge),
                "boards": [as_row(each.board) for each in part.boards],
                "reported": [as_row(each.reported) for each in part.boards if each.reported],
            }
            for part in content.parts
        ],
    }
