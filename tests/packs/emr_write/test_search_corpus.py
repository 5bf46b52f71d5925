"""The corpus of minimal counterexamples, replayed; a third party's verdicts scored on it."""

import json
import re
from functools import lru_cache

import pytest

from clinworld.core.canary import CANARY
from clinworld.core.errors import StoreError
from clinworld.packs.emr_write.checker.witnesses import WITNESSES
from clinworld.packs.emr_write.search.cases import Case, build_task, list_tasks, observe_case, spell
from clinworld.packs.emr_write.search.corpus import CORPUS, find_counterexamples, judge_case, list_candidates, read_corpus, write_corpus
from clinworld.packs.emr_write.search.score_checker import export_cases, list_shown, read_verdicts, score
from clinworld.packs.emr_write.search.walk import run_sequence
from clinworld.packs.emr_write.store.sqlite import SqliteStore

LINES = read_corpus()
TRUTH = {line.shown_id: line.is_right for line in LINES}


@lru_cache(maxsize=1)
def store():
    return SqliteStore()


@pytest.mark.slow
def test_every_line_of_the_corpus_comes_to_its_outcome_and_fools_whom_it_says():
    for line in LINES:
        verdict = observe_case(store(), line.case).judge()
        fools = tuple(name for name in WITNESSES if verdict.witnesses[name] and not line.is_right)
        assert (verdict.outcome, fools) == (line.outcome, line.fools), (line.case.case_id, verdict.reasons())


@pytest.mark.slow
def test_every_line_kills_exactly_the_rules_it_says():
    assert [judge_case(line.case, observe_case(store(), line.case)) for line in LINES] == list(LINES)


@pytest.mark.slow
def test_the_slow_oracle_agrees_with_every_line_of_letters():
    listed = [line for line in LINES if line.case.letters and line.case.task in ("mockmed", "medication_request", "visit_with_observation")]
    for line in listed:
        task, chart = build_task(line.case.task), SqliteStore(build_task(line.case.task).setup)
        reading = "net" if line.case.is_self_correction_allowed else "clean"
        found, truth, _ = run_sequence(chart, task, spell(line.case.task), line.case.letters, reading)
        chart.close()
        assert found == truth == line.outcome, line.case.case_id
    assert len(listed) >= 10


def test_every_naive_check_is_fooled_and_every_task_has_a_control_that_is_paid():
    assert {name for line in LINES for name in line.fools} == set(WITNESSES)
    assert {line.case.task for line in LINES if line.is_right and not line.case.letters and not line.case.faults} == set(list_tasks())


def test_a_counterexample_is_as_short_as_the_search_can_make_it():
    lines = {line.case.case_id for line in LINES if line.case.task == "mockmed"}
    assert {"mockmed:extra", "mockmed:other_patient", "mockmed:gold+other_collection", "mockmed~:gold+delete_new"} <= lines
    assert all(len(line.case.letters) <= 2 and len(line.case.faults) <= 1 for line in LINES)
    lengths = [len(case.letters) for case in list_candidates("mockmed", 2) if case.letters]
    assert lengths == sorted(lengths)


@pytest.mark.slow
def test_the_search_finds_the_corpus_again():
    assert find_counterexamples(store()) == list(LINES)


def test_the_corpus_carries_the_canary_and_is_read_as_it_was_written(tmp_path):
    assert CANARY in CORPUS.read_text(encoding="utf-8").splitlines()[0]
    write_corpus(LINES[:5], tmp_path / "c.jsonl")
    assert read_corpus(tmp_path / "c.jsonl") == LINES[:5]


@pytest.mark.parametrize("change", [{"outcome": "paid"}, {"case": "x"}, {"letters": ["gold"]}, {"more": 1}])
def test_a_line_that_is_none_is_named_with_its_number(tmp_path, change):
    (tmp_path / "c.jsonl").write_text(json.dumps({**LINES[0].as_row(), **change}))
    with pytest.raises(StoreError, match=r"c\.jsonl:1"):
        read_corpus(tmp_path / "c.jsonl")


def test_a_line_that_stands_twice_is_an_error(tmp_path):
    write_corpus([LINES[0], LINES[0]], tmp_path / "c.jsonl")
    with pytest.raises(StoreError, match="once"):
        read_corpus(tmp_path / "c.jsonl")


# somebody else's checker ---------------------------------------------------------------------------------------------------------


def test_a_right_checker_scores_clean_and_constant_ones_do_not():
    assert score(TRUTH).is_sound
    paid, refused = score(dict.fromkeys(TRUTH, True)), score(dict.fromkeys(TRUTH, False))
    assert len(paid.paid_wrong) == paid.wrong > 100 and not paid.refused_right
    assert len(refused.refused_right) == refused.right > 50 and not refused.paid_wrong
    assert paid.wrong + paid.right == len(LINES)


@pytest.mark.parametrize("name", WITNESSES)
def test_a_naive_check_scored_as_somebody_elses_pays_what_the_corpus_says(name):
    verdicts = {line.shown_id: name in line.fools if not line.is_right else True for line in LINES}
    assert score(verdicts).paid_wrong == tuple(line.case.case_id for line in LINES if name in line.fools)
    assert any(line.startswith("  ") for line in score(verdicts).show())


FIRST = LINES[0].shown_id


@pytest.mark.parametrize(
    ("change", "said"),
    [({FIRST: 1}, "true, false, or null"), ({FIRST: "true"}, "true, false, or null"), ({FIRST[:-1]: True}, "Did you mean")],
)
def test_a_verdict_that_is_none_is_refused(change, said):
    with pytest.raises(StoreError, match=said):
        score({**TRUTH, **change})


def test_a_case_without_a_verdict_is_named():
    with pytest.raises(StoreError, match=f"1 of {len(LINES)} cases.*{FIRST}"):
        score({name: is_paid for name, is_paid in TRUTH.items() if name != FIRST})


@pytest.mark.parametrize(("text", "said"), [
    ("[]", "name and paid"),
    ('{"name": "x"}', "name and paid"),
    ('{"name": "x", "paid": {}, "more": 1}', "name and paid"),
    ('{"name": 1, "paid": {}}', "text is expected"),
    ('{"name": "a\\n# b", "paid": {}}', "printable and on one line"),
    ('{"name": "\\ud800", "paid": {}}', "printable and on one line"),
    ('{"name": "x", "paid": []}', "an object"),
    ('{"name": "x", "paid": {"a": true, "a": false}}', "twice"),
    ("{", "not JSON"),
    ("[" * 100_000, "too long to be read"),
    ('{"name": "x", "paid": {"a": ' + "9" * 5000 + "}}", "too long to be read"),
])  # fmt: skip
def test_a_file_of_verdicts_is_read_strictly(tmp_path, text, said):
    (tmp_path / "v.json").write_text(text)
    with pytest.raises(StoreError, match=said):
        read_verdicts(tmp_path / "v.json")


def test_verdicts_are_read_from_a_file_and_scored(tmp_path):
    (tmp_path / "v.json").write_text(json.dumps({"name": "theirs", "paid": TRUTH}))
    verdicts = read_verdicts(tmp_path / "v.json")
    assert verdicts.name == "theirs" and score(verdicts.paid).is_sound


def test_what_a_checker_may_look_at_is_exported_without_the_outcome(tmp_path):
    write_corpus(LINES[::20], tmp_path / "c.jsonl")
    assert export_cases(store(), tmp_path / "cases.jsonl", corpus=tmp_path / "c.jsonl") == len(LINES[::20])
    rows = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["case"] for row in rows] == sorted(line.shown_id for line in LINES[::20])
    assert all(not {"outcome", "fools", "kills"} & set(row) for row in rows)
    assert any(row["after"] and row["after"]["changes"] and row["after"]["journal"] for row in rows)


def test_no_id_of_an_exported_case_says_what_it_is_and_no_two_are_the_same():
    assert len({line.shown_id for line in LINES}) == len(LINES)
    assert all(re.fullmatch("[0-9a-f]{12}", line.shown_id) for line in LINES)
    shown = [line.case.case_id for line in list_shown()]
    assert sorted(shown) == sorted(line.case.case_id for line in LINES) and shown != [line.case.case_id for line in LINES]


def test_a_case_left_unscored_is_not_paid_and_is_counted_apart():
    right = next(line for line in LINES if line.is_right)
    wrong = next(line for line in LINES if line.outcome == "failed_platform")
    on_wrong, on_both = score({**TRUTH, wrong.shown_id: None}), score({**TRUTH, wrong.shown_id: None, right.shown_id: None})
    assert on_wrong.is_sound and on_wrong.unscored == 1
    assert on_both.refused_right == (right.case.case_id,) and not on_both.paid_wrong and on_both.unscored == 2
    assert score(TRUTH).unscored == 0 and f"2 of {len(LINES)} cases left unscored" in on_both.show()


def test_a_case_that_cannot_be_read_is_exported_as_such():
    case = Case("mockmed", faults=("read_outage",))
    from clinworld.packs.emr_write.search.score_checker import show_case

    assert show_case(store(), judge_case(case, observe_case(store(), case)))["after"] is None
