"""Asks agents the turns of their cells and appends what they replied to responses.jsonl. Gold is not imported here and never opened."""

import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clinworld.access.prompt import OUTPUT_TOKENS
from clinworld.core.errors import LeakFound, ModelFailure, StampMismatch
from clinworld.core.printing import mend_text, show_line
from clinworld.models.backend import Backend, Message, Reply, Request
from clinworld.models.control import ControlBackend
from clinworld.models.replay import ReplayBackend
from clinworld.run.cells import PlannedCell
from clinworld.run.exam import Exam, Prompts, Shown
from clinworld.schema.cell import Cell, ReplySource, Response
from clinworld.schema.item import Item

CONCURRENT_CELLS = 8
MOST_FAILURE = 600  # characters of a failure that are kept
WITHHELD = "withheld"
DEADLINE = "deadline"

Add = Callable[[Response], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredCell:
    """A cell after asking: the response of each turn, and why there is not one for every turn ("" when there is)."""

    cell: Cell
    item: Item
    source: ReplySource
    responses: tuple[Response, ...]
    failure: str


@dataclass(slots=True)
class Answering:
    """How far a run has come. `stopped` is True after Ctrl-C: what is there is kept, the rest is not asked."""

    cells: list[AnsweredCell] = field(default_factory=list)
    stopped: bool = False


def answer_cells(
    cells: Sequence[PlannedCell], exam: Exam, add: Add, *, prompts: Prompts, progress: Progress = lambda done, total: None
) -> Answering:
    """Ask every cell that an agent can answer without gold; controls and replays one after another, other agents a few cells at once.

    The first Ctrl-C lets calls in flight finish, a second stops at once.
    Raises StampMismatch when a kept reply was given to another prompt.
    """
    done = Answering()
    asked = [planned for planned in cells if planned.agent.backend is not None]
    quick = [planned for planned in asked if not planned.agent.waits]
    slow = [planned for planned in asked if planned.agent.waits]
    total = len(cells)
    try:
        for planned in quick:
            done.cells.append(finish_now(answer_cell(planned, _backend(planned), exam, prompts, add)))
            progress(len(done.cells), total)
    except KeyboardInterrupt:
        done.stopped = True
    if slow and not done.stopped:
        import anyio  # noqa: PLC0415 - heavy, loaded at use

        anyio.run(_answer_waiting, slow, exam, prompts, add, done, lambda: progress(len(done.cells), total))
    return done


async def answer_cell(planned: PlannedCell, backend: Backend, exam: Exam, prompts: Prompts, add: Add) -> AnsweredCell:
    """Ask one cell from its first open turn on. Every reply is written before the next turn is asked."""
    responses: list[Response] = []
    while (shown := prompts.next(planned.item, [response.reply for response in responses])) is not None:
        if len(responses) < len(planned.kept):
            responses.append(_check_kept(planned.kept[len(responses)], shown))
            continue
        response = await _ask(planned, backend, exam, shown, [response.reply for response in responses])
        if response.failure != _repeated_refusal(planned, response):
            add(response)
        if response.failure:
            return _answered(planned, responses, response.failure)
        responses.append(response)
    return _answered(planned, responses, "")


def finish_now(work: Coroutine[Any, Any, AnsweredCell]) -> AnsweredCell:
    """The result of a coroutine that never waits, without an event loop."""
    try:
        work.send(None)
    except StopIteration as finished:
        result: AnsweredCell = finished.value
        return result
    work.close()
    raise RuntimeError("a control waited; only agents that never wait are answered in order")


def _answered(planned: PlannedCell, responses: Sequence[Response], failure: str) -> AnsweredCell:
    return AnsweredCell(planned.cell, planned.item, planned.agent.source, tuple(responses), failure)


def _backend(planned: PlannedCell) -> Backend:
    assert planned.agent.backend is not None
    return planned.agent.backend


def _check_kept(response: Response, shown: Shown) -> Response:
    """The kept response, when it was given to this very prompt."""
    if response.prompt_sha256 == shown.digest:
        return response
    cell = response.cell
    raise StampMismatch(
        f"item {cell.item_id}, agent {cell.agent}, {cell.episode}, turn {response.turn}",
        f"its reply was given to prompt {response.prompt_sha256[:16]}, the same exam now makes {shown.digest[:16]}",
        "a finished cell keeps its prompt",
        do="Nothing was asked. Build the batch again, or restore the files it was run with.",
        kind="prompt_drift",
    )


def _repeated_refusal(planned: PlannedCell, response: Response) -> str | None:
    """The failure of the same turn if the leak guard already refused this very prompt, so that resuming adds no second row."""
    last = planned.failed
    if last and last.turn == response.turn and last.prompt_sha256 == response.prompt_sha256 and last.failure.startswith(WITHHELD):
        return last.failure
    return None


async def _ask(planned: PlannedCell, backend: Backend, exam: Exam, shown: Shown, earlier: Sequence[str]) -> Response:
    turn = shown.turn
    request = Request(
        item_id=planned.item.item_id,
        day=turn.day,
        turn=turn.turn,
        language=planned.item.language,
        messages=(Message("user", turn.prompt),),
        max_output_tokens=OUTPUT_TOKENS,
        deadline_s=exam.deadline_s,
        settings={"repeat": planned.cell.repeat, "earlier": tuple(earlier)},
    )
    failure, reply = "", Reply("")
    try:
        _refuse_leak(planned, shown)
        reply = await _send(backend, request)
    except LeakFound as found:
        failure, reply = f"{WITHHELD}: {found.found}", Reply("", finish_reason="error")
    except ModelFailure as problem:
        failure, reply = show_line(mend_text(str(problem)), most=MOST_FAILURE), Reply("", finish_reason="error")
    return Response(
        cell=planned.cell,
        turn=turn.turn,
        day=turn.day,
        prompt_sha256=shown.digest,
        request={"max_output_tokens": request.max_output_tokens, "deadline_s": request.deadline_s},
        reply=mend_text(reply.text),
        reasoning=mend_text(reply.reasoning),
        usage=None if reply.usage is None else {mend_text(name): count for name, count in reply.usage.items()},
        finish_reason=mend_text(reply.finish_reason),
        source=planned.agent.source,
        failure=failure,
        exam_stamp=exam.stamp,
    )


def _refuse_leak(planned: PlannedCell, shown: Shown) -> None:
    if shown.findings:
        first = "; ".join(str(finding) for finding in shown.findings[:3])
        raise LeakFound(f"item {planned.item.item_id}, turn {shown.turn.turn}", first, do="The prompt was not sent.")


async def _send(backend: Backend, request: Request) -> Reply:
    """The reply, or an empty one with finish reason `deadline` when the agent took too long."""
    if isinstance(backend, (ControlBackend, ReplayBackend)):
        return await backend.send(request)
    import anyio  # noqa: PLC0415 - heavy, loaded at use

    with anyio.move_on_after(request.deadline_s):
        return await backend.send(request)
    return Reply("", finish_reason=DEADLINE)


async def _answer_waiting(
    cells: Sequence[PlannedCell], exam: Exam, prompts: Prompts, add: Add, done: Answering, advance: Callable[[], None]
) -> None:
    """A few workers take the next cell until none is left, one fails, or Ctrl-C."""
    import anyio  # noqa: PLC0415 - heavy, loaded at use

    waiting: Iterator[PlannedCell] = iter(cells)
    problems: list[Exception] = []

    async def work() -> None:
        for planned in waiting:
            try:
                done.cells.append(await answer_cell(planned, _backend(planned), exam, prompts, add))
            except Exception as problem:  # the edge of a worker: recorded here, raised again when the others have ended
                problems.append(problem)
            if problems or done.stopped:
                return
            advance()

    async with anyio.create_task_group() as everyone:
        async with anyio.create_task_group() as workers:
            if threading.current_thread() is threading.main_thread():
                everyone.start_soon(_watch_for_stop, done, workers.cancel_scope)
            for _ in range(min(CONCURRENT_CELLS, len(cells))):
                workers.start_soon(work)
        everyone.cancel_scope.cancel()
    if problems:
        raise problems[0]


async def _watch_for_stop(done: Answering, workers: Any) -> None:
    import anyio  # noqa: PLC0415 - heavy, loaded at use

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            if done.stopped:
                workers.cancel()
            done.stopped = True
