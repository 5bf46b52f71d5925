"""Each rule is needed: without it the verdict on some line of the corpus is another. The table says which lines."""

from functools import lru_cache
from typing import get_args

import pytest

from clinworld.packs.emr_write.checker.verdict import ALL_RULES, Rule
from clinworld.packs.emr_write.search.cases import observe_case
from clinworld.packs.emr_write.search.corpus import read_corpus, show_face
from clinworld.packs.emr_write.store.sqlite import SqliteStore

pytestmark = pytest.mark.rows

MOST = 12  # lines judged again for each rule; the slow tier judges all


@lru_cache(maxsize=1)
def store():
    return SqliteStore()


@lru_cache(maxsize=512)
def observe(case):
    return observe_case(store(), case)


def killers(rule):
    return [line for line in read_corpus() if rule in line.kills]


@pytest.mark.parametrize("rule", get_args(Rule))
def test_without_a_rule_the_verdict_on_its_lines_is_another(rule):
    lines = killers(rule)
    assert lines, f"nothing in the corpus needs {rule}"
    for line in lines[:: max(1, len(lines) // MOST)]:
        observed = observe(line.case)
        assert show_face(observed.judge()) != show_face(observed.judge(ALL_RULES - {rule})), line.case.case_id


# The rules that decide what is paid, as opposed to what an outcome is called; with the line that shows it best.
PAYS = {
    "whole_frame": "mockmed:collateral_create",
    "one_to_one_rows": "mockmed:duplicate",
    "identity_by_key": "mockmed:other_patient",
    "no_extra_elements": "mockmed:extra",
    "clean_history": "mockmed:retract_and_reorder",
    "explicit_decision": "magnesium_rests:silence",
    "typed_values": "one_unit:true_for_one",
    "same_choice": "words_or_number:number_and_words",
    "modifier_elements": "medication_request:not_to_be_done",
    "whole_lists": "medication_request:second_coding",
    "unit_equivalence": "medication_request:same_amount_in_other_unit",
    "instants_with_offset": "medication_request:same_instant_elsewhere",
    "resolved_references": "medication_request:absolute_references",
    "declared_cascades": "medication_request:control",
    "readable_oracle": "mockmed:read_outage",
    "quiescence": "mockmed:never_applied",
    "live_rows_only": "mockmed~:gold+delete_new",
}
ONLY_NAMES = {"outcome_precedence", "policy_evidence_refused"}


@pytest.mark.parametrize("rule", PAYS)
def test_without_a_rule_something_else_is_paid(rule):
    line = next((line for line in read_corpus() if line.case.case_id == PAYS[rule]), None)
    assert line is not None, f"{PAYS[rule]} is not in the corpus; it has {[each.case.case_id for each in killers(rule)][:5]}"
    observed = observe(line.case)
    assert observed.judge().reward != observed.judge(ALL_RULES - {rule}).reward


def test_every_rule_is_in_one_of_the_two_tables():
    assert set(PAYS) | ONLY_NAMES == set(get_args(Rule)) and not set(PAYS) & ONLY_NAMES


@pytest.mark.slow
@pytest.mark.parametrize("rule", get_args(Rule))
def test_the_corpus_names_every_line_that_needs_a_rule(rule):
    found = [
        line.case.case_id
        for line in read_corpus()
        if show_face(observe(line.case).judge(ALL_RULES - {rule})) != show_face(observe(line.case).judge())
    ]
    assert found == [line.case.case_id for line in killers(rule)]
