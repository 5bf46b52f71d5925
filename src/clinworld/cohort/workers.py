"""Shards made by several processes. They are started afresh (spawn) and end with the one that started them, however that ends."""

import signal
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from clinworld.cohort.shard import Setting, ShardFacts, Task, write_shard
from clinworld.core.errors import ClinworldError, Incomplete
from clinworld.knowledge.load import Knowledge, load_knowledge

STEP, DONE, REFUSED, FAILED = "step", "done", "refused", "failed"
LOST = (EOFError, BrokenPipeError, ConnectionResetError)


def make_shards(
    tasks: Sequence[Task], setting: Setting, knowledge: Knowledge, workers: int, advance: Callable[[int], None]
) -> Generator[ShardFacts, None, None]:
    """The shards as they are finished, in any order; `advance` is told how many patients more are done.

    Raises what a shard raised, and Incomplete when a worker process was ended from outside.
    """
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            yield write_shard(task, setting, knowledge, advance)
        return
    waiting = list(reversed(tasks))
    context = get_context("spawn")
    processes = []
    busy: list[Any] = []
    try:
        for _ in range(min(workers, len(tasks))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, setting), daemon=True)
            process.start()
            theirs.close()  # an end left open here would hide the worker's death
            processes.append(process)
            busy.append(ours)
            _send(ours, waiting.pop())
        while busy:
            ready: list[Any] = wait(busy)
            for connection in ready:
                kind, told = _receive(connection)
                if kind == STEP:
                    advance(told)
                    continue
                if waiting:
                    _send(connection, waiting.pop())
                else:
                    busy.remove(connection)
                    connection.close()  # tells the worker that there is nothing more to do
                yield told
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _send(connection: Any, task: Task) -> None:
    try:
        connection.send(task)
    except LOST:
        raise _ended() from None


def _ended() -> Incomplete:
    do = "Run the same command again to go on, with fewer --workers if memory ran out."
    return Incomplete("clinworld cohort", "a worker process was ended", do=do)


def _receive(connection: Any) -> tuple[str, Any]:
    """What a worker tells. Raises what it raised."""
    try:
        kind, told = connection.recv()
    except LOST:
        raise _ended() from None
    if kind == REFUSED:
        problem, where, found, allowed, more = told
        raise problem(where, found, allowed, **more)
    if kind == FAILED:
        raise RuntimeError(told)
    return kind, told


def _work(connection: Connection, setting: Setting) -> None:
    """Make the shards that come through a connection, until it is closed or its other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one, and that ends it
    knowledge = load_knowledge(setting.knowledge_dir)
    with suppress(*LOST):
        while True:
            task = connection.recv()
            connection.send(_attempt(task, setting, knowledge, lambda patients: connection.send((STEP, patients))))


def _attempt(task: Task, setting: Setting, knowledge: Knowledge, advance: Callable[[int], None]) -> tuple[str, Any]:
    try:
        return DONE, write_shard(task, setting, knowledge, advance)
    except ClinworldError as problem:
        more = {"nearest": problem.nearest, "do": problem.do, "kind": problem.kind}
        return REFUSED, (type(problem), problem.where, problem.found, problem.allowed, more)
    except Exception:
        return FAILED, traceback.format_exc()
