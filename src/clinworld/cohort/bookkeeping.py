"""cohort.json and the journal of finished shards, as written and as read: closed, typed, and held against the digest that each carries.

A digest in the journal covers the arguments too, so that no shard is taken for one of another cohort. What is not as it was written is a
StoreError that says where; nothing is mended by guessing. The folder of a cohort reads and writes them through this file alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinworld.cohort.shard import ShardFacts
from clinworld.core.digest import digest_value
from clinworld.core.errors import StoreError, nearest_match, shorten
from clinworld.core.store import read_json, read_rows

DIGEST, MAKING, STATE = "digest", "making", "state"
BUILDING: Literal["building"] = "building"
DONE: Literal["done"] = "done"
RESTORE = "Restore the file, or remove it and run the same command again: what is whole is kept."
REMOVE_LINE = "Restore the file, or remove the line to have its shard made again."
Count = Annotated[int, Field(ge=0)]
Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Said = dict[str, Any]  # compared with what is asked for now, and under the digest


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class JournalLine(_Closed):
    """A finished shard: the facts of it, and the digest over them and what was asked for."""

    number: Count
    first: Count
    patients: Count
    rows: Count
    bytes: Count
    sha256: Sha
    people_sha256: Sha
    drawn_again: Count
    codes: dict[str, Count]
    digest: Digest


class BegunFile(_Closed):
    """cohort.json until the cohort is whole."""

    state: Literal["building"]
    arguments: Said
    made_with: Said
    digest: Digest


class SamePatients(_Closed):
    """The job that draws the same patients."""

    task: str
    items: Count


class Counts(_Closed):
    """What is in all shards."""

    patients: Count
    rows: Count
    shards: Count
    drawn_again: Count


class ShardEntry(_Closed):
    """A shard as cohort.json lists it."""

    file: str
    first: Count
    patients: Count
    rows: Count
    sha256: Sha


class FinishedFile(_Closed):
    """cohort.json of a whole cohort. Set back to `building` it is written again; all else is under the digest, but `making`."""

    state: Literal["building", "done"]
    arguments: Said
    made_with: Said
    same_patients_as: SamePatients
    counts: Counts
    tables: dict[str, Sha]
    shards: list[ShardEntry]
    digest: Digest
    making: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Description:
    """cohort.json as it was read. `row` is all of it but what differs between two runs; `tables` is empty until the cohort was whole."""

    is_done: bool
    arguments: Mapping[str, Any]
    made_with: Mapping[str, Any]
    tables: Mapping[str, str]
    row: Mapping[str, Any]


def begin_description(arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> dict[str, Any]:
    """cohort.json of a cohort that is begun."""
    return seal({STATE: BUILDING, "arguments": arguments, "made_with": made_with})


def seal(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its digest.

    >>> seal({"a": 1})
    {'a': 1, 'digest': '015abd7f5cc57a2d'}
    """
    return row | {DIGEST: digest_value(row)}


def read_description(path: Path) -> Description:
    """cohort.json. Raises StoreError for one that is broken, not ours, or not what its digest says."""
    row = read_json(path, do=RESTORE)
    is_begun = isinstance(row, dict) and row.keys() <= BegunFile.model_fields.keys()
    _check_shape(BegunFile if is_begun else FinishedFile, row, str(path), RESTORE)
    kept = {name: value for name, value in row.items() if name != MAKING}
    under_digest = {name: value for name, value in kept.items() if name != DIGEST} | {STATE: BUILDING if is_begun else DONE}
    _check_digest(under_digest, row[DIGEST], str(path), "what it says", RESTORE)
    return Description(row[STATE] == DONE, row["arguments"], row["made_with"], row.get("tables", {}), kept)


def journal_row(facts: ShardFacts, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the journal."""
    row = facts._asdict()
    return row | {DIGEST: digest_value([arguments, made_with, row])}


def read_journal(path: Path, arguments: Mapping[str, Any], made_with: Mapping[str, Any]) -> Iterator[ShardFacts]:
    """The shards that a journal tells of, in order; of several lines with one number the last one holds.

    Raises StoreError for a line that is broken, not ours, or of another cohort. A torn last line is skipped.
    """
    for number, row in enumerate(read_rows(path, do=REMOVE_LINE), start=1):
        where = f"{path}, line {number}"
        _check_shape(JournalLine, row, where, REMOVE_LINE)
        facts = {name: value for name, value in row.items() if name != DIGEST}
        _check_digest([arguments, made_with, facts], row[DIGEST], where, "what it says, under the arguments given,", REMOVE_LINE)
        yield ShardFacts(**facts)


def _check_digest(value: Any, told: str, where: str, of: str, do: str) -> None:
    if (found := digest_value(value)) != told:
        raise StoreError(where, f"digest {told}", f"that of {of} is {found}", do=do)


def _check_shape(shape: type[BaseModel], row: Any, where: str, do: str) -> None:
    if not isinstance(row, dict):
        raise StoreError(where, f"{shorten(row)}", "an object is expected", do=do)
    try:
        shape.model_validate(row)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False)
    else:
        return
    place = {kind: [each["loc"] for each in errors if each["type"] == kind] for kind in ("missing", "extra_forbidden")}
    unknown = [_say_place(loc) for loc in place["extra_forbidden"]]
    missing = [_say_place(loc) for loc in place["missing"]]
    if unknown:
        raise StoreError(where, f"unknown key {shorten(unknown[0])}", nearest=nearest_match(unknown[0], missing), do=do)
    if missing:
        raise StoreError(where, f"no key {missing[0]!r}", do=do)
    first = errors[0]
    raise StoreError(where, f"{shorten(_say_place(first['loc']))} is {shorten(first['input'])}", _lower(first["msg"]), do=do)


def _say_place(place: tuple[str | int, ...]) -> str:
    return ".".join(map(str, place))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
