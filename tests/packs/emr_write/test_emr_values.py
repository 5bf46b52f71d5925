"""Checker and slow oracle on single values: what a few changed characters make of a right value, both must see alike."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clinworld.packs.emr_write.checker.spec import ExpectedRecord
from clinworld.packs.emr_write.checker.values import Comparison
from clinworld.packs.emr_write.checker.verdict import ALL_RULES
from clinworld.packs.emr_write.search.slow_values import canonical

AMOUNTS = ("doseQuantity",)
CHECKER = Comparison(ExpectedRecord("r", "MedicationRequest", "create", {}, {}, unit_equivalent=AMOUNTS), ALL_RULES, {})
CHARACTERS = [
    *"0123456789",
    *"TZtz+-:., \n/eE",
    "\u0660",
    "\u0665",
    "\uff10",
    "\uff1a",
    "\u2212",
    "\u200b",
    "\u00a0",
    "e\u0301",
    "\u00e9",
    "\u00c5",
]
RIGHT = [
    ("authoredOn", "2026-03-01T09:30:00-05:00"),
    ("authoredOn", "2024-02-29T23:59:59.120Z"),
    ("issued", "2026-01-01T00:00:00+14:00"),
    ("start", "0001-01-01T00:00:00+00:00"),
    ("end", "9999-12-31T23:59:59-14:00"),
    ("authoredOn", "2026-03-01"),
    ("note", "20 mg caf\u00e9"),
    ("reference", "Patient/p1"),
    ("doseQuantity", {"value": Decimal("0.500"), "unit": "g"}),
    ("doseQuantity", {"value": 20, "unit": "mEq"}),
    ("value", Decimal("1.50")),
    ("doNotPerform", False),
    ("coding", [{"system": "urn:a", "code": "1"}, {"system": "urn:b", "code": "2"}]),
]


def is_same_twice(name, right, found):
    """What the checker says, and what the slow oracle says."""
    by_checker = not list(CHECKER.compare_objects("", {name: right}, {name: found}))
    return by_checker, canonical({name: right}, AMOUNTS) == canonical({name: found}, AMOUNTS)


def edit_text(text):
    """The text with a few characters put in, taken out or exchanged."""
    step = st.tuples(st.sampled_from("pte"), st.integers(0, len(text)), st.sampled_from(CHARACTERS))

    def apply(steps):
        edited = text
        for what, at, character in steps:
            edited = edited[:at] + ("" if what == "t" else character) + edited[at + (what != "p") :]
        return edited

    return st.lists(step, max_size=3).map(apply)


def edit_offset(text):
    """An instant with any offset, fraction and shift of its hour."""
    if "T" not in text:
        return edit_text(text)
    hours, minutes = st.integers(0, 25), st.sampled_from((0, 1, 30, 59, 60))
    fraction = st.sampled_from(("", ".", ".0", ".000000000000000000", ".12", ".120", ".1200000001", ".\u0660"))
    offset = st.tuples(st.sampled_from("+-"), hours, minutes).map(lambda it: f"{it[0]}{it[1]:02}:{it[2]:02}") | st.just("Z")
    return st.tuples(hours, fraction, offset).map(lambda it: f"{text[:11]}{it[0]:02}{text[13:19]}{it[1]}{it[2]}")


def edit_value(value):
    """The value with small changes, at whatever depth; of the same type or another."""
    if isinstance(value, dict):
        return st.fixed_dictionaries({name: st.just(each) | edit_value(each) for name, each in value.items()})
    if isinstance(value, list):
        return st.tuples(*(edit_value(each) for each in value)).map(list) | st.permutations(value).map(list) | st.just(value[:1])
    if isinstance(value, str):
        return edit_text(value) | edit_offset(value)
    others = st.sampled_from((True, False, 0, 1, 20, 500, Decimal("20.0"), Decimal("5E+2"), Decimal("1.5"), "20", None))
    return others | st.just(value)


PAIRS = st.sampled_from(RIGHT).flatmap(lambda pair: st.tuples(st.just(pair[0]), st.just(pair[1]), edit_value(pair[1])))
UNHEALTHY = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.mark.parametrize(("name", "right"), RIGHT)
def test_a_value_is_itself_to_both(name, right):
    assert is_same_twice(name, right, right) == (True, True)


@pytest.mark.parametrize(("found", "is_same"), [
    ("2026-03-01T14:30:00Z", True), ("2026-03-01T14:30:00.0000000000000000Z", True), ("2026-03-02T04:30:00+14:00", True),
    ("2026-03-01T14:30:00.0000001Z", False), ("2026-03-02T14:29:00+23:59", False), ("2026-03-02T14:30:00+24:00", False),
    ("2026-03-01T09:30:00-\u0660\u0665:\u0660\u0660", False), ("20260301T143000Z", False), ("2026-03-01 14:30:00Z", False),
    ("2026-W09-7T14:30:00Z", False), ("2026-03-01T14:30Z", False), ("2026-03-01T14:30:00,0Z", False), ("2026-02-29T14:30:00Z", False),
    ("2026-03-01T09:30:00-05:00:00", False), ("2026-03-01T14:29:60Z", False),
])  # fmt: skip
def test_only_an_instant_of_fhirs_form_is_the_same_moment_to_both(found, is_same):
    assert is_same_twice(*RIGHT[0], found) == (is_same, is_same)


@pytest.mark.parametrize("zero", ["\u0660", "\u06f0", "\u0966", "\uff10", "\U0001d7ce"])
def test_an_instant_with_any_one_digit_in_another_script_is_no_instant_to_either(zero):
    right = "2026-03-01T09:30:00.120-05:00"
    for i, character in enumerate(right):
        if character.isdecimal():
            found = right[:i] + chr(ord(zero) + int(character)) + right[i + 1 :]
            assert is_same_twice("authoredOn", right, found) == (False, False), found


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=UNHEALTHY)
@given(pair=PAIRS)
@example(pair=(*RIGHT[1], "2024-02-29T23:59:59.12Z"))
def test_checker_and_slow_oracle_agree_on_every_changed_value(pair):
    by_checker, by_oracle = is_same_twice(*pair)
    assert by_checker == by_oracle, pair


@pytest.mark.slow
@settings(max_examples=4_000, deadline=None, suppress_health_check=UNHEALTHY)
@given(pair=PAIRS)
def test_checker_and_slow_oracle_agree_on_very_many_changed_values(pair):
    by_checker, by_oracle = is_same_twice(*pair)
    assert by_checker == by_oracle, pair
