"""The emr_write environment for both kinds of verifiers: 0.4 finds the classes named here, 0.3.1 calls `load_environment`.

Nothing is imported before it is asked for, so that either kind can be missing, and both: rows, sessions and verdicts need neither.
"""

from importlib import import_module
from typing import Any

__all__ = ["EmrEnv", "EmrHarness", "EmrTaskset", "load_environment"]

_HOMES = {"EmrEnv": "env", "EmrHarness": "harness", "EmrTaskset": "taskset"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_environment(**arguments: Any) -> Any:
    """The environment under verifiers 0.3.1, where `vf-eval` and trainers call it with the arguments of the README."""
    from .legacy import load  # noqa: PLC0415 - needs the interface that 0.4 no longer has

    return load(arguments)
