"""The folder of a cohort: what it was asked for, which of its shards are whole, and whether this run may go on with it.

`cohort.json` says what is wanted from the first moment on; a journal tells each finished shard. A killed run leaves whole shards and
hidden leftovers, which the next run removes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinworld.cohort.shard import ShardFacts, digest_file, people_part_name, shard_name
from clinworld.core.errors import StampMismatch, StoreError, UsageError
from clinworld.core.store import Appender, read_json, read_rows, write_json

DESCRIPTION, PEOPLE, CODES, CODES_CSV = "cohort.json", "people.parquet", "codes.parquet", "codes.csv"
JOURNAL, LOCK = ".shards.jsonl", ".lock"
BUILDING, DONE = "building", "done"
GO_ON = "Give the same arguments to go on, or another --out."


@dataclass(frozen=True, slots=True)
class CohortFolder:
    """A folder that holds this cohort or is to hold it."""

    path: Path

    def file(self, name: str) -> Path:
        """Where a file of the cohort stands."""
        return self.path / name

    def description(self) -> dict[str, Any] | None:
        """cohort.json, or None where there is none yet. Raises StoreError for one that is broken or not ours."""
        if self.file(DESCRIPTION).is_symlink() and not self.file(DESCRIPTION).exists():
            raise StoreError(str(self.file(DESCRIPTION)), "a link that leads nowhere", do="Remove it, or choose another --out.")
        if not self.file(DESCRIPTION).exists():
            return None
        row = read_json(self.file(DESCRIPTION))
        if not isinstance(row, dict) or not {"arguments", "made_with", "state"} <= row.keys():
            raise StoreError(str(self.file(DESCRIPTION)), "not the description of a cohort", do="Choose another --out.")
        return row

    def check_same(self, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> None:
        """Raises UsageError when the folder was begun with other arguments, StampMismatch when by another program."""
        if (row := self.description()) is None:
            return
        where = str(self.file(DESCRIPTION))
        for asked, error, do in (
            (("arguments", arguments), UsageError, GO_ON),
            (("made_with", made_with), StampMismatch, "Go on with what began it, or choose another --out."),
        ):
            name, wanted = asked
            there = row[name]
            differing = [key for key in dict.fromkeys((*there, *wanted)) if there.get(key) != wanted.get(key)]
            if differing:
                found = ", ".join(f"{key} {_show(there.get(key))}" for key in differing)
                now = ", ".join(f"{key} {_show(wanted.get(key))}" for key in differing)
                raise error(where, f"begun with {found}", f"now it is {now}", do=do)

    def begin(self, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> None:
        """Say what is wanted, where nothing is said yet."""
        if not self.file(DESCRIPTION).exists():
            write_json(self.file(DESCRIPTION), {"state": BUILDING, "arguments": arguments, "made_with": made_with})

    def remove_leftovers(self) -> None:
        """Remove what a killed run had not finished writing."""
        for pattern in (".*.parquet.*", f".{DESCRIPTION}.*", f".{CODES_CSV}.*"):
            for path in sorted(self.path.glob(pattern)):
                path.unlink(missing_ok=True)

    def whole_shards(self, *, is_done: bool) -> dict[int, ShardFacts]:
        """The finished shards by number: told in the journal, with the bytes they were written with.

        Their people are looked for too until the cohort is done, from when on people.parquet holds them.
        """
        path = self.file(JOURNAL)
        told = {row["number"]: ShardFacts(**row) for row in read_rows(path)} if path.exists() else {}
        return {number: facts for number, facts in sorted(told.items()) if self._is_whole(facts, is_done)}

    def _is_whole(self, facts: ShardFacts, is_done: bool) -> bool:
        shard, part = self.file(shard_name(facts.number)), self.file(people_part_name(facts.number))
        if not shard.is_file() or shard.stat().st_size != facts.bytes or digest_file(shard) != facts.sha256:
            return False
        return is_done or (part.is_file() and digest_file(part) == facts.people_sha256)

    def journal(self) -> Appender:
        """The open journal."""
        return Appender(self.file(JOURNAL))

    def finished(self) -> dict[str, Any] | None:
        """cohort.json where it says that the cohort is done and its small tables are as written, else None."""
        row = self.description()
        if row is None or row["state"] != DONE:
            return None
        whole = all(self.file(name).is_file() and digest_file(self.file(name)) == digest for name, digest in row["tables"].items())
        return row if whole else None

    def remove_parts(self, shards: Sequence[int]) -> None:
        """Remove the people of single shards, once people.parquet holds them all."""
        for number in shards:
            self.file(people_part_name(number)).unlink(missing_ok=True)


def open_folder(path: Path) -> CohortFolder:
    """The folder at a path, made where there is none.

    Raises UsageError for a file or a folder with something else in it, StoreError where none can be made.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(str(path), "a file", "a folder is expected", do="Name another --out.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = sorted(each.name for each in path.iterdir())
    except OSError as problem:
        raise StoreError(str(path), f"cannot be written ({problem.strerror})", do="Choose another --out.") from None
    if DESCRIPTION not in names:
        foreign = [name for name in names if name != LOCK and not name.startswith(f".{DESCRIPTION}")]
        if foreign:
            found = f"a folder that holds {foreign[0]}" + (f" and {len(foreign) - 1} more" if len(foreign) > 1 else "")
            raise UsageError(str(path), found, "an empty folder or a cohort is expected", do="Name another --out.")
    return CohortFolder(path)


def _show(value: Any) -> str:
    match value:
        case None:
            return "not given"
        case bool():
            return "yes" if value else "no"
        case _:
            return f"{value:,}" if isinstance(value, int) else str(value)
