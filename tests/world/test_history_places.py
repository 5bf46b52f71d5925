"""Decisive and inactive old records stand where one sampler put them: what is not their meaning does not tell them apart."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from history_cases import KNOWLEDGE, RNG, history_of, premises, showing
from numpy.typing import NDArray
from observe_case import with_rows

from clinworld.core.text import Wording
from clinworld.world.history_drugs import find_use, has_indication
from clinworld.world.history_places import PLACES, draw_old_records, draw_slots, find_old_event, render_old_event

pytestmark = pytest.mark.rows

ROWS = KNOWLEDGE.past_events
HAN = re.compile(r"[\u3400-\u9fff]")
PERMUTATIONS, FOLDS, RIDGE = 149, 4, 5.0


class Placed(NamedTuple):
    """What anyone can see of a record without reading it, and whether it was placed as a decisive one."""

    patient: int
    is_decisive: bool
    age_days: int
    place: int
    length_en: int
    length_zh: int
    position: int


def place_records() -> list[Placed]:
    """The old records of patients in whom one of them is decisive or could have been; positions are those in the whole chart."""
    found = []
    for number, premise in enumerate(showing()):
        records = draw_old_records(premise, KNOWLEDGE, RNG)
        if not any(row.condition == premise.presenting.condition for row in ROWS.values()):
            continue
        days = [event.day for event in history_of(premise).events]
        for event, _, is_decisive in records:
            seen = (-event.day, PLACES.index(event.source), len(event.text.en), len(event.text.zh), days.index(event.day))
            found.append(Placed(number, is_decisive, *seen))
    return found


@pytest.fixture(scope="module")
def records() -> list[Placed]:
    return place_records()


def describe(records: list[Placed]) -> NDArray[np.float64]:
    """Every footprint as flags: age in eighths, kind of place, each length, both lengths, position, and age with place."""
    columns = np.array([record[2:] for record in records])
    eighths = np.searchsorted(np.quantile(columns[:, 0], np.arange(1, 8) / 8), columns[:, 0])
    pairs = [columns[:, 2] * 1000 + columns[:, 3], eighths * 10 + columns[:, 1]]
    parts = [eighths, *columns.T[1:], *pairs]
    return np.concatenate([np.equal.outer(part, np.unique(part)) for part in parts], axis=1).astype(np.float64)


def find_auc(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area under the curve, a column each."""
    ranks = scores.argsort(axis=0).argsort(axis=0) + 1.0
    n = labels.sum(axis=0)
    return ((ranks * labels).sum(axis=0) - n * (n + 1) / 2) / (n * (len(labels) - n))


def tell_apart(records: list[Placed]) -> tuple[float, float]:
    """(cross-validated area under the curve of a ridge classifier, its chance among labels shuffled inside patients)."""
    features = describe(records)
    rng = np.random.default_rng(5)
    patients = np.array([record.patient for record in records])
    labels = np.array([record.is_decisive for record in records], dtype=np.float64)
    shuffled = [labels]
    for _ in range(PERMUTATIONS):
        order = np.lexsort((rng.random(len(labels)), patients))
        moved = np.empty_like(labels)
        moved[np.argsort(patients, kind="stable")] = labels[order]
        shuffled.append(moved)
    targets = np.array(shuffled).T
    fold = rng.permutation(patients.max() + 1)[patients] % FOLDS
    scores = np.empty_like(targets)
    for each in range(FOLDS):
        inside, outside = features[fold != each], features[fold == each]
        middle, goal = inside.mean(axis=0), targets[fold != each].mean(axis=0)
        weights = np.linalg.solve((inside - middle).T @ (inside - middle) + RIDGE * np.eye(len(middle)), (inside - middle).T)
        scores[fold == each] = (outside - middle) @ (weights @ (targets[fold != each] - goal)) + goal
    areas = find_auc(scores, targets)
    return float(areas[0]), float(np.mean(areas >= areas[0]))


@pytest.mark.slow
def test_age_place_length_and_position_do_not_tell_a_decisive_record_from_an_inactive_one(records):
    decisive = [record for record in records if record.is_decisive]
    assert len(decisive) >= 100 and len(records) >= 600
    area, p = tell_apart(records)
    assert area < 0.6
    assert p > 0.01


def longer(record: Placed) -> Placed:
    return record._replace(length_en=record.length_en + 2) if record.is_decisive else record


def from_hospital(record: Placed) -> Placed:
    return record._replace(place=1) if record.is_decisive and record.age_days % 2 == 0 else record


def recent(record: Placed) -> Placed:
    return record._replace(age_days=200 + record.age_days // 3) if record.is_decisive else record


def first_of_all(record: Placed) -> Placed:
    return record._replace(position=record.position // 3) if record.is_decisive else record


@pytest.mark.parametrize("plant", [longer, from_hospital, recent, first_of_all])
def test_a_planted_difference_is_found_at_the_same_size(plant: Callable[[Placed], Placed], records):
    _, p = tell_apart([plant(record) for record in records])
    assert p < 0.01


@pytest.mark.slow
def test_a_forest_of_trees_on_the_bare_numbers_finds_nothing_either(records):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import cross_val_predict

    features = np.array([record[2:] for record in records], dtype=np.float64)
    labels = np.array([record.is_decisive for record in records])
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    area = roc_auc_score(labels, cross_val_predict(forest, features, labels, cv=5, method="predict_proba")[:, 1])
    assert area < 0.56


@pytest.mark.slow
def test_a_patient_in_whom_something_is_decided_has_no_more_records_than_another(records):
    by_patient: dict[int, list[bool]] = {}
    for record in records:
        by_patient.setdefault(record.patient, []).append(record.is_decisive)
    shares = {n: np.mean([np.mean(flags) for flags in by_patient.values() if len(flags) == n]) for n in (2, 3, 4, 5, 6)}
    assert max(shares.values()) - min(shares.values()) < 0.12


def test_about_three_in_five_patients_who_could_have_a_decisive_record_have_one():
    has = [any(record.is_decisive for record in draw_old_records(premise, KNOWLEDGE, RNG)) for premise in showing()]
    assert 0.45 < np.mean(has) < 0.75


def test_a_slot_is_placed_before_anything_is_known_of_its_record():
    slots = draw_slots(np.linspace(0.01, 0.99, 20).tolist(), (-3650, -200))
    assert [slot.day for slot in slots] == sorted({slot.day for slot in slots})
    assert all(-3650 <= slot.day <= -200 for slot in slots)
    assert {slot.place for slot in slots} <= set(PLACES)


def test_there_are_as_many_rows_as_promised_of_either_sort():
    decisive = [row for row in ROWS.values() if row.is_decisive]
    assert len(ROWS) >= 40
    assert len(decisive) >= 40 and len(ROWS) - len(decisive) >= 40
    assert len({row.condition for row in decisive if row.condition}) >= 30


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_row_points_to_what_exists_and_is_said_in_both_languages(row):
    assert row.condition in ("", *KNOWLEDGE.conditions)
    assert all(name in KNOWLEDGE.drugs for name in (*row.drugs, *filter(None, [row.taken])))
    assert row.state == "" or KNOWLEDGE.rule_facts[row.state].kind == "flag"
    assert not (row.condition and row.drugs), "it speaks for a condition or against drugs"
    assert row.source in KNOWLEDGE.sources
    assert HAN.search(row.text.zh) and not HAN.search(row.text.en)
    assert row.text.en.endswith(".") and row.text.zh.endswith("。")
    assert not re.search(r"[,;:!?()]", row.text.zh), "punctuation of Chinese text is full width"
    if row.taken:
        assert row.kind == "stopped_drug" and KNOWLEDGE.drugs[row.taken].names.en.split()[0] in row.text.en
        assert has_indication(KNOWLEDGE.drugs[row.taken], list(KNOWLEDGE.conditions))
    if row.state:
        assert row.drugs or row.condition


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.condition], ids=lambda row: row.id)
def test_a_row_never_names_the_condition_it_speaks_for(row):
    condition = KNOWLEDGE.conditions[row.condition]
    for name in (condition.names.en, condition.names.zh, *condition.aliases):
        pattern = rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])" if name.isascii() else re.escape(name)
        assert not re.search(pattern, row.text.en + " " + row.text.zh, re.IGNORECASE), name


def test_no_two_rows_begin_alike_so_that_a_text_leads_back_to_one_row():
    texts = sorted(row.text.en for row in ROWS.values())
    assert len({row.text.zh for row in ROWS.values()}) == len(ROWS)
    assert not any(after.startswith(before) for before, after in pairwise(texts))
    for row in ROWS.values():
        assert find_old_event(render_old_event(row, 0.4, 0.7, KNOWLEDGE), KNOWLEDGE) == row


INTERVAL = re.compile(r"\b(weeks?|months?|years?) (two|ten|later)\b|\bby week\b|\bretrial\b|\bevery dose\b|周后|月后|第.周|再用|疗程已")
MEASURED_ELSEWHERE = re.compile(r"elsewhere|at home|ambulance|isolation room")
LAB_WORD = re.compile(r"\b(ALT|CK|potassium|sodium|glucose|white cells|pulse|pressure)\b")


def find_what_a_chart_can_contradict(text: str) -> bool:
    """Whether the end of a drug is told with a time on it, or with a measurement that the chart would have to hold."""
    return INTERVAL.search(text) is not None or (LAB_WORD.search(text) is not None and MEASURED_ELSEWHERE.search(text) is None)


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.taken], ids=lambda row: row.id)
def test_the_end_of_a_drug_is_told_without_what_days_doses_or_results_of_the_chart_could_contradict(row):
    assert not find_what_a_chart_can_contradict(row.text.en) and not INTERVAL.search(row.text.zh)


@pytest.mark.parametrize(
    "text",
    [
        "Atorvastatin stopped: ALT up to 240 by week ten.",
        "Losartan stopped: potassium 6.3 in two samples.",
        "Metformin stopped: watery stools on every dose tried.",
        "Perindopril stopped: tickly cough, gone a month later.",
    ],
)
def test_an_end_told_with_a_result_or_an_interval_is_found_out(text):
    assert find_what_a_chart_can_contradict(text)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_both_languages_give_the_same_numbers(row):
    found = [re.findall(r"\d+(?:\.\d+)?", text) for text in (row.text.en, row.text.zh)]
    assert sorted(found[0]) == sorted(found[1])


def test_an_event_ends_in_one_short_remark_and_the_remarks_vary():
    remarks = []
    for premise in showing():
        for record in draw_old_records(premise, KNOWLEDGE, RNG):
            en, zh = record.event.text.en.removeprefix(record.row.text.en), record.event.text.zh.removeprefix(record.row.text.zh)
            assert en.count(".") == 1 and zh.count("。") == 1
            remarks.append(en)
    assert len(set(remarks)) > 0.4 * len(remarks)


SPOKEN_AGAINST = [row for row in ROWS.values() if row.drugs and row.state]


@pytest.mark.slow
def test_what_speaks_against_drugs_for_good_is_rare():
    """Angio-oedema, acid blood, a cancer in the family and the like: each in fewer than one patient in fifty."""
    patients = premises(600)
    counts = Counter(record.row.id for premise in patients for record in draw_old_records(premise, KNOWLEDGE, RNG))
    assert all(counts[row.id] < 0.02 * len(patients) for row in SPOKEN_AGAINST)
    assert sum(counts[row.id] for row in SPOKEN_AGAINST) < 0.1 * len(patients)


@pytest.mark.parametrize("row", [row for row in SPOKEN_AGAINST if row.taken], ids=lambda row: row.id)
def test_a_grave_reaction_ends_a_drug_far_more_seldom_than_anything_else(row):
    others = sum(other.weight for other in ROWS.values() if other.taken == row.taken and not other.state)
    assert row.weight <= 0.25 * others


def test_every_class_of_drugs_given_before_day_0_is_also_stopped_for_an_ordinary_reason():
    ordinary = {KNOWLEDGE.drugs[row.taken].drug_class for row in ROWS.values() if row.taken and not row.is_decisive}
    given = {row.drug_class for row in KNOWLEDGE.drugs.values() if find_use(KNOWLEDGE, row.id)}
    assert given - ordinary <= {"glucocorticoid replacement"}, "nobody stops that for an ordinary reason"


def test_a_row_more_moves_no_other_row_of_a_patient():
    added = replace(ROWS["appendix_removed"], id="sample", weight=1e-6, text=Wording("Saw a film twice.", ROWS["mole_removed"].text.zh))
    more = with_rows("past_events", added)
    for premise in premises()[:30]:
        assert draw_old_records(premise, more, RNG) == draw_old_records(premise, KNOWLEDGE, RNG)


def test_a_length_belongs_to_its_slot_and_not_to_its_row():
    off = []
    for length in (0.0, 0.3, 0.6, 0.99):
        texts = [render_old_event(row, length, 0.5, KNOWLEDGE) for row in ROWS.values()]
        for sizes in ([len(text.en) for text in texts], [len(text.zh) for text in texts]):
            usual = max(set(sizes), key=sizes.count)
            off += [abs(size - usual) for size in sizes]
    assert np.mean([each == 0 for each in off]) > 0.9
    assert max(off) <= 3
