"""Controls of the gates that look at a whole batch: each with a batch that must pass and one that must fail."""

from dataclasses import replace
from importlib import import_module
from math import ceil, floor

import numpy as np
import pytest
from gate_case import SINGLE, built, drawn, knowledge, pairs_of

from clinworld.core.rng import Rng
from clinworld.core.text import Wording
from clinworld.gates.batch.degenerate_diversity import share_of_rows
from clinworld.gates.batch.shortcut_scan import PLANTED, Rules, items_needed, plant, read_features, scan
from clinworld.gates.case import Outcome
from clinworld.gates.run_gates import check_batch, find_gate, gate_names
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item
from clinworld.schema.record import Note
from clinworld.world.event_pool import EventDraw, load_pool

Pairs = list[tuple[Item, GoldRow]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return pairs_of(drawn(64))


def run_batch_gate(gate: str, pairs: Pairs) -> Outcome:
    return find_gate("batch", gate)((pairs, knowledge()))


def add_evidence_row(pair: tuple[Item, GoldRow]) -> tuple[Item, GoldRow]:
    item, gold = pair
    if not gold.gold.event_occurs:
        return pair
    row = Note("Effffff", 20, "patient_reported_context", Wording("A day like any other.", "普通的一天。"), None)
    return replace(item, record=replace(item.record, notes=(*item.record.notes, row))), gold


def leave_traces(pair: tuple[Item, GoldRow]) -> tuple[Item, GoldRow]:
    """Heart rate 60 beats higher on the days from each real symptom on."""
    item, gold = pair
    kinds = {origin.note_id: origin.kind for origin in gold.origins}
    real = [note.day for note in gold.chart.notes if kinds[note.note_id] == "real"]
    changed = []
    for series in gold.chart.series:
        near = np.zeros(len(series.days), dtype=bool)
        for day in real if series.name == "resting_hr" else ():
            near |= (series.days >= day) & (series.days < day + 3)
        changed.append(replace(series, ticks=np.where(near, series.ticks + 60, series.ticks)))
    return item, replace(gold, chart=replace(gold.chart, series=tuple(changed)))


def end_on_one_day(pair: tuple[Item, GoldRow]) -> tuple[Item, GoldRow]:
    """Every series has its first five values and one on day 100."""
    item, gold = pair
    fixed = []
    for series in gold.chart.series:
        days, ticks = np.append(series.days[:5], np.int32(100)), np.append(series.ticks[:5], series.ticks[0])
        fixed.append(replace(series, days=days, ticks=ticks))
    return item, replace(gold, chart=replace(gold.chart, series=tuple(fixed)))


def cut_from_one_template(pairs: Pairs) -> Pairs:
    notes = pairs[0][0].record.notes
    return [(replace(item, record=replace(item.record, notes=notes)), gold) for item, gold in pairs]


def mechanism_that_never_acted(pairs: Pairs) -> Pairs:
    return [(item, replace(gold, acted=(*gold.acted, ("artifact:sun_spots", 0)))) for item, gold in pairs]


FAILS = {
    "a_planted_evidence_row": lambda pairs: list(map(add_evidence_row, pairs)),
    "real_symptoms_that_alone_leave_a_trace": lambda pairs: list(map(leave_traces, pairs_of(built(SINGLE)))),
    "charts_that_all_end_on_one_day": lambda pairs: list(map(end_on_one_day, pairs)),
    "patients_cut_from_one_template": cut_from_one_template,
    "a_mechanism_that_never_acted": mechanism_that_never_acted,
}
PASSES = {
    "bookkeeping_without_a_shortcut": lambda pairs: pairs,
    "events_without_a_trace": lambda pairs: pairs_of(built(SINGLE)),
    "charts_that_end_with_their_courses": lambda pairs: pairs,
    "patients_who_differ": lambda pairs: pairs,
    "mechanisms_that_acted": lambda pairs: pairs,
}


def controls(gate: str) -> tuple[str, str]:
    found: tuple[str, str] = import_module(f"clinworld.gates.batch.{gate}").CONTROLS
    return found


@pytest.mark.parametrize("gate", gate_names("batch"))
def test_each_batch_gate_passes_the_control_that_must_pass(gate, pairs):
    outcome = run_batch_gate(gate, PASSES[controls(gate)[0]](pairs))
    assert outcome.checked and outcome.findings == (), outcome


@pytest.mark.parametrize("gate", gate_names("batch"))
def test_each_batch_gate_fails_the_control_that_must_fail_and_names_itself(gate, pairs):
    outcome = run_batch_gate(gate, FAILS[controls(gate)[1]](pairs))
    assert outcome.findings and {finding.check for finding in outcome.findings} == {gate}
    assert all(finding.place and finding.found and finding.allowed for finding in outcome.findings)


def test_every_batch_control_in_the_tables_belongs_to_a_gate():
    declared = [controls(gate) for gate in gate_names("batch")]
    assert sorted(name for name, _ in declared) == sorted(PASSES) and sorted(name for _, name in declared) == sorted(FAILS)


@pytest.mark.parametrize("gate", [gate for gate in gate_names("batch") if gate not in ("mechanisms_act",)])
def test_a_batch_of_one_is_unmeasured_with_a_reason_and_not_refused(gate, pairs):
    outcome = run_batch_gate(gate, pairs[:1])
    assert outcome.checked == 0 and outcome.findings == () and "need" in outcome.reason


def tell(pairs: Pairs, share: float) -> Pairs:
    """The first share of the items all tell one everyday text, each on its own day."""
    told = []
    for number, (item, gold) in enumerate(pairs):
        if number < share * len(pairs) and item.record.notes:
            first, *rest = item.record.notes
            alike = replace(first, day=number % item.index_day, text=Wording("Stiff neck after a pillow", "换了枕头脖子有点僵"))
            item = replace(item, record=replace(item.record, notes=tuple(sorted((alike, *rest), key=lambda note: note.day))))
        told.append((item, gold))
    return told


def test_one_text_told_by_most_patients_each_on_another_day_is_a_template_and_by_a_third_is_not(pairs):
    finding = run_batch_gate("degenerate_diversity", tell(pairs, 0.8)).findings[0]
    assert "Stiff neck" in finding.place and f"of {len(pairs)} items" in finding.found
    assert run_batch_gate("degenerate_diversity", tell(pairs, 0.33)).findings == ()


def test_texts_told_after_the_index_day_do_not_count_as_a_template(pairs):
    later = Note("Effffff", 10**4, "patient_reported_symptom", Wording("The same for everyone", "大家都一样"), None)
    told = [(replace(item, record=replace(item.record, last_day=10**4, notes=(*item.record.notes, later))), gold) for item, gold in pairs]
    assert run_batch_gate("degenerate_diversity", told).findings == ()


def test_the_share_of_a_text_that_the_pool_makes_unavoidable_is_that_of_the_draw():
    pool = load_pool(knowledge())
    rows = np.flatnonzero(~pool.is_life & pool.is_drawn)
    admitted = np.zeros(len(pool.rows), dtype=bool)
    admitted[rows[:30]] = True
    n_topics, draws = len(set(pool.topics[rows[:30]].tolist())), 12
    expected = share_of_rows(pool, admitted.tobytes(), draws)
    assert expected.sum() == pytest.approx(draws) and (expected[~admitted] == 0).all()
    seen = np.zeros(len(pool.rows))
    for number in range(600):
        drawn = EventDraw(pool, admitted, "", (), may_recur=False, used={}).draw(
            draws, ~pool.is_life, Rng("3").at("case", number), range(draws), 97 * number % 365
        )
        seen[drawn] += 1
    assert np.abs(seen / 600 - expected).max() < 0.09
    assert share_of_rows(pool, admitted.tobytes(), n_topics).sum() == pytest.approx(n_topics)


def test_a_mechanism_that_no_case_declared_may_rest_in_a_batch_and_a_declared_one_may_not(pairs):
    item, gold = pairs[0]
    by_chance = [(item, replace(gold, acted=(("carried_forward", 0), ("non_wear", 0), ("missingness:MAR", 0), ("symptom_rate", 2))))]
    assert run_batch_gate("mechanisms_act", by_chance).findings == ()
    declared = [(item, replace(gold, acted=(("carried_forward", 3), ("symptom_rate", 0))))]
    assert [finding.place for finding in run_batch_gate("mechanisms_act", declared).findings] == ["symptom_rate"]


@pytest.mark.slow
def test_a_clean_batch_is_refused_by_the_scan_for_shortcuts_once_in_a_thousand():
    assert knowledge().parameter("shortcut.p") == 0.001 and knowledge().parameter("shortcut.permutations") >= 4999
    labels = np.arange(40) % 2 == 0
    noise = Rng("5").at("noise").uniform(100 * 20 * 40).reshape(100, 20, 40)
    names = [str(number) for number in range(20)]
    assert sum(scan(names, features, labels, 999).p <= 0.001 for features in noise) <= 2


def test_a_refusal_by_the_scan_says_n_p_and_what_to_do(pairs):
    told = str(run_batch_gate("shortcut_scan", list(map(add_evidence_row, pairs))).findings[0])
    assert all(word in told for word in (f"n {len(pairs)}", "p 0.0002", "p above 0.001", "draw more items", "change the seed"))


def test_a_planted_shortcut_is_named_with_feature_n_and_p(pairs):
    finding = run_batch_gate("shortcut_scan", list(map(add_evidence_row, pairs))).findings[0]
    assert (f"n {len(pairs)}" in finding.place and "feature n_notes" in finding.place) or "feature" in finding.place
    assert "p 0.00" in finding.found and "AUC" in finding.found


def test_one_note_more_in_each_event_item_is_found_by_its_count_whatever_it_says(pairs):
    kept = [(item, gold) for item, gold in pairs if len(item.record.until(item.index_day).notes) > 3]
    cut = []
    for number, (item, gold) in enumerate(kept):
        first = item.record.notes[: 3 if gold.gold.event_occurs else 2]
        told = tuple(replace(note, text=Wording(f"Text {number} {i}", f"话 {number} {i}")) for i, note in enumerate(first))
        cut.append((replace(item, record=replace(item.record, notes=told)), gold))
    assert "n_notes" in run_batch_gate("shortcut_scan", cut).findings[0].place


def test_a_planted_shortcut_passes_when_the_labels_are_shuffled(pairs):
    planted = list(map(add_evidence_row, pairs))
    order = np.random.default_rng(3).permutation(len(planted))
    golds = [planted[i][1] for i in order]
    assert run_batch_gate("shortcut_scan", [(item, gold) for (item, _), gold in zip(planted, golds, strict=True)]).findings == ()


def test_a_scan_of_too_few_items_says_how_many_it_needs_and_that_many_suffice(pairs):
    outcome = run_batch_gate("shortcut_scan", pairs[:6])
    needed = int(outcome.reason.split("about ")[1].split(" ")[0])
    assert 10 <= needed <= 60
    events = [pair for pair in pairs if pair[1].gold.event_occurs][: needed // 2]
    others = [pair for pair in pairs if not pair[1].gold.event_occurs][: needed // 2]
    assert run_batch_gate("shortcut_scan", [*events, *others]).checked > 0


def finds_planted(n, features, draw):
    """Whether a scan of n simulated items, half of them events, finds a planted shortcut among features that tell nothing."""
    labels = np.arange(n) < n // 2
    noise = np.random.default_rng(draw).random((features, n))
    names = [*map(str, range(features)), PLANTED]
    found = scan(names, np.vstack([noise, plant(labels, 0.1)]), labels, 1999, look_at=PLANTED)
    return found.p <= 0.001


@pytest.mark.parametrize("features", [1, 5, 20, 80])
def test_a_planted_shortcut_begins_to_be_found_within_a_quarter_of_the_number_said_to_be_needed(features):
    half = items_needed(features, Rules(0.001, 4999, 0.1)) // 2
    assert all(finds_planted(2 * ceil(1.25 * half), features, draw) for draw in range(3))
    assert not all(finds_planted(2 * floor(0.75 * half), features, draw) for draw in range(3))


def test_more_features_need_more_items():
    rules = Rules(0.001, 4999, 0.1)
    assert items_needed(3, rules) <= items_needed(80, rules) <= items_needed(400, rules)


def test_a_passed_scan_states_n_power_and_the_strongest_feature(pairs):
    told = run_batch_gate("shortcut_scan", pairs).told
    assert all(word in told for word in (f"n {len(pairs)}", "largest AUC", "planted p"))


def test_the_place_in_the_batch_is_no_feature(pairs):
    names, _ = read_features([item for item, _ in pairs])
    assert "position" not in names
    events_first = sorted(pairs, key=lambda pair: not pair[1].gold.event_occurs)
    assert run_batch_gate("shortcut_scan", events_first).findings == ()


@pytest.mark.parametrize("device", ["bp_cuff", "cgm"])
def test_a_device_that_only_patients_with_events_own_is_a_shortcut(device, pairs):
    def own(item: Item, gold: GoldRow) -> Item:
        left = tuple(each for each in item.record.profile.devices if each != device)
        devices = (*left, device) if gold.gold.event_occurs else left
        return replace(item, record=replace(item.record, profile=replace(item.record.profile, devices=devices)))

    finding = run_batch_gate("shortcut_scan", [(own(item, gold), gold) for item, gold in pairs]).findings[0]
    assert f"has_device:{device}" in finding.place


def test_the_scan_gives_the_same_p_whatever_it_is_run_beside(pairs):
    labels = np.array([gold.gold.event_occurs for _, gold in pairs])
    names, features = read_features([item for item, _ in pairs])
    assert scan(names, features, labels, 199) == scan(names, features, labels, 199)
    assert scan(["planted"], plant(labels, 0.1)[None, :], labels, 199).p < 0.01
    assert scan([], np.empty((0, len(labels))), labels, 199).p == 1.0


def test_one_start_of_weight_in_every_item_is_a_template(pairs):
    weight = pairs[0][0].record.find("weight")
    same = [
        (replace(item, record=replace(item.record, series=tuple(weight if s.name == "weight" else s for s in item.record.series))), gold)
        for item, gold in pairs
    ]
    assert "first weights" in str(run_batch_gate("degenerate_diversity", same).findings[0])


def test_all_batch_gates_of_a_clean_batch_pass_or_say_why_they_are_unmeasured(pairs):
    results = {gate.gate: gate for gate in check_batch(pairs, knowledge())}
    assert set(results) == set(gate_names("batch"))
    assert [gate for gate in results.values() if gate.state == "failed"] == []
    assert all(gate.reason for gate in results.values() if gate.state == "unmeasured")
