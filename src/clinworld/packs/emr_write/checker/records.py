"""One row held against one expected record: whose it is, what it says, and what it says beyond."""

from collections.abc import Mapping

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.checker.values import Comparison, Difference
from clinworld.packs.emr_write.checker.verdict import Rules
from clinworld.packs.emr_write.store.layout import Layout


def compare_record(record: ExpectedRecord, row: Row, layout: Layout, rules: Rules, urls: Mapping[str, str]) -> list[Difference]:
    """Every difference between a row and the record it should be; none when it is that record.

    `urls` gives the row for each `urn:uuid:<name>` of the spec.
    """
    found: list[Difference] = []
    comparison = Comparison(record, rules, urls)
    if "identity_by_key" in rules:
        for key, value in record.identity.items():
            wanted = urls.get(value, value).rpartition("/")[2] if value.startswith("urn:") else value
            found += [each._replace(rule="identity_by_key", label="identity") for each in comparison.compare(key, wanted, row.get(key))]
    own = {name: value for name, value in row.items() if layout.owner(record.collection, name) == "policy" and name not in record.identity}
    found += comparison.compare_objects("", record.fields, own)
    return found


def expected_after(record: ExpectedRecord, before: Row, layout: Layout) -> ExpectedRecord:
    """The whole record an update must leave: what stood there, with the changed elements."""
    kept = {name: value for name, value in before.items() if layout.owner(record.collection, name) == "policy"}
    keys = {name: str(value) for name, value in before.items() if layout.owner(record.collection, name) == "key"}
    fields = {name: value for name, value in {**kept, **record.fields}.items() if name not in record.identity}
    return ExpectedRecord(
        record.name,
        record.collection,
        "update",
        {**keys, **record.identity},
        fields,
        record.row_id,
        record.optional,
        record.unit_equivalent,
        record.containing,
    )
