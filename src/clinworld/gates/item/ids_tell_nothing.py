"""Note ids are opaque: one form, all different, in no order of kind; the item id is not the case id."""

import re

from clinworld.gates.case import CaseUnderCheck, Outcome
from clinworld.schema.finding import Finding

CONTROLS = ("opaque_ids", "an_id_that_names_its_kind")
FORM = re.compile(r"^E[0-9a-f]{6}$")


def check(case: CaseUnderCheck) -> Outcome:
    """Findings over all note ids and the item id."""
    ids = [note.note_id for note in case.gold.chart.notes]
    findings = [Finding("ids_tell_nothing", "note", note_id, "E and six hex digits") for note_id in ids if not FORM.match(note_id)]
    if len(set(ids)) != len(ids):
        findings.append(Finding("ids_tell_nothing", "notes", "an id that stands twice", "ids differ"))
    if case.gold.case_id in case.item.item_id:
        findings.append(Finding("ids_tell_nothing", "item", case.item.item_id, "the case id is not shown"))
    return Outcome(len(ids) + 1, tuple(findings))
