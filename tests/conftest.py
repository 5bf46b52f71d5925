"""Every test run keeps what it computes in a folder of its own, never in the user's."""

import os
import tempfile

from clinworld.core.settings import CACHE_VARIABLE

_CACHE = tempfile.TemporaryDirectory(prefix="clinworld-cache-", ignore_cleanup_errors=True)
os.environ[CACHE_VARIABLE] = _CACHE.name


def pytest_unconfigure() -> None:
    _CACHE.cleanup()
