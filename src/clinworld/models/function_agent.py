"""`--agent module:function`: a user's own function as a backend, async or not, taking a Request or the prompt's text."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

from clinworld.core.errors import ModelFailure, UsageError, allowed_values, nearest_match
from clinworld.core.printing import show_line
from clinworld.models.backend import Reply, Request

MOST_USAGE = 2**63


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """Calls a function once a turn. `takes_text`: it is given the last message's text instead of the Request."""

    name: str
    function: Callable[[Any], Any]
    takes_text: bool

    async def send(self, request: Request) -> Reply:
        """What the function returned. Raises ModelFailure when it raised, or returned neither text nor a Reply."""
        asked = request.messages[-1].text if self.takes_text else request
        if inspect.iscoroutinefunction(self.function):
            found = await self._wait_for(self.function(asked))
        else:
            found = await _run_in_thread(partial(self._call, asked))
            if isinstance(found, _Raised):
                raise self._failure(found.problem) from found.problem
            found = await self._wait_for(found) if inspect.isawaitable(found) else found
        return self._check_reply(found)

    def _call(self, asked: Any) -> Any:
        """What the function returned, or what it raised as a value: SystemExit and its like must not travel through the event loop."""
        try:
            return self.function(asked)
        except BaseException as problem:
            return _Raised(problem)

    async def _wait_for(self, work: Any) -> Any:
        try:
            return await work
        except BaseException as problem:  # the edge to code that is not ours: whatever it raises is its failure, not ours
            if _is_cancelled(problem):
                raise
            raise self._failure(problem) from problem

    def _failure(self, problem: BaseException) -> ModelFailure:
        if isinstance(problem, ModelFailure):
            return problem
        do = "Run again to ask it again."
        return ModelFailure(f"agent {self.name}", show_line(f"raised {type(problem).__name__}: {_text_of(problem)}"), do=do)

    def _check_reply(self, found: Any) -> Reply:
        """A reply whose every part can be stored."""
        reply = Reply(found) if isinstance(found, str) else found
        if not isinstance(reply, Reply):
            raise ModelFailure(f"agent {self.name}", f"returned {type(found).__name__}", "text or a Reply is expected")
        for part in ("text", "reasoning", "finish_reason"):
            value = getattr(reply, part)
            if not isinstance(value, str):
                raise ModelFailure(f"agent {self.name}", f"returned a Reply whose {part} is {type(value).__name__}", "text is expected")
        if reply.usage is not None and not _is_usage(reply.usage):
            raise ModelFailure(f"agent {self.name}", "returned a Reply with another usage", "None, or whole numbers by name, is expected")
        return reply


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a function raised in its thread."""

    problem: BaseException


async def _run_in_thread(function: Callable[[], Any]) -> Any:
    """What a function that raises nothing returns. When the wait is cancelled its thread is left behind, and no exit waits for it."""
    import asyncio  # noqa: PLC0415 - heavy, loaded at use

    loop = asyncio.get_running_loop()
    waiting = loop.create_future()

    def settle(found: Any) -> None:
        if not waiting.done():
            waiting.set_result(found)

    def work() -> None:
        found = function()
        with suppress(RuntimeError):  # the event loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, found)

    Thread(target=copy_context().run, args=(work,), daemon=True, name="agent").start()
    return await waiting


def _is_cancelled(problem: BaseException) -> bool:
    """True when the run itself stops the call (its deadline, a second Ctrl-C), not when the agent raises such an exception."""
    import asyncio  # noqa: PLC0415 - heavy, loaded at use

    try:
        task = asyncio.current_task()
    except RuntimeError:  # the event loop is gone, and with it whoever waits for an answer
        return True
    if isinstance(problem, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    return isinstance(problem, GeneratorExit) and task is None


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem)
    except Exception:  # an exception of code that is not ours may fail even here
        return "(it cannot be written as text)"


def _is_usage(usage: Any) -> bool:
    return isinstance(usage, dict) and all(
        isinstance(name, str) and type(count) is int and 0 <= count < MOST_USAGE for name, count in usage.items()
    )


def load_function_agent(spec: str) -> FunctionAgent:
    """The agent named by `module:function`; the working directory is on the import path only while it is imported.

    Raises UsageError naming the module, the function, what exists and the nearest match.
    """
    module_name, _, function_name = spec.partition(":")
    where = f"--agent {spec}"
    if not all(part.isidentifier() for part in module_name.split(".")) or not function_name.isidentifier():
        raise UsageError(where, "not a module and a function", "module:function is expected, for example my_agent:answer")
    module = _import(module_name, where)
    function = getattr(module, function_name, None)
    if function is None:
        named = sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))
        allowed = allowed_values(named) if named else "it defines no function"
        raise UsageError(
            where,
            f"module {module_name!r} has no {function_name!r}",
            allowed,
            nearest=nearest_match(function_name, named),
            do="Name one of those.",
        )
    if not callable(function) or inspect.isclass(function):
        raise UsageError(where, f"{function_name!r} is of type {type(function).__name__}", "a function of one argument is expected")
    return FunctionAgent(spec, function, _takes_text(function, where))


def _import(name: str, where: str) -> ModuleType:
    with _working_directory_on_path() as folder:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if problem.name is None or not (name == problem.name or name.startswith(problem.name + ".")):
                do = f"Install {problem.name!r} in this environment."
                raise UsageError(where, f"module {name!r} imports {problem.name!r}, which is not installed", do=do) from None
            beside = sorted(path.stem for path in folder.glob("*.py"))
            allowed = "modules of the working directory and installed ones are found"
            raise UsageError(where, f"no module {name!r} from {folder}", allowed, nearest=nearest_match(name, beside)) from None
        except (Exception, SystemExit) as problem:  # the module is the user's: any error while it loads is a message, not a traceback
            found = f"importing {name!r} raised {type(problem).__name__}: {_text_of(problem)}"
            raise UsageError(where, show_line(found), do=f"Try `python -c 'import {name}'`.") from problem


@contextmanager
def _working_directory_on_path() -> Iterator[Path]:
    folder = Path.cwd()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))


def _takes_text(function: Callable[..., Any], where: str) -> bool:
    """True when the one parameter is annotated as text or named like a prompt."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return False
    parameters = signature.parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not positional or any(p is not positional[0] for p in required):
        expected = "a function of one argument, a Request or the prompt's text, is expected"
        raise UsageError(where, f"its parameters are {signature}", expected)
    annotation = positional[0].annotation
    if annotation is inspect.Parameter.empty:
        return positional[0].name in ("prompt", "text", "question")
    return annotation in (str, "str")
