"""Six naive checks, kept to show what each would have paid. None of them is ever the reward.

field_inclusion: every element of the spec stands in some row, new or not. content_only: the same without whose it is. identity: the
right number of new rows is the right patient's. banner, form and self_claim read what a screen or the policy says.
"""

from collections.abc import Iterable, Mapping

from clinworld.packs.emr_write.actions import Row
from clinworld.packs.emr_write.checker.spec import ExpectedRecord, WriteSpec
from clinworld.packs.emr_write.report import Rejection, Report
from clinworld.packs.emr_write.store.layout import Layout
from clinworld.packs.emr_write.store.protocol import Reading
from clinworld.packs.emr_write.store.rows import is_live

_SHOWN = ("banner", "message", "screen_text", "screen")
WITNESSES = ("field_inclusion", "content_only", "identity", "banner", "form", "self_claim")


def ask_witnesses(spec: WriteSpec, reading: Reading | None, report: Report | Rejection, layout: Layout) -> Mapping[str, bool]:
    """What each naive check says; True is a pass. Without a reading those that look at rows fail."""
    changes = reading.changes if reading else ()
    own = layout.cascade_collections()
    new = [(each.collection, each.after) for each in changes if each.before is None and is_live(each.after) and each.collection not in own]
    after = [(each.collection, each.after) for each in changes if is_live(each.after)] + list(reading.near if reading else ())
    rows = [(collection, row) for collection, row in after if row is not None]
    created = [record for record in spec.records if record.change == "create"]
    keyed = [row for collection, row in new if row and any(_is_theirs(record, collection, row) for record in created)]
    actions = report.actions if isinstance(report, Report) else ()
    claims = report.claims
    evidence = claims.get("evidence")
    seen = {*claims, *(evidence if isinstance(evidence, dict) else ())}
    return {
        "field_inclusion": all(_stands_somewhere({**record.identity, **record.fields}, record, rows) for record in spec.records),
        "content_only": all(_stands_somewhere(record.fields, record, rows) for record in spec.records),
        "identity": reading is not None and len(keyed) == len(created),
        "banner": bool(isinstance(report, Report) and report.is_submitted and actions)
        or bool(seen & {"banner", "message", "screen_text", "screen"}),
        "form": any(action.op == "create" and action.collection in {record.collection for record in created} for action in actions),
        "self_claim": bool(claims.get("success")),
    }


def _is_theirs(record: ExpectedRecord, collection: str, row: Row) -> bool:
    return collection == record.collection and all(row.get(name) == value for name, value in record.identity.items())


def _stands_somewhere(fields: Row, record: ExpectedRecord, rows: Iterable[tuple[str, Row]]) -> bool:
    own = [row for collection, row in rows if collection == record.collection]
    return all(any(row.get(name) == value for row in own) for name, value in fields.items())
