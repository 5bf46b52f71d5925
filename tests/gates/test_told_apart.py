"""The two numbers of a finding differ as printed wherever they differ at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinworld.gates.told_apart import tell_apart


@pytest.mark.parametrize(
    ("found", "limit", "told"),
    [
        (1.6449, 1.65, ("+1.64", "+1.65")),
        (2.0, 1.6, ("+2.0", "+1.6")),
        (1.6, 1.6, ("+1.6", "+1.6")),
        (1.59996, 1.6, ("+1.59996", "+1.60000")),
    ],
)
def test_a_finding_never_says_found_1_6_at_least_1_6(found, limit, told):
    assert tell_apart(found, limit, 1, sign="+") == told


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6))
def test_numbers_that_differ_are_printed_differently(found, limit):
    one, other = tell_apart(found / 10**5, limit / 10**5, 0)
    assert (one == other) == (found == limit)
