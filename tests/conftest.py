"""Every test run keeps what it computes in a folder of its own, never in the user's."""

import gc
import os
import shutil
import tempfile
from zlib import crc32

import pytest

from clinworld.core.settings import CACHE_VARIABLE

KEPT_ROWS = 8  # one of so many

_CACHE = tempfile.mkdtemp(prefix="clinworld-cache-")
os.environ[CACHE_VARIABLE] = _CACHE


def pytest_unconfigure() -> None:
    shutil.rmtree(_CACHE, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="print the golden worlds again instead of comparing them")


def pytest_collection_finish() -> None:
    """The thousands of collected tests stay alive until the end; looks for garbage need not go over them each time."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that goes over the rows of a large table an eighth runs by default, the same each time, and the rest in the slow tier."""
    for item in items:
        if item.get_closest_marker("rows") and hasattr(item, "callspec") and crc32(item.nodeid.encode()) % KEPT_ROWS:
            item.add_marker(pytest.mark.slow)
