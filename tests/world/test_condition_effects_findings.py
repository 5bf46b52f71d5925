"""A test has a modelled result for every item, consistent with the conditions, or says why there is none."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from make_premise import make_premise
from presenting_case import CONDITIONS, KNOWLEDGE, RNG, examine, present

from clinworld.cohort.patient import drawn_job
from clinworld.schema.record import PARTS, FindingResult
from clinworld.world.build import build_world
from clinworld.world.condition_findings import Examined, Unavailable, derive_findings, find_result, find_test, follow
from clinworld.world.condition_sizes import reference_limits
from clinworld.world.course import build_course
from clinworld.world.draw import draw_case
from clinworld.world.premise import derive_premise

pytestmark = pytest.mark.rows

DAY = 84


def positives(condition: str, item: str, people: int) -> float:
    results = [find_result(item, DAY, examine(present(condition, number)[0])) for number in range(people)]
    return sum(isinstance(each, FindingResult) and each.is_positive is True for each in results) / people


@pytest.mark.parametrize(
    ("condition", "item"), [("pe", "ctpa"), ("hepatitis_b", "hbsag"), ("iron_deficiency_anaemia", "clinical_assessment")]
)
def test_a_finding_is_positive_in_most_who_have_its_condition_and_in_few_others(condition: str, item: str) -> None:
    has_it = any(f.item == item and f.moves == "positive" for f in KNOWLEDGE.conditions[condition].findings)
    share = positives(condition, item, 30)
    assert 0.7 <= share <= 1.0 if has_it else share <= 0.2


def test_a_sensitivity_is_below_one() -> None:
    assert positives("uti", "urine_culture", 80) < 1.0


def test_without_a_condition_words_are_negative_but_for_a_few_false_positives() -> None:
    words = [name for name, row in KNOWLEDGE.findings.items() if not row.is_numeric]
    shares = []
    for number in range(12):
        patient = examine(make_premise(case_id=f"well-{number}", disease=""))
        results = [find_result(name, DAY, patient) for name in words]
        shares.append(sum(isinstance(each, FindingResult) and each.is_positive is True for each in results) / len(words))
    assert 0.0 < sum(shares) / len(shares) < 0.05


def test_a_finding_is_negative_before_its_condition_has_begun() -> None:
    ill = next(
        p
        for p, _ in (present("pe", n) for n in range(9))
        if isinstance(r := find_result("ctpa", DAY, examine(p)), FindingResult) and r.is_positive
    )
    early = find_result("ctpa", 5, examine(ill))
    assert isinstance(early, FindingResult) and not early.is_positive


@pytest.mark.parametrize("condition", ["cushing", "pe", "pcos"])
def test_every_item_has_a_result_inside_its_bounds_or_says_why_not(condition: str) -> None:
    patient = follow(examine(present(condition)[0]), list(KNOWLEDGE.items))
    for name in KNOWLEDGE.items:
        check_result(name, find_result(name, DAY, patient), patient)


def check_result(name: str, result: FindingResult | Unavailable, patient: Examined) -> None:
    row = KNOWLEDGE.items[name]
    if isinstance(result, Unavailable):
        assert result.reason in ("sex", "device", "out_of_domain"), name
        return
    assert (result.ticks is None) != (result.is_positive is None) or name in KNOWLEDGE.findings, name
    if result.ticks is not None:
        value = result.ticks / 10.0**result.decimals
        assert result.decimals == row.decimals and row.hard_low <= value <= row.hard_high, (name, value)  # type: ignore[operator]


@pytest.mark.slow
def test_two_thousand_patients_over_all_conditions_show_nothing_impossible() -> None:
    items = list(KNOWLEDGE.items)
    for number in range(2000):
        condition = CONDITIONS[number % len(CONDITIONS)]
        ill, _ = present(condition, number, has_background=True)
        assert condition not in ill.patient.comorbidities
        order = RNG.at(f"checked-{number}", "items").order(len(items))
        own = [each.item for each in KNOWLEDGE.conditions[condition].findings]
        wanted = list(dict.fromkeys([*own, *(items[place] for place in order[:40])]))
        patient = follow(examine(ill), wanted)
        for name in wanted:
            check_result(name, find_result(name, DAY, patient), patient)
        men_only = ill.patient.sex == "M" and isinstance(find_result("hcg", DAY, patient), Unavailable)
        assert men_only or ill.patient.sex == "F"


def test_the_check_of_bounds_sees_an_impossible_value() -> None:
    patient = examine(make_premise())
    with pytest.raises(AssertionError):
        check_result("potassium", FindingResult(DAY, "potassium", None, 9999, 2), patient)


def test_a_result_does_not_depend_on_what_else_was_tested() -> None:
    patient = examine(present("ckd", 1)[0])
    alone = find_result("potassium", DAY, patient)
    for name in ("calcium", "haemoglobin", "urine_acr"):
        find_result(name, DAY, patient)
    assert find_result("potassium", DAY, patient) == alone == find_result("potassium", DAY, follow(patient, list(KNOWLEDGE.items)))


def test_a_calculated_result_follows_from_the_printed_ones_of_the_day() -> None:
    patient = examine(present("mash_fibrosis", 2)[0])
    inputs = {name: find_result(name, DAY, patient) for name in ("ast", "alt", "platelets")}
    ast, alt, platelets = (each.ticks for each in inputs.values() if isinstance(each, FindingResult) and each.ticks is not None)
    age = (patient.premise.patient.age_low + patient.premise.patient.age_high) / 2
    fib4 = find_result("fib4", DAY, patient)
    assert isinstance(fib4, FindingResult) and fib4.ticks == round(100 * age * ast / (platelets * np.sqrt(alt)))


def test_what_is_charted_is_repeated_as_charted() -> None:
    premise = make_premise()
    course, chart = build_world(premise, KNOWLEDGE, RNG)
    series = chart.record.find("ldl_c")
    assert series is not None
    patient = Examined(premise, course, KNOWLEDGE, RNG, chart.record)
    repeated = find_result("ldl_c", int(series.days[0]), patient)
    assert isinstance(repeated, FindingResult) and repeated.ticks == int(series.ticks[0])
    assert find_result("ldl_c", int(series.days[0]), patient._replace(record=None)) != repeated


def test_pressure_in_the_office_follows_that_at_home() -> None:
    higher = []
    for number in range(30):
        known, unknown = (make_premise(case_id=f"office-{number}", disease=disease) for disease in ("hypertension", ""))
        high, usual = (find_result("office_sbp", 3, examine(premise)) for premise in (known, unknown))
        assert isinstance(high, FindingResult) and isinstance(usual, FindingResult)
        higher.append((high.is_positive, (high.ticks or 0) > (usual.ticks or 0)))
    assert np.mean([is_positive for is_positive, _ in higher]) > 0.7 and np.mean([is_over for _, is_over in higher]) > 0.9


def test_a_test_without_a_device_or_for_the_other_sex_is_unavailable() -> None:
    man = examine(make_premise(sex="M", devices=("smart_scale",)))
    assert find_result("hcg", DAY, man) == Unavailable(DAY, "hcg", "sex")
    assert find_result("spo2_night", DAY, man) == Unavailable(DAY, "spo2_night", "device")
    woman = examine(make_premise(sex="F"))
    assert isinstance(find_result("hcg", DAY, woman), FindingResult) and isinstance(find_result("spo2_night", DAY, woman), FindingResult)


def test_an_unknown_item_has_no_result() -> None:
    with pytest.raises(KeyError):
        find_result("no_such_item", DAY, examine(make_premise()))


@pytest.mark.parametrize("test", [name for name in KNOWLEDGE.tests])
def test_every_orderable_test_has_a_result_for_all_it_measures(test: str) -> None:
    patient = PATIENT
    results = find_test(test, DAY, patient)
    assert [each.name for each in results] == list(KNOWLEDGE.tests[test].measures)


PATIENT = follow(examine(present("pcos", 3)[0]), list(KNOWLEDGE.items))


def test_findings_are_charted_on_request_and_move_nothing_else() -> None:
    premise = make_premise()
    (_, plain), (_, asked) = build_world(premise, KNOWLEDGE, RNG), build_world(premise, KNOWLEDGE, RNG, frozenset({"findings"}))
    assert plain.record.findings == () and asked.record.findings and "findings" in PARTS
    assert [s.ticks.tobytes() for s in plain.record.series] == [s.ticks.tobytes() for s in asked.record.series]
    assert plain.record.notes == asked.record.notes
    names = Counter(each.name for each in asked.record.findings)
    assert set(names) <= {name.split(".")[2] for name in KNOWLEDGE.parameters if name.startswith("finding.routine.")}
    days = [each.day for each in asked.record.findings]
    assert days == sorted(days)


def test_findings_up_to_a_day_do_not_depend_on_the_end_of_the_course() -> None:
    short, long = make_premise(case_id="END"), make_premise(case_id="END", course_end_day=400)
    charted = [derive_findings(p, examine(p).course, KNOWLEDGE, RNG) for p in (short, long)]
    early = [[each for each in findings if each.day <= DAY and each.name != "bmi"] for findings in charted]
    assert early[0] == early[1]


def test_a_documented_condition_shows_in_what_is_found() -> None:
    known = replace(make_premise(comorbidities=("thyroid_nodule",)), case_id="K-1")
    assert any(
        isinstance(each := find_result("thyroid_ultrasound_nodule", DAY, examine(replace(known, case_id=f"K-{n}"))), FindingResult)
        and each.is_positive
        for n in range(4)
    )


def drops(condition: str, people: int) -> list[FindingResult]:
    premises = [make_premise(case_id=f"S-{n}", disease="", comorbidities=(condition,) if condition else ()) for n in range(people)]
    results = [find_result("standing_sbp_drop", DAY, examine(premise)) for premise in premises]
    return [each for each in results if isinstance(each, FindingResult)]


@pytest.mark.slow
def test_pressure_on_standing_rises_in_some_and_falls_without_a_gap_up_to_and_over_the_limit() -> None:
    well, ill = drops("", 500), drops("autonomic_neuropathy", 60)
    ticks = np.array([each.ticks for each in well])
    assert 0.1 < np.mean(ticks < 0) < 0.4 and 0.0 < np.mean(ticks >= 20) < 0.06
    both = np.unique([each.ticks for each in (*well, *ill)])
    assert np.diff(both[(both >= -5) & (both <= 30)]).max() <= 2
    assert np.median([each.ticks for each in ill]) > 18 > np.median(ticks) + 5
    assert all(each.is_positive == (each.ticks >= 20) for each in (*well, *ill))


ORDERED = (
    *("haemoglobin", "mcv", "wbc", "tsat", "sodium", "chloride", "bicarbonate", "anion_gap", "calcium", "corrected_calcium", "albumin"),
    *("magnesium", "tsh", "ft4", "bilirubin_total", "uric_acid"),
)


@pytest.mark.slow
def test_what_is_ordered_of_people_without_a_hidden_condition_is_seldom_outside_its_interval() -> None:
    """Documented conditions move some of it in some people; no item lies on one side of its interval in more than one in eight."""
    job = drawn_job("ordered")
    outside: dict[tuple[str, str], list[bool]] = {}
    gaps = []
    for place in range(150):
        premise = derive_premise(draw_case(f"ordered.{place}", {}, KNOWLEDGE, RNG), job, KNOWLEDGE, RNG)
        patient = follow(Examined(premise, build_course(premise, KNOWLEDGE, RNG), KNOWLEDGE, RNG), ORDERED)
        for name in ORDERED:
            result, row = find_result(name, 0, patient), KNOWLEDGE.analytes[name]
            if isinstance(result, Unavailable):  # a formula holds for some values only
                continue
            assert result.ticks is not None
            value, (low, high) = result.ticks / 10.0**row.decimals, reference_limits(row, premise.patient.sex)
            outside.setdefault((name, "below"), []).append(low is not None and value < low)
            outside.setdefault((name, "above"), []).append(high is not None and value > high)
            gaps += [value] if name == "anion_gap" else []
    shares = {key: round(sum(each) / len(each), 3) for key, each in outside.items()}
    assert min(map(len, outside.values())) > 100
    assert max(shares.values()) < 1 / 8, sorted(shares.items(), key=lambda item: -item[1])[:4]
    assert min(gaps) > 0 and max(gaps) < 24
