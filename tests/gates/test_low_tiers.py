"""The clinical tiers below which a laboratory result needs a cause."""

from dataclasses import replace

import pytest
from gate_case import change, find_case, knowledge, run, series_of, with_gold, with_premise, with_series

from clinworld.gates.case import CaseUnderCheck
from clinworld.gates.item.low_results_have_a_cause import CAUSE, CRITICAL, GATE, is_lowered, is_lowered_by_drug
from clinworld.schema.record import ChartFault

TIERS = [name.removeprefix(CAUSE) for name in knowledge().parameters if name.startswith(CAUSE)]


def low_glucose(tick: int) -> tuple[CaseUnderCheck, int]:
    """(a case with one fasting glucose at a tick, its day)."""
    case = find_case(GATE, lambda case: not is_lowered(knowledge().analytes["fasting_glucose"], case.gold.premise, knowledge()))
    series = series_of(case, "fasting_glucose")
    return with_series(case, change(series, 1, tick)), int(series.days[1])


def test_a_critical_result_is_explained_by_a_fault_of_its_day_and_by_no_other():
    case, day = low_glucose(250)
    assert run(GATE, case).findings
    for touched, is_explained in ((day, True), (day + 1, False)):
        fault = ChartFault("delayed_separation_cold", "fasting_glucose", (touched,), -40.0)
        assert (not run(GATE, with_gold(case, faults=(*case.gold.faults, fault))).findings) == is_explained


@pytest.mark.slow
def test_a_drug_explains_a_low_result_but_not_a_critical_one():
    lowering = next(
        name for name, drug in knowledge().drugs.items() if any(e.item == "fasting_glucose" and e.mean < 0 for e in drug.effects)
    )
    for drug, tick, is_explained in ((lowering, 305, True), (lowering, 250, False), ("amlodipine", 305, False)):
        case, _ = low_glucose(tick)
        case = with_premise(case, drug=drug)
        assert is_lowered_by_drug(knowledge().analytes["fasting_glucose"], case.gold.premise, knowledge()) == (drug == lowering)
        assert (not run(GATE, case).findings) == is_explained


def test_a_condition_known_to_lower_it_explains_even_a_critical_result():
    case, _ = low_glucose(250)
    patient = case.gold.premise.patient
    assert not run(GATE, with_premise(case, patient=replace(patient, comorbidities=("insulinoma",)))).findings


def test_the_tiers_of_an_analyte_lie_in_order_above_what_is_possible_and_below_what_is_usual():
    assert len(TIERS) > 15
    for name in TIERS:
        row, cause, critical = knowledge().analytes[name], knowledge().parameter(CAUSE + name), knowledge().parameter(CRITICAL + name)
        usual = min(limit for limit in (row.ref_low_m, row.ref_low_f) if limit is not None)
        assert row.hard_low < critical < cause < usual, name
