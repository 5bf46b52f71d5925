"""`clinworld certify` and `clinworld certificate`: every ending has its code and its one message."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from clinworld.cli.certify import _warn
from clinworld.cli.main import main
from clinworld.packs.emr_write.certificate.build import as_json, derive_rest
from clinworld.packs.emr_write.certificate.check import read_certificate
from clinworld.packs.emr_write.search.corpus import read_corpus

pytestmark = pytest.mark.rows


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(each) for each in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class Made(NamedTuple):
    """A certificate made by the verb, and what it printed."""

    folder: Path
    code: int
    out: str


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    folder, out = tmp_path_factory.mktemp("certificates"), io.StringIO()
    with redirect_stdout(out):
        code = main(["certify", "emr_write", "--trials", "1", "--seed", "a verb", "--out", str(folder)])
    return Made(folder, code, out.getvalue())


def path_of(folder):
    """The first certificate made under a folder."""
    return min(folder.rglob("certificate.json"), key=lambda path: path.stat().st_mtime_ns)


def test_the_verb_writes_a_certificate_says_what_it_bounds_and_how_many_trials_a_half_percent_needs(made):
    assert made.code == 0 and "published_cases     0 of 600  at most 0.0050" in made.out
    last = made.out.splitlines()[-1]
    assert last.startswith("Certified emr_write: 0 of 15 wrong writes paid, 0 of 6 right ones refused; each of 15 families at most 0.99")
    assert "(--trials 1138 for 0.0050)" in last and last.endswith(str(path_of(made.folder)))


def test_a_good_certificate_is_0_an_edited_one_3_and_a_stale_one_5(capsys, made, tmp_path, monkeypatch):
    path, edited = path_of(made.folder), tmp_path / "edited.json"
    code, out, _ = run(capsys, "certificate", "check", path)
    assert code == 0 and "Certificate good: write_checker emr_write, 0 bad, 0 stale." in out and "note: signature: none" in out
    edited.write_text(path.read_text().replace('"count": 0', '"count": 1', 1))
    code, out, _ = run(capsys, "certificate", "check", edited)
    assert code == 3 and "bad: families.cardinality_policy.bound" in out and out.splitlines()[-1].startswith("Certificate bad")
    monkeypatch.setattr("clinworld.cli.certificate.digest_checker", lambda: "c" * 32)
    code, out, _ = run(capsys, "certificate", "check", path)
    assert code == 5 and "stale: checker_digest" in out and out.splitlines()[-1].startswith("Certificate stale")


def test_with_json_there_is_one_document_and_nothing_else(capsys, made):
    code, out, err = run(capsys, "certificate", "check", path_of(made.folder), "--json")
    document = json.loads(out)
    assert (code, err, document["exit_code"], document["bad"], document["certificate"]["subject"]) == (0, "", 0, [], "emr_write")
    code, out, _ = run(capsys, "certificate", "explain", path_of(made.folder), "--json", "--language", "zh")
    assert code == 0 and json.loads(out)["page"].startswith("# ")


def test_trials_drawn_again_are_compared_where_asked(capsys, made, tmp_path):
    code, out, _ = run(capsys, "certificate", "check", path_of(made.folder), "--redraw")
    assert code == 0 and "0 stale" in out


def test_a_used_seed_is_refused_with_5(capsys, made):
    again = ("certify", "emr_write", "--trials", 2, "--seed", "a verb", "--out", made.folder)
    code, _, err = run(capsys, *again)
    assert code == 5 and "this seed was drawn from before" in err and "--regression" in err


@pytest.mark.slow
def test_a_used_seed_is_counted_without_a_bound_where_asked(capsys, made):
    code, out, _ = run(capsys, "certify", "emr_write", "--trials", 2, "--seed", "a verb", "--out", made.folder, "--regression")
    assert code == 0 and "no bound is claimed in a regression run" in out.splitlines()[-1]


def test_a_checker_that_pays_a_wrong_write_ends_with_3_and_names_the_trial(capsys, monkeypatch, tmp_path):
    from clinworld.packs.emr_write.certificate.measure import Judged

    monkeypatch.setattr(
        "clinworld.packs.emr_write.certificate.certify.judge_with_checker", lambda _: lambda trial: Judged(True, "verified")
    )
    code, out, _ = run(capsys, "certify", "emr_write", "--trials", 1, "--seed", 1, "--out", tmp_path)
    assert code == 3 and "must be wrong_effect" in out and "15 of 15 wrong writes paid" in out.splitlines()[-1]


def test_another_checkers_verdicts_are_scored_on_the_kept_cases(capsys, tmp_path):
    path = tmp_path / "verdicts.json"
    right = {line.shown_id: line.is_right for line in read_corpus()}
    path.write_text(json.dumps({"name": "careful", "paid": right}))
    code, out, _ = run(capsys, "certify", "emr_write", "--verdicts", path, "--json")
    assert code == 0 and json.loads(out)["paid_wrong"] == []
    path.write_text(json.dumps({"name": "shy", "paid": {name: is_paid or None for name, is_paid in right.items()}}))
    code, out, _ = run(capsys, "certify", "emr_write", "--verdicts", path)
    assert code == 0 and f"{sum(not is_paid for is_paid in right.values())} left unscored" in out.splitlines()[-1]
    path.write_text(json.dumps({"name": "banner", "paid": dict.fromkeys(right, True)}))
    code, out, _ = run(capsys, "certify", "emr_write", "--verdicts", path)
    assert code == 3 and "No bound: these cases were searched for." in out.splitlines()[-1]
    path.write_text(json.dumps({"name": "careful", "paid": {"0123456789ab": True}}))
    assert "the seed they were exported with is needed" in run(capsys, "certify", "emr_write", "--verdicts", path)[2]


@pytest.mark.slow
def test_another_checker_gets_its_files_and_hands_its_verdicts_back(capsys, tmp_path):
    export = ("certify", "emr_write", "--trials", 1, "--seed", "handed out", "--out", tmp_path)
    code, out, _ = run(capsys, *export, "--export", "--json")
    document = json.loads(out)
    assert code == 0 and document["cases"] == len(read_corpus()) and document["trials"] == 15 + 6 + 700
    lines = (tmp_path / "emr_write" / "exported" / "trials.jsonl").read_text().splitlines()
    assert "canary" in lines[0] and len(lines) == 1 + document["trials"]
    verdicts = tmp_path / "verdicts.json"
    verdicts.write_text(json.dumps({"name": "trusting", "paid": {json.loads(line)["trial"]: True for line in lines[1:]}}))
    code, out, _ = run(capsys, *export, "--verdicts", verdicts)
    assert code == 3 and out.splitlines()[-1].startswith("Certified trusting: 15 of 15 wrong writes paid, 0 of 6 right ones refused")


BAD_INPUT = [
    (("certify", "emr_writ"), "no pack 'emr_writ'; allowed: emr_write, early_warning, tracking_review. Did you mean 'emr_write'?"),
    (("certify", "judge:quality"), "no pack 'judge:quality'"),
    (("certify", "emr_write", "--trials", "0"), "--trials: 0; at least 1"),
    (("certify", "emr_write", "--trials", "2.5"), "no whole number"),
    (("certify", "emr_write", "--store", "oracle"), "--store: 'oracle'; allowed: sqlite"),
    (("certify", "emr_write", "--items", "3"), "--items: not for emr_write"),
    (("certify", "early_warning", "--trials", "3"), "--trials: not for early_warning"),
    (("certify", "early_warning", "--verdicts", "x.json"), "--verdicts: not for early_warning"),
    (("certify", "early_warning", "--items", "0"), "--items: 0; at least 1"),
    (("certify", "early_warning", "--language", "fr"), "'fr'; allowed: en, zh"),
    (("certify", "emr_write", "--seed", "1", "--seed-file", "x"), "a certificate has one seed"),
    (("certify", "emr_write", "--regression"), "--regression: without a seed"),
    (("certify", "early_warning", "--regression"), "--regression: without a seed"),
    (("certify", "emr_write", "--seed", "x" * 5000), "--seed: 5,000 characters; a whole number or words of at most 200"),
    (("certify", "emr_write", "--seed", "a\nb"), "on one line"),
    (("certify", "emr_write", "--seed-file", "nothing-here"), "cannot be read"),
    (("certify", "emr_write", "--verdicts", "nothing-here.json"), "nothing-here.json: no such file"),
    (("certify", "emr_write", "--export", "--verdicts", "x.json"), "--verdicts: not for --export"),
    (("certify", "emr_write", "--trials", "1", "--out", "a-file"), "cannot be made"),
    (("certificate", "chek", "x"), "'chek'; allowed: check, explain. Did you mean 'check'?"),
    (("certificate", "check", "nothing-here.json"), "nothing-here.json: cannot be read (No such file or directory)"),
    (("certificate", "check", "a-file"), "a-file: not JSON"),
    (("certificate", "check", "."), "cannot be read (Is a directory)"),
    (("certificate", "check", "a-file", "--language", "zh"), "that is for explain"),
    (("certificate", "explain", "a-file", "--redraw"), "those are for check"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD_INPUT, ids=[" ".join(arguments)[:60] for arguments, _ in BAD_INPUT])
def test_bad_input_is_2_with_one_message_and_nothing_written(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("no certificate")
    code, out, err = run(capsys, *arguments)
    assert code == 2 and says in err and "Traceback" not in err and out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


def test_an_explanation_in_an_unknown_language_is_refused(capsys, made):
    code, _, err = run(capsys, "certificate", "explain", path_of(made.folder), "--language", "fr")
    assert code == 2 and "'fr'; allowed: en, zh" in err


def write_with(made, path, **changed):
    """The certificate with other values, everything that follows from them worked out again."""
    row = json.loads(path_of(made.folder).read_text())
    path.write_text(json.dumps(row | changed))
    path.write_text(json.dumps(as_json(derive_rest(read_certificate(path)))))
    return path


def test_a_certificate_of_a_pack_that_is_not_here_says_which_and_how_to_add_it(capsys, made, tmp_path):
    path = write_with(made, tmp_path / "c.json", kind="decision_pack", subject="my_pack")
    code, _, err = run(capsys, "certificate", "check", path)
    assert code == 2 and "certificate of my_pack: no pack 'my_pack'" in err and "--pack" in err


def test_a_certificate_whose_plan_was_taken_out_is_bad_and_never_an_internal_error(capsys, made, tmp_path):
    path = write_with(made, tmp_path / "c.json", plan={})
    for more in ((), ("--redraw",)):
        code, out, err = run(capsys, "certificate", "check", path, *more)
        assert code == 3 and "None planned" in out and err == ""
    code, out, _ = run(capsys, "certificate", "explain", path)
    assert code == 3 and "no run can have these counts" in out and "None planned" in out and "\n## " not in out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_explanation_says_first_whether_the_file_is_as_it_says_and_ends_as_check_does(language, capsys, made, tmp_path):
    code, out, _ = run(capsys, "certificate", "explain", path_of(made.folder), "--language", language)
    assert code == 0 and "`clinworld certificate check`" in out.splitlines()[2]
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(json.loads(path_of(made.folder).read_text()) | {"epsilon": 0.001}))
    code, out, _ = run(capsys, "certificate", "explain", edited, "--language", language)
    assert code == 3 and "epsilon" in out.splitlines()[2] and out.splitlines()[2].startswith("**") and "\n## " in out
    assert run(capsys, "certificate", "check", edited)[0] == code


OUT_OF_RANGE = {
    "advantage": 1e40,
    "epsilon": 2,
    "delta": 1e-300,
    "threshold": -1,
    "issued_at_update": 10**30,
    "left_out": -1,
    "plan": {"trials": 10**30},
    "subject": "a\n# b",
    "families.0.trials": 0,
    "families.0.bound": 1e40,
    "families.0.count": 10**30,
    "right.0.bound_simultaneous": -0.1,
    "independence.0.correlation": 1e40,
    "independence.0.clusters": [[-1, 1]],
    "seed.value": "x" * 300,
    "seed.attempt": 0,
    "pooled.trials": True,
    "independence.0.dependence.0.effective": 10**40,
    "independence.0.dependence.0.rho": 1e40,
    "expires_at_update": 1.5,
}


@pytest.mark.parametrize("place", OUT_OF_RANGE)
@pytest.mark.parametrize("action", ["check", "explain"])
def test_a_value_out_of_its_range_is_one_message_and_no_certificate(action, place, capsys, made, tmp_path):
    row = json.loads(path_of(made.folder).read_text())
    at, steps = row, place.split(".")
    for step in steps[:-1]:
        at = at[int(step) if step.isdigit() else step]
    at[steps[-1]] = OUT_OF_RANGE[place]
    (tmp_path / "c.json").write_text(json.dumps(row))
    code, out, err = run(capsys, "certificate", action, tmp_path / "c.json")
    assert code == 2 and place.split(".")[0] in err and "Traceback" not in err and len(err.splitlines()) == 1 and out == ""


def list_keys(value, place=()):
    """Every place of a key in a document, in the first entry of each list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, each in entries:
        if isinstance(value, dict) and not {"plan", "witnesses"} & set(map(str, place)):
            yield (*place, key)
        yield from list_keys(each, (*place, key))


@pytest.mark.slow
def test_a_certificate_that_lacks_any_of_its_keys_is_none(capsys, made, tmp_path):
    whole = path_of(made.folder).read_text()
    for place in list_keys(json.loads(whole)):
        row = json.loads(whole)
        at = row
        for step in place[:-1]:
            at = at[step]
        del at[place[-1]]
        (tmp_path / "c.json").write_text(json.dumps(row))
        code, _, err = run(capsys, "certificate", "check", tmp_path / "c.json")
        assert code == 2 and ".".join(map(str, place)) in err, place


@pytest.mark.slow
def test_a_line_of_the_ledger_that_a_crash_cut_is_told(capsys, made, tmp_path):
    ledger = tmp_path / "emr_write" / "commitments.jsonl"
    ledger.parent.mkdir()
    ledger.write_text('{"subject": "emr_wr')
    code, out, err = run(capsys, "certify", "emr_write", "--trials", 1, "--seed", "torn", "--out", tmp_path)
    assert code == 0 and "its last line was cut off after 19 bytes" in out + err
    assert "cut off" not in made.out and len(ledger.read_text().splitlines()) == 1


def share(count, trials):
    return SimpleNamespace(name="constant: x", count=count, trials=trials)


@pytest.mark.parametrize(
    ("items", "paid", "says"),
    [
        (6, 6, ["6 items bound nothing", "fewer than 9 (--items 9)", "paid on 6 of 6 items: do not train"]),
        (8, 0, ["8 items bound nothing"]),
        (9, 4, []),
        (100, 51, ["paid on 51 of 100 items: do not train"]),
        (100, 50, []),
    ],
)
def test_few_items_and_a_policy_that_earns_without_reading_are_told(items, paid, says):
    told = list(_warn(SimpleNamespace(delta=0.05, families=[share(paid, items), *[share(0, items)] * 20]), items))
    assert all(any(part in line for line in told) for part in says) and bool(told) == bool(says)


@pytest.mark.slow
def test_a_decision_pack_is_certified_checked_and_explained_by_the_verbs(capsys, tmp_path):
    code, out, _ = run(capsys, "certify", "early_warning", "--items", 2, "--seed", 1, "--out", tmp_path)
    assert code == 0 and "best of 21 blind policies paid on" in out.splitlines()[-1] and "0 of 2 right ones refused" in out
    assert run(capsys, "certificate", "check", path_of(tmp_path))[0] == 0
    code, out, _ = run(capsys, "certificate", "explain", path_of(tmp_path), "--language", "zh")
    assert code == 0 and out.startswith("# ")
    code, _, err = run(capsys, "certificate", "check", path_of(tmp_path), "--redraw")
    assert code == 2 and "certificates of emr_write can be drawn again" in err


@pytest.mark.slow
def test_every_command_of_the_docs_page_runs_as_printed(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text(encoding="utf-8")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}\n{done.stdout[-800:]}\n{done.stderr[-800:]}"
