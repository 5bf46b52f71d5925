"""No bookkeeping feature tells the outcome: counts, days, lengths, devices, ids and wording are scanned one by one.

Medicine may predict the answer, bookkeeping may not. The largest AUC over all features is compared with its null from label
permutations; a planted shortcut must be found at the same n, else the scan is unmeasured and says how many items it needs.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import comb, erfc, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinworld.core.rng import Rng
from clinworld.gates.case import Outcome
from clinworld.knowledge.load import Knowledge
from clinworld.schema.finding import Finding
from clinworld.schema.gold import GoldRow
from clinworld.schema.item import Item

CONTROLS = ("bookkeeping_without_a_shortcut", "a_planted_evidence_row")
Reals = NDArray[np.float64]


PLANTED = "planted"
SEED = 0
COMMON_SHARE = 0.2  # of the items a text must stand in to be a feature
MOST_SHOWN = 40
FEWEST_EVENTS, MOST_EVENTS = 4, 256
DO = "draw more items, change the seed, or remove what makes the feature follow the outcome"


class Rules(NamedTuple):
    """The p below which a scan names a shortcut, the permutations of its null, and the share of labels a planted one misses."""

    limit: float
    permutations: int
    flips: float


class Scan(NamedTuple):
    """The strongest feature, its AUC (0.5–1), and the permutation p of the largest AUC over all features."""

    feature: str
    auc: float
    p: float


def check(batch: tuple[Sequence[tuple[Item, GoldRow]], Knowledge]) -> Outcome:
    """One finding when bookkeeping separates the outcomes beyond chance."""
    pairs, knowledge = batch
    labels = np.array([gold.gold.event_occurs for _, gold in pairs], dtype=bool)
    rules = Rules(
        knowledge.parameter("shortcut.p"), int(knowledge.parameter("shortcut.permutations")), knowledge.parameter("shortcut.planted_flips")
    )
    names, features = read_features([item for item, _ in pairs])
    events, n = int(labels.sum()), len(labels)
    power = None
    if events and comb(n, events) * rules.limit >= 2:  # else no shuffle of so few labels is rare enough
        power = scan([*names, PLANTED], np.vstack([features, plant(labels, rules.flips)]), labels, rules.permutations, look_at=PLANTED)
    if power is None or power.p > rules.limit:
        needed = items_needed(len(names), rules)
        found = f"{n} items, {events} of them events" + (f" (p {power.p:.4f})" if power else "")
        return Outcome(0, (), f"a planted shortcut is not found with {found}; about {needed} items, half of them events, are needed")
    found_in = scan(names, features, labels, rules.permutations)
    told = f"{len(names)} features, n {n}: largest AUC {found_in.auc:.2f} ({found_in.feature}), p {found_in.p:.4f}; planted p {power.p:.4f}"
    if found_in.p <= rules.limit:
        place = f"feature {found_in.feature}, n {n}"
        finding = Finding("shortcut_scan", place, f"AUC {found_in.auc:.2f}, p {found_in.p:.4f}", f"p above {rules.limit:g}; {DO}")
        return Outcome(len(names), (finding,), told=told)
    return Outcome(len(names), told=told)


def read_features(items: Sequence[Item]) -> tuple[list[str], Reals]:
    """Bookkeeping features [feature, item] of what is shown at T; those that never vary are left out. An item's place in the batch
    is no feature: nothing delivered carries it."""
    rows: list[dict[str, float]] = []
    told = Counter(text for item in items for text in {note.text.en for note in item.record.notes if note.day <= item.index_day})
    common = {text for text, times in told.items() if times >= COMMON_SHARE * len(items)}
    for item in items:
        shown = item.record.until(item.index_day)
        texts = [note.text.say(item.language) + (note.context.say(item.language) if note.context else "") for note in shown.notes]
        days = [note.day for note in shown.notes]
        row = {
            "item_id": float(int(item.item_id[:8], 16)),
            "n_series": float(len(shown.series)),
            "n_notes": float(len(shown.notes)),
            "n_contexts": float(sum(1 for note in shown.notes if note.context)),
            "text_length": float(sum(map(len, texts))),
            "mean_note_day": float(np.mean(days)) / item.index_day if days else -1.0,
            "last_note_day": float(max(days)) / item.index_day if days else -1.0,
            "n_prescriptions": float(len(shown.prescriptions)),
            "n_probes": float(len(item.probes)),
            "first_note_id": float(int(shown.notes[0].note_id[1:], 16)) if shown.notes else -1.0,
        }
        row |= {f"has_device:{device}": 1.0 for device in shown.profile.devices}
        row |= {f"has_series:{series.name}": 1.0 for series in shown.series}
        row |= {f"n_readings:{series.name}": len(series.ticks) / item.index_day for series in shown.series}
        row |= {f"n_notes:{source}": float(times) for source, times in Counter(note.source for note in shown.notes).items()}
        row |= {f"says:{note.text.en[:MOST_SHOWN]}": 1.0 for note in shown.notes if note.text.en in common}
        rows.append(row)
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for row in rows] for name in names])
    varies = table.max(axis=1) > table.min(axis=1)
    return [name for name, keep in zip(names, varies, strict=True) if keep], table[varies]


def plant(labels: NDArray[np.bool_], flips: float) -> Reals:
    """The labels with every so-manyth one flipped: a shortcut that is right in 1 − flips of the items."""
    planted = labels.astype(np.float64)
    every = max(1, round(1 / flips))
    planted[every - 1 :: every] = 1.0 - planted[every - 1 :: every]
    return planted


def scan(names: Sequence[str], features: Reals, labels: NDArray[np.bool_], permutations: int, *, look_at: str = "") -> Scan:
    """The strongest single feature, or the one looked at, and its permutation p over all features; nothing to scan has p 1."""
    if not len(names):
        return Scan("none", 0.5, 1.0)
    ranks = np.array([mid_ranks(row) for row in features])
    shuffled = labels[draw_shuffles(len(labels), permutations)]
    observed = largest_auc(ranks, labels[None, :])[:, 0]
    null = largest_auc(ranks, shuffled).max(axis=0)
    best = names.index(look_at) if look_at else int(np.argmax(observed))
    p = (1 + int(np.sum(null >= observed[best] - 1e-12))) / (permutations + 1)
    return Scan(names[best], float(observed[best]), p)


@lru_cache(maxsize=2)  # scans of one size follow one another
def draw_shuffles(n: int, permutations: int) -> NDArray[np.int64]:
    """Orders of n items, one a row."""
    drawn = Rng(SEED).at("shortcut", "permutations").uniform(permutations * n).reshape(permutations, -1)
    return np.argsort(drawn, axis=1)


def mid_ranks(values: Reals) -> Reals:
    """Ranks from 1, ties at their mean."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middles: Reals = ends - (counts - 1) / 2.0
    return middles[inverse]


def largest_auc(ranks: Reals, labels: NDArray[np.bool_]) -> Reals:
    """AUC folded to 0.5–1 for each [feature, labelling]. Ranks are halves of whole numbers, so every sum is exact."""
    n_event = labels.sum(axis=1)
    n_other = labels.shape[1] - n_event
    sums = ranks @ labels.T.astype(np.float64)
    auc = (sums - n_event * (n_event + 1) / 2) / (n_event * n_other)
    folded: Reals = np.maximum(auc, 1.0 - auc)
    return folded


def items_needed(features: int, rules: Rules) -> int:
    """About how many items, half of them events, let a planted shortcut be found beside so many features that tell nothing.

    The null of one AUC is taken as normal, that of the largest as of independent features (Šidák).
    """
    for events in range(FEWEST_EVENTS, MOST_EVENTS):
        labels = np.arange(2 * events) < events
        auc = float(largest_auc(mid_ranks(plant(labels, rules.flips))[None, :], labels[None, :])[0, 0])
        spread = sqrt((2 * events + 1) / 3) / (2 * events)  # standard deviation of the Mann-Whitney AUC
        p_single = erfc((auc - 0.5) / spread / sqrt(2))
        if 1 - (1 - p_single) ** (features + 1) <= rules.limit:
            return 2 * events
    return 2 * MOST_EVENTS
