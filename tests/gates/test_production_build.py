"""In a production build every gate is called, and has something to judge somewhere; the audit says what each said."""

from collections import defaultdict

import pytest
from gate_case import ROUNDS, SINGLE, built, drawn, knowledge, pack, pairs_of

from clinworld.gates.run_gates import check_batch, gate_names
from clinworld.packs.load import pack_names
from clinworld.schema.finding import GateResult

OF_OTHER_PARTS = {"dispensing_follows_orders", "history_is_possible"}  # no packaged pack's record has these parts


def states(results: list[GateResult]) -> dict[str, set[str]]:
    found = defaultdict(set)
    for result in results:
        found[result.gate].add(result.state)
    return found


@pytest.mark.parametrize("job_name", [SINGLE, pytest.param(ROUNDS, marks=pytest.mark.slow)])
def test_every_item_gate_was_called_and_had_something_to_judge(job_name):
    found = states([gate for case in built(job_name) for gate in case.gates])
    assert set(found) == set(gate_names("item")) - OF_OTHER_PARTS
    assert [gate for gate, seen in found.items() if "passed" not in seen] == []


@pytest.mark.slow
def test_every_batch_gate_was_called_and_had_something_to_judge():
    results = [*check_batch(pairs_of(built(SINGLE)), knowledge()), *check_batch(pairs_of(drawn(64)), knowledge())]
    found = states(results)
    assert set(found) == set(gate_names("batch"))
    assert [gate for gate, seen in found.items() if "passed" not in seen] == []


@pytest.mark.parametrize("name", pack_names())
def test_every_pack_names_every_gate_on_what_its_record_holds(name):
    assert set(pack(name).pack.gates) == set(gate_names("item")) - OF_OTHER_PARTS


@pytest.mark.parametrize("job_name", [SINGLE, pytest.param(ROUNDS, marks=pytest.mark.slow)])
def test_the_packaged_jobs_lose_no_case_to_a_gate(job_name):
    assert [(case.case_id, case.reasons()[:1]) for case in built(job_name) if not case.is_emitted] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", pack_names())
def test_few_drawn_cases_are_lost_to_gates(task):
    cases = drawn(500 if task == "early_warning" else 150, task=task)
    lost = [(case.case_id, case.reasons()[0]) for case in cases if not case.is_emitted]
    assert len(lost) <= 0.06 * len(cases), lost[:5]
