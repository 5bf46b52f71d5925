"""Cells that no list closes and in which a slip of the pen changes what happens: disease codes, drug classes, analyte groups, dose units.

Classes and groups are open, since a new drug may be of a new class; what is only a slip from one that is there is refused.
"""

import re
from collections.abc import Iterable, Iterator

from clinworld.core.errors import nearest_match
from clinworld.core.units import is_ucum
from clinworld.knowledge.faults import Fault
from clinworld.knowledge.load import Knowledge
from clinworld.knowledge.places import place_of, row_text, rows_in_question
from clinworld.schema.finding import Finding

_ICD10CM = re.compile(r"[A-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?")


def check_icd_codes(knowledge: Knowledge) -> Iterator[Finding]:
    """An ICD-10-CM code is shaped as one; an added disease has no code of another, unless it says with which it shares it."""
    owners: dict[str, list[str]] = {}
    for key, row in knowledge.conditions.items():
        owners.setdefault(row.icd10cm, []).append(key)
    for key, row in rows_in_question(knowledge, "conditions"):
        place = place_of(knowledge, "conditions", key, "icd10cm")
        if row.icd10cm and not _ICD10CM.fullmatch(row.icd10cm):
            yield Finding("code_has_its_shape", place, repr(row.icd10cm), "a letter, two digits, and further ones after a dot: E11.9")
    for key in knowledge.added.get("conditions", {}):
        row = knowledge.conditions[key]
        others = [other for other in owners[row.icd10cm] if other != key] if row.icd10cm else []
        for other in others:
            if other not in row.shares_code_with:
                allowed = f"a code of its own, or `shares_code_with: [{other}]`: {row_text(knowledge, 'conditions', other)} has it already"
                yield Finding("code_stands_for_one_thing", place_of(knowledge, "conditions", key, "icd10cm"), repr(row.icd10cm), allowed)
        for other in row.shares_code_with:
            if other not in others:
                place, allowed = place_of(knowledge, "conditions", key, "shares_code_with"), f"a disease with the code {row.icd10cm}"
                yield Fault("code_stands_for_one_thing", place, repr(other), allowed, nearest_match(other, others))


def check_classes(knowledge: Knowledge) -> Iterator[Finding]:
    """An added drug is of a class there is, or of a new one that is not spelt almost as one of them or is said to be new."""
    added = knowledge.added.get("drugs", {})
    known = list(dict.fromkeys(row.drug_class for key, row in knowledge.drugs.items() if key not in added))
    for key in added:
        row = knowledge.drugs[key]
        if row.drug_class not in known and not row.class_is_new and (nearest := nearest_match(row.drug_class, known)):
            allowed = "a class that drugs have, in their spelling, or one that is not so close to any"
            place = place_of(knowledge, "drugs", key, "class")
            yield Fault("class_is_spelt_as_others", place, repr(row.drug_class), allowed, nearest)


def check_groups(knowledge: Knowledge) -> Iterator[Finding]:
    """An added analyte is of a group there is, or of a new one that is not spelt almost as one of them."""
    added = knowledge.added.get("analytes", {})
    known = list(dict.fromkeys(row.group for key, row in knowledge.analytes.items() if key not in added))
    for key in added:
        group = knowledge.analytes[key].group
        if group not in known and (nearest := _find_slip(group, known)):
            allowed = "a group that analytes have, in their spelling, or one that is not so close to any"
            yield Fault("group_is_spelt_as_others", place_of(knowledge, "analytes", key, "group"), repr(group), allowed, nearest)


def check_dose_units(knowledge: Knowledge) -> Iterator[Finding]:
    """A dose has a unit that is a UCUM code."""
    used = list(dict.fromkeys(row.dose_unit for row in knowledge.drugs.values() if is_ucum(row.dose_unit)))
    for key, row in rows_in_question(knowledge, "drugs"):
        if not is_ucum(row.dose_unit):
            allowed = f"a UCUM code; drugs have {', '.join(used)}"
            place = place_of(knowledge, "drugs", key, "dose_unit")
            yield Fault("unit_is_ucum", place, repr(row.dose_unit), allowed, nearest_match(row.dose_unit, used))


def _find_slip(group: str, known: Iterable[str]) -> str | None:
    """The group of as many words, each near its own; groups of one kind share words (lipids_special, liver_special)."""
    words = group.split("_")
    for other in known:
        theirs = other.split("_")
        if len(theirs) == len(words) and all(nearest_match(word, (their,)) for word, their in zip(words, theirs, strict=True)):
            return other
    return None
