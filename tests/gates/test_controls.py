from importlib import import_module

import pytest
from control_table import ALSO_FAILS, FAILS, PASSES, laboratory_fault
from gate_case import cases, run, with_gold

from clinworld.gates.run_gates import find_gate, gate_names
from clinworld.knowledge.load import load_knowledge

ITEM_GATES = gate_names("item")


def controls(gate: str, level: str = "item") -> tuple[str, str]:
    found: tuple[str, str] = import_module(f"clinworld.gates.{level}.{gate}").CONTROLS
    return found


@pytest.mark.parametrize("gate", ITEM_GATES)
def test_each_item_gate_passes_the_control_that_must_pass(gate):
    outcome = run(gate, PASSES[controls(gate)[0]]())
    assert outcome.checked and outcome.findings == ()


@pytest.mark.parametrize("gate", ITEM_GATES)
def test_each_item_gate_fails_the_control_that_must_fail_and_names_itself(gate):
    outcome = run(gate, FAILS[controls(gate)[1]]())
    assert outcome.findings
    if gate != "premise_holds":  # it speaks with the names of the contradictions
        assert {finding.check for finding in outcome.findings} == {gate}
    assert all(finding.place and finding.found and finding.allowed for finding in outcome.findings)


@pytest.mark.parametrize(("gate", "make"), ALSO_FAILS, ids=[f"{gate}-{i}" for i, (gate, _) in enumerate(ALSO_FAILS)])
def test_item_gates_fail_their_further_controls(gate, make):
    assert run(gate, make()).findings


def test_a_fault_of_a_charted_specimen_needs_no_plan_and_is_looked_at():
    plain, faulty = run("artifacts_act", with_gold(laboratory_fault(), faults=())), run("artifacts_act", laboratory_fault())
    assert faulty.findings == () and faulty.checked == plain.checked + 1


def test_every_control_in_the_table_belongs_to_a_gate_and_every_gate_has_both():
    declared = [controls(gate) for gate in ITEM_GATES]
    assert sorted(name for name, _ in declared) == sorted(PASSES)
    assert sorted(name for _, name in declared) == sorted(FAILS)


def test_a_gate_reads_and_never_edits(tmp_path):
    from clinworld.run.batch_files import digest_row
    from clinworld.schema.gold import gold_to_row
    from clinworld.schema.item import item_to_row

    case = cases()[0]
    before = digest_row(item_to_row(case.item)), digest_row(gold_to_row(case.gold))
    for gate in ITEM_GATES:
        run(gate, case)
    assert (digest_row(item_to_row(case.item)), digest_row(gold_to_row(case.gold))) == before


@pytest.mark.parametrize("level", ["item", "batch"])
def test_an_unknown_gate_is_refused_with_the_nearest_name(level):
    from clinworld.core.errors import PackError

    with pytest.raises(PackError, match="Did you mean"):
        find_gate(level, gate_names(level)[0][:-1] + "z")


def test_every_number_a_gate_reads_is_a_sourced_row():
    rows = load_knowledge().parameters
    assert all(rows[name].source for name in ("visible.late_days", "coupling.rcv_z", "ledger.z"))
