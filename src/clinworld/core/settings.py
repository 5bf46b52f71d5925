"""The only reader of the environment: where files of the user lie. Nothing here may change a world or a score."""

import os
import sys
from pathlib import Path

CACHE_VARIABLE = "CLINWORLD_CACHE"


def cache_folder() -> Path:
    """Where things that can be computed again are kept between commands: CLINWORLD_CACHE, or the user's own cache folder."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "clinworld"
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "clinworld"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clinworld"
