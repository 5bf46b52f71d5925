"""Every test run keeps what it computes in a folder of its own, never in the user's."""

import os
import shutil
import tempfile

import pytest

from clinworld.core.settings import CACHE_VARIABLE

_CACHE = tempfile.mkdtemp(prefix="clinworld-cache-")
os.environ[CACHE_VARIABLE] = _CACHE


def pytest_unconfigure() -> None:
    shutil.rmtree(_CACHE, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="print the golden worlds again instead of comparing them")
