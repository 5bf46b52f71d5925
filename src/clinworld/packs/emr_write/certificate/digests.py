"""Digests of what a certificate of our checker holds for, taken from the files on disk without their comments.

Checker and reading of the record system are one digest, what draws the trials another, what is paid for a third.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from clinworld.core.digest import digest_value
from clinworld.packs.emr_write.checker.check import EVIDENCE_TIER
from clinworld.packs.emr_write.checker.verdict import ALL_RULES, OUTCOMES, Verdict
from clinworld.provenance.source_text import python_form, split_csv_columns, yaml_form

PACK = Path(__file__).parents[1]
PACKAGE = PACK.parents[1]
LENGTH = 32
# Other back ends share server, oracle and checker and are no part of a run on this one.
_CHECKER = (
    "checker/*",
    "actions.py",
    "report.py",
    "strict_json.py",
    "episode.py",
    *(f"store/{name}.py" for name in ("layout", "oracle", "protocol", "references", "rows", "server", "sqlite")),
    "store/tables.sql",
    "store/sqlite_*.sql",
    "store/fields.csv",
    "store/cascades.csv",
)
_GENERATOR = (
    "tasks/*",
    "faults/*",
    "store/chart.py",
    "store/names.csv",
    "store/chart_texts.csv",
    *(f"certificate/{name}" for name in ("draw.py", "published.py", "policies.py", "measure.py", "settings.csv")),
)
_ALSO_DRAWN_FROM = ("core/rng.py", "core/units.py", "knowledge/analytes.csv", "knowledge/streams.csv", "knowledge/drugs/*")


@lru_cache(maxsize=1)
def digest_checker() -> str:
    """The checker with the reading of the record system."""
    return _digest_files(PACK, _CHECKER)


@lru_cache(maxsize=1)
def digest_generator() -> str:
    """What draws tasks and faults: code, tables, and the knowledge rows that tasks are made of."""
    return digest_value([_digest_files(PACK, _GENERATOR), _digest_files(PACKAGE, _ALSO_DRAWN_FROM)], length=LENGTH)


def digest_contract() -> str:
    """What is paid: each outcome with its reward, the rules in force, and the channel that is read."""
    rewards = {outcome: Verdict(outcome, (), {}, {}).reward for outcome in OUTCOMES}
    return digest_value({"rewards": rewards, "rules": sorted(ALL_RULES), "evidence_tier": EVIDENCE_TIER}, length=LENGTH)


def _digest_files(root: Path, patterns: Iterable[str]) -> str:
    paths = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    return digest_value([[path.relative_to(root).as_posix(), _form(path)] for path in paths], length=LENGTH)


def _form(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return python_form(text)
    if path.suffix == ".csv":
        return split_csv_columns(text, frozenset())[0]
    return yaml_form(text) if path.suffix == ".yaml" else text
