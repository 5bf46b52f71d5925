"""Ids tell nothing: note ids have one opaque form and stand once, the item's id is opaque and is not the case id."""

import re

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("opaque_ids", "an_id_that_names_its_kind")
GATE = "ids_tell_nothing"
FORM = re.compile(r"^E[0-9a-f]{6}$")
ITEM_FORM = re.compile(r"^[0-9a-f]{12}$")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all note ids and the item id. Whether ids follow the answer over many items is the batch scan's question."""
    ids = [note.note_id for note in case.gold.chart.notes]
    findings = [Finding(GATE, "note", note_id, "E and six hex digits") for note_id in ids if not FORM.match(note_id)]
    twice = sorted({note_id for note_id in ids if ids.count(note_id) > 1})
    findings += [Finding(GATE, "notes", f"{note_id} twice", "ids differ") for note_id in twice]
    item_id = case.item.item_id
    # A short case id stands in some random hex by chance (every tenth item holds `7c`), which tells nothing; only the whole id is read.
    if not ITEM_FORM.match(item_id) or case.gold.case_id.casefold() == item_id:
        findings.append(Finding(GATE, "item", item_id, "twelve hex digits that are not the case id"))
    return Outcome(len(ids) + 1, tuple(findings))
