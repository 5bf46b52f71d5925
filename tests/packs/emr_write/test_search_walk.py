"""Every sequence of actions up to a length: the checker and the slow oracle agree on all of them, and a lacking checker is found out."""

from collections import Counter

import pytest
from hypothesis import find, settings
from hypothesis import strategies as st

from clinworld.packs.emr_write.checker.verdict import ALL_RULES
from clinworld.packs.emr_write.search.cases import build_task, spell
from clinworld.packs.emr_write.search.slow_oracle import SlowStore, Wanted, judge_states
from clinworld.packs.emr_write.search.walk import READINGS, run_sequence, walk_sequences
from clinworld.packs.emr_write.store.sqlite import SqliteStore

# (task, longest sequence): what is walked by default, and what the slow tier walks
WALKED = [("mockmed", 2, 183), ("visit_with_observation", 2, 157), ("medication_request", 2, 381), ("openemr", 2, 157)]
SLOW = [
    ("mockmed", 3, 2380),
    ("visit_with_observation", 3, 1885),
    ("openemr", 3, 1885),
    ("medication_request", 3, 7240),
    ("accented", 3, 2380),
]


def check_walk(name, most, expected):
    walked = walk_sequences(build_task(name), spell(name), most=most)
    print(f"\n{name}, length <= {most}:", "; ".join(walked.show()))
    assert walked.sequences == expected and not walked.disagreements, walked.disagreements[:5]
    for reading in READINGS:
        assert walked.paid_wrong(reading) == walked.refused_right(reading) == 0
        assert walked.counts[reading][True, True] > 0 and walked.counts[reading][False, False] > 0
    assert all(walked.fooled[name] > 0 for name in ("banner", "form", "identity"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most", "expected"), WALKED)
def test_no_wrong_sequence_is_paid_and_no_right_one_refused(name, most, expected):
    check_walk(name, most, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most", "expected"), SLOW)
def test_no_longer_wrong_sequence_is_paid_and_no_right_one_refused(name, most, expected):
    check_walk(name, most, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "most"), [("whole_frame", 2), ("one_to_one_rows", 2), ("clean_history", 2), ("identity_by_key", 1), ("no_extra_elements", 1)]
)
def test_the_walk_finds_out_a_checker_that_lacks_a_rule(rule, most):
    walked = walk_sequences(build_task("mockmed"), spell("mockmed"), most=most, rules=ALL_RULES - {rule})
    assert walked.disagreements and all(len(each.letters) <= most for each in walked.disagreements)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "most"), [("whole_frame", 2), ("clean_history", 3)])
def test_a_long_sequence_that_fools_a_lacking_checker_shrinks_to_a_short_one(rule, most):
    task, letters = build_task("mockmed"), spell("mockmed")
    store = SqliteStore(task.setup)

    def is_fooled(names):
        found, truth, _ = run_sequence(store, task, letters, tuple(names), "clean", rules=ALL_RULES - {rule})
        return found == "verified" != truth

    options = settings(max_examples=1000, deadline=None, database=None, derandomize=True)
    found = find(st.lists(st.sampled_from(list(letters)), min_size=1, max_size=6), is_fooled, settings=options)
    assert 1 <= len(found) <= most, found
    store.close()


ROWS = [("Patient", "p1", {}), ("Patient", "p2", {}), ("patient_data", "d1", {"pubpid": "1"})]
WANTED = Wanted(creates=[("visit", "encounters", {"patient_id": "p1", "note": "n"})], optional={"key": ("k",)})
GOLD = {"op": "create", "collection": "encounters", "fields": {"patient_id": "p1", "note": "n"}, "full_url": "urn:uuid:new"}
NEW = {"collection": "encounters", "full_url": "urn:uuid:new"}
OTHER = {"op": "create", "collection": "encounters", "fields": {"patient_id": "p2", "note": "m"}, "full_url": "urn:uuid:b"}
GONE = {"op": "delete", "collection": "encounters", "full_url": "urn:uuid:b"}


# The slow oracle is held to cases a person can check: (actions, net, clean).
@pytest.mark.parametrize(("actions", "net", "clean"), [
    ([], "halted_before_effect", "halted_before_effect"),
    ([GOLD], "verified", "verified"),
    ([GOLD | {"fields": GOLD["fields"] | {"key": "k"}}], "verified", "verified"),
    ([GOLD | {"fields": GOLD["fields"] | {"key": "x"}}], "wrong_effect", "wrong_effect"),
    ([GOLD, GOLD], "wrong_effect", "wrong_effect"),
    ([GOLD | {"key": "a"}, GOLD | {"key": "a"}], "verified", "verified"),
    ([GOLD | {"key": "a"}, GOLD | {"key": "b"}], "wrong_effect", "wrong_effect"),
    ([GOLD, NEW | {"op": "update", "fields": {"note": "n"}, "key": "a"}, GOLD | {"key": "a"}], "verified", "verified"),
    ([GOLD, NEW | {"op": "update", "fields": {"note": "n"}, "key": "a"}, GOLD | {"key": "b"}], "wrong_effect", "wrong_effect"),
    # Done before under its key, or there already: the name stands for that row.
    ([OTHER | {"key": "a"}, GOLD | {"full_url": "urn:uuid:b"}, OTHER | {"key": "a"}, GONE], "verified", "wrong_effect"),
    ([GOLD, GOLD | {"if_none_exist": {"note": "n"}, "full_url": "urn:uuid:b"}, GONE], "halted_before_effect", "wrong_effect"),
    ([GOLD | {"fields": {"patient_id": "nobody"}, "key": "a"}, GOLD | {"key": "a"}], "verified", "verified"),
    ([GOLD | {"if_none_exist": {"note": "n"}}] * 2, "verified", "verified"),
    ([GOLD | {"fields": {"patient_id": "nobody", "note": "n"}}], "halted_before_effect", "halted_before_effect"),
    ([GOLD | {"fields": {"patient_id": "p2", "note": "n"}}], "wrong_effect", "wrong_effect"),
    ([GOLD, NEW | {"op": "delete"}], "halted_before_effect", "wrong_effect"),
    ([GOLD, NEW | {"op": "delete"}, GOLD], "verified", "wrong_effect"),
    ([GOLD, NEW | {"op": "update", "fields": {"note": "x"}}, NEW | {"op": "update", "fields": {"note": "n"}}], "verified", "wrong_effect"),
    ([GOLD, NEW | {"op": "update", "fields": {"note": "n"}}], "verified", "verified"),
    ([GOLD, {"op": "update", "collection": "patient_data", "id": "d1", "fields": {"sex": "x"}}], "wrong_effect", "wrong_effect"),
    ([GOLD, {"op": "update", "collection": "patient_data", "id": "d1", "fields": {"pubpid": "1"}}], "verified", "verified"),
    ([GOLD, {"op": "update", "collection": "patient_data", "id": "d1", "fields": {"sex": "x"}, "if_version": "2"}], "verified", "verified"),
    ([GOLD, {"op": "delete", "collection": "patient_data", "where": "*"}], "wrong_effect", "wrong_effect"),
    ([GOLD, {"op": "delete", "collection": "patient_data", "where": {"pubpid": "2"}}], "verified", "verified"),
])  # fmt: skip
def test_the_slow_oracle_says_what_a_person_says(actions, net, clean):
    slow = SlowStore(ROWS)
    for action in actions:
        slow.do(action)
    assert judge_states(WANTED, slow.states, is_net=True) == net
    assert judge_states(WANTED, slow.states, is_net=False) == clean


def test_the_slow_oracle_asks_for_the_decision_where_nothing_is_wanted():
    wanted, slow = Wanted(decision="no_write", reasons=("within_range",)), SlowStore(ROWS)
    said = {
        pair: judge_states(wanted, slow.states, pair, is_net=False)
        for pair in [("no_write", "within_range"), ("no_write", "x"), (None, None)]
    }
    assert list(said.values()) == ["verified", "halted_before_effect", "halted_before_effect"]
    slow.do(GOLD)
    assert judge_states(wanted, slow.states, ("no_write", "within_range"), is_net=False) == "wrong_effect"


def test_the_slow_oracle_imports_neither_checker_nor_store():
    from pathlib import Path

    from clinworld.packs.emr_write import search

    for name in ("slow_oracle.py", "slow_values.py"):
        lines = (Path(search.__file__).parent / name).read_text(encoding="utf-8").splitlines()
        imported = [line.split()[1] for line in lines if line.startswith(("import ", "from "))]
        assert [each for each in imported if each.startswith("clinworld")] in ([], ["clinworld.packs.emr_write.search.slow_values"])


def test_letters_give_the_naive_checks_something_to_fall_for():
    counts = Counter()
    for name in ("mockmed", "visit_with_observation"):
        counts.update(walk_sequences(build_task(name), spell(name), most=1).fooled)
    assert set(counts) >= {"field_inclusion", "content_only", "identity", "banner", "form"}
