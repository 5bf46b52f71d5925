import subprocess
import sys
from pathlib import Path

import pytest
import told_agents
from run_case import knowledge, make_batch, pack, rows

from clinworld.core.errors import UsageError
from clinworld.run.agents import resolve_agents, usable_controls
from clinworld.run.batch_files import EVAL, RESPONSES, Batch
from clinworld.run.run_batch import RunSummary, run_batch
from clinworld.schema.cell import Evaluation

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def in_this_folder(monkeypatch):
    monkeypatch.chdir(HERE)
    told_agents.CALLS.clear()
    told_agents.SEEN.clear()


def run(batch: Batch, *agents: str, **options: object) -> RunSummary:
    return run_batch(batch, agents, pack(), knowledge(), **{"episode": "single", **options})  # type: ignore[arg-type]


def evaluated(batch: Batch) -> dict[str, Evaluation]:
    return {row.cell.agent: row for row in batch.evaluations()}


@pytest.mark.parametrize(
    ("agent", "cause", "options"),
    [
        ("empty", "empty", {}),
        ("cut", "cut_off", {}),
        ("prose", "unparsable", {}),
        ("slow", "deadline", {"deadline_s": 0.05}),
    ],
)
def test_an_agent_that_gives_no_usable_answer_scores_zero_trips_no_gate_and_is_counted_by_cause(tmp_path, agent, cause, options):
    batch = make_batch(tmp_path, items=1)
    summary = run(batch, f"told_agents:{agent}", **options)
    assert (summary.exit_code, summary.unanswered) == (0, {cause: 1})
    row = evaluated(batch)[f"told_agents:{agent}"]
    assert (row.state, row.cause) == ("unanswered", cause)
    scored = [verdict.value for verdict in row.verdicts if verdict.state == "scored"]
    assert scored and set(scored) == {0.0}
    assert not any(gate.hit for gate in row.gates)
    assert run(batch, f"told_agents:{agent}", **options).asked == 0


def test_the_raw_text_of_an_unusable_reply_is_kept(tmp_path):
    batch = make_batch(tmp_path, items=1)
    run(batch, "told_agents:prose")
    assert rows(batch.path(RESPONSES))[0]["reply"] == "I would keep an eye on it."


def test_a_failure_of_the_agents_code_is_undetermined_and_asked_again(tmp_path):
    batch = make_batch(tmp_path, items=2)
    summary = run(batch, "told_agents:raises_once", "told_agents:returns_number", "control:constant")
    assert summary.exit_code == 6 and summary.judged == 3 and sum(summary.undetermined.values()) == 3
    causes = " ".join(summary.undetermined)
    assert "raised ConnectionError: line cut" in causes and "returned int" in causes
    summary = run(batch, "told_agents:raises_once", "control:constant")
    assert (summary.exit_code, summary.asked, summary.judged) == (0, 1, 4)
    failed = [row for row in rows(batch.path(RESPONSES)) if row["failure"] and row["agent"] == "told_agents:raises_once"]
    assert len(failed) == 1 and failed[0]["reply"] == ""


@pytest.mark.parametrize("agent", ["surrogate", "surrogates_everywhere"])
def test_a_reply_with_a_lone_surrogate_is_stored_with_a_replacement_and_judged(agent, tmp_path):
    batch = make_batch(tmp_path, items=1)
    summary = run(batch, f"bad_agents:{agent}")
    assert (summary.exit_code, summary.judged) == (0, 1)
    assert chr(0xFFFD) in rows(batch.path(RESPONSES))[0]["reply"]
    assert run(batch, f"bad_agents:{agent}").asked == 0


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("exits", "raised SystemExit: bye"),
        ("interrupts_itself", "raised KeyboardInterrupt: mine"),
        ("leaves_generator", "raised GeneratorExit"),
        ("stops_iteration", "raised StopIteration"),
        ("raises_group", "raised BaseExceptionGroup: several"),
        ("raises_unprintable", "cannot be written as text"),
        ("exits_async", "raised SystemExit: 3"),
        ("interrupts_async", "raised KeyboardInterrupt"),
        ("leaves_async", "raised GeneratorExit"),
        ("cancels_async", "raised CancelledError"),
        ("exits_later", "raised SystemExit: 3"),
        ("odd_usage", "another usage"),
        ("odd_text", "text is int"),
    ],
)
def test_whatever_an_agent_raises_leaves_its_cell_undetermined_with_the_cause_and_the_others_judged(agent, said, tmp_path):
    batch = make_batch(tmp_path, items=2)
    summary = run(batch, f"bad_agents:{agent}", "told_agents:remember")
    assert (summary.exit_code, summary.judged, summary.stopped) == (6, 2, False)
    assert sum(summary.undetermined.values()) == 2 and said in " ".join(summary.undetermined)


def test_what_an_agent_raises_is_told_in_one_printable_line(tmp_path):
    summary = run(make_batch(tmp_path, items=1), "bad_agents:hostile_error")
    (cause,) = summary.undetermined
    assert cause.isprintable() and len(cause) < 700 and r"\x1b[2J" in cause and r"line one\nline two" in cause
    assert summary.line().isprintable() and len(summary.line()) < 700


def test_waiting_agents_are_asked_several_cells_at_once_and_their_replies_kept_whole(tmp_path):
    batch = make_batch(tmp_path, items=3)
    summary = run(batch, "told_agents:waits", "control:constant", episode="rounds", repeats=2)
    assert (summary.exit_code, summary.asked, summary.judged) == (0, 36, 12)
    found = [row for row in rows(batch.path(RESPONSES)) if row["agent"] == "told_agents:waits"]
    assert len({(row["item_id"], row["repeat"], row["turn"]) for row in found}) == len(found) == 18
    assert all(row["usage"] == {"output_tokens": 9} and row["reasoning"] == f"{row['item_id']}/{row['turn']}" for row in found)


def test_ctrl_c_lets_calls_in_flight_finish_and_the_run_can_go_on(tmp_path):
    batch = make_batch(tmp_path, items=20)
    summary = run(batch, "told_agents:interrupts")
    assert summary.exit_code == 130 and summary.stopped and "Run again" in summary.line()
    # How many calls had begun when the signal came is the system's affair; each of them is finished and kept.
    assert 3 <= summary.asked == len(told_agents.CALLS) == len(rows(batch.path(RESPONSES))) < 20
    assert not batch.path(EVAL).exists()
    summary = run(batch, "told_agents:interrupts")
    assert summary.exit_code == 0 and summary.judged == 20 and len(rows(batch.path(RESPONSES))) == 20


def test_recorded_replies_are_given_again_and_labelled_as_a_replay(tmp_path):
    one, two = make_batch(tmp_path / "a", items=2), make_batch(tmp_path / "b", items=3)
    run(one, "told_agents:waits", "control:constant", repeats=2)
    path = one.path(RESPONSES)
    with pytest.raises(UsageError, match="2 agents"):
        run(two, f"replay:{path}")
    with pytest.raises(UsageError, match="Did you mean 'told_agents:waits'"):
        run(two, f"replay:{path}#told_agents:wait")
    summary = run(two, f"replay:{path}#told_agents:waits", repeats=2)
    assert summary.exit_code == 6 and summary.judged == 4 and sum(summary.undetermined.values()) == 2
    assert any("no recorded reply" in cause for cause in summary.undetermined)
    replayed = [row for row in rows(two.path(RESPONSES)) if not row["failure"]]
    assert {(row["source"], row["agent"], row["reply"]) for row in replayed} == {("replay", "replay:told_agents:waits", told_agents.ANSWER)}
    assert all(row["usage"] == {"output_tokens": 9} for row in replayed)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("control:slope_rul", "Did you mean 'slope_rule'"),
        ("control:flip_flop", "cannot answer the episode 'single'"),
        ("slope_rule", "Did you mean 'control:slope_rule'"),
        ("told_agents:remembr", "Did you mean 'remember'"),
        ("told_agent:remember", "Did you mean 'told_agents'"),
        ("told_agents:NOT_A_FUNCTION", "is of type int"),
        ("told_agents:two", r"its parameters are \(a: str, b: str\)"),
        ("told_agents:", "module:function is expected"),
        ("../x:f", "module:function is expected"),
        ("json:", "module:function is expected"),
        ("no_such_package.deep:f", "no module"),
        ("replay:nowhere.jsonl", "cannot be read"),
    ],
)
def test_an_agent_that_cannot_be_found_is_named_with_what_exists(spec, told):
    with pytest.raises(Exception, match=told) as raised:
        resolve_agents([spec], pack(), episode="single")
    assert raised.value.exit_code == 2  # type: ignore[attr-defined]


def test_no_agent_at_all_is_a_usage_error_and_offline_means_every_control_of_the_episode():
    with pytest.raises(UsageError, match="--offline"):
        resolve_agents([], pack(), episode="single")
    single = resolve_agents(["control:constant"], pack(), episode="single", offline=True)
    names = [agent.name for agent in single]
    assert names[0] == "control:constant" and len(names) == len(set(names)) == len(usable_controls(pack(), "single"))
    assert "control:flip_flop" not in names
    assert "flip_flop" in usable_controls(pack(), "rounds")


def test_the_working_directory_leaves_the_import_path_again():
    before = list(sys.path)
    resolve_agents(["told_agents:empty"], pack(), episode="single")
    assert sys.path == before


@pytest.mark.parametrize("body", ["import not_installed_anywhere\n", "raise RuntimeError('boom')\n", "def broken(:\n"])
def test_a_module_that_does_not_load_is_a_message_with_its_reason(tmp_path, monkeypatch, body):
    (tmp_path / "bad_agent.py").write_text(body + "def f(x): return ''\n")
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("bad_agent", None)
    with pytest.raises(UsageError, match=r"not_installed_anywhere|boom|SyntaxError"):
        resolve_agents(["bad_agent:f"], pack(), episode="single")


@pytest.mark.slow
def test_a_run_of_controls_loads_no_event_loop():
    code = """
import sys, tempfile
from pathlib import Path
from run_case import make_batch, pack, knowledge
from clinworld.run.run_batch import run_batch
run_batch(make_batch(Path(tempfile.mkdtemp()), items=1), ["control:constant"], pack(), knowledge(), episode="single")
print([name for name in ("asyncio", "scipy", "sklearn", "httpx2") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
