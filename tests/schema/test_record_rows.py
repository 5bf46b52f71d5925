"""A record that goes to a row and back is the same record, whichever parts were charted."""

import numpy as np
import pytest

from clinworld.core.text import Wording
from clinworld.schema.record import (
    Dispensing,
    FindingResult,
    History,
    MethodChange,
    PastEvent,
    PastPrescription,
    Profile,
    Record,
    Series,
    Specimen,
)
from clinworld.schema.record_rows import record_from_row, record_to_row

PROFILE = Profile(40, 49, "F", 31.0, ("obesity",), (), ("smart_scale",))


def series(days):
    return Series("hba1c", "laboratory", "%", 1, np.array(days, dtype=np.int32), np.array([57] * len(days), dtype=np.int64))


PARTS = {
    "dispensing": (Dispensing(3, "metformin", 500.0, "mg", 30),),
    "specimens": (Specimen(5, 505, True, "clinic", "platform_a", "in_vitro_haemolysis", ("platform_b",)),),
    "method_changes": (MethodChange(40, "hba1c", "platform_a", "platform_b"),),
    "findings": (FindingResult(9, "hbsag", False, None, 0), FindingResult(9, "liver_stiffness", None, 83, 1)),
    "history": History(
        (-400, -30),
        (series([-400, -30]),),
        (PastPrescription(-300, -200, "metformin", 500.0, "mg"),),
        (PastEvent(-900, Wording("Appendix removed", "阑尾切除术"), "hospital"),),
    ),
}


def record(**parts):
    return Record(PROFILE, 100, (series([0, 50]),), (), (), **parts)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_record_comes_back_from_its_row(name):
    row = record_to_row(record(**{name: PARTS[name]}))
    again = record_to_row(record_from_row(row))
    assert repr(again) == repr(row) and again[name]


def test_a_part_that_is_not_charted_has_no_key():
    assert not set(PARTS) & set(record_to_row(record()))


@pytest.mark.parametrize("name", [name for name in PARTS if name != "history"])
def test_nothing_after_the_cut_stays_in_a_view_and_what_lies_before_it_does(name):
    whole = record(**{name: PARTS[name]})
    last = PARTS[name][-1].day
    assert getattr(whole.until(last), name) == PARTS[name] and getattr(whole.until(last - 1), name) == ()


def test_history_before_day_0_is_in_every_view():
    assert record(history=PARTS["history"]).until(0).history is PARTS["history"]
