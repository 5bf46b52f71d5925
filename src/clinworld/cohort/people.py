"""people.parquet from the people of single shards, and back: it has a row group for each shard, in order.

Parts live until the cohort is whole. Where nothing says any more which bytes people.parquet had, the journal still has those of its parts.
"""

from collections.abc import Iterable
from pathlib import Path

from clinworld.cohort.shard import ShardFacts, digest_file, people_part_name, replace_whole
from clinworld.cohort.tables import load_arrow, open_plain, people_schema, read_table


def join_people(target: Path, shards: Iterable[ShardFacts]) -> None:
    """Write people.parquet from the parts beside it."""
    with replace_whole(target) as temporary, open_plain(temporary, people_schema()) as writer:
        for facts in shards:
            writer.write_table(read_table(target.with_name(people_part_name(facts.number))))


def split_people(source: Path, shards: Iterable[ShardFacts]) -> None:
    """Write each part that is not there from people.parquet, where that still gives the bytes that the part had."""
    pa, pq = load_arrow()
    try:
        file = pq.ParquetFile(source)
    except (OSError, pa.ArrowException):
        return
    with file:
        for facts in shards:
            part = source.with_name(people_part_name(facts.number))
            if part.exists() or facts.number >= file.num_row_groups:
                continue
            try:
                table = file.read_row_group(facts.number)
            except (OSError, pa.ArrowException):
                continue
            with replace_whole(part) as temporary, open_plain(temporary, people_schema()) as writer:
                writer.write_table(table)
            if digest_file(part) != facts.people_sha256:
                part.unlink()
