"""Every test run keeps what it computes in a folder of its own, never in the user's."""

import os
import tempfile

import pytest

from clinworld.core.settings import CACHE_VARIABLE

_CACHE = tempfile.TemporaryDirectory(prefix="clinworld-cache-", ignore_cleanup_errors=True)
os.environ[CACHE_VARIABLE] = _CACHE.name


def pytest_unconfigure() -> None:
    _CACHE.cleanup()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="print the golden worlds again instead of comparing them")
