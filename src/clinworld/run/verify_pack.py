"""placeholder"""

from pathlib import Path
from typing import Any


def verify_pack(folder: Path, *, extra_dirs: Any = (), knowledge_dir: Any = None) -> Any:
    raise SystemExit("x")
