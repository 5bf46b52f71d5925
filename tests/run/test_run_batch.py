import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
import told_agents
from run_case import CONTROLS, REFUSING, knowledge, make_batch, make_facts, make_gold, make_item, pack, prompt_digests, rows, stamps

from clinworld.core.canary import CANARY
from clinworld.core.errors import Incomplete, NothingEmitted, StampMismatch, StoreError, UsageError
from clinworld.core.store import hold_lock
from clinworld.core.text import Wording
from clinworld.run.batch_files import EVAL, GOLD, ITEMS, RESPONSES, Batch, new_batch_folder
from clinworld.run.run_batch import RunSummary, rejudge_batch, run_batch
from clinworld.schema.record import Note

HERE = Path(__file__).parent


def run(batch: Batch, *agents: str, **options: object) -> RunSummary:
    return run_batch(batch, agents or CONTROLS, pack(), knowledge(), **{"episode": "single", **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A batch run once to the end in rounds; copies of it are what other tests disturb."""
    batch = make_batch(tmp_path_factory.mktemp("undisturbed"))
    summary = run(batch, episode="rounds")
    assert summary.exit_code == 0 and summary.judged == summary.cells == 15 and summary.asked == 45
    return batch


def copy_of(batch: Batch, tmp_path: Path, *, without: tuple[str, ...] = ()) -> Batch:
    folder = shutil.copytree(batch.folder, tmp_path / "toy" / batch.stamp)
    for name in without:
        (folder / name).unlink()
    return Batch(folder)


def test_every_row_leads_back_to_batch_prompt_and_reply(undisturbed):
    replies = {(r["item_id"], r["agent"], r["repeat"], r["turn"]): r for r in rows(undisturbed.path(RESPONSES))}
    found = rows(undisturbed.path(EVAL))
    items = {entry.item.item_id: entry for entry in undisturbed.entries()}
    assert len(replies) == 45 and len(found) == 15
    for row in found:
        assert row["canary"] == CANARY and row["state"] == "judged" and row["cause"] == ""
        assert row["stamps"]["exam"] == stamps()["exam"] and {"world", "judge", "score"} <= set(row["stamps"])
        assert any(name.startswith("judge:") for name in row["stamps"])
        first = replies[row["item_id"], row["agent"], row["repeat"], 0]
        assert first["prompt_sha256"].startswith(items[row["item_id"]].prompt_digests["rounds/all"])
        assert first["exam_stamp"] == row["stamps"]["exam"] and first["source"] == row["source"]
        assert first["request"] == {"max_output_tokens": 4096, "deadline_s": 120.0} and first["usage"] is None
    assert {row["source"] for row in found if "oracle" in row["agent"]} == {"oracle"}
    assert {row["source"] for row in found if "oracle" not in row["agent"]} == {"control"}


def test_running_again_asks_nothing_and_writes_nothing(undisturbed, tmp_path):
    batch = copy_of(undisturbed, tmp_path)
    before = {name: batch.path(name).read_bytes() for name in (ITEMS, GOLD, RESPONSES, EVAL)}
    again = run(batch, episode="rounds")
    assert (again.asked, again.judged, again.exit_code) == (0, 15, 0)
    assert {name: batch.path(name).read_bytes() for name in before} == before


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "most"), [("answer", 9), ("judge", 15)])
def test_a_run_killed_at_a_random_point_resumes_to_the_same_rows(undisturbed, tmp_path, phase, most):
    batch = copy_of(undisturbed, tmp_path, without=(RESPONSES, EVAL))
    at = random.randint(1, most - 1)
    killed = subprocess.run([sys.executable, HERE / "killed_run.py", batch.folder, phase, str(at)], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    kept = len(rows(batch.path(RESPONSES)))
    assert kept < 45 or phase == "judge"
    summary = run(batch, episode="rounds")
    assert summary.exit_code == 0 and summary.asked == 45 - kept
    for name in (RESPONSES, EVAL):
        assert batch.path(name).read_bytes() == undisturbed.path(name).read_bytes(), (name, phase, at)


@pytest.mark.parametrize("name", [RESPONSES, EVAL])
def test_a_torn_last_line_is_done_again_and_other_damage_is_named(undisturbed, tmp_path, name):
    batch = copy_of(undisturbed, tmp_path)
    whole = batch.path(name).read_bytes()
    batch.path(name).write_bytes(whole[: whole.rstrip(b"\n").rfind(b"\n") + 40])
    assert run(batch, episode="rounds").exit_code == 0
    assert sorted(batch.path(name).read_bytes().splitlines()) == sorted(whole.splitlines())
    lines = whole.splitlines(keepends=True)
    batch.path(name).write_bytes(lines[0] + lines[1][:50] + b"\n" + b"".join(lines[2:]))
    with pytest.raises(StoreError, match=rf"{name}, line 2"):
        run(batch, episode="rounds")


def test_a_second_writer_is_told_and_a_dead_one_blocks_nobody(tmp_path):
    batch = make_batch(tmp_path, items=1)
    with hold_lock(batch.folder), pytest.raises(StoreError, match="another clinworld process"):
        run(batch)
    assert not batch.path(RESPONSES).exists()
    (batch.folder / ".lock").write_text("left by a dead process")
    assert run(batch, "control:constant").exit_code == 0


@pytest.mark.parametrize("how", ["deleted", "unreadable"])
def test_without_gold_prompts_and_replies_are_the_same_and_the_exit_code_is_6(tmp_path, how):
    whole, batch = make_batch(tmp_path / "a"), make_batch(tmp_path / "b")
    hidden = batch.path(GOLD).rename(tmp_path / "gold")
    if how == "unreadable":
        batch.path(GOLD).mkdir()
    run(whole)
    summary = run(batch)
    assert summary.exit_code == 6 and summary.judged == 0
    assert summary.unjudged == {"gold missing": 9} and summary.undetermined == {"gold missing": 6}
    read_text = [row for row in rows(whole.path(RESPONSES)) if row["source"] == "control"]
    assert rows(batch.path(RESPONSES)) == read_text and len(read_text) == 9
    assert {row["state"] for row in rows(batch.path(EVAL))} == {"unjudged", "undetermined"}
    assert run(batch).exit_code == 6 and len(rows(batch.path(EVAL))) == 15  # told again, not written again
    with pytest.raises(Incomplete, match="gold missing"):
        rejudge_batch(batch, pack(), knowledge())
    if how == "unreadable":
        batch.path(GOLD).rmdir()
    hidden.rename(batch.path(GOLD))
    summary = run(batch)
    assert (summary.exit_code, summary.asked, summary.judged) == (0, 6, 15)
    assert {e.cell: e for e in batch.evaluations()} == {e.cell: e for e in whole.evaluations()}


def test_conventions_never_share_a_row(tmp_path):
    batch = make_batch(tmp_path, items=2)
    agent = "control:constant"
    asked = []
    for options in ({}, {"probe_set": "none"}, {"episode": "rounds"}, {"episode": "rounds", "probe_set": "none"}, {"repeats": 3}, {}):
        asked.append(run(batch, agent, **options).asked)
    assert asked == [2, 2, 6, 6, 4, 0]
    keys = [(r["item_id"], r["agent"], r["episode"], r["probe_set"], r["repeat"], r["turn"]) for r in rows(batch.path(RESPONSES))]
    assert len(keys) == len(set(keys)) == 20


def test_replies_under_another_exam_stamp_are_no_finished_work(tmp_path):
    batch = make_batch(tmp_path, items=2)
    run(batch, "control:constant")
    other = batch.path(RESPONSES).read_bytes().replace(stamps()["exam"].encode(), b"0123456789abcdef")
    batch.path(RESPONSES).write_bytes(other)
    summary = run(batch, "control:constant")
    assert summary.asked == 2 and summary.remarks == (f"2 replies stand under exam stamp 0123456789abcdef, not {stamps()['exam']}",)


def test_a_finished_cell_whose_prompt_changed_is_drift_and_nothing_is_asked(tmp_path):
    batch = make_batch(tmp_path, items=2)
    run(batch, "control:constant")
    before = rows(batch.path(RESPONSES))
    drifted = [row | {"prompt_sha256": "f" * 64} if row["item_id"] == before[1]["item_id"] else row for row in before]
    batch.path(RESPONSES).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in drifted))
    with pytest.raises(StampMismatch, match=r"ffffffffffffffff.*now makes") as told:
        run(batch, "control:constant")
    assert told.value.exit_code == 5 and rows(batch.path(RESPONSES)) == drifted


def test_a_prompt_that_is_not_the_one_built_is_drift_and_names_the_moved_stamp(tmp_path):
    batch = make_batch(tmp_path, items=1, stamps=stamps() | {"world": "older"})
    row = rows(batch.path(ITEMS))[0]
    assert run(batch, "control:constant").exit_code == 0  # a moved world stamp alone changes no prompt
    with new_batch_folder(tmp_path, "toy") as draft:
        draft.add(make_item(0), make_gold(make_item(0)), row["prompt_digests"] | {"single/all": "0" * 16})
        drifted = draft.finish(make_facts(stamps=stamps() | {"world": "older"}))
    with pytest.raises(StampMismatch, match=r"built with 0000000000000000 \(world older") as told:
        run(drifted, "control:constant")
    assert told.value.kind == "prompt_drift" and rows(drifted.path(RESPONSES)) == []


def test_a_planted_leak_is_withheld_named_and_leaves_the_cell_undetermined(tmp_path, monkeypatch):
    leak = Note("zz9", 20, "patient_reported_symptom", Wording(f"I found {CANARY} on a page.", "x"), None)
    item = make_item(0)
    item = replace(item, record=replace(item.record, notes=(*item.record.notes, leak)))
    with new_batch_folder(tmp_path, "toy") as draft:
        draft.add(item, make_gold(item), prompt_digests(item))
        draft.add(make_item(1), make_gold(make_item(1)), prompt_digests(make_item(1)))
        batch = draft.finish(make_facts())
    monkeypatch.chdir(HERE)
    told_agents.SEEN.clear()
    summary = run(batch, "told_agents:remember", *CONTROLS[2:4])
    assert summary.exit_code == 6 and len(told_agents.SEEN) == 1 and CANARY not in told_agents.SEEN[0]
    assert len(summary.undetermined) == 1 and all(CANARY in cause and "withheld" in cause for cause in summary.undetermined)
    states = {(e.cell.item_id, e.cell.agent): (e.state, e.verdicts) for e in batch.evaluations()}
    assert all(state == ("undetermined", ()) for (item_id, _), state in states.items() if item_id == item.item_id)
    assert sum(state == "judged" or state == "unanswered" for state, _ in states.values()) == 3
    before = rows(batch.path(RESPONSES)), rows(batch.path(EVAL))
    run(batch, "told_agents:remember", *CONTROLS[2:4])
    assert (rows(batch.path(RESPONSES)), rows(batch.path(EVAL))) == before


def test_a_judge_that_raises_costs_its_dimension_only_and_the_exit_code_is_6(tmp_path):
    item = make_item(1)
    with new_batch_folder(tmp_path, "toy") as draft:
        draft.add(item, replace(make_gold(item), origins=()), prompt_digests(item))
        batch = draft.finish(make_facts())
    summary = run(batch, "control:constant", episode="rounds")
    assert (summary.exit_code, summary.unscored, summary.judged) == (6, 1, 1)
    (row,) = batch.evaluations()
    states = {verdict.name: (verdict.state, verdict.reason) for verdict in row.verdicts}
    assert states["revision_conduct"][0] == "unscored" and "origins" in states["revision_conduct"][1]
    assert states["direction"][0] == "scored"


def test_a_sample_is_partial_and_leaves_the_batch_untouched(tmp_path):
    batch = make_batch(tmp_path)
    before = {path.name: path.read_bytes() for path in batch.folder.iterdir()}
    summary = run(batch, limit=2)
    assert summary.exit_code == 6 and summary.partial == "2 of 3 items (--limit)" and summary.cells == 10
    assert {name: batch.path(name).read_bytes() for name in before} == before
    assert run(batch, limit=3).exit_code == 0
    for options in ({"limit": 0}, {"repeats": 0}, {"episode": "slices"}, {"episode": "singel"}, {"probe_set": "some"}):
        with pytest.raises(UsageError):
            run(batch, **options)


def test_an_episode_some_items_cannot_carry_is_said(tmp_path):
    batch = make_batch(tmp_path, items=1, episodes=("single",))
    with pytest.raises(UsageError, match="no item of this batch can carry 'rounds'"):
        run(batch, episode="rounds")
    assert run(batch, "control:constant", episode=None).episode == "single"


def test_refused_and_edited_batches_are_not_run(tmp_path):
    with pytest.raises(NothingEmitted):
        run(make_batch(tmp_path, gates=(REFUSING,)))
    batch = make_batch(tmp_path)
    text = batch.path(GOLD).read_bytes()
    batch.path(GOLD).write_bytes(text.replace(b'"has_red_flag":false', b'"has_red_flag":true', 1))
    with pytest.raises(StampMismatch, match=r"gold\.jsonl, item 000"):
        run(batch)
    assert not batch.path(RESPONSES).exists()


def test_judging_again_asks_nobody_and_keeps_the_former_verdicts(undisturbed, tmp_path):
    batch = copy_of(undisturbed, tmp_path)
    current = batch.path(EVAL).read_bytes()
    summary = rejudge_batch(batch, pack(), knowledge())
    assert (summary.judged, summary.asked, summary.exit_code) == (15, 0, 0)
    assert batch.path(EVAL).read_bytes() == current and batch.former_evaluations() == ()
    older = current.replace(stamps()["judge"].encode(), b"aaaaaaaaaaaaaaaa").replace(b'"value":1.0', b'"value":0.5')
    batch.path(EVAL).write_bytes(older)
    replies = batch.path(RESPONSES).read_bytes()
    rejudge_batch(batch, pack(), knowledge())
    assert batch.path(EVAL).read_bytes() == current and batch.path(RESPONSES).read_bytes() == replies
    assert batch.former_evaluations() == ("eval-aaaaaaaaaaaaaaaa.jsonl",)
    assert batch.path("eval-aaaaaaaaaaaaaaaa.jsonl").read_bytes() == older


def test_only_cells_with_stored_replies_are_judged_again(undisturbed, tmp_path):
    batch = copy_of(undisturbed, tmp_path)
    lines = batch.path(RESPONSES).read_bytes().splitlines(keepends=True)
    batch.path(RESPONSES).write_bytes(b"".join(lines[1:]))  # the first turn of the first cell is lost
    batch.path(EVAL).unlink()
    assert rejudge_batch(batch, pack(), knowledge()).judged == 14


def test_verdicts_under_an_older_judge_are_judged_anew_on_resume_and_stay_readable(undisturbed, tmp_path):
    batch = copy_of(undisturbed, tmp_path)
    batch.path(EVAL).write_bytes(batch.path(EVAL).read_bytes().replace(stamps()["judge"].encode(), b"aaaaaaaaaaaaaaaa"))
    summary = run(batch, episode="rounds")
    assert summary.asked == 0 and summary.judged == 15
    assert len([e for e in batch.evaluations() if e.stamps["judge"] == stamps()["judge"]]) == 15
    assert len([e for e in batch.evaluations() if e.stamps["judge"] == "aaaaaaaaaaaaaaaa"]) == 15
