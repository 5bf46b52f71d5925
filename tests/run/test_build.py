"""What a build makes and says: refusals with their reason, the audit, the drift gate, and the same bytes however it was run."""

import re
from dataclasses import replace

import pytest
from build_case_jobs import BOTH, KEEPS, REFUSED, REGAINS, build, devices_that_follow_the_outcome, edit_rows, make_job, two_patients

from clinworld.cli.build import build as build_verb
from clinworld.core.errors import JobError, UsageError
from clinworld.core.store import read_rows
from clinworld.run.batch_files import AUDIT, GOLD, ITEMS, REFUSED_ITEMS


def one_kept_one_refused() -> str:
    return KEEPS.format(name="T-1", devices=BOTH, start=96, low=86) + REFUSED.format(name="T-2")


def test_refused_cases_are_listed_with_one_line_each_and_the_exit_code_is_0(tmp_path):
    summary = build(make_job(tmp_path, one_kept_one_refused()), tmp_path / "out")
    assert summary.exit_code == 0 and summary.emitted == 1
    [(case_id, reason)] = summary.refusals()
    assert case_id == "T-2" and reason.startswith("event_density_mismatch") and "6" in reason and "1" in reason and "\n" not in reason
    assert summary.line() == "Built 1 of 2 cases, 1 refused:"


def test_the_terminal_lists_each_refused_case_and_ends_with_what_was_made(tmp_path, capsys):
    make_job(tmp_path, one_kept_one_refused())
    assert build_verb(str(tmp_path / "toy.yaml"), out=tmp_path / "out") == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("T-2" in line and "event_density_mismatch" in line for line in lines) == 1
    assert lines[-1].startswith("Built 1 of 2 cases, 1 refused: ") and str(tmp_path / "out" / "toy") in lines[-1]


def test_when_no_case_is_left_the_exit_code_is_4_and_nothing_looks_like_success(tmp_path):
    summary = build(make_job(tmp_path, REFUSED.format(name="T-1") + REFUSED.format(name="T-2")), tmp_path / "out")
    assert summary.exit_code == 4 and summary.emitted == 0 and len(summary.refusals()) == 2
    assert summary.batch.facts().outcome == "empty"
    from build_case_jobs import knowledge, pack

    from clinworld.core.errors import NothingEmitted
    from clinworld.run.run_batch import run_batch

    with pytest.raises(NothingEmitted):
        run_batch(summary.batch, ["control:constant"], pack(), knowledge())


def test_the_audit_has_a_row_for_every_case_with_the_state_of_every_gate(tmp_path):
    from build_case_jobs import pack

    summary = build(make_job(tmp_path, one_kept_one_refused()), tmp_path / "out")
    kept, refused = summary.batch.audit_rows()
    assert kept["is_emitted"] and {gate["gate"] for gate in kept["gates"]} == set(pack().pack.gates)
    assert {gate["state"] for gate in kept["gates"]} <= {"passed", "unmeasured"}
    assert all(gate["reason"] for gate in kept["gates"] if gate["state"] == "unmeasured")
    assert not refused["is_emitted"] and [conflict["kind"] for conflict in refused["conflicts"]] == ["event_density_mismatch"]
    assert refused["gates"] == [] and refused["item_id"] is None


def test_items_hold_exactly_the_emitted_cases_and_gold_stands_apart(tmp_path):
    summary = build(make_job(tmp_path, one_kept_one_refused()), tmp_path / "out")
    items, gold = (list(read_rows(summary.batch.path(name))) for name in (ITEMS, GOLD))
    assert [row["item_id"] for row in items] == [row["item_id"] for row in gold] and len(items) == 1
    assert not {"gold", "premise", "chart", "origins", "faults", "truth_weight_ticks", "case_id", "canary"} & set(items[0])


def test_the_same_job_built_again_is_equal_and_says_nothing(tmp_path):
    job = make_job(tmp_path, two_patients())
    first, second = build(job, tmp_path / "out"), build(job, tmp_path / "out")
    assert second.rebuild == "" and second.exit_code == 0
    drift = next(gate for gate in second.gates if gate.gate == "idempotency_drift")
    assert drift.state == "passed" and drift.checked == 2
    for name in (ITEMS, GOLD, AUDIT):
        assert first.batch.path(name).read_bytes() == second.batch.path(name).read_bytes()


def test_the_first_build_has_nothing_to_compare_with(tmp_path):
    drift = next(gate for gate in build(make_job(tmp_path, two_patients()), tmp_path / "out").gates if gate.gate == "idempotency_drift")
    assert drift.state == "unmeasured" and "no earlier batch" in drift.reason


def test_other_bytes_under_the_same_job_and_stamps_are_drift_and_refuse_the_batch(tmp_path):
    job = make_job(tmp_path, two_patients())
    first = build(job, tmp_path / "out")

    def another_past(rows):
        sealed = rows[-1]["rows"]
        name = next(iter(sealed))
        sealed[name] = ["0" * 16, sealed[name][1]]

    edit_rows(first.batch.path(AUDIT), another_past)
    second = build(job, tmp_path / "out")
    assert second.exit_code == 4 and any(
        "idempotency_drift" in finding and "1 rows differ" in finding for finding in second.batch_findings()
    )
    assert second.batch.path(REFUSED_ITEMS).exists() and not second.batch.path(ITEMS).exists()


def test_an_edited_job_is_only_described_as_different(tmp_path):
    build(make_job(tmp_path, two_patients()), tmp_path / "out")
    edited = make_job(tmp_path, two_patients().replace("start_weight: 96", "start_weight: 97"))
    second = build(edited, tmp_path / "out")
    drift = next(gate for gate in second.gates if gate.gate == "idempotency_drift")
    assert second.exit_code == 0 and drift.state == "unmeasured" and "the job was edited" in drift.reason
    assert second.rebuild.startswith("Differs from batch") and "the job was edited" in second.rebuild


def test_a_changed_stamp_is_only_described_as_different(tmp_path, monkeypatch):
    job = make_job(tmp_path, two_patients())
    first = build(job, tmp_path / "out")
    edit_rows(first.batch.path(AUDIT), lambda rows: rows[-1]["rows"].update({next(iter(rows[-1]["rows"])): ["0" * 16, "0" * 16]}))
    text = first.batch.path("batch.json").read_text()
    first.batch.path("batch.json").write_text(text.replace(first.facts.stamps["world"], "0" * 16))
    second = build(job, tmp_path / "out")
    assert second.exit_code == 0 and second.rebuild


@pytest.mark.slow
def test_a_shortcut_in_the_devices_refuses_the_batch_with_feature_n_and_p(tmp_path):
    summary = build(make_job(tmp_path, devices_that_follow_the_outcome()), tmp_path / "out")
    assert summary.exit_code == 4
    [finding] = [finding for finding in summary.batch_findings() if "shortcut_scan" in finding]
    assert all(word in finding for word in ("bp_cuff", "n 32", "AUC 1.00", "p 0.0002", "change the seed"))


def test_an_item_is_the_same_alone_in_a_batch_and_reordered(tmp_path):
    keeps, regains = KEEPS.format(name="T-1", devices=BOTH, start=96, low=86), REGAINS.format(name="T-2", devices=BOTH, start=104, low=92)
    rows = {}
    for name, cases in (("both", keeps + regains), ("turned", regains + keeps), ("alone", regains)):
        summary = build(make_job(tmp_path, cases, name=name), tmp_path / "out")
        rows[name] = {row["item_id"]: row for row in read_rows(summary.batch.path(ITEMS))}
    assert rows["both"] == rows["turned"]
    assert all(rows["both"][item_id] == row for item_id, row in rows["alone"].items())


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one(tmp_path):
    job = make_job(tmp_path, two_patients())
    one, two = build(job, tmp_path / "one"), build(job, tmp_path / "two", workers=2)
    for name in (ITEMS, GOLD):
        assert one.batch.path(name).read_bytes() == two.batch.path(name).read_bytes()


UNDECLARED = {"gated": {"episode": "purchase"}, "episode": {"episode": "query"}, "language": {"language": "fr"}}


@pytest.mark.parametrize("key", UNDECLARED)
def test_what_the_pack_does_not_declare_is_refused_with_file_and_key_before_anything_is_written(tmp_path, key):
    job = make_job(tmp_path, two_patients())
    path = tmp_path / "toy.yaml"
    path.write_text(path.read_text() + ("gated: true\n" if key == "gated" else ""))
    with pytest.raises(JobError, match="'(purchase|query|fr)'") as told:
        build(replace(job, **UNDECLARED[key]), tmp_path / "out")
    assert told.value.where == f"{path}, {key}" and not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", [0, -3, 65, 100000])
def test_a_number_of_workers_that_is_not_1_to_64_is_a_usage_error_before_anything_is_written(tmp_path, workers):
    with pytest.raises(UsageError, match=f"--workers: {workers}; allowed: 1 to 64"):
        build(make_job(tmp_path, two_patients()), tmp_path / "out", workers=workers)
    assert not (tmp_path / "out").exists()


def test_the_drift_stands_in_batch_json_and_not_in_the_audit(tmp_path):
    job = make_job(tmp_path, two_patients())
    first, second = build(job, tmp_path / "out"), build(job, tmp_path / "out")
    assert [each.batch.facts().more["drift"]["state"] for each in (first, second)] == ["unmeasured", "passed"]
    assert all(gate.gate != "idempotency_drift" for gate in second.batch.seal().gates)


def test_both_numbers_of_a_refusal_are_shown_whole_however_narrow_the_terminal(tmp_path, capsys, monkeypatch):
    make_job(tmp_path, one_kept_one_refused())
    for width in (None, 60):
        monkeypatch.setattr("clinworld.cli.console._terminal_width", lambda width=width: width)
        assert build_verb(str(tmp_path / "toy.yaml"), out=tmp_path / "out") == 0
        lines = capsys.readouterr().out.splitlines()
        told = " ".join(line.strip() for line in lines[:-1])
        assert re.search(r"needs 6 events.*allows 1\b", told) and "…" not in told
        assert width is None or (len(lines) > 2 and all(len(line) <= width for line in lines[:-1]))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_refused_case_of_the_demo_names_both_numbers(tmp_path, capsys, language):
    build_verb("example-ew", out=tmp_path, language=language)
    assert re.search(r"needs 6 events.*allows 1\b", capsys.readouterr().out)
