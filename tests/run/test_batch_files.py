import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from run_case import REFUSING, make_batch, make_facts, make_gold, make_item, rows

from clinworld.core.canary import CANARY
from clinworld.core.errors import NothingEmitted, StampMismatch, StoreError, UsageError
from clinworld.core.store import hold_lock
from clinworld.run.batch_check import check_batch, refuse_gated, require_intact
from clinworld.run.batch_files import (
    AUDIT,
    BATCH,
    GOLD,
    ITEMS,
    REFUSED_ITEMS,
    Batch,
    Refusal,
    digest_row,
    find_batch,
    list_batches,
    new_batch_folder,
    newest_batch,
    open_batch,
)
from clinworld.schema.gold import gold_to_row
from clinworld.schema.item import item_to_row


def test_a_batch_is_read_back_as_it_was_written(tmp_path):
    refusals = (Refusal("C-9", "event_density_mismatch", "2 asked, 1 wanted"),)
    batch = make_batch(tmp_path, refusals=refusals, counts={"cases": 4}, more={"job": "toy.yaml"})
    facts = batch.facts()
    assert (facts.job_id, facts.refusals, facts.counts, facts.outcome, facts.more) == (
        "toy",
        refusals,
        {"cases": 4},
        "passed",
        {"job": "toy.yaml"},
    )
    assert [item_to_row(item)["item_id"] for item in batch.items()] == [make_item(number).item_id for number in range(3)]
    entry = batch.entries()[1]
    assert orjson.dumps(gold_to_row(batch.gold_rows()[entry.item.item_id]), option=orjson.OPT_SERIALIZE_NUMPY) == orjson.dumps(
        gold_to_row(make_gold(make_item(1))), option=orjson.OPT_SERIALIZE_NUMPY
    )
    assert entry.digest == digest_row(item_to_row(make_item(1))) and set(entry.prompt_digests) == {
        "rounds/none",
        "rounds/all",
        "single/none",
        "single/all",
    }
    assert len(batch.audit_rows()) == 3
    assert check_batch(batch) == []


def test_two_builds_of_one_job_have_equal_items_gold_and_audit(tmp_path):
    one, two = make_batch(tmp_path), make_batch(tmp_path, created_at="later", duration_s=9.0, host="elsewhere")
    assert one.folder != two.folder
    for name in (ITEMS, GOLD, AUDIT):
        assert one.path(name).read_bytes() == two.path(name).read_bytes()


def test_answer_bearing_rows_carry_the_canary_and_items_do_not(tmp_path):
    batch = make_batch(tmp_path)
    assert all(row["canary"] == CANARY for name in (GOLD, AUDIT) for row in rows(batch.path(name)))
    assert CANARY.encode() not in batch.path(ITEMS).read_bytes() + batch.path(BATCH).read_bytes()


def test_batches_of_one_second_get_numbers_and_stay_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("clinworld.run.batch_files.time.strftime", lambda form: "20260101-000000")
    made = [make_batch(tmp_path, items=1) for _ in range(11)]
    assert [batch.stamp for batch in made] == ["20260101-000000", *(f"20260101-000000-{n}" for n in range(2, 12))]
    assert list_batches(tmp_path, "toy") == tuple(made)
    assert newest_batch(tmp_path, "toy", ("a1b2c3d4",)) == made[-1]


def test_a_job_edited_since_its_batch_is_told_with_both_digests(tmp_path):
    assert newest_batch(tmp_path, "toy", ("ffff",)) is None
    old = make_batch(tmp_path, items=1, job_digest="ffff")
    make_batch(tmp_path, items=1)
    assert newest_batch(tmp_path, "toy", ("ffff",)) == old
    with pytest.raises(StampMismatch, match=r"eeee.*a1b2c3d4"):
        newest_batch(tmp_path, "toy", ("eeee",))


def test_a_batch_of_the_same_job_in_another_language_is_no_edited_job(tmp_path):
    other = make_batch(tmp_path, items=1, job_digest="ffff")
    assert newest_batch(tmp_path, "toy", ("eeee",), kin=("eeee", "ffff")) is None
    assert newest_batch(tmp_path, "toy", ("eeee", "ffff"), kin=("eeee", "ffff")) == other


def test_an_unknown_batch_is_named_with_the_nearest(tmp_path):
    batch = make_batch(tmp_path, items=1)
    assert find_batch(tmp_path, "toy", batch.stamp) == batch
    with pytest.raises(UsageError, match=batch.stamp):
        find_batch(tmp_path, "toy", batch.stamp[:-1])
    with pytest.raises(UsageError, match="none; build one"):
        find_batch(tmp_path, "other", "x")
    with pytest.raises(UsageError, match="no batch"):
        open_batch(tmp_path)
    assert open_batch(batch.folder) == batch


def test_a_failed_build_leaves_nothing_behind(tmp_path):
    with pytest.raises(RuntimeError), new_batch_folder(tmp_path, "toy") as draft:
        draft.add(make_item(0), make_gold(make_item(0)), {})
        raise RuntimeError
    assert list((tmp_path / "toy").iterdir()) == []


def test_a_killed_build_looks_like_no_batch_and_is_cleared_by_the_next(tmp_path):
    code = f"""
import os, signal, sys
from pathlib import Path
from clinworld.run.batch_files import new_batch_folder
with new_batch_folder(Path({str(tmp_path)!r}), "toy") as draft:
    draft.add_audit({{"case_id": "C-1"}})
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    (killed,) = (tmp_path / "toy").iterdir()
    assert killed.name.startswith(".building-") and list_batches(tmp_path, "toy") == ()
    batch = make_batch(tmp_path, items=1)
    assert list((tmp_path / "toy").iterdir()) == [batch.folder]


def test_a_draft_of_another_living_build_is_left_alone(tmp_path):
    other = tmp_path / "toy" / f".building-20260101-000000-{os.getpid()}"
    other.mkdir(parents=True)
    foreign = tmp_path / "toy" / ".building-20260101-000000-999999999"
    foreign.mkdir()
    with hold_lock(foreign):
        make_batch(tmp_path, items=1)
    assert other.exists() and foreign.exists()


def test_an_output_root_that_cannot_hold_a_batch_is_one_message(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written"):
        make_batch(tmp_path / "file", items=1)


@pytest.mark.parametrize("removed", [None, BATCH, AUDIT])
@pytest.mark.parametrize("forged", [False, True])
def test_a_batch_refused_by_a_batch_gate_stays_refused(tmp_path, removed, forged):
    batch = make_batch(tmp_path, gates=(REFUSING,))
    assert not batch.path(ITEMS).exists() and batch.path(REFUSED_ITEMS).exists()
    if forged:
        row = orjson.loads(batch.path(BATCH).read_bytes())
        batch.path(BATCH).write_bytes(orjson.dumps(row | {"outcome": "passed"}))
        if removed != AUDIT:
            batch.path(REFUSED_ITEMS).rename(batch.path(ITEMS))
    if removed:
        batch.path(removed).unlink()
    with pytest.raises(NothingEmitted, match="refused" if removed == AUDIT else "shortcut_scan: devices give gold away") as told:
        refuse_gated(batch)
    assert told.value.exit_code == 4


def test_a_batch_without_items_is_refused_and_a_good_one_is_not(tmp_path):
    empty = make_batch(tmp_path, items=0)
    assert empty.facts().outcome == "empty"
    with pytest.raises(NothingEmitted, match="no item was emitted"):
        refuse_gated(empty)
    refuse_gated(make_batch(tmp_path))


def test_a_full_disk_is_one_message_and_leaves_nothing(tmp_path):
    code = f"""
import resource, signal
from pathlib import Path
from clinworld.core.errors import StoreError
from run_case import make_batch, knowledge, pack, stamps
knowledge(), pack(), stamps()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    make_batch(Path({str(tmp_path)!r}))
except StoreError as told:
    print(told)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    assert "cannot be written" in done.stdout and list((tmp_path / "toy").iterdir()) == []


def edit(batch: Batch, name: str, number: int, **changes: object) -> None:
    found = rows(batch.path(name))
    found[number] |= changes
    batch.path(name).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in found))


def test_an_edited_row_is_named_with_file_and_item(tmp_path):
    batch = make_batch(tmp_path)
    second = make_item(1).item_id
    edit(batch, ITEMS, 1, index_day=85)
    assert [finding.place for finding in check_batch(batch)] == [f"items.jsonl, item {second}"]
    edit(batch, GOLD, 1, case_id="C-x")
    assert [finding.place for finding in check_batch(batch)] == [f"items.jsonl, item {second}", f"gold.jsonl, item {second}"]
    with pytest.raises(StampMismatch, match=second) as told:
        require_intact(batch)
    assert told.value.exit_code == 5


def test_an_edit_that_also_forges_the_rows_digest_is_found(tmp_path):
    batch = make_batch(tmp_path)
    row = rows(batch.path(ITEMS))[0] | {"index_day": 85}
    edit(batch, ITEMS, 0, index_day=85, digest=digest_row(row))
    assert len(check_batch(batch)) == 1


@pytest.mark.parametrize("name", [ITEMS, GOLD])
def test_lost_added_reordered_and_reformatted_rows_are_found(tmp_path, name):
    batch = make_batch(tmp_path)
    whole = batch.path(name).read_bytes()
    first, second, third = whole.splitlines(keepends=True)
    assert check_batch(batch) == []
    for changed in (
        first + second,
        whole + third.replace(b"002b2", b"009b2"),
        second + first + third,
        whole.replace(b'"item_id":', b'"item_id": ', 1),
    ):
        batch.path(name).write_bytes(changed)
        assert check_batch(batch), changed[:40]


def test_an_edited_audit_and_a_missing_description_are_found_and_missing_gold_is_not(tmp_path):
    batch = make_batch(tmp_path)
    batch.path(GOLD).unlink()
    assert check_batch(batch) == []
    with pytest.raises(StoreError, match="gold missing") as told:
        batch.gold_rows()
    assert told.value.kind == "gold_missing"
    edit(batch, AUDIT, 0, is_emitted=False)
    assert [finding.place for finding in check_batch(batch)] == [AUDIT]
    batch.path(BATCH).unlink()
    assert [finding.place for finding in check_batch(batch)] == [BATCH]
    batch.path(AUDIT).unlink()
    assert [finding.place for finding in check_batch(batch)] == [AUDIT]


def test_facts_of_a_later_version_are_read(tmp_path):
    batch = make_batch(tmp_path, items=1)
    row = orjson.loads(batch.path(BATCH).read_bytes()) | {"from_the_future": 1}
    batch.path(BATCH).write_bytes(orjson.dumps(row))
    assert batch.facts().job_id == make_facts().job_id
    assert Path(batch.folder).name == batch.stamp
