"""`--agent module:function`: a user's own function as a backend, async or not, taking a Request or the prompt's text."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from anyio import to_thread

from clinworld.core.errors import ModelFailure, UsageError, allowed_values, nearest_match
from clinworld.models.backend import Reply, Request


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """Calls a function once a turn. `takes_text`: it is given the last message's text instead of the Request."""

    name: str
    function: Callable[[Any], Any]
    takes_text: bool

    async def send(self, request: Request) -> Reply:
        """What the function returned. Raises ModelFailure when it raised, or returned neither text nor a Reply."""
        asked = request.messages[-1].text if self.takes_text else request
        try:
            if inspect.iscoroutinefunction(self.function):
                found = await self.function(asked)
            else:
                found = await to_thread.run_sync(self.function, asked, abandon_on_cancel=True)
                found = await found if inspect.isawaitable(found) else found
        except ModelFailure:
            raise
        except Exception as problem:  # the edge to code that is not ours: whatever it raises is its failure, not ours
            raise ModelFailure(
                f"agent {self.name}", f"raised {type(problem).__name__}: {problem}", do="Run again to ask it again."
            ) from problem
        if isinstance(found, Reply):
            return found
        if isinstance(found, str):
            return Reply(found)
        raise ModelFailure(f"agent {self.name}", f"returned {type(found).__name__}", "text or a Reply is expected")


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
        except Exception as problem:  # the module is the user's: any error while it loads is a message, not a traceback
            found = f"importing {name!r} raised {type(problem).__name__}: {problem}"
            raise UsageError(where, found, do=f"Try `python -c 'import {name}'`.") from problem


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
