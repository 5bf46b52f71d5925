"""Nothing but medicine tells patients with one condition from patients with another: what is not clinical is scanned and classified.

Two detectors look at the same marks: the single mark whose AUC is farthest off chance in units of its own null, and a ridge
classifier in five-fold cross-validation. Each is compared with its null, in which the two patients of a pair change labels. Called by
`bench/fingerprint.py` and a test.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.gates.batch.shortcut_scan import largest_auc, mid_ranks
from clinworld.knowledge.load import Knowledge
from clinworld.schema.record import Note, Record, Series
from clinworld.world.monitoring import list_watched

Reals = NDArray[np.float64]
Labels = NDArray[np.bool_]
Lengths = dict[str, dict[str, float]]

SEED = "fingerprint"
FOLDS = 5
PAST = ("n_past_visits", "first_past_visit", "last_past_visit")
SCALES = ("weight_clinic", "weight")
BAND_KG = 2.0
PLANTED_SHARE = 0.3
COMMON_SHARE = 0.1  # of all patients a text must stand in to be a mark
SPREAD = "off the middle: "
WORDING = "wording longer than usual: "  # its spread follows that of the symptom's wordings
SCAN, CLASSIFIER = "single mark", "classifier"


class Marks(NamedTuple):
    """What is not clinical, [mark, patient]; marks that never vary are left out."""

    names: tuple[str, ...]
    values: Reals


class Fingerprint(NamedTuple):
    """What tells two sides apart best. `auc` is of the detector named (folded to 0.5-1 for the single mark), `p` of both detectors."""

    detector: str
    mark: str
    auc: float
    p: float
    auc_classifier: float
    auc_mark: float


def read_marks(records: Sequence[Record], knowledge: Knowledge) -> Marks:
    """Marks of records cut at the index day. What patients tell of a condition counts by number, day and length, never by its words."""
    clinical = _usual_lengths(knowledge)
    told = Counter(text for record in records for text in {note.text.en for note in record.notes} - clinical.keys())
    common = {text for text, times in told.items() if times >= COMMON_SHARE * len(records)}
    rows = [_read_one(record, clinical, common, knowledge) for record in records]
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for row in rows] for name in names])
    known = np.array([len(record.profile.known_conditions) for record in records])
    for i in (i for i, name in enumerate(names) if name in PAST):
        for number in np.unique(known).tolist():  # more documented conditions mean more visits; how many there are is clinical
            table[i, known == number] -= table[i, known == number].mean()
    many = [i for i, values in enumerate(table) if len(np.unique(values)) > 2 and not names[i].startswith(WORDING)]
    middle = np.median(table[many], axis=1, keepdims=True)
    table = np.vstack([table, np.abs(table[many] - middle)])
    names += [SPREAD + names[i] for i in many]
    varies = table.max(axis=1) > table.min(axis=1)
    return Marks(tuple(name for name, keep in zip(names, varies, strict=True) if keep), table[varies])


@lru_cache(maxsize=8)
def _usual_lengths(knowledge: Knowledge) -> Lengths:
    """Wording of a symptom → its length against that symptom's wordings in standard deviations, by language."""
    lengths: Lengths = {}
    for symptom in knowledge.symptoms.values():
        sizes = {"en": [len(text) for text in symptom.wordings.en], "zh": [len(text) for text in symptom.wordings.zh]}
        for place, text in enumerate(symptom.wordings.en):
            lengths.setdefault(text, {name: (size[place] - _mean(size)) / max(float(np.std(size)), 1.0) for name, size in sizes.items()})
    return lengths


def _read_one(record: Record, clinical: Lengths, common: set[str], knowledge: Knowledge) -> dict[str, float]:
    last = float(max(record.last_day, 1))
    profile = record.profile
    row = {
        "index_day": last,
        "bmi": profile.bmi or -1.0,
        "n_series": float(sum(not _is_clinical(series, record, knowledge) for series in record.series)),
        "n_goals": float(len(profile.goals)),
        "n_prescriptions": float(len(record.prescriptions)),
        "n_dispensing": float(len(record.dispensing)),
        "n_method_changes": float(len(record.method_changes)),
        "n_findings": float(len(record.findings)),
        "n_specimens": float(len(record.specimens)),
        "specimen_minute": _mean([each.minute_of_day for each in record.specimens]),
        "n_not_fasting": float(sum(not each.is_fasting for each in record.specimens)),
        "n_specimen_comments": float(sum(bool(each.comment) for each in record.specimens)),
        "order_day": _mean([each.day / last for each in record.prescriptions]),
        "dispensing_day": _mean([each.day / last for each in record.dispensing]),
    }
    row |= _read_notes(record, clinical, common, last) | _read_series(record, last, knowledge)
    row |= {f"has_device:{device}": 1.0 for device in profile.devices}
    row |= {f"drug:{each.drug}": 1.0 for each in record.prescriptions}
    if record.prescriptions:
        row |= {"first_dose": record.prescriptions[0].dose, "last_dose": record.prescriptions[-1].dose}
    if record.history is not None:
        visits = record.history.visits
        row |= {"n_past_visits": float(len(visits)), "first_past_visit": float(visits[0]) if visits else 0.0}
        row |= {"last_past_visit": float(visits[-1]) if visits else 0.0}
    return row


def _read_notes(record: Record, clinical: Lengths, common: set[str], last: float) -> dict[str, float]:
    notes = record.notes
    days = [note.day / last for note in notes]
    row = {
        "n_notes": float(len(notes)),
        "n_notes_per_week": 7 * len(notes) / last,
        "n_contexts": float(sum(note.context is not None for note in notes)),
        "note_day": _mean(days),
        "note_day_sd": float(np.std(days)) if days else -1.0,
        "first_note_day": min(days, default=-1.0),
        "last_note_day": max(days, default=-1.0),
        "least_gap": float(min((b.day - a.day for a, b in pairwise(notes)), default=-1)),
        "note_id": _mean([int(note.note_id[1:], 16) for note in notes]),
        "first_note_id": float(int(notes[0].note_id[1:], 16)) if notes else -1.0,
        "last_note_id": float(int(notes[-1].note_id[1:], 16)) if notes else -1.0,
    }
    for language in ("en", "zh"):
        plain = [len(getattr(note.text, language)) for note in notes if note.text.en not in clinical]
        off = [clinical[note.text.en][language] for note in notes if note.text.en in clinical]
        row |= {f"text_mean_{language}": _mean(plain), f"text_most_{language}": float(max(plain, default=-1))}
        row |= {f"{WORDING}{language}": float(np.mean(off)) if off else 0.0}
    row |= {f"n_notes:{source}": float(times) for source, times in Counter(note.source for note in notes).items()}
    return row | {f"says:{note.text.en}": 1.0 for note in notes if note.text.en in common}


def _read_series(record: Record, last: float, knowledge: Knowledge) -> dict[str, float]:
    row: dict[str, float] = {}
    for series in record.series:
        if _is_clinical(series, record, knowledge):
            continue
        row[f"has_series:{series.name}"] = 1.0
        row[f"n_readings:{series.name}"] = len(series.days) / last
        if series.setting in ("clinic", "laboratory"):
            row[f"day:{series.name}"] = float(np.mean(series.days)) / last
    if any(record.find(name) for name in SCALES):
        row["start_weight"] = _first_weight(record)
    return row


def _is_clinical(series: Series, record: Record, knowledge: Knowledge) -> bool:
    """True for a series whose presence and days are medicine, so that it is no mark.

    A result that follows from printed ones is missing where these are beyond what its formula holds for, as a very high triglyceride
    leaves LDL cholesterol out. What a documented condition or the drug brings is there for who has these, and days for these.
    """
    if series.name in knowledge.analytes and knowledge.analytes[series.name].derived_by:
        return True
    profile, drug = record.profile, record.prescriptions[0].drug if record.prescriptions else ""
    return bool(drug) and series.name in list_watched(knowledge, profile.known_conditions, drug, profile.devices)


class Checked(NamedTuple):
    """What was found, and what planted constants were found at the same n; `is_measured` is False where a planted one was missed."""

    pairs: int
    found: Fingerprint
    planted: tuple[tuple[str, Fingerprint], ...]
    is_measured: bool


def check_fingerprint(one: Sequence[Record], other: Sequence[Record], knowledge: Knowledge, permutations: int, limit: float) -> Checked:
    """Whether patients with a condition (`one`) are told from their partners (`other`), and whether planted constants would be."""
    planted = (("start weight in a 2 kg band", plant_weight_band(one)), ("an evidence row in 30 %", plant_row(one, other, knowledge)))
    found = find_fingerprint(read_marks([*one, *other], knowledge), permutations)
    seen = tuple((name, find_fingerprint(read_marks([*each, *other], knowledge), permutations)) for name, each in planted)
    return Checked(len(one), found, seen, all(each.p <= limit for _, each in seen))


def plant_weight_band(records: Sequence[Record]) -> list[Record]:
    """The same patients, all with a first weight within BAND_KG of the middle one's."""
    first = [_first_weight(record) for record in records]
    middle, places = float(np.median(first)), Rng(SEED).at("planted", "band").uniform(len(records))
    moved = []
    for record, weight, place in zip(records, first, places.tolist(), strict=True):
        factor = (middle + BAND_KG * (place - 1 / 2)) / weight
        moved.append(replace(record, series=tuple(_scale(each, factor) if each.name in SCALES else each for each in record.series)))
    return moved


def plant_row(records: Sequence[Record], partners: Sequence[Record], knowledge: Knowledge) -> list[Record]:
    """The same patients with one further row, always in the same words, which few on either side say of themselves, in PLANTED_SHARE of
    them."""
    told = Counter(note.text.en for record in (*records, *partners) for note in record.notes)
    text = min((row.text for row in knowledge.events.values() if not row.sex and row.age_low is None), key=lambda text: told[text.en])
    number, when = Rng(SEED).at("planted", "row").uniform(2 * len(records)).reshape(2, -1)
    chosen = np.argsort(np.argsort(number)) < round(PLANTED_SHARE * len(records))
    planted = []
    for record, is_chosen, identity, day in zip(records, chosen.tolist(), number.tolist(), when.tolist(), strict=True):
        note = Note(f"E{int(identity * 16**6):06x}", int(day * record.last_day), "patient_reported_symptom", text, None)
        notes = tuple(sorted((*record.notes, note), key=lambda each: (each.day, each.note_id)))
        planted.append(replace(record, notes=notes) if is_chosen else record)
    return planted


def _scale(series: Series, factor: float) -> Series:
    return replace(series, ticks=np.rint(series.ticks * factor).astype(np.int64))


def _first_weight(record: Record) -> float:
    series = next(found for name in SCALES if (found := record.find(name)) is not None)
    return float(series.values()[0])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else -1.0


def find_fingerprint(marks: Marks, permutations: int) -> Fingerprint:
    """What tells the first half of the patients from the second best; patient i of each half form a pair, alike in what is clinical."""
    labels = draw_labels(marks.values.shape[1] // 2, permutations)
    by_mark = largest_auc(np.array([mid_ranks(row) for row in marks.values]), labels)
    usual = np.sqrt(((by_mark[:, 1:] - 0.5) ** 2).mean(axis=1, keepdims=True))
    off = (by_mark - 0.5) / np.maximum(usual, 1e-9)  # a mark few patients have strays less by chance than one that all have
    scanned = off.max(axis=0)
    classified = classify(marks.values, labels)
    worst = np.minimum(_p_values(scanned), _p_values(classified))
    p = float(np.mean(worst <= worst[0]))
    best = int(np.argmax(off[:, 0]))
    is_scan = _p_values(scanned)[0] <= _p_values(classified)[0]
    of_mark, of_classifier = float(by_mark[best, 0]), float(classified[0])
    detector, auc = (SCAN, of_mark) if is_scan else (CLASSIFIER, of_classifier)
    return Fingerprint(detector, marks.names[best], auc, p, of_classifier, of_mark)


def _p_values(statistic: Reals) -> Reals:
    """The share of all labellings whose statistic is at least as large, for each labelling."""
    order = np.sort(statistic)
    at_least: Reals = (len(order) - np.searchsorted(order, statistic - 1e-9)) / len(order)
    return at_least


def draw_labels(pairs: int, permutations: int) -> Labels:
    """Labellings [labelling, patient]: the true one first, then with the two patients of each pair changed by chance."""
    swapped = Rng(SEED).at("labels", pairs).uniform(permutations * pairs).reshape(permutations, pairs) < 1 / 2
    swapped = np.vstack([np.zeros((1, pairs), dtype=np.bool_), swapped])
    return np.hstack([~swapped, swapped])


def classify(values: Reals, labels: Labels) -> Reals:
    """The cross-validated AUC of a ridge classifier for each labelling; the pairs of a fold are held out together."""
    n = values.shape[1]
    table = np.array([mid_ranks(row) for row in values]).T
    table = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-9)
    fold = np.arange(n) % (n // 2) % FOLDS
    wanted = np.where(labels, 1.0, -1.0)
    scores = np.zeros(labels.shape)
    for each in range(FOLDS):
        train, test = fold != each, fold == each
        kernel = table[train] @ table[train].T
        weights = np.linalg.solve(kernel + table.shape[1] * np.eye(len(kernel)), wanted[:, train].T)
        scores[:, test] = (table[test] @ (table[train].T @ weights)).T
    ranks = np.argsort(np.argsort(scores, axis=1), axis=1) + 1.0
    n_one = labels.sum(axis=1)
    auc: Reals = ((ranks * labels).sum(axis=1) - n_one * (n_one + 1) / 2) / (n_one * (n - n_one))
    return auc


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down adjusted p values, in the order given.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, most = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = most
    return adjusted
