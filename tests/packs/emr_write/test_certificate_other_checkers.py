"""A checker of somebody else's is judged by its verdicts on our trials: sees no answer, leaves none out, and gets what it earns."""

import orjson
import pytest
from certificate_case import record_system
from emr_case import knowledge

from clinworld.core.canary import CANARY
from clinworld.core.errors import StampMismatch, StoreError
from clinworld.packs.emr_write.certificate.certify import Plan
from clinworld.packs.emr_write.certificate.commitment import read_seed
from clinworld.packs.emr_write.certificate.draw import draw_trials
from clinworld.packs.emr_write.certificate.export import show_trial
from clinworld.packs.emr_write.certificate.measure import judge_with_checker
from clinworld.packs.emr_write.certificate.other_checkers import _sort_lines, certify_verdicts, export_corpora, is_about_cases
from clinworld.packs.emr_write.certificate.published import draw_published
from clinworld.packs.emr_write.search.corpus import read_corpus
from clinworld.packs.emr_write.store.rows import encode_json

PLAN, SEED = Plan(1), read_seed("other", None)


def trials():
    return [*draw_trials(PLAN.families(), PLAN.counts(), SEED.value, knowledge()), *draw_published(SEED.value)]


@pytest.mark.slow
def test_a_checker_that_is_right_everywhere_is_certified_and_one_that_believes_a_banner_is_not(tmp_path):
    right = {trial.trial_id: trial.is_right for trial in trials()}
    good = certify_verdicts(tmp_path, "careful", right, PLAN, SEED, knowledge())
    assert good.exit_code == 0 and good.certificate.kind == "other_checker" and good.certificate.subject == "careful"
    believes = certify_verdicts(tmp_path, "banner", dict.fromkeys(right, True), PLAN, SEED, knowledge())
    assert believes.exit_code == 3 and believes.certificate.epsilon == 1.0 and len(believes.surprises) > 10
    assert believes.path != good.path, "no certificate overwrites another"
    better = {**dict.fromkeys(right, True), next(iter(right)): False}
    with pytest.raises(StampMismatch, match="by checker"):
        certify_verdicts(tmp_path, "banner", better, PLAN, SEED, knowledge())


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", ["left out", "unknown", "no verdict", "half a character", "a number without end", "a long name", "a name of two lines"]
)
def test_verdicts_that_are_not_one_for_each_trial_are_refused(what, tmp_path):
    paid = {trial.trial_id: trial.is_right for trial in trials()}
    first, name, says = next(iter(paid)), "x", what
    match what:
        case "left out":
            del paid[first]
            says = f"'{first}' has no verdict"
        case "unknown":
            paid["f" * 12] = True
            says = "no trial 'ffffffffffff' under this seed"
        case "no verdict":
            paid[first] = "yes"
            says = "'yes'; true, false, or null"
        case "half a character":
            paid["\ud800"] = True
            says = r"no trial '.ud800' under"
        case "a number without end":
            paid[first] = float("inf")
            says = "inf; true, false, or null"
        case "a name of two lines":
            name, says = "a\n# b", "printable characters on one line"
        case _:
            name, says = "x" * 300, "300 characters"
    with pytest.raises(StoreError, match=says):
        certify_verdicts(tmp_path, name, paid, PLAN, SEED, knowledge())
    assert not list(tmp_path.rglob("certificate.json"))


def test_an_exported_trial_says_what_happened_and_not_what_is_right():
    judge = judge_with_checker(record_system())
    for trial in trials()[:40]:
        row = orjson.loads(encode_json(show_trial(record_system(), trial)).encode())
        assert set(row) == {"trial", "prompt", "now", "wanted", "wanted_decision", "before", "report", "answers", "after"}
        assert row["report"] == trial.text and len(row["before"]) == len(trial.task.setup)
        assert (row["after"] is None) == (judge(trial).outcome == "failed_platform" and row["after"] is None)
        said = {name: value for name, value in row.items() if name != "report"}
        assert trial.family not in str(said) and CANARY not in str(row)


def test_lines_are_put_in_the_order_of_their_ids_and_the_first_stays(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"canary": 1}\n{"trial": "c"}\n{"trial": "a", "x": "\u00e9"}\n{"trial": "b"}\n', encoding="utf-8")
    _sort_lines(path, "trial")
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert rows == [{"canary": 1}, {"trial": "a", "x": "\u00e9"}, {"trial": "b"}, {"trial": "c"}]
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl"]


@pytest.mark.slow
def test_the_order_of_exported_trials_does_not_tell_their_families(tmp_path):
    folder, cases, count = export_corpora(tmp_path, PLAN, SEED, knowledge())
    lines = [orjson.loads(line) for line in (folder / "trials.jsonl").read_bytes().splitlines()]
    shown = [line["trial"] for line in lines[1:]]
    assert "canary" in lines[0] and len(shown) == count and shown == sorted(trial.trial_id for trial in trials())
    listed = [orjson.loads(line)["case"] for line in (folder / "cases.jsonl").read_bytes().splitlines()[1:]]
    assert len(listed) == cases and listed == sorted(line.shown_id for line in read_corpus())


def test_verdicts_on_kept_counterexamples_are_told_from_verdicts_on_trials():
    assert is_about_cases({read_corpus()[0].shown_id: True}) and not is_about_cases({"0123456789ab": True})
