"""Claims about how a record becomes rows."""

from dataclasses import replace

import numpy as np
import pytest
from cohort_case import KNOWN, full_record, record_of, series
from hypothesis import given
from hypothesis import strategies as st

from clinworld.cohort.codes import code_by_id, describe_codes, drug_code
from clinworld.cohort.rows import RowBlock
from clinworld.schema.record import History, PastPrescription


def rows_from(*records, language=None):
    """(patient, day, code, value, unit, source, text) rows; None for what is not there."""
    block = RowBlock(KNOWN, language)
    for record in records:
        block.add(record)
    taken = block.take()
    assert (block.rows, block.patients) == (0, 0)
    return [
        (
            int(taken.patient[i]),
            int(taken.day[i]),
            taken.code_names[taken.code[i]],
            None if np.isnan(taken.value[i]) else float(taken.value[i]),
            taken.unit_names[taken.unit[i]],
            taken.source_names[taken.source[i]],
            None if taken.text[i] < 0 else taken.text_names[taken.text[i]],
        )
        for i in range(len(taken.day))
    ]


def test_every_kind_of_fact_a_record_can_hold_gives_rows():
    assert [row[1:] for row in rows_from(full_record())] == [
        (-400, "CLINWORLD/drug/metformin", 500.0, "mg", "prescription", None),
        (-400, "CLINWORLD/visit", None, "", "history", None),
        (-400, "LOINC/4548-4", 6.8, "%", "laboratory", None),
        (-100, "CLINWORLD/drug/metformin//stopped", None, "", "prescription", None),
        (-30, "CLINWORLD/visit", None, "", "history", None),
        (-30, "LOINC/4548-4", 7.0, "%", "laboratory", None),
        (0, "CLINWORLD/drug/metformin", 500.0, "mg", "prescription", None),
        (0, "LOINC/29463-7", 98.0, "kg", "home", None),
        (0, "LOINC/4548-4", 7.1, "%", "laboratory", None),
        (1, "LOINC/29463-7", 97.9, "kg", "home", None),
        (2, "CLINWORLD/drug/metformin", 500.0, "mg", "dispensing", None),
        (2, "CLINWORLD/drug/metformin//days_supplied", 30.0, "d", "dispensing", None),
        (30, "CLINWORLD/finding/bmi", 31.2, "kg/m2", "examination", None),
        (30, "CLINWORLD/finding/bmi//result", None, "", "examination", "positive"),
        (30, "CLINWORLD/finding/urine_ketones", None, "", "examination", "negative"),
        (60, "LOINC/4548-4//platform_after", None, "", "laboratory", "platform_b"),
        (60, "LOINC/4548-4//platform_before", None, "", "laboratory", "platform_a"),
        (90, "CLINWORLD/specimen/is_fasting", 1.0, "", "laboratory", None),
        (90, "CLINWORLD/specimen/minute_of_day", 485.0, "min", "laboratory", None),
        (90, "CLINWORLD/specimen/other_platform", None, "", "laboratory", "platform_b"),
        (90, "CLINWORLD/specimen/platform", None, "", "laboratory", "platform_a"),
        (90, "CLINWORLD/specimen/site", None, "", "laboratory", "clinic"),
        (90, "LOINC/29463-7", 95.0, "kg", "home", None),
        (90, "LOINC/4548-4", 6.5, "%", "laboratory", None),
    ]


def test_what_is_told_in_words_is_written_only_when_asked_for_and_in_that_language():
    plain, told = rows_from(full_record()), rows_from(full_record(), language="en")
    assert [row[1:] for row in told if row not in plain] == [
        (-700, "CLINWORLD/past_event", None, "", "hospital", "Appendix removed."),
        (12, "CLINWORLD/patient_reported_symptom", None, "", "patient_reported_symptom", "Tired."),
        (12, "CLINWORLD/patient_reported_symptom//context", None, "", "patient_reported_symptom", "After work."),
    ]
    assert {row[6] for row in rows_from(full_record(), language="zh")} >= {"A", "T", "W"}


def test_a_record_without_anything_gives_no_row():
    assert rows_from(record_of(), record_of(series("hba1c", [], []))) == []


def test_a_patient_without_rows_takes_none_from_the_next():
    kept = record_of(series("hba1c", [3], [61]))
    assert [row[:2] for row in rows_from(record_of(), kept, record_of(), kept)] == [(1, 3), (3, 3)]


def test_values_are_those_of_the_record_to_the_last_bit():
    for decimals in range(5):
        kept = series("hba1c", list(range(300)), list(range(299, -1, -1)), decimals=decimals)
        assert [row[3] for row in rows_from(record_of(kept))] == kept.values().tolist()


def test_facts_that_agree_in_day_and_code_stay_in_the_order_of_the_record():
    kept = [series("weight", [4, 4, 4], [9, 1, 5], decimals=0, unit="kg"), series("weight", [4], [7], decimals=0, unit="kg")]
    assert [row[3] for row in rows_from(record_of(*kept))] == [9.0, 1.0, 5.0, 7.0]


@pytest.mark.slow
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["weight", "hba1c", "steps", "fib4"]), st.lists(st.integers(-4000, 900), max_size=6)), max_size=4
        ),
        max_size=5,
    )
)
def test_rows_are_those_that_went_in_by_patient_day_and_code(people):
    records = [record_of(*(series(name, sorted(days), list(range(len(days))), decimals=0) for name, days in kept)) for kept in people]
    codes = code_by_id(KNOWN)
    wanted = [
        (patient, day, codes[name], float(i))
        for patient, kept in enumerate(people)
        for name, days in kept
        for i, day in enumerate(sorted(days))
    ]
    assert [row[:4] for row in rows_from(*records)] == sorted(wanted, key=lambda row: row[:3])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_code_that_rows_can_have_is_explained_in_both_languages(language):
    codes = {row[2] for row in rows_from(full_record(), language=language)}
    for told in describe_codes(codes, KNOWN):
        if told.code != "CLINWORLD/finding/urine_ketones":  # made up here, so no knowledge row names it
            assert told.names.en.isascii() and not told.names.zh.isascii(), told.code


def test_each_stream_and_analyte_has_a_code_of_its_own():
    codes = code_by_id(KNOWN)
    assert set(codes) == {*KNOWN.streams, *KNOWN.analytes}
    assert len(set(codes.values())) == len(codes)


def test_a_standard_code_that_two_ids_share_is_the_first_ones_and_the_parent_of_the_others():
    shared = {
        row.loinc for row in KNOWN.streams.values() if row.loinc and sum(each.loinc == row.loinc for each in KNOWN.streams.values()) > 1
    }
    for loinc in shared:
        first, *others = [row.id for row in KNOWN.streams.values() if row.loinc == loinc]
        codes = code_by_id(KNOWN)
        assert codes[first] == f"LOINC/{loinc}"
        for told in describe_codes([codes[name] for name in others], KNOWN):
            assert told.parents == (f"LOINC/{loinc}",)


def test_a_drug_is_told_with_its_name_its_frequency_and_its_ingredient():
    (told,) = describe_codes([drug_code("metformin")], KNOWN)
    assert told.names.en == KNOWN.drugs["metformin"].names.en
    assert (told.frequency, told.parents) == (KNOWN.drugs["metformin"].frequency, (f"RXNORM/{KNOWN.drugs['metformin'].rxcui}",))


def test_a_dose_that_the_next_takes_the_place_of_is_not_stopped():
    orders = (PastPrescription(-90, -31, "metformin", 500.0, "mg"), PastPrescription(-30, -8, "metformin", 1000.0, "mg"))
    rows = rows_from(replace(full_record(), history=History((), (), orders, ())))
    assert [row[1] for row in rows if row[2].endswith("//stopped")] == [-8]


def test_the_codes_table_has_the_unit_of_every_code_whose_rows_have_one():
    told = {code.code: code.unit for code in describe_codes({row[2] for row in rows_from(full_record())}, KNOWN)}
    for _, _, code, _, unit, source, _ in rows_from(full_record()):
        assert told[code] == unit or source in ("prescription", "dispensing")
