"""Rules are three-valued, order matters, and what is not known is asked for, never skipped."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_book import KNOWLEDGE, PROTOCOLS, SHAPES, predicate, sample

from clinworld.core.errors import UsageError
from clinworld.knowledge.rule_rows import AllOf, AnyOf, Facts, FactValue, IsTest, Missing, Not, NumberTest, Predicate, Rule
from clinworld.knowledge.rules import Undecided, boundary_facts, derive_decision, facts_of, first_rule, holds, missing_facts

# comparison, value of the fact x, whether it holds
COMPARISONS = [
    ({"at_least": 5}, 4.9, False),
    ({"at_least": 5}, 5.0, True),
    ({"above": 5}, 5.0, False),
    ({"above": 5}, 5.1, True),
    ({"at_most": 5}, 5.0, True),
    ({"at_most": 5}, 5.1, False),
    ({"below": 5}, 4.9, True),
    ({"below": 5}, 5.0, False),
    ({"between": [3, 5]}, 2.9, False),
    ({"between": [3, 5]}, 3.0, True),
    ({"between": [3, 5]}, 4.9, True),
    ({"between": [3, 5]}, 5.0, False),
    ({"is": True}, True, True),
    ({"is": True}, False, False),
    ({"is": False}, False, True),
    ({"is": "mild"}, "mild", True),
    ({"is": "mild"}, "severe", False),
    ({"one_of": ["mild", "severe"]}, "severe", True),
    ({"one_of": ["mild", "severe"]}, "none", False),
]


@pytest.mark.parametrize(("operator", "value", "expected"), COMPARISONS)
def test_comparison_means_what_it_says_and_is_unknown_without_its_fact(operator: dict[str, Any], value: FactValue, expected: bool) -> None:
    leaf = predicate({"fact": "x", **operator})
    assert holds(leaf, {"x": value}) is expected
    assert holds(leaf, {}) is None
    assert holds(leaf, {"x": None}) is None


def test_missing_is_known_either_way() -> None:
    assert holds(Missing("x"), {}) is True
    assert holds(Missing("x"), {"x": None}) is True
    assert holds(Missing("x"), {"x": 0.0}) is False


def test_number_compared_with_another_fact_is_unknown_until_both_are_known() -> None:
    over = predicate({"fact": "hba1c", "above": {"fact": "hba1c_target"}})
    assert holds(over, {"hba1c": 7.1}) is None
    assert holds(over, {"hba1c_target": 7.0}) is None
    assert holds(over, {"hba1c": 7.1, "hba1c_target": 7.0}) is True
    assert holds(over, {"hba1c": 7.1, "hba1c_target": 7.5}) is False
    assert facts_of(over) == ("hba1c", "hba1c_target")


@pytest.mark.parametrize(
    ("value", "leaf"),
    [
        ("high", {"above": 5}),
        (True, {"above": 5}),
        (float("nan"), {"above": 5}),
        (1.0, {"is": True}),
        (True, {"is": "mild"}),
        (True, {"one_of": ["a", "b"]}),
    ],
)
def test_value_of_another_kind_is_an_error_and_no_verdict(value: FactValue, leaf: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="fact x"):
        holds(predicate({"fact": "x", **leaf}), {"x": value})


TRUE, FALSE, UNKNOWN = IsTest("yes", True), IsTest("no", True), IsTest("perhaps", True)
KNOWN: Facts = {"yes": True, "no": False}


@pytest.mark.parametrize(
    ("one", "two", "both", "either"),
    [
        (TRUE, TRUE, True, True),
        (TRUE, FALSE, False, True),
        (TRUE, UNKNOWN, None, True),
        (FALSE, FALSE, False, False),
        (FALSE, UNKNOWN, False, None),
        (UNKNOWN, IsTest("perhaps", False), None, None),
    ],
)
def test_all_any_and_not_follow_the_table_of_kleene(one: Predicate, two: Predicate, both: bool | None, either: bool | None) -> None:
    for pair in ((one, two), (two, one)):
        assert holds(AllOf(pair), KNOWN) is both
        assert holds(AnyOf(pair), KNOWN) is either
    assert holds(Not(UNKNOWN), KNOWN) is None
    assert holds(Not(TRUE), KNOWN) is False


few = settings(max_examples=60)
NAMES = ("a", "b", "c", "d")
LEAVES: st.SearchStrategy[Predicate] = st.builds(
    NumberTest, st.sampled_from(NAMES), st.sampled_from(("at_least", "above", "at_most", "below")), st.integers(0, 3).map(float)
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        inner.map(Not),
    ),
    max_leaves=8,
)
NUMBERS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3).map(float))
ALL_NUMBERS = st.fixed_dictionaries({name: st.integers(0, 3).map(float) for name in NAMES})


@few
@given(PREDICATES, NUMBERS, ALL_NUMBERS)
def test_more_knowledge_never_takes_a_verdict_back(tested: Predicate, some: dict[str, FactValue], rest: dict[str, FactValue]) -> None:
    before = holds(tested, some)
    if before is not None:
        assert holds(tested, {**rest, **some}) is before


@few
@given(PREDICATES, ALL_NUMBERS)
def test_nothing_is_unknown_when_every_fact_is_known(tested: Predicate, facts: dict[str, FactValue]) -> None:
    assert holds(tested, facts) is not None
    assert missing_facts(tested, facts) == ()


@pytest.mark.slow
@few
@given(PREDICATES, PREDICATES, NUMBERS)
def test_not_of_all_is_any_of_nots(one: Predicate, two: Predicate, facts: dict[str, FactValue]) -> None:
    assert holds(Not(AllOf((one, two))), facts) is holds(AnyOf((Not(one), Not(two))), facts)
    assert holds(Not(AnyOf((one, two))), facts) is holds(AllOf((Not(one), Not(two))), facts)
    assert holds(Not(Not(one)), facts) is holds(one, facts)


@pytest.mark.slow
@few
@given(PREDICATES, NUMBERS)
def test_facts_said_to_be_missing_are_unknown_and_enough(tested: Predicate, facts: dict[str, FactValue]) -> None:
    lacking = missing_facts(tested, facts)
    assert (holds(tested, facts) is None) == bool(lacking)
    assert all(fact not in facts for fact in lacking)
    assert holds(tested, {**facts, **dict.fromkeys(lacking, 1.0)}) is not None


RISING: st.SearchStrategy[Predicate] = st.recursive(
    st.builds(NumberTest, st.sampled_from(NAMES), st.sampled_from(("at_least", "above")), st.integers(0, 3).map(float)),
    lambda inner: st.lists(inner, min_size=2, max_size=3).map(tuple).flatmap(lambda parts: st.sampled_from((AllOf(parts), AnyOf(parts)))),
    max_leaves=6,
)


@pytest.mark.slow
@few
@given(RISING, ALL_NUMBERS, st.sampled_from(NAMES))
def test_predicate_of_lower_limits_is_not_lost_when_a_number_rises(tested: Predicate, facts: dict[str, float], name: str) -> None:
    if holds(tested, facts):
        assert holds(tested, {**facts, name: facts[name] + 1})


def names(rules: tuple[Rule, ...]) -> list[str]:
    return [rule.id for rule in rules]


HIGH: Facts = {"hba1c": 8.0, "hba1c_target": 7.0, "dose": 1000.0, "formulation": "extended_release"}


def test_first_rule_that_holds_decides(tmp_path: Any) -> None:
    protocol = sample(tmp_path)
    stop, higher, keep = protocol.rules
    assert first_rule(protocol, {**HIGH, "egfr": 20.0}) == stop  # has_aki is unknown, and one of the two is enough
    assert first_rule(protocol, {**HIGH, "egfr": 80.0, "has_aki": False}) == higher
    assert first_rule(protocol, {**HIGH, "egfr": 80.0, "has_aki": False, "hba1c": 6.5}) == keep
    assert first_rule(protocol, {**HIGH, "egfr": 155.0, "has_aki": False, "hba1c": 6.5}) is None


def test_safety_rule_that_cannot_be_decided_is_not_skipped(tmp_path: Any) -> None:
    protocol = sample(tmp_path)
    found = first_rule(protocol, {**HIGH, "egfr": 80.0})
    assert isinstance(found, Undecided)
    assert names(found.rules) == ["sample_stop", "sample_raise"]
    assert found.missing == ("has_aki",)


def test_undecided_ends_with_the_first_rule_that_holds_and_lists_all_that_is_lacking(tmp_path: Any) -> None:
    found = first_rule(sample(tmp_path), {"egfr": 80.0, "hba1c": 8.0, "formulation": "extended_release"})
    assert isinstance(found, Undecided)
    assert names(found.rules) == ["sample_stop", "sample_raise", "sample_keep"]
    assert found.missing == ("has_aki", "hba1c_target", "dose")


def test_unknown_rule_after_the_first_that_holds_is_not_asked_about(tmp_path: Any) -> None:
    found = first_rule(sample(tmp_path), {"egfr": 20.0})
    assert isinstance(found, Rule)
    assert found.id == "sample_stop"


def quiet(*, drug: str, **known: FactValue) -> dict[str, FactValue]:
    """Everything the rules before any change look at, with nothing wrong: no sign, normal values, doses taken, time enough."""
    facts: dict[str, FactValue] = {}
    for rule in PROTOCOLS["before_any_change"].rules:
        facts |= {fact: False for fact in facts_of(rule.when) if SHAPES[fact].kind == "flag"}
    facts |= {"potassium": 4.2, "sodium": 140.0, "neutrophils": 4.0, "beta_hydroxybutyrate": 0.1, "egfr_fall": 0.0}
    facts |= {"alt_times_upper": 0.6, "bilirubin_times_upper": 0.5, "ck_times_upper": 0.4}
    facts |= {"days_since_illness_or_steroid": 400.0, "is_result_confirmed": True, "distance_to_target_pct": 20.0, "rcv_pct": 5.0}
    facts |= {"days_covered_pct": 95.0, "weekly_doses_missed_6wk": 0.0, "days_since_dose_change": 100.0, "min_step_days": 14.0}
    return {**facts, "drug": drug, **known}


ACARBOSE = {
    "has_disabling_gas_or_diarrhoea": False,
    "is_dose_tolerated": True,
    "hba1c": 8.0,
    "hba1c_target": 7.0,
    "dose": 50.0,
    "top_dose": 100.0,
}
FUROSEMIDE = {
    **{"has_vomiting": False, "has_diarrhoea": False, "has_poor_intake": False, "creatinine_rise_4wk": 0.0, "standing_sbp_drop": 5.0},
    **{"weight_below_dry": -3.0, "takes_digoxin": False, "weight_gain_3d": 2.5, "has_more_oedema": True},
}
OVERRULED = [
    ("titrate_alpha_glucosidase_inhibitor", "acarbose", {**ACARBOSE}, "acarbose_raise_above_target"),
    ("titrate_alpha_glucosidase_inhibitor", "acarbose", {**ACARBOSE, "days_covered_pct": 79.0}, "first_secure_the_doses"),
    ("titrate_alpha_glucosidase_inhibitor", "acarbose", {**ACARBOSE, "min_step_days": 120.0}, "wait_for_the_full_effect"),
    (
        "titrate_alpha_glucosidase_inhibitor",
        "acarbose",
        {**ACARBOSE, "is_result_confirmed": False, "distance_to_target_pct": 4.0},
        "repeat_a_single_result_near_target",
    ),
    (
        "titrate_alpha_glucosidase_inhibitor",
        "acarbose",
        {**ACARBOSE, "had_recent_illness_or_steroid": True, "days_since_illness_or_steroid": 14.0},
        "wait_after_illness_or_steroid",
    ),
    ("titrate_alpha_glucosidase_inhibitor", "acarbose", {**ACARBOSE, "has_severe_skin_reaction": True}, "stop_the_drug_that_does_harm"),
    # a safety rule of the drug itself is final, whatever the doses taken and the time passed
    (
        "titrate_alpha_glucosidase_inhibitor",
        "acarbose",
        {**ACARBOSE, "has_disabling_gas_or_diarrhoea": True, "days_covered_pct": 10.0, "min_step_days": 120.0},
        "acarbose_cut_for_gas",
    ),
    # no change proposed: only harm overrules it
    ("titrate_alpha_glucosidase_inhibitor", "acarbose", {**ACARBOSE, "hba1c": 6.5, "days_covered_pct": 10.0}, "acarbose_keep_at_target"),
    # the increase that illness may not block
    (
        "titrate_loop_diuretic",
        "furosemide",
        {**FUROSEMIDE, "had_recent_illness_or_steroid": True, "days_since_illness_or_steroid": 3.0},
        "furosemide_raise_for_congestion",
    ),
]


@pytest.mark.parametrize(("protocol", "drug", "facts", "expected"), OVERRULED, ids=[row[3] for row in OVERRULED])
def test_rules_before_any_change_overrule_a_proposal_but_no_safety_rule(
    protocol: str, drug: str, facts: dict[str, FactValue], expected: str
) -> None:
    found = derive_decision(PROTOCOLS[protocol], PROTOCOLS["before_any_change"], quiet(drug=drug, **facts))
    assert isinstance(found, Rule)
    assert found.id == expected


def test_proposal_waits_for_a_fact_that_could_overrule_it() -> None:
    facts = quiet(drug="acarbose", **ACARBOSE)
    del facts["days_covered_pct"]
    found = derive_decision(PROTOCOLS["titrate_alpha_glucosidase_inhibitor"], PROTOCOLS["before_any_change"], facts)
    assert isinstance(found, Undecided)
    assert found.missing == ("days_covered_pct",)
    assert names(found.rules) == ["first_secure_the_doses", "acarbose_raise_above_target"]


def test_undecided_proposal_asks_for_its_own_facts_and_not_for_what_is_proposed() -> None:
    facts = quiet(drug="acarbose", **ACARBOSE)
    del facts["hba1c"]
    found = derive_decision(PROTOCOLS["titrate_alpha_glucosidase_inhibitor"], PROTOCOLS["before_any_change"], facts)
    assert isinstance(found, Undecided)
    assert found.missing == ("hba1c",)
    facts["has_severe_skin_reaction"] = True
    found = derive_decision(PROTOCOLS["titrate_alpha_glucosidase_inhibitor"], PROTOCOLS["before_any_change"], facts)
    assert isinstance(found, Rule)
    assert found.id == "stop_the_drug_that_does_harm"


def test_no_rule_at_all_is_none() -> None:
    facts = quiet(drug="acarbose", **{**ACARBOSE, "dose": 50.0, "is_dose_tolerated": False})
    assert derive_decision(PROTOCOLS["titrate_alpha_glucosidase_inhibitor"], PROTOCOLS["before_any_change"], facts) is None


def test_boundary_values_differ_by_the_last_printed_digit() -> None:
    tested = predicate(
        {"any": [{"fact": "potassium", "at_least": 6.0}, {"fact": "egfr", "between": [30, 45]}, {"fact": "has_aki", "is": True}]}
    )
    values = [(one.comparison.fact, one.below, one.at, one.above) for one in boundary_facts(tested, SHAPES)]
    assert values == [("potassium", 5.99, 6.0, 6.01), ("egfr", 29.0, 30.0, 31.0), ("egfr", 44.0, 45.0, 46.0)]


def test_boundary_of_a_comparison_with_a_fact_gives_that_fact_too() -> None:
    (one,) = boundary_facts(predicate({"fact": "hba1c", "above": {"fact": "hba1c_target"}}), SHAPES)
    target = one.others["hba1c_target"]
    assert one.at == target
    shape = KNOWLEDGE.rule_facts["hba1c_target"]
    assert shape.low is not None
    assert shape.high is not None
    assert shape.low < target < shape.high
