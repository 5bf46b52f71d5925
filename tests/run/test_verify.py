"""`verify` finds what was changed by hand in a batch and names item, place and value; it repairs nothing, and `run` refuses the batch."""

import re
import shutil

import pytest
from build_case_jobs import build, devices_that_follow_the_outcome, edit_rows, find, knowledge, make_job, pack, two_patients, verify

from clinworld.cli.main import main
from clinworld.core.errors import NothingEmitted, StampMismatch
from clinworld.core.store import read_json, read_rows, write_json
from clinworld.run.batch_files import AUDIT, BATCH, GOLD, ITEMS, REFUSED_ITEMS, VERIFY, Batch, open_batch
from clinworld.run.run_batch import rejudge_batch, run_batch
from clinworld.run.verify import verify_batch
from clinworld.run.verify_edits import compare_rows

pytestmark = pytest.mark.rows


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Batch:
    folder = tmp_path_factory.mktemp("made")
    summary = build(make_job(folder, two_patients()), folder / "out")
    assert summary.exit_code == 0 and summary.emitted == 2, summary.refusals()
    return summary.batch


@pytest.fixture
def batch(made, tmp_path) -> Batch:
    """A copy to be changed by hand."""
    shutil.copytree(made.folder, tmp_path / "toy" / made.stamp)
    return open_batch(tmp_path / "toy" / made.stamp)


def set_value(place, value):
    """An edit of the second row: walks to the place and sets the value there."""

    def edit(rows):
        *way, last = place
        at = rows[1]
        for step in way:
            at = find(at, step) if isinstance(step, str) and isinstance(at, list) else at[step]
        at[last] = value

    return edit


SHOWN = ("record", "series")
EDITS = {
    "a shown value": (
        ITEMS,
        set_value(("record", "series", "weight", "ticks", 5), 4321),
        r"record\.series\[weight\]\.ticks\[5\]: found 4321",
    ),
    "a day": (ITEMS, set_value((*SHOWN, "steps", "days", 3), 4), r"record\.series\[steps\]\.days\[3\]: found 4; built 3"),
    "a note": (
        ITEMS,
        set_value(("record", "notes", 0, "text", 0), "Gained again"),
        r"record\.notes\[E\w{6}\]\.text\[0\]: found \"Gained again\"",
    ),
    "a note id": (ITEMS, set_value(("record", "notes", 0, "note_id"), "E000000"), r"note_id: found \"E000000\"; built \"E\w{6}\""),
    "the question": (ITEMS, set_value(("index_day",), 90), r"index_day: found 90; built 84"),
    "the header": (ITEMS, set_value(("record", "profile", "sex"), "F"), r"record\.profile\.sex: found \"F\"; built \"M\""),
    "an appended question": (ITEMS, set_value(("probes", 0, "about"), "alt"), r"probes\[\w+\]\.about: found \"alt\""),
    "the outcome": (GOLD, set_value(("gold", "event_occurs"), False), r"gold\.event_occurs: found false; built true"),
    "the driver": (GOLD, set_value(("gold", "drivers", 0), "sleep_decline"), r"gold\.drivers\[0\]: found \"sleep_decline\""),
    "a reply to a question": (GOLD, set_value(("probes", 1, "expected"), ["maybe"]), r"probes\[no_op\]\.expected"),
    "a later value of the chart": (
        GOLD,
        set_value(("chart", "series", "weight", "ticks", -1), 10),
        r"chart\.series\[weight\]\.ticks\[\d+\]: found 10",
    ),
    "the true weight": (GOLD, set_value(("truth_weight_ticks", 200), 1), r"truth_weight_ticks\[200\]: found 1; built \d+"),
    "why a note is there": (GOLD, set_value(("origins", 0, 1), "real"), r"origins\[0\]\[1\]: found \"real\""),
    "the premise": (GOLD, set_value(("premise", "adherence_low"), 0.95), r"gold.jsonl, item \w+, premise: found the world made from it"),
    "the premise's driver": (GOLD, set_value(("premise", "driver"), "sleep_decline"), r"gold.jsonl, item \w+, premise: found"),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_value_changed_by_hand_fails_verify_with_item_place_and_value_and_run_refuses(what, batch):
    name, edit, message = EDITS[what]
    edit_rows(batch.path(name), edit)
    changed = batch.path(name).read_bytes()
    summary = verify(batch)
    assert summary.exit_code == 3
    item_id = batch.items()[1].item_id
    assert any(re.search(message, finding) and item_id in finding for finding in summary.findings), summary.findings
    assert batch.path(name).read_bytes() == changed
    with pytest.raises(StampMismatch):
        run_batch(batch, ["control:constant"], pack(), knowledge())
    with pytest.raises(StampMismatch):
        rejudge_batch(batch, pack(), knowledge())


def drop_second(rows):
    return rows[:1]


def rename_second(rows):
    rows[1]["item_id"] = "0123456789ab"


def swap(rows):
    return rows[::-1]


def lose_a_field(rows):
    del rows[1]["record" if "record" in rows[1] else "premise"]


STRUCTURES = {
    "an item taken out": (ITEMS, drop_second, r"no row; it was built with one"),
    "gold taken out": (GOLD, drop_second, r"no row in gold.jsonl"),
    "an item renamed": (ITEMS, rename_second, r"item 0123456789ab"),
    "gold renamed": (GOLD, rename_second, r"item 0123456789ab"),
    "items in another order": (ITEMS, swap, r"items.jsonl: found digest \w+ \(order, digests or layout\)"),
    "an item without its record": (ITEMS, lose_a_field, r"items.jsonl: found a row without its shape"),
    "gold without its premise": (GOLD, lose_a_field, r"gold.jsonl: found a row without its shape"),
}


@pytest.mark.parametrize("what", STRUCTURES)
def test_rows_added_taken_out_or_moved_fail_verify_and_run(what, batch):
    name, edit, message = STRUCTURES[what]
    edit_rows(batch.path(name), edit)
    summary = verify(batch)
    assert summary.exit_code == 3 and any(re.search(message, finding) for finding in summary.findings), summary.findings
    with pytest.raises(StampMismatch):
        run_batch(batch, ["control:constant"], pack(), knowledge())


def test_an_untouched_batch_verifies_with_a_ledger_row_for_everything(batch):
    summary = verify(batch)
    assert summary.exit_code == 0 and summary.findings == ()
    rows = list(read_rows(batch.path(VERIFY)))
    charts = [gold.chart for gold in batch.gold_rows().values()]
    assert len(rows) == summary.ledger_rows == sum(len(chart.series) + len(chart.notes) + 1 for chart in charts) + 1
    assert all(row["canary"] and row["ok"] for row in rows)
    assert summary.line().startswith(f"Verified 2 items: {len(rows)} ledger rows, 0 failed; {summary.prompts} prompts, 0 with leaked text;")


def test_verify_writes_the_same_ledger_twice_and_nothing_else(batch):
    before = {path.name: path.read_bytes() for path in batch.folder.iterdir() if path.name != VERIFY}
    verify(batch)
    first = batch.path(VERIFY).read_bytes()
    verify(batch)
    assert batch.path(VERIFY).read_bytes() == first
    assert {path.name: path.read_bytes() for path in batch.folder.iterdir() if path.name != VERIFY} == before


DESCRIPTIONS = {
    "counts": ({"counts": {"cases": 9, "emitted": 9, "refused": 0, "drawn_again": 0}}, "counts.emitted: found 9; built with 2"),
    "outcome": ({"outcome": "refused"}, 'outcome: found "refused"; built with "passed"'),
    "job": ({"job_digest": "0" * 16}, 'job_digest: found "0000'),
    "refusals": ({"refusals": [{"case_id": "X", "kind": "k", "reason": "r"}]}, "refusals: found"),
    "language": ({"language": "zh"}, 'language: found "zh"; built with "en"'),
    "stamps": ({"stamps": {}}, "stamps.world: found null; built with"),
}


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_an_edited_description_fails_verify_with_the_value_found_and_the_value_built_and_run_refuses(what, batch):
    changes, message = DESCRIPTIONS[what]
    write_json(batch.path(BATCH), read_json(batch.path(BATCH)) | changes)
    summary = verify(batch)
    assert summary.exit_code == 3 and any(f"batch.json, {message}" in finding for finding in summary.findings), summary.findings
    with pytest.raises(NothingEmitted if what == "outcome" else StampMismatch):
        run_batch(batch, ["control:constant"], pack(), knowledge())


def test_time_host_and_versions_are_no_part_of_what_is_sealed(batch):
    changes = {"created_at": "later", "host": "elsewhere", "duration_s": 9.0, "versions": {}}
    write_json(batch.path(BATCH), read_json(batch.path(BATCH)) | changes)
    assert verify(batch).findings == ()


@pytest.mark.parametrize("name", [BATCH, AUDIT, GOLD])
def test_a_missing_file_is_a_finding(name, batch):
    facts = batch.facts()
    batch.path(name).unlink()
    summary = verify_batch(batch, pack(facts.pack), knowledge())
    assert summary.exit_code == 3 and any(name in finding for finding in summary.findings)


def test_a_prompt_that_is_no_longer_the_one_built_is_a_finding(batch, tmp_path):
    def other_digest(rows):
        rows[0]["prompt_digests"]["single/none"] = "0" * 16

    edit_rows(batch.path(ITEMS), other_digest)
    assert any("prompts_as_built" in finding and "single/none" in finding for finding in verify(batch).findings)


def test_the_places_of_differences_are_named_as_a_reader_would(tmp_path):
    found = {"series": [{"name": "a", "ticks": [1, 2]}], "n": 1, "extra": True}
    built = {"series": [{"name": "a", "ticks": [1, 3]}], "n": 1}
    assert list(compare_rows(found, built)) == [("series[a].ticks[1]", 2, 3), ("extra", True, None)]
    assert list(compare_rows(built, built)) == []


@pytest.fixture(scope="module")
def refused(tmp_path_factory) -> Batch:
    folder = tmp_path_factory.mktemp("refused")
    summary = build(make_job(folder, devices_that_follow_the_outcome(), name="shortcut"), folder / "out")
    assert summary.exit_code == 4 and summary.emitted >= 26, summary.batch_findings()
    return summary.batch


@pytest.mark.slow
def test_a_batch_refused_by_a_batch_gate_can_be_verified_and_fails_with_the_gate(refused):
    summary = verify(refused)
    assert summary.exit_code == 3 and summary.items >= 26
    assert any("shortcut_scan" in finding and "bp_cuff" in finding for finding in summary.findings)


def damage_nothing(batch):
    pass


def say_passed(batch):
    text = batch.path(BATCH).read_text()
    batch.path(BATCH).write_text(text.replace('"outcome": "refused"', '"outcome": "passed"'))


def rename_items(batch):
    batch.path(REFUSED_ITEMS).rename(batch.path(ITEMS))
    say_passed(batch)


@pytest.mark.parametrize("verb", ["run", "report"])
def test_a_refused_batch_without_its_description_is_exit_4_by_run_and_report_and_verify_says_what_is_missing(
    verb, refused, tmp_path, capsys
):
    folder = tmp_path / "shortcut" / refused.stamp
    shutil.copytree(refused.folder, folder)
    (folder / BATCH).unlink()
    assert main([verb, str(folder), *(["--offline"] if verb == "run" else [])]) == 4
    assert "shortcut_scan" in capsys.readouterr().err
    assert main(["verify", str(folder)]) == 3 and BATCH in capsys.readouterr().out


@pytest.mark.parametrize("damage", [damage_nothing, say_passed, lambda batch: batch.path(BATCH).unlink(), rename_items])
def test_a_batch_refused_by_a_batch_gate_is_not_run_whatever_was_done_to_its_description(damage, refused, tmp_path, monkeypatch):
    shutil.copytree(refused.folder, tmp_path / "shortcut" / refused.stamp)
    batch = open_batch(tmp_path / "shortcut" / refused.stamp)
    damage(batch)
    monkeypatch.setenv("CLINWORLD_ALLOW_REFUSED", "1")
    for attempt in (lambda: run_batch(batch, ["control:constant"], pack(), knowledge()), lambda: rejudge_batch(batch, pack(), knowledge())):
        with pytest.raises(NothingEmitted) as caught:
            attempt()
        assert caught.value.exit_code == 4
