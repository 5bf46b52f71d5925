"""A certificate counts what it says it counts, claims no more than that bounds, and shows when it was touched or is out of date."""

import re
from collections import Counter
from dataclasses import replace

import orjson
import pytest
from certificate_case import SMALL, certificate, certified, folder, record_system
from emr_case import knowledge

from clinworld.core.errors import NothingEmitted, StampMismatch, StoreError, UsageError
from clinworld.core.rng import Rng
from clinworld.packs.emr_write.certificate.bounds import print_up, upper_bound
from clinworld.packs.emr_write.certificate.build import as_json, derive_rest
from clinworld.packs.emr_write.certificate.certify import Plan, certify_checker, redraw_corpus
from clinworld.packs.emr_write.certificate.check import check_certificate, read_certificate
from clinworld.packs.emr_write.certificate.commitment import LEDGER, read_seed, write_commitment
from clinworld.packs.emr_write.certificate.digests import digest_checker, digest_contract, digest_generator
from clinworld.packs.emr_write.certificate.draw import RIGHT, Family, draw_trial, draw_trials, list_families, list_right_families
from clinworld.packs.emr_write.certificate.explain import HERE, explain_certificate
from clinworld.packs.emr_write.certificate.measure import Judged, count_policies, count_trials, judge_with_checker
from clinworld.packs.emr_write.certificate.policies import POLICIES
from clinworld.packs.emr_write.certificate.published import PUBLISHED_RIGHT, PUBLISHED_WRONG, draw_published
from clinworld.packs.emr_write.checker.verdict import ALL_RULES
from clinworld.packs.emr_write.episode import run_report
from clinworld.packs.emr_write.faults.registry import find_server_faults, load_faults
from clinworld.packs.emr_write.faults.server import wrap_store


def families(*names: str) -> list[Family]:
    return [each for each in (*list_families(), *list_right_families()) if each.name in names]


def draw(family: str, count: int, seed: str = "s"):
    return draw_trials(families(family), {family: count}, seed, knowledge())


# --- what is drawn ------------------------------------------------------------------------------------------------------------------


def test_every_wrong_fault_belongs_to_one_family_and_every_right_one_to_the_right_side():
    wrong = Counter(name for family in list_families() if family.together == 1 for name in family.faults)
    assert set(wrong) == {fault.fault_id for fault in load_faults().values() if fault.expected != RIGHT} and set(wrong.values()) == {1}
    assert len(list_families()) >= 12
    right = {name for family in list_right_families() for name in family.faults}
    assert right == {fault.fault_id for fault in load_faults().values() if fault.expected == RIGHT}


def test_a_trial_is_the_same_whatever_else_is_drawn_and_another_seed_gives_another():
    alone = draw_trial(families("value_policy")[0], 3, Rng("s"), knowledge())
    among = list(draw_trials(families("value_policy", "gold"), {"value_policy": 5, "gold": 1}, "s", knowledge()))[3]
    assert alone == among
    assert draw_trial(families("value_policy")[0], 3, Rng("t"), knowledge()).text != alone.text


def test_a_family_without_a_task_it_applies_to_is_an_error_not_an_empty_count(monkeypatch):
    monkeypatch.setattr("clinworld.packs.emr_write.certificate.draw.whole_setting", lambda _: 10)
    with pytest.raises(NothingEmitted, match="no task offers its faults"):
        draw_trial(Family("nothing_at_all", "wrong", ("no_such_fault",)), 0, Rng("s"), knowledge())


def test_two_faults_at_once_are_never_a_right_write():
    assert all(trial.expected != RIGHT and len(trial.template.split()) == 4 for trial in draw("two_faults", 12))


# --- what is counted ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_six_cases_in_fifty_variants_on_two_stores_earn_nothing_and_the_control_everything():
    counts = count_trials(draw_published("1"), judge_with_checker(record_system())).tallies
    wrong, right = counts[PUBLISHED_WRONG], counts[PUBLISHED_RIGHT]
    assert (wrong.paid, wrong.trials, right.paid, right.trials) == (0, 600, 100, 100)
    assert print_up(upper_bound(wrong.paid, wrong.trials, 0.05)) == "0.0050"
    assert sorted(wrong.clusters.values()) == [50] * 12 and wrong.other_outcome == 0


def judge_without(rule):
    """Our checker with one rule left out."""

    def judge(trial):
        system = wrap_store(record_system(), find_server_faults(trial.server_faults))
        verdict = run_report(system, trial.task, trial.text, rules=ALL_RULES - {rule})
        return Judged(None if verdict.reward is None else verdict.reward == 1.0, verdict.outcome)

    return judge


@pytest.mark.parametrize(("rule", "family"), [("whole_frame", "frame_policy"), ("one_to_one_rows", "cardinality_policy")])
def test_a_checker_without_a_rule_is_caught_and_the_trial_named(rule, family):
    tally = count_trials(draw(family, 25), judge_without(rule)).tallies[family]
    assert tally.paid and "must be wrong_effect" in tally.surprises[0]
    assert count_trials(draw(family, 25), judge_with_checker(record_system())).tallies[family].paid == 0


def test_what_cannot_be_scored_is_not_paid_and_is_counted_apart():
    tally = count_trials(draw("platform_server", 8), judge_with_checker(record_system())).tallies["platform_server"]
    assert (tally.paid, tally.unscored, tally.other_outcome) == (0, 8, 0)


def test_a_checker_that_refuses_everything_or_pays_everything_shows_on_its_side():
    refuses = count_trials(draw("gold", 4), lambda _: Judged(False)).tallies["gold"]
    assert refuses.trials - refuses.paid == 4 and len(refuses.surprises) == 4
    pays = count_trials(draw("value_policy", 4), lambda _: Judged(True)).tallies["value_policy"]
    assert pays.paid == 4 and len(pays.surprises) == 4


def test_policies_that_decide_nothing_earn_what_they_should():
    earned = {name: tally.paid for name, tally in count_policies(40, "s", record_system()).items()}
    assert set(earned) == set(POLICIES)
    assert earned["silence"] == earned["gold_then_noise"] == earned["copy_prompt"] == 0
    never = sum(paid for name, paid in earned.items() if name.startswith("never_write"))
    assert 0 < never < 40 and 0 < earned["always_order"] < 40
    assert never + earned["always_order"] <= 40, "no task is right both ways"


# --- what is written ----------------------------------------------------------------------------------------------------------------


def test_a_certificate_holds_the_agreed_fields_and_its_bounds_follow_from_its_counts():
    row = as_json(certificate())
    agreed = (
        "epsilon delta threshold corpus_digest checker_digest contract_digest scope issuer issued_at_update expires_at_update signature"
    )
    assert all(name in row for name in agreed.split())
    assert row["scope"] == "synthetic" and row["issuer"] == "self_signed" and row["threshold"] == 1.0
    m = len(row["families"])
    assert all(each["count"] == 0 and each["trials"] == SMALL.trials and each["distinct"] for each in row["families"])
    assert row["epsilon"] == upper_bound(0, SMALL.trials, 0.05 / m) and row["pooled"]["trials"] == m * SMALL.trials
    assert {each["name"]: each["count"] for each in row["right"]} == {"gold": 0, "right_in_another_form": 0}
    by_name = {each["over"]: each for each in row["independence"]}
    assert [left["effective"] for left in by_name["published_cases"]["dependence"]] == [402, 101, 23, 12]
    assert certified().exit_code == 0 and read_certificate(certified().path) == certificate()


def test_the_commitment_stands_on_disk_before_the_first_trial_is_drawn(tmp_path):
    class Stop(Exception):
        pass

    def stop():
        line = orjson.loads((tmp_path / "emr_write" / LEDGER).read_bytes().splitlines()[-1])
        assert line["commitment"] == read_seed("5", None).commit(SMALL.as_row()) and line["checker_digest"] == digest_checker()
        raise Stop

    with pytest.raises(Stop):
        certify_checker(tmp_path, SMALL, read_seed("5", None), knowledge(), advance=stop)


@pytest.mark.slow
def test_a_run_that_was_killed_is_run_again_on_its_seed_and_two_at_once_are_not(tmp_path):
    class Killed(BaseException):
        pass

    plan, seed = Plan(1), read_seed("killed", None)

    def die():
        with pytest.raises(StoreError, match="another clinworld process"):
            certify_checker(tmp_path, plan, seed, knowledge())
        raise Killed

    with pytest.raises(Killed):
        certify_checker(tmp_path, plan, seed, knowledge(), advance=die)
    assert not list(tmp_path.rglob("certificate.json"))
    again = certify_checker(tmp_path, plan, seed, knowledge())
    assert again.certificate.claim == "bound" and again.certificate.seed.attempt == 1
    assert len((tmp_path / "emr_write" / LEDGER).read_bytes().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"commitment": ["x"]}, {"seed_digest": None}, {"plan": "x"}, {"subject": 3}])
def test_a_line_of_the_ledger_that_is_no_commitment_is_named(change, tmp_path):
    row = {"subject": "s", "commitment": "c", "seed_digest": "d", "checker_digest": "e", "plan": {}}
    (tmp_path / LEDGER).write_bytes(orjson.dumps(row) + b"\n" + orjson.dumps(row | change) + b"\n")
    with pytest.raises(StoreError, match="line 2: not a commitment"):
        write_commitment(tmp_path, read_seed("1", None), {}, "s", "e", is_regression=False)


@pytest.mark.slow
def test_the_same_seed_and_plan_again_gives_the_same_bytes():
    before = certified().path.read_bytes()
    assert certify_checker(folder(), SMALL, read_seed("a test", None), knowledge()).path.read_bytes() == before


@pytest.mark.slow
def test_a_used_seed_is_refused_to_another_plan_or_checker_and_counted_without_a_claim_where_asked(monkeypatch, tmp_path):
    certified()
    (tmp_path / "emr_write").mkdir()
    (tmp_path / "emr_write" / LEDGER).write_bytes((folder() / "emr_write" / LEDGER).read_bytes())
    seed = read_seed("a test", None)
    with pytest.raises(StampMismatch, match="to another plan; a bound holds for the first run"):
        certify_checker(tmp_path, Plan(2), seed, knowledge())
    monkeypatch.setattr("clinworld.packs.emr_write.certificate.certify.digest_checker", lambda: "f" * 32)
    with pytest.raises(StampMismatch, match="by checker .*--regression"):
        certify_checker(tmp_path, SMALL, seed, knowledge())
    labelled = certify_checker(tmp_path, Plan(1), seed, knowledge(), is_regression=True)
    assert labelled.certificate.claim == "regression" and labelled.certificate.epsilon is None
    assert all(share.bound is None for share in labelled.certificate.families) and labelled.certificate.seed.attempt == 2
    assert "regression" in labelled.path.parent.name


def test_seeds_are_random_where_none_is_given_and_kept_back_where_they_come_from_a_file(tmp_path):
    assert read_seed(None, None).value != read_seed(None, None).value and read_seed(None, None).source == "drawn"
    (tmp_path / "seed").write_text("0123456789abcdef" * 4)
    kept = read_seed(None, tmp_path / "seed")
    assert kept.shown is None and "0123456789abcdef" not in kept.value
    (tmp_path / "short").write_text("short")
    for given, file, says in (
        (None, tmp_path / "short", "32 to 4,096 random characters"),
        (None, tmp_path / "none", "cannot be read"),
        ("1", tmp_path / "seed", "one seed"),
        (" ", None, "a whole number or a few words"),
        ("x" * 201, None, "at most 200 printable"),
    ):
        with pytest.raises(UsageError, match=says):
            read_seed(given, file)


# --- what is checked ----------------------------------------------------------------------------------------------------------------


def current() -> dict[str, str]:
    return {"checker_digest": digest_checker(), "contract_digest": digest_contract(), "generator_digest": digest_generator()}


def test_a_certificate_as_it_was_made_is_good_and_one_for_another_checker_is_stale_by_name():
    good = check_certificate(certificate(), current())
    assert (good.exit_code, good.bad, good.stale) == (0, (), ()) and "signature: none" in good.notes[0]
    stale = check_certificate(certificate(), {**current(), "checker_digest": "a" * 32})
    assert stale.exit_code == 5 and stale.stale == (f"checker_digest: {digest_checker()} in the file, {'a' * 32} here",)


EDITS = {
    "a count": (lambda row: row["families"][0].update(count=1), "families.cardinality_policy.bound"),
    "a bound": (lambda row: row["families"][0].update(bound=0.001), "families.cardinality_policy.bound: 0.001"),
    "the claim": (lambda row: row.update(epsilon=0.0001), "epsilon: 0.0001"),
    "more trials than planned": (lambda row: row["families"][0].update(trials=9999), "9999 trials, 3 planned"),
    "more hits than trials": (lambda row: row["baselines"][0].update(count=99), "99 of 9 trials"),
    "a digest": (lambda row: row.update(checker_digest="b" * 32), "digest: not of what the file says"),
    "the seed": (lambda row: row["seed"].update(value="another"), "seed.commitment"),
    "the expiry": (lambda row: row.update(expires_at_update=10**8), "digest: not of what the file says"),
    "templates": (lambda row: row["independence"][0].update(clusters=[[1, 99999]]), "trials in its templates"),
    "a family twice": (lambda row: row["right"].append(row["right"][0]), "stands twice"),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_certificate_is_bad_and_the_place_is_told(what, tmp_path):
    change, says = EDITS[what]
    row = as_json(certificate())
    change(row)
    (tmp_path / "c.json").write_bytes(orjson.dumps(row))
    checked = check_certificate(read_certificate(tmp_path / "c.json"), current())
    assert checked.exit_code == 3 and says in "\n".join(checked.bad)


@pytest.mark.slow
def test_a_forger_who_works_everything_out_again_needs_a_signature_to_be_caught():
    forged = certificate().model_copy(update={"subject": "another checker"})
    assert check_certificate(derive_rest(forged), current()).exit_code == 0, "nothing in an unsigned file can tell"
    assert check_certificate(forged, current()).exit_code == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[1, 2", "not JSON"),
        ("[]", "no certificate"),
        ('{"certificate": 2}', "certificate: Input should be 1"),
        (None, "cannot be read .No such file"),
        ("x" * 5_000_001, "more than 5,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_certificate_is_one_message(text, says, tmp_path):
    path = tmp_path / "c.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(StoreError, match=says):
        read_certificate(path)


def test_a_key_of_its_own_or_a_word_for_a_number_is_no_certificate(tmp_path):
    for change in ({"patients": 3}, {"epsilon": "small"}, {"scope": "production"}, {"issuer": "the state"}):
        (tmp_path / "c.json").write_bytes(orjson.dumps({**as_json(certificate()), **change}))
        with pytest.raises(StoreError, match=next(iter(change))):
            read_certificate(tmp_path / "c.json")


def test_the_trials_drawn_again_from_the_seed_are_the_same_and_a_kept_seed_cannot_be_drawn():
    assert redraw_corpus(certificate(), knowledge()) == certificate().corpus_digest
    kept = certificate().model_copy(update={"seed": certificate().seed.model_copy(update={"value": None})})
    with pytest.raises(UsageError, match="kept back"):
        redraw_corpus(kept, knowledge())


def test_a_comment_moves_no_digest_and_a_rule_moves_the_checkers(tmp_path, monkeypatch):
    from clinworld.packs.emr_write.certificate import digests

    pack = tmp_path / "pack"
    (pack / "checker").mkdir(parents=True)
    (pack / "tasks").mkdir()
    source = (digests.PACK / "checker" / "frame.py").read_text(encoding="utf-8")
    seen = []
    for text in (source, f"# a remark\n{source}", source.replace("MOST_SHOWN = 20", "MOST_SHOWN = 21")):
        (pack / "checker" / "frame.py").write_text(text, encoding="utf-8")
        seen.append((digests._digest_files(pack, digests._CHECKER), digests._digest_files(pack, digests._GENERATOR)))
    assert seen[0] == seen[1] and seen[1][0] != seen[2][0] and seen[1][1] == seen[2][1]


# --- what is explained --------------------------------------------------------------------------------------------------------------

CHINESE = re.compile("[\u4e00-\u9fff]")


def test_the_page_says_the_same_in_both_languages_and_mixes_them_nowhere():
    english, chinese = (explain_certificate(check_certificate(certificate(), {}), language) for language in ("en", "zh"))
    assert not CHINESE.search(english)
    prose = re.sub(r"`[^`]*`", "", chinese)
    assert set(re.findall(r"[A-Za-z]{2,}", prose)) <= {"Ed25519"}
    number = re.compile(r"\d+\.\d{4}|\b\d{2,}\b")
    assert Counter(number.findall(english)) == Counter(number.findall(chinese))
    assert not re.search(r"\{\w+\}", english + chinese) and english.count("\n## ") == chinese.count("\n## ") == 7


def test_a_page_of_counts_without_a_claim_shows_no_bound():
    counted = derive_rest(certificate().model_copy(update={"claim": "regression"}))
    page = explain_certificate(check_certificate(counted, {}), "en")
    assert "No bound is claimed" in page and "not claimed" in page and print_up(certificate().epsilon or 0) not in page


def test_every_row_of_the_page_is_written_in_both_languages():
    for line in (HERE / "explain.csv").read_text(encoding="utf-8").splitlines()[1:]:
        words = re.sub(r"\{\w+\}", "", line.partition(",")[2])
        assert CHINESE.search(words) or not re.search(r"\w", words)


def test_an_unknown_store_or_plan_is_refused():
    with pytest.raises(UsageError, match="'oracle'; allowed: sqlite"):
        replace(SMALL, store="oracle")
    for trials in (0, -1, 10**9):
        with pytest.raises(UsageError, match="at least 1, at most 1,000,000"):
            replace(SMALL, trials=trials)
