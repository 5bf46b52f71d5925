"""Which new row is which expected record: whole rows to whole records, one to one, the pairing with the fewest differences.

Records that refer to each other are compared under the pairing that is being tried, so a reference to the wrong new row shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from clinworld.packs.emr_write.checker.frame import show_row
from clinworld.packs.emr_write.checker.records import compare_record
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.checker.values import Difference
from clinworld.packs.emr_write.checker.verdict import Finding, Rules
from clinworld.packs.emr_write.store.layout import Layout
from clinworld.packs.emr_write.store.protocol import Change
from clinworld.packs.emr_write.store.rows import encode_json

MOST_ROWS = 6  # more new rows than this are paired greedily; they are too many for any spec, so only the wording is at stake


def pair_rows(records: Sequence[ExpectedRecord], created: Sequence[Change], layout: Layout, rules: Rules) -> Iterator[Finding]:
    """Findings for records no row is, and rows that are no record."""
    best: tuple[int, list[tuple[ExpectedRecord, Change, list[Difference]]]] | None = None
    for pairing in _pairings(records, created):
        urls = {f"urn:uuid:{record.name}": f"{row.collection}/{row.row_id}" for record, row in pairing}
        compared = [(record, row, compare_record(record, row.after or {}, layout, rules, urls)) for record, row in pairing]
        cost = sum(len(differences) for _, _, differences in compared)
        if best is None or cost < best[0]:
            best = (cost, compared)
        if cost == 0:
            break
    paired = best[1] if best else []
    for _, row, differences in paired:
        yield from (tell_difference(f"{row.collection}/{row.row_id}", each) for each in differences)
    taken = {row.row_id for _, row, _ in paired}
    for record in records:
        if not any(record is each for each, _, _ in paired):
            yield Finding(
                "one_to_one_rows", "wrong_effect", "record_missing", {"place": record.collection, "expected": show_record(record)}
            )
    for row in created:
        if row.row_id not in taken:
            values = {"place": f"{row.collection}/{row.row_id}", "found": show_row(row.after, layout, row.collection)}
            yield Finding("one_to_one_rows", "wrong_effect", "row_surplus", values)


def find_fields_anywhere(
    records: Sequence[ExpectedRecord], rows: Sequence[tuple[str, Mapping[str, object]]], layout: Layout, rules: Rules
) -> Iterator[Finding]:
    """What is left of pairing without the rule: each element of each record stands in some row of its collection."""
    for record in records:
        left = [compare_record(record, row, layout, rules, {}) for collection, row in rows if collection == record.collection]
        for name in record.fields:
            if not any(all(each.path.split(".")[0] != name for each in differences) for differences in left):
                values = {"place": record.collection, "expected": show_record(record)}
                yield Finding("one_to_one_rows", "wrong_effect", "record_missing", values)
                break


def _pairings(records: Sequence[ExpectedRecord], created: Sequence[Change]) -> Iterator[list[tuple[ExpectedRecord, Change]]]:
    by_collection: dict[str, list[ExpectedRecord]] = {}
    for record in records:
        by_collection.setdefault(record.collection, []).append(record)
    yield from _extend(list(by_collection.values()), created, [])


def _extend(
    groups: list[list[ExpectedRecord]], created: Sequence[Change], made: list[tuple[ExpectedRecord, Change]]
) -> Iterator[list[tuple[ExpectedRecord, Change]]]:
    if not groups:
        yield made
        return
    group, rest = groups[0], groups[1:]
    rows = [row for row in created if row.collection == group[0].collection][:MOST_ROWS]
    if len(rows) >= len(group):
        choices = ([*zip(group, chosen, strict=True)] for chosen in permutations(rows, len(group)))
    else:
        choices = ([*zip(chosen, rows, strict=True)] for chosen in permutations(group, len(rows)))
    for chosen in choices:
        yield from _extend(rest, created, [*made, *chosen])


def tell_difference(place: str, difference: Difference) -> Finding:
    """A difference of one row as a finding."""
    values = {
        "place": f"{place} {difference.path}",
        "expected": encode_json(difference.expected)[:200],
        "found": encode_json(difference.found)[:200],
    }
    return Finding(difference.rule, "wrong_effect", difference.label, values)


def show_record(record: ExpectedRecord) -> str:
    """A record's keys and elements on one line."""
    return ", ".join(f"{name}={encode_json(value)}" for name, value in {**record.identity, **record.fields}.items())[:400]
