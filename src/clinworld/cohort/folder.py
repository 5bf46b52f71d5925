"""The folder of a cohort: what it was asked for, which of its shards are whole, and whether this run may go on with it.

`cohort.json` says what is wanted from the first moment on; a journal tells each finished shard. A killed run leaves whole shards and
hidden leftovers, which the next run removes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from clinworld.cohort.bookkeeping import Description, begin_description, read_description, read_journal
from clinworld.cohort.people import split_people
from clinworld.cohort.shard import ShardFacts, digest_file, people_part_name, shard_name
from clinworld.core.errors import StampMismatch, StoreError, UsageError
from clinworld.core.store import Appender, write_json

DESCRIPTION, PEOPLE, CODES, CODES_CSV = "cohort.json", "people.parquet", "codes.parquet", "codes.csv"
JOURNAL, LOCK = ".shards.jsonl", ".lock"
LEFTOVERS = (".*.parquet.*", f".{DESCRIPTION}.*", f".{CODES_CSV}.*")
FILES = ("patients-*.parquet", ".people-*.parquet", PEOPLE, CODES, CODES_CSV, DESCRIPTION, JOURNAL, *LEFTOVERS)
GO_ON = "Give the same arguments to go on, or another --out."


@dataclass(frozen=True, slots=True)
class CohortFolder:
    """A folder that holds this cohort or is to hold it."""

    path: Path

    def file(self, name: str) -> Path:
        """Where a file of the cohort stands."""
        return self.path / name

    def description(self) -> Description | None:
        """cohort.json, or None where there is none yet. Raises StoreError for one that is broken, not ours or changed."""
        if self.file(DESCRIPTION).is_symlink() and not self.file(DESCRIPTION).exists():
            raise StoreError(str(self.file(DESCRIPTION)), "a link that leads nowhere", do="Remove it, or choose another --out.")
        return read_description(self.file(DESCRIPTION)) if self.file(DESCRIPTION).exists() else None

    def check_same(self, said: Description, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> None:
        """Raises UsageError when the folder was begun with other arguments, StampMismatch when by another program."""
        where = str(self.file(DESCRIPTION))
        for there, wanted, error, do in (
            (said.arguments, arguments, UsageError, GO_ON),
            (said.made_with, made_with, StampMismatch, "Go on with what began it, or choose another --out."),
        ):
            differing = [key for key in dict.fromkeys((*there, *wanted)) if there.get(key) != wanted.get(key)]
            if differing:
                found = ", ".join(f"{key} {_show(there.get(key))}" for key in differing)
                now = ", ".join(f"{key} {_show(wanted.get(key))}" for key in differing)
                raise error(where, f"begun with {found}", f"now it is {now}", do=do)

    def begin(self, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> Description:
        """Say what is wanted, where nothing is said yet; what is said of the same cohort otherwise.

        Raises what `description` and `check_same` raise, and StoreError for a folder that stands where a file of the cohort is to be.
        """
        for path in sorted(self.path.iterdir()):
            if any(fnmatchcase(path.name, pattern) for pattern in FILES) and path.is_dir():
                raise StoreError(
                    str(path), "a folder", "a file of the cohort is to be there", do="Remove it and run the same command again."
                )
        said = self.description()
        if said is None:
            said = Description(False, arguments, made_with, {}, {})
            self._told(said)  # shards without their cohort.json have to be of this cohort
            write_json(self.file(DESCRIPTION), begin_description(arguments, made_with))
        self.check_same(said, arguments, made_with)
        return said

    def remove_leftovers(self) -> None:
        """Remove what a killed run had not finished writing."""
        for pattern in LEFTOVERS:
            for path in sorted(self.path.glob(pattern)):
                path.unlink(missing_ok=True)

    def whole_shards(self, said: Description, *, has_people: bool) -> dict[int, ShardFacts]:
        """The finished shards by number: told in the journal, with the bytes they were written with.

        Their people are looked for too, unless people.parquet holds them as cohort.json says.
        """
        told = {facts.number: facts for facts in self._told(said)}
        if not has_people and self.file(PEOPLE).is_file():
            split_people(self.file(PEOPLE), told.values())
        return {number: facts for number, facts in sorted(told.items()) if self._is_whole(facts, has_people)}

    def _told(self, said: Description) -> list[ShardFacts]:
        path = self.file(JOURNAL)
        return list(read_journal(path, said.arguments, said.made_with)) if path.exists() else []

    def _is_whole(self, facts: ShardFacts, has_people: bool) -> bool:
        shard, part = self.file(shard_name(facts.number)), self.file(people_part_name(facts.number))
        if not shard.is_file() or shard.stat().st_size != facts.bytes or digest_file(shard) != facts.sha256:
            return False
        return has_people or (part.is_file() and digest_file(part) == facts.people_sha256)

    def journal(self) -> Appender:
        """The open journal."""
        return Appender(self.file(JOURNAL))

    def lost_tables(self, said: Description) -> list[str]:
        """The small tables that are not as cohort.json says: all of them until the cohort was whole."""
        return [
            name
            for name in (PEOPLE, CODES, CODES_CSV)
            if not self.file(name).is_file() or digest_file(self.file(name)) != said.tables.get(name)
        ]

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
    if DESCRIPTION not in names and JOURNAL not in names:
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
