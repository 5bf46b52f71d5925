"""Boards: skill over floors, multipliers, common items, tiers, and every state that is not a number."""

import random
import time
from dataclasses import replace

import pytest
from score_case import CLEAN, CLOSE, DIMENSIONS, FLOORS, SAFE, SIDE, Floor, board, cell, gate, lines, only, partly, run, steady

from clinworld.core.errors import UsageError
from clinworld.schema.pack import Dimension
from clinworld.scores.table import as_row


def test_skill_is_the_share_of_the_way_over_the_floor_and_the_headline_its_mean_times_the_deductions() -> None:
    made = board(run("a", partly(30)))
    line = lines(made)["a"]
    assert [each.skill for each in line.dimensions] == pytest.approx([0.5, 0.6, None])
    assert line.headline == pytest.approx(0.55)
    assert made.state == "ranked"


def test_a_value_under_its_floor_has_no_skill_but_shows_its_negative_margin() -> None:
    score = only(board(run("a", partly(10))), "a", "side")
    assert (score.value, score.margin, score.skill, score.credit) == (0.25, -0.5, 0, 0)


def test_a_floor_of_one_leaves_no_room_and_becomes_a_deduction() -> None:
    made = board(run("a", partly(40, close=0.8)), floors={**FLOORS, "close": Floor(1.0)})
    assert only(made, "a", "close").role == "deduct"
    assert lines(made)["a"].headline == pytest.approx(0.8)
    assert any("close leaves no room" in note for note in made.notes)


def test_without_a_floor_skill_is_unmeasured_and_there_is_no_headline() -> None:
    for floors in ({**FLOORS, "close": Floor(None, "no constant")}, {"side": Floor(0.5)}):
        made = board(run("a", partly(30)), floors=floors)
        assert only(made, "a", "close").skill is None
        assert lines(made)["a"].headline is None
        assert "close" in lines(made)["a"].headline_reason


def test_the_best_constant_has_skill_zero_and_the_oracle_one() -> None:
    made = board(run("constant", lambda item: {"side": item % 2, "close": 0.75, "safe": 1}) + run("best", steady(1, 1)))
    assert [each.skill for each in lines(made)["constant"].dimensions[:2]] == [0, 0]
    assert lines(made)["best"].headline == 1


def test_lower_is_better_counts_down_from_the_lowest_degenerate_value() -> None:
    lower = Dimension("close", "lower", "mean", "skill", None)
    above = only(board(run("a", steady(close=0.9)), dimensions=(lower,)), "a", "close")
    below = only(board(run("a", steady(close=0.25)), dimensions=(lower,)), "a", "close")
    assert (above.margin, above.skill) == (pytest.approx(-0.2), 0)
    assert below.skill == pytest.approx(2 / 3, abs=1e-6)


def test_a_dimension_without_direction_has_a_value_but_no_margin_and_enters_no_mean() -> None:
    aimless = Dimension("close", "none", "mean", "skill", None)
    made = board(run("a", partly(30)), dimensions=(SIDE, aimless, SAFE))
    score = only(made, "a", "close")
    assert (score.value, score.margin, score.skill, score.credit) == (0.9, None, None, None)
    assert lines(made)["a"].headline == pytest.approx(0.5)


def test_direction_is_averaged_over_both_classes_and_shown_apart() -> None:
    score = only(board(run("a", lambda item: {"side": item % 2 or item < 8, "close": 1, "safe": 1})), "a", "side")
    assert score.by_class == {"event": (1.0, 20), "no_event": (0.2, 20)}
    assert score.value == pytest.approx(0.6)


def test_one_class_leaves_the_dimension_unmeasured_and_the_board_without_a_headline() -> None:
    evaluations = [cell("a", 2 * item, {"side": 1, "close": 1, "safe": 1}) for item in range(30)]
    made = board(evaluations)
    assert only(made, "a", "side").state == "unmeasured"
    assert "outcome" in only(made, "a", "side").reason
    assert lines(made)["a"].headline is None
    assert made.state.startswith("no ranking: unmeasured: side")


@pytest.mark.parametrize("silence", ["omitted", "abstained"])
def test_saying_nothing_earns_no_skill_and_never_enters_the_shown_mean(silence: str) -> None:
    picky = run("picky", lambda item: {"side": 1 if item < 20 else silence, "close": 1, "safe": 1})
    score = only(board(picky), "picky", "side")
    assert (score.value, score.n, getattr(score, silence)) == (1.0, 20, 20)
    assert (score.skill, score.credit) == (1.0, 0.5)
    honest = only(board(run("a", steady())), "a", "side")
    assert honest.credit == honest.skill == 1


def test_an_unmeasured_cell_that_is_not_the_agents_doing_costs_nothing() -> None:
    score = only(board(run("a", lambda item: {"side": 1, "close": 0.95 if item < 10 else "unmeasured", "safe": 1})), "a", "close")
    assert (score.value, score.n, score.unmeasured, score.credit) == (0.95, 10, 30, pytest.approx(0.8))


def test_the_multiplier_is_one_less_the_share_of_failed_units_and_no_unit_fails_twice() -> None:
    twice = (gate("invented", units=6, failed=(1, 2)), gate("unsafe", units=6, failed=(2, 3)))
    evaluations = [
        cell("a", item, steady(1, 1)(item), gates=twice if item < 10 else (gate("invented", units=6), gate("unsafe", units=6)))
        for item in range(40)
    ]
    line = lines(board(evaluations))["a"]
    assert (line.units, line.failed_units) == (240, 30)
    assert line.multiplier == line.headline == pytest.approx(1 - 30 / 240)


def test_a_unit_that_could_not_be_judged_is_in_neither_number() -> None:
    unknown = (gate("invented", units=6), gate("unsafe", units=4, failed=(1,)))
    line = lines(board([cell("a", item, steady(1, 1)(item), gates=unknown) for item in range(40)]))["a"]
    assert (line.units, line.failed_units) == (160, 40)
    blank = (gate("invented"), gate("unsafe", units=0, hit=None))
    assert lines(board([cell("a", item, steady(1, 1)(item), gates=blank) for item in range(40)]))["a"].multiplier is None


def test_a_gate_that_cannot_fire_hides_no_unit_from_the_others() -> None:
    idle = (gate("invented"), gate("unsafe", units=0))
    line = lines(board([cell("a", item, steady(1, 1)(item), gates=idle) for item in range(40)]))["a"]
    assert (line.units, line.multiplier) == (40, 1)


def test_an_agent_that_trips_a_hard_gate_everywhere_scores_exactly_zero() -> None:
    tripped = (gate("invented", failed=(140,)), gate("unsafe"))
    assert lines(board(run("a", steady(1, 1), gates=tripped)))["a"].headline == 0


def test_propensity_and_reported_gates_keep_their_own_denominators_and_leave_the_headline_alone() -> None:
    loud = (*CLEAN, gate("over", failed=(140,)), gate("acted", units=0))
    line = lines(board(run("a", steady(1, 1), gates=loud)))["a"]
    found = {each.gate: each for each in line.gates}
    assert line.headline == 1
    assert (found["over"].rate, found["over"].units, found["over"].role) == (1.0, 40, "propensity")
    assert (found["acted"].rate, found["acted"].note) == (None, "cannot fire here")


def test_gate_notes_tell_nothing_to_judge_from_a_contradiction() -> None:
    odd = (gate("invented"), gate("unsafe", units=0, hit=True), gate("over", units=0, hit=None))
    found = {each.gate: each.note for each in lines(board(run("a", steady(), gates=odd)))["a"].gates}
    assert found == {"invented": "", "unsafe": "contradiction", "over": "unmeasured", "acted": "unmeasured"}


def test_unanswered_cells_are_counted_by_cause_and_score_what_the_judges_gave() -> None:
    silent = [
        cell("a", item, steady(0, 0, 0)(item), state="unanswered", cause="empty" if item else "deadline", gates=()) for item in range(20)
    ]
    line = lines(board(silent + [cell("a", item, steady(1, 1)(item)) for item in range(20, 40)]))["a"]
    assert (line.answered, line.cells, dict(line.unanswered)) == (20, 40, {"deadline": 1, "empty": 19})
    mute = lines(board(run("a", steady(0, 0, 0), state="unanswered", cause="empty", gates=())))["a"]
    assert (mute.headline, mute.multiplier) == (0, None)


def test_all_agents_stand_on_the_same_items_and_what_was_left_out_is_listed() -> None:
    made = board(run("a", partly(30)) + run("b", partly(30), items=25))
    assert len(made.common_items) == 25
    assert len(made.left_out) == 15
    assert made.left_out[0] == ("i025", "b was not run on it")
    assert {line.items for line in made.ranked} == {25}
    assert made.incomplete


def test_one_unresolved_cell_takes_its_item_from_every_agent() -> None:
    for broken in (
        cell("b", 3, {}, state="undetermined", cause="timeout"),
        cell("b", 3, {}, state="unjudged", cause="no gold"),
        cell("b", 3, {"side": "unscored", "close": 1, "safe": 1}),
    ):
        others = [each for each in run("b", partly(30)) if each.cell.item_id != "i003"]
        made = board([*run("a", partly(30)), *others, broken])
        assert "i003" not in made.common_items
        assert [item for item, _ in made.left_out] == ["i003"]
        assert any("i003" in told for told in made.incomplete)


def test_an_agent_with_other_dimensions_is_shown_apart_and_not_ranked() -> None:
    odd = run("odd", lambda item: {"side": "abstained", "close": 1, "safe": 1})
    made = board(run("a", partly(30)) + run("b", partly(20)) + odd)
    assert [line.agent for line in made.ranked] == ["a", "b"]
    assert [(line.agent, why) for line, why in made.shown_apart] == [("odd", "not measured: side")]
    assert made.shown_apart[0][0].rank is None


def test_under_twenty_items_there_is_no_headline_but_every_value_is_shown() -> None:
    made = board(run("a", partly(30), items=19))
    line = lines(made)["a"]
    assert (line.headline, line.headline_interval, line.rank) == (None, None, None)
    assert "19" in line.headline_reason
    assert "too few items" in made.state
    assert only(made, "a", "close").value == 0.9
    assert lines(board(run("a", partly(30), items=20)))["a"].headline is not None


def test_controls_and_oracles_stand_on_the_board_and_are_never_ranked() -> None:
    made = board(run("a", partly(20)) + run("rule", partly(40), source="control") + run("gold", steady(1, 1), source="oracle"))
    assert [line.agent for line in made.ranked] == ["a"]
    assert [(line.agent, line.kind, line.rank, line.tier) for line in made.unranked] == [
        ("gold", "oracle", None, None),
        ("rule", "control", None, None),
    ]
    assert lines(made)["gold"].headline == 1
    alone = board(run("rule", partly(40), source="control"))
    assert "never ranked" in alone.state
    assert alone.ranked == ()


def test_a_control_run_on_fewer_items_takes_none_from_the_agents() -> None:
    made = board(run("a", partly(30)) + run("rule", partly(30), items=22, source="control"))
    assert len(made.common_items) == 40
    assert "22 of 40" in lines(made)["rule"].headline_reason


def test_agents_that_cannot_be_told_apart_share_a_tier_and_one_clearly_better_does_not() -> None:
    made = board(run("best", partly(40)) + run("next", partly(20)) + run("same", partly(20)) + run("last", partly(2, close=0.5)))
    tiers = {line.agent: line.tier for line in made.ranked}
    assert tiers["best"] == 1
    assert tiers["next"] == tiers["same"] == 2
    assert tiers["last"] == 4
    ranks = {line.agent: (line.rank, line.rank_interval) for line in made.ranked}
    assert ranks["best"] == (1, (1, 1))
    assert ranks["next"][0] == ranks["same"][0] == 2
    tie = next(each for each in made.differences if (each.first, each.second) == ("next", "same"))
    assert (tie.difference, tie.p, tie.is_significant) == (0, 1, False)


def test_an_agent_far_above_fourteen_others_has_a_tier_of_its_own() -> None:
    others = [each for place in range(14) for each in run(f"other{place:02}", partly(18 + place % 3))]
    made = board(run("best", partly(39)) + others)
    tiers = {line.agent: line.tier for line in made.ranked}
    assert len(tiers) == 15 and tiers.pop("best") == 1
    assert set(tiers.values()) == {2}


def test_a_small_difference_on_the_same_items_is_found_by_pairing() -> None:
    def noisy(gain: float) -> list[object]:
        return list(run("x", lambda item: {"side": 1, "close": 0.75 + (item % 7) / 40 + gain, "safe": 1}))

    first = [replace(each, cell=replace(each.cell, agent="first")) for each in noisy(0.02)]  # type: ignore[type-var]
    second = [replace(each, cell=replace(each.cell, agent="second")) for each in noisy(0.0)]  # type: ignore[type-var]
    made = board(first + second)  # type: ignore[operator, arg-type]
    assert made.differences[0].is_significant
    assert {line.agent: line.tier for line in made.ranked} == {"first": 1, "second": 2}


def test_the_board_is_the_same_for_any_order_of_rows() -> None:
    evaluations = run("a", partly(31)) + run("b", partly(22)) + run("rule", partly(15), source="control")
    plain = as_row(board(evaluations))
    for seed in range(3):
        shuffled = random.Random(seed).sample(evaluations, len(evaluations))
        assert as_row(board(shuffled)) == plain
    assert as_row(board(evaluations, seed=8)) != plain


def test_an_agent_more_on_the_board_moves_no_interval_of_another() -> None:
    alone = lines(board(run("a", partly(31))))["a"]
    together = lines(board(run("a", partly(31)) + run("b", partly(22))))["a"]
    assert alone.headline_interval == together.headline_interval


def test_a_dimension_with_one_value_in_all_cells_is_named_and_one_other_cell_changes_that() -> None:
    same = run("a", partly(30)) + run("b", partly(30))
    assert board(same).one_valued == ("close", "safe")
    other = [*same[:-1], cell("b", 39, {"side": 0, "close": 0.8, "safe": 1})]
    assert board(other).one_valued == ("safe",)


def test_repeats_are_averaged_within_the_item_and_pass_k_needs_all_right_and_safe() -> None:
    repeated = [
        cell("a", item, {"side": item < 30 or repeat > 0, "close": 1, "safe": 1}, repeat=repeat)
        for item in range(40)
        for repeat in range(2)
    ]
    line = lines(board(repeated, core=("side",)))["a"]
    assert line.repeats == 2
    assert only(board(repeated), "a", "side").value == pytest.approx(0.875)
    assert (line.pass_k, line.pass_k_reason) == (0.75, "k = 2")
    unsafe = [
        replace(each, gates=(gate("invented", failed=(1,)), gate("unsafe"))) if each.cell.item_id == "i000" else each for each in repeated
    ]
    assert lines(board(unsafe, core=("side",)))["a"].pass_k == pytest.approx(29 / 40)


def test_a_repeat_that_was_not_run_leaves_pass_k_unmeasured() -> None:
    uneven = [*run("a", partly(30)), cell("a", 0, steady()(0), repeat=1)]
    line = lines(board(uneven, core=("side",)))["a"]
    assert line.pass_k is None
    assert "missing" in line.pass_k_reason
    once = lines(board(run("a", partly(30)), core=("side",)))["a"]
    assert "no noise floor" in once.pass_k_reason


def test_two_conventions_never_share_a_board() -> None:
    with pytest.raises(UsageError, match="one episode"):
        board(run("a", partly(30)) + run("b", partly(30), episode="rounds"))


def test_an_empty_board_says_that_nothing_was_run() -> None:
    made = board([])
    assert (made.state, made.ranked, made.common_items) == ("nothing was run", (), ())


def test_an_unscored_dimension_is_told_and_stays_out_of_every_mean() -> None:
    made = board(run("rule", lambda item: {"side": 1, "close": "unscored", "safe": 1}, source="control"), dimensions=DIMENSIONS)
    assert made.common_items == ()
    assert made.incomplete


def test_a_dimension_whose_partner_is_unmeasured_is_not_taken_alone() -> None:
    paired = replace(SIDE, paired_with="close")
    made = board(run("a", lambda item: {"side": 1, "close": "unmeasured", "safe": 1}), dimensions=(paired, CLOSE, SAFE))
    assert lines(made)["a"].headline is None
    assert "close, side" in lines(made)["a"].headline_reason


def test_a_board_of_five_hundred_cells_and_two_thousand_draws_takes_under_half_a_second() -> None:
    evaluations = [each for agent in range(5) for each in run(f"a{agent}", partly(20 + 4 * agent), items=100)]
    board(evaluations[:200])
    start = time.process_time()
    board(evaluations)
    assert time.process_time() - start < 0.5
