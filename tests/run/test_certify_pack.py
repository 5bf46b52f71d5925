"""What can be earned on a decision pack without reading: constants are fitted apart, the oracle is paid everywhere, nothing is invented."""

from functools import lru_cache

import pytest

from clinworld.core.errors import StampMismatch, UsageError
from clinworld.knowledge.load import load_knowledge
from clinworld.packs.emr_write.certificate.bounds import upper_bound
from clinworld.packs.emr_write.certificate.certify import Certified
from clinworld.packs.emr_write.certificate.check import check_certificate
from clinworld.packs.emr_write.certificate.commitment import read_seed
from clinworld.packs.emr_write.certificate.explain import explain_certificate
from clinworld.packs.load import load_pack
from clinworld.run import certify_pack as certify_pack_module
from clinworld.run.blind_policies import is_right
from clinworld.run.certify_pack import PackPlan, certify_pack, digest_pack
from clinworld.run.pack_exam import Exam

PLAN = PackPlan(6, "en", 12)


@pytest.fixture(scope="module")
def digests() -> dict[str, str]:
    """What the installation has just before it certifies."""
    here = digest_pack(load_pack("early_warning"))
    return {"checker_digest": here.checker, "contract_digest": here.contract, "generator_digest": here.generator}


@pytest.fixture(scope="module")
def done(tmp_path_factory, digests) -> Certified:
    return certify_pack(tmp_path_factory.mktemp("c"), load_pack("early_warning"), PLAN, read_seed("a test", None), load_knowledge())


@lru_cache(maxsize=1)
def without_right_answers():
    """The pack with its oracle answering wrongly."""
    pack = load_pack("early_warning")
    pack.__dict__["controls"] = {**pack.controls, "oracle": pack.controls["anti_oracle"]}
    return pack


@pytest.mark.slow
def test_the_oracle_is_paid_on_every_item_and_silence_on_none(done):
    assert [(each.name, each.count, each.trials) for each in done.certificate.right] == [("oracle", 0, PLAN.items)]
    earned = {each.name: each.count for each in done.certificate.families}
    assert earned["silence"] == earned["empty_object"] == earned["copy_prompt"] == 0
    assert done.exit_code == 0 and done.surprises == () and done.certificate.pooled is None


def test_an_oracle_that_is_not_paid_ends_with_3_and_names_the_items(tmp_path):
    found = certify_pack(tmp_path, without_right_answers(), PackPlan(2, "en", 2), read_seed("1", None), load_knowledge())
    assert found.exit_code == 3 and len(found.surprises) == 2 and "the oracle is not paid" in found.surprises[0]


@pytest.mark.slow
def test_the_best_constant_finds_what_pays_without_reading_and_every_declared_word_has_a_family(done):
    earned = {each.name: each.count for each in done.certificate.families}
    named = [name for name in earned if name.startswith("constant:")]
    assert len(named) == 4 + 6  # risk categories and action classes
    assert earned["best_constant"] == max(earned[name] for name in named)
    assert earned["constant:direction always indeterminate"] == 0
    assert {"control:constant", "control:humble", "control:no_review"} <= set(earned)
    assert not {"control:noise_aware_reader", "control:slope_rule", "control:oracle"} & set(earned), "those read"


def test_each_policy_has_an_exact_bound_and_all_hold_at_once(done):
    m = len(done.certificate.families)
    for each in done.certificate.families:
        assert each.bound == upper_bound(each.count, each.trials, 0.05)
        assert each.bound_simultaneous == upper_bound(each.count, each.trials, 0.05 / m)
    assert done.certificate.epsilon == max(each.bound_simultaneous or 0 for each in done.certificate.families)


@pytest.mark.slow
def test_the_certificate_is_good_here_and_stale_under_other_judges(done, digests):
    assert check_certificate(done.certificate, digests).exit_code == 0
    assert check_certificate(done.certificate, {**digests, "checker_digest": "0" * 16}).exit_code == 5


def test_the_page_names_policies_and_what_paid_means_in_both_languages(done):
    english, chinese = (explain_certificate(check_certificate(done.certificate, {}), language) for language in ("en", "zh"))
    assert "what can be earned on early_warning without reading the record" in english
    assert "0.8 of full marks or more, and no hard gate is hit" in english and "0.8" in chinese
    assert english.count("\n| ") == chinese.count("\n| ")


@pytest.mark.slow
def test_a_used_seed_is_refused_before_anything_is_drawn(done):
    folder = done.path.parents[2]
    with pytest.raises(StampMismatch, match="to another plan"):
        certify_pack(folder, load_pack("early_warning"), PackPlan(7, "en", 12), read_seed("a test", None), load_knowledge())


@pytest.mark.slow
def test_the_same_seed_gives_the_same_certificate(done):
    raw = done.path.read_bytes()
    again = certify_pack(done.path.parents[2], load_pack("early_warning"), PLAN, read_seed("a test", None), load_knowledge())
    assert again.path == done.path and again.path.read_bytes() == raw


def test_a_pack_without_an_oracle_or_a_scored_dimension_cannot_be_certified(tmp_path):
    pack = load_pack("early_warning")
    pack.__dict__["controls"] = {"constant": pack.controls["constant"]}
    with pytest.raises(UsageError, match="no control 'oracle' for the episode 'single'"):
        certify_pack(tmp_path, pack, PLAN, read_seed("1", None), load_knowledge())


@pytest.mark.parametrize(
    ("value", "direction", "is_it"),
    [
        (1.0, "higher", True),
        (0.8, "higher", True),
        (0.79, "higher", False),
        (0.1, "lower", True),
        (0.3, "lower", False),
        (None, "higher", False),
    ],
)
def test_a_dimension_is_right_from_the_stated_share_of_full_marks_and_never_when_unmeasured(value, direction, is_it):
    assert is_right(value, direction, 0.8) is is_it


@pytest.mark.slow
def test_rounds_are_certified_too(tmp_path):
    found = certify_pack(tmp_path, load_pack("tracking_review"), PackPlan(4, "zh", 12), read_seed("1", None), load_knowledge())
    assert found.exit_code == 0 and found.certificate.plan["episode"] == "rounds"
    assert "constant:revision_timeliness low and high in turn" in {each.name for each in found.certificate.families}


def test_items_without_a_skill_to_measure_are_left_out_and_counted(tmp_path, monkeypatch):
    seen = []

    def find_core(exam, asked):
        seen.append(asked.item.item_id)
        core = find(exam, asked)
        return tuple(each for each in core if each.role != "skill") if asked.item.item_id == seen[0] else core

    find = certify_pack_module.find_core
    monkeypatch.setattr(certify_pack_module, "find_core", find_core)
    counts = certify_pack_module._Counts()
    exam = Exam(load_pack("early_warning"), load_knowledge(), ())
    asked = list(certify_pack_module._ask_items(counts, exam, "en", 2, "seed", lambda: None, with_prompts=False))
    assert len(asked) == 2 and counts.left_out == 1 and seen[0] not in {each.item.item_id for each in asked}
